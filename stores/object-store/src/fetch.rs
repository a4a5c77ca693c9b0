//! Fetching one value, or a part of it.
//!
//! A fetch is usually one request. A part that starts after the end of a value is empty. Most servers report the size
//! of the value when they refuse such a range; for others, a second request asks for the size. Some servers do not
//! support all ranges. Azure does not support ranges that count from the end, so the size is requested first. Simple
//! servers do not support ranges at all, so the value is read from the start. The store remembers which ranges a server
//! does not support.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{Attribute, Error, GetOptions, GetRange, GetResult, ObjectMeta};
use zarr_spec::store::{Response, StoreError, StoreResult};
use zarr_spec::{BoxError, ByteRange, Key, LimitExceeded};

use crate::Shared;
use crate::body::{Failed, collected};
use crate::budget::Budget;
use crate::client::Seen;
use crate::failure::{failed, is_missing_key};

/// A requested range of a value, with its limit.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) key: Key,
    pub(crate) range: ByteRange,
    pub(crate) limit: usize,
    /// The budget for the received bytes, shared with concurrent requests. The consumer of the result releases the
    /// bytes.
    pub(crate) budget: Option<Arc<Budget>>,
}

/// The ranges that a server supports, as far as known.
pub(crate) const ALL: u8 = 0;
const NOT_FROM_THE_END: u8 = 1;
const NONE: u8 = 2;

/// How often to retry when a value changes between two requests.
const TRIES: usize = 3;

/// A response whose body is not read yet.
struct Answered {
    got: GetResult,
    seen: Seen,
}

/// A failed request, with details of its response.
struct Refused {
    error: Error,
    seen: Seen,
}

impl Shared {
    /// Implements [`zarr_spec::store::Store::get`].
    pub(crate) async fn fetch(&self, part: &Part) -> StoreResult<Option<Response>> {
        let path = self.place.of_key(&part.key)?;
        let known = self.ranges.load(Ordering::Relaxed);
        match part.range {
            ByteRange::Range { size: 0, .. } | ByteRange::Last(0) => {
                let state = self.state(part, &path).await?;
                Ok(state.map(|state| self.response(&state, Bytes::new())))
            }
            ByteRange::Full | ByteRange::From(0) => self.whole(part, &path).await,
            _ if known == NONE => self.whole(part, &path).await,
            ByteRange::Last(_) if known == NOT_FROM_THE_END => self.by_size(part, &path).await,
            ByteRange::Last(size) => self.ranged(part, &path, GetRange::Suffix(size), None).await,
            ByteRange::From(offset) => self.ranged(part, &path, GetRange::Offset(offset), None).await,
            ByteRange::Range { offset, size } => {
                let end = offset.checked_add(size);
                let range = end.map_or(GetRange::Offset(offset), |end| GetRange::Bounded(offset..end));
                self.ranged(part, &path, range, None).await
            }
        }
    }

    /// Requests the range. Falls back to other requests if the server does not support the range.
    async fn ranged(
        &self,
        part: &Part,
        path: &Path,
        range: GetRange,
        if_match: Option<String>,
    ) -> StoreResult<Option<Response>> {
        let is_from_the_end = matches!(range, GetRange::Suffix(_));
        let options = GetOptions { range: Some(range), if_match, ..GetOptions::default() };
        let Refused { error, seen } = match self.ask(path, options).await {
            Ok(got) => return self.received(part, got).await.map(Some),
            Err(refused) => refused,
        };
        let answer = seen.answer();
        if self.is_missing(&error, &seen) {
            return Ok(None);
        }
        if matches!(error, Error::NotSupported { .. }) || answer.status == 200 {
            let understood = if is_from_the_end { NOT_FROM_THE_END } else { NONE };
            self.ranges.fetch_max(understood, Ordering::Relaxed);
            return match is_from_the_end {
                true => Box::pin(self.by_size(part, path)).await,
                false => self.whole(part, path).await,
            };
        }
        // The server, or an `ObjectStore` without HTTP, cannot satisfy the range. Some servers answer with an empty
        // range.
        if answer.status == 416 || matches!((answer.status, &error), (0 | 206, Error::Generic { .. })) {
            let state = match answer.size {
                Some(size) => Some(Response::new(Bytes::new(), size, None)),
                None => self.state(part, path).await?.map(|state| self.response(&state, Bytes::new())),
            };
            if state.as_ref().is_none_or(|state| part.range.within(state.size).is_empty()) {
                return Ok(state);
            }
        }
        Err(self.failed(part, &error, &seen))
    }

    /// Requests the size first, then the range.
    async fn by_size(&self, part: &Part, path: &Path) -> StoreResult<Option<Response>> {
        for attempt in 1.. {
            let Some(state) = self.state(part, path).await? else { return Ok(None) };
            let range = part.range.within(state.size);
            if range.is_empty() {
                return Ok(Some(self.response(&state, Bytes::new())));
            }
            // Weak entity tags never match.
            let tag = state.e_tag.filter(|tag| !tag.starts_with("W/"));
            let options =
                GetOptions { range: Some(GetRange::Bounded(range)), if_match: tag, ..GetOptions::default() };
            match self.ask(path, options).await {
                Ok(got) => return self.received(part, got).await.map(Some),
                Err(Refused { error: Error::Precondition { .. }, .. }) if attempt < TRIES => {}
                Err(Refused { error, seen }) if self.is_missing(&error, &seen) => return Ok(None),
                Err(Refused { seen, .. }) if seen.answer().status == 200 => break,
                Err(Refused { error, seen }) => return Err(self.failed(part, &error, &seen)),
            }
        }
        self.ranges.fetch_max(NONE, Ordering::Relaxed);
        self.whole(part, path).await
    }

    /// Requests the whole value and reads only to the end of the part.
    async fn whole(&self, part: &Part, path: &Path) -> StoreResult<Option<Response>> {
        match self.ask(path, GetOptions::default()).await {
            Ok(got) => self.received(part, got).await.map(Some),
            Err(Refused { error, seen }) if self.is_missing(&error, &seen) => Ok(None),
            Err(Refused { error, seen }) => Err(self.failed(part, &error, &seen)),
        }
    }

    /// Extracts the requested part from a response.
    async fn received(&self, part: &Part, answered: Answered) -> StoreResult<Response> {
        let Answered { got, seen } = answered;
        let received = got.range.clone();
        let state = got.meta.clone();
        let wanted = part.range.within(state.size);
        let too_large = || StoreError::TooLarge {
            key: part.key.to_string(),
            source: LimitExceeded { limit: part.limit },
        };
        let size = usize::try_from(wanted.end - wanted.start).map_err(|_| too_large())?;
        if size > part.limit {
            return Err(too_large());
        }
        let wrong =
            |source: BoxError| StoreError::io("reading", self.place.url_of(part.key.as_str()), source);
        if let Some(encoding) = self.encoding(&got) {
            let reason = format!(
                "the server sent the value in the content encoding `{encoding}`, although it was not requested; \
                 expected the bytes of the value"
            );
            return Err(wrong(reason.into()));
        }
        let skip = skipped(&received, &wanted).map_err(|reason| wrong(reason.into()))?;
        let stream: BoxStream<'static, _> = got.into_stream();
        let taken = match &part.budget {
            Some(budget) => budget.take(size).await,
            None => None,
        };
        let begun = Instant::now();
        let bytes = collected(stream, skip, size).await.map_err(|failed_body| match failed_body {
            Failed::Request(error) => self.failed(part, &error, &seen),
            Failed::Local(source) => wrong(source),
        })?;
        self.speed.note_body(bytes.len(), begun.elapsed());
        // From here on, the consumer of the result releases the budget.
        if let Some(taken) = taken {
            taken.forget();
        }
        Ok(self.response(&state, bytes))
    }

    /// Returns the content encoding of a response of an HTTP server. Buckets store the encoding as a label of the object,
    /// whose bytes are the value.
    fn encoding(&self, got: &GetResult) -> Option<String> {
        let is_server = self.place.location().starts_with("http");
        let encoding = got.attributes.get(&Attribute::ContentEncoding).filter(|_| is_server)?;
        (!encoding.eq_ignore_ascii_case("identity")).then(|| encoding.to_string())
    }

    /// Requests the metadata of an object.
    async fn state(&self, part: &Part, path: &Path) -> StoreResult<Option<ObjectMeta>> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.ask(path, options).await {
            Ok(answered) => Ok(Some(answered.got.meta)),
            Err(Refused { error, seen }) if self.is_missing(&error, &seen) => {
                self.look_for_bucket(part, path).await?;
                Ok(None)
            }
            Err(Refused { error, seen }) => Err(self.failed(part, &error, &seen)),
        }
    }

    /// Checks whether the bucket is missing rather than the key, since a response without a body does not show
    /// that.
    async fn look_for_bucket(&self, part: &Part, path: &Path) -> StoreResult<()> {
        if self.exists.load(Ordering::Relaxed) {
            return Ok(());
        }
        let options = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        match self.ask(path, options).await {
            Err(Refused { error, seen }) if !self.is_missing(&error, &seen) => {
                Err(self.failed(part, &error, &seen))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn ask(&self, path: &Path, mut options: GetOptions) -> Result<Answered, Refused> {
        let seen = Seen::default();
        options.extensions.insert(seen.clone());
        let begun = Instant::now();
        match self.store.get_opts(path, options).await {
            Ok(got) => {
                if seen.answer().attempts <= 1 {
                    self.speed.note_response(begun.elapsed());
                }
                self.exists.store(true, Ordering::Relaxed);
                Ok(Answered { got, seen })
            }
            Err(error) => Err(Refused { error, seen }),
        }
    }

    /// Returns whether the key does not exist. Ignores the answer of a server that does not know the method.
    fn is_missing(&self, error: &Error, seen: &Seen) -> bool {
        is_missing_key(error) && matches!(seen.answer().status, 0 | 404)
    }

    fn response(&self, state: &ObjectMeta, bytes: Bytes) -> Response {
        Response::new(bytes, state.size, self.versions.of(state))
    }

    fn failed(&self, part: &Part, error: &Error, seen: &Seen) -> StoreError {
        failed("reading", self.place.url_of(part.key.as_str()), error, Some(seen))
    }
}

/// Returns the number of received bytes that precede the requested ones.
fn skipped(received: &Range<u64>, wanted: &Range<u64>) -> Result<u64, String> {
    let before = wanted.start.checked_sub(received.start).filter(|_| wanted.end <= received.end);
    before.ok_or_else(|| format!("requested bytes {wanted:?}, but received bytes {received:?}"))
}
