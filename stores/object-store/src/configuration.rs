//! Opening stores from URLs and descriptions. Credentials come only from the environment.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{ClientConfigKey, ObjectStore};
use serde::Deserialize;
use zarr_spec::store::{Capabilities, Store, StoreConfiguration, StoreError};
use zarr_spec::{Invalid, typetag};

use crate::RemoteStore;
use crate::client::{Connector, Redirects, policy};
use crate::place::{BucketUrl, StoreLocation, bucket_url, http_url};

type Opened = Result<Arc<dyn Store>, StoreError>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct S3Configuration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    region: Option<String>,
    endpoint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GsConfiguration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    endpoint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AzConfiguration {
    url: String,
    #[serde(default)]
    anonymous: bool,
    #[serde(default)]
    redirects: Redirects,
    account: Option<String>,
    endpoint: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpConfiguration {
    url: String,
    #[serde(default)]
    redirects: Redirects,
}

#[typetag::deserialize(name = "s3")]
impl StoreConfiguration for S3Configuration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        let at = named(bucket_url(&self.url, &["s3", "s3a"])?, &self.url)?;
        let endpoint = Endpoint::new(self.endpoint.as_deref())?;
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(at.bucket)
            .with_retry(policy())
            .with_http_connector(Connector::new(self.redirects));
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(Endpoint { url, is_plain }) = endpoint {
            // This takes precedence over other endpoints, including one in the environment.
            builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, url);
            if is_plain {
                builder = builder.with_allow_http(true);
            }
        }
        let value = |key| builder.get_config_value(&key);
        let endpoint = value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint));
        let allows_http = value(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        if let Some(Endpoint { is_plain: true, .. }) = Endpoint::new(endpoint.as_deref())?
            && allows_http.is_none_or(|value| value != "true")
        {
            let reason = "the endpoint in the environment is not encrypted; AWS_ALLOW_HTTP=true allows it";
            return Err(wrong(&self.url, reason));
        }
        let location = format!("s3://{}/{}", at.bucket, at.prefix);
        opened(location, at.prefix, builder.build())
    }
}

#[typetag::deserialize(name = "gs")]
impl StoreConfiguration for GsConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        let at = named(bucket_url(&self.url, &["gs", "gcs"])?, &self.url)?;
        let mut builder = GoogleCloudStorageBuilder::from_env()
            .with_bucket_name(at.bucket)
            .with_retry(policy())
            .with_http_connector(Connector::new(self.redirects));
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if let Some(Endpoint { url, is_plain }) = Endpoint::new(self.endpoint.as_deref())? {
            let allow_http = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
            builder = builder.with_base_url(url).with_config(allow_http, is_plain.to_string());
        }
        let _valid = Endpoint::new(builder.get_config_value(&GoogleConfigKey::BaseUrl).as_deref())?;
        let location = format!("gs://{}/{}", at.bucket, at.prefix);
        opened(location, at.prefix, builder.build())
    }
}

#[typetag::deserialize(name = "az")]
impl StoreConfiguration for AzConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        let at = bucket_url(&self.url, &["az", "azure", "abfs", "abfss"])?;
        let mut builder = MicrosoftAzureBuilder::from_env()
            .with_retry(policy())
            .with_http_connector(Connector::new(self.redirects));
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
        if let Some(Endpoint { url, is_plain }) = Endpoint::new(self.endpoint.as_deref())? {
            builder = builder.with_endpoint(url.to_owned()).with_allow_http(is_plain);
        }
        let _valid = Endpoint::new(builder.get_config_value(&AzureConfigKey::Endpoint).as_deref())?;
        if builder.get_config_value(&AzureConfigKey::AccountName).is_none() && !at.bucket.contains('@') {
            let reason = "the account is missing: AZURE_STORAGE_ACCOUNT_NAME, `account`, or \
                          `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX`";
            return Err(wrong(&self.url, reason));
        }
        let location = format!("{}://{}/{}", at.scheme, at.bucket, at.prefix);
        opened(location, at.prefix, builder.build())
    }
}

#[typetag::deserialize(name = "http")]
impl StoreConfiguration for HttpConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Opened {
        let Some(Endpoint { url, .. }) = Endpoint::new(Some(&self.url))? else {
            return Err(wrong(&self.url, ""));
        };
        let builder = HttpBuilder::new()
            .with_url(url)
            .with_config(ClientConfigKey::AllowHttp, "true")
            .with_retry(policy())
            .with_http_connector(Connector::new(self.redirects));
        let store = Arc::new(builder.build().map_err(|error| wrong(url, &error.to_string()))?);
        let read_alone = Capabilities::READ_ONLY.unlistable();
        let store = RemoteStore::at(store, StoreLocation::new(url.to_owned(), "")?, read_alone);
        // An HTTP server does not have buckets that could be missing.
        store.shared.exists.store(true, Ordering::Relaxed);
        Ok(Arc::new(store))
    }
}

pub(crate) fn open_s3(url: &str) -> Opened {
    S3Configuration { url: url.to_owned(), ..S3Configuration::default() }.open(None)
}

pub(crate) fn open_gs(url: &str) -> Opened {
    GsConfiguration { url: url.to_owned(), ..GsConfiguration::default() }.open(None)
}

pub(crate) fn open_az(url: &str) -> Opened {
    AzConfiguration { url: url.to_owned(), ..AzConfiguration::default() }.open(None)
}

pub(crate) fn open_http(url: &str) -> Opened {
    HttpConfiguration { url: url.to_owned(), redirects: Redirects::default() }.open(None)
}

/// The endpoint of a service, if it is not the default.
struct Endpoint<'a> {
    url: &'a str,
    /// Whether the endpoint is unencrypted HTTP. The URL itself is the user's permission.
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
fn named<'a>(at: BucketUrl<'a>, url: &str) -> Result<BucketUrl<'a>, StoreError> {
    match at.bucket.contains('@') {
        true => Err(wrong(url, "the name of a bucket cannot contain '@'")),
        false => Ok(at),
    }
}

fn opened<S: ObjectStore>(location: String, prefix: &str, built: object_store::Result<S>) -> Opened {
    let store = built.map_err(|error| wrong(&location, &error.to_string()))?;
    Ok(Arc::new(RemoteStore::new(Arc::new(store), location, prefix)?))
}

fn wrong(url: &str, reason: &str) -> StoreError {
    Invalid::new(format!("`{url}`: {reason}")).into()
}
