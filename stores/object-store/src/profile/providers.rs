//! Creates the providers of credentials for the sources of profiles.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider};
use object_store::client::HttpConnector;
use object_store::{ClientConfigKey, ClientOptions, StaticCredentialProvider};
use zarr_spec::Invalid;

use super::issued::Issued;
use super::role::{AssumeRole, Role};
use super::service::{Endpoints, Sender, Service};
use super::sign_on::{Portal, SignOn};
use super::source::{Source, WebIdentity};
use crate::client::{Connector, policy};

/// The region if none is known, as in `object_store`.
const DEFAULT_REGION: &str = "us-east-1";

/// Creates providers with the settings of a store.
pub(super) struct Providers<'p> {
    /// The settings of the store, and its environment.
    pub(super) builder: &'p AmazonS3Builder,
    pub(super) connector: &'p Connector,
    pub(super) window: Duration,
    pub(super) endpoints: &'p Endpoints,
    /// The folder with the files of the user.
    pub(super) home: Option<PathBuf>,
}

impl Providers<'_> {
    /// Returns the provider of the credentials of a source.
    ///
    /// # Errors
    ///
    /// If settings are missing in the environment, or if an endpoint is not valid.
    pub(super) fn of(&self, source: Source) -> Result<AwsCredentialProvider, Invalid> {
        match source {
            Source::Keys(keys) => Ok(Arc::new(StaticCredentialProvider::new(keys))),
            Source::Environment => self.environment(),
            Source::WebIdentity(identity) => self.web_identity(identity),
            Source::Instance => self.instance(),
            Source::Container => self.container(),
            Source::Process(process) => Ok(Arc::new(Issued::new(process))),
            Source::SignOn(sign_on) => self.portal(sign_on),
            Source::Role(role, source) => self.role(role, *source),
        }
    }

    fn environment(&self) -> Result<AwsCredentialProvider, Invalid> {
        let value = |key| self.builder.get_config_value(&key);
        let keys = value(AmazonS3ConfigKey::AccessKeyId).zip(value(AmazonS3ConfigKey::SecretAccessKey));
        let Some((key_id, secret_key)) = keys else {
            let expected = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
            return Err(Invalid::new(format!("`credential_source` is `Environment`; set {expected}")));
        };
        let token = value(AmazonS3ConfigKey::Token);
        Ok(Arc::new(StaticCredentialProvider::new(AwsCredential { key_id, secret_key, token })))
    }

    fn web_identity(&self, identity: WebIdentity) -> Result<AwsCredentialProvider, Invalid> {
        use AmazonS3ConfigKey as To;
        let Some(role_arn) = identity.role_arn else {
            let reason = "has `web_identity_token_file`, and needs `role_arn`";
            return Err(Invalid::new(format!("the profile `{}` {reason}", identity.profile)));
        };
        let mut settings = vec![(To::WebIdentityTokenFile, identity.token_file), (To::RoleArn, role_arn)];
        settings.extend(identity.session_name.map(|name| (To::RoleSessionName, name)));
        self.of_object_store(&[To::StsEndpoint, To::Region], settings)
    }

    fn instance(&self) -> Result<AwsCredentialProvider, Invalid> {
        use AmazonS3ConfigKey as To;
        self.of_object_store(&[To::MetadataEndpoint, To::ImdsV1Fallback], Vec::new())
    }

    fn container(&self) -> Result<AwsCredentialProvider, Invalid> {
        use AmazonS3ConfigKey as To;
        let has = |key| self.builder.get_config_value(&key).is_some();
        let is_full = has(To::ContainerCredentialsFullUri) && has(To::ContainerAuthorizationTokenFile);
        if !is_full && !has(To::ContainerCredentialsRelativeUri) {
            return Err(Invalid::new(
                "`credential_source` is `EcsContainer`; set AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or both \
                 AWS_CONTAINER_CREDENTIALS_FULL_URI and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
                    .to_owned(),
            ));
        }
        let of_the_environment = [
            To::ContainerCredentialsRelativeUri,
            To::ContainerCredentialsFullUri,
            To::ContainerAuthorizationTokenFile,
        ];
        self.of_object_store(&of_the_environment, Vec::new())
    }

    /// Returns a provider of `object_store` with some settings of the store and with others.
    fn of_object_store(
        &self,
        copied: &[AmazonS3ConfigKey],
        settings: Vec<(AmazonS3ConfigKey, String)>,
    ) -> Result<AwsCredentialProvider, Invalid> {
        let copied = copied.iter().filter_map(|key| Some((*key, self.builder.get_config_value(key)?)));
        let builder = AmazonS3Builder::new()
            .with_bucket_name("credentials")
            .with_retry(policy(self.window))
            .with_http_connector(self.connector.clone());
        let builder =
            copied.chain(settings).fold(builder, |builder, (key, value)| builder.with_config(key, value));
        let built = builder.build().map_err(|error| Invalid::new(error.to_string()))?;
        Ok(Arc::clone(built.credentials()))
    }

    fn portal(&self, sign_on: SignOn) -> Result<AwsCredentialProvider, Invalid> {
        let Some(home) = &self.home else {
            return Err(Invalid::new("single sign-on needs the variable HOME".to_owned()));
        };
        let cache = home.join(".aws/sso/cache");
        let url = self.endpoints.url(Service::Sso, &sign_on.region)?;
        let tokens = self.endpoints.url(Service::SsoOidc, &sign_on.region)?;
        Ok(Arc::new(Issued::new(Portal { sign_on, cache, sender: self.sender()?, url, tokens })))
    }

    fn role(&self, role: Role, source: Source) -> Result<AwsCredentialProvider, Invalid> {
        let value = |key| self.builder.get_config_value(&key);
        let region = value(AmazonS3ConfigKey::Region).unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let url = self.endpoints.url(Service::Sts, &region)?;
        let source = self.of(source)?;
        Ok(Arc::new(Issued::new(AssumeRole { role, source, sender: self.sender()?, url, region })))
    }

    fn sender(&self) -> Result<Sender, Invalid> {
        let allows_http = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
        let allows_http = self.builder.get_config_value(&allows_http).is_some_and(|value| value == "true");
        let client = self.connector.connect(&ClientOptions::new().with_allow_http(allows_http));
        let client = client.map_err(|error| Invalid::new(error.to_string()))?;
        Ok(Sender { client, window: self.window })
    }
}
