//! Conditional deletions, which S3, Google Cloud Storage and Azure have and `object_store` does not offer.
//!
//! S3 and Azure compare the header `If-Match` of a deletion with the ETag of the object, Google Cloud Storage the header
//! `x-goog-if-generation-match` with its generation, in one step with the deletion. The store sends such requests
//! itself. Their URLs are those of `object_store` ([`unsent`]), and so are credentials ([`authorization`]), regions and
//! endpoints.
//!
//! The first conditional deletion in a bucket checks, with a temporary key, that the server refuses a condition that
//! does not hold. Otherwise, or without the permission to delete, the bucket does not have conditional deletions.
//!
//! A deletion whose answer is lost is repeated. If the object is missing then, it counts as deleted.
//!
//! Source: "How to perform conditional deletes" in the user guide of Amazon S3; "Delete object" in the reference of the
//! XML API of Cloud Storage; "Specifying conditional headers for Blob service operations" in the REST reference of Azure
//! Storage.

mod authorization;
mod unsent;

use std::sync::Arc;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpRequestBody};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, UpdateVersion};
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue, IF_MATCH};
use tokio::sync::OnceCell;
use tokio::time::sleep;
use zarr_spec::store::{ConditionalWrite, StoreError, StoreResult, Version};
use zarr_spec::{BoxError, Key};

use crate::Shared;
use crate::body::document;
use crate::client::{Seen, is_repeated};
use crate::conditions::{is_busy, pause, temporary_name};
use crate::failure::{failed, is_missing_bucket_error, is_missing_key};

pub(crate) use authorization::Authorization;
use unsent::Made;
pub(crate) use unsent::Unsent;

/// The statuses of a server that does not know conditional deletions, or does not permit deletions.
const UNSUPPORTED: [u16; 5] = [400, 401, 403, 405, 501];

/// The condition of Google Cloud Storage.
const IF_GENERATION_MATCH: HeaderName = HeaderName::from_static("x-goog-if-generation-match");

/// The version of the protocol of Azure, which unauthorized requests need, too.
const AZURE_VERSION: HeaderName = HeaderName::from_static("x-ms-version");

/// Sends conditional deletions to one bucket.
#[derive(Debug)]
pub(crate) struct Deletions {
    /// Makes requests without sending them.
    unsent: Arc<dyn ObjectStore>,
    authorization: Authorization,
    /// Whether the server applies the conditions of deletions, once that is known. All stores of a bucket share it.
    pub(crate) applies: Arc<OnceCell<bool>>,
}

/// The outcome of one request.
enum Deleted {
    Done,
    /// The object does not exist.
    Missing,
    /// The object has another ETag or generation, or does not exist.
    Refused,
    /// The server has not applied the request, which may be repeated.
    Busy(Error),
    /// The server may have applied the request.
    Ambiguous(Error),
    Failed(Error),
}

impl Deletions {
    /// `unsent` is a store of the same bucket whose connector is [`Unsent`], and which does not authorize requests.
    pub(crate) fn new(unsent: impl ObjectStore, authorization: Authorization) -> Self {
        Self { unsent: Arc::new(unsent), authorization, applies: Arc::default() }
    }

    async fn send(&self, path: &Path, unchanged: &UpdateVersion, seen: &Seen) -> Deleted {
        let Made { request, client } = match self.request(path, unchanged, seen).await {
            Ok(made) => made,
            Err(error) => return Deleted::Failed(error),
        };
        let answer = match client.execute(request).await {
            Ok(answer) => answer,
            Err(error) => return unanswered(error),
        };
        let status = answer.status();
        // The status suffices if the body cannot be received.
        let body = document(answer.into_body()).await.unwrap_or_default();
        let message = format!("Server returned status {status}: {}", String::from_utf8_lossy(&body));
        let error = generic(message.into());
        match status.as_u16() {
            200..300 => Deleted::Done,
            404 if !is_missing_bucket_error(&error) => Deleted::Missing,
            409 if is_busy(&error) => Deleted::Busy(error),
            412 => Deleted::Refused,
            status if is_repeated(status) => Deleted::Ambiguous(error),
            _ => Deleted::Failed(error),
        }
    }

    /// Returns the request, and the client that sends it.
    async fn request(
        &self,
        path: &Path,
        unchanged: &UpdateVersion,
        seen: &Seen,
    ) -> object_store::Result<Made> {
        let Made { request: head, client } = unsent::head(&*self.unsent, path).await?;
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::DELETE;
        *request.uri_mut() = head.uri().clone();
        if let Some(version) = head.headers().get(AZURE_VERSION) {
            request.headers_mut().insert(AZURE_VERSION, version.clone());
        }
        let (name, value) = match unchanged {
            UpdateVersion { version: Some(generation), .. } => (IF_GENERATION_MATCH, generation.as_str()),
            UpdateVersion { e_tag, .. } => (IF_MATCH, e_tag.as_deref().unwrap_or_default()),
        };
        let value = HeaderValue::from_str(value).map_err(|error| generic(error.into()))?;
        request.headers_mut().insert(name, value);
        self.authorization.authorize(&mut request).await?;
        request.extensions_mut().insert(seen.clone());
        Ok(Made { request, client })
    }
}

impl Shared {
    /// Implements [`zarr_spec::store::Store::erase_if`].
    pub(crate) async fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        let (Some(deletions), Some(unchanged)) = (&self.deletions, self.versions.unchanged(version)) else {
            return Err(self.not_conditional());
        };
        if !*deletions.applies.get_or_try_init(|| self.refuses_unmet_deletions(deletions)).await? {
            return Err(self.not_conditional());
        }
        let path = self.place.of_key(key)?;
        let seen = Seen::default();
        let (deleted, may_be_earlier) = self.delete(deletions, &path, &unchanged, &seen).await;
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
    async fn delete(
        &self,
        deletions: &Deletions,
        path: &Path,
        unchanged: &UpdateVersion,
        seen: &Seen,
    ) -> (Deleted, bool) {
        let begun = Instant::now();
        let mut may_be_earlier = false;
        let mut attempts = 0;
        loop {
            let deleted = deletions.send(path, unchanged, seen).await;
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
        let (deleted, _) = self.delete(deletions, &path, &self.versions.unmet(), &seen).await;
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
    Error::Generic { store: "object store", source }
}
