//! Things that are costly to make and kept by their owner.

use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// Threads whose contexts are kept apart: more of them share places.
const PLACES: usize = 8;

/// Contexts that are costly to make, kept by the codec, one per concurrent caller.
///
/// It belongs to the codec, not to the thread: it is freed with the array and works inside a loaded library.
///
/// Threads mostly get back the context that they had before, and then no two of them touch the same memory: a lock that
/// is handed from processor to processor takes longer than the rest of what is done for a small chunk.
pub struct Pool<T>(OnceLock<Box<[Place<T>; PLACES]>>);

/// What some threads have left, on a cache line of its own.
#[repr(align(64))]
struct Place<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// Without contexts.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Runs with a context that nobody else has; `create` makes it when none is kept.
    ///
    /// A context is lost, not kept, when `run` panics.
    pub fn with<R>(&self, create: impl FnOnce() -> T, run: impl FnOnce(&mut T) -> R) -> R {
        let places = self.0.get_or_init(|| Box::new([const { Place(Mutex::new(Vec::new())) }; PLACES]));
        let own = &places[place_of_thread()];
        let kept = own.lock().pop();
        let mut context = kept.or_else(|| places.iter().find_map(Place::take)).unwrap_or_else(create);
        let result = run(&mut context);
        own.lock().push(context);
        result
    }
}

impl<T> Place<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A context, unless others are just looking for one.
    fn take(&self) -> Option<T> {
        match self.0.try_lock() {
            Ok(mut contexts) => contexts.pop(),
            Err(TryLockError::Poisoned(contexts)) => contexts.into_inner().pop(),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Where this thread leaves its contexts: stacks lie apart, mostly one behind another. Nothing but speed depends on it.
fn place_of_thread() -> usize {
    /// Bytes of a stack, as the standard library asks for them.
    const STACK: usize = 2 << 20;
    let on_the_stack = 0u8;
    std::ptr::from_ref(&on_the_stack).addr() / STACK % PLACES
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn there_are_as_many_contexts_as_callers_at_a_time() {
        let pool = Pool::new();
        let made = AtomicUsize::new(0);
        let meeting = Barrier::new(3);
        let make = || made.fetch_add(1, Ordering::SeqCst);
        assert_eq!(pool.with(make, |number| *number), 0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| pool.with(make, |_| meeting.wait()));
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 3);
        for _ in 0..5 {
            thread::scope(|scope| drop(scope.spawn(|| pool.with(make, |number| assert!(*number < 3)))));
        }
        assert_eq!(made.load(Ordering::SeqCst), 3);
    }
}
