//! A second request for an answer that takes unusually long.
//!
//! Services answer about one request in a hundred ten times as slowly as the others, and a read of many chunks waits for
//! the slowest. A second request usually gets its answer at once. Only requests that change nothing are sent twice, and so
//! few of them that a slow service does not receive noticeably more.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of answers after which the usual time is known.
const LEAST: u32 = 16;

/// The additional requests per request.
const SHARE: f64 = 0.02;

/// The maximum number of additional requests that were saved up.
const SAVED: f64 = 4.0;

/// The shortest time to wait for an answer before a second request.
const PATIENCE: Duration = Duration::from_millis(20);

/// The shortest time between two looks of a waiting request. It may be late, but not be allowed to be sent again.
const SHORTEST_LOOK: Duration = Duration::from_millis(5);

/// The times of recent answers of a store, and the number of additional requests that may be sent.
#[derive(Debug)]
pub(super) struct Hedge(Mutex<State>);

#[derive(Debug)]
struct State {
    count: u32,
    /// The mean time until the head of an answer, in seconds, and the mean deviation from it.
    mean: f64,
    deviation: f64,
    allowed: f64,
}

impl Default for Hedge {
    fn default() -> Self {
        Self(Mutex::new(State { count: 0, mean: 0.0, deviation: 0.0, allowed: 1.0 }))
    }
}

impl Hedge {
    /// Returns the time until a waiting request should look again whether its answer is late. The usual time may become known
    /// while it waits.
    pub(super) fn next_look(&self, waited: Duration) -> Duration {
        let patience = self.state().patience();
        patience.map_or(PATIENCE, |patience| patience.saturating_sub(waited)).max(SHORTEST_LOOK)
    }

    /// Returns whether the answer of a request that has waited for `waited` is late and the request may be sent again, and
    /// counts it.
    pub(super) fn takes_one_after(&self, waited: Duration) -> bool {
        let mut state = self.state();
        let is_late = state.patience().is_some_and(|patience| waited >= patience);
        let takes = is_late && state.allowed >= 1.0;
        if takes {
            state.allowed -= 1.0;
        }
        takes
    }

    /// Notes the time of an answer.
    pub(super) fn note(&self, time: Duration) {
        let time = time.as_secs_f64();
        let mut state = self.state();
        match state.count {
            0 => (state.mean, state.deviation) = (time, time / 2.0),
            _ => {
                state.deviation += ((time - state.mean).abs() - state.deviation) / 4.0;
                state.mean += (time - state.mean) / 8.0;
            }
        }
        state.count = state.count.saturating_add(1);
        state.allowed = (state.allowed + SHARE).min(SAVED);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the time after which an answer is unusually late; `None` while the usual time is unknown.
    ///
    /// This is the estimate that TCP uses for lost packets.
    fn patience(&self) -> Option<Duration> {
        let late = self.mean + 4.0 * self.deviation;
        (self.count >= LEAST).then(|| Duration::from_secs_f64(late).max(PATIENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_millis(30);

    #[test]
    fn an_answer_is_late_if_others_were_much_faster() {
        let hedge = Hedge::default();
        for _ in 1..LEAST {
            hedge.note(USUAL);
            assert!(!hedge.takes_one_after(USUAL * 100));
        }
        assert_eq!(hedge.next_look(USUAL), PATIENCE);
        hedge.note(USUAL);
        let next = hedge.next_look(Duration::ZERO);
        assert!((30..40).contains(&next.as_millis()), "{next:?}");
        assert!(!hedge.takes_one_after(USUAL));
        // Where times vary, an answer is late only after a long time.
        for number in 0..40 {
            hedge.note(if number % 2 == 0 { USUAL } else { USUAL * 5 });
        }
        assert!(!hedge.takes_one_after(USUAL * 6) && hedge.takes_one_after(USUAL * 100));
    }

    #[test]
    fn one_request_in_fifty_is_sent_again() {
        let hedge = Hedge::default();
        let late = USUAL * 100;
        let taken = (0..1000).filter(|_| {
            hedge.note(USUAL);
            hedge.takes_one_after(late)
        });
        assert!((20..=21).contains(&taken.count()));
        (0..1000).for_each(|_| hedge.note(USUAL));
        assert_eq!((0..10).filter(|_| hedge.takes_one_after(late)).count(), 4);
        assert_eq!(hedge.next_look(late), SHORTEST_LOOK);
    }
}
