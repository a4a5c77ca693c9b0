//! The environment of all operations: plugins, policies, limits and threads.

mod conditions;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use zarr_spec::host::registry::DuplicateIdentifier;
use zarr_spec::{Mode, Registry};

use crate::budget::{MemoryBudget, usable_memory};
use crate::error::Error;
use crate::locks::{ChunkLocks, NodeLocks};
use crate::memory::BufferPool;
use crate::parallel;
use crate::progress::Progress;
use crate::request_limit::RequestLimit;
use crate::threads::{ThreadPool, Threads};

/// Default size in bytes of the pool of freed outputs.
const BUFFER_POOL_SIZE: usize = 64 << 20;

/// Number of node locks, which bounds the number of concurrent changes.
const NODE_LOCKS: usize = 512;

/// Minimum number of documents that are processed on several threads.
const MANY: usize = 64;

/// The policy for unknown data types with a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FallbackPolicy {
    /// Returns an error that names the type and the fallback.
    #[default]
    Deny,
    /// Uses the fallback, with a warning.
    Warn,
    /// Uses the fallback.
    Allow,
}

/// Options for opening one array. They override the options of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArrayOptions {
    pub(crate) fallback: Option<FallbackPolicy>,
    pub(crate) write_fallback: Option<bool>,
}

impl ArrayOptions {
    /// Returns options that override nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the policy for fallbacks of the data type.
    #[must_use]
    pub fn fallback(self, fallback: FallbackPolicy) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// Sets whether elements of a fallback type may be written: see [`Context::with_fallback_writing`].
    #[must_use]
    pub fn write_fallback(self, write_fallback: bool) -> Self {
        Self { write_fallback: Some(write_fallback), ..self }
    }

    pub(crate) fn applied_to(self, context: &Context) -> Context {
        Context {
            fallback: self.fallback.unwrap_or(context.fallback),
            write_fallback: self.write_fallback.unwrap_or(context.write_fallback),
            ..context.clone()
        }
    }
}

/// The policy for missing chunks of arrays with an undefined fill value. In v2, they always read as zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum UndefinedFill {
    /// Reading a missing chunk is an error.
    #[default]
    Deny,
    /// A missing chunk reads as zeros.
    Zeros,
}

/// Limits on the memory that untrusted data may cause to be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a metadata document in bytes, including consolidated metadata. The default is 16 MiB, enough
    /// for the copies of about 15,000 arrays.
    pub document_size: usize,
    /// The memory budget in bytes for all reads and writes of a context and its clones at the same time: encoded
    /// values, buffers between codecs, decoded chunks, and chunks in transfer from or to a remote store. Outputs,
    /// elements to be written, caches, and memory that codecs allocate themselves do not count. A thread waits until
    /// there is memory for its chunk. A chunk that needs more than the whole budget is an error: [`Error::OverBudget`].
    ///
    /// The default is a quarter of the memory that the process may use: of physical memory, or of the limit of its
    /// control groups (cgroups) or its address space (`ulimit -v`) if that is smaller.
    ///
    /// [`Error::OverBudget`]: crate::Error::OverBudget
    pub memory: u64,
    /// The setting of the program that raises [`Limits::memory`]. [`Error::OverBudget`] names it. The default is the
    /// setting of Rust programs and the option of `zarrctl`.
    ///
    /// [`Error::OverBudget`]: crate::Error::OverBudget
    pub memory_setting: &'static str,
    /// The maximum number of requests for chunks that all reads and writes of a context and its clones have in flight at
    /// the same time, in stores that benefit from concurrency. Operations wait until a request is free. Requests for
    /// documents and [copies] do not count.
    ///
    /// The default is `None`: each operation sends as many requests as its store benefits from, typically 64.
    ///
    /// [copies]: crate::Array::copy_encoded_chunks
    pub requests: Option<usize>,
}

impl Limits {
    /// Creates the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum size of a metadata document to `size` bytes.
    #[must_use]
    pub const fn with_document_size(self, size: usize) -> Self {
        Self { document_size: size, ..self }
    }

    /// Sets the memory budget to `size` bytes.
    #[must_use]
    pub const fn with_memory(self, size: u64) -> Self {
        Self { memory: size, ..self }
    }

    /// Sets the name of the setting that raises the memory budget, for messages.
    #[must_use]
    pub const fn with_memory_setting(self, name: &'static str) -> Self {
        Self { memory_setting: name, ..self }
    }

    /// Sets the maximum number of concurrent requests to `count`; `None` for no limit.
    #[must_use]
    pub const fn with_requests(self, count: Option<usize>) -> Self {
        Self { requests: count, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_size: 16 << 20,
            memory: usable_memory() / 4,
            memory_setting: "`Limits::memory` or `zarrctl --memory`",
            requests: None,
        }
    }
}

/// The environment of all operations: plugins, policies, limits and threads. It is cheap to clone.
///
/// Handles that share a context or its clones also share the locks of chunks and nodes, so that concurrent calls do not
/// lose data when they write parts of one chunk, append to one array, change attributes of one node or create nodes.
/// Handles of different contexts, in this process or another one, do not share these locks. They lose nothing in stores
/// with conditional writes. Clones also share one memory budget, [`Limits::memory`].
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
    /// Whether other programs may append to an array while this context writes to it.
    pub(crate) may_grow: bool,
    pub(crate) locks: Arc<ChunkLocks>,
    pub(crate) node_locks: Arc<NodeLocks>,
    /// Whether chunks may exist without a document, because a node was erased or an array was prepared.
    pub(crate) leftovers: Arc<AtomicBool>,
    /// The number of changes that invalidate cached groups.
    group_changes: Arc<AtomicU64>,
    pub(crate) buffer_pool: Arc<BufferPool>,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) requests: Arc<RequestLimit>,
    requires_conditions: bool,
    /// The locations of stores without conditional writes in which values were changed.
    unprotected: Arc<Mutex<BTreeSet<String>>>,
    progress: Option<Progress>,
}

impl Context {
    /// Returns a context with the plugins of `registry`, lenient reading, fallbacks denied, and rayon's global pool.
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
            may_grow: false,
            locks: Arc::new(ChunkLocks::new()),
            node_locks: Arc::new(NodeLocks::new(NODE_LOCKS)),
            leftovers: Arc::default(),
            group_changes: Arc::default(),
            buffer_pool: Arc::new(BufferPool::new(BUFFER_POOL_SIZE)),
            budget: Arc::new(MemoryBudget::new(limits.memory)),
            requests: Arc::new(RequestLimit::new(limits.requests)),
            requires_conditions: false,
            unprotected: Arc::default(),
            progress: None,
        }
    }

    /// Returns a context with the plugins that are linked into this program.
    ///
    /// # Errors
    ///
    /// If two plugins have the same identifier.
    pub fn linked() -> Result<Self, DuplicateIdentifier> {
        Ok(Self::new(Registry::linked()?))
    }

    /// Sets the reading mode.
    #[must_use]
    pub fn with_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Sets the policy for fallbacks of data types.
    #[must_use]
    pub fn with_fallback(self, fallback: FallbackPolicy) -> Self {
        Self { fallback, ..self }
    }

    /// Allows writing elements of the fallback type to arrays whose data type is unknown; by default, such arrays are
    /// read only. Documents keep the name of the unknown type. Chunks of fill values are stored, because the fill value
    /// that the unknown type defines is not known.
    #[must_use]
    pub fn with_fallback_writing(self) -> Self {
        Self { write_fallback: true, ..self }
    }

    /// Sets the policy for undefined fill values.
    #[must_use]
    pub fn with_undefined_fill(self, undefined_fill: UndefinedFill) -> Self {
        Self { undefined_fill, ..self }
    }

    /// Sets the limits. The result shares neither the memory budget nor the limit of requests with `self`.
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

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Runs work on the given thread pool.
    #[must_use]
    pub fn with_thread_pool(self, pool: &ThreadPool) -> Self {
        Self { threads: Threads::Pool(pool.clone()), ..self }
    }

    /// Runs work only on the calling thread. Exception: chunks are written to a remote store by several threads, of
    /// which one computes at a time while the others wait for the store.
    #[must_use]
    pub fn with_one_thread(self) -> Self {
        Self { threads: Threads::Caller, ..self }
    }

    /// Stores chunks that hold only the fill value, which are not stored by default.
    #[must_use]
    pub fn with_empty_chunks(self) -> Self {
        Self { store_empty_chunks: true, ..self }
    }

    /// Refuses to change stored values in stores without conditional writes. In these stores, another program that
    /// writes at the same time may lose or undo the change. By default, the hierarchy only gets a warning about such a
    /// change.
    #[must_use]
    pub fn with_required_conditions(self) -> Self {
        Self { requires_conditions: true, ..self }
    }

    /// Sets the size in bytes of the pool of freed output buffers for later reads. Mapping new memory costs more than
    /// writing the elements to it. The default is 64 MiB. Larger reads shrink the pool, and dropping the last clone of
    /// the context frees it.
    #[must_use]
    pub fn with_buffer_pool(self, size: usize) -> Self {
        Self { buffer_pool: Arc::new(BufferPool::new(size)), ..self }
    }

    /// Replaces the plugins. The result shares everything else with `self`, such as locks and the memory budget. Arrays that are
    /// already open do not change.
    #[must_use]
    pub fn with_registry(self, registry: Registry) -> Self {
        Self { registry: Arc::new(registry), ..self }
    }

    /// Returns the plugin registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the reading mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the number of threads that may compute at the same time. If the system has no threads for rayon's global
    /// pool, the calling thread does all the work.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads().count()
    }

    /// Returns the counters of [`Context::with_progress`], if there are any.
    #[must_use]
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        self.progress.as_ref().map_or(Ok(()), Progress::check)
    }

    /// Returns a copy for work that is done while a node is locked. A thread that waits for rayon may run any other
    /// job, which may need the same lock, so this work uses separate threads.
    pub(crate) fn under_lock(&self) -> Self {
        let threads = match self.threads() {
            Threads::Caller => Threads::Caller,
            _ => Threads::Scoped(self.thread_count()),
        };
        Self { threads, ..self.clone() }
    }

    /// Notes that groups are about to be erased or to get consolidated metadata. The caller holds the locks of their
    /// nodes, so that no hierarchy of this context creates nodes below them meanwhile.
    pub(crate) fn groups_changed(&self) {
        self.group_changes.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn group_changes(&self) -> u64 {
        self.group_changes.load(Ordering::SeqCst)
    }

    pub(crate) fn threads(&self) -> &Threads {
        self.threads.usable()
    }

    /// Returns the result of `work` for each item, in order, on several threads if there are many items. The caller
    /// must not hold a lock, because rayon runs other jobs while it waits.
    pub(crate) fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        if items.len() < MANY || matches!(self.threads(), Threads::Caller | Threads::Scoped(_)) {
            return items.into_iter().map(work).collect();
        }
        parallel::map(&self.threads, items, MANY / 4, &work)
    }

    /// Returns the result of `work` for each item, in order, on the threads of this context. The caller must not hold a
    /// lock that `work` needs, because a waiting thread runs other jobs.
    pub fn map_each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
        if matches!(self.threads(), Threads::Caller | Threads::Scoped(_)) {
            return items.into_iter().map(work).collect();
        }
        parallel::map(&self.threads, items, 1, &work)
    }

    /// Runs `work` on this thread. When it calls its argument, `help` starts on up to `most` idle threads of this
    /// context. Both have finished when this returns. The caller must not hold locks or memory, as for
    /// [`Context::map`]. `work` releases everything it acquires, and must not wait for `help` that has not started.
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
                        // If the system has no more threads, this thread does all the work.
                        let _started = thread::Builder::new().spawn_scoped(scope, help);
                    }
                })
            });
        }
        self.threads.in_place_scope(|scope| work(&|| (0..others).for_each(|_| scope.spawn(|_| help()))))
    }
}
