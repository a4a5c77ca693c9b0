//! Opens and creates repositories.

use std::collections::HashMap;
use std::num::{NonZeroU16, NonZeroU64};
use std::sync::Arc;

use icechunk::config::{Credentials, S3Credentials};
use icechunk::repository::{Repository, RepositoryErrorKind};
use icechunk::session::Session;
use icechunk::storage::{ConcurrencySettings, Settings};
use icechunk::virtual_chunks::VirtualChunkContainer;
use icechunk::{ObjectStoreConfig, RepositoryConfig};
use tokio::sync::RwLock;
use zarr_spec::Invalid;
use zarr_spec::store::{StoreError, StoreResult};

use crate::failure;
use crate::place::Place;
use crate::version::Version;

/// The size in bytes from which a file is read with several requests.
const LARGE: u64 = 64 << 20;

/// An open repository, and the session in which it is read and changed.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) repository: Arc<Repository>,
    pub(crate) session: Arc<RwLock<Session>>,
}

impl Place {
    /// Opens the repository, with permission to read virtual chunks below `allowed`. Returns `None` if there is no
    /// repository.
    pub(crate) async fn open(&self, version: &Version, allowed: &[String]) -> StoreResult<Option<Opened>> {
        let storage = self.storage().await?;
        let opened = Repository::open(storage).config(settings()).execute().await;
        let mut repository = match opened.map_err(|error| error.kind) {
            Ok(repository) => repository,
            Err(RepositoryErrorKind::RepositoryDoesntExist) => return Ok(None),
            Err(kind) => return Err(failure::repository("opening", &self.shown(), &kind)),
        };
        let permissions = permissions(&repository, allowed);
        if !permissions.is_empty() {
            let reopened = repository.reopen(None, Some(permissions)).await;
            repository =
                reopened.map_err(|error| failure::repository("opening", &self.shown(), &error.kind))?;
        }
        let session = self.session(&repository, version).await?;
        Ok(Some(Opened { repository: Arc::new(repository), session: Arc::new(RwLock::new(session)) }))
    }

    /// Returns the error for a place without a repository.
    pub(crate) fn no_repository(&self) -> StoreError {
        let what = match self {
            Self::Folder(_) => {
                "is not an Icechunk repository (expected a folder with `repo`, or with `refs`)"
            }
            Self::Store(_) => {
                "is not an Icechunk repository (expected the key `repo`, or keys below `refs/`)"
            }
        };
        Invalid::new(format!("`{}` {what}", self.shown())).into()
    }

    /// Creates a repository where nothing is.
    pub(crate) async fn create(&self) -> StoreResult<()> {
        self.make()?;
        let created = Repository::create(self.storage().await?).execute().await;
        created.map(drop).map_err(|error| failure::repository("creating", &self.shown(), &error.kind))
    }

    /// Begins a session. Sessions of branches can change them, unless the repository is read only.
    pub(crate) async fn session(&self, repository: &Repository, version: &Version) -> StoreResult<Session> {
        if let Version::Branch(branch) = version {
            match repository.writable_session(branch).await.map_err(|error| error.kind) {
                Ok(session) => return Ok(session),
                Err(RepositoryErrorKind::ReadonlyStorage(_) | RepositoryErrorKind::ReadonlyRepository(_)) => {
                }
                Err(kind) => return Err(self.no_session(version, &kind)),
            }
        }
        let session = repository.readonly_session(&version.info()?).await;
        session.map_err(|error| self.no_session(version, &error.kind))
    }

    fn no_session(&self, version: &Version, kind: &RepositoryErrorKind) -> StoreError {
        failure::repository("opening", &format!("{}|icechunk:@{version}", self.shown()), kind)
    }
}

/// Returns the settings of the library: one request reads a file.
fn settings() -> RepositoryConfig {
    let concurrency = ConcurrencySettings {
        max_concurrent_requests_for_object: NonZeroU16::new(4),
        ideal_concurrent_request_size: NonZeroU64::new(LARGE),
    };
    let storage = Settings { concurrency: Some(concurrency), ..Settings::default() };
    RepositoryConfig { storage: Some(storage), ..RepositoryConfig::default() }
}

/// Returns the containers of virtual chunks that are below one of the allowed locations, with the credentials to read
/// them.
fn permissions(repository: &Repository, allowed: &[String]) -> HashMap<String, Option<Credentials>> {
    let is_allowed = |container: &&VirtualChunkContainer| {
        allowed.iter().any(|allowed| {
            let rest = container.url_prefix().strip_prefix(allowed.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let endpoint = std::env::var("AWS_ENDPOINT_URL").ok();
    let permitted = repository.config().virtual_chunk_containers().filter(is_allowed);
    let permission = |container: &VirtualChunkContainer| {
        (container.url_prefix().to_owned(), credentials(container, endpoint.as_deref()))
    };
    permitted.map(permission).collect()
}

/// Returns the credentials for a bucket. The repository chooses the server of a container, so the credentials of the
/// environment are sent only to AWS and to the endpoint of the environment. Other servers get anonymous requests.
fn credentials(container: &VirtualChunkContainer, endpoint: Option<&str>) -> Option<Credentials> {
    let options = match &container.store {
        ObjectStoreConfig::S3(options)
        | ObjectStoreConfig::S3Compatible(options)
        | ObjectStoreConfig::Tigris(options) => options,
        _ => return None,
    };
    let is_known = options.endpoint_url.as_deref().is_none_or(|chosen| {
        endpoint.is_some_and(|known| known.trim_end_matches('/') == chosen.trim_end_matches('/'))
    });
    let is_anonymous = options.anonymous || !is_known;
    Some(Credentials::S3(if is_anonymous { S3Credentials::Anonymous } else { S3Credentials::FromEnv }))
}

#[cfg(test)]
mod tests {
    use icechunk::config::S3Options;

    use super::*;

    #[test]
    fn credentials_are_sent_only_to_servers_that_the_environment_chooses() {
        let is_sent = |options: S3Options, endpoint: Option<&str>| {
            let store = ObjectStoreConfig::S3Compatible(options);
            let container = VirtualChunkContainer::new("s3://bucket/a/".to_owned(), store).unwrap();
            match credentials(&container, endpoint) {
                Some(Credentials::S3(S3Credentials::FromEnv)) => true,
                Some(Credentials::S3(S3Credentials::Anonymous)) => false,
                other => panic!("{other:?}"),
            }
        };
        let options = S3Options::default;
        let at = |endpoint: &str| options().with_endpoint_url(endpoint);
        assert!(is_sent(options(), None) && is_sent(options(), Some("https://mine")));
        assert!(is_sent(at("https://mine/"), Some("https://mine")));
        assert!(!is_sent(at("https://other"), Some("https://mine")) && !is_sent(at("https://other"), None));
        assert!(!is_sent(options().with_anonymous(true), None));
    }
}
