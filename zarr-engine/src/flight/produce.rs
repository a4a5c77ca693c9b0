//! Producing values on some threads and storing them on others.

use std::collections::VecDeque;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex};
use std::thread;

use super::{Stop, each, ended};

use crate::unpoisoned::Unpoisoned;

/// Calls `make` for each number on `makers` threads, including this one, and passes each result to `send` on other threads,
/// at most `senders` of them. Sender threads usually wait for a store. They are spawned on demand. Panics are
/// propagated. Returns the first error: no work is started after it, and work that was started before is finished.
pub(crate) fn produce_and_store<T: Send, E: Send>(
    count: usize,
    makers: usize,
    senders: usize,
    make: impl Fn(usize) -> Result<T, E> + Sync,
    send: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    if count <= 1 {
        return (0..count).try_for_each(|number| send(make(number)?));
    }
    let queue = BoundedQueue::new(makers, senders);
    let send = &send;
    thread::scope(|scope| {
        let queue = &queue;
        let _end = End(queue);
        // This result is ignored, because the queue holds the error or panic that ended the work.
        let _ended: Result<(), ()> = each(count, makers, |number| {
            let item = make(number).map_err(|error| queue.stop(Stop::Error(error)))?;
            if queue.put(item)? == SenderState::Missing
                && thread::Builder::new().spawn_scoped(scope, move || queue.serve(send)).is_err()
            {
                // The system has no more threads, so this thread sends one item.
                queue.serve_once(send);
            }
            Ok(())
        });
    });
    ended(queue.into_stop())
}

struct BoundedQueue<T, E> {
    senders: usize,
    /// Maximum number of waiting items once all senders exist.
    waiting: usize,
    state: Mutex<BoundedQueueState<T, E>>,
    has_item: Condvar,
    has_room: Condvar,
}

struct BoundedQueueState<T, E> {
    items: VecDeque<T>,
    /// The number of all senders; `idle` counts those that wait for an item.
    serving: usize,
    idle: usize,
    is_over: bool,
    stop: Option<Stop<E>>,
}

#[derive(PartialEq, Eq)]
enum SenderState {
    Present,
    /// The caller must spawn another sender, which is already counted.
    Missing,
}

impl<T, E> BoundedQueue<T, E> {
    fn new(waiting: usize, senders: usize) -> Self {
        let items = VecDeque::new();
        let state = Mutex::new(BoundedQueueState { items, serving: 0, idle: 0, is_over: false, stop: None });
        let has_item = Condvar::new();
        let has_room = Condvar::new();
        Self { senders: senders.max(1), waiting: waiting.max(1), state, has_item, has_room }
    }

    /// Waits until the queue has space, and adds an item. Returns an error if the work was stopped.
    fn put(&self, item: T) -> Result<SenderState, ()> {
        let mut state = self.state.lock().unpoisoned();
        while state.stop.is_none() && state.serving >= self.senders && state.items.len() >= self.waiting {
            state = self.has_room.wait(state).unpoisoned();
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
            return Ok(SenderState::Missing);
        }
        Ok(SenderState::Present)
    }

    /// Waits for an item; returns `None` at the end.
    fn take(&self) -> Option<T> {
        let mut state = self.state.lock().unpoisoned();
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
            state = self.has_item.wait(state).unpoisoned();
            state.idle -= 1;
        }
    }

    fn serve(&self, send: impl Fn(T) -> Result<(), E>) {
        self.caught(|| {
            while let Some(item) = self.take() {
                send(item)?;
            }
            Ok(())
        });
    }

    /// Sends one item instead of a sender whose thread could not be spawned.
    fn serve_once(&self, send: impl Fn(T) -> Result<(), E>) {
        let mut state = self.state.lock().unpoisoned();
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
        self.state.lock().unpoisoned().stop.get_or_insert(why);
        self.has_item.notify_all();
        self.has_room.notify_all();
    }

    fn into_stop(self) -> Option<Stop<E>> {
        self.state.into_inner().unpoisoned().stop
    }
}

/// Stops the senders of a queue when it is dropped, also after a panic.
struct End<'b, T, E>(&'b BoundedQueue<T, E>);

impl<T, E> Drop for End<'_, T, E> {
    fn drop(&mut self) {
        self.0.state.lock().unpoisoned().is_over = true;
        self.0.has_item.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn sends_each_item_once_and_spawns_senders_on_demand() {
        for (makers, senders) in [(1, 1), (2, 1), (2, 7), (3, 100), (0, 0)] {
            let turns: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            let at_once = AtomicUsize::new(0);
            let most = AtomicUsize::new(0);
            let send = |number: usize| {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                turns[number / 2].fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(1));
                at_once.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, ()>(())
            };
            produce_and_store(turns.len(), makers, senders, |number| Ok(2 * number), send).unwrap();
            assert!(turns.iter().all(|turns| turns.load(Ordering::SeqCst) == 1), "{makers} {senders}");
            assert!(most.into_inner() <= senders.max(1), "{makers} {senders}");
        }
        // The barrier opens only if all five senders run at the same time.
        let meeting = Barrier::new(5);
        let meet = |_| {
            meeting.wait();
            Ok::<_, ()>(())
        };
        produce_and_store(5, 1, 5, Ok, meet).unwrap();
    }

    #[test]
    fn makes_and_sends_nothing_after_an_error_or_a_panic() {
        let made = AtomicUsize::new(0);
        let sent = AtomicUsize::new(0);
        let produce_and_store = |making: usize, sending: usize| {
            let make = |number| {
                made.fetch_add(1, Ordering::SeqCst);
                // Later items take so long that they end after the failure is known.
                thread::sleep(Duration::from_millis(if number > making { 1000 } else { 0 }));
                if number == making { Err("made") } else { Ok(number) }
            };
            let send = |number| {
                sent.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(if number > sending { 1000 } else { 0 }));
                if number == sending { Err("sent") } else { Ok(()) }
            };
            let error = produce_and_store(1000, 2, 4, make, send).unwrap_err();
            (error, made.swap(0, Ordering::SeqCst), sent.swap(0, Ordering::SeqCst))
        };
        let (error, made, sent) = produce_and_store(20, usize::MAX);
        assert!(error == "made" && made <= 22 && sent <= 20, "{made} {sent}");
        let (error, made, sent) = produce_and_store(usize::MAX, 20);
        // After the failure, only items that were already being made, waiting or being sent may be counted.
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
            let all = AssertUnwindSafe(|| super::produce_and_store(100, 2, 4, make, send));
            panic::catch_unwind(all).unwrap_err().downcast::<&str>().unwrap()
        };
        assert_eq!((*work(20, usize::MAX), *work(usize::MAX, 20)), ("made", "sent"));
    }
}
