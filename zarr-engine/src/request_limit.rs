//! The limit of concurrent requests to far stores.
//!
//! A thread that holds permits waits for the store, for a processor, or for the lock of a chunk. It waits neither for
//! memory nor for more permits. Threads that wait for permits may hold memory. So there is no deadlock.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

thread_local! {
    /// How many calls of a store this thread is in for which it holds permits.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The number of requests that all operations of a context may have in flight.
#[derive(Debug)]
pub(crate) struct RequestLimit {
    /// `None` if there is no limit.
    limit: Option<usize>,
    taken: Mutex<usize>,
    /// The number of threads that wait.
    waiting: AtomicUsize,
    has_changed: Condvar,
}

/// A number of requests in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestPermit<'l> {
    limit: &'l RequestLimit,
    count: usize,
}

impl RequestLimit {
    /// At least one request is allowed.
    pub(crate) fn new(limit: Option<usize>) -> Self {
        let limit = limit.map(|limit| limit.max(1));
        Self { limit, taken: Mutex::default(), waiting: AtomicUsize::new(0), has_changed: Condvar::new() }
    }

    /// Whether there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes at most `most` requests: those that are free, and at least one, for which it waits. A thread does not wait in a
    /// call of a store for which it holds permits already: the store reads or writes an array itself.
    pub(crate) fn acquire(&self, most: usize) -> RequestPermit<'_> {
        let Some(limit) = self.limit else { return RequestPermit { limit: self, count: 0 } };
        let mut taken = self.lock();
        if *taken >= limit && CALLS.get() == 0 {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            while *taken >= limit {
                taken = self.has_changed.wait(taken).unwrap_or_else(PoisonError::into_inner);
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        let count = limit.saturating_sub(*taken).clamp(1, most.max(1));
        *taken += count;
        RequestPermit { limit: self, count }
    }

    /// Whether a thread waits for a permit.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestPermit<'_> {
    /// The number of requests.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls the store.
    pub(crate) fn call<R>(&self, store: impl FnOnce() -> R) -> R {
        CALLS.set(CALLS.get() + 1);
        let _call = Call;
        store()
    }
}

/// A call of a store, until it is dropped.
struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.set(CALLS.get() - 1);
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            *self.limit.lock() -= self.count;
            self.limit.has_changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn permits_are_those_that_are_free_and_at_least_one() {
        let limit = RequestLimit::new(Some(5));
        let first = limit.acquire(3);
        let second = limit.acquire(9);
        assert_eq!((first.count(), second.count()), (3, 2));
        thread::scope(|scope| {
            let third = scope.spawn(|| limit.acquire(4).count());
            while !limit.is_waited_for() {
                thread::yield_now();
            }
            drop(first);
            assert_eq!(third.join().unwrap(), 3);
        });
        assert!(!limit.is_waited_for());
        drop(second);
        assert_eq!(*limit.lock(), 0);
        assert_eq!(RequestLimit::new(Some(0)).acquire(7).count(), 1);
    }

    #[test]
    fn a_store_that_reads_an_array_itself_does_not_wait_for_its_own_request() {
        let limit = RequestLimit::new(Some(1));
        let outer = limit.acquire(1);
        let count = outer.call(|| limit.acquire(8).count());
        assert_eq!(count, 1);
        drop(outer);
        assert_eq!(*limit.lock(), 0);
    }
}
