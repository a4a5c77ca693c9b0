//! Locks of chunks: what keeps writers of parts of one chunk from losing one another's work.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Chunks that may be changed at the same time without waiting for one another, at most.
const LOCKS: usize = 256;

/// A fixed number of locks for any number of chunks.
#[derive(Debug)]
pub(crate) struct ChunkLocks([Mutex<()>; LOCKS]);

impl ChunkLocks {
    /// None of them taken.
    pub(crate) fn new() -> Self {
        Self([const { Mutex::new(()) }; LOCKS])
    }

    /// Takes the lock of the chunk with this hash.
    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, ()> {
        // The remainder is below the number of locks.
        let lock = usize::try_from(hash % LOCKS as u64).unwrap_or(0);
        self.0[lock].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
