//! Time limits for servers: silence, and minimum throughput.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{HttpError, HttpErrorKind, HttpResponseBody};
use tokio::time::{Instant, Sleep, sleep};

use super::other;

/// The time that a store waits for servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    /// The longest time without a byte.
    pub(crate) silence: Duration,
    /// The time that a request may take in addition to the time for its bytes at the minimum throughput.
    pub(crate) grace: Duration,
    /// The minimum throughput of one request, in bytes per second. 64 requests share the network, so 2 Mbit/s
    /// suffice for all of them.
    pub(crate) throughput: u32,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self { silence: Duration::from_secs(20), grace: Duration::from_secs(30), throughput: 4 << 10 }
    }
}

impl TimeLimits {
    /// Returns the time for `size` bytes at the minimum throughput.
    pub(crate) fn time_of(&self, size: u64) -> Duration {
        Duration::from_secs(size / u64::from(self.throughput.max(1)))
    }

    /// Returns the error for a server that sends nothing.
    pub(crate) fn silent(&self) -> HttpError {
        let seconds = self.silence.as_secs_f32();
        other(HttpErrorKind::Timeout, format!("the server sent nothing for {seconds} seconds"))
    }

    fn slow(&self, received: u64, waited: Duration) -> HttpError {
        let seconds = waited.as_secs_f32();
        let expected = self.throughput;
        let reason = format!(
            "the server is too slow: {received} bytes in {seconds:.1} seconds; at least {expected} bytes a second are \
             expected"
        );
        other(HttpErrorKind::Timeout, reason)
    }
}

/// A body that fails when the server sends nothing for too long, or sends too slowly.
///
/// Only the time that the caller waits counts: a slow caller does not make a server slow.
#[derive(Debug)]
pub(crate) struct TimedBody {
    body: HttpResponseBody,
    limits: TimeLimits,
    received: u64,
    waited: Duration,
    waits_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    most: Most,
}

/// The maximum size of a body. A body whose receiver checks the size itself has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Most {
    /// No limit.
    Any,
    /// More bytes are ignored: messages of errors.
    Ignored(u64),
    /// More bytes are an error: listings and the like.
    Refused(u64),
}

impl TimedBody {
    pub(crate) fn new(body: HttpResponseBody, limits: TimeLimits, most: Most) -> Self {
        let timer = Box::pin(sleep(limits.silence));
        Self { body, limits, received: 0, waited: Duration::ZERO, waits_since: None, timer, most }
    }

    /// Returns the time until the body counts as too slow.
    fn left(&self) -> Duration {
        let allowed = self.limits.grace.saturating_add(self.limits.time_of(self.received));
        allowed.saturating_sub(self.waited)
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match self.most {
            Most::Ignored(most) if self.received > most => return Poll::Ready(None),
            Most::Refused(most) if self.received > most => {
                let reason = format!("the response has more than {most} bytes");
                return Poll::Ready(Some(Err(other(HttpErrorKind::Unknown, reason))));
            }
            _ => {}
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            if let Some(since) = self.waits_since.take() {
                self.waited += since.elapsed();
            }
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref);
            self.received += data.map_or(0, |data| data.len() as u64);
            return Poll::Ready(frame);
        }
        let left = self.left();
        if self.waits_since.is_none() {
            let now = Instant::now();
            let end = now + left.min(self.limits.silence);
            self.waits_since = Some(now);
            self.timer.as_mut().reset(end);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Some(Err(match left <= self.limits.silence {
            true => self.limits.slow(self.received, self.waited + left),
            false => self.limits.silent(),
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    /// The declared size of a body with a limit is not trusted: its receiver would reserve memory for it.
    fn size_hint(&self) -> SizeHint {
        match self.most {
            Most::Any => self.body.size_hint(),
            Most::Ignored(_) | Most::Refused(_) => SizeHint::default(),
        }
    }
}
