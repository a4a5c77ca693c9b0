//! One value, or a part of it.
//!
//! One request as a rule. A part that begins behind the end of a value is empty, which most servers tell in the
//! answer that refuses it, and others have to be asked for. Not every server understands all ranges: Azure has none
//! that count from the end, so the size is asked for first, and simple servers have none at all, and are read from the
//! start. What a server does not understand is remembered.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectMeta};
use zarr_spec::store::{Response, StoreError, Version};
use zarr_spec::{BoxError, ByteRange, Key, LimitExceeded};

use crate::Inside;
use crate::body::{Failed, collected};
use crate::client::Seen;
use crate::failure::{failed, is_missing_key};
use crate::room::Room;

/// What is wanted of which value, and how many bytes there is room for.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) key: Key,
    pub(crate) range: ByteRange,
    pub(crate) limit: usize,
    /// Where the bytes that come are counted, if others come at the same time. Who takes them gives it back.
    pub(crate) room: Option<Arc<Room>>,
}

/// Ranges that a server understands, as far as is known.
pub(crate) const ALL: u8 = 0;
const NOT_FROM_THE_END: u8 = 1;
const NONE: u8 = 2;

/// How often a value that changes in between is asked for again.
const TRIES: usize = 3;

/// No answer that could be used.
struct Refused {
    error: Error,
    seen: Seen,
}

impl Inside {
    /// As [`zarr_spec::store::Store::get`].
    pub(crate) async fn fetch(&self, part: &Part) -> Result<Option<Response>, StoreError> {
        let path = self.place.of_key(&part.key)?;
        let known = self.ranges.load(Ordering::Relaxed);
        match part.range {
            ByteRange::Range { size: 0, .. } | ByteRange::Last(0) => {
                let state = self.state(part, &path).await?;
                Ok(state.map(|state| of(&state, Bytes::new())))
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

    /// Asks for the range, and for something else if the server has no such ranges.
    async fn ranged(
        &self,
        part: &Part,
        path: &Path,
        range: GetRange,
        if_match: Option<String>,
    ) -> Result<Option<Response>, StoreError> {
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
        // Nothing to answer with, or so another program than a server says.
        if answer.status == 416 || answer.status == 0 && matches!(error, Error::Generic { .. }) {
            let state = match answer.size {
                Some(size) => Some(Response::new(Bytes::new(), size, None)),
                None => self.state(part, path).await?.map(|state| of(&state, Bytes::new())),
            };
            if state.as_ref().is_none_or(|state| part.range.within(state.size).is_empty()) {
                return Ok(state);
            }
        }
        Err(self.failed(part, &error, &seen))
    }

    /// Asks for the size first.
    async fn by_size(&self, part: &Part, path: &Path) -> Result<Option<Response>, StoreError> {
        for attempt in 1.. {
            let Some(state) = self.state(part, path).await? else { return Ok(None) };
            let range = part.range.within(state.size);
            if range.is_empty() {
                return Ok(Some(of(&state, Bytes::new())));
            }
            // A weak one matches nothing.
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

    /// Asks for everything, and reads as far as what is wanted goes.
    async fn whole(&self, part: &Part, path: &Path) -> Result<Option<Response>, StoreError> {
        match self.ask(path, GetOptions::default()).await {
            Ok(got) => self.received(part, got).await.map(Some),
            Err(Refused { error, seen }) if self.is_missing(&error, &seen) => Ok(None),
            Err(Refused { error, seen }) => Err(self.failed(part, &error, &seen)),
        }
    }

    /// What is wanted, out of what comes.
    async fn received(&self, part: &Part, got: GetResult) -> Result<Response, StoreError> {
        let comes = got.range.clone();
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
        let skip = skipped(&comes, &wanted).map_err(|reason| wrong(reason.into()))?;
        let stream: BoxStream<'static, _> = got.into_stream();
        let taken = match &part.room {
            Some(room) => room.take(size).await,
            None => None,
        };
        let bytes = collected(stream, skip, size).await.map_err(|failed_body| match failed_body {
            Failed::Asking(error) => self.failed(part, &error, &Seen::default()),
            Failed::Here(source) => wrong(source),
        })?;
        // From here on it is given back by who takes the answer.
        if let Some(taken) = taken {
            taken.forget();
        }
        Ok(of(&state, bytes))
    }

    /// What is known of an object besides its bytes.
    async fn state(&self, part: &Part, path: &Path) -> Result<Option<ObjectMeta>, StoreError> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.ask(path, options).await {
            Ok(got) => Ok(Some(got.meta)),
            Err(Refused { error, seen }) if self.is_missing(&error, &seen) => {
                self.look_for_bucket(part, path).await?;
                Ok(None)
            }
            Err(Refused { error, seen }) => Err(self.failed(part, &error, &seen)),
        }
    }

    /// Finds out whether a bucket is missing, and not a key alone: an answer without bytes does not tell.
    async fn look_for_bucket(&self, part: &Part, path: &Path) -> Result<(), StoreError> {
        if self.is_there.load(Ordering::Relaxed) {
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

    async fn ask(&self, path: &Path, mut options: GetOptions) -> Result<GetResult, Refused> {
        let seen = Seen::default();
        options.extensions.insert(seen.clone());
        match self.store.get_opts(path, options).await {
            Ok(got) => {
                self.is_there.store(true, Ordering::Relaxed);
                Ok(got)
            }
            Err(error) => Err(Refused { error, seen }),
        }
    }

    /// Whether there is no such key. A server that does not know the method says nothing of that.
    fn is_missing(&self, error: &Error, seen: &Seen) -> bool {
        is_missing_key(error) && matches!(seen.answer().status, 0 | 404)
    }

    fn failed(&self, part: &Part, error: &Error, seen: &Seen) -> StoreError {
        failed("reading", self.place.url_of(part.key.as_str()), error, Some(seen))
    }
}

/// Bytes that come before those that are wanted.
fn skipped(comes: &Range<u64>, wanted: &Range<u64>) -> Result<u64, String> {
    let before = wanted.start.checked_sub(comes.start).filter(|_| wanted.end <= comes.end);
    before.ok_or_else(|| format!("bytes {wanted:?} were asked for, and bytes {comes:?} came"))
}

fn of(state: &ObjectMeta, bytes: Bytes) -> Response {
    Response::new(bytes, state.size, version(state))
}

/// The entity tag, else the time and the size. A time of 0 stands for none.
fn version(state: &ObjectMeta) -> Option<Version> {
    match (&state.e_tag, state.last_modified.timestamp_millis()) {
        (Some(tag), _) => Some(Version::new(tag)),
        (None, 0) => None,
        (None, time) => Some(Version::new(format!("{time} {}", state.size))),
    }
}
