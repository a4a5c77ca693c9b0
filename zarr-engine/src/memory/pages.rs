//! Selection of huge or small pages for new memory that is written completely.
//!
//! If the system has free huge pages, they take at most half as long as small ones. If its memory is fragmented, it
//! moves other pages to free each huge page, which takes twice as long as small pages, and sometimes ten times as long.
//! Only a measurement can distinguish these cases.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Memory, OutOfMemory};

/// Whether large memory is mapped. Otherwise the pages cannot be chosen, and are not measured: there may be no clock.
const IS_MAPPED: bool = cfg!(all(target_os = "linux", not(miri)));

/// The slower kind is tried again once in this number of allocations.
const AGAIN: u64 = 8;

/// The recent allocation times of both kinds of pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    huge: Pace,
    small: Pace,
    asked: AtomicU64,
}

/// Nanoseconds per mebibyte; 0 if unknown.
#[derive(Debug, Default)]
struct Pace(AtomicU64);

impl Pages {
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

    /// Returns whether the next pages are huge. This selects the faster kind, and occasionally the other one.
    fn are_huge_next(&self) -> bool {
        let is_again = self.asked.fetch_add(1, Ordering::Relaxed) % AGAIN == AGAIN - 1;
        (self.huge.get() <= self.small.get()) != is_again
    }
}

impl Pace {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Updates the mean, with a weight of a quarter for the new value. If two threads update it at the same time, one
    /// value may be lost.
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
    fn selects_the_faster_kind_and_retries_the_other() {
        let pages = Pages::default();
        // While the times of both kinds are unknown, huge pages are selected.
        assert!(pages.are_huge_next());
        pages.huge.note(300);
        assert!(!pages.are_huge_next());
        pages.small.note(100);
        let next: Vec<bool> = (2..2 * AGAIN).map(|_| pages.are_huge_next()).collect();
        let tried = next.iter().enumerate().filter(|(_, is_huge)| **is_huge).map(|(at, _)| at as u64 + 2);
        assert_eq!(tried.collect::<Vec<_>>(), [AGAIN - 1, 2 * AGAIN - 1]);
        (0..8).for_each(|_| pages.huge.note(50));
        assert!(pages.are_huge_next());
        // A single very slow allocation is enough to select the other kind.
        pages.huge.note(2000);
        assert!(!pages.are_huge_next());
    }

    #[test]
    fn both_kinds_are_zeroed() {
        let size = if cfg!(miri) { 4096 } else { super::super::HUGE_PAGE };
        let pages = Pages::default();
        for _ in 0..2 * AGAIN {
            let mut memory = pages.get(size).unwrap();
            assert_eq!((memory.len(), memory.iter().any(|&byte| byte != 0)), (size, false));
            memory.fill(1);
        }
    }
}
