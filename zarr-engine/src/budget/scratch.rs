//! Scratch buffers that are counted in a budget and reused by the next thread.
//!
//! Idle buffers stay counted, and are freed when a thread waits for memory.

use std::mem;
use std::sync::atomic::Ordering;

use super::{Holding, MemoryBudget, Permit};
use crate::scratch::Scratch;

/// Scratch buffers may be counted with up to this many bytes more than they have, so that small chunks need no atomic
/// operation.
const SLACK: u64 = 1 << 20;

/// Maximum size in bytes of scratch buffers that are reused. Larger ones are freed.
const MOST_IDLE: u64 = 64 << 20;

/// Scratch buffers and the number of bytes that the budget counts for them.
#[derive(Debug, Default)]
pub(super) struct Counted {
    scratch: Scratch,
    pub(super) size: u64,
}

impl MemoryBudget {
    /// Runs `work` with scratch buffers for `need` bytes in total, and waits until they are free. The caller has
    /// checked that `need` does not exceed the budget.
    pub(crate) fn with_scratch<R>(&self, need: u64, work: impl FnOnce(&mut Scratch) -> R) -> R {
        self.with_scratch_and_permit(need, 0, work).0
    }

    /// Like [`Self::with_scratch`], with a permit for `more` bytes that outlives `work`. All memory is acquired in one
    /// step.
    pub(crate) fn with_scratch_and_permit<R>(
        &self,
        need: u64,
        more: u64,
        work: impl FnOnce(&mut Scratch) -> R,
    ) -> (R, Permit<'_>) {
        let mut counted = self.checkout(need.saturating_add(more));
        let size = more.min(counted.size);
        counted.size -= size;
        let permit = Permit { budget: self, size };
        (self.lend(counted, work), permit)
    }

    /// Like [`Self::with_scratch`] if the memory is free; otherwise returns `None`.
    pub(crate) fn try_with_scratch<R>(&self, need: u64, work: impl FnOnce(&mut Scratch) -> R) -> Option<R> {
        let mut counted = self.idle.take().unwrap_or_default();
        let more = need.saturating_sub(counted.size);
        if more > 0 && !self.try_take(more) {
            self.check_in(counted);
            return None;
        }
        counted.size += more;
        Some(self.lend(counted, work))
    }

    /// Like [`Self::with_scratch`], for a thread whose memory is already counted.
    pub(crate) fn with_paid_scratch<R>(&self, work: impl FnOnce(&mut Scratch) -> R) -> R {
        self.lend(self.idle.take().unwrap_or_default(), work)
    }

    fn checkout(&self, need: u64) -> Box<Counted> {
        let mut counted = self.idle.take().unwrap_or_default();
        if counted.size >= need {
            return counted;
        }
        if self.try_take(need - counted.size) {
            counted.size = need;
            return counted;
        }
        // The thread may have to wait, and a waiting thread must not hold memory.
        let size = counted.size;
        drop(counted);
        self.release(size);
        self.take(need);
        Box::new(Counted { size: need, ..Counted::default() })
    }

    /// Runs `work` with scratch buffers, and returns them for reuse unless it panics.
    fn lend<R>(&self, mut counted: Box<Counted>, work: impl FnOnce(&mut Scratch) -> R) -> R {
        let _holding = Holding::new();
        let permit = Permit { budget: self, size: counted.size };
        let result = work(&mut counted.scratch);
        mem::forget(permit);
        self.check_in(counted);
        result
    }

    /// Returns scratch buffers for reuse, or frees them if they are large or if a thread waits for memory.
    fn check_in(&self, mut counted: Box<Counted>) {
        let size = counted.scratch.size();
        if size > MOST_IDLE {
            let counted_size = counted.size;
            drop(counted);
            return self.release(counted_size);
        }
        if size > counted.size {
            self.taken.fetch_add(size - counted.size, Ordering::SeqCst);
            counted.size = size;
        } else if counted.size - size > SLACK {
            self.release(counted.size - size);
            counted.size = size;
        }
        self.idle.put(counted);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.free_idle();
            self.wake();
        }
    }
}
