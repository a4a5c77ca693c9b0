//! An orderly end on SIGINT and SIGTERM: no value is cut short, temporary files are removed, and a message tells what is
//! left.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod store;

pub(crate) use store::Interruptible;

/// How long an interrupted program finishes the values that it is writing.
const GRACE: Duration = Duration::from_secs(5);

/// What the handler has to know. A signal concerns the program as a whole, and so does this.
static STATE: Mutex<State> =
    Mutex::new(State { is_stopping: false, writing: 0, temporary: Vec::new(), left: String::new() });

/// Is notified when a value is written.
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

/// Lets signals end the program in an orderly way from now on. `left` is the message about what remains then.
///
/// Without a thread to wait for signals, they end the program immediately.
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
        // The handlers are installed after the thread has started: without it, they would hide the signals.
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
        // A file that cannot be removed is found by `clean`.
        let _left = std::fs::remove_file(file);
    }
    crate::printer::note(&format!("interrupted; {}", state.left));
    // The status that shells give a program that a signal ended.
    std::process::exit(128 + signal);
}

/// A value is being written until this is dropped.
#[derive(Debug)]
pub(crate) struct Writing(());

/// Begins to write a value. After a signal this never returns: the program ends.
///
/// A thread that has one must not ask for another one.
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

/// A file that is removed after a signal, until this is dropped.
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
