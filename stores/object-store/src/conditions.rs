//! Conditional writes.
//!
//! Some servers ignore conditions. The first conditional write to a bucket therefore checks, with temporary keys, that
//! the server refuses to replace a changed value, and to create a value that exists.
//!
//! A request whose answer is lost is repeated, and its repetition may find the value that the first attempt has
//! written. The store then reads the value: if it is the one to write, the write has succeeded. If another program has
//! replaced it meanwhile, the write counts as a conflict, so that a caller may make its change twice, but does not lose
//! it.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{join, join3};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{Error, GetOptions, PutMode, PutOptions, PutResult};
use tokio::sync::OnceCell;
use tokio::time::sleep;
use zarr_spec::Key;
use zarr_spec::store::{Condition, ConditionalWrite, StoreResult};

use crate::Shared;
use crate::client::{NOT_IMPLEMENTED, Seen};
use crate::failure::{failed, has_code, is_missing_bucket_error};

/// The beginning of the names of the temporary keys.
const TEMPORARY: &str = ".zarr-kit-check-";

/// The longest time between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Returns the cell that remembers whether the server applies conditions in a bucket. All stores of a bucket share it.
pub(crate) fn known(bucket: String) -> Arc<OnceCell<bool>> {
    static KNOWN: Mutex<BTreeMap<String, Arc<OnceCell<bool>>>> = Mutex::new(BTreeMap::new());
    Arc::clone(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).entry(bucket).or_default())
}

/// The result of a write with a condition.
enum Put {
    Done(PutResult),
    /// The condition does not hold. The number of attempts until this answer.
    Refused(u32),
    Failed(Error, Seen),
}

impl Shared {
    /// Implements [`zarr_spec::store::Store::set_if`].
    pub(crate) async fn set_if(
        &self,
        key: &Key,
        value: Bytes,
        condition: &Condition,
    ) -> StoreResult<ConditionalWrite> {
        let mut temporary = Vec::new();
        let check = async || -> StoreResult<bool> {
            let (applies, written) = self.refuses_unmet_conditions().await?;
            temporary = written;
            Ok(applies)
        };
        let applies = *self.applies_conditions.get_or_try_init(check).await?;
        let mode = self.versions.mode(condition).filter(|_| applies);
        let write = async { self.write_if(key, value, mode.ok_or_else(|| self.not_conditional())?).await };
        if temporary.is_empty() {
            return write.await;
        }
        // Removing the temporary keys takes a round trip, as the write does. Without the permission to delete, they stay.
        let remove = self.erase(stream::iter(temporary.into_iter().map(Ok)).boxed(), String::new);
        let (written, _removed) = join(write, remove).await;
        written
    }

    async fn write_if(&self, key: &Key, value: Bytes, mode: PutMode) -> StoreResult<ConditionalWrite> {
        let path = self.place.of_key(key)?;
        let begun = Instant::now();
        let mut attempts = 0;
        let mut pauses = 0;
        loop {
            match self.put_if(&path, value.clone(), mode.clone()).await {
                Put::Done(put) => return Ok(ConditionalWrite::Done(self.versions.of_put(&put))),
                Put::Refused(count) if attempts + count <= 1 => return Ok(ConditionalWrite::Conflict),
                Put::Refused(_) => return self.written_before(key, &path, &value).await,
                Put::Failed(error, _) if is_ambiguous(&error) && begun.elapsed() < self.window => {
                    attempts += 1;
                }
                Put::Failed(error, _) if is_busy(&error) && begun.elapsed() < self.window => {}
                Put::Failed(error, seen) => {
                    return Err(failed("writing", self.place.url_of(key.as_str()), &error, Some(&seen)));
                }
            }
            pauses += 1;
            sleep(pause(pauses)).await;
        }
    }

    async fn put_if(&self, path: &Path, value: Bytes, mode: PutMode) -> Put {
        let seen = Seen::default();
        let mut options = PutOptions { mode, ..PutOptions::default() };
        options.extensions.insert(seen.clone());
        match self.store.put_opts(path, value.into(), options).await {
            Ok(put) => Put::Done(put),
            Err(error) if is_refused(&error) && !is_busy(&error) => Put::Refused(seen.answer().attempts),
            Err(error) => Put::Failed(error, seen),
        }
    }

    /// Returns the outcome of a write that was repeated and then refused: it has succeeded if the value is there.
    async fn written_before(&self, key: &Key, path: &Path, value: &Bytes) -> StoreResult<ConditionalWrite> {
        let wrong = |error: Error| failed("reading", self.place.url_of(key.as_str()), &error, None);
        let got = match self.store.get_opts(path, GetOptions::default()).await {
            Ok(got) => got,
            Err(Error::NotFound { .. }) => return Ok(ConditionalWrite::Conflict),
            Err(error) => return Err(wrong(error)),
        };
        if got.meta.size != value.len() as u64 {
            return Ok(ConditionalWrite::Conflict);
        }
        let version = self.versions.of(&got.meta);
        // The value may not fit in memory twice.
        let mut rest = &value[..];
        let mut found = got.into_stream();
        while let Some(piece) = found.try_next().await.map_err(wrong)? {
            let Some(following) = rest.strip_prefix(&piece[..]) else {
                return Ok(ConditionalWrite::Conflict);
            };
            rest = following;
        }
        Ok(if rest.is_empty() { ConditionalWrite::Done(version) } else { ConditionalWrite::Conflict })
    }

    /// Checks with temporary keys that the server refuses writes whose conditions do not hold. Also returns these keys,
    /// which the caller removes.
    async fn refuses_unmet_conditions(&self) -> StoreResult<(bool, Vec<Path>)> {
        let names = ["a", "b"].map(temporary_name);
        let [missing, created] = [&names[0], &names[1]].map(|name| Key::new(name.as_str()));
        let missing = self.place.of_key(&missing?)?;
        let created = self.place.of_key(&created?)?;
        let put = |path, mode| self.put_if(path, Bytes::from_static(b"checks conditions"), mode);
        // The writes run at the same time, because each takes a round trip. One of the two writes that create a key is
        // refused.
        let (update, first, second) = join3(
            put(&missing, PutMode::Update(self.versions.unmet())),
            put(&created, PutMode::Create),
            put(&created, PutMode::Create),
        )
        .await;
        let refuses_updates = self.is_refusal(update, &names[0])?;
        let refuses_first = self.is_refusal(first, &names[1])?;
        let refuses_second = self.is_refusal(second, &names[1])?;
        Ok((refuses_updates && (refuses_first || refuses_second), vec![missing, created]))
    }

    /// Returns true if the server refused a write because of its condition, and false if the write succeeded or the
    /// server does not know conditions.
    fn is_refusal(&self, put: Put, name: &str) -> StoreResult<bool> {
        match put {
            Put::Done(_) => Ok(false),
            Put::Refused(_) => Ok(true),
            Put::Failed(Error::NotImplemented { .. } | Error::NotSupported { .. }, _) => Ok(false),
            Put::Failed(_, seen) if seen.answer().status == NOT_IMPLEMENTED => Ok(false),
            Put::Failed(error, seen) => {
                Err(failed("checking conditions with", self.place.url_of(name), &error, Some(&seen)))
            }
        }
    }
}

/// Returns a new name of a temporary key.
pub(crate) fn temporary_name(end: &str) -> String {
    let number = RandomState::new().hash_one(Instant::now());
    format!("{TEMPORARY}{number:016x}-{end}")
}

/// Returns whether the condition of a write did not hold.
fn is_refused(error: &Error) -> bool {
    matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. })
        && !is_missing_bucket_error(error)
}

/// Returns whether S3 did not compare the condition, because another request was changing the object.
pub(crate) fn is_busy(error: &Error) -> bool {
    has_code(error, "ConditionalRequestConflict")
}

/// Returns whether the server may have applied a request that failed. `object_store` does not repeat such requests.
fn is_ambiguous(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(http) = one.downcast_ref::<HttpError>() {
            return matches!(http.kind(), HttpErrorKind::Timeout | HttpErrorKind::Interrupted);
        }
        cause = one.source();
    }
    false
}

/// Returns the pause after a number of attempts: longer after each, with a random part.
pub(crate) fn pause(attempts: u32) -> Duration {
    let longest = Duration::from_millis(50 << attempts.min(8)).min(LONGEST_PAUSE);
    let random = RandomState::new().hash_one(attempts) >> 32;
    longest.mul_f64(random as f64 / f64::from(u32::MAX))
}
