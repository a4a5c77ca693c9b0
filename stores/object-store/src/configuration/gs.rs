//! Opening stores in Google Cloud Storage.

use std::sync::Arc;

use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientConfigKey, StaticCredentialProvider};
use serde::Deserialize;
use zarr_spec::store::{Store, StoreConfiguration};
use zarr_spec::typetag;

use super::{Built, Endpoint, Opened, Requests, Service, is_true, named, opened};
use crate::client::{Checksums, Connector, Redirects};
use crate::credentials::{ForGoogle, Provided};
use crate::deletions::{Authorization, Unsent};
use crate::place::bucket_url;
use crate::versions::Versions;

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
        let mut builder =
            GoogleCloudStorageBuilder::from_env().with_bucket_name(at.bucket).with_retry(requests.policy());
        if self.anonymous {
            builder = builder.with_skip_signature(true);
        }
        if is_true(builder.get_config_value(&GoogleConfigKey::SkipSignature)) {
            // `object_store` requests credentials for anonymous writes, too. An empty token is not sent.
            let nobody = GcpCredential { bearer: String::new() };
            builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(nobody)));
        } else if let Some(provided) = provided {
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
        let connector = requests.connector().with_checksums(Checksums::Google);
        opened(location, &at, built(builder, connector), &requests, &service)
    }
}

fn built(builder: GoogleCloudStorageBuilder, connector: Connector) -> object_store::Result<Built> {
    let store = builder.clone().with_http_connector(connector.clone()).build()?;
    let authorization = match is_true(builder.get_config_value(&GoogleConfigKey::SkipSignature)) {
        true => Authorization::Anonymous,
        false => Authorization::Google(Arc::clone(store.credentials())),
    };
    let unsent = builder.with_skip_signature(true).with_http_connector(Unsent(connector)).build()?;
    Ok(Built::new(store, unsent, authorization))
}
