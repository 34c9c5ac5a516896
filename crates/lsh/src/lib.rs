//! Slots to band keys; the S-curve.
//!
//! A signature is cut into `bands` bands of `rows` slots. Two documents are candidates if one of their bands is equal
//! in all its slots, which shows as an equal [`band_key`]. [`candidate_probability`] says how likely that is, and
//! [`found_probability`] how likely it is that the pair also passes the verification by estimate. This crate knows
//! nothing of how slots are made, or of files.
//!
//! ```
//! let signature = [3, 1, 4, 1, 5, 9];
//! let keys: Vec<u64> = lsh::band_keys(&signature, 3, 2).collect();
//! assert_eq!(keys[1], lsh::band_key(1, &[4, 1]));
//! assert!(lsh::candidate_probability(0.8, 20, 6) > 0.997);
//! ```

mod curve;
mod key;

pub use curve::{candidate_probability, found_probability};
pub use key::{band_key, band_keys};
