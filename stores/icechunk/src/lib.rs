//! The `icechunk` store: a hierarchy in an [Icechunk](https://icechunk.io) repository, with commits, branches and tags.
//!
//! A store is one session of one version: the last commit of a branch, a tag, or a snapshot. A branch can be changed.
//! Changes are visible in this store immediately, and to others after a commit. Dropping the store also commits, but can
//! only print a failure.
//!
//! **Conflicts.** A commit of a branch that has new commits of others is repeated on top of them, unless both changed the
//! same chunk or the same document. This is an error that names the keys, and nothing is committed. Two commits of this
//! framework to one folder wait for each other; other programs do not know this lock.
//!
//! **Keys.** A repository holds documents of Zarr v3 and chunks of arrays, and nothing else. New arrays get the chunk key
//! encoding that it has. Chunks may be written before the document of their array, but a commit needs it. Erasing the
//! document of a node erases its chunks and the nodes below it.
//!
//! **Virtual chunks** are in files or on HTTP servers outside of the repository. They are read only if their container is
//! below a location that the caller allows.
//!
//! Opened as `icechunk:PATH`, as the step `PATH|icechunk:@branch.NAME/` of a URL pipeline, with `@tag.NAME` or the `@ID`
//! of a snapshot instead, or as `{"type": "icechunk", "path": "data.icechunk"}`. A plain path of an existing repository
//! is recognized. A missing folder is an empty repository, which the first change creates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{Step, Store, StoreConfiguration, StorePlugin, StoreResult};
use zarr_spec::{Example, Invalid, typetag};

mod documents;
mod failure;
mod names;
mod reading;
mod repository;
mod runtime;
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
        r#"{"type": "icechunk", "path": "data.icechunk", "version": "tag.v1", "virtual_chunks": "file:///data/"}"#,
    ),
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
    path: PathBuf,
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
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let mut options = Options::new().version(self.version.clone().unwrap_or_default());
        if let Some(message) = &self.message {
            options = options.message(message);
        }
        options.virtual_chunks = match &self.virtual_chunks {
            Some(Urls::One(url)) => vec![url.clone()],
            Some(Urls::Several(urls)) => urls.clone(),
            None => Vec::new(),
        };
        Ok(Arc::new(IcechunkStore::open(&self.path, options)?))
    }
}

fn open(url: &str) -> StoreResult<Arc<dyn Store>> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    if path.is_empty() || path.contains("://") || path.starts_with("//") && !path.starts_with("///") {
        return Err(not_a_folder(url).into());
    }
    Ok(Arc::new(IcechunkStore::open(path, Options::new())?))
}

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    let path =
        step.path.filter(|path| !path.as_os_str().is_empty()).ok_or_else(|| not_a_folder(step.input))?;
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
    Ok(Arc::new(IcechunkStore::open(path, options)?))
}

fn not_a_folder(location: &str) -> Invalid {
    Invalid::new(format!(
        "`{location}`: expected the path of a local folder, such as `icechunk:data.icechunk`; repositories in other \
         stores are not opened"
    ))
}

/// Returns whether a path is the folder of a repository. Version 1 of the format does not have the file `repo`.
fn is_repository(path: &Path) -> bool {
    let has = |name: &str| path.join(name).exists();
    has("snapshots") && (has("repo") || has("refs")) && !has("zarr.json")
}
