//! The memory budget of responses.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Limits the memory of the responses that have arrived and that the caller has not taken, for the requests of one
/// call.
#[derive(Debug)]
pub(crate) struct Budget {
    free: Semaphore,
    all: u32,
}

impl Budget {
    pub(crate) fn new(budget: usize) -> Self {
        let all = u32::try_from(budget).unwrap_or(u32::MAX).max(1);
        Self { free: Semaphore::new(usize::try_from(all).unwrap_or(usize::MAX)), all }
    }

    /// Waits for `size` bytes of the budget, or for all of it if `size` is larger. The order is first come,
    /// first served. Dropping the permit releases the bytes; after [`SemaphorePermit::forget`], use
    /// [`Budget::release`].
    pub(crate) async fn take(&self, size: usize) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.free.acquire_many(self.counted(size)).await.ok()
    }

    /// Releases the bytes of a forgotten permit.
    pub(crate) fn release(&self, size: usize) {
        self.free.add_permits(usize::try_from(self.counted(size)).unwrap_or(usize::MAX));
    }

    fn counted(&self, size: usize) -> u32 {
        u32::try_from(size).unwrap_or(u32::MAX).min(self.all)
    }
}
