//! The threads that send the requests of a store.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime as Threads};
use zarr_spec::BoxError;

/// Number of threads: one decrypts while the other one sends and receives. More threads would compete with the threads
/// that decode.
const THREADS: usize = 2;

/// Maximum number of threads that resolve hosts. Idle ones end.
const RESOLVERS: usize = 4;

/// The threads of a store, started by its first operation.
///
/// Callers block on a channel, so this works inside and outside of a Tokio runtime.
#[derive(Debug, Default)]
pub(crate) struct Runtime(OnceLock<Result<Threads, String>>);

impl Runtime {
    /// Returns the handle that starts tasks.
    ///
    /// # Errors
    ///
    /// If the system cannot start more threads.
    pub(crate) fn handle(&self) -> Result<&Handle, BoxError> {
        let threads = self.0.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(RESOLVERS)
                .thread_keep_alive(Duration::from_secs(5))
                .thread_name("zarr-object-store")
                .enable_all()
                .build()
                .map_err(|error| format!("cannot start threads for requests: {error}"))
        });
        threads.as_ref().map(Threads::handle).map_err(|error| error.clone().into())
    }

    /// Runs `task` and waits for its result.
    ///
    /// # Errors
    ///
    /// Those of [`Runtime::handle`], and if the task panics.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BoxError> {
        let (send, receive) = sync_channel(1);
        self.handle()?.spawn(async move {
            // The receiver exists until it has a result.
            let _sent = send.send(task.await);
        });
        receive.recv().map_err(|_| NO_RESPONSE.into())
    }
}

/// The message for a task that panicked.
pub(crate) const NO_RESPONSE: &str = "the request ended without a response";

/// Stops the threads, but does not wait for them: waiting is not allowed inside of a runtime. All tasks have been
/// awaited or aborted.
impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(Ok(threads)) = self.0.take() {
            threads.shutdown_background();
        }
    }
}
