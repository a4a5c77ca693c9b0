//! Delays, and a limited bandwidth that all connections share.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::options::Options;

/// One of every `SLOW` answers is slow.
const SLOW: u64 = 100;
/// The factor of the delay of a slow answer.
const FACTOR: u32 = 10;

/// When answers begin, and how fast bytes move.
#[derive(Debug)]
pub(crate) struct Pace {
    delay: Duration,
    is_sometimes_slow: bool,
    link: Option<Link>,
}

/// A connection to the network that moves one piece after another.
#[derive(Debug)]
struct Link {
    bytes_per_second: u64,
    /// The time at which the link will have moved everything that was passed to it.
    free: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn new(options: &Options) -> Self {
        let link = options
            .bytes_per_second
            .map(|speed| Link { bytes_per_second: speed.max(1), free: Mutex::new(Instant::now()) });
        Self { delay: options.delay, is_sometimes_slow: options.is_sometimes_slow, link }
    }

    /// Returns how long answer `number` waits.
    pub(crate) fn delay(&self, number: u64) -> Duration {
        let is_slow = self.is_sometimes_slow && number % SLOW == SLOW - 1;
        self.delay * if is_slow { FACTOR } else { 1 }
    }

    /// Returns whether bytes are sent in small pieces.
    pub(crate) fn is_limited(&self) -> bool {
        self.link.is_some()
    }

    /// Waits until the link has moved `bytes`.
    pub(crate) fn transfer(&self, bytes: u64) {
        let Some(link) = &self.link else { return };
        let time = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / link.bytes_per_second);
        let mut free = link.free.lock().unwrap_or_else(PoisonError::into_inner);
        let end = (*free).max(Instant::now()) + time;
        *free = end;
        drop(free);
        thread::sleep(end.saturating_duration_since(Instant::now()));
    }
}
