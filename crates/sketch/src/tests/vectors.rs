//! Vectors: values that stored signatures rely on. Ours were computed by a separate implementation in another
//! language; they change only with the scheme's `algorithm`.

use super::*;
use crate::universal::{Universal, least};

struct Case {
    shingles: fn() -> Vec<u64>,
    k: u32,
    seed: u64,
    /// The first slots, and all of them folded by [`fold`].
    fss: (&'static [u32], u64),
    universal: (&'static [u32], u64),
}

fn fold(slots: &[u32]) -> u64 {
    slots.iter().fold(0, |sum: u64, slot| {
        sum.wrapping_mul(0x94d0_49bb_1331_11eb)
            .wrapping_add((*slot).into())
    })
}

const CASES: &[Case] = &[
    Case {
        shingles: || vec![0],
        k: 8,
        seed: 42,
        fss: (
            &[2_723_340_737, 201_133_863, 1_785_804_155],
            0xbd06_2667_2724_bef7,
        ),
        universal: (
            &[3_947_884_429, 2_361_412_317, 1_501_354_888],
            0x8c44_8d7f_b309_63fd,
        ),
    },
    Case {
        shingles: || vec![0],
        k: 1,
        seed: 0,
        fss: (&[4_282_176_703], 0xff3c_d4bf),
        universal: (&[2_298_633_413], 0x8902_5cc5),
    },
    Case {
        shingles: || vec![1, 2, 3],
        k: 8,
        seed: 42,
        fss: (
            &[2_852_331_633, 2_828_051_743, 1_330_278_979],
            0xec84_66b6_ed09_2c38,
        ),
        universal: (
            &[2_064_792_432, 160_385_030, 3_823_332_289],
            0x0695_17ca_2936_b46c,
        ),
    },
    Case {
        shingles: || vec![u64::MAX, 0, 1 << 63],
        k: 5,
        seed: 7,
        fss: (
            &[2_990_039_073, 1_879_932_411, 136_891_861],
            0x6009_a799_fb30_9ed5,
        ),
        universal: (
            &[1_415_409_075, 2_216_276_360, 2_455_757_689],
            0x1240_a580_702a_e964,
        ),
    },
    Case {
        shingles: || vec![7],
        k: 128,
        seed: 42,
        fss: (
            &[2_362_861_631, 3_312_121_774, 2_904_769_590],
            0x9886_5faf_555d_9510,
        ),
        universal: (
            &[985_658_868, 2_952_305_041, 2_624_334_860],
            0xe41b_b513_104e_9bf5,
        ),
    },
    Case {
        shingles: || (0..40).collect(),
        k: 13,
        seed: u64::MAX,
        fss: (
            &[803_391_231, 3_088_298_813, 3_613_695_780],
            0xe9c6_1701_5c9a_8af7,
        ),
        universal: (
            &[1_130_646_144, 2_110_940_826, 2_305_644_629],
            0x3764_0101_01a2_91d3,
        ),
    },
    Case {
        shingles: || {
            (0..1000)
                .map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                .collect()
        },
        k: 128,
        seed: 42,
        fss: (
            &[3_880_990_415, 3_441_300_541, 4_293_338_250],
            0x6bd5_99ee_3f2c_eaeb,
        ),
        universal: (
            &[3_469_232_521, 3_699_462_146, 3_246_955_947],
            0x7abe_7206_e326_252c,
        ),
    },
];

#[test]
fn own_vectors_are_exact() {
    for (at, case) in CASES.iter().enumerate() {
        let shingles = (case.shingles)();
        for (scheme, (first, all)) in [(Scheme::Fss, case.fss), (Scheme::Universal, case.universal)]
        {
            let slots = signature(scheme, case.k, case.seed, &shingles);
            assert_eq!(&slots[..first.len()], first, "{scheme:?}, case {at}");
            assert_eq!(fold(&slots), all, "{scheme:?}, case {at}");
        }
    }
}

#[test]
fn names_are_those_of_the_vectors() {
    assert_eq!(Scheme::Fss.algorithm(), "fss-1");
    assert_eq!(Scheme::Universal.algorithm(), "universal-1");
}

/// The numbers of a field; those of 64 bits are strings.
fn numbers(case: &serde_json::Value, field: &str) -> Vec<u64> {
    let number = |v: &serde_json::Value| {
        v.as_u64()
            .or_else(|| v.as_str()?.parse().ok())
            .unwrap_or_else(|| panic!("{field}: {v}"))
    };
    case[field].as_array().unwrap().iter().map(number).collect()
}

#[test]
fn shared_vectors_of_universal_are_exact() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/universal.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let seed = case["seed"].as_str().unwrap().parse().unwrap();
        let k = u32::try_from(case["k"].as_u64().unwrap()).unwrap();
        let shingles = numbers(case, "shingles");
        let universal = Universal::new(k, seed);
        let (a, b): (Vec<u64>, Vec<u64>) = universal.coefficients().iter().copied().unzip();
        assert_eq!(a, numbers(case, "a"));
        assert_eq!(b, numbers(case, "b"));
        let minima: Vec<u64> = universal
            .coefficients()
            .iter()
            .map(|(a, b)| least(*a, *b, &shingles))
            .collect();
        assert_eq!(minima, numbers(case, "min61"));
        let slots = signature(Scheme::Universal, k, seed, &shingles);
        let slots: Vec<u64> = slots.into_iter().map(u64::from).collect();
        assert_eq!(slots, numbers(case, "slots"));
    }
}
