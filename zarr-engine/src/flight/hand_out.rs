//! Answers that one thread waits for and others work on.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rayon::prelude::*;

use crate::context::{Context, Threads};

/// Hands each of `items` to `work` on the threads of `context`, while this thread alone waits for them: one that computes
/// waits for no store, so that others who read and write have their turn. Where this is a thread of a pool itself, it
/// takes part in the work, and threads that have nothing else to do wait with it. Few items are out of the hands of
/// `items` at a time. A panic goes on here.
///
/// # Errors
///
/// The first one that came up. No item is taken after it.
pub(crate) fn hand_out<T: Send, E: Send>(
    context: &Context,
    mut items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    if matches!(context.threads, Threads::Scoped(_)) {
        return items.try_for_each(work);
    }
    if rayon::current_thread_index().is_some() {
        return context.run(|| items.par_bridge().try_for_each(work));
    }
    let (turns, failed) = (Turns::new(context.thread_count() + 1), Mutex::new(None));
    let work = |item, turn: Turn<'_>| {
        if let Err(error) = work(item) {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            turn.end_all();
        }
    };
    match &context.threads {
        Threads::Pool(pool) => pool.in_place_scope(|scope| spawn_all(scope, items, &turns, &work)),
        Threads::Caller | Threads::Global | Threads::Scoped(_) => {
            rayon::in_place_scope(|scope| spawn_all(scope, items, &turns, &work));
        }
    }
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Begins `work` on each item when it is its turn.
fn spawn_all<'s, T: Send + 's>(
    scope: &rayon::Scope<'s>,
    mut items: impl Iterator<Item = T>,
    turns: &'s Turns,
    work: &'s (impl Fn(T, Turn<'s>) + Sync),
) {
    // What is not asked for yet takes no memory.
    while let Some(turn) = turns.wait() {
        let Some(item) = items.next() else { return };
        scope.spawn(move |_| work(item, turn));
    }
}

/// How many items are being worked on, or are to be.
struct Turns {
    most: usize,
    /// `None` once there are to be no more.
    taken: Mutex<Option<usize>>,
    is_free: Condvar,
}

/// One of these, until this is dropped. A panic ends all.
struct Turn<'t>(&'t Turns);

impl Turns {
    fn new(most: usize) -> Self {
        Self { most, taken: Mutex::new(Some(0)), is_free: Condvar::new() }
    }

    /// Waits until fewer than the most are taken.
    fn wait(&self) -> Option<Turn<'_>> {
        let mut taken = self.lock();
        while taken.is_some_and(|taken| taken >= self.most) {
            taken = self.is_free.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken = taken.map(|taken| taken + 1);
        taken.map(|_| Turn(self))
    }

    fn lock(&self) -> MutexGuard<'_, Option<usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    fn end_all(&self) {
        *self.0.lock() = None;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.end_all();
        }
        let mut taken = self.0.lock();
        *taken = taken.map(|taken| taken - 1);
        drop(taken);
        self.0.is_free.notify_one();
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

    /// The pool is free while whoever reads waits.
    #[test]
    fn items_are_waited_for_on_the_thread_that_asks_and_worked_on_in_the_pool() {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let context = Context::new(Registry::empty()).with_thread_pool(Arc::clone(&pool));
        let (asking, sum) = (thread::current().id(), AtomicUsize::new(0));
        let items = (0..100).inspect(|_| {
            assert_eq!(thread::current().id(), asking);
            pool.install(|| assert_ne!(thread::current().id(), asking));
        });
        let work = |number| {
            assert_ne!(thread::current().id(), asking);
            sum.fetch_add(number, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        hand_out(&context, items, work).unwrap();
        assert_eq!(sum.into_inner(), 99 * 50);
    }

    #[test]
    fn threads_of_a_pool_may_hand_out_all_at_once() {
        for threads in [1, 2] {
            let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
            let context = Context::new(Registry::empty()).with_thread_pool(Arc::clone(&pool));
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                (0..4).into_par_iter().for_each(|_| {
                    let work = |number| {
                        sum.fetch_add(number, Ordering::SeqCst);
                        Ok::<_, ()>(())
                    };
                    hand_out(&context, 0..100, work).unwrap();
                });
            });
            assert_eq!(sum.into_inner(), 4 * 99 * 50);
        }
    }

    #[test]
    fn no_item_is_taken_after_an_error_or_a_panic() {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
        let context = Context::new(Registry::empty()).with_thread_pool(pool);
        let (taken, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
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
        assert_eq!(hand_out(&context, items(), fails), Err(7));
        assert!(taken.swap(0, Ordering::SeqCst) <= 8 + 2 * 2);
        has_failed.store(false, Ordering::SeqCst);
        let panics = |number| {
            fails(number).unwrap();
            Ok::<_, ()>(())
        };
        let all = || hand_out(&context, items(), panics);
        let panic = panic::catch_unwind(AssertUnwindSafe(all)).unwrap_err();
        assert!(panic.downcast_ref::<String>().is_some_and(|panic| panic.ends_with("value: 7")), "{panic:?}");
        assert!(taken.into_inner() <= 8 + 2 * 2);
    }
}
