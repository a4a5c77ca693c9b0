//! Profiles in the files of the AWS tools: `~/.aws/config` and `~/.aws/credentials`.
//!
//! The settings of a profile are read when a store is opened. Programs run, and services receive requests, when a
//! request needs credentials: see [`providers`].
//!
//! Source: "Configuration and credential file settings" in the reference of AWS SDKs and tools.

mod file;
mod issued;
mod process;
mod providers;
mod role;
mod service;
mod sign_on;
mod source;
mod token;

use std::path::{Path, PathBuf};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use zarr_spec::Invalid;

use crate::client::Connector;
use file::{Files, Settings};
use providers::Providers;
use service::Endpoints;
use source::{Source, WebIdentity};

/// The settings of a profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    name: String,
    settings: Settings,
    /// Whether the description names the profile. Such a profile takes precedence over the environment.
    is_named: bool,
    files: Files,
    endpoints: Endpoints,
    home: Option<PathBuf>,
}

impl Profile {
    /// Reads the profile `name`, or that of `AWS_PROFILE`, or `default`. `variable` returns a variable of the
    /// environment.
    ///
    /// # Errors
    ///
    /// If a profile with a given name does not exist, or if a file cannot be read or is too large.
    pub(crate) fn read(
        name: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Invalid> {
        let given =
            name.map(str::to_owned).or_else(|| variable("AWS_PROFILE")).filter(|name| !name.is_empty());
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        let file = |name: &str, place: &str| {
            let default = home.as_ref().map(|home| Path::new(home).join(place));
            variable(name).map(PathBuf::from).or(default)
        };
        let config = file("AWS_CONFIG_FILE", ".aws/config");
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
        let files = Files::read(config.as_deref(), credentials.as_deref())?;
        let wanted = given.as_deref().unwrap_or("default");
        let settings = files.profile(wanted);
        if settings.is_none() && given.is_some() {
            let places =
                [config, credentials].into_iter().flatten().map(|file| format!("`{}`", file.display()));
            let places = places.collect::<Vec<_>>().join(" or ");
            return Err(Invalid::new(format!("the profile `{wanted}` is not in {places}")));
        }
        let settings = settings.unwrap_or_default();
        let endpoints = Endpoints::read(variable, &settings);
        Ok(Self { name: wanted.to_owned(), settings, is_named: name.is_some(), files, endpoints, home })
    }

    /// Returns a setting.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// Adds the settings that the environment does not have to `builder`.
    ///
    /// # Errors
    ///
    /// If the credentials of the profile are incomplete or of a kind that is not supported.
    pub(crate) fn apply(
        &self,
        builder: AmazonS3Builder,
        is_anonymous: bool,
    ) -> Result<AmazonS3Builder, Invalid> {
        use AmazonS3ConfigKey as To;
        let has = |key| builder.get_config_value(&key).is_some();
        let has_region = has(To::Region) || has(To::DefaultRegion);
        let has_endpoint = has(To::S3Endpoint) || has(To::Endpoint);
        let mut given: Vec<(To, String)> = Vec::new();
        if !is_anonymous && self.precedes(&builder) {
            given.extend(self.static_credentials()?);
        }
        if self.is_named || !has_region {
            given.extend(self.get("region").map(|region| (To::Region, region.to_owned())));
        }
        if !has_endpoint {
            let endpoint = self.get("s3.endpoint_url").or(self.get("endpoint_url"));
            given.extend(endpoint.map(|endpoint| (To::S3Endpoint, endpoint.to_owned())));
        }
        Ok(given.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value)))
    }

    /// Adds a provider of the profile's credentials to `builder`, if a service or a program issues them, or if the
    /// environment may have others. `connector` creates the clients, and failed requests are repeated for the time `window`.
    ///
    /// # Errors
    ///
    /// Those of [`Profile::apply`], and if settings for a service are not valid.
    pub(crate) fn provide(
        &self,
        builder: AmazonS3Builder,
        connector: &Connector,
        window: Duration,
    ) -> Result<AmazonS3Builder, Invalid> {
        if !self.precedes(&builder) {
            return Ok(builder);
        }
        match Source::of(&self.name, &self.files)? {
            None => Ok(builder),
            Some(Source::Keys(_) | Source::WebIdentity(_)) if !self.is_named => Ok(builder),
            Some(source) => {
                let home = self.home.clone();
                let endpoints = &self.endpoints;
                let providers = Providers { builder: &builder, connector, window, endpoints, home };
                let provider = providers.of(source)?;
                Ok(builder.with_credentials(provider))
            }
        }
    }

    /// Returns whether the credentials of the profile take precedence over those of the environment.
    fn precedes(&self, builder: &AmazonS3Builder) -> bool {
        let has = |key| builder.get_config_value(&key).is_some();
        let has_credentials =
            has(AmazonS3ConfigKey::AccessKeyId) || has(AmazonS3ConfigKey::WebIdentityTokenFile);
        self.is_named || !has_credentials
    }

    /// Returns the credentials that `object_store` uses or requests itself.
    fn static_credentials(&self) -> Result<Vec<(AmazonS3ConfigKey, String)>, Invalid> {
        use AmazonS3ConfigKey as To;
        Ok(match Source::of(&self.name, &self.files)? {
            Some(Source::Keys(keys)) => {
                let token = keys.token.map(|token| (To::Token, token));
                let keys = [(To::AccessKeyId, keys.key_id), (To::SecretAccessKey, keys.secret_key)];
                keys.into_iter().chain(token).collect()
            }
            Some(Source::WebIdentity(WebIdentity { token_file, role_arn, session_name, .. })) => {
                let role = role_arn.map(|role| (To::RoleArn, role));
                let name = session_name.map(|name| (To::RoleSessionName, name));
                [(To::WebIdentityTokenFile, token_file)].into_iter().chain(role).chain(name).collect()
            }
            _ => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process;

    use super::*;
    use crate::client::{Redirects, WINDOW};

    const CONFIG: &str = "
[default]
region = eu-central-1

# A comment.
[profile  work]
region=eu-west-1   # a comment
services = local
role_arn = arn:aws:iam::1:role/r
web_identity_token_file = /run/token

[services local]
s3 =
  endpoint_url = https://s3.example
dynamodb =
  endpoint_url = https://other.example

[profile sso]
sso_session = company
";

    const CREDENTIALS: &str = "
[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = a/b+c==
[keys]
AWS_ACCESS_KEY_ID = AKID2
aws_secret_access_key = secret
aws_session_token = token
";

    /// Returns a profile of these two files, with `variables` in the environment.
    fn profile(name: Option<&str>, variables: &[(&str, &str)]) -> Result<Profile, Invalid> {
        let folder = std::env::temp_dir().join(format!(
            "zarr-profile-{}-{:?}",
            process::id(),
            std::thread::current().id()
        ));
        fs::create_dir_all(folder.join(".aws")).unwrap();
        fs::write(folder.join(".aws/config"), CONFIG).unwrap();
        fs::write(folder.join(".aws/credentials"), CREDENTIALS).unwrap();
        let home = folder.to_str().unwrap().to_owned();
        let read = Profile::read(name, |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned()).or_else(|| (asked == "HOME").then(|| home.clone()))
        });
        fs::remove_dir_all(folder).unwrap();
        read
    }

    fn applied(profile: Profile, builder: AmazonS3Builder) -> impl Fn(AmazonS3ConfigKey) -> Option<String> {
        let builder = profile.apply(builder, false).unwrap();
        move |key| builder.get_config_value(&key)
    }

    #[test]
    fn the_default_profile_has_keys_and_a_region() {
        let value = applied(profile(None, &[]).unwrap(), AmazonS3Builder::new());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKIDEXAMPLE"));
        assert_eq!(value(AmazonS3ConfigKey::SecretAccessKey).as_deref(), Some("a/b+c=="));
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("eu-central-1"));
    }

    #[test]
    fn a_named_profile_has_an_endpoint_and_a_token_file() {
        let value = applied(profile(None, &[("AWS_PROFILE", "work")]).unwrap(), AmazonS3Builder::new());
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("eu-west-1"));
        assert_eq!(value(AmazonS3ConfigKey::S3Endpoint).as_deref(), Some("https://s3.example"));
        assert_eq!(value(AmazonS3ConfigKey::WebIdentityTokenFile).as_deref(), Some("/run/token"));
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId), None);
    }

    #[test]
    fn the_environment_precedes_a_profile_that_no_description_names() {
        let builder = || AmazonS3Builder::new().with_access_key_id("AKID0").with_region("us-east-2");
        let value = applied(profile(None, &[("AWS_PROFILE", "keys")]).unwrap(), builder());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKID0"));
        assert_eq!(value(AmazonS3ConfigKey::Token), None);
        let value = applied(profile(Some("keys"), &[]).unwrap(), builder());
        assert_eq!(value(AmazonS3ConfigKey::AccessKeyId).as_deref(), Some("AKID2"));
        assert_eq!(value(AmazonS3ConfigKey::Token).as_deref(), Some("token"));
        assert_eq!(value(AmazonS3ConfigKey::Region).as_deref(), Some("us-east-2"));
    }

    /// A token of the environment does not belong to the keys of a profile.
    #[test]
    fn a_named_profile_replaces_all_credentials_of_the_environment() {
        let environment = AmazonS3Builder::new().with_bucket_name("b").with_access_key_id("AKID0");
        let environment = environment.with_secret_access_key("other").with_token("other");
        let profile = profile(Some("default"), &[]).unwrap();
        let connector = Connector::new(Redirects::Any, WINDOW);
        let builder = profile.apply(environment, false).unwrap();
        let builder = profile.provide(builder, &connector, WINDOW).unwrap();
        let built = builder.with_http_connector(connector).build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let credential = runtime.block_on(built.credentials().get_credential()).unwrap();
        assert_eq!(credential.key_id, "AKIDEXAMPLE");
        assert_eq!(credential.token, None);
    }

    #[test]
    fn a_missing_or_incomplete_profile_is_an_error_with_advice() {
        let missing = profile(Some("none"), &[]).unwrap_err().to_string();
        assert!(
            missing.contains("the profile `none` is not in") && missing.contains(".aws/config"),
            "{missing}"
        );
        let sso = profile(Some("sso"), &[]).unwrap();
        let refused = sso.apply(AmazonS3Builder::new(), false).unwrap_err().to_string();
        assert!(refused.contains("needs the section `[sso-session company]`"), "{refused}");
        assert!(sso.apply(AmazonS3Builder::new(), true).is_ok());
        let nothing =
            profile(None, &[("AWS_CONFIG_FILE", "/none"), ("AWS_SHARED_CREDENTIALS_FILE", "/none")]);
        assert!(nothing.unwrap().settings.is_empty());
    }
}
