//! Progress and cancellation of long operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Error;

/// Counts the chunks of operations, and cancels operations. Clones share the counters and the cancellation.
///
/// [`Context::with_progress`](crate::Context::with_progress) tracks all operations of a context, and
/// [`Array::with_progress`](crate::Array::with_progress) tracks those of one handle. Reads, writes, copies and erasures
/// check for cancellation before each chunk, each inner chunk of a shard, and each response of a remote store.
///
/// ```
/// # fn read(array: &zarr_engine::Array) -> Result<(), zarr_engine::Error> {
/// let progress = zarr_engine::Progress::new();
/// let array = array.with_progress(&progress);
/// std::thread::scope(|scope| {
///     let reading = scope.spawn(|| array.read(..));
///     while !reading.is_finished() {
///         println!("{} of {} chunks", progress.done(), progress.planned());
/// #       progress.cancel();
///     }
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    is_cancelled: AtomicBool,
    planned: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Creates counters that start at 0, without cancellation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels operations: they complete the chunks that they have started, start no others, and return
    /// [`Error::Cancelled`]. Operations that start later return the same error.
    pub fn cancel(&self) {
        self.state.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Returns whether operations are cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns the number of chunks in all operations that have started so far.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.state.planned.load(Ordering::Relaxed)
    }

    /// Returns the number of chunks that were read, written, copied or erased. A missing chunk counts as read.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.state.done.load(Ordering::Relaxed)
    }

    /// Returns an error if operations are cancelled, for operations outside of the engine.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if operations are cancelled.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    pub(crate) fn plan(&self, chunks: usize) {
        self.state.planned.fetch_add(chunks as u64, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, chunks: usize) {
        self.state.done.fetch_add(chunks as u64, Ordering::Relaxed);
    }
}
