//! How services authorize requests that the store makes itself.

use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::azure::{AzureAuthorizer, AzureCredentialProvider};
use object_store::client::HttpRequest;
use object_store::gcp::GcpCredentialProvider;
use reqwest::header::{AUTHORIZATION, HeaderValue};

use super::generic;

/// The authorization of requests, with the credentials of all other requests to the bucket.
#[derive(Debug)]
pub(crate) enum Authorization {
    /// Requests are not authorized.
    Anonymous,
    /// The signature of S3, which includes the headers.
    S3 { credentials: AwsCredentialProvider, region: String, requester_pays: bool },
    /// A bearer token of Google.
    Google(GcpCredentialProvider),
    /// The shared key of an account of Azure, a shared access signature, or a bearer token.
    Azure { credentials: AzureCredentialProvider, account: String },
}

impl Authorization {
    /// Authorizes a request that has all of its other headers.
    ///
    /// # Errors
    ///
    /// If there are no credentials.
    pub(super) async fn authorize(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        match self {
            Self::Anonymous => Ok(()),
            Self::S3 { credentials, region, requester_pays } => {
                let credential = credentials.get_credential().await?;
                let authorizer = AwsAuthorizer::new(&credential, "s3", region);
                authorizer.with_request_payer(*requester_pays).try_authorize(request, None)
            }
            Self::Google(credentials) => {
                let credential = credentials.get_credential().await?;
                // The file of a service account may disable authentication.
                if credential.bearer.is_empty() {
                    return Ok(());
                }
                let bearer = HeaderValue::try_from(format!("Bearer {}", credential.bearer));
                let mut bearer = bearer.map_err(|error| generic(error.into()))?;
                bearer.set_sensitive(true);
                request.headers_mut().insert(AUTHORIZATION, bearer);
                Ok(())
            }
            Self::Azure { credentials, account } => {
                let credential = credentials.get_credential().await?;
                AzureAuthorizer::new(&credential, account).try_authorize(request)
            }
        }
    }
}
