//! Opening stores from URLs and descriptions. Credentials come from the environment, or from the program.

use std::env;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, Checksum};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::HttpConnector;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig, StaticCredentialProvider};
use serde::Deserialize;
use tokio::sync::OnceCell;
use zarr_spec::store::{Capabilities, DescribedStore, Store, StoreConfiguration, StoreError, StoreResult};
use zarr_spec::{Invalid, json, typetag};

use crate::client::{Checksums, Connector, Redirects, WINDOW, policy};
use crate::credentials::{ForAzure, ForGoogle, ForS3, Provided};
use crate::deletions::Deletions;
use crate::place::{BucketUrl, StoreLocation, bucket_url, http_url};
use crate::profile::Profile;
use crate::versions::Versions;
use crate::{RemoteStore, Shared, WRITEABLE, conditions};

type Opened = StoreResult<Arc<dyn Store>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct S3Configuration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    #[serde(rename = "retry-seconds")]
    retry_seconds: Option<u32>,
    hedge: Option<bool>,
    region: Option<String>,
    endpoint: Option<String>,
    profile: Option<String>,
    #[serde(default, rename = "requester-pays")]
    requester_pays: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GsConfiguration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    #[serde(rename = "retry-seconds")]
    retry_seconds: Option<u32>,
    hedge: Option<bool>,
    endpoint: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AzConfiguration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    #[serde(rename = "retry-seconds")]
    retry_seconds: Option<u32>,
    hedge: Option<bool>,
    account: Option<String>,
    endpoint: Option<String>,
}

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

#[typetag::deserialize(name = "s3")]
impl StoreConfiguration for S3Configuration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        self.open_with(None)
    }
}

impl S3Configuration {
    /// Opens the store with credentials of the program, if there are any.
    pub(crate) fn open_with(&self, provided: Option<Provided>) -> Opened {
        let at = named(bucket_url(&self.url, &["s3", "s3a"])?, &self.url)?;
        let requests = Requests::new(self.redirects, self.retry_seconds, self.hedge);
        let variable = |name: &str| env::var(name).ok();
        let profile = Profile::read(self.profile.as_deref(), variable)?;
        let builder = self.builder(&profile, provided.is_some())?.with_bucket_name(at.bucket);
        let value = |key| builder.get_config_value(&key);
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint));
        let allows_http = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        if let Some(Endpoint { is_plain: true, .. }) = Endpoint::new(endpoint.as_deref())?
            && allows_http.is_none_or(|value| value != "true")
        {
            let reason = "the endpoint in the environment is not encrypted; AWS_ALLOW_HTTP=true allows it";
            return Err(wrong(&self.url, reason));
        }
        let bundle = variable("AWS_CA_BUNDLE").or_else(|| profile.get("ca_bundle").map(str::to_owned));
        let connector = requests.connector().with_certificates(bundle);
        let is_anonymous = value(AmazonS3ConfigKey::SkipSignature).is_some_and(|value| value == "true");
        let builder = match provided {
            Some(provided) => builder.with_credentials(Arc::new(ForS3(provided))),
            None if is_anonymous => builder,
            None => profile.provide(builder, &connector, requests.window)?,
        };
        let builder = builder.with_retry(requests.policy()).with_http_connector(connector.clone());
        let location = format!("s3://{}/{}", at.bucket, at.prefix);
        let service = Service::new(Versions::Tags, endpoint);
        let applies = service.applies_conditions(&at, " deletions");
        let built = builder.clone().build().and_then(|built| {
            let deletions = deletions(builder, &built, &connector, applies)?;
            Ok((built, Service { deletions, ..service }))
        });
        let (built, service) = built.map_err(|error| wrong(&location, &error.to_string()))?;
        opened(location, &at, Ok(built), &requests, service)
    }

    /// Returns a builder with the settings of the description, the environment and the profile, in this order. The
    /// profile needs no credentials if the program has some.
    fn builder(&self, profile: &Profile, is_provided: bool) -> StoreResult<AmazonS3Builder> {
        let mut builder = AmazonS3Builder::from_env();
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if self.requester_pays {
            builder = builder.with_request_payer(true);
        }
        if let Some(Endpoint { url, is_plain }) = Endpoint::new(self.endpoint.as_deref())? {
            // The description's endpoint takes precedence over other endpoints, including one in the environment.
            builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, url);
            if is_plain {
                builder = builder.with_allow_http(true);
            }
        }
        let is_set = |key| builder.get_config_value(&key).is_some_and(|value| value == "true");
        let is_anonymous = is_set(AmazonS3ConfigKey::SkipSignature);
        builder = profile.apply(builder, is_anonymous || is_provided)?;
        let has_checksum = builder.get_config_value(&AmazonS3ConfigKey::Checksum).is_some();
        let calculation = env::var("AWS_REQUEST_CHECKSUM_CALCULATION").ok();
        let calculation = calculation.as_deref().or_else(|| profile.get("request_checksum_calculation"));
        // The signature of a request needs the SHA-256 of the body anyway, so this checksum takes no additional time.
        if !has_checksum
            && !is_anonymous
            && !calculation.is_some_and(|when| when.eq_ignore_ascii_case("when_required"))
        {
            builder = builder.with_checksum_algorithm(Checksum::SHA256);
        }
        Ok(builder)
    }
}

/// Returns the sender of conditional deletions in the bucket of `built`, which `builder` has built. The buckets of S3
/// Express have other signatures.
fn deletions(
    builder: AmazonS3Builder,
    built: &AmazonS3,
    connector: &Connector,
    applies: Arc<OnceCell<bool>>,
) -> object_store::Result<Option<Deletions>> {
    let is_set = |key| builder.get_config_value(&key).is_some_and(|value| value == "true");
    if is_set(AmazonS3ConfigKey::S3Express) {
        return Ok(None);
    }
    let allows_http = is_set(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
    let client = connector.connect(&ClientOptions::new().with_allow_http(allows_http))?;
    let is_anonymous = is_set(AmazonS3ConfigKey::SkipSignature);
    let signer = match is_anonymous {
        // The signature is removed from the URL.
        true => {
            let nobody = AwsCredential { key_id: String::new(), secret_key: String::new(), token: None };
            builder.with_credentials(Arc::new(StaticCredentialProvider::new(nobody))).build()?
        }
        // A copy shares the credentials, and does not request them again.
        false => built.clone(),
    };
    Ok(Some(Deletions { signer: Arc::new(signer), client, is_anonymous, applies }))
}

#[typetag::deserialize(name = "gs")]
impl StoreConfiguration for GsConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        self.open_with(None)
    }
}

impl GsConfiguration {
    /// Opens the store with credentials of the program, if there are any.
    pub(crate) fn open_with(&self, provided: Option<Provided>) -> Opened {
        let at = named(bucket_url(&self.url, &["gs", "gcs"])?, &self.url)?;
        let requests = Requests::new(self.redirects, self.retry_seconds, self.hedge);
        let mut builder = GoogleCloudStorageBuilder::from_env()
            .with_bucket_name(at.bucket)
            .with_retry(requests.policy())
            .with_http_connector(requests.connector().with_checksums(Checksums::Google));
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if let Some(provided) = provided {
            builder = builder.with_credentials(Arc::new(ForGoogle(provided)));
        }
        if let Some(Endpoint { url, is_plain }) = Endpoint::new(self.endpoint.as_deref())? {
            let allow_http = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
            builder = builder.with_base_url(url).with_config(allow_http, is_plain.to_string());
        }
        let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
        let _valid = Endpoint::new(endpoint.as_deref())?;
        let location = format!("gs://{}/{}", at.bucket, at.prefix);
        let service = Service::new(Versions::Generations, endpoint);
        opened(location, &at, builder.build(), &requests, service)
    }
}

#[typetag::deserialize(name = "az")]
impl StoreConfiguration for AzConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        self.open_with(None)
    }
}

impl AzConfiguration {
    /// Opens the store with credentials of the program, if there are any.
    pub(crate) fn open_with(&self, provided: Option<Provided>) -> Opened {
        let at = bucket_url(&self.url, &["az", "azure", "abfs", "abfss"])?;
        let requests = Requests::new(self.redirects, self.retry_seconds, self.hedge);
        let mut builder = MicrosoftAzureBuilder::from_env()
            .with_retry(requests.policy())
            .with_http_connector(requests.connector().with_checksums(Checksums::Azure));
        builder = match at.bucket.contains('@') {
            true => builder.with_url(format!("abfss://{}/", at.bucket)),
            false => builder.with_container_name(at.bucket),
        };
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if let Some(account) = &self.account {
            builder = builder.with_account(account);
        }
        if let Some(provided) = provided {
            builder = builder.with_credentials(Arc::new(ForAzure(provided)));
        }
        if let Some(Endpoint { url, is_plain }) = Endpoint::new(self.endpoint.as_deref())? {
            builder = builder.with_endpoint(url.to_owned()).with_allow_http(is_plain);
        }
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        let _valid = Endpoint::new(endpoint.as_deref())?;
        if builder.get_config_value(&AzureConfigKey::AccountName).is_none() && !at.bucket.contains('@') {
            let reason = "the account is missing: AZURE_STORAGE_ACCOUNT_NAME, `account`, or \
                          `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX`";
            return Err(wrong(&self.url, reason));
        }
        let location = format!("{}://{}/{}", at.scheme, at.bucket, at.prefix);
        let account = builder.get_config_value(&AzureConfigKey::AccountName);
        let endpoint = [endpoint, account].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let service = Service::new(Versions::Tags, Some(endpoint));
        opened(location, &at, builder.build(), &requests, service)
    }
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
    deletions: Option<Deletions>,
}

impl Service {
    fn new(versions: Versions, endpoint: Option<String>) -> Self {
        Self { versions, endpoint: endpoint.unwrap_or_default(), deletions: None }
    }

    /// Returns the cell that remembers whether the server applies conditions of a kind of request.
    fn applies_conditions(&self, at: &BucketUrl<'_>, kind: &str) -> Arc<OnceCell<bool>> {
        conditions::known(format!("{} {}://{}{kind}", self.endpoint, at.scheme, at.bucket))
    }
}

fn opened<S: ObjectStore>(
    location: String,
    at: &BucketUrl<'_>,
    built: object_store::Result<S>,
    requests: &Requests,
    service: Service,
) -> Opened {
    let store = built.map_err(|error| wrong(&location, &error.to_string()))?;
    let mut shared = Shared::new(Arc::new(store), StoreLocation::new(location, at.prefix)?, service.versions);
    shared.window = requests.window;
    shared.applies_conditions = service.applies_conditions(at, "");
    shared.deletions = service.deletions;
    Ok(Arc::new(RemoteStore::at(shared, WRITEABLE)))
}

fn wrong(url: &str, reason: &str) -> StoreError {
    Invalid::new(format!("`{url}`: {reason}")).into()
}
