//! A store around another one that can answer a second time what it was asked for, from memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use zarr_kit::spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};
use zarr_kit::spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Request, Responses, Store, StoreError,
};
use zarr_kit::spec::{Buffer, ByteRange, Bytes, Key, Output};

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The other store answers.
    Passing,
    /// The same, and the answers are kept.
    Recording,
    /// Answers that are kept are given again.
    Replaying,
    /// The same, and decoded chunks are counted and kept.
    Counting,
    /// Decoded chunks that are kept are given again.
    Copying,
}

const MODES: [Mode; 5] = [Mode::Passing, Mode::Recording, Mode::Replaying, Mode::Counting, Mode::Copying];

/// The other store, and what it answered.
#[derive(Debug)]
pub(super) struct Tape {
    store: Arc<dyn Store>,
    mode: AtomicUsize,
    kept: Mutex<Kept>,
    chunks: AtomicU64,
    size: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<(Key, ByteRange), Answer>,
    /// What was asked for, by reads.
    reads: Vec<Vec<Call>>,
    decoded: HashMap<(Key, u64), Bytes>,
    /// Bytes of answers and decoded chunks.
    size: u64,
}

/// Bytes, and those of the whole value; `None` for a missing key.
type Answer = Option<(Bytes, u64)>;

/// One request, or many at once.
#[derive(Debug, Clone)]
enum Call {
    Get(Request),
    GetMany(Vec<Request>, usize),
}

/// What was asked of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asked {
    /// Values and parts of values.
    pub(super) values: u64,
    /// Bytes that came.
    pub(super) bytes: u64,
}

/// What was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Decoded {
    /// Chunks, or inner chunks of shards.
    pub(super) chunks: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
}

impl Tape {
    /// Around `store`; nothing is kept yet.
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let chunks = AtomicU64::new(0);
        let size = AtomicU64::new(0);
        Self { store, mode: AtomicUsize::new(0), kept: Mutex::default(), chunks, size }
    }

    /// Deals with requests in another way from now on.
    pub(super) fn turn_to(&self, mode: Mode) {
        let place = MODES.iter().position(|other| *other == mode).unwrap_or(0);
        self.mode.store(place, Ordering::SeqCst);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        *self.kept() = Kept::default();
        self.chunks.store(0, Ordering::SeqCst);
        self.size.store(0, Ordering::SeqCst);
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> u64 {
        self.kept().size
    }

    /// What was asked for while answers were kept.
    pub(super) fn asked(&self) -> Asked {
        let kept = self.kept();
        let values = kept.reads.iter().flatten().map(|call| match call {
            Call::Get(_) => 1,
            Call::GetMany(requests, _) => requests.len() as u64,
        });
        let requests = kept.reads.iter().flatten().flat_map(|call| match call {
            Call::Get(request) => std::slice::from_ref(request),
            Call::GetMany(requests, _) => requests.as_slice(),
        });
        let sizes = requests.filter_map(|request| {
            let answer = kept.answers.get(&(request.key.clone(), request.options.range))?;
            answer.as_ref().map(|(bytes, _)| bytes.len() as u64)
        });
        Asked { values: values.sum(), bytes: sizes.sum() }
    }

    /// What was decoded while that was counted.
    pub(super) fn decoded(&self) -> Decoded {
        Decoded { chunks: self.chunks.load(Ordering::SeqCst), bytes: self.size.load(Ordering::SeqCst) }
    }

    /// What is kept from now on is of one read.
    pub(super) fn begin_read(&self) {
        self.kept().reads.push(Vec::new());
    }

    /// Asks the other store once more for all that is kept, read by read: what a read asked for at once is asked for at
    /// once again.
    pub(super) fn fetch_again(&self) -> Result<(), StoreError> {
        let reads = self.kept().reads.clone();
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

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_call(&self, call: Call) {
        if let Some(calls) = self.kept().reads.last_mut() {
            calls.push(call);
        }
    }

    fn keep_answer(&self, key: &Key, range: ByteRange, answer: Answer) {
        let mut kept = self.kept();
        let size = answer.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64);
        if kept.answers.insert((key.clone(), range), answer).is_none() {
            kept.size += size;
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

        /// Lets the other store answer, keeps the answer if that is wanted, or gives it again.
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
                    self.keep_call(Call::Get(Request::new(key.clone(), options, limit)));
                    self.keep_answer(key, options.range, answer);
                    Ok(got)
                }
                Mode::Replaying | Mode::Counting | Mode::Copying => {
                    let answer = self.kept().answers.get(&(key.clone(), options.range)).cloned();
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
                    self.keep_call(Call::GetMany(requests.clone(), budget));
                    let responses = self.store.get_many(requests.clone(), budget);
                    Box::new(responses.inspect(move |(number, response)| {
                        if let (Some(request), Ok(response)) = (requests.get(*number), response) {
                            let answer = response.as_ref().map(|found| (found.bytes.clone(), found.size));
                            self.keep_answer(&request.key, request.options.range, answer);
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
                // Chunks that another store caches are read all the same.
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
            Mode::Copying => self.kept().decoded.get(&(chunk.key.clone(), chunk.number)).cloned(),
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
            let mut kept = self.kept();
            if kept.decoded.insert((chunk.key.clone(), chunk.number), decoded).is_none() {
                kept.size += size;
            }
        }
        true
    }
}
