//! What every operation is done with: plugins, policies, limits, threads.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use rayon::prelude::*;
use zarr_spec::host::registry::DuplicateIdentifier;
use zarr_spec::{Mode, Registry};

use crate::budget::{MemoryBudget, usable_memory};
use crate::error::Error;
use crate::locks::{ChunkLocks, NodeLocks};
use crate::memory::BufferPool;
use crate::progress::Progress;
use crate::request_limit::RequestLimit;

/// The size in bytes from which on work is divided among threads.
pub(crate) const PARALLEL: usize = 512 << 10;

/// The size in bytes of the work that another thread gets.
pub(crate) const PORTION: usize = 256 << 10;

/// Bytes of freed outputs that are kept unless another number is asked for.
const BUFFER_POOL_SIZE: usize = 64 << 20;

/// Nodes that may be changed at the same time without waiting for one another, at most.
const NODE_LOCKS: usize = 512;

/// So many documents of nodes are worth a second thread.
const MANY: usize = 64;

/// What to do about a data type that is unknown and names a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FallbackPolicy {
    /// An error that names the type and the fallback.
    #[default]
    Deny,
    /// The fallback is used, with a warning.
    Warn,
    /// The fallback is used.
    Allow,
}

/// What opening one array does otherwise than its context says. The default is to do as the context says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArrayOptions {
    pub(crate) fallback: Option<FallbackPolicy>,
    pub(crate) write_fallback: Option<bool>,
}

impl ArrayOptions {
    /// As the context says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With this policy for a fallback of the data type.
    #[must_use]
    pub fn fallback(self, fallback: FallbackPolicy) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// Whether elements may be written as those of a fallback: see [`Context::with_fallback_writing`].
    #[must_use]
    pub fn write_fallback(self, write_fallback: bool) -> Self {
        Self { write_fallback: Some(write_fallback), ..self }
    }

    /// `context` with what these options say.
    pub(crate) fn applied_to(self, context: &Context) -> Context {
        Context {
            fallback: self.fallback.unwrap_or(context.fallback),
            write_fallback: self.write_fallback.unwrap_or(context.write_fallback),
            ..context.clone()
        }
    }
}

/// What a missing chunk holds when the fill value of its array is undefined. In v2 it holds zeros in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum UndefinedFill {
    /// Reading it is an error.
    #[default]
    Deny,
    /// Zeros.
    Zeros,
}

/// How much memory foreign data may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one metadata document, consolidated ones included. The default, 16 MiB, holds the copies of about
    /// 15,000 arrays. A larger document needs a larger limit.
    pub document_size: usize,
    /// Bytes that all reads and writes of a context and its clones have in memory at the same time: encoded values,
    /// buffers between codecs, decoded chunks, and chunks that are on their way from or to a far store. Outputs, elements
    /// that are written, and caches do not count, nor does memory that codecs allocate themselves. A thread waits until
    /// there is memory for its chunk. A chunk that needs more than all of it is an error, [`Error::OverBudget`].
    ///
    /// The default is a quarter of the memory that the process may use: of physical memory, or of the limit of its
    /// control groups (cgroups) or its address space (`ulimit -v`) where that is smaller.
    ///
    /// [`Error::OverBudget`]: crate::Error::OverBudget
    pub memory: u64,
    /// Requests for chunks that all reads and writes of a context and its clones have in flight at the same time, in stores
    /// that benefit from concurrency. The default is `None`: each operation has as many as its store benefits from, which
    /// is typically 64. Operations that find no request free wait for one. Documents and [copies] do not count.
    ///
    /// [copies]: crate::Array::copy_encoded_chunks
    pub requests: Option<usize>,
}

impl Limits {
    /// The default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With documents of at most `size` bytes.
    #[must_use]
    pub const fn with_document_size(self, size: usize) -> Self {
        Self { document_size: size, ..self }
    }

    /// With a memory budget of `size` bytes.
    #[must_use]
    pub const fn with_memory(self, size: u64) -> Self {
        Self { memory: size, ..self }
    }

    /// With at most `count` concurrent requests; `None` for no limit.
    #[must_use]
    pub const fn with_requests(self, count: Option<usize>) -> Self {
        Self { requests: count, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { document_size: 16 << 20, memory: usable_memory() / 4, requests: None }
    }
}

/// What every operation is done with: a plain value, cheap to clone.
///
/// Handles that share a context, or clones of it, share the locks of chunks and nodes. Threads that write parts of one
/// chunk, append to one array, change attributes of one node or create nodes at the same time lose nothing. Handles of
/// another context, in this process or another one, do not share these locks: only one context at a time may write to a
/// store. They also share one memory budget, [`Limits::memory`].
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) registry: Arc<Registry>,
    pub(crate) mode: Mode,
    pub(crate) fallback: FallbackPolicy,
    pub(crate) write_fallback: bool,
    pub(crate) undefined_fill: UndefinedFill,
    pub(crate) limits: Limits,
    pub(crate) threads: Threads,
    pub(crate) store_empty_chunks: bool,
    pub(crate) locks: Arc<ChunkLocks>,
    pub(crate) node_locks: Arc<NodeLocks>,
    /// Whether chunks may have been left without a document: a node was erased, or an array prepared.
    pub(crate) leftovers: Arc<AtomicBool>,
    /// How often groups that may be remembered were changed.
    group_changes: Arc<AtomicU64>,
    pub(crate) buffer_pool: Arc<BufferPool>,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) requests: Arc<RequestLimit>,
    progress: Option<Progress>,
}

/// Whether rayon's own pool has threads. The pool is made once for the whole program, and a second attempt panics.
static GLOBAL_POOL: OnceLock<bool> = OnceLock::new();

/// Starts rayon's own pool. False if the system has no threads for it.
fn has_global_pool() -> bool {
    *GLOBAL_POOL.get_or_init(|| could_start(rayon::ThreadPoolBuilder::new().build_global()))
}

/// Whether there is a pool: the one that was made now or an earlier one.
fn could_start(built: Result<(), rayon::ThreadPoolBuildError>) -> bool {
    // The only error with a source is that of the system. The other one is that there is a pool already.
    built.err().is_none_or(|error| error.source().is_none())
}

/// Where the work is done.
#[derive(Debug, Clone)]
pub(crate) enum Threads {
    /// On the thread that asks.
    Caller,
    /// On rayon's own pool.
    Global,
    /// On a pool that was handed in.
    Pool(Arc<rayon::ThreadPool>),
    /// On this number of threads at most, which are started for each operation.
    Scoped(usize),
}

impl Context {
    /// With the plugins of `registry`, lenient reading, fallbacks denied, and rayon's threads.
    #[must_use]
    pub fn new(registry: Registry) -> Self {
        let limits = Limits::default();
        Self {
            registry: Arc::new(registry),
            mode: Mode::default(),
            fallback: FallbackPolicy::default(),
            write_fallback: false,
            undefined_fill: UndefinedFill::default(),
            limits,
            threads: Threads::Global,
            store_empty_chunks: false,
            locks: Arc::new(ChunkLocks::new()),
            node_locks: Arc::new(NodeLocks::new(NODE_LOCKS)),
            leftovers: Arc::default(),
            group_changes: Arc::default(),
            buffer_pool: Arc::new(BufferPool::new(BUFFER_POOL_SIZE)),
            budget: Arc::new(MemoryBudget::new(limits.memory)),
            requests: Arc::new(RequestLimit::new(limits.requests)),
            progress: None,
        }
    }

    /// With the plugins that are linked into this program.
    ///
    /// # Errors
    ///
    /// If two of them have one identifier.
    pub fn linked() -> Result<Self, DuplicateIdentifier> {
        Ok(Self::new(Registry::linked()?))
    }

    /// With another reading mode.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// With another policy for fallbacks of data types.
    #[must_use]
    pub fn with_fallback(self, fallback: FallbackPolicy) -> Self {
        Self { fallback, ..self }
    }

    /// Lets elements be written to arrays whose data type is not known, as those of its fallback; without it such arrays
    /// are read only. Documents keep naming the type that is not known. Chunks are stored whatever they hold: what the
    /// fill value is to those who know the type is not known here.
    #[must_use]
    pub fn with_fallback_writing(self) -> Self {
        Self { write_fallback: true, ..self }
    }

    /// With another policy for undefined fill values.
    #[must_use]
    pub fn with_undefined_fill(self, undefined_fill: UndefinedFill) -> Self {
        Self { undefined_fill, ..self }
    }

    /// With other limits. Memory and requests are not shared with the context that this one is made of.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let budget = Arc::new(MemoryBudget::new(limits.memory));
        let requests = Arc::new(RequestLimit::new(limits.requests));
        Self { limits, budget, requests, ..self }
    }

    /// Counts the chunks of all operations in `progress`, which can also cancel them.
    #[must_use]
    pub fn with_progress(self, progress: &Progress) -> Self {
        Self { progress: Some(progress.clone()), ..self }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// On a pool of threads that the caller has.
    #[must_use]
    pub fn with_thread_pool(self, pool: Arc<rayon::ThreadPool>) -> Self {
        Self { threads: Threads::Pool(pool), ..self }
    }

    /// On the calling thread alone. To a store for which many requests in flight pay, chunks are written by as many
    /// threads all the same: one of them computes at a time, and the others wait for the store.
    #[must_use]
    pub fn with_one_thread(self) -> Self {
        Self { threads: Threads::Caller, ..self }
    }

    /// Stores also chunks that hold nothing but the fill value, rather than leaving them out.
    #[must_use]
    pub fn with_empty_chunks(self) -> Self {
        Self { store_empty_chunks: true, ..self }
    }

    /// Pools up to `size` bytes of freed output buffers for later reads: new memory costs more than the elements that are
    /// written to it. The default is 64 MiB. Larger reads shrink the pool, and dropping the last clone of the context
    /// frees it.
    #[must_use]
    pub fn with_buffer_pool(self, size: usize) -> Self {
        Self { buffer_pool: Arc::new(BufferPool::new(size)), ..self }
    }

    /// The plugins.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How strictly documents are read.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many threads may compute at once. Where the system has no threads for rayon's own pool, the calling thread
    /// does all the work.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        match self.threads() {
            Threads::Caller => 1,
            Threads::Global => rayon::current_num_threads(),
            Threads::Pool(pool) => pool.current_num_threads(),
            Threads::Scoped(count) => *count,
        }
    }

    /// Counts the chunks of operations, if that was asked for.
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// # Errors
    ///
    /// [`Error::Cancelled`] if operations are cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        self.progress.as_ref().map_or(Ok(()), Progress::check)
    }

    /// The same context for work that is done under the lock of a node. A thread that waits for rayon may run any other
    /// job of its caller, which may want the same lock: so the work uses threads of its own.
    pub(crate) fn under_lock(&self) -> Self {
        let threads = match self.threads() {
            Threads::Caller => Threads::Caller,
            _ => Threads::Scoped(self.thread_count()),
        };
        Self { threads, ..self.clone() }
    }

    /// Notes that groups are about to be erased, or to get consolidated metadata. The caller has the locks of their nodes,
    /// so that no hierarchy of this context creates nodes below them meanwhile.
    pub(crate) fn groups_changed(&self) {
        self.group_changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of such changes.
    pub(crate) fn group_changes(&self) -> u64 {
        self.group_changes.load(Ordering::SeqCst)
    }

    /// Where the work is done.
    pub(crate) fn threads(&self) -> &Threads {
        self.threads.usable()
    }

    /// What `work` makes of each item, in their order: on several threads where there are many of them. No lock may be
    /// held: while rayon waits, it runs what else there is.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        if items.len() < MANY || matches!(self.threads(), Threads::Caller | Threads::Scoped(_)) {
            return items.into_iter().map(work).collect();
        }
        self.run(|| items.into_par_iter().with_min_len(MANY / 4).map(work).collect())
    }

    /// Runs `work` on this thread, and from when it calls what it is given, `help` on threads of this context that have
    /// nothing else to do: on so many of them at most. Both have ended when it returns. No lock and no memory may be held,
    /// as in [`Context::map`]. `work` itself gives back what it acquires, and waits for no `help` that has not begun.
    pub(crate) fn run_helped<R>(
        &self,
        most: usize,
        help: impl Fn() + Sync,
        work: impl FnOnce(&dyn Fn()) -> R,
    ) -> R {
        let help = &help;
        let others = most.min(self.thread_count().saturating_sub(1));
        if others == 0 {
            return work(&|| ());
        }
        if let Threads::Scoped(_) = self.threads {
            return thread::scope(|scope| {
                work(&|| {
                    for _ in 0..others {
                        // Without more threads, this one does all of the work.
                        let _started = thread::Builder::new().spawn_scoped(scope, help);
                    }
                })
            });
        }
        self.in_place_scope(|scope| work(&|| (0..others).for_each(|_| scope.spawn(|_| help()))))
    }

    /// As [`rayon::in_place_scope`], of the threads of this context.
    pub(crate) fn in_place_scope<'s, R>(&self, work: impl FnOnce(&rayon::Scope<'s>) -> R) -> R {
        match &self.threads {
            Threads::Pool(pool) => pool.in_place_scope(work),
            Threads::Caller | Threads::Global | Threads::Scoped(_) => rayon::in_place_scope(work),
        }
    }

    /// Runs `work` where the threads of this context take part in it.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.threads.run(work)
    }
}

impl Threads {
    /// These, or the calling thread where the system has no threads for rayon's own pool.
    fn usable(&self) -> &Self {
        match self {
            Self::Global if !has_global_pool() => &Self::Caller,
            threads => threads,
        }
    }

    /// Runs `work` where these threads take part in it.
    fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Caller | Self::Global | Self::Scoped(_) => work(),
            Self::Pool(pool) => pool.install(work),
        }
    }

    /// Copies `source` to `destination`, which has the same size: on all threads if it is large. No lock may be held, as
    /// in [`Context::map`].
    pub(crate) fn copy(&self, source: &[u8], destination: &mut [u8]) {
        if source.len() < PARALLEL || matches!(self.usable(), Self::Caller | Self::Scoped(_)) {
            return destination.copy_from_slice(source);
        }
        let parts = destination.par_chunks_mut(PORTION).zip(source.par_chunks(PORTION));
        self.run(|| parts.for_each(|(to, from)| to.copy_from_slice(from)));
    }
}
