//! Vectors: values that stored signatures rely on. They were computed by a separate implementation (in another
//! language, with the reference XXH3), and change only with the crate's `ALGORITHM`.

use super::*;

struct Vector {
    text: &'static str,
    config: Config,
    count: usize,
    first: u64,
    last: u64,
    /// All shingles in order, folded by [`fold`].
    all: u64,
    text_hash: u128,
    bytes: u64,
}

fn fold(hashes: &[u64]) -> u64 {
    hashes.iter().fold(0, |sum, hash| {
        sum.wrapping_mul(0xd6e8_feb8_6659_fd93).wrapping_add(*hash)
    })
}

#[test]
fn vectors_are_exact() {
    for vector in VECTORS {
        let mut shingler = Shingler::new(vector.config).unwrap();
        let found = shingler.document(vector.text).unwrap();
        let place = format!("{:?} {:?}", vector.config, vector.text);
        assert_eq!(found.normalised_bytes, vector.bytes, "bytes of {place}");
        assert_eq!(found.text_hash, vector.text_hash, "text hash of {place}");
        assert_eq!(found.hashes.len(), vector.count, "count of {place}");
        assert_eq!(found.hashes[0], vector.first, "first of {place}");
        assert_eq!(
            found.hashes[vector.count - 1],
            vector.last,
            "last of {place}"
        );
        assert_eq!(fold(found.hashes), vector.all, "all of {place}");
    }
}

#[test]
fn names_are_those_of_the_vectors() {
    assert_eq!(ALGORITHM, "shingle-1");
}

/// Tokens of more than 16, 128 and 240 bytes, where XXH3 changes its method.
const LONG_WORDS: &str = concat!(
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis ",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    " ",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
);

const VECTORS: &[Vector] = &[
    Vector {
        text: "The quick brown fox jumps over the lazy dog.",
        config: config(Unit::Word, 5, 5, false),
        count: 5,
        first: 0xca98_d7c7_a0eb_9dab,
        last: 0xf41c_64b7_0894_48f0,
        all: 0xa27e_05f4_1027_4c55,
        text_hash: 0xde07_4e65_69d2_2f4b_8e77_4813_5e7a_ce89,
        bytes: 44,
    },
    Vector {
        text: "  The QUICK\r\n\tbrown fox,   jumps over -- the lazy dog!\u{a0}",
        config: config(Unit::Word, 5, 5, true),
        count: 5,
        first: 0xca98_d7c7_a0eb_9dab,
        last: 0xb689_fb3f_704a_6041,
        all: 0x64eb_9c7c_77dd_63a6,
        text_hash: 0xe9a1_9326_27d7_f46d_15c2_1eea_d63f_a21f,
        bytes: 43,
    },
    Vector {
        text: "cat",
        config: config(Unit::Word, 5, 5, false),
        count: 1,
        first: 0xac39_cdb3_a329_3818,
        last: 0xac39_cdb3_a329_3818,
        all: 0xac39_cdb3_a329_3818,
        text_hash: 0x0381_fd7c_ec51_321d_4254_8a8a_111c_54ee,
        bytes: 3,
    },
    Vector {
        text: "cat",
        config: config(Unit::Char, 5, 5, false),
        count: 1,
        first: 0x0632_963e_c717_091c,
        last: 0x0632_963e_c717_091c,
        all: 0x0632_963e_c717_091c,
        text_hash: 0x0381_fd7c_ec51_321d_4254_8a8a_111c_54ee,
        bytes: 3,
    },
    Vector {
        text: "cat",
        config: config(Unit::Auto, 5, 5, false),
        count: 1,
        first: 0x0632_963e_c717_091c,
        last: 0x0632_963e_c717_091c,
        all: 0x0632_963e_c717_091c,
        text_hash: 0x0381_fd7c_ec51_321d_4254_8a8a_111c_54ee,
        bytes: 3,
    },
    Vector {
        text: "to be or not",
        config: config(Unit::Auto, 5, 7, false),
        count: 6,
        first: 0x6082_43c2_c2f2_f0c7,
        last: 0x3376_444b_1028_3e36,
        all: 0xff5f_515d_318d_564a,
        text_hash: 0xee27_496f_69c3_94fc_be1d_d711_8b56_0a62,
        bytes: 12,
    },
    Vector {
        text: "to be or not to be or not",
        config: config(Unit::Auto, 5, 7, false),
        count: 4,
        first: 0x5332_48d9_8188_19cb,
        last: 0xf2b0_57be_6259_ee95,
        all: 0xc5b5_74b1_0a1d_2503,
        text_hash: 0xbb19_6d92_fcb1_edd3_77c9_9458_80d8_25ed,
        bytes: 25,
    },
    Vector {
        text: "abcdefgh",
        config: config(Unit::Char, 5, 5, false),
        count: 4,
        first: 0x04bd_2682_3dbc_2d39,
        last: 0x3f99_69d5_c0a1_9dac,
        all: 0xc461_42b7_d9e0_77ef,
        text_hash: 0xdac2_3237_af37_3533_42b7_02b3_1388_0f12,
        bytes: 8,
    },
    Vector {
        text: "a  b\nC",
        config: config(Unit::Char, 3, 5, false),
        count: 3,
        first: 0x122b_b9f5_8f1c_0e1e,
        last: 0x2106_5b29_8c34_9720,
        all: 0xf6bc_6bdc_5850_afea,
        text_hash: 0xa15f_7e78_adfd_b459_8c33_e55c_6e84_9abc,
        bytes: 5,
    },
    Vector {
        text: "这是一个中文测试，没有空格。",
        config: config(Unit::Word, 5, 5, false),
        count: 10,
        first: 0x0baa_569f_32a3_3da5,
        last: 0x0688_be7c_8a81_e266,
        all: 0x3e34_94e0_5689_2c25,
        text_hash: 0xd397_5b69_b6fb_56b7_a5ce_43bc_a9a0_6d4f,
        bytes: 42,
    },
    Vector {
        text: "这是一个中文测试，没有空格。",
        config: config(Unit::Char, 5, 5, true),
        count: 8,
        first: 0x6bdd_9803_599d_8a04,
        last: 0x320e_7efd_3681_4682,
        all: 0xada7_3b29_51c7_8ba3,
        text_hash: 0x661b_d5d5_a4f5_b554_2704_b2b5_1cb6_149b,
        bytes: 36,
    },
    Vector {
        text: "ภาษาไทยไม\u{e48}มีช\u{e48}องว\u{e48}าง",
        config: config(Unit::Word, 5, 5, false),
        count: 16,
        first: 0x9956_00b7_bfb4_a1d9,
        last: 0xf8aa_13b3_5d90_2940,
        all: 0x1ea9_63c6_44e4_8183,
        text_hash: 0x9c2f_74b4_1b74_26b2_38ce_384c_3b2a_2e6a,
        bytes: 60,
    },
    Vector {
        text: "Mixed テキスト with 日本語 and English 123",
        config: config(Unit::Word, 3, 5, false),
        count: 10,
        first: 0xf62d_122e_8226_958a,
        last: 0xd388_f685_218e_1e9c,
        all: 0x534f_cfe1_1e8d_05e5,
        text_hash: 0x0acb_1292_b95f_8ef9_d245_dfb6_d050_83af,
        bytes: 49,
    },
    Vector {
        text: "Cafe\u{301} E\u{301}TE\u{301} nai\u{308}ve Zoe\u{308} a\u{30a}a\u{323}\u{302}",
        config: config(Unit::Word, 2, 5, false),
        count: 4,
        first: 0x4246_f5d1_fecf_590a,
        last: 0x875f_7606_9ea0_b3e5,
        all: 0xbd92_58c3_112c_d52f,
        text_hash: 0x8583_a6f2_fbf9_bd6b_d9bf_7e3e_751a_663d,
        bytes: 29,
    },
    Vector {
        text: "Café ÉTÉ naïve Zoë åậ",
        config: config(Unit::Word, 2, 5, false),
        count: 4,
        first: 0x4246_f5d1_fecf_590a,
        last: 0x875f_7606_9ea0_b3e5,
        all: 0xbd92_58c3_112c_d52f,
        text_hash: 0x8583_a6f2_fbf9_bd6b_d9bf_7e3e_751a_663d,
        bytes: 29,
    },
    Vector {
        text: "ΟΔΥΣΣΕΥΣ ΣΑΣ (ΑΣ) Σ J\u{30c}ΑΣ.",
        config: config(Unit::Word, 2, 5, true),
        count: 4,
        first: 0xa1d2_bce0_7885_d09c,
        last: 0x896f_06fe_792f_84ca,
        all: 0x9557_ddb6_778b_b87f,
        text_hash: 0x61b5_9c9f_b594_9f41_e05d_3272_7440_163c,
        bytes: 39,
    },
    Vector {
        text: "İstanbul DİYARBAKIR ẞ straße Ǆ",
        config: config(Unit::Word, 2, 5, false),
        count: 4,
        first: 0xf1fd_079c_cc63_6e36,
        last: 0x173b_66f4_8cc9_b6fd,
        all: 0xd1fc_dcfb_d93e_6652,
        text_hash: 0x559f_0626_2436_3b71_6cee_1e9e_0c31_fb01,
        bytes: 37,
    },
    Vector {
        text: "nul\u{0}byte a\u{1f}b \u{200b} \u{301}",
        config: config(Unit::Word, 1, 5, false),
        count: 4,
        first: 0x3ad1_5b9c_8cb7_5f9f,
        last: 0x1393_ac56_9321_2d4e,
        all: 0x0ce5_8133_6919_5dec,
        text_hash: 0x6548_8cf6_17f0_fb55_f404_e92a_c0b5_912e,
        bytes: 19,
    },
    Vector {
        text: "👩\u{200d}👩\u{200d}👧 ok 🇫🇷",
        config: config(Unit::Char, 2, 5, false),
        count: 10,
        first: 0xb75e_8678_d9b5_f1ce,
        last: 0x1a1b_f115_0ffc_484d,
        all: 0x0fc4_1b84_f9a2_f338,
        text_hash: 0x6370_e8c0_c1d7_3cab_7aba_ed59_6779_1b2d,
        bytes: 30,
    },
    Vector {
        text: "한국어 문장 \u{1112}\u{1161}\u{11ab}",
        config: config(Unit::Word, 1, 5, false),
        count: 3,
        first: 0x8811_fe1f_5a94_0b11,
        last: 0x0990_26d0_131a_c84a,
        all: 0x27aa_e4f2_b969_d9d1,
        text_hash: 0x8b85_715e_94f6_8ee5_8c22_4c1c_cca6_c60b,
        bytes: 20,
    },
    Vector {
        text: "$5 + $6 = $11 (eleven)",
        config: config(Unit::Word, 3, 5, true),
        count: 4,
        first: 0x3d66_b384_b233_8cde,
        last: 0xb964_0413_4a00_3368,
        all: 0x3b62_f126_3839_f46c,
        text_hash: 0xd6d9_f317_c915_4ef9_67f4_9680_2775_72de,
        bytes: 20,
    },
    Vector {
        text: LONG_WORDS,
        config: config(Unit::Word, 1, 5, false),
        count: 4,
        first: 0x3a13_5f98_5d41_d680,
        last: 0x3eab_fa73_6db4_2368,
        all: 0xad8f_8c9d_cafa_a677,
        text_hash: 0x7e28_14c6_a84e_2589_0827_9f73_b0cf_8579,
        bytes: 576,
    },
];
