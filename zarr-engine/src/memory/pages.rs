//! Which kind of pages new memory gets that is written as a whole, huge or small ones.
//!
//! Where the system has huge pages at hand, they take half as long as small ones or less. Where its memory is in pieces,
//! it moves other pages to make room for each, which takes twice as long as small ones, and some take ten times that. Only
//! the clock tells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Memory, OutOfMemory};

/// Whether large memory is mapped at all; if not, there is no choice, and perhaps no clock.
const IS_MAPPED: bool = cfg!(all(target_os = "linux", not(miri)));

/// Every so many times, the kind that was slower is tried again.
const AGAIN: u64 = 8;

/// How long pages of either kind took of late.
#[derive(Debug, Default)]
pub(super) struct Pages {
    huge: Pace,
    small: Pace,
    asked: AtomicU64,
}

/// Nanoseconds per mebibyte, 0 while nobody knows.
#[derive(Debug, Default)]
struct Pace(AtomicU64);

impl Pages {
    /// `size` bytes that are zero, all pages of which are there.
    ///
    /// # Errors
    ///
    /// Same as [`Memory::zeroed`].
    pub(super) fn get(&self, size: usize) -> Result<Memory, OutOfMemory> {
        if !IS_MAPPED {
            return Memory::zeroed(size);
        }
        let is_huge = self.are_huge_next();
        let begun = Instant::now();
        let memory = if is_huge { Memory::populated(size) } else { Memory::packed(size) }?;
        let pace = begun.elapsed().as_nanos().saturating_mul(1 << 20) / (size.max(1) as u128);
        if is_huge { &self.huge } else { &self.small }.note(u64::try_from(pace).unwrap_or(u64::MAX));
        Ok(memory)
    }

    /// Returns whether the next pages are huge: the faster kind, or the other one now and then.
    fn are_huge_next(&self) -> bool {
        let is_again = self.asked.fetch_add(1, Ordering::Relaxed) % AGAIN == AGAIN - 1;
        (self.huge.get() <= self.small.get()) != is_again
    }
}

impl Pace {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// A mean in which what is new counts for a quarter. Of two notes at once, one may be lost.
    fn note(&self, new: u64) {
        let mean = match self.get() {
            0 => new,
            old => old - old / 4 + new / 4,
        };
        self.0.store(mean.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_kind_is_taken_and_the_other_one_is_tried_again() {
        let pages = Pages::default();
        // Nothing is known of either.
        assert!(pages.are_huge_next());
        pages.huge.note(300);
        assert!(!pages.are_huge_next());
        pages.small.note(100);
        let next: Vec<bool> = (2..2 * AGAIN).map(|_| pages.are_huge_next()).collect();
        let tried = next.iter().enumerate().filter(|(_, is_huge)| **is_huge).map(|(at, _)| at as u64 + 2);
        assert_eq!(tried.collect::<Vec<_>>(), [AGAIN - 1, 2 * AGAIN - 1]);
        (0..8).for_each(|_| pages.huge.note(50));
        assert!(pages.are_huge_next());
        // One that takes very long is enough.
        pages.huge.note(2000);
        assert!(!pages.are_huge_next());
    }

    #[test]
    fn both_kinds_hold_zeros() {
        let size = if cfg!(miri) { 4096 } else { super::super::HUGE_PAGE };
        let pages = Pages::default();
        for _ in 0..2 * AGAIN {
            let mut memory = pages.get(size).unwrap();
            assert_eq!((memory.len(), memory.iter().any(|&byte| byte != 0)), (size, false));
            memory.fill(1);
        }
    }
}
