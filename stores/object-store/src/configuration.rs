//! Opening stores from URLs and descriptions. Credentials come from the environment, or from the program.

mod az;
mod azure_account;
mod gs;
mod s3;

use std::env;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use serde::Deserialize;
use tokio::sync::OnceCell;
use zarr_spec::store::{Capabilities, DescribedStore, Store, StoreConfiguration, StoreError, StoreResult};
use zarr_spec::{Invalid, json, typetag};

use crate::client::{Connector, Redirects, WINDOW, policy};
use crate::deletions::{Authorization, Deletions};
use crate::place::{BucketUrl, StoreLocation, http_url};
use crate::versions::Versions;
use crate::{RemoteStore, Shared, WRITEABLE, conditions};

pub(crate) use az::AzConfiguration;
pub(crate) use gs::GsConfiguration;
pub(crate) use s3::S3Configuration;

type Opened = StoreResult<Arc<dyn Store>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpConfiguration {
    url: String,
    #[serde(default)]
    redirects: Redirects,
    #[serde(rename = "retry-seconds")]
    retry_seconds: Option<u32>,
    hedge: Option<bool>,
}

#[typetag::deserialize(name = "http")]
impl StoreConfiguration for HttpConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        let Some(Endpoint { url, .. }) = Endpoint::new(Some(&self.url))? else {
            return Err(wrong(&self.url, ""));
        };
        let requests = Requests::new(self.redirects, self.retry_seconds, self.hedge);
        let builder = HttpBuilder::new()
            .with_url(url)
            .with_config(ClientConfigKey::AllowHttp, "true")
            .with_retry(requests.policy())
            .with_http_connector(requests.connector());
        let store = Arc::new(builder.build().map_err(|error| wrong(url, &error.to_string()))?);
        let read_alone = Capabilities::READ_ONLY.unlistable();
        let shared = Shared::new(store, StoreLocation::new(url.to_owned(), "")?, Versions::Tags);
        let store = RemoteStore::at(shared, read_alone);
        // An HTTP server does not have buckets that could be missing.
        store.shared.exists.store(true, Ordering::Relaxed);
        Ok(Arc::new(store))
    }
}

/// Opens the store of a description that has only a type and a URL.
pub(crate) fn open(kind: &str, url: &str) -> Opened {
    DescribedStore::parse(&json!({"type": kind, "url": url}))?.open(None)
}

/// The endpoint of a service, if it is not the default.
struct Endpoint<'a> {
    url: &'a str,
    /// Whether the endpoint is unencrypted HTTP. The user permits this by the scheme of the URL.
    is_plain: bool,
}

impl<'a> Endpoint<'a> {
    fn new(url: Option<&'a str>) -> Result<Option<Self>, Invalid> {
        let Some(url) = url else { return Ok(None) };
        let url = http_url(url).map_err(|error| Invalid::new(format!("endpoint {error}")))?;
        let wrong = |reason: String| Invalid::new(format!("endpoint `{url}`: {reason}"));
        // `object_store` panics if this fails.
        let parsed = reqwest::Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        let is_plain = parsed.scheme() == "http";
        if !is_plain && parsed.scheme() != "https" {
            return Err(wrong("expected a URL that begins with `https://` or `http://`".to_owned()));
        }
        Ok(Some(Self { url, is_plain }))
    }
}

/// Refuses a URL with a host after the bucket, which only Azure allows.
fn named<'a>(at: BucketUrl<'a>, url: &str) -> StoreResult<BucketUrl<'a>> {
    match at.bucket.contains('@') {
        true => Err(wrong(url, "the name of a bucket cannot contain '@'")),
        false => Ok(at),
    }
}

/// How the requests of a store are sent and repeated.
struct Requests {
    redirects: Redirects,
    /// The time during which failed requests are repeated.
    window: Duration,
    /// Whether a request is sent again if its answer is late.
    hedge: bool,
}

impl Requests {
    fn new(redirects: Redirects, retry_seconds: Option<u32>, hedge: Option<bool>) -> Self {
        let window = retry_seconds.map_or(WINDOW, |seconds| Duration::from_secs(seconds.into()));
        Self { redirects, window, hedge: hedge.unwrap_or(true) }
    }

    fn policy(&self) -> RetryConfig {
        policy(self.window)
    }

    /// Returns a connector that also trusts the authorities in the file of `REQUESTS_CA_BUNDLE`. The tools of Azure and
    /// other Python programs read this variable.
    fn connector(&self) -> Connector {
        Connector::new(self.redirects, self.window)
            .with_certificates(env::var("REQUESTS_CA_BUNDLE").ok())
            .hedged(self.hedge)
    }
}

/// The service of a bucket.
struct Service {
    versions: Versions,
    /// The endpoint and the account, as far as they are known; empty for the default.
    endpoint: String,
}

impl Service {
    fn new(versions: Versions, endpoint: Option<String>) -> Self {
        Self { versions, endpoint: endpoint.unwrap_or_default() }
    }

    /// Returns the cell that remembers whether the server applies conditions of a kind of request.
    fn applies_conditions(&self, at: &BucketUrl<'_>, kind: &str) -> Arc<OnceCell<bool>> {
        conditions::known(format!("{} {}://{}{kind}", self.endpoint, at.scheme, at.bucket))
    }
}

/// The clients of a bucket.
struct Built {
    store: Arc<dyn ObjectStore>,
    deletions: Option<Deletions>,
}

impl Built {
    /// `unsent` is a copy of `store` for [`Deletions::new`].
    fn new(store: impl ObjectStore, unsent: impl ObjectStore, authorization: Authorization) -> Self {
        Self { store: Arc::new(store), deletions: Some(Deletions::new(unsent, authorization)) }
    }
}

fn opened(
    location: String,
    at: &BucketUrl<'_>,
    built: object_store::Result<Built>,
    requests: &Requests,
    service: &Service,
) -> Opened {
    let Built { store, deletions } = built.map_err(|error| wrong(&location, &error.to_string()))?;
    let mut shared = Shared::new(store, StoreLocation::new(location, at.prefix)?, service.versions);
    shared.window = requests.window;
    shared.applies_conditions = service.applies_conditions(at, "");
    shared.deletions = deletions;
    if let Some(deletions) = &mut shared.deletions {
        deletions.applies = service.applies_conditions(at, " deletions");
    }
    Ok(Arc::new(RemoteStore::at(shared, WRITEABLE)))
}

/// Returns whether the text of an option means true, like `object_store`.
fn is_true(option: Option<String>) -> bool {
    option.is_some_and(|text| matches!(&*text.to_ascii_lowercase(), "1" | "true" | "on" | "yes" | "y"))
}

fn wrong(url: &str, reason: &str) -> StoreError {
    Invalid::new(format!("`{url}`: {reason}")).into()
}
