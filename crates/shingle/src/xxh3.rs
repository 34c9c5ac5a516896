//! XXH3-64 of short inputs, which nearly all tokens are, with the seed folded into the constants.
//!
//! The [specification](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) ("XXH3 Algorithm Details (for
//! small inputs)") gives inputs of 1 to 3, 4 to 8 and 9 to 16 bytes a method each. The `xxhash-rust` crate computes the
//! same, but has to ask for the length each time, and where lengths vary that costs more than the hash: a caller here
//! can sort inputs by length ([`METHOD_BYTES`]) first. Tests hold each method against the crate.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The first 56 bytes of the default secret, as little-endian words.
const SECRET: [u64; 7] = [
    0xbe4b_a423_396c_feb8,
    0x1cad_21f7_2c81_017c,
    0xdb97_9083_e96d_d4de,
    0x1f67_b3b7_a4a4_4072,
    0x78e5_c0cc_4ee6_79cb,
    0x2172_ffcc_7dd0_5a82,
    0x8e24_43f7_7446_08b8,
];

const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME_MX1: u64 = 0x1656_6791_9e37_79f9;
const PRIME_MX2: u64 = 0x9fb2_1c65_1e98_df25;

/// Most bytes of an input of each method but the last.
pub(crate) const METHOD_BYTES: [usize; 3] = [3, 8, 16];

/// XXH3-64 with a seed, for any input.
#[inline]
pub(crate) fn hash<const SEED: u64>(bytes: &[u8]) -> u64 {
    match bytes.len() {
        1..=3 => up_to_3::<SEED>(bytes),
        4..=8 => up_to_8::<SEED>(bytes),
        9..=16 => up_to_16::<SEED>(bytes),
        _ => longer::<SEED>(bytes),
    }
}

/// XXH3-64 with a seed, for inputs of 1 to 3 bytes.
#[inline]
pub(crate) fn up_to_3<const SEED: u64>(bytes: &[u8]) -> u64 {
    let (Some(first), Some(middle), Some(last)) =
        (bytes.first(), bytes.get(bytes.len() >> 1), bytes.last())
    else {
        return longer::<SEED>(bytes);
    };
    let flip = const {
        let words = (SECRET[0] as u32) ^ (SECRET[0] >> 32) as u32;
        (words as u64).wrapping_add(SEED)
    };
    let combined = (u32::from(*first) << 16)
        | (u32::from(*middle) << 24)
        | u32::from(*last)
        | ((bytes.len() as u32) << 8);
    let x = u64::from(combined) ^ flip;
    let x = (x ^ (x >> 33)).wrapping_mul(PRIME64_2);
    let x = (x ^ (x >> 29)).wrapping_mul(PRIME64_3);
    x ^ (x >> 32)
}

/// As [`up_to_3`], for inputs of 4 to 8 bytes.
#[inline]
pub(crate) fn up_to_8<const SEED: u64>(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return longer::<SEED>(bytes);
    };
    let flip = const {
        let seed = SEED ^ ((SEED as u32).swap_bytes() as u64) << 32;
        (SECRET[1] ^ SECRET[2]).wrapping_sub(seed)
    };
    let low = u64::from(u32::from_le_bytes(*last));
    let high = u64::from(u32::from_le_bytes(*first)) << 32;
    let x = (low + high) ^ flip;
    let x = x ^ x.rotate_left(49) ^ x.rotate_left(24);
    let x = x.wrapping_mul(PRIME_MX2);
    let x = x ^ (x >> 35).wrapping_add(bytes.len() as u64);
    let x = x.wrapping_mul(PRIME_MX2);
    x ^ (x >> 28)
}

/// As [`up_to_3`], for inputs of 9 to 16 bytes.
#[inline]
pub(crate) fn up_to_16<const SEED: u64>(bytes: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return longer::<SEED>(bytes);
    };
    let low_flip = const { (SECRET[3] ^ SECRET[4]).wrapping_add(SEED) };
    let high_flip = const { (SECRET[5] ^ SECRET[6]).wrapping_sub(SEED) };
    let low = u64::from_le_bytes(*first) ^ low_flip;
    let high = u64::from_le_bytes(*last) ^ high_flip;
    let product = u128::from(low) * u128::from(high);
    let x = (bytes.len() as u64)
        .wrapping_add(low.swap_bytes())
        .wrapping_add(high)
        .wrapping_add(product as u64 ^ (product >> 64) as u64);
    let x = (x ^ (x >> 37)).wrapping_mul(PRIME_MX1);
    x ^ (x >> 32)
}

/// XXH3-64 with a seed, for inputs that have no method here.
#[inline(never)]
pub(crate) fn longer<const SEED: u64>(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, SEED)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<const SEED: u64>(bytes: &[u8]) {
        let expected = xxh3_64_with_seed(bytes, SEED);
        assert_eq!(hash::<SEED>(bytes), expected, "{bytes:?}");
    }

    #[test]
    fn all_of_one_and_two_bytes_are_those_of_the_crate() {
        check::<0x6e65_6172_6475_7001>(&[]);
        for a in 0..=255 {
            check::<0x6e65_6172_6475_7001>(&[a]);
            for b in 0..=255 {
                check::<0x6e65_6172_6475_7001>(&[a, b]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn short_hashes_are_those_of_the_crate(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..18),
                proptest::collection::vec(prop_oneof![Just(0), Just(255), Just(b'a')], 0..18),
                proptest::collection::vec(any::<u8>(), 0..600),
            ],
        ) {
            check::<0>(&bytes);
            check::<1>(&bytes);
            check::<{ u64::MAX }>(&bytes);
            check::<0x6e65_6172_6475_7001>(&bytes);
            check::<0x8000_0000_0000_00ff>(&bytes);
        }
    }
}
