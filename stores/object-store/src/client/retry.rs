//! Retries: waiting times that servers request, and failed connections.
//!
//! `object_store` repeats requests that failed with `5xx`, `408` or `429` or were interrupted, with growing random
//! waits after the first. It does not read `Retry-After`, and it cannot distinguish a host that does not exist from a
//! host that restarts. This module does both.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use chrono::DateTime;
use object_store::client::HttpResponse;
use object_store::{BackoffConfig, RetryConfig};
use reqwest::header::{DATE, RETRY_AFTER};

/// The default time during which failed requests are repeated.
pub(crate) const WINDOW: Duration = Duration::from_secs(30);

/// The wait before the first repetition, without its random part.
const FIRST: Duration = Duration::from_millis(100);

/// The maximum number of connection attempts to a host that has never answered.
pub(crate) const CONNECTIONS: u32 = 4;

/// Returns the policy for `object_store`. The window ends the retries, long before their maximum number.
pub(crate) fn policy(window: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig { init_backoff: FIRST, max_backoff: Duration::from_secs(5), base: 2. },
        max_retries: 100,
        retry_timeout: window,
    }
}

/// Returns whether a request with this status is repeated.
pub(crate) fn is_repeated(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// Returns a random wait. It is added to the wait that the server requests, because the first wait of `object_store`
/// always has the same length.
pub(crate) fn random_wait() -> Duration {
    let random = RandomState::new().hash_one(0) >> 32;
    FIRST.mul_f64(random as f64 / f64::from(u32::MAX))
}

/// Returns the time that the server asks to wait before the request is repeated.
pub(crate) fn asked_wait(answer: &HttpResponse) -> Option<Duration> {
    if !is_repeated(answer.status().as_u16()) {
        return None;
    }
    let text = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => {
            let date = SystemTime::from(DateTime::parse_from_rfc2822(text).ok()?);
            // The clock of the server may differ from that of this machine.
            let now = date_of(answer).unwrap_or_else(SystemTime::now);
            Some(date.duration_since(now).unwrap_or_default())
        }
    }
}

/// Returns the time of the server's clock.
pub(crate) fn date_of(answer: &HttpResponse) -> Option<SystemTime> {
    let date = answer.headers().get(DATE)?.to_str().ok()?;
    DateTime::parse_from_rfc2822(date.trim()).ok().map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use object_store::client::HttpResponseBody;

    use super::*;

    fn answer(status: u16, wait: &str) -> HttpResponse {
        let mut answer = HttpResponse::new(HttpResponseBody::from(String::new()));
        *answer.status_mut() = status.try_into().unwrap();
        answer.headers_mut().insert(RETRY_AFTER, wait.parse().unwrap());
        answer
    }

    #[test]
    fn a_wait_is_in_seconds_or_until_a_date() {
        for status in [408, 429, 500, 503] {
            assert_eq!(asked_wait(&answer(status, "17")), Some(Duration::from_secs(17)), "{status}");
        }
        // The date of the example in RFC 9110, section 10.2.3.
        assert_eq!(asked_wait(&answer(503, "Fri, 31 Dec 1999 23:59:59 GMT")), Some(Duration::ZERO));
        let later = asked_wait(&answer(503, "Tue, 31 Dec 2199 23:59:59 GMT")).unwrap();
        assert!(later > WINDOW, "{later:?}");
    }

    #[test]
    fn a_date_is_relative_to_the_clock_of_the_server() {
        let mut answer = answer(503, "Fri, 31 Dec 1999 23:59:59 GMT");
        answer.headers_mut().insert(DATE, "Fri, 31 Dec 1999 23:59:52 GMT".parse().unwrap());
        assert_eq!(asked_wait(&answer), Some(Duration::from_secs(7)));
    }

    #[test]
    fn other_responses_do_not_request_a_wait() {
        assert_eq!(asked_wait(&answer(404, "17")), None);
        assert_eq!(asked_wait(&answer(200, "17")), None);
        assert_eq!(asked_wait(&answer(503, "soon")), None);
        assert_eq!(asked_wait(&answer(503, "-1")), None);
    }
}
