//! The memory budget of a context: a counting semaphore of bytes, and the scratch buffers that it pays for.
//!
//! No thread waits for memory permanently, because a thread that waits holds none:
//!
//! - A thread takes all that a chunk needs in one step, before it takes the lock or the claim of the chunk, and does not
//!   wait for memory again before it is done. Threads that help with a chunk take memory only if some is free.
//! - A thread that holds memory waits neither for rayon, which might run another read or write on it, nor for the lock of
//!   a node. Where a store or a codec reads or writes an array itself, on a thread that holds memory, that gets what it needs
//!   without waiting, over the budget if necessary: what the thread holds is released only after it.
//! - A buffer that becomes larger than expected is counted without waiting. The limits of outputs keep that small.

mod scratch;
mod system;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use scratch::IdleScratch;

pub(crate) use system::usable_memory;

/// A number of bytes that all work of a context shares.
pub(crate) struct MemoryBudget {
    size: u64,
    /// Bytes of all permits and of idle scratch buffers. More than `size` only as the module documentation allows.
    taken: AtomicU64,
    /// Threads that wait.
    waiting: AtomicUsize,
    queue: Mutex<Queue>,
    has_changed: Condvar,
    idle: IdleScratch,
}

/// Threads that wait have their turn in the order in which they came, so that a large chunk has its turn, too.
#[derive(Debug, Default)]
struct Queue {
    next_ticket: u64,
    first_waiting: u64,
}

/// Some bytes of a budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'b> {
    budget: &'b MemoryBudget,
    size: u64,
}

thread_local! {
    /// How often this thread holds memory of any budget.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Marks this thread as one that holds memory, until it is dropped: the thread does not wait for more.
#[derive(Debug)]
pub(crate) struct Holding(PhantomData<*const ()>);

impl Holding {
    /// Marks the thread that calls this.
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
    /// Returns a budget of `size` bytes.
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            taken: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            queue: Mutex::default(),
            has_changed: Condvar::new(),
            idle: IdleScratch::default(),
        }
    }

    /// All bytes of the budget.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Takes `size` bytes, and waits until there are so many. The caller has checked that the budget is as large.
    pub(crate) fn acquire(&self, size: u64) -> Permit<'_> {
        self.take(size);
        Permit { budget: self, size }
    }

    /// Takes `size` bytes if they are free.
    pub(crate) fn try_acquire(&self, size: u64) -> Option<Permit<'_>> {
        self.try_take(size).then(|| Permit { budget: self, size })
    }

    /// Takes from `least` to `most` bytes, as many as are free, and waits until there are at least the fewest.
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

    /// Returns whether a thread waits for memory.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Counts `size` bytes that there are already. Does not wait.
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

    /// Nobody takes memory past a thread that waits for it.
    fn try_take(&self, size: u64) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0 && self.take_free(size)
    }

    fn take_free(&self, size: u64) -> bool {
        // A request for more than all there is has its turn when nothing else is taken: nothing waits permanently.
        let fits = |now: u64, before: u64| before == 0 || now <= self.size;
        let take = |taken: u64| taken.checked_add(size).filter(|&now| fits(now, taken));
        self.taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    fn wait_for(&self, size: u64) {
        let mut queue = self.lock();
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        // From here on, memory that is given back wakes this thread.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        loop {
            if queue.first_waiting == ticket {
                self.free_idle();
                if self.take_free(size) {
                    break;
                }
            }
            queue = self.has_changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.first_waiting += 1;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(queue);
        self.has_changed.notify_all();
    }

    /// Frees the buffers of idle scratch buffers.
    fn free_idle(&self) {
        let freed = self.idle.free();
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
            // A thread that has just found too little is in the condition variable once the lock is free.
            drop(self.lock());
            self.has_changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Returns the bytes it is for.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Changes its size. Does not wait: memory that there is already is counted.
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
    fn a_permit_is_given_back_when_it_is_dropped() {
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
    fn as_much_as_is_free_is_taken_between_two_sizes() {
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
    fn a_large_request_is_not_overtaken_by_small_ones() {
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
    fn many_threads_with_a_tiny_budget_all_end_and_never_hold_more() {
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
