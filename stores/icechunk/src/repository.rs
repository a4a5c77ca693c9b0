//! Opens and creates repositories.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::num::{NonZeroU16, NonZeroU64};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use icechunk::config::Credentials;
use icechunk::repository::{Repository, RepositoryErrorKind};
use icechunk::session::Session;
use icechunk::storage::{ConcurrencySettings, Settings, Storage};
use icechunk::{RepositoryConfig, new_local_filesystem_storage};
use tokio::sync::RwLock;
use zarr_spec::store::{StoreError, StoreResult};
use zarr_spec::{Invalid, printable_path};

use crate::failure;
use crate::version::Version;

/// The size in bytes from which a chunk in a file is read with several requests.
const LARGE: u64 = 64 << 20;

/// An open repository, and the session in which it is read and changed.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) repository: Arc<Repository>,
    pub(crate) session: Arc<RwLock<Session>>,
}

/// The folder of a repository.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: &Path) -> StoreResult<Self> {
        let absolute = path::absolute(path);
        absolute.map(Self).map_err(|error| StoreError::io("opening", printable_path(path).to_string(), error))
    }

    pub(crate) fn shown(&self) -> String {
        self.0.display().to_string()
    }

    /// Returns whether nothing is there yet.
    pub(crate) fn is_vacant(&self) -> StoreResult<bool> {
        match fs::read_dir(&self.0) {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(StoreError::io("opening", self.shown(), error)),
        }
    }

    /// Waits until no other session of this framework commits, in any process.
    ///
    /// Files do not have the conditional writes that the library relies on, so two commits at the same time could lose
    /// one. The lock ends when the file is dropped.
    pub(crate) fn lock(&self) -> StoreResult<Option<File>> {
        // Other systems cannot open folders as files.
        if !cfg!(unix) {
            return Ok(None);
        }
        let locked = File::open(&self.0).and_then(|folder| folder.lock().map(|()| folder));
        locked.map(Some).map_err(|error| StoreError::io("locking", self.shown(), error))
    }

    /// Opens the repository, with permission to read virtual chunks below `allowed`.
    pub(crate) async fn open(&self, version: &Version, allowed: &[String]) -> StoreResult<Opened> {
        let storage = self.storage().await?;
        let opened = Repository::open(storage).config(settings()).execute().await;
        let mut repository = opened.map_err(|error| match error.kind {
            RepositoryErrorKind::RepositoryDoesntExist => {
                let what = "is not an Icechunk repository (expected a folder with `repo`, or with `refs`)";
                Invalid::new(format!("`{}` {what}", self.shown())).into()
            }
            kind => failure::repository("opening", &self.shown(), &kind),
        })?;
        let permissions = permissions(&repository, allowed);
        if !permissions.is_empty() {
            let reopened = repository.reopen(None, Some(permissions)).await;
            repository =
                reopened.map_err(|error| failure::repository("opening", &self.shown(), &error.kind))?;
        }
        let session = self.session(&repository, version).await?;
        Ok(Opened { repository: Arc::new(repository), session: Arc::new(RwLock::new(session)) })
    }

    /// Creates a repository in an empty folder, or a new one.
    pub(crate) async fn create(&self) -> StoreResult<()> {
        match fs::create_dir(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::io("creating", self.shown(), error));
            }
            _ => {}
        }
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

    async fn storage(&self) -> StoreResult<Arc<dyn Storage + Send + Sync>> {
        let storage = new_local_filesystem_storage(&self.0).await;
        storage.map_err(|error| StoreError::io("opening", self.shown(), failure::reason(&error.kind)))
    }
}

/// Returns the settings for files: one request reads a chunk.
fn settings() -> RepositoryConfig {
    let concurrency = ConcurrencySettings {
        max_concurrent_requests_for_object: NonZeroU16::new(4),
        ideal_concurrent_request_size: NonZeroU64::new(LARGE),
    };
    let storage = Settings { concurrency: Some(concurrency), ..Settings::default() };
    RepositoryConfig { storage: Some(storage), ..RepositoryConfig::default() }
}

/// Returns the containers of virtual chunks that are below one of the allowed locations.
fn permissions(repository: &Repository, allowed: &[String]) -> HashMap<String, Option<Credentials>> {
    let is_allowed = |prefix: &&str| {
        allowed.iter().any(|allowed| {
            let rest = prefix.strip_prefix(allowed.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let containers = repository.config().virtual_chunk_containers();
    let prefixes = containers.map(|container| container.url_prefix()).filter(is_allowed);
    prefixes.map(|prefix| (prefix.to_owned(), None)).collect()
}
