//! A sketch by chunks is the sketch of the whole.

use super::*;
use crate::Inner;

/// The signature by chunks of so many shingles, and the passes that it took. `few_max` is what `fss` may remember.
fn by_chunks(
    sketcher: &mut Sketcher,
    shingles: &[u64],
    chunk: usize,
    few_max: Option<usize>,
) -> (Vec<u32>, usize) {
    if let (Inner::Fss(fss), Some(few_max)) = (&mut sketcher.inner, few_max) {
        fss.remember_at_most(few_max);
    }
    let mut out = vec![7; sketcher.k() as usize];
    sketcher.begin();
    let mut passes = 0;
    loop {
        passes += 1;
        shingles.chunks(chunk).for_each(|c| sketcher.update(c));
        match sketcher.finish(&mut out).unwrap() {
            Pass::Last => return (out, passes),
            Pass::Again => assert!(out.iter().all(|slot| *slot == 7)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chunks_change_nothing(
        shingles in proptest::collection::vec(prop_oneof![any::<u64>(), 0..6_u64, Just(u64::MAX)], 1..500),
        chunk in 1..600_usize,
        k in prop_oneof![1..80_u32, Just(128)],
        seed in any::<u64>(),
        few_max in proptest::option::of(0..50_usize),
    ) {
        for scheme in SCHEMES {
            let mut sketcher = Sketcher::new(scheme, k, seed).unwrap();
            // Twice, as nothing of the first may stay.
            for _ in 0..2 {
                let (out, passes) = by_chunks(&mut sketcher, &shingles, chunk, few_max);
                prop_assert_eq!(&out, &signature(scheme, k, seed, &shingles));
                prop_assert!(passes <= k as usize + 1);
            }
        }
    }
}

#[test]
fn without_a_memory_of_few_every_round_is_a_pass() {
    // One shingle fills hardly any bin, so that all rounds and the hashes of the bins themselves are needed.
    let shingles = [random(1)].repeat(1000);
    let mut sketcher = Sketcher::new(Scheme::Fss, 64, 42).unwrap();
    let (out, passes) = by_chunks(&mut sketcher, &shingles, 100, Some(0));
    assert_eq!(out, naive_fss(64, 42, &shingles[..1]));
    assert_eq!(passes, 65);
}

#[test]
fn one_pass_does_for_texts_that_repeat_themselves_and_for_those_that_do_not() {
    for distinct in [1, 3, 500, 3000, 200_000] {
        let shingles: Vec<u64> = (0..400_000).map(|i| random(i % distinct)).collect();
        let mut sketcher = Sketcher::new(Scheme::Fss, 128, 42).unwrap();
        let (out, passes) = by_chunks(&mut sketcher, &shingles, 10_000, None);
        assert_eq!(
            out,
            signature(Scheme::Fss, 128, 42, &shingles),
            "{distinct}"
        );
        assert_eq!(passes, 1, "{distinct}");
    }
}

#[test]
fn an_incremental_sketch_has_the_errors_of_the_whole() {
    for scheme in SCHEMES {
        let mut sketcher = Sketcher::new(scheme, 4, 42).unwrap();
        let mut out = [7; 4];
        sketcher.begin();
        sketcher.update(&[]);
        assert_eq!(sketcher.finish(&mut out), Err(SketchError::NoShingles));
        sketcher.update(&[1]);
        assert_eq!(
            sketcher.finish(&mut out[..3]),
            Err(SketchError::Room { k: 4, found: 3 })
        );
        assert_eq!(out, [7; 4]);
        // A document that was not finished leaves nothing behind.
        sketcher.begin();
        assert_eq!(sketcher.finish(&mut out), Err(SketchError::NoShingles));
    }
}
