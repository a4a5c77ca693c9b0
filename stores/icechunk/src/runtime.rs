//! Runs the library, which is asynchronous.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime as Threads};
use tokio::task::unconstrained;
use zarr_spec::BoxError;

/// The number of threads that run tasks of the library.
const THREADS: usize = 2;

/// The maximum number of threads that wait for files or for another store. Idle ones end.
const WAITING: usize = 64;

/// The threads of a store, started by its first operation.
///
/// A task runs on the thread of the caller, because most tasks find everything in memory. It works inside and outside of
/// a Tokio runtime.
#[derive(Debug, Default)]
pub(crate) struct Runtime(OnceLock<Result<Threads, String>>);

impl Runtime {
    /// Runs `task` and waits for its result.
    ///
    /// # Errors
    ///
    /// If the system cannot start more threads, or the task panics.
    pub(crate) fn wait<T>(&self, task: impl Future<Output = T>) -> Result<T, BoxError> {
        let _entered = self.threads()?.enter();
        // The caller may be a task of another runtime, whose budget does not apply here.
        let done = catch_unwind(AssertUnwindSafe(|| run(unconstrained(task))));
        done.map_err(|_| "the library `icechunk` panicked; the repository may be damaged".into())
    }

    fn threads(&self) -> Result<&Threads, BoxError> {
        let threads = self.0.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(WAITING)
                .thread_keep_alive(Duration::from_secs(5))
                .thread_name("zarr-icechunk")
                .enable_all()
                .build()
                .map_err(|error| format!("cannot start threads: {error}"))
        });
        threads.as_ref().map_err(|error| error.clone().into())
    }
}

/// Runs a task on this thread.
fn run<T>(task: impl Future<Output = T>) -> T {
    let mut task = pin!(task);
    let caller = Arc::new(Caller { thread: thread::current(), is_woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&caller));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = task.as_mut().poll(&mut context) {
            return result;
        }
        while !caller.is_woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

/// A thread that waits for its task.
struct Caller {
    thread: Thread,
    /// The task may block the thread by other means, which could take the token of [`thread::park`].
    is_woken: AtomicBool,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Stops the threads without waiting for them, which is not allowed inside of a runtime. All tasks have been awaited.
impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(Ok(threads)) = self.0.take() {
            threads.shutdown_background();
        }
    }
}
