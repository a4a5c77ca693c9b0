//! Calls of the engine, without the global interpreter lock.
//!
//! A panic of the engine is a bug. It becomes an `InternalError`: for a panic, PyO3 itself would raise an exception
//! that `except Exception` does not catch. Only this module releases the lock.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use zarr_kit::Progress;

use crate::failure::{exception, raise};

/// The interval between two checks for signals, and between two reports of progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The stack of the threads of long calls, in bytes: the usual size for a main thread.
const STACK: usize = 8 << 20;

/// Runs `work` without the global interpreter lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    // Locks protect the state that other calls see. They can be taken again after a panic.
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| internal_error(&*panic))
}

/// Runs `work` on another thread. Meanwhile, this thread handles signals and calls `report` with the number of chunks
/// that are done and planned.
///
/// An exception of a signal handler or of `report` cancels `progress`, and is raised when `work` has ended.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    report: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let watch = || Python::attach(|py| py.check_signals().and_then(|()| call(py, report, progress)));
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (ended, wait) = sync_channel::<()>(0);
            let work = move || {
                let result = work();
                drop(ended);
                result
            };
            let thread = builder().spawn_scoped(scope, work).map_err(|error| no_thread(&error))?;
            let mut watched = Ok(());
            while wait.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if watched.is_ok() {
                    watched = watch().inspect_err(|_| progress.cancel());
                }
            }
            let result = thread.join().map_err(|panic| internal_error(&*panic));
            watched.and(result)
        })
    })?;
    call(py, report, progress)?;
    Ok(result)
}

/// Runs `work`, which changes nothing, on another thread. Meanwhile, this thread handles signals.
///
/// An exception of a signal handler is raised immediately. The other thread ends after the requests that it has sent,
/// and its result is dropped.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    cancellable(py, &Progress::new(), None, work)
}

/// Runs `work`, which changes nothing and counts in `progress`, on another thread. Meanwhile, this thread handles
/// signals and calls `report`, as [`watched`] does.
///
/// An exception of a signal handler or of `report` cancels `progress`. When it is cancelled, here or by another thread,
/// the call ends immediately, as [`abandonable`] does.
pub(crate) fn cancellable<T: Send + 'static>(
    py: Python<'_>,
    progress: &Progress,
    report: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (ended, wait) = sync_channel(1);
    let work = move || {
        // After a cancellation, the result is not received.
        let _unless_abandoned = ended.send(catch_unwind(AssertUnwindSafe(work)));
    };
    let watch = || Python::attach(|py| py.check_signals().and_then(|()| call(py, report, progress)));
    let result = py.detach(move || {
        builder().spawn(work).map_err(|error| no_thread(&error))?;
        loop {
            match wait.recv_timeout(INTERVAL) {
                Ok(result) => return result.map_err(|panic| internal_error(&*panic)),
                Err(RecvTimeoutError::Timeout) => watch().inspect_err(|_| progress.cancel())?,
                Err(RecvTimeoutError::Disconnected) => return Err(internal_error(&"a thread ended early")),
            }
            progress.check().map_err(|cancelled| exception(&cancelled))?;
        }
    })?;
    call(py, report, progress)?;
    Ok(result)
}

/// Returns whether this thread handles the signals of the process.
pub(crate) fn handles_signals(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}

fn builder() -> thread::Builder {
    thread::Builder::new().name("zarr-kit-call".to_owned()).stack_size(STACK)
}

fn no_thread(error: &io::Error) -> PyErr {
    raise("OutOfMemoryError", &format!("starting a thread: {error}"))
}

fn call(py: Python<'_>, report: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<()> {
    let Some(report) = report else { return Ok(()) };
    report.call1(py, (progress.done(), progress.planned())).map(drop)
}

fn internal_error(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message");
    raise("InternalError", &format!("{text}; this is a bug in zarr_kit: please report it"))
}
