//! The memory budget of a context: a counting semaphore of bytes, and the scratch buffers that are counted in it.
//!
//! No thread waits for memory permanently, because a waiting thread holds none:
//!
//! - A thread acquires all memory for a chunk in one step, before it acquires the lock or the claim of the chunk. It
//!   does not wait for memory again until the chunk is done. Threads that help with a chunk acquire memory only if some
//!   is free.
//! - A thread that holds memory does not wait for rayon, because rayon might run another read or write on this thread.
//!   It does not wait for the lock of a node either. A store or codec may itself read or write an array on a thread
//!   that holds memory. This inner read or write acquires memory without waiting, even beyond the budget, because the
//!   thread releases its memory only afterwards.
//! - A buffer that becomes larger than expected is counted without waiting. The limits of outputs bound the excess.

mod scratch;
mod system;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use zarr_spec::Pool;

use crate::unpoisoned::Unpoisoned;
use scratch::Counted;

pub(crate) use system::usable_memory;

/// A number of bytes that all operations of a context share.
pub(crate) struct MemoryBudget {
    size: u64,
    /// The bytes of all permits and of idle scratch buffers. Exceeds `size` only in the cases in the module
    /// documentation.
    taken: AtomicU64,
    waiting: AtomicUsize,
    queue: Mutex<Queue>,
    has_changed: Condvar,
    idle: Pool<Box<Counted>>,
}

/// The queue of waiting threads. They are served in order, so that large requests are not starved by small ones.
#[derive(Debug, Default)]
struct Queue {
    next_ticket: u64,
    first_waiting: u64,
}

#[derive(Debug)]
pub(crate) struct Permit<'b> {
    budget: &'b MemoryBudget,
    size: u64,
}

thread_local! {
    /// The number of [`Holding`] marks of this thread, for all budgets.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Marks the current thread as holding memory, until it is dropped. Such a thread does not wait for more.
#[derive(Debug)]
pub(crate) struct Holding(PhantomData<*const ()>);

impl Holding {
    pub(crate) fn new() -> Self {
        HELD.set(HELD.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

impl MemoryBudget {
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            taken: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            queue: Mutex::default(),
            has_changed: Condvar::new(),
            idle: Pool::new(),
        }
    }

    /// Returns the size of the budget in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Acquires `size` bytes, and waits until they are free. The caller has checked that `size` does not exceed the
    /// budget.
    pub(crate) fn acquire(&self, size: u64) -> Permit<'_> {
        self.take(size);
        Permit { budget: self, size }
    }

    pub(crate) fn try_acquire(&self, size: u64) -> Option<Permit<'_>> {
        self.try_take(size).then(|| Permit { budget: self, size })
    }

    /// Acquires from `least` to `most` bytes, depending on how many are free. Waits until at least `least` bytes are
    /// free.
    pub(crate) fn acquire_between(&self, least: u64, most: u64) -> Permit<'_> {
        let mut size = most.min(self.size);
        while size > least {
            if let Some(permit) = self.try_acquire(size) {
                return permit;
            }
            size /= 2;
        }
        self.acquire(least)
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Counts `size` bytes that are already allocated. Does not wait.
    pub(crate) fn charge(&self, size: u64) -> Permit<'_> {
        let mut permit = Permit { budget: self, size: 0 };
        permit.resize(size);
        permit
    }

    fn take(&self, size: u64) {
        if self.try_take(size) {
            return;
        }
        if HELD.get() > 0 {
            self.taken.fetch_add(size, Ordering::SeqCst);
            return;
        }
        self.wait_for(size);
    }

    fn try_take(&self, size: u64) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0 && self.take_free(size)
    }

    fn take_free(&self, size: u64) -> bool {
        // A request for more than the whole budget succeeds when nothing else is taken, so that it does not wait
        // permanently.
        let fits = |now: u64, before: u64| before == 0 || now <= self.size;
        let take = |taken: u64| taken.checked_add(size).filter(|&now| fits(now, taken));
        self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    fn wait_for(&self, size: u64) {
        let mut queue = self.queue.lock().unpoisoned();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        // From here on, this thread is woken when memory is released.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        loop {
            if queue.first_waiting == ticket {
                self.free_idle();
                if self.take_free(size) {
                    break;
                }
            }
            queue = self.has_changed.wait(queue).unpoisoned();
        }
        queue.first_waiting += 1;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(queue);
        self.has_changed.notify_all();
    }

    fn free_idle(&self) {
        let freed: u64 = self.idle.take_all().into_iter().map(|counted| counted.size).sum();
        self.taken.fetch_sub(freed, Ordering::SeqCst);
    }

    fn release(&self, size: u64) {
        if size > 0 {
            self.taken.fetch_sub(size, Ordering::SeqCst);
            self.wake();
        }
    }

    fn wake(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            // A thread that has found too little memory holds the lock until it waits on the condition variable.
            // Acquiring the lock ensures that the notification also reaches this thread.
            drop(self.queue.lock().unpoisoned());
            self.has_changed.notify_all();
        }
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryBudget")
            .field("size", &self.size)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

impl<'b> Permit<'b> {
    /// Returns the size of the permit in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Changes the size of the permit. Does not wait, because the memory is already allocated.
    pub(crate) fn resize(&mut self, size: u64) {
        if size > self.size {
            self.budget.taken.fetch_add(size - self.size, Ordering::SeqCst);
        } else {
            self.budget.release(self.size - size);
        }
        self.size = size;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.budget.release(self.size);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn taken(budget: &MemoryBudget) -> u64 {
        budget.taken.load(Ordering::SeqCst)
    }

    #[test]
    fn dropping_a_permit_releases_its_bytes() {
        let budget = MemoryBudget::new(10);
        let first = budget.acquire(6);
        assert!(budget.try_acquire(5).is_none());
        let mut second = budget.try_acquire(4).unwrap();
        second.resize(1);
        assert_eq!(taken(&budget), 7);
        second.resize(9);
        assert_eq!(taken(&budget), 15);
        drop((first, second));
        assert_eq!(taken(&budget), 0);
        assert_eq!(budget.acquire_between(2, 100).size(), 10);
    }

    #[test]
    fn acquires_what_is_free_between_two_sizes() {
        let budget = MemoryBudget::new(100);
        let _other = budget.acquire(70);
        assert_eq!(budget.acquire_between(10, 80).size(), 20);
        assert_eq!(budget.acquire_between(30, 40).size(), 30);
    }

    #[test]
    fn a_thread_that_holds_memory_gets_more_without_waiting() {
        let budget = MemoryBudget::new(10);
        let held = budget.acquire(10);
        let holding = Holding::new();
        let more = budget.acquire(5);
        assert_eq!(taken(&budget), 15);
        drop((more, holding, held));
        assert_eq!(taken(&budget), 0);
    }

    #[test]
    fn small_requests_do_not_overtake_a_large_one() {
        let budget = MemoryBudget::new(10);
        let small = budget.acquire(1);
        thread::scope(|scope| {
            let large = scope.spawn(|| budget.acquire(10).size());
            while budget.waiting.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            assert!(budget.try_acquire(1).is_none());
            drop(small);
            assert_eq!(large.join().unwrap(), 10);
        });
        assert!(budget.try_acquire(1).is_some());
    }

    #[test]
    fn threads_with_a_tiny_budget_finish_and_never_exceed_it() {
        let budget = MemoryBudget::new(100);
        let held = AtomicU64::new(0);
        let was_exceeded = AtomicBool::new(false);
        thread::scope(|scope| {
            for thread in 0..16u64 {
                let budget = &budget;
                let held = &held;
                let was_exceeded = &was_exceeded;
                scope.spawn(move || {
                    for turn in 0..2000u64 {
                        let size = 1 + (thread * 7919 + turn * 104_729) % 100;
                        let permit = match turn % 3 {
                            0 => Some(budget.acquire_between(1, size)),
                            1 => budget.try_acquire(size),
                            _ => Some(budget.acquire(size)),
                        };
                        let Some(permit) = permit else { continue };
                        if held.fetch_add(permit.size(), Ordering::SeqCst) + permit.size() > 100 {
                            was_exceeded.store(true, Ordering::SeqCst);
                        }
                        held.fetch_sub(permit.size(), Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(!was_exceeded.into_inner());
        assert_eq!(taken(&budget), 0);
    }
}
