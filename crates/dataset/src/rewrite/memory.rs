//! The memory that the threads share, and what codecs take of it.
//!
//! A row group is begun when all that it can take is there, and row groups begin in their order. So whoever waits for
//! its turn to write waits for row groups that have what they need, and no thread waits for ever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parquet::basic::Compression;

/// How often a waiting thread looks whether work was cancelled.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Bytes to share out.
pub(super) struct Pool {
    total: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    left: u64,
    /// Whose turn it is to take.
    serving: u64,
}

impl Pool {
    pub(super) fn new(total: u64) -> Self {
        Self {
            total,
            state: Mutex::new(State {
                left: total,
                serving: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// All that can ever be taken at once.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes `bytes`, at most all there are, after the holders of all lower tickets took theirs. None when cancelled.
    pub(super) fn take(
        &self,
        ticket: u64,
        bytes: u64,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Held<'_>> {
        let bytes = bytes.min(self.total);
        let mut state = self.lock();
        while state.serving != ticket || state.left < bytes {
            if cancelled() {
                return None;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.left -= bytes;
        state.serving += 1;
        self.changed.notify_all();
        Some(Held { pool: self, bytes })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are taken until this is dropped.
pub(super) struct Held<'p> {
    pool: &'p Pool,
    bytes: u64,
}

impl Held<'_> {
    /// Gives back all but `bytes`.
    pub(super) fn keep(&mut self, bytes: u64) {
        let back = self.bytes.saturating_sub(bytes);
        self.bytes -= back;
        self.pool.lock().left += back;
        self.pool.changed.notify_all();
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.keep(0);
    }
}

/// What the compressor and the decompressor of a codec hold, for pages of `page` bytes.
pub(super) fn compressor_bytes(codec: Compression, page: u64) -> u64 {
    let log = u64::BITS - page.leading_zeros();
    match codec {
        Compression::ZSTD(level) => {
            // Logarithms of the entries of both tables, of 4 bytes each, by zstd's levels; pages that are small have
            // smaller ones.
            let (chain, hash) = match level.compression_level() {
                ..=3 => (16, 17),
                4..=8 => (19, 20),
                9..=16 => (23, 23),
                17..=19 => (24, 22),
                20 | 21 => (26, 24),
                _ => (27, 25),
            };
            let tables = (1_u64 << chain.min(log + 1)) + (1 << hash.min(log + 1));
            4 * tables + (1 << 20).min(4 * page) + (160 << 10)
        }
        Compression::BROTLI(_) => (12 << 20).min(8 * page + (1 << 20)),
        Compression::GZIP(_) => 512 << 10,
        _ => 128 << 10,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_and_tickets_are_served_in_order() {
        let pool = Pool::new(100);
        let (held, order) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for ticket in (0..8).rev() {
                let (pool, held, order) = (&pool, &held, &order);
                scope.spawn(move || {
                    let bytes = 40 + ticket;
                    let mut mine = pool.take(ticket, bytes, &|| false).unwrap();
                    order.lock().unwrap().push(ticket);
                    assert!(held.fetch_add(bytes, Ordering::SeqCst) + bytes <= 100);
                    std::thread::yield_now();
                    held.fetch_sub(bytes - 10, Ordering::SeqCst);
                    mine.keep(10);
                    held.fetch_sub(10, Ordering::SeqCst);
                });
            }
        });
        // Two fit at once, so that neighbours may note themselves in either order.
        let order = order.into_inner().unwrap();
        for (place, ticket) in order.iter().enumerate() {
            assert!(ticket.abs_diff(place as u64) <= 1, "{order:?}");
        }
        assert_eq!(pool.lock().left, 100);
    }

    #[test]
    fn more_than_all_is_all_and_a_cancelled_wait_ends() {
        let pool = Pool::new(10);
        let all = pool.take(0, 1000, &|| false).unwrap();
        assert_eq!(all.bytes, 10);
        let stopped = AtomicBool::new(true);
        assert!(
            pool.take(1, 1, &|| stopped.load(Ordering::Relaxed))
                .is_none()
        );
        drop(all);
        assert!(pool.take(1, 1, &|| true).is_some());
    }
}
