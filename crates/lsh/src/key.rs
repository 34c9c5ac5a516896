//! Band keys.

use xxhash_rust::xxh64::xxh64;

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

fn fold(seed: u64, value: u32) -> u64 {
    xxh64(&u64::from(value).to_le_bytes(), seed)
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
