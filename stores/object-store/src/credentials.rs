//! Credentials that a program provides, instead of those of the environment.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};
use object_store::gcp::GcpCredential;
use serde::de::DeserializeOwned;
use zarr_spec::store::{Store, StoreResult};
use zarr_spec::{BoxError, Invalid, Value};

use crate::configuration::{AzConfiguration, GsConfiguration, S3Configuration};

/// Credentials for a service. A service refuses credentials that are for another service.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credential {
    /// Keys of Amazon S3.
    Keys {
        /// The access key ID.
        id: String,
        /// The secret access key.
        secret: String,
        /// The session token of temporary keys.
        token: Option<String>,
    },
    /// The key of an account of Azure, in base64.
    AccountKey(String),
    /// A shared access signature of Azure: the parameters of its query.
    Signature(Vec<(String, String)>),
    /// A bearer token of Google or Azure.
    Token(String),
}

/// Prints no secret.
impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Keys { .. } => "Keys",
            Self::AccountKey(_) => "AccountKey",
            Self::Signature(_) => "Signature",
            Self::Token(_) => "Token",
        };
        formatter.debug_tuple(kind).finish_non_exhaustive()
    }
}

/// A source of credentials. It is called for each request, so that it returns new credentials when old ones expire.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Returns the current credentials. The call may block.
    ///
    /// # Errors
    ///
    /// If there are none. The request fails with this error.
    fn get(&self) -> Result<Credential, BoxError>;
}

/// Opens the store that a description of the type `s3`, `gs` or `az` names, with credentials of the program.
///
/// # Errors
///
/// If the description is invalid, or of another type.
pub fn open_with_credentials(
    description: &Value,
    credentials: Arc<dyn Credentials>,
) -> StoreResult<Arc<dyn Store>> {
    let mut members = description.as_object().cloned().unwrap_or_default();
    let kind = members.remove("type").unwrap_or(Value::Null);
    let members = Value::Object(members);
    let provided = Some(Provided(credentials));
    match kind.as_str() {
        Some("s3") => parsed::<S3Configuration>(&members)?.open_with(provided),
        Some("gs") => parsed::<GsConfiguration>(&members)?.open_with(provided),
        Some("az") => parsed::<AzConfiguration>(&members)?.open_with(provided),
        _ => Err(Invalid::new(format!("a store of the type {kind} takes no credentials")).into()),
    }
}

fn parsed<C: DeserializeOwned>(members: &Value) -> Result<C, Invalid> {
    zarr_json::from_value(members).map_err(|error| Invalid::new(error.to_string()))
}

/// Credentials of a program, for the clients of `object_store`.
#[derive(Debug, Clone)]
pub(crate) struct Provided(Arc<dyn Credentials>);

impl Provided {
    /// Calls the source on a thread that may block.
    async fn get(&self) -> object_store::Result<Credential> {
        let source = Arc::clone(&self.0);
        let credential = tokio::task::spawn_blocking(move || source.get()).await;
        credential.map_err(|error| failed(Box::new(error)))?.map_err(failed)
    }
}

#[async_trait]
impl CredentialProvider for ForS3 {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        match self.0.get().await? {
            Credential::Keys { id, secret, token } => {
                Ok(Arc::new(AwsCredential { key_id: id, secret_key: secret, token }))
            }
            other => Err(other.of_another_service("S3")),
        }
    }
}

#[async_trait]
impl CredentialProvider for ForGoogle {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        match self.0.get().await? {
            Credential::Token(bearer) => Ok(Arc::new(GcpCredential { bearer })),
            other => Err(other.of_another_service("Google Cloud Storage")),
        }
    }
}

#[async_trait]
impl CredentialProvider for ForAzure {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        Ok(Arc::new(match self.0.get().await? {
            Credential::AccountKey(key) => {
                let key = AzureAccessKey::try_new(&key).map_err(|error| failed(Box::new(error)))?;
                AzureCredential::AccessKey(key)
            }
            Credential::Signature(parameters) => AzureCredential::SASToken(parameters),
            Credential::Token(token) => AzureCredential::BearerToken(token),
            other => return Err(other.of_another_service("Azure")),
        }))
    }
}

#[derive(Debug)]
pub(crate) struct ForS3(pub(crate) Provided);

#[derive(Debug)]
pub(crate) struct ForGoogle(pub(crate) Provided);

#[derive(Debug)]
pub(crate) struct ForAzure(pub(crate) Provided);

impl Credential {
    fn of_another_service(&self, service: &str) -> object_store::Error {
        failed(format!("credentials {self:?} cannot be used with {service}").into())
    }
}

fn failed(source: BoxError) -> object_store::Error {
    object_store::Error::Generic { store: "credentials of the program", source }
}
