//! Answers that one thread waits for and others work on.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::budget::MemoryBudget;
use crate::context::{Context, Threads};

/// How often this thread looks whether others wait for memory rather than take what is queued.
const PATIENCE: Duration = Duration::from_millis(20);

/// Hands each of `items` to `work` on the threads of `context`, while this thread alone waits for them: one that computes
/// waits for no store, so that others who read and write have their turn. Where this is a thread of a pool itself, it
/// takes part in the work. At most `at_once` items are out of the hands of `items` at a time. A panic goes on here.
///
/// The caller may hold memory that other threads wait for, and gives it back in `done`, which runs on this thread after
/// the last item. So that no thread waits permanently, this thread does queued work itself while others wait for memory,
/// and waits for rayon only after `done`.
///
/// # Errors
///
/// The first one that came up. No item is taken after it.
pub(crate) fn hand_out<T: Send, E: Send>(
    context: &Context,
    at_once: usize,
    mut items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), E> + Send + Sync,
    done: impl FnOnce(),
) -> Result<(), E> {
    if matches!(context.threads(), Threads::Caller | Threads::Scoped(_)) {
        let result = items.try_for_each(work);
        done();
        return result;
    }
    let pending = PendingItems::new(at_once, context);
    let failed = Mutex::new(None);
    let work = |item| {
        if let Err(error) = work(item) {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            pending.end();
        }
    };
    context.in_place_scope(|scope| {
        spawn_all(scope, items, &pending, &work);
        done();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Begins `work` on each item when it is its turn, and waits until all is done.
fn spawn_all<'s, T: Send + 's>(
    scope: &rayon_core::Scope<'s>,
    mut items: impl Iterator<Item = T>,
    pending: &'s PendingItems<'s, T>,
    work: &'s (impl Fn(T) + Sync),
) {
    // What is not asked for yet takes no memory.
    while pending.wait_below(pending.most, work) {
        let Some(item) = items.next() else { break };
        pending.queue(item);
        scope.spawn(move |_| pending.work_on_next(work));
    }
    pending.wait_below(1, work);
}

/// Items that are out of the hands of their iterator.
struct PendingItems<'c, T> {
    most: usize,
    budget: &'c MemoryBudget,
    /// Whether the thread that asks takes part in the work.
    takes_part: bool,
    state: Mutex<PendingState<T>>,
    has_changed: Condvar,
}

struct PendingState<T> {
    /// Items that no thread works on yet.
    queue: VecDeque<T>,
    /// Items that threads work on.
    running: usize,
    /// Whether no item is to be taken any more.
    is_over: bool,
}

/// An item that is being worked on, until this is dropped. A panic ends all.
struct RunningItem<'t, T>(&'t PendingItems<'t, T>);

impl<'c, T> PendingItems<'c, T> {
    fn new(most: usize, context: &'c Context) -> Self {
        let budget = &*context.budget;
        let takes_part = rayon_core::current_thread_index().is_some();
        let state = PendingState { queue: VecDeque::new(), running: 0, is_over: false };
        Self { most: most.max(1), budget, takes_part, state: Mutex::new(state), has_changed: Condvar::new() }
    }

    /// Waits until fewer than `most` items are out, and works on them if this thread takes part, or while others wait for
    /// memory. False if no item is to be taken any more.
    fn wait_below(&self, most: usize, work: impl Fn(T)) -> bool {
        let mut state = self.lock();
        while state.queue.len() + state.running >= most {
            if !state.queue.is_empty() && (self.takes_part || self.budget.is_waited_for()) {
                drop(state);
                self.work_on_next(&work);
                state = self.lock();
            } else {
                let waited = self.has_changed.wait_timeout(state, PATIENCE);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        !state.is_over
    }

    fn queue(&self, item: T) {
        self.lock().queue.push_back(item);
    }

    /// Works on the item that comes next, if there is one.
    fn work_on_next(&self, work: impl Fn(T)) {
        let mut state = self.lock();
        let Some(item) = state.queue.pop_front() else { return };
        state.running += 1;
        drop(state);
        let _turn = RunningItem(self);
        work(item);
    }

    /// No item is taken from here on, and none that waits is worked on.
    fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.queue.clear();
        drop(state);
        self.has_changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, PendingState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for RunningItem<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        self.0.lock().running -= 1;
        self.0.has_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use zarr_spec::Registry;

    use super::*;
    use crate::parallel;

    /// The pool is free while whoever reads waits.
    #[test]
    fn items_are_waited_for_on_the_thread_that_asks_and_worked_on_in_the_pool() {
        let pool = Arc::new(rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let context = Context::new(Registry::empty()).with_thread_pool(Arc::clone(&pool));
        let asking = thread::current().id();
        let sum = AtomicUsize::new(0);
        let items = (0..100).inspect(|_| {
            assert_eq!(thread::current().id(), asking);
            pool.install(|| assert_ne!(thread::current().id(), asking));
        });
        let work = |number| {
            assert_ne!(thread::current().id(), asking);
            sum.fetch_add(number, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        hand_out(&context, 3, items, work, || ()).unwrap();
        assert_eq!(sum.into_inner(), 99 * 50);
    }

    #[test]
    fn threads_of_a_pool_may_hand_out_all_at_once() {
        for threads in [1, 2] {
            let pool = Arc::new(rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
            let context = Context::new(Registry::empty()).with_thread_pool(Arc::clone(&pool));
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                let all = parallel::try_each(0..4, 1, |_| {
                    let work = |number| {
                        sum.fetch_add(number, Ordering::SeqCst);
                        Ok::<_, ()>(())
                    };
                    hand_out(&context, threads + 1, 0..100, work, || ())
                });
                assert_eq!(all, Ok(()));
            });
            assert_eq!(sum.into_inner(), 4 * 99 * 50);
        }
    }

    #[test]
    fn work_is_done_here_while_the_threads_of_the_pool_wait_for_memory_that_this_call_holds() {
        let pool = Arc::new(rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        let context = Context::new(Registry::empty()).with_thread_pool(Arc::clone(&pool));
        let held = context.budget.acquire(context.budget.size());
        let budget = Arc::clone(&context.budget);
        pool.spawn(move || drop(budget.acquire(1)));
        let sum = AtomicUsize::new(0);
        let work = |number| {
            sum.fetch_add(number, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        hand_out(&context, 2, 0..5, work, || drop(held)).unwrap();
        assert_eq!(sum.into_inner(), 10);
    }

    #[test]
    fn no_item_is_taken_after_an_error_or_a_panic() {
        let pool = Arc::new(rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let context = Context::new(Registry::empty()).with_thread_pool(pool);
        let taken = AtomicUsize::new(0);
        let has_failed = AtomicBool::new(false);
        let items = || {
            (0..1000).inspect(|_| {
                taken.fetch_add(1, Ordering::SeqCst);
            })
        };
        // What comes later ends when the failure is known.
        let wait = || {
            while !has_failed.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(100));
        };
        let fails = |number| match number {
            ..7 => Ok(()),
            7 => {
                has_failed.store(true, Ordering::SeqCst);
                Err(number)
            }
            _ => {
                wait();
                Ok(())
            }
        };
        assert_eq!(hand_out(&context, 3, items(), fails, || ()), Err(7));
        assert!(taken.swap(0, Ordering::SeqCst) <= 8 + 2 * 2);
        has_failed.store(false, Ordering::SeqCst);
        // Without the message of a panic, which takes its time.
        let panics = |number| match fails(number) {
            Ok(()) => Ok::<_, ()>(()),
            Err(number) => panic::resume_unwind(Box::new(number)),
        };
        let all = || hand_out(&context, 3, items(), panics, || ());
        let panic = panic::catch_unwind(AssertUnwindSafe(all)).unwrap_err();
        assert_eq!(panic.downcast_ref::<i32>(), Some(&7));
        assert!(taken.into_inner() <= 8 + 2 * 2);
    }
}
