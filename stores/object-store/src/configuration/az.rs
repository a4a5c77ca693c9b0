//! Opening stores in Azure Blob Storage.

use std::env;
use std::sync::Arc;

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use serde::Deserialize;
use zarr_spec::store::{Store, StoreConfiguration, StoreResult};
use zarr_spec::typetag;

use super::azure_account::AzureAccount;
use super::{Built, Endpoint, Opened, Requests, Service, is_true, opened, wrong};
use crate::client::{Checksums, Connector, Redirects};
use crate::credentials::{ForAzure, Provided};
use crate::deletions::{Authorization, Unsent};
use crate::place::{BucketUrl, bucket_url};
use crate::versions::Versions;

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
        let mut builder = self.builder(&at)?.with_retry(requests.policy());
        if let Some(provided) = provided {
            builder = builder.with_credentials(Arc::new(ForAzure(provided)));
        }
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        let _valid = Endpoint::new(endpoint.as_deref())?;
        let Some(account) = account(&builder, &at) else {
            let reason = "the account is missing: AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT, \
                          `account`, or `abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX`";
            return Err(wrong(&self.url, reason));
        };
        let location = format!("{}://{}/{}", at.scheme, at.bucket, at.prefix);
        let identity =
            [endpoint.as_deref(), Some(&account)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let service = Service::new(Versions::Tags, Some(identity));
        let connector = requests.connector().with_checksums(Checksums::Azure);
        opened(location, &at, built(builder, account, connector), &requests, &service)
    }

    /// Returns a builder with the settings of the description, the variables of `object_store` and those of the Azure
    /// tools, in this order.
    fn builder(&self, at: &BucketUrl<'_>) -> StoreResult<MicrosoftAzureBuilder> {
        let mut builder = MicrosoftAzureBuilder::from_env();
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
        let named = account(&builder, at);
        let variable = |name: &str| env::var(name).ok();
        Ok(AzureAccount::read(variable)?.apply(builder, named.as_deref()))
    }
}

/// Returns the account that the URL names, or that of the builder.
fn account(builder: &MicrosoftAzureBuilder, at: &BucketUrl<'_>) -> Option<String> {
    let host = at.bucket.split_once('@').map(|(_, host)| host);
    let of_url = host.and_then(|host| host.split('.').next()).map(str::to_owned);
    of_url.or_else(|| builder.get_config_value(&AzureConfigKey::AccountName))
}

fn built(
    builder: MicrosoftAzureBuilder,
    account: String,
    connector: Connector,
) -> object_store::Result<Built> {
    let store = builder.clone().with_http_connector(connector.clone()).build()?;
    let authorization = match is_true(builder.get_config_value(&AzureConfigKey::SkipSignature)) {
        true => Authorization::Anonymous,
        false => Authorization::Azure { credentials: Arc::clone(store.credentials()), account },
    };
    let unsent = builder.with_skip_signature(true).with_http_connector(Unsent(connector)).build()?;
    Ok(Built::new(store, unsent, authorization))
}
