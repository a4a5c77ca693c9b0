//! Round trips: answers wait until no further request arrives, so that consecutive requests can be counted.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The number of waiting requests that are answered without a pause: the object stores of this framework have at most this
/// number in flight.
pub const IN_FLIGHT: usize = 128;

/// Groups of requests that wait at the same time.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// How long a group waits for a further request; `None` if requests do not wait.
    pause: Option<Duration>,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of groups that were answered.
    answered: u64,
    /// The number of groups that were answered before the last report.
    reported: u64,
    waiting: usize,
}

impl Rounds {
    pub(crate) fn new(pause: Option<Duration>) -> Self {
        Self { pause, state: Mutex::default(), has_changed: Condvar::new() }
    }

    /// Waits until the group of a request is answered: when no request arrives for the time of the pause, or when
    /// [`IN_FLIGHT`] requests wait.
    pub(crate) fn wait(&self) {
        let Some(pause) = self.pause else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let group = state.answered;
        state.waiting += 1;
        self.has_changed.notify_all();
        while state.answered == group {
            let waiting = state.waiting;
            let is_unchanged = |state: &mut State| state.answered == group && state.waiting == waiting;
            let mut is_complete = waiting >= IN_FLIGHT;
            if !is_complete {
                let waited = self.has_changed.wait_timeout_while(state, pause, is_unchanged);
                let (later, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = later;
                is_complete = timeout.timed_out();
            }
            if is_complete && state.answered == group {
                state.answered += 1;
                state.waiting = 0;
                self.has_changed.notify_all();
            }
        }
    }

    /// Returns the number of groups since the last call.
    pub(crate) fn take(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = state.answered - state.reported;
        state.reported = state.answered;
        count
    }
}
