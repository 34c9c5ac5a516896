//! Shingle hashes to a signature of k slots; similarity of signatures.
//!
//! The share of equal slots of two signatures estimates the Jaccard similarity of the two sets of shingles. A stage
//! never compares that share with a threshold: [`min_matches`] turns the threshold into a count once, and [`matches()`]
//! counts. This crate knows nothing of texts, of bands or of files.
//!
//! There are two schemes, each in a file that cites its paper: [`Scheme::Fss`] (the default of the product) and
//! [`Scheme::Universal`]. A signature is a function of the *set* of shingle hashes, the scheme, k and the seed; order
//! and repeats do not matter.
//!
//! ```
//! use sketch::{Scheme, Sketcher, matches, min_matches};
//!
//! let mut sketcher = Sketcher::new(Scheme::Fss, 128, 42)?;
//! let (mut a, mut b) = ([0; 128], [0; 128]);
//! sketcher.sketch(&[1, 2, 3, 4, 5], &mut a)?;
//! sketcher.sketch(&[5, 4, 3, 2, 1, 1], &mut b)?;
//! assert_eq!(matches(&a, &b), 128);
//! assert_eq!(min_matches(128, 0.8), 103);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fss;
mod mix;
mod similarity;
mod universal;

#[cfg(test)]
mod tests;

pub use similarity::{matches, min_matches, min_matches_of_bits};

/// The largest k: its estimate has a standard error of at most 0.002, and a signature takes 256 KiB.
pub const MAX_SLOTS: u32 = 65_536;

/// How a signature is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Fast similarity sketching (Dahlgaard, Knudsen, Langhede and Thorup, FOCS 2017): expected cost O(L + k log k)
    /// for L shingles. Slots are drawn without replacement, so the estimate's error is at most that of independent
    /// minhashes, and clearly less for sets of up to a few times k.
    Fss,
    /// k minhashes by independent hash functions (a x + b) mod (2^61 - 1): cost O(L k).
    Universal,
}

impl Scheme {
    /// Name and version of the algorithm, for headers. Another value means that signatures cannot be compared.
    #[must_use]
    pub fn algorithm(self) -> &'static str {
        match self {
            Self::Fss => "fss-1",
            Self::Universal => "universal-1",
        }
    }
}

/// Why no [`Sketcher`] can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// k is 0 or over [`MAX_SLOTS`].
    #[error(
        "the number of slots k must be from 1 to {MAX_SLOTS}, but is {k}; set k within it (128 is usual)"
    )]
    Slots {
        /// The k found.
        k: u32,
    },
}

/// Why a signature cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SketchError {
    /// There are no shingles. An absent set is never equal to another, so it has no signature.
    #[error("a document without shingles has no signature; leave it out before it is sketched")]
    NoShingles,
    /// The place for the signature has another length than k.
    #[error("the signature must have room for k = {k} slots, but has {found}; pass a slice of {k}")]
    Room {
        /// Slots of a signature.
        k: usize,
        /// Slots of the slice that was passed.
        found: usize,
    },
}

/// Makes signatures of one scheme, k and seed. Its buffers are used again: in the steady state a signature costs no
/// allocation.
///
/// Memory: about 28 bytes a slot for [`Scheme::Fss`], 24 for [`Scheme::Universal`], and 8 bytes a shingle where a copy
/// of the shingles is needed (always for `universal`; for `fss` only of a document that says the same over and over).
/// A copy of over 4 MiB is given back at the next document.
///
/// A document whose shingles are too many for one slice is sketched by [`Sketcher::begin`], [`Sketcher::update`] and
/// [`Sketcher::finish`], with the same result. Memory beside the slots: 8 bytes a shingle of the largest chunk, and
/// for [`Scheme::Fss`] at most 1 MiB more.
///
/// ```
/// use sketch::{Pass, Scheme, Sketcher};
///
/// let shingles: Vec<u64> = (0..10_000).collect();
/// let mut sketcher = Sketcher::new(Scheme::Fss, 128, 42)?;
/// let (mut whole, mut parts) = ([0; 128], [0; 128]);
/// sketcher.sketch(&shingles, &mut whole)?;
/// sketcher.begin();
/// loop {
///     shingles.chunks(1000).for_each(|chunk| sketcher.update(chunk));
///     if sketcher.finish(&mut parts)? == Pass::Last {
///         break;
///     }
/// }
/// assert_eq!(whole, parts);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sketcher {
    scheme: Scheme,
    k: u32,
    inner: Inner,
    /// Whether an incremental sketch has met a shingle.
    met_any: bool,
}

/// What the end of a pass over the shingles of a document means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pass {
    /// The signature is complete.
    Last,
    /// All shingles have to come once more, in any order and any chunks.
    Again,
}

#[derive(Debug)]
enum Inner {
    Fss(fss::Fss),
    Universal(universal::Universal),
}

/// Shingles of a copy that are kept from one document to the next: 4 MiB.
const RETAINED_SHINGLES: usize = (4 << 20) / size_of::<u64>();

impl Sketcher {
    /// A sketcher for signatures of `k` slots.
    ///
    /// # Errors
    /// [`ConfigError::Slots`] where `k` is 0 or over [`MAX_SLOTS`].
    pub fn new(scheme: Scheme, k: u32, seed: u64) -> Result<Self, ConfigError> {
        if k == 0 || k > MAX_SLOTS {
            return Err(ConfigError::Slots { k });
        }
        let inner = match scheme {
            Scheme::Fss => Inner::Fss(fss::Fss::new(k, seed)),
            Scheme::Universal => Inner::Universal(universal::Universal::new(k, seed)),
        };
        Ok(Self {
            scheme,
            k,
            inner,
            met_any: false,
        })
    }

    /// The scheme of the signatures.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Slots of a signature.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Writes the signature of a set of shingle hashes to `out`, all k slots. Repeats and order do not matter.
    /// `out` is untouched on an error.
    ///
    /// # Errors
    /// [`SketchError::NoShingles`] where there are none, [`SketchError::Room`] where `out` is not of length k.
    pub fn sketch(&mut self, shingles: &[u64], out: &mut [u32]) -> Result<(), SketchError> {
        self.check(!shingles.is_empty(), out)?;
        match &mut self.inner {
            Inner::Fss(fss) => fss.sketch(shingles, out),
            Inner::Universal(universal) => universal.sketch(shingles, out),
        }
        Ok(())
    }

    /// Begins the sketch of a document whose shingles come in chunks; what was begun before is forgotten. Until it is
    /// finished, [`Sketcher::sketch`] is not to be called.
    pub fn begin(&mut self) {
        self.met_any = false;
        match &mut self.inner {
            Inner::Fss(fss) => fss.begin(),
            Inner::Universal(universal) => universal.begin(),
        }
    }

    /// Takes a chunk of the shingles; chunks of some thousands cost the least.
    pub fn update(&mut self, shingles: &[u64]) {
        self.met_any |= !shingles.is_empty();
        match &mut self.inner {
            Inner::Fss(fss) => fss.update(shingles),
            Inner::Universal(universal) => universal.update(shingles),
        }
    }

    /// Ends a pass over the shingles. After [`Pass::Last`] all k slots are in `out`: those that [`Sketcher::sketch`]
    /// gives for the same set. After [`Pass::Again`], and on an error, `out` is untouched.
    ///
    /// [`Scheme::Universal`] needs one pass. [`Scheme::Fss`] needs another only where bins are empty after the first
    /// although the shingles that differ are many (over 4 k log2 k, at most 65,536): by chance about never up to
    /// k = 4096, and a few times beyond.
    ///
    /// # Errors
    /// [`SketchError::NoShingles`] where none came, [`SketchError::Room`] where `out` is not of length k.
    pub fn finish(&mut self, out: &mut [u32]) -> Result<Pass, SketchError> {
        self.check(self.met_any, out)?;
        match &mut self.inner {
            Inner::Fss(fss) => {
                if !fss.end_pass() {
                    return Ok(Pass::Again);
                }
                fss.write(out);
            }
            Inner::Universal(universal) => universal.write(out),
        }
        Ok(Pass::Last)
    }

    fn check(&self, any: bool, out: &[u32]) -> Result<(), SketchError> {
        if !any {
            return Err(SketchError::NoShingles);
        }
        let k = self.k as usize;
        if out.len() != k {
            let found = out.len();
            return Err(SketchError::Room { k, found });
        }
        Ok(())
    }
}
