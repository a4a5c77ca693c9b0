//! Handles SIGINT and SIGTERM: current writes are completed, temporary files are removed, and a message
//! describes the remaining files.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod store;

pub(crate) use store::Interruptible;

/// The time limit for completing writes after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// The state for the signal handler, which concerns the whole process.
static STATE: Mutex<State> =
    Mutex::new(State { is_stopping: false, writing: 0, temporary: Vec::new(), left: String::new() });

/// Notified when a write ends.
static WRITTEN: Condvar = Condvar::new();

struct State {
    is_stopping: bool,
    /// Threads that are writing values.
    writing: usize,
    temporary: Vec<PathBuf>,
    left: String,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to handle signals. `left` is the message about remaining files.
///
/// If the thread that waits for signals cannot be started, signals end the program immediately.
pub(crate) fn watch(left: String) -> Result<(), crate::failure::Failure> {
    state().left = left;
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
            sent.map_err(|_| crate::failure::Failure::fault("the thread that waits for signals ended"))?;
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
    crate::printer::note(&format!("interrupted; {}", state.left));
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
    Writing(())
}

impl Drop for Writing {
    fn drop(&mut self) {
        state().writing -= 1;
        WRITTEN.notify_all();
    }
}

/// A file that a signal removes, until this guard is dropped.
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
