//! Opens and creates repositories.

use std::num::{NonZeroU16, NonZeroU64};
use std::sync::Arc;

use icechunk::RepositoryConfig;
use icechunk::repository::{Repository, RepositoryErrorKind};
use icechunk::session::Session;
use icechunk::storage::{ConcurrencySettings, Settings};
use tokio::sync::RwLock;
use zarr_spec::Invalid;
use zarr_spec::store::{StoreError, StoreResult};

use crate::failure;
use crate::permission::permissions;
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
        let permissions = permissions(repository.config(), allowed)?;
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
