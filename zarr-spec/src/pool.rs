//! Things that are costly to make and kept by their owner.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Contexts that are costly to make, kept by the codec, one per concurrent caller.
///
/// It belongs to the codec, not to the thread: it is freed with the array and works inside a loaded library.
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// Without contexts.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs with a context that nobody else has; `create` makes it when none is kept.
    ///
    /// A context is lost, not kept, when `run` panics.
    pub fn with<R>(&self, create: impl FnOnce() -> T, run: impl FnOnce(&mut T) -> R) -> R {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut context = kept.unwrap_or_else(create);
        let result = run(&mut context);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(context);
        result
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}
