//! The `icechunk` store: a hierarchy in an [Icechunk](https://icechunk.io) repository, with commits, branches and tags.
//!
//! A store is one session of one version: the last commit of a branch, a tag, or a snapshot. A branch can be changed.
//! Changes are visible in this store immediately, and to others after a commit. Dropping the store also commits, but can
//! only print a failure.
//!
//! **Conflicts.** A commit of a branch that has new commits of others is repeated on top of them, unless both changed the
//! same chunk or the same document. This is an error that names the keys, and nothing is committed. Two commits of this
//! framework to one folder wait for each other; other programs do not know this lock. Object stores need no lock.
//!
//! **Places.** A repository is in a local folder, or in any store that the program opens: the values of that store are
//! its files. Changes need a store with conditional writes, such as a bucket of S3. Other stores, such as HTTP servers,
//! are read.
//!
//! **Keys.** A repository holds documents of Zarr v3 and chunks of arrays, and nothing else. New arrays get the chunk key
//! encoding that it has. Chunks may be written before the document of their array, but a commit needs it. Erasing the
//! document of a node erases its chunks and the nodes below it.
//!
//! **Virtual chunks** are in files, on HTTP servers, or in buckets of S3, Google Cloud Storage and Azure, outside of the
//! repository. They are read only if their container is below a location that the caller allows. The repository names the
//! server of a bucket, so the credentials of the environment are sent only to the service itself and to the endpoint in the
//! environment, and those of Azure only for the account in the environment.
//!
//! Opened as `icechunk:PATH`, as the step `PATH|icechunk:@branch.NAME/` of a URL pipeline, with `@tag.NAME` or the `@ID`
//! of a snapshot instead, or as `{"type": "icechunk", "path": "data.icechunk"}`. A URL instead of PATH, such as
//! `s3://bucket/prefix`, is opened as a store. A plain path of an existing repository is recognized. A missing folder or
//! an empty prefix is an empty repository, which the first change creates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    DescribedStore, Step, Store, StoreConfiguration, StoreError, StorePlugin, StoreResult,
};
use zarr_spec::{Example, Invalid, typetag};

mod batch;
mod documents;
mod failure;
mod names;
mod permission;
mod place;
mod reading;
mod repository;
mod runtime;
mod storage;
mod store;
mod version;
mod writing;

pub use store::IcechunkStore;
pub use version::Version;

zarr_spec::register!(
    StorePlugin::new("icechunk", &["icechunk"], &open)
        .step(&open_step)
        .recognizing(is_repository)
        .configuration::<IcechunkConfiguration>()
        .about("Stores a hierarchy in an Icechunk repository, with commits, branches and tags.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"type": "icechunk", "path": "data.icechunk"}"#),
    Example::v3(
        r#"{"type": "icechunk", "path": "data.icechunk", "version": "branch.main", "virtual_chunks": "file:///data/"}"#,
    ),
    Example::v3(r#"{"type": "icechunk", "store": {"type": "memory"}, "message": "first arrays"}"#),
];

/// The message of commits, unless another one is given.
const MESSAGE: &str = "written by zarr-kit";

/// The version that a store opens, and the options of its commits and reads.
#[derive(Debug, Clone)]
pub struct Options {
    version: Version,
    message: String,
    virtual_chunks: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Returns the options for the branch `main`, without virtual chunks.
    #[must_use]
    pub fn new() -> Self {
        Self { version: Version::default(), message: MESSAGE.to_owned(), virtual_chunks: Vec::new() }
    }

    /// Sets the version.
    #[must_use]
    pub fn version(self, version: Version) -> Self {
        Self { version, ..self }
    }

    /// Sets the message of commits.
    #[must_use]
    pub fn message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// Allows to read virtual chunks in containers at or below `location`, a URL such as `file:///data/`.
    #[must_use]
    pub fn virtual_chunks(mut self, location: impl Into<String>) -> Self {
        self.virtual_chunks.push(location.into());
        self
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IcechunkConfiguration {
    /// The folder of the repository.
    path: Option<PathBuf>,
    /// The store that contains the repository, instead of a folder.
    store: Option<DescribedStore>,
    /// The version: `branch.NAME`, `tag.NAME`, or the id of a snapshot.
    version: Option<Version>,
    /// The message of commits.
    message: Option<String>,
    /// The locations of virtual chunks that may be read: one URL or a list.
    virtual_chunks: Option<Urls>,
}

/// One URL or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Urls {
    One(String),
    Several(Vec<String>),
}

#[typetag::deserialize(name = "icechunk")]
impl StoreConfiguration for IcechunkConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let mut options = Options::new().version(self.version.clone().unwrap_or_default());
        if let Some(message) = &self.message {
            options = options.message(message);
        }
        options.virtual_chunks = match &self.virtual_chunks {
            Some(Urls::One(url)) => vec![url.clone()],
            Some(Urls::Several(urls)) => urls.clone(),
            None => Vec::new(),
        };
        match (&self.path, &self.store) {
            (Some(path), None) => {
                not_a_url(path.to_str().unwrap_or_default())?;
                Ok(Arc::new(IcechunkStore::open(path, options)?))
            }
            (None, Some(store)) => Ok(Arc::new(IcechunkStore::within(store.open(given)?, options)?)),
            _ => Err(Invalid::new(
                "expected either `path`, a local folder, or `store`, the description of the store with the repository",
            )
            .into()),
        }
    }
}

fn open(url: &str) -> StoreResult<Arc<dyn Store>> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    not_a_url(path)?;
    if path.is_empty() || path.starts_with("//") && !path.starts_with("///") {
        return Err(not_a_folder(url).into());
    }
    Ok(Arc::new(IcechunkStore::open(path, Options::new())?))
}

/// Refuses the locations of other stores, which only the program can open.
fn not_a_url(path: &str) -> StoreResult<()> {
    match path.contains("://") {
        true => Err(StoreError::NotSupported { store: path.to_owned(), quality: NOT_LOCAL }),
        false => Ok(()),
    }
}

const NOT_LOCAL: &str = "not a local folder; a description names it in `store`, for example `\"store\": {\"type\": \
                         \"s3\", \"url\": \"s3://bucket/data.icechunk\"}`";

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    let mut options = Options::new();
    for (name, value) in step.options {
        options = match name.as_str() {
            "version" => options.version(value.parse()?),
            "message" => options.message(value),
            "virtual_chunks" => options.virtual_chunks(value),
            _ => {
                let what = format!("`|icechunk:` does not have the option `{name}`");
                return Err(Invalid::new(format!(
                    "{what} (expected `version`, `message` or `virtual_chunks`)"
                ))
                .into());
            }
        };
    }
    match step.path {
        _ if step.input.is_empty() => Err(not_a_folder("icechunk:").into()),
        Some(path) => Ok(Arc::new(IcechunkStore::open(path, options)?)),
        None => Ok(Arc::new(IcechunkStore::within(step.locations.open(step.input)?, options)?)),
    }
}

fn not_a_folder(location: &str) -> Invalid {
    Invalid::new(format!(
        "`{location}`: expected the location of a repository, such as `icechunk:data.icechunk` or \
         `icechunk:s3://bucket/data.icechunk`"
    ))
}

/// Returns whether a path is the folder of a repository. Version 1 of the format does not have the file `repo`.
fn is_repository(path: &Path) -> bool {
    let has = |name: &str| path.join(name).exists();
    has("snapshots") && (has("repo") || has("refs")) && !has("zarr.json")
}
