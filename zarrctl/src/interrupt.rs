//! Handles SIGINT and SIGTERM: current writes are completed, temporary files are removed, and a message
//! describes the remaining files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use zarr_kit::spec::store::{Store, StoreResult};

use crate::failure::Failure;

mod store;

pub(crate) use store::Interruptible;

/// The time limit for completing writes after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// The state for the signal handler, which concerns the whole process.
static STATE: Mutex<State> = Mutex::new(State {
    is_stopping: false,
    writing: 0,
    has_written: false,
    temporary: Vec::new(),
    changed: Vec::new(),
    left: LEFT,
});

/// The messages until [`watch`] sets others.
const LEFT: Left = Left { unwritten: String::new(), written: String::new() };

/// Notified when a write ends.
static WRITTEN: Condvar = Condvar::new();

struct State {
    is_stopping: bool,
    writing: usize,
    has_written: bool,
    temporary: Vec<PathBuf>,
    /// The stores that commands may have written to and that are not committed since.
    changed: Vec<Arc<dyn Store>>,
    left: Left,
}

/// Commits all stores that were opened for writing. A store that collects changes would also commit when it is dropped,
/// but could not return a failure.
pub(crate) fn commit_all() -> Result<(), Failure> {
    let stores = std::mem::take(&mut state().changed);
    let committed: Vec<StoreResult<()>> = stores.iter().map(|store| store.commit()).collect();
    Ok(committed.into_iter().collect::<StoreResult<()>>()?)
}

/// Messages about what an interrupted command leaves.
#[derive(Debug)]
pub(crate) struct Left {
    /// The message if no write has begun.
    pub(crate) unwritten: String,
    /// The message if a write has begun.
    pub(crate) written: String,
}

impl Left {
    /// Describes a command that changes a store value by value.
    pub(crate) fn values(written: String) -> Self {
        Self { unwritten: "nothing was written".to_owned(), written }
    }

    /// Describes a command that writes one file, which appears when it is complete.
    pub(crate) fn file(file: &Path) -> Self {
        let file = file.display();
        Self { unwritten: format!("`{file}` was not written"), written: format!("`{file}` was written") }
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to handle signals. The message about an interrupt contains one of `left`.
///
/// If the thread that waits for signals cannot be started, signals end the program immediately.
pub(crate) fn watch(left: Left) -> Result<(), Failure> {
    {
        let mut state = state();
        state.left = left;
        state.has_written = false;
    }
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::iterator::Signals;

        let (send, receive) = std::sync::mpsc::sync_channel::<Signals>(1);
        let waiting = move || {
            if let Some(signal) = receive.recv().ok().and_then(|mut signals| signals.forever().next()) {
                end(signal);
            }
        };
        // The handlers are installed after the thread has started; without the thread, signals would be lost.
        if std::thread::Builder::new().spawn(waiting).is_ok() {
            let sent = send.send(Signals::new([SIGINT, SIGTERM])?);
            sent.map_err(|_| Failure::fault("the thread that waits for signals ended"))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn end(signal: i32) {
    let mut state = state();
    state.is_stopping = true;
    let waited = WRITTEN.wait_timeout_while(state, GRACE, |state| state.writing > 0);
    state = waited.unwrap_or_else(PoisonError::into_inner).0;
    for file in &state.temporary {
        // `clean` finds files that cannot be removed here.
        let _left = std::fs::remove_file(file);
    }
    for store in &state.changed {
        if let Err(error) = store.commit() {
            crate::printer::note(&format!("warning: {}", crate::failure::chain(&error)));
        }
    }
    let left = if state.has_written { &state.left.written } else { &state.left.unwritten };
    crate::printer::note(&format!("interrupted; {left}"));
    // The exit status that shells use for signals.
    std::process::exit(128 + signal);
}

/// A guard for a write in progress, which ends when the guard is dropped.
#[derive(Debug)]
pub(crate) struct Writing(());

/// Begins a write. After a signal this blocks until the program exits.
///
/// A thread must not hold two guards.
pub(crate) fn writing() -> Writing {
    let mut state = state();
    while state.is_stopping {
        state = WRITTEN.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.writing += 1;
    state.has_written = true;
    Writing(())
}

impl Drop for Writing {
    fn drop(&mut self) {
        state().writing -= 1;
        WRITTEN.notify_all();
    }
}

/// A file that is removed if a signal arrives while this guard exists.
#[derive(Debug)]
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(file: &Path) -> Self {
        state().temporary.push(file.to_owned());
        Self(file.to_owned())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        state().temporary.retain(|file| *file != self.0);
    }
}
