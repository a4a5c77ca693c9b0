//! A remote store: every request takes time, and many may be in flight.

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use zarr_kit::spec::store::{
    Capabilities, CompletedRequest, Condition, ConditionalWrite, GetOptions, GetResult, Keys, Payload,
    ReadHints, Request, Responses, Store, StoreError, StoreLock, Version,
};
use zarr_kit::spec::{Key, Output, Prefix};

/// The requests that a [`FarStore`] received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trips {
    /// The number of requests in each batch.
    pub batches: Vec<usize>,
    /// The number of requests outside of batches, except writes of values.
    pub alone: usize,
    /// Maximum number of requests outside of batches in flight at the same time, except writes of values.
    pub alone_at_once: usize,
    /// The number of requests in batches that have been sent.
    pub begun: usize,
    /// Maximum number of requests of batches that were in flight at the same time.
    pub in_flight: usize,
    /// Maximum number of bytes of responses that were in flight, or fetched and not yet taken.
    pub bytes: usize,
    /// The number of values written.
    pub written: usize,
    /// Maximum number of values written at the same time.
    pub writes: usize,
    /// Maximum number of bytes of values written at the same time.
    pub bytes_written: usize,
    waiting_alone: usize,
    writing: usize,
    writing_bytes: usize,
}

/// Modifies the responses of a [`FarStore`]: takes the store, the number of the batch and a response; returns
/// the responses to deliver.
type Spoil = dyn Fn(&Inside, usize, CompletedRequest) -> Vec<CompletedRequest> + Send + Sync;

/// Decides whether writing a value fails, given the number of values written before it.
type SpoilSet = dyn Fn(usize, &Key) -> Result<(), StoreError> + Send + Sync;

/// The time limit for the expected number of requests to be in flight at the same time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Wraps another store, and delays every request.
#[derive(Debug)]
pub struct FarStore(Arc<Inside>);

/// The state that the threads of a [`FarStore`] share.
pub struct Inside {
    /// The store that answers the requests.
    pub store: Arc<dyn Store>,
    delay: Duration,
    hints: Mutex<ReadHints>,
    trips: Mutex<Trips>,
    spoil: Mutex<Option<Box<Spoil>>>,
    spoil_set: Mutex<Option<Arc<SpoilSet>>>,
    sets: Gathering,
    alone: Gathering,
}

/// Blocks requests until the wanted number of them is in flight.
#[derive(Default)]
struct Gathering {
    wanted: Mutex<usize>,
    has_come: Condvar,
}

impl Gathering {
    /// Waits until enough requests are in flight, or until the time limit. `here` requests are in flight now.
    fn wait(&self, here: usize) {
        let mut wanted = locked(&self.wanted);
        if here >= *wanted {
            *wanted = 0;
            self.has_come.notify_all();
        }
        let wait = self.has_come.wait_timeout_while(wanted, PATIENCE, |wanted| *wanted > 0);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FarStore").field("store", &self.store).finish_non_exhaustive()
    }
}

impl FarStore {
    /// Wraps `store`; every request takes `delay`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, delay: Duration, hints: ReadHints) -> Self {
        Self(Arc::new(Inside {
            store,
            delay,
            hints: Mutex::new(hints),
            trips: Mutex::default(),
            spoil: Mutex::default(),
            spoil_set: Mutex::default(),
            sets: Gathering::default(),
            alone: Gathering::default(),
        }))
    }

    /// Returns the requests since the last `take`.
    #[must_use]
    pub fn take(&self) -> Trips {
        std::mem::take(&mut *self.0.trips())
    }

    /// Replaces the hints, like a store that measures the network.
    pub fn learn(&self, hints: ReadHints) {
        *locked(&self.0.hints) = hints;
    }

    /// Passes each response of a batch through `spoil`, together with the number of the batch.
    pub fn spoil(
        &self,
        spoil: impl Fn(&Inside, usize, CompletedRequest) -> Vec<CompletedRequest> + Send + Sync + 'static,
    ) {
        *locked(&self.0.spoil) = Some(Box::new(spoil));
    }

    /// Calls `spoil` before each value is written, with the number of values written before.
    pub fn spoil_set(&self, spoil: impl Fn(usize, &Key) -> Result<(), StoreError> + Send + Sync + 'static) {
        *locked(&self.0.spoil_set) = Some(Arc::new(spoil));
    }

    /// Delays writes of values until `writes` of them are in flight, so that tests of concurrency do not
    /// depend on timing. After the time limit, the writes proceed anyway.
    pub fn gather(&self, writes: usize) {
        *locked(&self.0.sets.wanted) = writes;
    }

    /// Like [`Self::gather`], for single requests that are not writes of values, such as reads outside of a batch.
    pub fn gather_alone(&self, requests: usize) {
        *locked(&self.0.alone.wanted) = requests;
    }

    /// Sends a write of `size` bytes.
    fn setting<R>(
        &self,
        key: &Key,
        size: usize,
        write: impl FnOnce(&dyn Store) -> Result<R, StoreError>,
    ) -> Result<R, StoreError> {
        let number = self.0.begin_set(size);
        thread::sleep(self.0.delay);
        let spoil = locked(&self.0.spoil_set).clone();
        let result = spoil.map_or(Ok(()), |spoil| spoil(number, key));
        let result = result.and_then(|()| write(&*self.0.store));
        self.0.end_set(size);
        result
    }

    fn alone<R>(&self, ask: impl FnOnce(&dyn Store) -> R) -> R {
        let waiting = {
            let mut trips = self.0.trips();
            trips.alone += 1;
            trips.waiting_alone += 1;
            trips.alone_at_once = trips.alone_at_once.max(trips.waiting_alone);
            trips.waiting_alone
        };
        self.0.alone.wait(waiting);
        thread::sleep(self.0.delay);
        let answer = ask(&*self.0.store);
        let mut trips = self.0.trips();
        trips.waiting_alone = trips.waiting_alone.saturating_sub(1);
        answer
    }
}

impl Inside {
    fn hints(&self) -> ReadHints {
        *locked(&self.hints)
    }

    fn trips(&self) -> MutexGuard<'_, Trips> {
        locked(&self.trips)
    }

    /// Records the start of a write; returns its number.
    fn begin_set(&self, size: usize) -> usize {
        let mut trips = self.trips();
        let number = trips.written;
        trips.written += 1;
        trips.writing += 1;
        trips.writing_bytes += size;
        trips.writes = trips.writes.max(trips.writing);
        trips.bytes_written = trips.bytes_written.max(trips.writing_bytes);
        let writing = trips.writing;
        drop(trips);
        self.sets.wait(writing);
        number
    }

    fn end_set(&self, size: usize) {
        let mut trips = self.trips();
        trips.writing = trips.writing.saturating_sub(1);
        trips.writing_bytes = trips.writing_bytes.saturating_sub(size);
    }

    fn answers(&self, batch: usize, number: usize, request: &Request) -> Vec<CompletedRequest> {
        thread::sleep(self.delay);
        let mut output = Output::at_most(request.limit);
        let got = self.store.get(&request.key, request.options, &mut output);
        let delivery = (number, got.map(|got| got.map(|got| got.into_response(output))));
        match &*locked(&self.spoil) {
            Some(spoil) => spoil(self, batch, delivery),
            None => vec![delivery],
        }
    }
}

/// A batch in flight.
struct Batch {
    state: Arc<(Mutex<State>, Condvar)>,
    arriving: Receiver<(usize, Vec<CompletedRequest>)>,
    ready: VecDeque<CompletedRequest>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    next: usize,
    in_flight: usize,
    bytes: usize,
    is_over: bool,
}

impl Batch {
    fn new(inside: &Arc<Inside>, requests: Vec<Request>, budget: usize) -> Self {
        let batch = {
            let mut trips = inside.trips();
            trips.batches.push(requests.len());
            trips.batches.len() - 1
        };
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let (send, arriving) = channel();
        let threads = inside.hints().max_concurrency.max(1).min(requests.len());
        let requests = Arc::new(requests);
        let threads = (0..threads).map(|_| {
            let inside = Arc::clone(inside);
            let requests = Arc::clone(&requests);
            let state = Arc::clone(&state);
            let send = send.clone();
            thread::spawn(move || {
                while let Some(number) = begin(&inside, &requests, &state, budget) {
                    let answers = inside.answers(batch, number, &requests[number]);
                    locked(&state.0).in_flight -= 1;
                    if send.send((requests[number].expected_size, answers)).is_err() {
                        break;
                    }
                }
            })
        });
        let threads = threads.collect();
        Self { state, arriving, ready: VecDeque::new(), threads }
    }
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the next request fits into the budget, and returns its number.
fn begin(
    inside: &Inside,
    requests: &[Request],
    shared: &(Mutex<State>, Condvar),
    budget: usize,
) -> Option<usize> {
    let (state, changed) = shared;
    let mut state = locked(state);
    loop {
        let number = state.next;
        let size = requests.get(number).filter(|_| !state.is_over)?.expected_size;
        if state.bytes == 0 || state.bytes + size <= budget {
            state.next += 1;
            state.bytes += size;
            state.in_flight += 1;
            let mut trips = inside.trips();
            trips.begun += 1;
            trips.in_flight = trips.in_flight.max(state.in_flight);
            trips.bytes = trips.bytes.max(state.bytes);
            return Some(number);
        }
        state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

impl Iterator for Batch {
    type Item = CompletedRequest;

    fn next(&mut self) -> Option<CompletedRequest> {
        while self.ready.is_empty() {
            let (size, answers) = self.arriving.recv().ok()?;
            locked(&self.state.0).bytes -= size;
            self.state.1.notify_all();
            self.ready.extend(answers);
        }
        self.ready.pop_front()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        locked(&self.state.0).is_over = true;
        self.state.1.notify_all();
        for thread in self.threads.drain(..) {
            // If a thread panicked, a response is missing, and the caller has noticed.
            let _ended = thread.join();
        }
    }
}

impl Store for FarStore {
    fn location(&self) -> String {
        format!("far from {}", self.0.store.location())
    }

    fn capabilities(&self) -> Capabilities {
        self.0.store.capabilities()
    }

    fn read_hints(&self) -> ReadHints {
        self.0.hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.alone(|store| store.get(key, options, to))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        Box::new(Batch::new(&self.0, requests, budget))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.setting(key, value.len(), |store| store.set(key, value))
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        self.setting(key, value.len(), |store| store.set_if(key, value, condition))
    }

    fn lock(&self, key: &Key) -> Result<Option<StoreLock>, StoreError> {
        self.alone(|store| store.lock(key))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        self.alone(|store| store.erase_if(key, version))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.alone(|store| store.erase(key))
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.alone(|store| store.erase_values(keys))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.alone(|_| ());
        self.0.store.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.alone(|store| store.size(key))
    }
}
