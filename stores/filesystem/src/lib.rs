//! The `filesystem` store: a folder of files, one per value.
//!
//! **Keys.** The key is the path of the file below the root, with the system's separators. Keys are as case
//! sensitive as the file system. Files whose names are not UTF-8 cannot be keys and are not listed. An empty
//! folder appears only as a prefix in the listing of its parent.
//!
//! **Writes.** Readers see the old value or the new one, never a part of one. On Linux, a value that does not exist yet
//! is written to a file without a name, which gets its name when it is complete. Any other value is written to a
//! temporary file and renamed. A program that is killed may leave a temporary file. Its name begins with `.zarr-tmp-`;
//! such names are hidden and are not valid keys. [`FilesystemStore::leftovers`] lists these files.
//!
//! **Crashes.** A power failure or a crash of the system may lose or truncate the writes of the last seconds,
//! or restore erased values. With `"durable": "data"` every value is complete, and with `"durable": "full"` no finished
//! call is undone: see [`Durability`].
//!
//! **Several writers.** Any number of processes may write. With `"locking": "os"`, the default, they exclude each
//! other with locks of the operating system. `"lockfile"` is for file systems whose locks do not reach other machines;
//! `"none"` switches conditional writes off. See [`Locking`].
//!
//! **Links.** Reads and listings follow symbolic links. The store does not write or erase below a link that leads out
//! of the root. Erasing a link removes the link, not its target. The store caches which folders exist, and may hold a
//! folder open for a short time after it wrote to the folder. Do not move folders of an open store, or replace them
//! with links, while it writes.
//!
//! **Special files.** A named pipe, a socket or a device is listed as a key; reading it is an error and never
//! blocks.
//!
//! Opened as `{"type": "filesystem", "path": …, "durable": …, "locking": …}`, a path, or a URL like `file:///my%20data`
//! or `file:///my%20data?durable=full`.
//!
//! Source: "File system store" of the v3 draft and of Zarr v3; RFC 8089 for the URL.

use std::ffi::OsString;
use std::path::{self, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload, ReadHints,
    Store, StoreConfiguration, StoreError, StoreLock, StorePlugin, StoreResult, Version,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, Output, Pool, Prefix, printable_path, typetag};

mod durability;
mod folders;
mod handles;
mod leftovers;
mod listing;
mod locks;
mod place;
mod reading;
mod removing;
mod state;
mod steps;
mod unnamed;
mod url;
mod versions;
mod writing;

use folders::Folders;
use handles::Handles;
use place::{Base, failed};
use state::State;
use unnamed::UnnamedFiles;
use writing::Names;

pub use leftovers::Leftover;
pub use locks::Locking;
pub use zarr_spec::store::Durability;

zarr_spec::register!(
    StorePlugin::new("filesystem", &["", "file"], &open)
        .configuration::<FilesystemConfiguration>()
        .about("Stores each value as a file in a folder.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr"}"#),
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr", "durable": "full"}"#),
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr", "locking": "lockfile"}"#),
    Example::v3(r#"{"type": "filesystem", "path": "data.zarr", "locking": "none"}"#),
];

/// A folder of files, one per value.
#[derive(Debug)]
pub struct FilesystemStore {
    base: Base,
    folders: Folders,
    durability: Durability,
    locking: Locking,
    /// The time after which a lock file that stays the same is an error.
    lock_patience: Duration,
    /// Whether to treat the file system as one that is not local.
    locks_files: bool,
    /// Whether the file system is local. Determined at the first use.
    is_local: OnceLock<bool>,
    /// The closest folder at or above the root that existed before the first durable write.
    existing_ancestor: OnceLock<PathBuf>,
    unnamed_files: UnnamedFiles,
    writers: Pool<Writer>,
    /// Scratch buffers for the paths of values that are read.
    paths: Pool<OsString>,
}

/// Scratch memory and folder handles of one writing thread.
#[derive(Debug, Default)]
struct Writer {
    /// Scratch buffers for the path of a value and for the path of its temporary file.
    value: OsString,
    temporary: OsString,
    handles: Handles,
    names: Names,
    /// Whether the last value replaced another one in a folder that the store created. If so, the next value will
    /// probably replace one, too.
    replaces: bool,
}

impl FilesystemStore {
    /// Opens the folder `root`. The folder does not need to exist: the first written value creates it. A
    /// relative path is resolved now, against the current directory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if `root` is not a folder, [`StoreError::Io`] if the path is empty.
    pub fn open(root: impl AsRef<Path>) -> StoreResult<Self> {
        let root = root.as_ref();
        let absolute = path::absolute(root).map_err(|error| failed("opening", root, error))?;
        if let Some(what) = State::at(&absolute).ok().and_then(|state| state.no_folder()) {
            return Err(Invalid::new(format!("`{}` is {what}, not a folder", printable_path(root))).into());
        }
        Ok(Self {
            base: Base::new(&absolute),
            folders: Folders::default(),
            durability: Durability::default(),
            locking: Locking::default(),
            lock_patience: locks::PATIENCE,
            locks_files: false,
            is_local: OnceLock::new(),
            existing_ancestor: OnceLock::new(),
            unnamed_files: UnnamedFiles::default(),
            writers: Pool::new(),
            paths: Pool::new(),
        })
    }

    /// Opens a path or a `file:` URL, such as [`Store::location`] returns. See [`FilesystemStore::open`].
    ///
    /// # Errors
    ///
    /// Those of [`FilesystemStore::open`], and [`StoreError::Invalid`] for a URL with a host or a query.
    pub fn open_url(text: &str) -> StoreResult<Self> {
        match url::path_of(text)? {
            Some(path) => Self::open(path),
            None => Self::open(text),
        }
    }

    /// Sets what each change waits for.
    #[must_use]
    pub fn durable(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how processes that write to the folder exclude each other.
    #[must_use]
    pub fn locking(mut self, locking: Locking) -> Self {
        self.locking = locking;
        self
    }

    /// Sets the time after which a writer fails if a lock file of [`Locking::Lockfile`] stays the same.
    #[must_use]
    pub fn lock_patience(mut self, patience: Duration) -> Self {
        self.lock_patience = patience;
        self
    }

    /// Uses lock files and hashes of contents, as on a file system that is not local.
    #[doc(hidden)]
    #[must_use]
    pub fn locks_files(mut self) -> Self {
        self.locks_files = true;
        self
    }

    /// Returns the root folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.base.root()
    }
}

impl FilesystemStore {
    fn need_locks(&self) -> StoreResult<()> {
        match self.locking {
            Locking::None => Err(StoreError::not_supported(self, "not conditional")),
            Locking::Os | Locking::Lockfile => Ok(()),
        }
    }

    /// Reads a value and its version for a conditional write.
    fn get_for_update(
        &self,
        key: &Key,
        range: ByteRange,
        to: &mut Output<'_>,
    ) -> StoreResult<Option<GetResult>> {
        let path = self.base.value(key)?;
        if let ByteRange::Range { size: 0, .. } = range
            && self.is_local()
        {
            // Only the version is requested. It can be read without opening the file.
            match reading::state(&path)? {
                None => return Ok(None),
                Some(state) if state.precise_version().is_some() => return Ok(Some(state.with_contents())),
                Some(_) => {}
            }
        }
        let Some(file) = reading::opened(&path)? else { return Ok(None) };
        let before = to.written().len();
        let Some(mut found) = reading::read_file(key, &path, &file, range, to)? else { return Ok(None) };
        let reading = |error| failed("reading", &path, error);
        let state = State::of(&file).map_err(reading)?;
        let whole = (range == ByteRange::Full).then(|| &to.written()[before..]);
        found.version = Some(self.version_of(&file, &state, whole).map_err(reading)?);
        Ok(Some(found))
    }
}

impl Store for FilesystemStore {
    fn location(&self) -> String {
        url::url_of(self.path())
    }

    fn capabilities(&self) -> Capabilities {
        match self.locking {
            Locking::Os | Locking::Lockfile => Capabilities::ALL_AND_CONDITIONAL,
            Locking::None => Capabilities::ALL,
        }
    }

    fn read_hints(&self) -> ReadHints {
        // Opening a file takes about as long as reading 64 KiB.
        ReadHints::new(0, 64 << 10)
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let is_whole = options.range == ByteRange::Full;
        if options.for_update && self.locking != Locking::None {
            return self.get_for_update(key, options.range, to);
        }
        let without_version = !options.may_cache && is_whole && to.remaining() <= reading::SMALL;
        self.paths.with(OsString::new, |path| {
            self.base.put_value(key, path)?;
            match without_version {
                true => reading::read_small(key, Path::new(path), to),
                false => reading::read(key, Path::new(path), options.range, to),
            }
        })
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.writers.with(Writer::default, |writer| self.write(key, &value, None, writer)).map(drop)
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        self.need_locks()?;
        self.writers.with(Writer::default, |writer| self.write(key, &value, Some(condition), writer))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        self.need_locks()?;
        self.remove(key, Some(version))
    }

    fn lock(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
        self.lock_change(key)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.remove(key, None).map(drop)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        self.remove_below(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        Ok(Box::new(listing::KeysBelow::new(&self.base, prefix)?))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        listing::directory(&self.base, prefix)
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(reading::state(&self.base.value(key)?)?.map(|state| state.size))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesystemConfiguration {
    path: PathBuf,
    #[serde(default)]
    durable: Durability,
    #[serde(default)]
    locking: Locking,
}

#[typetag::deserialize(name = "filesystem")]
impl StoreConfiguration for FilesystemConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        Ok(Arc::new(FilesystemStore::open(&self.path)?.durable(self.durable).locking(self.locking)))
    }
}

fn open(text: &str) -> StoreResult<Arc<dyn Store>> {
    let (location, durability) = durability::of_url(text)?;
    Ok(Arc::new(FilesystemStore::open_url(location)?.durable(durability)))
}
