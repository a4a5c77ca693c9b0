//! Many requests in flight.

use std::iter::{Enumerate, Peekable};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::vec;

use tokio::task::JoinSet;
use zarr_spec::store::{CompletedRequest, Request, Response, StoreError};

use crate::fetch::Part;
use crate::room::Room;
use crate::runtime::NO_ANSWER;
use crate::{CONCURRENCY, RemoteStore};

/// The requests of one call, and what came of them.
///
/// Requests are begun by who takes answers, as many as there is probably room for: what is begun and not taken counts,
/// whether it is in flight or here. How many bytes come is known when an answer begins, and where there is no room for
/// them, its body waits in the connection. So nothing is fetched faster than it is taken. Dropping this aborts the tasks,
/// and they close their connections.
pub(crate) struct Batch<'s> {
    store: &'s RemoteStore,
    waiting: Peekable<Enumerate<vec::IntoIter<Request>>>,
    room: Arc<Room>,
    /// Begun and not taken.
    count: usize,
    /// Bytes that are expected of these.
    bytes: usize,
    learned: Learned,
    tasks: JoinSet<()>,
    send: Sender<Answer>,
    receive: Receiver<Answer>,
}

/// The bytes that were expected, and what came.
type Answer = (usize, CompletedRequest);

impl<'s> Batch<'s> {
    pub(crate) fn new(store: &'s RemoteStore, requests: Vec<Request>, budget: usize) -> Self {
        let (send, receive) = channel();
        let waiting = requests.into_iter().enumerate().peekable();
        let room = Arc::new(Room::new(budget));
        let learned = Learned { budget, expected: 0, came: 0 };
        Self { store, waiting, room, count: 0, bytes: 0, learned, tasks: JoinSet::new(), send, receive }
    }

    /// Begins as many requests as there is room for.
    fn begin(&mut self) {
        let count = self.count;
        let bytes = self.bytes;
        let learned = &self.learned;
        let has_room = |(_, next): &(usize, Request)| {
            let all = (count + 1, bytes.saturating_add(next.expected_size));
            count == 0 || count < CONCURRENCY && learned.fits(all)
        };
        let Some((number, request)) = self.waiting.next_if(has_room) else { return };
        self.count += 1;
        self.bytes = self.bytes.saturating_add(request.expected_size);
        self.ask(number, request);
        self.begin();
    }

    fn ask(&mut self, number: usize, request: Request) {
        let Request { key, options, limit, expected_size: expected, .. } = request;
        let range = options.range;
        let place = self.store.inside.place.url_of(key.as_str());
        let promise = Promise { send: self.send.clone(), expected, number, place, is_kept: false };
        match self.store.runtime.handle() {
            Ok(handle) => {
                let inside = Arc::clone(&self.store.inside);
                let room = Some(Arc::clone(&self.room));
                let task = async move {
                    let fetched = inside.fetch(&Part { key, range, limit, room }).await;
                    promise.keep(fetched);
                };
                self.tasks.spawn_on(task, handle);
            }
            Err(source) => {
                let place = promise.place.clone();
                promise.keep(Err(StoreError::io("reading", place, source)));
            }
        }
    }
}

impl Iterator for Batch<'_> {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        self.begin();
        if self.count == 0 {
            return None;
        }
        // Each that was begun answers, even if its task panics.
        let (expected, delivery) = self.receive.recv().ok()?;
        self.count -= 1;
        self.bytes = self.bytes.saturating_sub(expected);
        if let (_, Ok(Some(Response { bytes, .. }))) = &delivery {
            self.room.give_back(bytes.len());
            self.learned.note(expected, bytes.len());
        }
        while self.tasks.try_join_next().is_some() {}
        // These are on their way while the answer is decoded.
        self.begin();
        Some(delivery)
    }
}

/// Bytes that a connection reads at once, which count where more is asked for than would fit if it all came.
const AHEAD: usize = 400 << 10;

/// How many bytes come where so many are expected: of chunks that are compressed well, a small share.
struct Learned {
    budget: usize,
    expected: u128,
    came: u128,
}

impl Learned {
    fn note(&mut self, expected: usize, came: usize) {
        self.expected = self.expected.saturating_add(expected as u128);
        self.came = self.came.saturating_add(came as u128);
    }

    /// Whether there is room for what will come of so many requests, of which so many bytes are expected. The first
    /// answers say little.
    fn fits(&self, (count, expected): (usize, usize)) -> bool {
        let budget = self.budget as u128;
        let little = (self.budget / 4).max(1) as u128;
        let comes = (expected as u128).saturating_mul(self.came.saturating_add(little));
        let comes = comes / self.expected.saturating_add(little);
        expected <= self.budget || comes.saturating_add((count * AHEAD) as u128) <= budget
    }
}

/// An answer that comes even when the task that owes it panics.
struct Promise {
    send: Sender<Answer>,
    expected: usize,
    number: usize,
    place: String,
    is_kept: bool,
}

impl Promise {
    fn keep(mut self, answer: Result<Option<Response>, StoreError>) {
        self.is_kept = true;
        self.send(answer);
    }

    fn send(&self, answer: Result<Option<Response>, StoreError>) {
        // Nobody is there if the batch was dropped.
        let _sent = self.send.send((self.expected, (self.number, answer)));
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if !self.is_kept {
            let place = self.place.clone();
            self.send(Err(StoreError::io("reading", place, NO_ANSWER)));
        }
    }
}
