//! The limit on concurrent requests to remote stores.
//!
//! A thread that holds permits may wait for the store, for a processor, or for the lock of a chunk, but never for memory
//! or for more permits. Threads that wait for permits may hold memory. This order prevents deadlocks.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use crate::unpoisoned::Unpoisoned;

thread_local! {
    /// The number of store calls that this thread is making while it holds permits for them.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug)]
pub(crate) struct RequestLimit {
    /// The maximum number of concurrent requests; `None` for no limit.
    limit: Option<usize>,
    taken: Mutex<usize>,
    waiting: AtomicUsize,
    has_changed: Condvar,
}

#[derive(Debug)]
pub(crate) struct RequestPermit<'l> {
    limit: &'l RequestLimit,
    count: usize,
}

impl RequestLimit {
    /// Creates a limit of at least one request; `None` for no limit.
    pub(crate) fn new(limit: Option<usize>) -> Self {
        let limit = limit.map(|limit| limit.max(1));
        Self { limit, taken: Mutex::default(), waiting: AtomicUsize::new(0), has_changed: Condvar::new() }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes the free requests, at most `most` and at least one. Waits until a request is free.
    ///
    /// A thread does not wait if it is already in a store call and holds permits for it. This happens if the store
    /// itself reads or writes an array.
    pub(crate) fn acquire(&self, most: usize) -> RequestPermit<'_> {
        let Some(limit) = self.limit else { return RequestPermit { limit: self, count: 0 } };
        let mut taken = self.taken.lock().unpoisoned();
        if *taken >= limit && CALLS.get() == 0 {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            while *taken >= limit {
                taken = self.has_changed.wait(taken).unpoisoned();
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        let count = limit.saturating_sub(*taken).clamp(1, most.max(1));
        *taken += count;
        RequestPermit { limit: self, count }
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

impl RequestPermit<'_> {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Calls the store. During the call, this thread does not wait for further permits.
    pub(crate) fn call<R>(&self, store: impl FnOnce() -> R) -> R {
        CALLS.set(CALLS.get() + 1);
        let _call = Call;
        store()
    }
}

/// A store call that ends when this is dropped.
struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.set(CALLS.get() - 1);
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            *self.limit.taken.lock().unpoisoned() -= self.count;
            self.limit.has_changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn takes_the_free_permits_but_at_least_one() {
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
        assert_eq!(*limit.taken.lock().unpoisoned(), 0);
        assert_eq!(RequestLimit::new(Some(0)).acquire(7).count(), 1);
    }

    #[test]
    fn a_store_that_reads_an_array_itself_does_not_wait_for_its_own_request() {
        let limit = RequestLimit::new(Some(1));
        let outer = limit.acquire(1);
        let count = outer.call(|| limit.acquire(8).count());
        assert_eq!(count, 1);
        drop(outer);
        assert_eq!(*limit.taken.lock().unpoisoned(), 0);
    }
}
