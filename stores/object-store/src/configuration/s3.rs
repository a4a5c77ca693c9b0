//! Opening stores in Amazon S3 and compatible servers.

use std::env;
use std::sync::Arc;

use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use serde::Deserialize;
use zarr_spec::store::{Store, StoreConfiguration, StoreResult};
use zarr_spec::typetag;

use super::{Built, Endpoint, Opened, Requests, Service, is_true, named, opened, wrong};
use crate::client::{Connector, Redirects};
use crate::credentials::{ForS3, Provided};
use crate::deletions::{Authorization, Unsent};
use crate::place::bucket_url;
use crate::profile::Profile;
use crate::versions::Versions;

/// The region of a bucket if there is no setting, as in `object_store`.
const REGION: &str = "us-east-1";

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
        let is_anonymous = is_true(value(AmazonS3ConfigKey::SkipSignature));
        let builder = match provided {
            Some(provided) => builder.with_credentials(Arc::new(ForS3(provided))),
            None if is_anonymous => builder,
            None => profile.provide(builder, &connector, requests.window)?,
        };
        let location = format!("s3://{}/{}", at.bucket, at.prefix);
        let service = Service::new(Versions::Tags, endpoint);
        let built = built(builder.with_retry(requests.policy()), connector);
        opened(location, &at, built, &requests, &service)
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

/// The buckets of S3 Express have other signatures, so that they do not have conditional deletions.
fn built(builder: AmazonS3Builder, connector: Connector) -> object_store::Result<Built> {
    let value = |key| builder.get_config_value(&key);
    let is_express = is_true(value(AmazonS3ConfigKey::S3Express));
    let is_anonymous = is_true(value(AmazonS3ConfigKey::SkipSignature));
    let region = value(AmazonS3ConfigKey::Region).unwrap_or_else(|| REGION.to_owned());
    let requester_pays = is_true(value(AmazonS3ConfigKey::RequestPayer));
    let store = builder.clone().with_http_connector(connector.clone()).build()?;
    let authorization = match is_anonymous {
        true => Authorization::Anonymous,
        false => Authorization::S3 { credentials: Arc::clone(store.credentials()), region, requester_pays },
    };
    if is_express {
        return Ok(Built { store: Arc::new(store), deletions: None });
    }
    let unsent = builder.with_skip_signature(true).with_http_connector(Unsent(connector)).build()?;
    Ok(Built::new(store, unsent, authorization))
}
