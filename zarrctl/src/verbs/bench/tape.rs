//! A store that records the responses of another store and replays them from memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use zarr_kit::spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};
use zarr_kit::spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Request, Responses, Store, StoreError,
};
use zarr_kit::spec::{Buffer, ByteRange, Bytes, Key, Output};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Passing,
    Recording,
    /// Requests are answered from the recorded responses.
    Replaying,
    /// Requests are answered from the recorded responses, and decoded chunks are counted and cached.
    Counting,
    /// Decoded chunks come from the cache.
    Copying,
}

const MODES: [Mode; 5] = [Mode::Passing, Mode::Recording, Mode::Replaying, Mode::Counting, Mode::Copying];

#[derive(Debug)]
pub(super) struct Tape {
    store: Arc<dyn Store>,
    mode: AtomicUsize,
    recorded: Mutex<Recorded>,
    chunks: AtomicU64,
    size: AtomicU64,
}

#[derive(Debug, Default)]
struct Recorded {
    answers: HashMap<(Key, ByteRange), Answer>,
    reads: Vec<Vec<Call>>,
    decoded: HashMap<(Key, u64), Bytes>,
    /// The size of all responses and decoded chunks in bytes.
    size: u64,
}

/// The bytes of a response and the size of the whole value; `None` for a missing key.
type Answer = Option<(Bytes, u64)>;

#[derive(Debug, Clone)]
enum Call {
    Get(Request),
    GetMany(Vec<Request>, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) values: u64,
    /// Bytes of the responses.
    pub(super) bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Decoded {
    pub(super) chunks: u64,
    /// Bytes of the chunks.
    pub(super) bytes: u64,
}

impl Tape {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let chunks = AtomicU64::new(0);
        let size = AtomicU64::new(0);
        Self { store, mode: AtomicUsize::new(0), recorded: Mutex::default(), chunks, size }
    }

    pub(super) fn turn_to(&self, mode: Mode) {
        let place = MODES.iter().position(|other| *other == mode).unwrap_or(0);
        self.mode.store(place, Ordering::SeqCst);
    }

    pub(super) fn clear(&self) {
        *self.recorded() = Recorded::default();
        self.chunks.store(0, Ordering::SeqCst);
        self.size.store(0, Ordering::SeqCst);
    }

    /// Returns the size of the records in bytes.
    pub(super) fn size(&self) -> u64 {
        self.recorded().size
    }

    pub(super) fn asked(&self) -> Asked {
        let recorded = self.recorded();
        let values = recorded.reads.iter().flatten().map(|call| match call {
            Call::Get(_) => 1,
            Call::GetMany(requests, _) => requests.len() as u64,
        });
        let requests = recorded.reads.iter().flatten().flat_map(|call| match call {
            Call::Get(request) => std::slice::from_ref(request),
            Call::GetMany(requests, _) => requests.as_slice(),
        });
        let sizes = requests.filter_map(|request| {
            let answer = recorded.answers.get(&(request.key.clone(), request.options.range))?;
            answer.as_ref().map(|(bytes, _)| bytes.len() as u64)
        });
        Asked { values: values.sum(), bytes: sizes.sum() }
    }

    pub(super) fn decoded(&self) -> Decoded {
        Decoded { chunks: self.chunks.load(Ordering::SeqCst), bytes: self.size.load(Ordering::SeqCst) }
    }

    pub(super) fn begin_read(&self) {
        self.recorded().reads.push(Vec::new());
    }

    /// Repeats all recorded requests to the wrapped store, read by read, with the same parallelism.
    pub(super) fn fetch_again(&self) -> Result<(), StoreError> {
        let reads = self.recorded().reads.clone();
        reads.iter().try_for_each(|calls| {
            calls.par_iter().try_for_each_init(Buffer::new, |buffer, call| self.ask_again(call, buffer))
        })
    }

    fn ask_again(&self, call: &Call, buffer: &mut Buffer) -> Result<(), StoreError> {
        match call {
            Call::Get(Request { key, options, limit, .. }) => {
                self.store.get(key, GetOptions::uncached(options.range), &mut buffer.output(*limit))?;
                Ok(())
            }
            Call::GetMany(requests, budget) => self
                .store
                .get_many(requests.clone(), *budget)
                .try_for_each(|(_, delivered)| delivered.map(|_| ())),
        }
    }

    fn mode(&self) -> Mode {
        MODES[self.mode.load(Ordering::SeqCst) % MODES.len()]
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_call(&self, call: Call) {
        if let Some(calls) = self.recorded().reads.last_mut() {
            calls.push(call);
        }
    }

    fn record_response(&self, key: &Key, range: ByteRange, answer: Answer) {
        let mut recorded = self.recorded();
        let size = answer.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64);
        if recorded.answers.insert((key.clone(), range), answer).is_none() {
            recorded.size += size;
        }
    }
}

zarr_kit::spec::delegate_store! {
    impl Store for Tape {
        forward(self.store): location, read_hints, size, list;
        refuse: write, remove;

        fn capabilities(&self) -> Capabilities {
            self.store.capabilities().read_only()
        }

        /// Reads from the source of the current mode.
        fn get(
            &self,
            key: &Key,
            options: GetOptions,
            to: &mut Output<'_>,
        ) -> Result<Option<GetResult>, StoreError> {
            match self.mode() {
                Mode::Passing => self.store.get(key, options, to),
                Mode::Recording => {
                    let before = to.written().len();
                    let got = self.store.get(key, options, to)?;
                    let answer = got.as_ref().map(|got| match &got.contents {
                        Contents::Written => (Bytes::copy_from_slice(&to.written()[before..]), got.size),
                        Contents::Shared(bytes) => (bytes.clone(), got.size),
                    });
                    let limit = answer.as_ref().map_or(0, |(bytes, _)| bytes.len());
                    self.record_call(Call::Get(Request::new(key.clone(), options, limit)));
                    self.record_response(key, options.range, answer);
                    Ok(got)
                }
                Mode::Replaying | Mode::Counting | Mode::Copying => {
                    let answer = self.recorded().answers.get(&(key.clone(), options.range)).cloned();
                    match answer {
                        Some(answer) => Ok(answer
                            .map(|(bytes, size)| GetResult::new(Contents::Shared(bytes), size, None))),
                        None => self.store.get(key, options, to),
                    }
                }
            }
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            match self.mode() {
                Mode::Passing => self.store.get_many(requests, budget),
                Mode::Recording => {
                    self.record_call(Call::GetMany(requests.clone(), budget));
                    let responses = self.store.get_many(requests.clone(), budget);
                    Box::new(responses.inspect(move |(number, response)| {
                        if let (Some(request), Ok(response)) = (requests.get(*number), response) {
                            let answer = response.as_ref().map(|found| (found.bytes.clone(), found.size));
                            self.record_response(&request.key, request.options.range, answer);
                        }
                    }))
                }
                Mode::Replaying | Mode::Counting | Mode::Copying => {
                    Box::new(requests.into_iter().enumerate().map(|(number, request)| {
                        let mut output = Output::at_most(request.limit);
                        let got = self.get(&request.key, request.options, &mut output);
                        (number, got.map(|got| got.map(|got| got.into_response(output))))
                    }))
                }
            }
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            match self.mode() {
                Mode::Passing => self.store.chunk_cache(),
                // Returns no cache, so that chunks are decoded even if the wrapped store has cached them.
                Mode::Recording | Mode::Replaying => None,
                Mode::Counting | Mode::Copying => Some(self),
            }
        }

        fn caches_values(&self) -> bool {
            self.mode() == Mode::Passing && self.store.caches_values()
        }
    }
}

impl ChunkCache for Tape {
    fn begin_read(&self) -> ReadStart {
        ReadStart(0)
    }

    fn change_count(&self, _: &Key) -> ChangeCount {
        ChangeCount(0)
    }

    fn get_chunk(&self, chunk: &ChunkId<'_>) -> Option<Bytes> {
        match self.mode() {
            Mode::Copying => self.recorded().decoded.get(&(chunk.key.clone(), chunk.number)).cloned(),
            _ => None,
        }
    }

    fn has_capacity(&self, _: &ChunkId<'_>, _: usize, _: ReadStart) -> bool {
        true
    }

    fn insert_chunk(&self, chunk: &ChunkId<'_>, decoded: Bytes, _: ChangeCount, _: ReadStart) -> bool {
        if self.mode() == Mode::Counting {
            self.chunks.fetch_add(1, Ordering::SeqCst);
            let size = decoded.len() as u64;
            self.size.fetch_add(size, Ordering::SeqCst);
            let mut recorded = self.recorded();
            if recorded.decoded.insert((chunk.key.clone(), chunk.number), decoded).is_none() {
                recorded.size += size;
            }
        }
        true
    }
}
