//! The threads that run the library, which is asynchronous.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime as Threads};
use zarr_spec::BoxError;

/// The number of threads that run tasks. Files are read on further ones.
const THREADS: usize = 2;

/// The maximum number of threads that read files. Idle ones end.
const READERS: usize = 16;

/// The threads of a store, started by its first operation.
///
/// Callers block on a channel, so this works inside and outside of a Tokio runtime.
#[derive(Debug, Default)]
pub(crate) struct Runtime(OnceLock<Result<Threads, String>>);

impl Runtime {
    /// Runs `task` and waits for its result.
    ///
    /// # Errors
    ///
    /// If the system cannot start more threads, or the task panics.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BoxError> {
        let (send, receive) = sync_channel(1);
        self.threads()?.spawn(async move {
            // The receiver exists until it has a result.
            let _sent = send.send(task.await);
        });
        receive.recv().map_err(|_| "the library `icechunk` panicked; the repository may be damaged".into())
    }

    fn threads(&self) -> Result<&Threads, BoxError> {
        let threads = self.0.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(READERS)
                .thread_keep_alive(Duration::from_secs(5))
                .thread_name("zarr-icechunk")
                .enable_all()
                .build()
                .map_err(|error| format!("cannot start threads: {error}"))
        });
        threads.as_ref().map_err(|error| error.clone().into())
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
