//! The threads that requests are made by.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime as Threads};
use zarr_spec::BoxError;

/// One that decrypts and one that does the rest; more would take time from who decodes.
const THREADS: usize = 2;

/// Threads that ask for the addresses of hosts. They end when nobody asks.
const RESOLVERS: usize = 4;

/// Threads of a store's own, from the first operation on.
///
/// Whoever waits for them blocks in a channel, so that it makes no difference whether he is in a runtime himself.
#[derive(Debug, Default)]
pub(crate) struct Runtime(OnceLock<Result<Threads, String>>);

impl Runtime {
    /// Where tasks are started.
    ///
    /// # Errors
    ///
    /// When the system has no threads left.
    pub(crate) fn handle(&self) -> Result<&Handle, BoxError> {
        let threads = self.0.get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(THREADS)
                .max_blocking_threads(RESOLVERS)
                .thread_keep_alive(Duration::from_secs(5))
                .thread_name("zarr-object-store")
                .enable_all()
                .build()
                .map_err(|error| format!("threads for requests cannot be started: {error}"))
        });
        threads.as_ref().map(Threads::handle).map_err(|error| error.clone().into())
    }

    /// Runs `task` and waits for what comes of it.
    ///
    /// # Errors
    ///
    /// As [`Runtime::handle`], and when the task panicked.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BoxError> {
        let (send, receive) = sync_channel(1);
        self.handle()?.spawn(async move {
            // Who waits is there until there is an answer.
            let _sent = send.send(task.await);
        });
        receive.recv().map_err(|_| NO_ANSWER.into())
    }
}

/// What is said of a task that panicked.
pub(crate) const NO_ANSWER: &str = "the request ended without an answer";

/// Waits for nothing: nobody in a runtime may wait, and no task is left that anybody awaits.
impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(Ok(threads)) = self.0.take() {
            threads.shutdown_background();
        }
    }
}
