//! Band keys.

/// As Spark's `xxhash64`, so that an engine can compute the same keys.
const SEED: u64 = 42;

/// The key of one band: XXH64 folded over 8-byte little-endian values, first the band's index with seed 42, then each
/// slot with the result so far as seed. The index is part of the key, so equal slots in two bands do not meet.
///
/// Unequal bands have an equal key with a probability of about 2^-64. XXH64 is fixed by its
/// [specification](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md); Spark SQL gives the same value for
/// `xxhash64(cast(band as bigint), slots)`, with the slots as an array of bigint.
///
/// Cost: one hash of 8 bytes a slot, and one for the index.
#[must_use]
pub fn band_key(band: u32, slots: &[u32]) -> u64 {
    slots
        .iter()
        .fold(fold(SEED, band), |key, slot| fold(key, *slot))
}

/// XXH64 of an input of 8 bytes: the specification's steps 1 (no stripe), 4, 5 (one lane) and 6.
/// All but the avalanche is known at compile time or from one multiplication, which halves the
/// time of a key against a general implementation.
#[inline]
fn fold(seed: u64, value: u32) -> u64 {
    const PRIME_1: u64 = 0x9E37_79B1_85EB_CA87;
    const PRIME_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
    const PRIME_3: u64 = 0x1656_67B1_9E37_79F9;
    const PRIME_4: u64 = 0x85EB_CA77_C2B2_AE63;
    const PRIME_5: u64 = 0x27D4_EB2F_1656_67C5;
    let lane = u64::from(value)
        .wrapping_mul(PRIME_2)
        .rotate_left(31)
        .wrapping_mul(PRIME_1);
    let hash = (seed.wrapping_add(PRIME_5).wrapping_add(8) ^ lane)
        .rotate_left(27)
        .wrapping_mul(PRIME_1)
        .wrapping_add(PRIME_4);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(PRIME_2);
    let hash = (hash ^ (hash >> 29)).wrapping_mul(PRIME_3);
    hash ^ (hash >> 32)
}

/// The keys of a signature's bands, in order: band i is made of the slots from `i * rows` to `(i + 1) * rows`. Slots
/// beyond `bands * rows` belong to no band; bands that the signature is too short for, and bands of no rows, have no
/// key and are left out.
pub fn band_keys<'a>(
    signature: &'a [u32],
    bands: u32,
    rows: u32,
) -> impl Iterator<Item = u64> + 'a {
    let bands = if rows == 0 { 0 } else { bands };
    signature
        .chunks_exact(rows.max(1) as usize)
        .zip(0..bands)
        .map(|(slots, band)| band_key(band, slots))
}

#[cfg(test)]
mod tests;
