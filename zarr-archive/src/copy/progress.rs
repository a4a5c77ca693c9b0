//! Progress of a copy in bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zarr_engine::{Error, Progress};

/// Counts the bytes of elements that a copy has completed, and cancels it. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub struct CopyProgress {
    chunks: Progress,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    total: AtomicU64,
    done: AtomicU64,
    current: Mutex<Current>,
}

/// The array that is copied at the moment.
#[derive(Debug, Default)]
struct Current {
    array: String,
    /// Encoded chunks that are copied in one call.
    encoded: Option<Encoded>,
}

#[derive(Debug, Clone, Copy)]
struct Encoded {
    /// The number of chunks that were done before the call.
    before: u64,
    /// The size of the elements of a chunk in bytes, on average.
    share: u64,
}

impl CopyProgress {
    /// Returns counters that count the chunks of the engine in `chunks`, which also cancels the copy.
    #[must_use]
    pub fn new(chunks: &Progress) -> Self {
        Self { chunks: chunks.clone(), state: Arc::default() }
    }

    /// Returns the counters of chunks.
    #[must_use]
    pub fn chunks(&self) -> &Progress {
        &self.chunks
    }

    /// Returns the bytes of elements that the copy reads and writes: once for each pass over an array. It is 0 before
    /// the copy begins.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.state.total.load(Ordering::Relaxed)
    }

    /// Returns the bytes of elements that the copy has completed.
    #[must_use]
    pub fn done(&self) -> u64 {
        let done = self.state.done.load(Ordering::Relaxed);
        let Some(Encoded { before, share }) = self.current().encoded else { return done };
        done.saturating_add((self.chunks.done() - before).saturating_mul(share))
    }

    /// Returns the path of the array that is copied at the moment.
    #[must_use]
    pub fn array(&self) -> String {
        self.current().array.clone()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.chunks.check()
    }

    pub(crate) fn begin(&self, total: u64) {
        self.state.total.store(total, Ordering::Relaxed);
        self.state.done.store(0, Ordering::Relaxed);
    }

    pub(crate) fn begin_array(&self, path: String) {
        self.current().array = path;
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.state.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Runs a copy of encoded chunks, each of which counts as `share` bytes.
    pub(crate) fn encoded<R>(&self, share: u64, copy: impl FnOnce() -> R) -> R {
        let before = self.chunks.done();
        self.current().encoded = Some(Encoded { before, share });
        let result = copy();
        let done = self.done();
        let mut current = self.current();
        current.encoded = None;
        self.state.done.store(done, Ordering::Relaxed);
        result
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.state.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
