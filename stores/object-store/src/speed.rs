//! The speed of a server, measured with its responses.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Smaller bodies are not measured, because they arrive together with the headers.
const LEAST: usize = 64 << 10;

/// The largest number of bytes per round trip.
const MOST: u64 = 64 << 20;

const NANOSECONDS: u128 = 1_000_000_000;

/// The latency of a server and the rate at which the bytes of one response arrive.
#[derive(Debug, Default)]
pub(crate) struct Speed(Mutex<Measured>);

#[derive(Debug, Default)]
struct Measured {
    latency: Option<Duration>,
    bytes_per_second: Option<u64>,
}

impl Speed {
    /// Notes the time from a request to the headers of its response. A busy machine lengthens this time, so the
    /// estimated latency falls immediately and rises slowly.
    pub(crate) fn note_response(&self, taken: Duration) {
        let mut measured = self.measured();
        let before = measured.latency.unwrap_or(taken);
        measured.latency = Some(taken.min(before + taken.saturating_sub(before) / 16));
    }

    /// Notes the time from the headers of a response to its end.
    pub(crate) fn note_body(&self, size: usize, taken: Duration) {
        if size < LEAST {
            return;
        }
        let rate = size as u128 * NANOSECONDS / taken.as_nanos().max(1);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let mut measured = self.measured();
        let before = measured.bytes_per_second.unwrap_or(rate);
        measured.bytes_per_second = Some(before - before / 4 + rate / 4);
    }

    /// Returns the number of bytes of one response that arrive in the time of a round trip, once it is known.
    pub(crate) fn bytes_per_round_trip(&self) -> Option<u64> {
        let measured = self.measured();
        let rate = u128::from(measured.bytes_per_second?);
        let bytes = rate * measured.latency?.as_nanos() / NANOSECONDS;
        Some(u64::try_from(bytes).unwrap_or(u64::MAX).min(MOST))
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn the_product_of_latency_and_rate_is_measured() {
        let speed = Speed::default();
        speed.note_response(milliseconds(10));
        assert_eq!(speed.bytes_per_round_trip(), None);
        speed.note_body(LEAST - 1, milliseconds(1));
        assert_eq!(speed.bytes_per_round_trip(), None, "the body came with the headers");
        speed.note_body(1_000_000, milliseconds(20));
        assert_eq!(speed.bytes_per_round_trip(), Some(500_000));
        // The latency falls immediately, and one slow response changes little.
        speed.note_response(milliseconds(2));
        assert_eq!(speed.bytes_per_round_trip(), Some(100_000));
        speed.note_response(milliseconds(18));
        assert_eq!(speed.bytes_per_round_trip(), Some(150_000));
        speed.note_body(1_000_000, milliseconds(20));
        assert_eq!(speed.bytes_per_round_trip(), Some(150_000));
    }

    #[test]
    fn a_body_that_takes_no_time_is_bounded() {
        let speed = Speed::default();
        speed.note_body(1 << 30, Duration::ZERO);
        speed.note_response(Duration::from_secs(1000));
        assert_eq!(speed.bytes_per_round_trip(), Some(MOST));
    }
}
