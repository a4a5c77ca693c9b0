//! Pools of objects that are expensive to create.

use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// The number of slots. If there are more threads, some of them share a slot.
const PLACES: usize = 32;

/// A pool of contexts that are expensive to create, one per concurrent caller.
///
/// The pool belongs to a codec, not to a thread: it is freed with the array and works inside of a loaded library.
///
/// Threads usually receive the context that they used before, so that threads do not share memory: for a small chunk,
/// passing a lock between processors takes longer than encoding or decoding.
pub struct Pool<T>(OnceLock<Box<[Slot<T>; PLACES]>>);

/// The contexts that threads returned to one slot, on a separate cache line.
#[repr(align(64))]
struct Slot<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    /// Creates an empty pool.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Calls `run` with a context that no other thread uses; `create` creates it if none is free.
    ///
    /// If `run` panics, the context is dropped.
    pub fn with<R>(&self, create: impl FnOnce() -> T, run: impl FnOnce(&mut T) -> R) -> R {
        let mut context = self.take().unwrap_or_else(create);
        let result = run(&mut context);
        self.put(context);
        result
    }

    /// Takes a context that no other thread uses, if there is one.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        let places = self.places();
        let kept = places[place_of_thread()].lock().pop();
        kept.or_else(|| places.iter().find_map(Slot::take))
    }

    /// Returns a context to the pool.
    pub fn put(&self, context: T) {
        self.places()[place_of_thread()].lock().push(context);
    }

    /// Takes all contexts that no thread uses.
    #[must_use]
    pub fn take_all(&self) -> Vec<T> {
        self.places().iter().flat_map(|place| std::mem::take(&mut *place.lock())).collect()
    }

    fn places(&self) -> &[Slot<T>; PLACES] {
        self.0.get_or_init(|| Box::new([const { Slot(Mutex::new(Vec::new())) }; PLACES]))
    }
}

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free context, unless another thread holds the lock.
    fn take(&self) -> Option<T> {
        match self.0.try_lock() {
            Ok(mut contexts) => contexts.pop(),
            Err(TryLockError::Poisoned(contexts)) => contexts.into_inner().pop(),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Returns the slot of this thread, based on the address of its stack; stacks are usually consecutive. The
/// result affects only speed.
fn place_of_thread() -> usize {
    /// Size of a stack that the standard library requests.
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
