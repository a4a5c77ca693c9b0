//! Conditional deletions, which S3 has and `object_store` does not offer.
//!
//! S3 compares the header `If-Match` of a deletion with the ETag of the object, in one step with the deletion. The
//! store sends such requests itself. `object_store` signs their URLs together with this header, so credentials, regions
//! and endpoints are those of all other requests.
//!
//! The first conditional deletion in a bucket checks, with a temporary key, that the server refuses an ETag that does
//! not match. Otherwise, or without the permission to delete, the bucket does not have conditional deletions.
//!
//! A deletion whose answer is lost is repeated. If the object is missing then, it counts as deleted.
//!
//! Source: "How to perform conditional deletes" in the user guide of Amazon S3.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{Error, ObjectStoreExt, PutMode, UpdateVersion};
use reqwest::Method;
use reqwest::header::{HeaderValue, IF_MATCH};
use tokio::sync::OnceCell;
use tokio::time::sleep;
use zarr_spec::store::{Condition, ConditionalWrite, StoreError, StoreResult, Version};
use zarr_spec::{BoxError, Key};

use crate::Shared;
use crate::client::{Seen, is_repeated};
use crate::conditions::{pause, temporary_name};
use crate::failure::{failed, is_missing_bucket_error, is_missing_key};
use crate::versions::UNMET_TAG;

/// The time for which a URL is valid. The clock of this machine may be late by almost as much.
const VALID: Duration = Duration::from_secs(3600);

/// The statuses of a server that does not know conditional deletions, or does not permit deletions.
const UNSUPPORTED: [u16; 4] = [400, 403, 405, 501];

/// Sends conditional deletions to one bucket.
#[derive(Debug)]
pub(crate) struct Deletions {
    pub(crate) signer: Arc<dyn Signer>,
    pub(crate) client: HttpClient,
    /// Whether requests are not signed.
    pub(crate) is_anonymous: bool,
    /// Whether the server applies the conditions of deletions, once that is known. All stores of a bucket share it.
    pub(crate) applies: Arc<OnceCell<bool>>,
}

/// The outcome of one request.
enum Deleted {
    Done,
    /// The object does not exist.
    Missing,
    /// The object has another ETag.
    Refused,
    /// The server has not applied the request, which may be repeated.
    Busy(Error),
    /// The server may have applied the request.
    Ambiguous(Error),
    Failed(Error),
}

impl Deletions {
    async fn send(&self, path: &Path, tag: &str, seen: &Seen) -> Deleted {
        let request = match self.request(path, tag, seen).await {
            Ok(request) => request,
            Err(error) => return Deleted::Failed(error),
        };
        let answer = match self.client.execute(request).await {
            Ok(answer) => answer,
            Err(error) => return unanswered(error),
        };
        let status = answer.status();
        let body = answer.into_body().bytes().await.unwrap_or_default();
        let message = format!("Server returned status {status}: {}", String::from_utf8_lossy(&body));
        let error = generic(message.into());
        match status.as_u16() {
            200..300 => Deleted::Done,
            404 if !is_missing_bucket_error(&error) => Deleted::Missing,
            // Another request was changing the object.
            409 => Deleted::Busy(error),
            412 => Deleted::Refused,
            status if is_repeated(status) => Deleted::Ambiguous(error),
            _ => Deleted::Failed(error),
        }
    }

    async fn request(&self, path: &Path, tag: &str, seen: &Seen) -> Result<HttpRequest, Error> {
        let tag = HeaderValue::from_str(tag).map_err(|error| generic(error.into()))?;
        let options = SignedUrlOptions::default().with_signed_header(IF_MATCH, tag.clone());
        let mut url = self.signer.signed_url_opts(Method::DELETE, path, VALID, &options).await?;
        if self.is_anonymous {
            url.set_query(None);
        }
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::DELETE;
        parse_into(request.uri_mut(), url.as_str()).map_err(|error| generic(error.into()))?;
        request.headers_mut().insert(IF_MATCH, tag);
        request.extensions_mut().insert(seen.clone());
        Ok(request)
    }
}

impl Shared {
    /// Implements [`zarr_spec::store::Store::erase_if`].
    pub(crate) async fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        let condition = self.versions.mode(&Condition::Unchanged(version.clone()));
        let (Some(deletions), Some(PutMode::Update(UpdateVersion { e_tag: Some(tag), .. }))) =
            (&self.deletions, condition)
        else {
            return Err(self.not_conditional());
        };
        if !*deletions.applies.get_or_try_init(|| self.refuses_unmet_deletions(deletions)).await? {
            return Err(self.not_conditional());
        }
        let path = self.place.of_key(key)?;
        let seen = Seen::default();
        let (deleted, may_be_earlier) = self.delete(deletions, &path, &tag, &seen).await;
        let failed = |error| failed("erasing", self.place.url_of(key.as_str()), &error, Some(&seen));
        let is_missing = match deleted {
            Deleted::Done => return Ok(ConditionalWrite::Done(None)),
            Deleted::Busy(error) | Deleted::Ambiguous(error) | Deleted::Failed(error) => {
                return Err(failed(error));
            }
            Deleted::Missing => true,
            Deleted::Refused if may_be_earlier => match self.store.head(&path).await {
                Ok(_) => false,
                Err(error) if is_missing_key(&error) => true,
                Err(error) => return Err(failed(error)),
            },
            Deleted::Refused => false,
        };
        Ok(if is_missing && may_be_earlier {
            ConditionalWrite::Done(None)
        } else {
            ConditionalWrite::Conflict
        })
    }

    /// Sends a deletion until there is an outcome. Also returns whether an earlier attempt may have been applied.
    async fn delete(&self, deletions: &Deletions, path: &Path, tag: &str, seen: &Seen) -> (Deleted, bool) {
        let begun = Instant::now();
        let mut may_be_earlier = false;
        let mut attempts = 0;
        loop {
            let deleted = deletions.send(path, tag, seen).await;
            let is_ambiguous = matches!(deleted, Deleted::Ambiguous(_));
            if !(is_ambiguous || matches!(deleted, Deleted::Busy(_))) || begun.elapsed() >= self.window {
                return (deleted, may_be_earlier);
            }
            may_be_earlier |= is_ambiguous;
            attempts += 1;
            sleep(pause(attempts)).await;
        }
    }

    /// Checks with a temporary key that the server refuses a deletion whose condition does not hold.
    async fn refuses_unmet_deletions(&self, deletions: &Deletions) -> StoreResult<bool> {
        let name = temporary_name("c");
        let path = self.place.of_key(&Key::new(name.as_str())?)?;
        let seen = Seen::default();
        let wrong = |error| {
            failed("checking conditional deletions with", self.place.url_of(&name), &error, Some(&seen))
        };
        self.store.put(&path, "checks conditions".into()).await.map_err(wrong)?;
        let (deleted, _) = self.delete(deletions, &path, UNMET_TAG, &seen).await;
        // Without the permission to delete, the key stays.
        let _removed = self.erase(stream::iter([Ok(path)]).boxed(), String::new).await;
        match deleted {
            Deleted::Refused => Ok(true),
            Deleted::Done | Deleted::Missing => Ok(false),
            Deleted::Failed(_) if UNSUPPORTED.contains(&seen.answer().status) => Ok(false),
            Deleted::Busy(error) | Deleted::Ambiguous(error) | Deleted::Failed(error) => Err(wrong(error)),
        }
    }

    /// Returns the error of an operation without its condition.
    pub(crate) fn not_conditional(&self) -> StoreError {
        StoreError::NotSupported { store: self.place.location().to_owned(), quality: "not conditional" }
    }
}

/// Returns the outcome of a request without an answer.
fn unanswered(error: HttpError) -> Deleted {
    match error.kind() {
        HttpErrorKind::Connect => Deleted::Busy(generic(error.into())),
        HttpErrorKind::Timeout | HttpErrorKind::Interrupted | HttpErrorKind::Request => {
            Deleted::Ambiguous(generic(error.into()))
        }
        _ => Deleted::Failed(generic(error.into())),
    }
}

fn generic(source: BoxError) -> Error {
    Error::Generic { store: "S3", source }
}

fn parse_into<T: FromStr>(target: &mut T, text: &str) -> Result<(), T::Err> {
    *target = text.parse()?;
    Ok(())
}
