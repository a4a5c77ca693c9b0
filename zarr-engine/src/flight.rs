//! Runs concurrent work that usually waits for a store on separate threads, and limits it.
//!
//! These threads start no rayon jobs, and rayon threads never wait for each other here. Therefore all threads of a
//! rayon pool may call these functions at the same time.

mod hand_out;
mod produce;

use std::any::Any;
use std::mem;
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

pub(crate) use hand_out::hand_out;
pub(crate) use produce::produce_and_store;

use crate::unpoisoned::Unpoisoned;

/// Maximum number of encoded but not yet stored bytes of one write. Chunks of 1 MiB are common, and stores are fast with
/// several dozen of them at a time.
pub(crate) const IN_FLIGHT: usize = 64 << 20;

enum Stop<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

/// Calls `work` for each number below `count`, on up to `threads` threads including this one. If the system has no more
/// threads, the existing ones do the work. Panics are propagated. Returns the first error: no work is started after it,
/// and work that was started before is finished.
pub(crate) fn each<E: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if threads.min(count) <= 1 {
        return (0..count).try_for_each(work);
    }
    let stop = Mutex::new(None);
    each_until(count, threads, &|number| {
        let why = match panic::catch_unwind(AssertUnwindSafe(|| work(number))) {
            Ok(Ok(())) => return ControlFlow::Continue(()),
            Ok(Err(error)) => Stop::Error(error),
            Err(panic) => Stop::Panic(panic),
        };
        stop.lock().unpoisoned().get_or_insert(why);
        ControlFlow::Break(())
    });
    ended(stop.into_inner().unpoisoned())
}

/// Calls `work` like [`each`], until `work` breaks. This function is not generic: otherwise the code that starts
/// threads would be compiled for each kind of closure.
fn each_until(count: usize, threads: usize, work: &(dyn Fn(usize) -> ControlFlow<()> + Sync)) {
    let next = AtomicUsize::new(0);
    let run = || {
        let take = |next: usize| (next < count).then_some(next + 1);
        while let Ok(number) = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            if work(number).is_break() {
                next.store(count, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}

fn ended<E>(stop: Option<Stop<E>>) -> Result<(), E> {
    match stop {
        None => Ok(()),
        Some(Stop::Error(error)) => Err(error),
        Some(Stop::Panic(panic)) => panic::resume_unwind(panic),
    }
}

/// Returns the result of `work` for each item, in the order of `items`. Uses up to `threads` threads.
pub(crate) fn map<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let made = Mutex::new(Vec::new());
    each(items.len(), threads, |number| {
        let one = work(&items[number])?;
        made.lock().unpoisoned().push((number, one));
        Ok(())
    })?;
    let mut made = made.into_inner().unpoisoned();
    made.sort_unstable_by_key(|(number, _)| *number);
    Ok(made.into_iter().map(|(_, one)| one).collect())
}

/// Limits for threads that usually wait for a store: the number of threads that compute, and the number of bytes in
/// flight.
///
/// A thread acquires an [`IoPermit`] first, then memory of the budget, then the lock of a chunk, then a processor. A
/// thread that holds a processor never blocks, and a thread that stores a value already has the memory for it.
/// Therefore there is no deadlock.
#[derive(Debug)]
pub(crate) struct IoBudget {
    processors: usize,
    /// The maximum number of bytes in flight.
    room: usize,
    state: Mutex<State>,
    is_idle: Condvar,
    has_room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    computing: usize,
    rooms: usize,
    bytes: usize,
    /// The number of threads that wait for a processor.
    waiting_for_cpu: usize,
    /// The number of threads that wait for bytes in flight.
    waiting_for_room: usize,
}

#[derive(Debug)]
pub(crate) struct IoPermit<'f> {
    io_budget: &'f IoBudget,
    size: usize,
}

impl IoBudget {
    /// Returns a budget of `processors` processors and at most `bytes` bytes in flight, but not more than
    /// [`IN_FLIGHT`].
    pub(crate) fn new(processors: usize, bytes: u64) -> Self {
        let is_idle = Condvar::new();
        let has_room = Condvar::new();
        let room = usize::try_from(bytes).unwrap_or(usize::MAX).min(IN_FLIGHT);
        Self { processors: processors.max(1), room, state: Mutex::default(), is_idle, has_room }
    }

    /// Waits until `size` bytes may be in flight. One permit per processor is always granted.
    pub(crate) fn acquire(&self, size: usize) -> IoPermit<'_> {
        let mut state = self.state.lock().unpoisoned();
        while state.rooms >= self.processors && state.bytes.saturating_add(size) > self.room {
            state.waiting_for_room += 1;
            state = self.has_room.wait(state).unpoisoned();
            state.waiting_for_room -= 1;
        }
        state.rooms += 1;
        state.bytes = state.bytes.saturating_add(size);
        IoPermit { io_budget: self, size }
    }

    /// Waits for a free processor and runs `work`, which must not block.
    pub(crate) fn with_cpu<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut state = self.state.lock().unpoisoned();
        while state.computing >= self.processors {
            state.waiting_for_cpu += 1;
            state = self.is_idle.wait(state).unpoisoned();
            state.waiting_for_cpu -= 1;
        }
        state.computing += 1;
        drop(state);
        let _computing = Computing(self);
        work()
    }

    /// Changes the state, and wakes the threads that wait for bytes in flight. Notifies only if a thread waits, because
    /// each notification is a system call.
    fn give_room(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unpoisoned();
        change(&mut state);
        let is_waited_for = state.waiting_for_room > 0;
        drop(state);
        if is_waited_for {
            self.has_room.notify_all();
        }
    }
}

impl IoPermit<'_> {
    /// Changes the size of the permit to the actual number of bytes. Does not wait.
    pub(crate) fn resize(&mut self, size: usize) {
        let before = mem::replace(&mut self.size, size);
        self.io_budget
            .give_room(|state| state.bytes = state.bytes.saturating_sub(before).saturating_add(size));
    }
}

impl Drop for IoPermit<'_> {
    fn drop(&mut self) {
        self.io_budget.give_room(|state| {
            state.rooms -= 1;
            state.bytes = state.bytes.saturating_sub(self.size);
        });
    }
}

struct Computing<'f>(&'f IoBudget);

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unpoisoned();
        state.computing -= 1;
        let is_waited_for = state.waiting_for_cpu > 0;
        drop(state);
        if is_waited_for {
            self.0.is_idle.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_work_once_per_number_and_keeps_the_order_of_results() {
        for threads in [0, 1, 2, 7, 1000] {
            let turns: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            each(turns.len(), threads, |number| {
                turns[number].fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(())
            })
            .unwrap();
            assert!(turns.iter().all(|turns| turns.load(Ordering::SeqCst) == 1), "{threads}");
            let items: Vec<usize> = (0..100).collect();
            let squares = map(&items, threads, |item| Ok::<_, ()>(item * item)).unwrap();
            assert!(squares.iter().enumerate().all(|(number, square)| number * number == *square));
        }
    }

    #[test]
    fn work_runs_on_all_requested_threads() {
        let meeting = Barrier::new(5);
        each(5, 5, |_| {
            meeting.wait();
            Ok::<_, ()>(())
        })
        .unwrap();
    }

    #[test]
    fn starts_nothing_after_an_error_and_returns_the_first_one() {
        let begun = AtomicUsize::new(0);
        let has_failed = AtomicBool::new(false);
        let error = each(1000, 4, |number| {
            begun.fetch_add(1, Ordering::SeqCst);
            match number {
                7 => {
                    has_failed.store(true, Ordering::SeqCst);
                    Err(number)
                }
                // These fail after the error of number 7, so their errors must not be returned.
                5 | 6 => {
                    while !has_failed.load(Ordering::SeqCst) {
                        thread::yield_now();
                    }
                    thread::sleep(Duration::from_millis(100));
                    Err(number)
                }
                _ => Ok(()),
            }
        });
        assert_eq!(error, Err(7));
        assert!(begun.load(Ordering::SeqCst) < 1000);
    }

    #[test]
    fn propagates_a_panic_to_the_caller() {
        let io_budget = IoBudget::new(1, u64::MAX);
        let work = AssertUnwindSafe(|| {
            each(100, 3, |number| {
                let _room = io_budget.acquire(1);
                io_budget.with_cpu(|| assert!(number != 20, "number 20"));
                Ok::<_, ()>(())
            })
        });
        let panic = panic::catch_unwind(work).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"number 20"));
        // The call that panicked has released its permit and its processor.
        let state = io_budget.state.lock().unpoisoned();
        assert_eq!((state.computing, state.rooms, state.bytes), (0, 0, 0));
    }

    #[test]
    fn computes_on_no_more_threads_than_processors() {
        let io_budget = IoBudget::new(2, u64::MAX);
        let computing = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        each(50, 16, |_| {
            io_budget.with_cpu(|| {
                most.fetch_max(computing.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
                computing.fetch_sub(1, Ordering::SeqCst);
            });
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(most.into_inner(), 2);
    }

    #[test]
    fn a_full_budget_grants_only_one_permit_per_processor() {
        let io_budget = IoBudget::new(2, u64::MAX);
        let first = io_budget.acquire(usize::MAX);
        let second = io_budget.acquire(usize::MAX);
        let has_begun = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _third = io_budget.acquire(1);
                has_begun.store(true, Ordering::SeqCst);
            });
            while io_budget.state.lock().unpoisoned().waiting_for_room == 0 {
                thread::yield_now();
            }
            assert!(!has_begun.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(has_begun.load(Ordering::SeqCst));
        drop(second);
        let mut room = io_budget.acquire(IN_FLIGHT);
        let _small = io_budget.acquire(IN_FLIGHT);
        room.resize(1);
        assert_eq!(io_budget.state.lock().unpoisoned().bytes, IN_FLIGHT + 1);
    }
}
