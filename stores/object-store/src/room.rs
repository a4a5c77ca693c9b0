//! Memory for what is fetched and not taken yet.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes that all answers of one call may have until they are taken.
#[derive(Debug)]
pub(crate) struct Room {
    free: Semaphore,
    all: u32,
}

impl Room {
    pub(crate) fn new(budget: usize) -> Self {
        let all = u32::try_from(budget).unwrap_or(u32::MAX).max(1);
        Self { free: Semaphore::new(usize::try_from(all).unwrap_or(usize::MAX)), all }
    }

    /// Waits for room for `size` bytes, or for all there is; who asks first is first. What is taken is free again when it
    /// is dropped, and after [`SemaphorePermit::forget`] with [`Room::give_back`].
    pub(crate) async fn take(&self, size: usize) -> Option<SemaphorePermit<'_>> {
        // Nobody closes it.
        self.free.acquire_many(self.counted(size)).await.ok()
    }

    /// What was taken for `size` bytes is free again.
    pub(crate) fn give_back(&self, size: usize) {
        self.free.add_permits(usize::try_from(self.counted(size)).unwrap_or(usize::MAX));
    }

    fn counted(&self, size: usize) -> u32 {
        u32::try_from(size).unwrap_or(u32::MAX).min(self.all)
    }
}
