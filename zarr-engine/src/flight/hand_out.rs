//! Distributes responses of a store, which one thread waits for, to other threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::budget::MemoryBudget;
use crate::context::Context;
use crate::request_limit::RequestLimit;
use crate::threads::Threads;
use crate::unpoisoned::Unpoisoned;

/// The interval at which the waiting thread checks whether other threads wait for memory or requests.
const PATIENCE: Duration = Duration::from_millis(20);

/// Calls `work` for each of `items` on the threads of `context`, while only this thread waits for `items`. Threads that
/// compute never wait for a store, so that other reads and writes make progress. If this thread belongs to a rayon
/// pool, it also works on items. At most `at_once` items are pending. Panics are propagated.
///
/// The caller may hold memory that other threads wait for, and releases it in `done`, which runs on this thread after
/// the last item. To avoid a deadlock, this thread works on queued items while others wait for memory, and waits for
/// rayon only after `done`. Returns the first error: no item is taken after it.
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
            failed.lock().unpoisoned().get_or_insert(error);
            pending.end();
        }
    };
    context.threads().in_place_scope(|scope| {
        spawn_all(scope, items, &pending, &work);
        done();
    });
    failed.into_inner().unpoisoned().map_or(Ok(()), Err)
}

/// Starts `work` on each item in order, and waits until all items are done.
fn spawn_all<'s, T: Send + 's>(
    scope: &rayon_core::Scope<'s>,
    mut items: impl Iterator<Item = T>,
    pending: &'s PendingItems<'s, T>,
    work: &'s (impl Fn(T) + Sync),
) {
    // Items take memory only once they are requested, so the number of pending items is limited first.
    while pending.wait_below(pending.most, work) {
        let Some(item) = items.next() else { break };
        pending.queue(item);
        scope.spawn(move |_| pending.work_on_next(work));
    }
    pending.wait_below(1, work);
}

struct PendingItems<'c, T> {
    most: usize,
    budget: &'c MemoryBudget,
    requests: &'c RequestLimit,
    /// Whether the thread that takes items also works on them.
    takes_part: bool,
    state: Mutex<PendingState<T>>,
    has_changed: Condvar,
}

struct PendingState<T> {
    queue: VecDeque<T>,
    running: usize,
    is_over: bool,
}

/// An item in progress, until this is dropped. A panic stops all work.
struct RunningItem<'t, T>(&'t PendingItems<'t, T>);

impl<'c, T> PendingItems<'c, T> {
    fn new(most: usize, context: &'c Context) -> Self {
        let budget = &*context.budget;
        let requests = &*context.requests;
        let takes_part = rayon_core::current_thread_index().is_some();
        let state = PendingState { queue: VecDeque::new(), running: 0, is_over: false };
        Self {
            most: most.max(1),
            budget,
            requests,
            takes_part,
            state: Mutex::new(state),
            has_changed: Condvar::new(),
        }
    }

    /// Waits until fewer than `most` items are pending. Meanwhile, works on items if `takes_part` is set or if other
    /// threads wait for memory or requests. Returns false if no more items should be taken.
    fn wait_below(&self, most: usize, work: impl Fn(T)) -> bool {
        let mut state = self.state.lock().unpoisoned();
        while state.queue.len() + state.running >= most {
            if !state.queue.is_empty() && (self.takes_part || self.is_waited_for()) {
                drop(state);
                self.work_on_next(&work);
                state = self.state.lock().unpoisoned();
            } else {
                let waited = self.has_changed.wait_timeout(state, PATIENCE);
                state = waited.unpoisoned().0;
            }
        }
        !state.is_over
    }

    /// Returns whether other threads wait for memory or for requests, which this thread may hold.
    fn is_waited_for(&self) -> bool {
        self.budget.is_waited_for() || self.requests.is_waited_for()
    }

    fn queue(&self, item: T) {
        self.state.lock().unpoisoned().queue.push_back(item);
    }

    fn work_on_next(&self, work: impl Fn(T)) {
        let mut state = self.state.lock().unpoisoned();
        let Some(item) = state.queue.pop_front() else { return };
        state.running += 1;
        drop(state);
        let _turn = RunningItem(self);
        work(item);
    }

    /// Stops the work: no item is taken any more, and queued items are dropped.
    fn end(&self) {
        let mut state = self.state.lock().unpoisoned();
        state.is_over = true;
        state.queue.clear();
        drop(state);
        self.has_changed.notify_all();
    }
}

impl<T> Drop for RunningItem<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        self.0.state.lock().unpoisoned().running -= 1;
        self.0.has_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use zarr_spec::Registry;

    use std::sync::Arc;

    use super::*;
    use crate::parallel;
    use crate::threads::ThreadPool;

    /// The threads of the pool can run other work while the calling thread waits for items.
    #[test]
    fn waits_on_the_calling_thread_and_works_in_the_pool() {
        let pool = ThreadPool::new(2).unwrap();
        let context = Context::new(Registry::empty()).with_thread_pool(&pool);
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
    fn all_threads_of_a_pool_may_hand_out_at_the_same_time() {
        for threads in [1, 2] {
            let pool = ThreadPool::new(threads).unwrap();
            let context = Context::new(Registry::empty()).with_thread_pool(&pool);
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                let all = parallel::try_each(&Threads::Global, 0..4, 1, |_| {
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
    fn works_on_items_itself_while_the_pool_waits_for_memory_of_the_caller() {
        let pool = ThreadPool::new(1).unwrap();
        let context = Context::new(Registry::empty()).with_thread_pool(&pool);
        let held = context.budget.acquire(context.budget.size());
        let budget = Arc::clone(&context.budget);
        pool.0.spawn(move || drop(budget.acquire(1)));
        let sum = AtomicUsize::new(0);
        let work = |number| {
            sum.fetch_add(number, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        hand_out(&context, 2, 0..5, work, || drop(held)).unwrap();
        assert_eq!(sum.into_inner(), 10);
    }

    #[test]
    fn takes_no_item_after_an_error_or_a_panic() {
        let pool = ThreadPool::new(2).unwrap();
        let context = Context::new(Registry::empty()).with_thread_pool(&pool);
        let taken = AtomicUsize::new(0);
        let has_failed = AtomicBool::new(false);
        let items = || {
            (0..1000).inspect(|_| {
                taken.fetch_add(1, Ordering::SeqCst);
            })
        };
        // Later items wait until the failure is known.
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
        // Suppresses the panic message, because printing it takes time.
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
