//! Locks whose state stays valid if a thread panics while it holds them.

use std::sync::{LockResult, PoisonError};

/// The result of acquiring a lock, of waiting, or of taking the value out of a lock.
pub(crate) trait Unpoisoned {
    type Value;

    /// Returns the value, even if another thread has panicked. The panic itself is propagated by that thread.
    fn unpoisoned(self) -> Self::Value;
}

impl<T> Unpoisoned for LockResult<T> {
    type Value = T;

    #[inline]
    fn unpoisoned(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
