//! The context that all nodes of this process share.
//!
//! Handles that share a context share locks, so two threads may write to one array through two Python objects.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use pyo3::exceptions::PyRuntimeError;
use pyo3::sync::MutexExt;
use pyo3::{PyResult, Python};
use zarr_kit::{Context, Mode, Registry, ThreadPool};

use crate::failure::raise;

/// The shared context, and the process that created it.
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// A context and its thread pools.
struct Shared {
    process: u32,
    context: Context,
    /// The thread pools by their number of threads.
    pools: BTreeMap<usize, ThreadPool>,
}

/// The options of a hierarchy that are settings of its context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextOptions {
    pub(crate) is_strict: bool,
    /// Whether chunks of fill values are stored.
    pub(crate) stores_empty_chunks: bool,
    /// The number of threads; `None` for the number of processors that this process may use.
    pub(crate) threads: Option<usize>,
}

/// Returns the context of this process with `options`.
///
/// A forked process gets a new context, because the threads of its parent do not exist there. The caller holds the
/// global interpreter lock, so no process is forked while the mutex is locked.
pub(crate) fn context(options: ContextOptions) -> PyResult<Context> {
    let mut shared = shared();
    let shared = Shared::of_this_process(&mut shared)?;
    let context = match options.threads {
        Some(0) => {
            return Err(raise("InvalidInputError", "the number of threads is 0 (expected at least 1)"));
        }
        Some(1) => shared.context.clone().with_one_thread(),
        threads => shared.context.clone().with_thread_pool(&shared.pool(threads)?),
    };
    let context = if options.stores_empty_chunks { context.with_empty_chunks() } else { context };
    Ok(context.with_mode(if options.is_strict { Mode::Strict } else { Mode::Lenient }))
}

/// Locks the shared context. While this thread waits, it does not hold the global interpreter lock, which the thread
/// that creates the context may need for a warning.
fn shared() -> MutexGuard<'static, Option<Shared>> {
    Python::attach(|py| SHARED.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
}

/// Changes the plugins of the nodes that are opened later.
pub(crate) fn change_registry(change: impl FnOnce(&mut Registry) -> PyResult<()>) -> PyResult<()> {
    let mut shared = shared();
    let shared = Shared::of_this_process(&mut shared)?;
    let mut registry = shared.context.registry().clone();
    change(&mut registry)?;
    shared.context = shared.context.clone().with_registry(registry);
    Ok(())
}

/// Returns the threads of the contexts with this number of threads, as in [`ContextOptions::threads`].
pub(crate) fn thread_pool(threads: Option<usize>) -> PyResult<ThreadPool> {
    let mut shared = shared();
    match &mut *shared {
        Some(shared) if shared.process == process::id() => shared.pool(threads),
        _ => Err(PyRuntimeError::new_err("this process does not have a context")),
    }
}

impl Shared {
    fn of_this_process(shared: &mut Option<Self>) -> PyResult<&mut Self> {
        if shared.as_ref().is_some_and(|shared| shared.process != process::id()) {
            // Dropping the context would wait for its threads, which are not in this process.
            std::mem::forget(shared.take());
        }
        match shared {
            Some(shared) => Ok(shared),
            none => Ok(none.insert(Self::new()?)),
        }
    }

    fn new() -> PyResult<Self> {
        let registry = Registry::linked().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let limits = zarrctl::limits_of_environment();
        let limits = limits.map_err(|error| raise("InvalidInputError", &error.to_string()))?;
        let context = Context::new(with_installed(registry)?).with_limits(limits);
        Ok(Self { process: process::id(), context, pools: BTreeMap::new() })
    }

    fn pool(&mut self, threads: Option<usize>) -> PyResult<ThreadPool> {
        // Without a number, rayon would read an environment variable. The number of processors follows from the
        // affinity and the control group.
        let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, NonZero::get));
        if let Some(pool) = self.pools.get(&threads) {
            return Ok(pool.clone());
        }
        let pool = ThreadPool::new(threads).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        self.pools.insert(threads, pool.clone());
        Ok(pool)
    }
}

/// Returns an error in a process that was forked from the process that opened a node.
pub(crate) fn check_process(opened_in: u32) -> PyResult<()> {
    if opened_in == process::id() {
        return Ok(());
    }
    Err(raise(
        "ForkedError",
        "this node was opened before the process was forked, and its threads are not in the new process: open it again, \
         or start processes with the method `spawn`",
    ))
}

/// Adds the installed plugins that the user trusts.
#[cfg(target_os = "linux")]
fn with_installed(mut registry: Registry) -> PyResult<Registry> {
    use zarr_kit::loaded::{Loader, Lock, LockFiles, Policy, Search};

    let lock = LockFiles::from_environment().map_or_else(|| Ok(Lock::default()), |files| files.read());
    let lock = match lock {
        Ok(lock) => lock,
        Err(error) => {
            let text = crate::failure::chain(&error);
            crate::failure::warn(&format!("no plugins are trusted: {text}"))?;
            Lock::default()
        }
    };
    let loader = Loader::new(&Search::from_environment(), Policy::Pinned, lock);
    // Errors about unknown identifiers explain why refused plugins are not used.
    let _refused = loader.register(&mut registry);
    Ok(registry)
}

#[cfg(not(target_os = "linux"))]
fn with_installed(registry: Registry) -> PyResult<Registry> {
    Ok(registry)
}
