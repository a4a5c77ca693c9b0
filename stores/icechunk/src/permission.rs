//! Permission to read virtual chunks: the containers that the caller allows, and the credentials for their servers.
//!
//! A repository is foreign data, and it chooses the server of a container and further options of the client. Therefore:
//!
//! - Credentials of the environment are sent only to the services themselves and to the endpoint of the environment, and
//!   those of Azure only for the account of the environment. Other servers get anonymous requests.
//! - Options that select credentials, files or other services are refused.

use std::collections::HashMap;
use std::env;

use icechunk::config::{AzureCredentials, Credentials, GcsCredentials, S3Credentials, S3Options};
use icechunk::virtual_chunks::VirtualChunkContainer;
use icechunk::{ObjectStoreConfig, RepositoryConfig};
use zarr_spec::Invalid;

/// The containers that may be read, each with credentials.
type Permissions = HashMap<String, Option<Credentials>>;

/// Returns the containers of virtual chunks that are below one of the allowed locations, with the credentials to read
/// them.
///
/// # Errors
///
/// If one of these containers has an option that is refused.
pub(crate) fn permissions(config: &RepositoryConfig, allowed: &[String]) -> Result<Permissions, Invalid> {
    let is_allowed = |container: &&VirtualChunkContainer| {
        allowed.iter().any(|allowed| {
            let rest = container.url_prefix().strip_prefix(allowed.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let variable = |name: &str| env::var(name).ok();
    config
        .virtual_chunk_containers()
        .filter(is_allowed)
        .map(|container| Ok((container.url_prefix().to_owned(), credentials(container, &variable)?)))
        .collect()
}

/// Returns the value of a variable of the environment.
type Variable<'v> = &'v dyn Fn(&str) -> Option<String>;

fn credentials(
    container: &VirtualChunkContainer,
    variable: Variable<'_>,
) -> Result<Option<Credentials>, Invalid> {
    let refused = |what: &str| {
        let url = container.url_prefix();
        Invalid::new(format!(
            "the container `{url}` of virtual chunks has {what}; a repository cannot choose it, so remove the \
             permission `virtual_chunks` for this container"
        ))
    };
    // The name of a bucket and the region are parts of a host.
    let bucket = container.url_prefix().split('/').nth(2).unwrap_or_default();
    let is_sent = |is_known: bool| is_known && is_name(bucket);
    Ok(match &container.store {
        ObjectStoreConfig::S3(options)
        | ObjectStoreConfig::S3Compatible(options)
        | ObjectStoreConfig::Tigris(options) => {
            let is_sent = is_sent(is_known_in_s3(options, variable));
            Some(Credentials::S3(if is_sent { S3Credentials::FromEnv } else { S3Credentials::Anonymous }))
        }
        ObjectStoreConfig::Gcs(options) => {
            let options = Parsed::new(options, &GOOGLE, variable).map_err(|what| refused(&what))?;
            let is_sent = is_sent(options.is_known());
            Some(Credentials::Gcs(if is_sent { GcsCredentials::FromEnv } else { GcsCredentials::Anonymous }))
        }
        ObjectStoreConfig::Azure(options) => {
            let account = options.get("account").filter(|account| is_name(account));
            let account = account.ok_or_else(|| refused("no valid `account`"))?;
            let options = Parsed::new(options, &AZURE, variable).map_err(|what| refused(&what))?;
            let own = variable("AZURE_STORAGE_ACCOUNT_NAME");
            let is_sent = is_sent(options.is_known() && own.as_ref() == Some(account));
            Some(Credentials::Azure(if is_sent {
                AzureCredentials::FromEnv
            } else {
                AzureCredentials::Anonymous
            }))
        }
        ObjectStoreConfig::InMemory => return Err(refused("its files in the memory of another program")),
        ObjectStoreConfig::LocalFileSystem(_) | ObjectStoreConfig::Http(_) => None,
    })
}

fn is_known_in_s3(options: &S3Options, variable: Variable<'_>) -> bool {
    let endpoint = options.endpoint_url.as_deref();
    !options.anonymous
        && options.region.as_deref().is_none_or(is_name)
        && endpoint.is_none_or(|chosen| is_same(chosen, variable("AWS_ENDPOINT_URL")))
}

fn is_same(chosen: &str, known: Option<String>) -> bool {
    known.is_some_and(|known| known.trim_end_matches('/') == chosen.trim_end_matches('/'))
}

/// Returns whether a text can be a part of a host without changing the others.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The options of containers in one service.
struct Service {
    /// The names of the option with the URL of the server.
    endpoint: &'static [&'static str],
    /// The variable with this URL.
    variable: &'static str,
    /// The names of the option that disables signatures.
    anonymous: &'static [&'static str],
    /// The names of harmless options.
    other: &'static [&'static str],
}

const GOOGLE: Service = Service {
    endpoint: &["google_base_url", "base_url"],
    variable: "GOOGLE_BASE_URL",
    anonymous: &["google_skip_signature", "skip_signature"],
    other: &["google_allow_http", "allow_http"],
};

const AZURE: Service = Service {
    endpoint: &["azure_storage_endpoint", "azure_endpoint", "endpoint"],
    variable: "AZURE_STORAGE_ENDPOINT",
    anonymous: &["azure_skip_signature", "skip_signature"],
    other: &["account", "azure_allow_http", "allow_http"],
};

/// The server and the signature that the options of a container select.
struct Parsed {
    has_other_endpoint: bool,
    is_anonymous: bool,
}

impl Parsed {
    /// Returns the description of an option that is refused.
    fn new(
        options: &HashMap<String, String>,
        service: &Service,
        variable: Variable<'_>,
    ) -> Result<Self, String> {
        let mut parsed = Self { has_other_endpoint: false, is_anonymous: false };
        for (name, value) in options {
            let is_in = |names: &[&str]| names.contains(&name.as_str());
            if is_in(service.endpoint) {
                parsed.has_other_endpoint |= !is_same(value, variable(service.variable));
            } else if is_in(service.anonymous) && value == "true" {
                parsed.is_anonymous = true;
            } else if !is_in(service.other) {
                return Err(format!("the option `{name}`"));
            }
        }
        Ok(parsed)
    }

    fn is_known(&self) -> bool {
        !self.has_other_endpoint && !self.is_anonymous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the credentials of an environment with these variables are sent to a container.
    fn is_sent(url: &str, store: ObjectStoreConfig, variables: &[(&str, &str)]) -> Result<bool, String> {
        let container = VirtualChunkContainer::new(url.to_owned(), store).unwrap();
        let variable = |name: &str| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        };
        match credentials(&container, &variable).map_err(|error| error.to_string())? {
            Some(
                Credentials::S3(S3Credentials::FromEnv)
                | Credentials::Gcs(GcsCredentials::FromEnv)
                | Credentials::Azure(AzureCredentials::FromEnv),
            ) => Ok(true),
            Some(
                Credentials::S3(S3Credentials::Anonymous)
                | Credentials::Gcs(GcsCredentials::Anonymous)
                | Credentials::Azure(AzureCredentials::Anonymous),
            ) => Ok(false),
            other => panic!("{other:?}"),
        }
    }

    fn map<const N: usize>(options: [(&str, &str); N]) -> HashMap<String, String> {
        options.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn credentials_of_s3_are_sent_only_to_servers_that_the_environment_chooses() {
        let sent = |url: &str, options: S3Options, endpoint: Option<&str>| {
            let variables = endpoint.map(|endpoint| ("AWS_ENDPOINT_URL", endpoint));
            is_sent(url, ObjectStoreConfig::S3Compatible(options), variables.as_slice()).unwrap()
        };
        let options = S3Options::default;
        let at = |endpoint: &str| options().with_endpoint_url(endpoint);
        let url = "s3://bucket/a/";
        assert!(sent(url, options(), None) && sent(url, options(), Some("https://mine")));
        assert!(sent(url, at("https://mine/"), Some("https://mine")));
        assert!(
            !sent(url, at("https://other"), Some("https://mine")) && !sent(url, at("https://other"), None)
        );
        assert!(!sent(url, options().with_anonymous(true), None));
        // Parts of the host that would choose another one.
        assert!(sent(url, options().with_region("eu-west-1"), None));
        assert!(!sent(url, options().with_region("other.example/"), None));
        assert!(!sent("s3://other.example%2F/a/", options(), None));
    }

    #[test]
    fn credentials_of_google_are_sent_only_to_servers_that_the_environment_chooses() {
        let sent = |options, variables: &[_]| {
            is_sent("gs://bucket/a/", ObjectStoreConfig::Gcs(map(options)), variables).unwrap()
        };
        let mine = [("GOOGLE_BASE_URL", "https://mine")];
        assert!(is_sent("gcs://bucket/a/", ObjectStoreConfig::Gcs(map([])), &[]).unwrap());
        assert!(sent([("base_url", "https://mine/")], &mine));
        assert!(!sent([("google_base_url", "https://other")], &mine));
        assert!(!sent([("base_url", "https://other")], &[]));
        assert!(!sent([("google_skip_signature", "true")], &[]));
    }

    #[test]
    fn credentials_of_azure_are_sent_only_for_the_account_of_the_environment() {
        let sent = |options, variables: &[_]| {
            is_sent("az://container/a/", ObjectStoreConfig::Azure(options), variables).unwrap()
        };
        let mine = [("AZURE_STORAGE_ACCOUNT_NAME", "mine"), ("AZURE_STORAGE_ENDPOINT", "https://here")];
        assert!(sent(map([("account", "mine")]), &mine));
        assert!(sent(map([("account", "mine"), ("endpoint", "https://here")]), &mine));
        assert!(!sent(map([("account", "other")]), &mine) && !sent(map([("account", "mine")]), &[]));
        assert!(!sent(map([("account", "mine"), ("azure_storage_endpoint", "https://other")]), &mine));
        assert!(!sent(map([("account", "mine"), ("skip_signature", "true")]), &mine));
    }

    /// Each of these would send a file or a token to a server that the repository chooses.
    #[test]
    fn options_that_choose_credentials_are_refused() {
        for (name, value) in [
            ("google_service_account", "/etc/passwd"),
            ("skip_signature", "false"),
            ("bucket", "other"),
            ("proxy_url", "http://other"),
        ] {
            let error = is_sent("gs://b/", ObjectStoreConfig::Gcs(map([(name, value)])), &[]).unwrap_err();
            assert!(
                error.contains(&format!("`gs://b/` of virtual chunks has the option `{name}`")),
                "{error}"
            );
        }
        for (name, value) in [
            ("azure_federated_token_file", "/etc/passwd"),
            ("authority_host", "https://other"),
            ("azure_storage_account_name", "other"),
            ("container_name", "other"),
        ] {
            let options = map([("account", "mine"), (name, value)]);
            let error = is_sent("az://c/", ObjectStoreConfig::Azure(options), &[]).unwrap_err();
            assert!(error.contains(&format!("the option `{name}`")), "{error}");
        }
        for options in [map([]), map([("account", "other.example/?")])] {
            let error = is_sent("az://c/", ObjectStoreConfig::Azure(options), &[]).unwrap_err();
            assert!(error.contains("no valid `account`"), "{error}");
        }
    }
}
