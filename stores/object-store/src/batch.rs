//! Concurrent requests of one call.

use std::iter::{Enumerate, Peekable};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::vec;

use tokio::task::JoinSet;
use zarr_spec::store::{CompletedRequest, Request, Response, StoreError, StoreResult};

use crate::budget::Budget;
use crate::fetch::Part;
use crate::runtime::NO_RESPONSE;
use crate::{CONCURRENCY, RemoteStore};

/// The requests of one call to `get_many`, and their results.
///
/// The consumer drives the requests: taking a result starts new requests, up to the number that probably fits
/// into the budget. Started requests count until their result is taken. The size of a response is known when
/// it begins. If it does not fit, its body waits in the connection, so the store never fetches faster than
/// the consumer takes results. Dropping the batch aborts the tasks, which closes their connections.
pub(crate) struct Batch<'s> {
    store: &'s RemoteStore,
    waiting: Peekable<Enumerate<vec::IntoIter<Request>>>,
    budget: Arc<Budget>,
    /// Number of requests that were started and whose result was not taken.
    count: usize,
    /// Expected bytes of the requests that were started and whose result was not taken.
    bytes: usize,
    estimate: SizeEstimate,
    tasks: JoinSet<()>,
    send: Sender<Answer>,
    receive: Receiver<Answer>,
}

/// The expected size in bytes, and the result.
type Answer = (usize, CompletedRequest);

impl<'s> Batch<'s> {
    pub(crate) fn new(store: &'s RemoteStore, requests: Vec<Request>, budget: usize) -> Self {
        let (send, receive) = channel();
        let waiting = requests.into_iter().enumerate().peekable();

        let estimate = SizeEstimate { budget, expected: 0, received: 0 };
        let budget = Arc::new(Budget::new(budget));
        Self { store, waiting, budget, count: 0, bytes: 0, estimate, tasks: JoinSet::new(), send, receive }
    }

    /// Starts as many requests as fit into the budget.
    fn begin(&mut self) {
        let count = self.count;
        let bytes = self.bytes;
        let estimate = &self.estimate;
        let fits = |(_, next): &(usize, Request)| {
            let expected = bytes.saturating_add(next.expected_size);
            count == 0 || count < CONCURRENCY && estimate.fits(count + 1, expected)
        };
        let Some((number, request)) = self.waiting.next_if(fits) else { return };
        self.count += 1;
        self.bytes = self.bytes.saturating_add(request.expected_size);
        self.ask(number, request);
        self.begin();
    }

    fn ask(&mut self, number: usize, request: Request) {
        let Request { key, options, limit, expected_size: expected, .. } = request;
        let range = options.range;
        let place = self.store.shared.place.url_of(key.as_str());
        let pending = PendingResult { send: self.send.clone(), expected, number, place, is_complete: false };
        match self.store.runtime.handle() {
            Ok(handle) => {
                let shared = Arc::clone(&self.store.shared);
                let budget = Some(Arc::clone(&self.budget));
                let task = async move {
                    let fetched = shared.fetch(&Part { key, range, limit, budget }).await;
                    pending.complete(fetched);
                };
                self.tasks.spawn_on(task, handle);
            }
            Err(source) => {
                let place = pending.place.clone();
                pending.complete(Err(StoreError::io("reading", place, source)));
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
        // Every started request sends a result, even if its task panics.
        let (expected, result) = self.receive.recv().ok()?;
        self.count -= 1;
        self.bytes = self.bytes.saturating_sub(expected);
        if let (_, Ok(Some(Response { bytes, .. }))) = &result {
            self.budget.release(bytes.len());
            self.estimate.note(expected, bytes.len());
        }
        while self.tasks.try_join_next().is_some() {}
        // The new requests run while the caller decodes this result.
        self.begin();
        Some(result)
    }
}

/// Number of bytes that a connection reads ahead. They are added to the estimate if the expected sizes exceed the
/// budget.
const READ_AHEAD: usize = 400 << 10;

/// Estimates the number of received bytes from the number of expected bytes. Well-compressed chunks need much
/// less.
struct SizeEstimate {
    budget: usize,
    expected: u128,
    received: u128,
}

impl SizeEstimate {
    fn note(&mut self, expected: usize, received: usize) {
        self.expected = self.expected.saturating_add(expected as u128);
        self.received = self.received.saturating_add(received as u128);
    }

    /// Returns whether the responses to `count` requests, of `expected` bytes together, probably fit into the
    /// budget. The first responses have little weight.
    fn fits(&self, count: usize, expected: usize) -> bool {
        let budget = self.budget as u128;
        let weight = (self.budget / 4).max(1) as u128;
        let weighted = (expected as u128).saturating_mul(self.received.saturating_add(weight));
        let estimated = weighted / self.expected.saturating_add(weight);
        expected <= self.budget || estimated.saturating_add((count * READ_AHEAD) as u128) <= budget
    }
}

/// Sends a result even if its task panics.
struct PendingResult {
    send: Sender<Answer>,
    expected: usize,
    number: usize,
    place: String,
    is_complete: bool,
}

impl PendingResult {
    fn complete(mut self, answer: StoreResult<Option<Response>>) {
        self.is_complete = true;
        self.send(answer);
    }

    fn send(&self, answer: StoreResult<Option<Response>>) {
        // The receiver does not exist any more if the batch was dropped.
        let _sent = self.send.send((self.expected, (self.number, answer)));
    }
}

impl Drop for PendingResult {
    fn drop(&mut self) {
        if !self.is_complete {
            let place = self.place.clone();
            self.send(Err(StoreError::io("reading", place, NO_RESPONSE)));
        }
    }
}
