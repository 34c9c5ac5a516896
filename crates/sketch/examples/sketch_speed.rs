//! How fast shingles become signatures: nanoseconds a shingle and a document, by scheme, slots and shingles.
//!
//! `cargo run --release -p sketch --example sketch_speed`. Each figure is the median of some rounds, and the least in brackets:
//! on a busy machine that one says more.

use std::hint::black_box;
use std::time::Instant;

use sketch::{Scheme, Sketcher};

const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<12} {:>5} {:>9}  {:>16}  ns/document",
        "scheme", "k", "shingles", "ns/shingle"
    );
    for (scheme, round_shingles) in [(Scheme::Fss, 1_000_000), (Scheme::Universal, 100_000)] {
        for k in [100, 128, 256, 1024] {
            for count in [20, 212, 1053, 10_000] {
                measure(scheme, k, count, round_shingles / count)?;
            }
        }
    }
    Ok(())
}

fn measure(
    scheme: Scheme,
    k: u32,
    count: usize,
    documents: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut state = 0_u64;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    };
    let documents: Vec<Vec<u64>> = (0..documents)
        .map(|_| (0..count).map(|_| random()).collect())
        .collect();
    let mut sketcher = Sketcher::new(scheme, k, 42)?;
    let mut out = vec![0; k as usize];
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for shingles in &documents {
            sketcher.sketch(black_box(shingles), &mut out)?;
            black_box(&out);
        }
        rounds.push(start.elapsed().as_nanos() as f64 / documents.len() as f64);
    }
    rounds.sort_by(f64::total_cmp);
    let (median, least) = (rounds[ROUNDS / 2], rounds[0]);
    println!(
        "{:<12} {k:>5} {count:>9}  {:>7.2} ({:>6.2})  {median:>9.0} ({least:>8.0})",
        scheme.algorithm(),
        median / count as f64,
        least / count as f64,
    );
    Ok(())
}
