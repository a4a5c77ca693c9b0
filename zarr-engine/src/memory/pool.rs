//! A pool of freed output memory. Its pages are already populated, so that the system does not clear and map them
//! again.

use std::sync::{Arc, Mutex};

use super::pages::Pages;
use super::{Allocation, HUGE_PAGE, Memory, OutOfMemory};

use crate::unpoisoned::Unpoisoned;

/// Minimum size in bytes of pooled memory. The allocator reuses smaller memory well enough.
const LEAST: usize = 32 << 10;

const PIECES: usize = 256;

/// Unused pieces of memory, up to a total number of bytes.
#[derive(Debug)]
pub(crate) struct BufferPool {
    limit: usize,
    /// The pieces, in the order of their last use.
    pieces: Mutex<Vec<Memory>>,
    pages: Pages,
}

impl BufferPool {
    /// Returns a pool of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, pieces: Mutex::new(Vec::new()), pages: Pages::default() }
    }

    /// Returns `size` bytes, and whether they are zeroed. Reused memory has undefined content. The memory returns to
    /// the pool when it is dropped.
    pub(crate) fn get(self: &Arc<Self>, size: usize) -> Result<(Memory, bool), OutOfMemory> {
        // A piece is reused only if the request fills at least half of it.
        let largest = size.saturating_mul(2).saturating_add(1);
        let fits = |piece: &Memory| {
            piece.place != Allocation::Anywhere && (size..=largest).contains(&piece.capacity)
        };
        self.get_or(size, fits, || Memory::zeroed(size))
    }

    /// Like [`Self::get`], for memory with a long lifetime: hardly larger than `size`, with all pages populated, and
    /// possibly in huge pages if the memory fills them.
    pub(super) fn get_packed(self: &Arc<Self>, size: usize) -> Result<(Memory, bool), OutOfMemory> {
        let little = size / 16;
        let fits = |piece: &Memory| (size..=size.saturating_add(little)).contains(&piece.capacity);
        let unused = size.checked_next_multiple_of(HUGE_PAGE).map(|huge| huge - size);
        let may_be_huge = size >= HUGE_PAGE && unused.is_some_and(|unused| unused <= little);
        self.get_or(size, fits, || if may_be_huge { self.pages.get(size) } else { Memory::packed(size) })
    }

    fn get_or(
        self: &Arc<Self>,
        size: usize,
        fits: impl Fn(&Memory) -> bool,
        make: impl FnOnce() -> Result<Memory, OutOfMemory>,
    ) -> Result<(Memory, bool), OutOfMemory> {
        if size < LEAST || size > self.limit {
            self.shrink_to(self.limit.saturating_sub(size));
            return Ok((make()?, true));
        }
        let (mut memory, is_zero) = match self.fitting(fits) {
            Some(memory) => (memory, false),
            None => {
                // Pooled and new memory together do not exceed the limit.
                self.shrink_to(self.limit - size);
                (make()?, true)
            }
        };
        memory.size = size;
        memory.home = Some(Arc::clone(self));
        Ok((memory, is_zero))
    }

    /// Takes the smallest piece that fits; among equal pieces, the most recently used one.
    fn fitting(&self, fits: impl Fn(&Memory) -> bool) -> Option<Memory> {
        let mut pieces = self.pieces.lock().unpoisoned();
        let fitting = pieces.iter().enumerate().rev().filter(|(_, piece)| fits(piece));
        let (at, _) = fitting.min_by_key(|(_, piece)| piece.capacity)?;
        Some(pieces.remove(at))
    }

    pub(super) fn keep(&self, piece: Memory) {
        let mut pieces = self.pieces.lock().unpoisoned();
        pieces.push(piece);
        let freed = surplus(&mut pieces, self.limit);
        drop(pieces);
        // Freeing takes time, so the lock is released first.
        drop(freed);
    }

    fn shrink_to(&self, limit: usize) {
        let mut pieces = self.pieces.lock().unpoisoned();
        let freed = surplus(&mut pieces, limit);
        drop(pieces);
        drop(freed);
    }
}

/// Removes and returns the least recently used pieces that exceed the limits.
fn surplus(pieces: &mut Vec<Memory>, limit: usize) -> Vec<Memory> {
    let mut total: usize = pieces.iter().map(|piece| piece.capacity).sum();
    let mut count = 0;
    while total > limit || pieces.len() - count > PIECES {
        total -= pieces[count].capacity;
        count += 1;
    }
    pieces.drain(..count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize) -> (Arc<BufferPool>, impl Fn() -> Vec<usize>) {
        let kept = Arc::new(BufferPool::new(limit));
        let same = Arc::clone(&kept);
        (kept, move || same.pieces.lock().unwrap().iter().map(|piece| piece.capacity).collect())
    }

    #[test]
    fn reuses_dropped_memory_and_reports_that_it_is_not_zeroed() {
        let (kept, sizes) = kept(1 << 20);
        let (mut memory, is_zero) = kept.get(100_000).unwrap();
        assert!(is_zero && memory.iter().all(|&byte| byte == 0));
        memory.fill(7);
        let start = memory.as_ptr();
        drop(memory);
        assert_eq!(sizes(), [100_000]);
        let (memory, is_zero) = kept.get(90_000).unwrap();
        assert_eq!((memory.len(), memory.as_ptr(), is_zero), (90_000, start, false));
        drop(memory);
        // The pooled piece is too small for the first request, and more than twice as large as the second one.
        assert!(kept.get(100_001).unwrap().1);
        assert!(kept.get(49_999).unwrap().1);
    }

    #[test]
    fn takes_the_best_fit() {
        let (kept, sizes) = kept(1 << 20);
        let all = [60_000, 100_000, 80_000].map(|size| kept.get(size).unwrap());
        drop(all);
        let memory = kept.get(70_000).unwrap();
        assert_eq!((memory.0.capacity, sizes()), (80_000, vec![60_000, 100_000]));
    }

    #[test]
    fn evicts_the_least_recently_used_pieces_at_the_limit() {
        let (kept, sizes) = kept(200_000);
        let all = [70_000, 80_000, 90_000].map(|size| kept.get(size).unwrap());
        drop(all);
        assert_eq!(sizes(), [80_000, 90_000]);
        // New memory evicts pooled pieces.
        let new = kept.get(35_000).unwrap();
        assert_eq!(sizes(), [90_000]);
        drop(new);
        assert_eq!(sizes(), [90_000, 35_000]);
        let many: Vec<_> = (0..PIECES + 2).map(|_| BufferPool::get(&kept, LEAST)).collect();
        drop(many);
        assert!(sizes().len() <= PIECES && sizes().iter().sum::<usize>() <= 200_000);
    }

    #[test]
    fn does_not_pool_memory_that_is_too_large_or_small() {
        let (kept, sizes) = kept(100_000);
        drop(kept.get(50_000).unwrap());
        drop(kept.get(LEAST - 1).unwrap());
        assert_eq!(sizes(), [50_000]);
        drop(kept.get(100_001).unwrap());
        assert_eq!(sizes(), [0; 0]);
        let (nothing, sizes) = super::tests::kept(0);
        drop(nothing.get(LEAST).unwrap());
        assert_eq!(sizes(), [0; 0]);
        assert_eq!(kept.get(usize::MAX).unwrap_err(), OutOfMemory { size: usize::MAX });
    }

    #[test]
    fn memory_outlives_its_pool() {
        let (kept, sizes) = kept(1 << 20);
        let (mut memory, _) = kept.get(70_000).unwrap();
        drop((kept, sizes));
        memory.fill(1);
        std::thread::spawn(move || drop(memory)).join().unwrap();
    }
}
