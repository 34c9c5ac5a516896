//! Slots as verification compares them: their low bits.

/// The low bits of a slot.
pub(crate) trait Slot: bytemuck::Pod + Eq + Send + Sync {
    /// The low bits of a whole slot.
    fn of(slot: u32) -> Self;
}

impl Slot for u8 {
    fn of(slot: u32) -> Self {
        slot as u8
    }
}

impl Slot for u16 {
    fn of(slot: u32) -> Self {
        slot as u16
    }
}

impl Slot for u32 {
    fn of(slot: u32) -> Self {
        slot
    }
}

/// Equal slots of two signatures of one length. A loop that the compiler turns into vector
/// instructions.
pub(crate) fn matches<S: Slot>(a: &[S], b: &[S]) -> u32 {
    // Sums of a byte's worth of slots stay in narrow lanes.
    a.chunks(128)
        .zip(b.chunks(128))
        .map(|(a, b)| {
            let equal: u8 = a.iter().zip(b).map(|(x, y)| u8::from(x == y)).sum();
            u32::from(equal)
        })
        .sum()
}

/// Words that hold k slots.
pub(crate) fn words<S: Slot>(k: usize) -> usize {
    (k * size_of::<S>()).div_ceil(8)
}

/// Packs the low bits of a signature into words; what is left of the last word is zero.
pub(crate) fn pack<S: Slot>(slots: &[u32], words: &mut [u64]) {
    if let Some(last) = words.last_mut() {
        *last = 0;
    }
    let packed: &mut [S] = bytemuck::cast_slice_mut(words);
    for (packed, slot) in packed.iter_mut().zip(slots) {
        *packed = S::of(*slot);
    }
}

/// The k slots in packed words.
pub(crate) fn unpack<S: Slot>(words: &[u64], k: usize) -> &[S] {
    let slots: &[S] = bytemuck::cast_slice(words);
    slots.get(..k).unwrap_or(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<S: Slot + std::fmt::Debug>() {
        for k in [1usize, 2, 7, 128, 129, 300] {
            let slots: Vec<u32> = (0..k as u32).map(|i| u32::MAX - 77 * i).collect();
            let mut packed = vec![u64::MAX; words::<S>(k)];
            pack::<S>(&slots, &mut packed);
            let low: Vec<S> = slots.iter().map(|&slot| S::of(slot)).collect();
            assert_eq!(unpack::<S>(&packed, k), low);
            assert_eq!(matches(&low, &low), k as u32);
            let mut other = low.clone();
            other[k / 2] = S::of(slots[k / 2].wrapping_add(1));
            assert_eq!(matches(&low, &other), k as u32 - 1);
        }
    }

    #[test]
    fn slots_survive_packing_and_all_are_compared() {
        check::<u8>();
        check::<u16>();
        check::<u32>();
    }
}
