//! Requests in flight: work that mostly waits for a store, on threads of its own, and what these share.
//!
//! No thread of rayon waits for another one here, and none of the threads that are begun here hands work to rayon:
//! callers may be threads of the pool themselves, all of them at once.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rayon::prelude::*;

use crate::context::{Context, Threads};

/// Bytes of a write in flight: those that are encoded and not yet stored. Object stores take 64 requests at once, and
/// chunks of 1 MiB are common.
pub(crate) const IN_FLIGHT: usize = 64 << 20;

/// Why no more is begun.
enum Stop<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

/// Runs `work` for each number, at most `threads` at a time, this one among them. Where the system has no more threads,
/// those that there are do the work. A panic goes on here.
///
/// # Errors
///
/// The first one that came up. Nothing is begun after it, and what was begun before is finished.
pub(crate) fn each<E: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if threads.min(count) <= 1 {
        return (0..count).try_for_each(work);
    }
    let (next, stop) = (AtomicUsize::new(0), Mutex::new(None));
    let end = |why| {
        next.store(count, Ordering::Relaxed);
        stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    };
    let take =
        || next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| (next < count).then_some(next + 1));
    let run = || {
        let done = panic::catch_unwind(AssertUnwindSafe(|| {
            while let Ok(number) = take() {
                work(number).map_err(Stop::Error)?;
            }
            Ok(())
        }));
        match done {
            Ok(Ok(())) => {}
            Ok(Err(why)) => end(why),
            Err(panic) => end(Stop::Panic(panic)),
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
    ended(stop.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn ended<E>(stop: Option<Stop<E>>) -> Result<(), E> {
    match stop {
        None => Ok(()),
        Some(Stop::Error(error)) => Err(error),
        Some(Stop::Panic(panic)) => panic::resume_unwind(panic),
    }
}

/// Makes something of each number, on `makers` threads, this one among them, and hands it to `send` on others, at most
/// `senders` at a time, which mostly wait. So whoever computes goes on computing. There are only as many senders as have
/// something to do at once. A panic goes on here.
///
/// # Errors
///
/// The first one that came up. Nothing is begun after it, and what was begun before is finished.
pub(crate) fn relay<T: Send, E: Send>(
    count: usize,
    (makers, senders): (usize, usize),
    make: impl Fn(usize) -> Result<T, E> + Sync,
    send: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if count <= 1 {
        return (0..count).try_for_each(|number| send(make(number)?));
    }
    let (belt, send) = (Belt::new(makers, senders), &send);
    thread::scope(|scope| {
        let belt = &belt;
        let _end = End(belt);
        // Why it ended is on the belt.
        let _ended: Result<(), ()> = each(count, makers, |number| {
            let item = make(number).map_err(|error| belt.stop(Stop::Error(error)))?;
            if belt.put(item)? == Served::ByNobody
                && thread::Builder::new().spawn_scoped(scope, move || belt.serve(send)).is_err()
            {
                // There are no more threads.
                belt.serve_once(send);
            }
            Ok(())
        });
    });
    ended(belt.into_stop())
}

/// What was made and is to be sent.
struct Belt<T, E> {
    senders: usize,
    /// Items that wait at most when all senders are there.
    waiting: usize,
    state: Mutex<BeltState<T, E>>,
    has_item: Condvar,
    has_room: Condvar,
}

struct BeltState<T, E> {
    items: VecDeque<T>,
    /// Senders, and those of them that wait for an item.
    serving: usize,
    idle: usize,
    /// Whether nothing more is made.
    is_over: bool,
    stop: Option<Stop<E>>,
}

/// Who sends an item.
#[derive(PartialEq, Eq)]
enum Served {
    BySomebody,
    /// There is to be another sender, who is counted already.
    ByNobody,
}

impl<T, E> Belt<T, E> {
    fn new(waiting: usize, senders: usize) -> Self {
        let items = VecDeque::new();
        let state = Mutex::new(BeltState { items, serving: 0, idle: 0, is_over: false, stop: None });
        let (has_item, has_room) = (Condvar::new(), Condvar::new());
        Self { senders: senders.max(1), waiting: waiting.max(1), state, has_item, has_room }
    }

    /// Waits until there is room for an item. An error if nothing is to be begun any more.
    fn put(&self, item: T) -> Result<Served, ()> {
        let mut state = self.lock();
        while state.stop.is_none() && state.serving >= self.senders && state.items.len() >= self.waiting {
            state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stop.is_some() {
            return Err(());
        }
        state.items.push_back(item);
        if state.idle >= state.items.len() {
            drop(state);
            self.has_item.notify_one();
        } else if state.serving < self.senders {
            state.serving += 1;
            return Ok(Served::ByNobody);
        }
        Ok(Served::BySomebody)
    }

    /// Waits for an item; `None` when there are to be no more.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.stop.is_some() {
                return None;
            }
            if let Some(item) = state.items.pop_front() {
                drop(state);
                self.has_room.notify_one();
                return Some(item);
            }
            if state.is_over {
                return None;
            }
            state.idle += 1;
            state = self.has_item.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Sends what comes, until the end.
    fn serve(&self, send: impl Fn(T) -> Result<(), E>) {
        self.caught(|| {
            while let Some(item) = self.take() {
                send(item)?;
            }
            Ok(())
        });
    }

    /// Sends one item in the place of a sender that there is no thread for.
    fn serve_once(&self, send: impl Fn(T) -> Result<(), E>) {
        let mut state = self.lock();
        state.serving -= 1;
        let item = state.items.pop_front();
        drop(state);
        self.caught(|| item.map_or(Ok(()), send));
    }

    fn caught(&self, work: impl FnOnce() -> Result<(), E>) {
        match panic::catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.stop(Stop::Error(error)),
            Err(panic) => self.stop(Stop::Panic(panic)),
        }
    }

    fn stop(&self, why: Stop<E>) {
        self.lock().stop.get_or_insert(why);
        self.has_item.notify_all();
        self.has_room.notify_all();
    }

    fn into_stop(self) -> Option<Stop<E>> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).stop
    }

    fn lock(&self) -> MutexGuard<'_, BeltState<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the senders of a belt go when this is dropped, after a panic as well.
struct End<'b, T, E>(&'b Belt<T, E>);

impl<T, E> Drop for End<'_, T, E> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.has_item.notify_all();
    }
}

/// What `work` makes of each item, in their order, at most `threads` at a time.
///
/// # Errors
///
/// As [`each`].
pub(crate) fn map<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let made = Mutex::new(Vec::new());
    each(items.len(), threads, |number| {
        let one = work(&items[number])?;
        made.lock().unwrap_or_else(PoisonError::into_inner).push((number, one));
        Ok(())
    })?;
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_unstable_by_key(|(number, _)| *number);
    Ok(made.into_iter().map(|(_, one)| one).collect())
}

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
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    if rayon::current_thread_index().is_some() {
        return context.run(|| items.par_bridge().try_for_each(work));
    }
    let (turns, failed) = (Turns::new(2 * context.thread_count()), Mutex::new(None));
    let work = |item, turn: Turn<'_>| {
        if let Err(error) = work(item) {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            turn.end_all();
        }
    };
    match &context.threads {
        Threads::Pool(pool) => pool.in_place_scope(|scope| spawn_all(scope, items, &turns, &work)),
        Threads::Caller | Threads::Global => {
            rayon::in_place_scope(|scope| spawn_all(scope, items, &turns, &work));
        }
    }
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Begins `work` on each item when it is its turn.
fn spawn_all<'s, T: Send + 's>(
    scope: &rayon::Scope<'s>,
    items: impl Iterator<Item = T>,
    turns: &'s Turns,
    work: &'s (impl Fn(T, Turn<'s>) + Sync),
) {
    for item in items {
        let Some(turn) = turns.wait() else { return };
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

/// What threads share that mostly wait for a store: processors, and room for what they have in memory meanwhile.
///
/// Room is asked for first, then the lock of a chunk, then a processor; whoever has a processor waits for nothing. So
/// nobody waits for ever.
#[derive(Debug)]
pub(crate) struct Flight {
    processors: usize,
    state: Mutex<State>,
    is_idle: Condvar,
    has_room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    computing: usize,
    rooms: usize,
    bytes: usize,
}

/// Room for some bytes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Room<'f> {
    flight: &'f Flight,
    size: usize,
}

impl Flight {
    /// With so many processors.
    pub(crate) fn new(processors: usize) -> Self {
        let (is_idle, has_room) = (Condvar::new(), Condvar::new());
        Self { processors: processors.max(1), state: Mutex::default(), is_idle, has_room }
    }

    /// Waits for room for `size` bytes. As many as there are processors always have room.
    pub(crate) fn room(&self, size: usize) -> Room<'_> {
        let mut state = self.lock();
        while state.rooms >= self.processors && state.bytes.saturating_add(size) > IN_FLIGHT {
            state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.rooms += 1;
        state.bytes = state.bytes.saturating_add(size);
        Room { flight: self, size }
    }

    /// Runs `work` on one of the processors, once it is free. `work` waits for nothing.
    pub(crate) fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut state = self.lock();
        while state.computing >= self.processors {
            state = self.is_idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.computing += 1;
        drop(state);
        let _computing = Computing(self);
        work()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// Takes up as many bytes from now on as there turned out to be.
    pub(crate) fn resize(&mut self, size: usize) {
        let mut state = self.flight.lock();
        state.bytes = state.bytes.saturating_sub(self.size).saturating_add(size);
        self.size = size;
        drop(state);
        self.flight.has_room.notify_all();
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let mut state = self.flight.lock();
        state.rooms -= 1;
        state.bytes = state.bytes.saturating_sub(self.size);
        drop(state);
        self.flight.has_room.notify_all();
    }
}

/// A processor that is being used.
struct Computing<'f>(&'f Flight);

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        self.0.lock().computing -= 1;
        self.0.is_idle.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use zarr_spec::Registry;

    use super::*;

    #[test]
    fn each_number_has_its_turn_once_and_results_keep_their_order() {
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
    fn as_many_are_at_work_at_once_as_threads_were_asked_for() {
        let meeting = Barrier::new(5);
        each(5, 5, |_| {
            meeting.wait();
            Ok::<_, ()>(())
        })
        .unwrap();
    }

    #[test]
    fn nothing_is_begun_after_an_error_and_the_first_one_is_returned() {
        let (begun, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let error = each(1000, 4, |number| {
            begun.fetch_add(1, Ordering::SeqCst);
            match number {
                7 => {
                    has_failed.store(true, Ordering::SeqCst);
                    Err(number)
                }
                // They end after the error has come up.
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
    fn a_panic_goes_on_where_the_work_was_asked_for() {
        let flight = Flight::new(1);
        let work = AssertUnwindSafe(|| {
            each(100, 3, |number| {
                let _room = flight.room(1);
                flight.compute(|| assert!(number != 20, "number 20"));
                Ok::<_, ()>(())
            })
        });
        let panic = panic::catch_unwind(work).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"number 20"));
        // It has left neither a room nor a processor taken.
        let state = flight.lock();
        assert_eq!((state.computing, state.rooms, state.bytes), (0, 0, 0));
    }

    #[test]
    fn each_number_is_made_and_sent_once_and_senders_are_as_many_as_have_something_to_do() {
        for (makers, senders) in [(1, 1), (2, 1), (2, 7), (3, 100), (0, 0)] {
            let turns: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let send = |number: usize| {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                turns[number / 2].fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
                at_once.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ()>(())
            };
            relay(turns.len(), (makers, senders), |number| Ok(2 * number), send).unwrap();
            assert!(turns.iter().all(|turns| turns.load(Ordering::SeqCst) == 1), "{makers} {senders}");
            assert!(most.into_inner() <= senders.max(1), "{makers} {senders}");
        }
        // All of them meet.
        let meeting = Barrier::new(5);
        let meet = |_| {
            meeting.wait();
            Ok::<_, ()>(())
        };
        relay(5, (1, 5), Ok, meet).unwrap();
    }

    #[test]
    fn nothing_is_made_or_sent_after_an_error_or_a_panic_of_either() {
        let (made, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let relay = |making: usize, sending: usize| {
            let make = |number| {
                made.fetch_add(1, Ordering::SeqCst);
                // What comes later ends when the failure is known.
                thread::sleep(Duration::from_millis(if number > making { 100 } else { 0 }));
                if number == making { Err("made") } else { Ok(number) }
            };
            let send = |number| {
                sent.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(if number > sending { 100 } else { 0 }));
                if number == sending { Err("sent") } else { Ok(()) }
            };
            let error = relay(1000, (2, 4), make, send).unwrap_err();
            (error, made.swap(0, Ordering::SeqCst), sent.swap(0, Ordering::SeqCst))
        };
        let (error, made, sent) = relay(20, usize::MAX);
        assert!(error == "made" && made <= 22 && sent <= 20, "{made} {sent}");
        let (error, made, sent) = relay(usize::MAX, 20);
        // As many are sent at once, wait, and are made as may be.
        assert!(error == "sent" && sent <= 21 + 4 && made <= 21 + 4 + 2 + 2, "{made} {sent}");
        let work = |making: usize, sending: usize| {
            let make = |number| {
                assert!(number != making, "made");
                Ok::<_, ()>(number)
            };
            let send = |number| {
                assert!(number != sending, "sent");
                Ok(())
            };
            let all = AssertUnwindSafe(|| super::relay(100, (2, 4), make, send));
            panic::catch_unwind(all).unwrap_err().downcast::<&str>().unwrap()
        };
        assert_eq!((*work(20, usize::MAX), *work(usize::MAX, 20)), ("made", "sent"));
    }

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

    #[test]
    fn no_more_compute_at_once_than_there_are_processors() {
        let (flight, computing, most) = (Flight::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        each(50, 16, |_| {
            flight.compute(|| {
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
    fn what_takes_all_the_room_leaves_none_but_for_each_processor() {
        let flight = Flight::new(2);
        let first = flight.room(usize::MAX);
        let second = flight.room(usize::MAX);
        let has_begun = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _third = flight.room(1);
                has_begun.store(true, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_millis(20));
            assert!(!has_begun.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(has_begun.load(Ordering::SeqCst));
        drop(second);
        let mut room = flight.room(IN_FLIGHT);
        let _small = flight.room(IN_FLIGHT);
        room.resize(1);
        assert_eq!(flight.lock().bytes, IN_FLIGHT + 1);
    }
}
