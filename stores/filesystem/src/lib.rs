//! The `filesystem` store: a folder of files, one per value.
//!
//! The key is the path of the file below the root, with the system's separators. A folder is there as long as a value
//! is below it; one without any value is nothing to the store but a prefix in the listing of the folder above. A value
//! is written beside its place and renamed, so a reader sees the old one or the new one, and a program that is killed
//! leaves no half of one. It leaves a file whose name begins with `.zarr-tmp-`; such names are hidden, and no key may have them.
//! [`FilesystemStore::leftovers`] finds these files.
//!
//! A power cut or a crash of the system is another matter: it may undo or empty whatever was written in the last seconds,
//! or bring back what was erased, unless the store is opened with `"durable": true`. See [`FilesystemStore::durable`].
//!
//! Symbolic links are followed for reading and listing wherever they lead. Nothing is written or erased in a folder
//! outside of the root that a link leads to, and what is erased is the link, never what it leads to. A folder is
//! looked at once and then remembered, and kept open for a moment while values are written to it: programs that turn
//! folders of an open store into links, put links to folders where it writes values, or move folders while it writes to
//! them, are on their own.
//!
//! A named pipe, a socket or a device is a key that cannot be read: that is an error, and nobody waits for it.
//!
//! Keys are as case sensitive as the file system is. Files whose names are not UTF-8 are not listed: they cannot
//! be keys.
//!
//! Opened as `{"type": "filesystem", "path": …, "durable": …}`, a path, or a URL like `file:///my%20data`.
//!
//! Source: "File system store" of the v3 draft and of Zarr v3; RFC 8089 for the URL.

use std::ffi::OsString;
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreConfiguration,
    StoreError, StorePlugin,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, Output, Pool, Prefix, printable_path, typetag};

mod folders;
mod handles;
mod leftovers;
mod listing;
mod place;
mod reading;
mod removing;
mod state;
mod url;
mod writing;

use folders::Folders;
use handles::Handles;
use place::{Base, failed};
use state::State;
use writing::Names;

pub use leftovers::Leftover;

zarr_spec::register!(
    StorePlugin::new("filesystem", &["", "file"], &open)
        .configuration::<FilesystemConfiguration>()
        .about("A folder of files, one for each value.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr"}"#),
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr", "durable": true}"#),
];

/// A folder of files, one per value.
#[derive(Debug)]
pub struct FilesystemStore {
    base: Base,
    folders: Folders,
    durable: bool,
    /// The closest folder at or above the root that was there before the first durable write.
    there_before: OnceLock<PathBuf>,
    writers: Pool<Writer>,
    /// Memory for the path of a value that is read.
    paths: Pool<OsString>,
}

/// What one thread writes with.
#[derive(Debug, Default)]
struct Writer {
    /// Memory for the path of a value, and for that of the file that it is written to first.
    value: OsString,
    temporary: OsString,
    handles: Handles,
    names: Names,
}

impl FilesystemStore {
    /// The values in the folder `root`. It need not be there: without it there are no values, and the first one that
    /// is set makes it. A relative path means the folder that it names now.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for what is no folder, [`StoreError::Io`] for an empty path.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, StoreError> {
        let root = root.as_ref();
        let absolute = path::absolute(root).map_err(|error| failed("opening", root, error))?;
        if let Some(what) = State::at(&absolute).ok().and_then(|there| there.no_folder()) {
            return Err(Invalid::new(format!("`{}` is {what}, not a folder", printable_path(root))).into());
        }
        Ok(Self {
            base: Base::new(&absolute),
            folders: Folders::default(),
            durable: false,
            there_before: OnceLock::new(),
            writers: Pool::new(),
            paths: Pool::new(),
        })
    }

    /// As [`FilesystemStore::open`], with the folder of a `file:` URL, such as [`Store::location`] says, or a path.
    ///
    /// # Errors
    ///
    /// As there, and [`StoreError::Invalid`] for a URL of another host, or with a query.
    pub fn open_url(text: &str) -> Result<Self, StoreError> {
        match url::path_of(text)? {
            Some(path) => Self::open(path),
            None => Self::open(text),
        }
    }

    /// Whether each call that changes the store waits until the change is on the disk: values and their names for
    /// [`Store::set`], the folders that they are removed from for [`Store::erase`], [`Store::erase_values`] and
    /// [`Store::erase_prefix`]. Then a crash of the whole system, or a power cut, undoes no call that has returned. Slow;
    /// off unless asked for.
    ///
    /// On systems other than Unix only values are waited for, and not their names or what is removed.
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// The root.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.base.root()
    }
}

impl Store for FilesystemStore {
    fn location(&self) -> String {
        url::url_of(self.path())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn read_hints(&self) -> ReadHints {
        // A gap of 64 KiB is read in about the time that opening a file takes.
        ReadHints::new(0, 64 << 10)
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let is_whole = options.range == ByteRange::Full;
        let without_version = !options.may_cache && is_whole && to.remaining() <= reading::SMALL;
        self.paths.with(OsString::new, |path| {
            self.base.put_value(key, path)?;
            match without_version {
                true => reading::read_small(key, Path::new(path), to),
                false => reading::read(key, Path::new(path), options.range, to),
            }
        })
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.writers.with(Writer::default, |writer| self.write(key, &value, writer))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.remove(key)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.remove_below(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        Ok(Box::new(listing::KeysBelow::new(&self.base, prefix)?))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        listing::directory(&self.base, prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        Ok(reading::state(&self.base.value(key)?)?.map(|state| state.size))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesystemConfiguration {
    path: PathBuf,
    #[serde(default)]
    durable: bool,
}

#[typetag::deserialize(name = "filesystem")]
impl StoreConfiguration for FilesystemConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(FilesystemStore::open(&self.path)?.durable(self.durable)))
    }
}

fn open(text: &str) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(FilesystemStore::open_url(text)?))
}
