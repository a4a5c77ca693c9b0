//! Progress and cancellation of long operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Error;

/// Counts the chunks of operations, and cancels operations. Clones share the counters and the cancellation.
///
/// [`Context::with_progress`](crate::Context::with_progress) follows all operations of a context, and
/// [`Array::with_progress`](crate::Array::with_progress) those of one handle. Reads, writes, copies and erasures check it
/// before each chunk, each inner chunk of a shard, and each response of a far store.
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
    /// Nothing is planned, done or cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels operations: they complete the chunks that they have started, start no other, and return
    /// [`Error::Cancelled`]. Operations that start later return it as well.
    pub fn cancel(&self) {
        self.state.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Whether operations are cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.is_cancelled.load(Ordering::Relaxed)
    }

    /// The number of chunks that all operations so far have to do.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.state.planned.load(Ordering::Relaxed)
    }

    /// The number of chunks that are read, written, copied or erased. Reads count missing chunks, too.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.state.done.load(Ordering::Relaxed)
    }

    /// # Errors
    ///
    /// [`Error::Cancelled`] if operations are cancelled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Adds the chunks of an operation that starts.
    pub(crate) fn plan(&self, chunks: usize) {
        self.state.planned.fetch_add(chunks as u64, Ordering::Relaxed);
    }

    /// Adds chunks that are done.
    pub(crate) fn advance(&self, chunks: usize) {
        self.state.done.fetch_add(chunks as u64, Ordering::Relaxed);
    }
}
