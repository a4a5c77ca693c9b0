//! The `filesystem` store: a folder of files, one per value.
//!
//! The key is the path of the file below the root, with the system's separators. A folder is there as long as a value
//! is below it; one without any value is nothing to the store but a prefix in the listing of the folder above. A value
//! is written beside its place and renamed, so a reader sees the old one or the new one and a crash leaves no half of
//! one. It leaves a file whose name begins with `.zarr-tmp-`; such names are hidden, and no key may have them.
//!
//! Symbolic links are followed for reading and listing wherever they lead. Nothing is written or erased in a folder
//! outside of the root that a link leads to, and what is erased is the link, never what it leads to. A folder is
//! looked at once and then remembered: programs that turn folders of an open store into links, or put links to folders
//! where it writes values, are on their own.
//!
//! Keys are as case sensitive as the file system is. Files whose names are no keys (no Unicode, control characters)
//! are not listed.
//!
//! Opened as `{"type": "filesystem", "path": …}`, a path, or a URL like `file:///my%20data`.
//!
//! Source: "File system store" of the v3 draft and of Zarr v3; RFC 8089 for the URL.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, Directory, Got, Manner, Store, StoreConfiguration, StoreError, StorePlugin,
    Version,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, Output, Prefix, typetag};

mod folders;
mod listing;
mod place;
mod removing;
mod url;
mod writing;

use folders::Folders;
use place::{Base, failed};

zarr_spec::register!(
    StorePlugin::new("filesystem", &["", "file"], open)
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
}

impl FilesystemStore {
    /// The values in the folder `root`. It need not be there: without it there are no values, and the first one that
    /// is set makes it. A relative path means the folder that it names now.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for a file, [`StoreError::Io`] for an empty path.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, StoreError> {
        let root = root.as_ref();
        let absolute = path::absolute(root).map_err(|error| failed("opening", root, error))?;
        if absolute.is_file() {
            return Err(Invalid::new(format!("`{}` is a file, not a folder", root.display())).into());
        }
        Ok(Self { base: Base::new(&absolute), folders: Folders::default(), durable: false })
    }

    /// Whether [`Store::set`] waits until the value and its name are on the disk, so that a crash of the whole system
    /// loses nothing that was set. Slow; off unless asked for.
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

    fn manner(&self) -> Manner {
        // A gap of 64 KiB is read in about the time that opening a file takes.
        Manner { concurrency: 0, join_gap: 64 << 10 }
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        let path = self.base.value(key)?;
        let reading = |error| failed("reading", &path, error);
        if let ByteRange::Range { size: 0, .. } = range {
            return match fs::metadata(&path) {
                Ok(metadata) => Ok(metadata.is_file().then(|| nothing_of(&metadata))),
                Err(error) if is_absent(&error) => Ok(None),
                Err(error) => Err(reading(error)),
            };
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            // Some systems do not open folders.
            Err(_) if path.is_dir() => return Ok(None),
            Err(error) => return Err(reading(error)),
        };
        let metadata = file.metadata().map_err(reading)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let part = range.within(metadata.len());
        let too_large = |source| StoreError::TooLarge { key: key.to_string(), source };
        let size = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let spare = to.spare(size).map_err(too_large)?;
        read_at(file, part.start, &mut spare[..size]).map_err(reading)?;
        to.advance(size);
        Ok(Some(Got { contents: Contents::Written, size: metadata.len(), version: version(&metadata) }))
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.write(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.remove(key)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.remove_below(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        listing::keys_below(&self.base, prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        listing::directory(&self.base, prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        let path = self.base.value(key)?;
        match fs::metadata(&path) {
            Ok(metadata) => Ok(metadata.is_file().then_some(metadata.len())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(failed("reading", &path, error)),
        }
    }
}

/// No bytes of a value: whoever asks for them wants to know its size and version.
fn nothing_of(metadata: &Metadata) -> Got {
    Got { contents: Contents::Written, size: metadata.len(), version: version(metadata) }
}

/// Fills `bytes` from byte `offset` on. A file that another program made shorter in the meantime is an error.
fn read_at(mut file: File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if offset > 0 {
        file.seek(SeekFrom::Start(offset))?;
    }
    file.read_exact(bytes)
}

/// Time of the last change, size, and which file it is: every `set` makes a new one.
fn version(metadata: &Metadata) -> Option<Version> {
    let changed = metadata.modified().ok()?;
    // Before 1970 it is the time until then, which tells states apart as well.
    let since_1970 = changed.duration_since(std::time::UNIX_EPOCH).unwrap_or_else(|before| before.duration());
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&since_1970.as_nanos().to_le_bytes());
    bytes[16..24].copy_from_slice(&metadata.len().to_le_bytes());
    bytes[24..].copy_from_slice(&identity(metadata).to_le_bytes());
    Some(Version::new(bytes))
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// The time when the file was made has to do, in the nanoseconds that fit.
#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> u64 {
    let made = metadata.created().ok().and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    made.map_or(0, |made| made.as_secs().wrapping_mul(1_000_000_000).wrapping_add(made.subsec_nanos().into()))
}

/// No such file, also where a folder of its path is a file.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
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
    fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(FilesystemStore::open(&self.path)?.durable(self.durable)))
    }
}

fn open(text: &str) -> Result<Arc<dyn Store>, StoreError> {
    let store = match url::path_of(text)? {
        Some(path) => FilesystemStore::open(path)?,
        None => FilesystemStore::open(text)?,
    };
    Ok(Arc::new(store))
}
