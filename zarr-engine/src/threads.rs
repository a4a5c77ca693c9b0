//! Threads for the work of contexts.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon_core::join;

/// Minimum size in bytes of work that is divided among threads.
pub(crate) const PARALLEL: usize = 512 << 10;

/// The size in bytes of the work for one thread.
pub(crate) const PORTION: usize = 256 << 10;

/// A pool of threads that contexts can share. Its clones are the same pool.
///
/// A program that computes on its own rayon pool does not need one: reads and writes that are called on a thread
/// of any rayon pool use that pool, unless their context has another one.
#[derive(Debug, Clone)]
pub struct ThreadPool(pub(crate) Arc<rayon_core::ThreadPool>);

impl ThreadPool {
    /// Starts `threads` threads; 0 stands for the number of processors that the process may use.
    ///
    /// # Errors
    ///
    /// If the system cannot start them.
    pub fn new(threads: usize) -> io::Result<Self> {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        let builder = builder.thread_name(|number| format!("zarr-{number}"));
        builder.build().map(|pool| Self(Arc::new(pool))).map_err(io::Error::other)
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `work` on a thread of the pool. Parallel iterators of rayon in `work` use the pool, too.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

/// The threads that a context uses.
#[derive(Debug, Clone)]
pub(crate) enum Threads {
    Caller,
    Global,
    Pool(ThreadPool),
    /// At most this number of threads, which are started for each operation.
    Scoped(usize),
}

impl Threads {
    /// Returns these threads, or the calling thread if the system has no threads for rayon's global pool.
    pub(crate) fn usable(&self) -> &Self {
        match self {
            Self::Global if !has_global_pool() => &Self::Caller,
            threads => threads,
        }
    }

    /// Returns the number of threads that may compute at the same time.
    pub(crate) fn count(&self) -> usize {
        match self.usable() {
            Self::Caller => 1,
            Self::Global => rayon_core::current_num_threads(),
            Self::Pool(pool) => pool.thread_count(),
            Self::Scoped(count) => *count,
        }
    }

    /// Like [`rayon_core::in_place_scope`], with these threads.
    pub(crate) fn in_place_scope<'s, R>(&self, work: impl FnOnce(&rayon_core::Scope<'s>) -> R) -> R {
        match self {
            Self::Pool(pool) => pool.0.in_place_scope(work),
            Self::Caller | Self::Global | Self::Scoped(_) => rayon_core::in_place_scope(work),
        }
    }

    /// Calls `work` with parts of `range`, which have at least `portion` numbers if `range` does. An idle thread of the
    /// pool can take over any part that has not started.
    ///
    /// This function is not generic: otherwise the code of the pool would be compiled for each kind of closure.
    pub(crate) fn divide(&self, range: Range<usize>, portion: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        match self {
            Self::Pool(pool) => pool.install(|| in_halves(range, portion, work)),
            Self::Caller | Self::Global | Self::Scoped(_) => in_halves(range, portion, work),
        }
    }
}

fn in_halves(range: Range<usize>, portion: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    if range.len() / 2 < portion.max(1) {
        return work(range);
    }
    let middle = range.start + range.len() / 2;
    join(|| in_halves(range.start..middle, portion, work), || in_halves(middle..range.end, portion, work));
}

/// Whether rayon's global pool has threads. The pool is created once per process, and a second attempt panics.
static GLOBAL_POOL: OnceLock<bool> = OnceLock::new();

fn has_global_pool() -> bool {
    *GLOBAL_POOL.get_or_init(|| could_start(rayon_core::ThreadPoolBuilder::new().build_global()))
}

/// Returns whether there is a global pool, created now or earlier.
fn could_start(built: Result<(), rayon_core::ThreadPoolBuildError>) -> bool {
    // Only system errors have a source. The other error is that the pool already exists.
    built.err().is_none_or(|error| error.source().is_none())
}
