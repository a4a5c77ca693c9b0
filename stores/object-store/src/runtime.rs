//! The threads that send the requests.

use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime as Tokio};
use zarr_spec::BoxError;

use crate::network;

/// The maximum number of threads that resolve hosts and wait for credentials. Idle ones end.
const BLOCKING: usize = 16;

/// The threads of a process, which send and receive, and encrypt.
#[derive(Debug)]
pub(crate) struct Threads(Option<Tokio>);

impl Threads {
    /// # Errors
    ///
    /// If the system cannot start more threads.
    pub(crate) fn start() -> Result<Self, BoxError> {
        // One decrypts while another one sends and receives. More threads would compete with the threads that decode.
        let count = thread::available_parallelism().map_or(2, |count| (count.get() / 4).clamp(2, 8));
        let built = Builder::new_multi_thread()
            .worker_threads(count)
            .max_blocking_threads(BLOCKING)
            .thread_keep_alive(Duration::from_secs(5))
            .thread_name("zarr-object-store")
            .enable_all()
            .build();
        Ok(Self(Some(built.map_err(|error| format!("cannot start threads for requests: {error}"))?)))
    }

    fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Tokio::handle)
    }
}

/// Stops the threads, but does not wait for them: waiting is not allowed inside of a runtime. All tasks have been
/// awaited or aborted.
impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// The threads that a store uses, since its first operation.
///
/// Callers block on a channel, so this works inside and outside of a Tokio runtime.
#[derive(Debug, Default)]
pub(crate) struct Runtime(OnceLock<Result<Arc<Threads>, String>>);

impl Runtime {
    /// Returns the handle that starts tasks.
    ///
    /// # Errors
    ///
    /// If the system cannot start more threads.
    pub(crate) fn handle(&self) -> Result<&Handle, BoxError> {
        let threads = self.0.get_or_init(|| network::threads().map_err(|error| error.to_string()));
        let threads = threads.as_ref().map_err(String::clone)?;
        threads.handle().ok_or_else(|| NO_RESPONSE.into())
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
