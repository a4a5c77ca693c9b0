//! The `filesystem` store: a folder of files, one per value.
//!
//! The key is the path of the file below the root, with the system's separators. A folder is there as long as a value
//! is below it; one without any value is nothing to the store but a prefix in the listing of the folder above. A value
//! is written beside its place and renamed, so a reader sees the old one or the new one and a crash leaves no half of
//! one. It leaves a file whose name begins with `.zarr-tmp-`; such names are hidden, and no key may have them.
//!
//! Symbolic links are followed for reading and listing wherever they lead. Nothing is written or erased in a folder
//! outside of the root that a link leads to, and what is erased is the link, never what it leads to. A folder is
//! looked at once and then remembered, and kept open for a moment while values are written to it: programs that turn
//! folders of an open store into links, put links to folders where it writes values, or move folders while it writes to
//! them, are on their own.
//!
//! Keys are as case sensitive as the file system is. Files whose names are no keys (no Unicode, control characters)
//! are not listed.
//!
//! Opened as `{"type": "filesystem", "path": …}`, a path, or a URL like `file:///my%20data`.
//!
//! Source: "File system store" of the v3 draft and of Zarr v3; RFC 8089 for the URL.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, Directory, Got, Manner, Store, StoreConfiguration, StoreError, StorePlugin,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, Output, Pool, Prefix, typetag};

mod folders;
mod handles;
mod listing;
mod place;
mod removing;
mod state;
mod url;
mod writing;

use folders::Folders;
use handles::Handles;
use place::{Base, failed};
use state::State;
use writing::Names;

zarr_spec::register!(
    StorePlugin::new("filesystem", &["", "file"], open)
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
    /// [`StoreError::Invalid`] for a file, [`StoreError::Io`] for an empty path.
    pub fn open(root: impl AsRef<Path>) -> Result<Self, StoreError> {
        let root = root.as_ref();
        let absolute = path::absolute(root).map_err(|error| failed("opening", root, error))?;
        if absolute.is_file() {
            return Err(Invalid::new(format!("`{}` is a file, not a folder", root.display())).into());
        }
        Ok(Self {
            base: Base::new(&absolute),
            folders: Folders::default(),
            durable: false,
            writers: Pool::new(),
            paths: Pool::new(),
        })
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
        self.paths.with(OsString::new, |path| {
            self.base.put_value(key, path)?;
            read(key, Path::new(path), range, to)
        })
    }

    fn get_once(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        if range != ByteRange::Full || to.remaining() > SMALL {
            return self.get(key, range, to);
        }
        self.paths.with(OsString::new, |path| {
            self.base.put_value(key, path)?;
            read_small(key, Path::new(path), to)
        })
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.writers.with(Writer::default, |writer| self.write(key, value, writer))
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
        match State::at(&path) {
            Ok(state) => Ok(state.is_file.then_some(state.size)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(failed("reading", &path, error)),
        }
    }
}

/// Bytes of values that are read before anything is asked of their files, if nobody wants to know the version. Asking
/// takes 4 % of the time of reading a chunk of 2 KiB.
const SMALL: usize = 64 << 10;

/// Reads a value without its version, where it has as many bytes as there should be: who asks leaves room for one more, to
/// see that there is none.
fn read_small(key: &Key, path: &Path, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
    let reading = |error| failed("reading", path, error);
    let Some(mut file) = opened(path)? else { return Ok(None) };
    let room = to.remaining();
    let spare = to.spare(room).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
    // A folder cannot be read; any other failure happens again below.
    let size = file.read(&mut spare[..room]).unwrap_or(0);
    let whole = Got { contents: Contents::Written, size: size as u64, version: None };
    if size > 0 && size + 1 == room {
        to.advance(size);
        return Ok(Some(whole));
    }
    let state = State::of(&file).map_err(reading)?;
    if !state.is_file {
        return Ok(None);
    }
    if state.size == whole.size {
        to.advance(size);
        return Ok(Some(state.with_contents()));
    }
    file.rewind().map_err(reading)?;
    read_file(key, (path, file), ByteRange::Full, to)
}

/// Reads a value, or part of it, from the file at `path`.
fn read(key: &Key, path: &Path, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
    let reading = |error| failed("reading", path, error);
    if let ByteRange::Range { size: 0, .. } = range {
        // Whoever asks for no bytes wants to know the size and the version.
        return match State::at(path) {
            Ok(state) => Ok(state.is_file.then(|| state.with_contents())),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(reading(error)),
        };
    }
    match opened(path)? {
        Some(file) => read_file(key, (path, file), range, to),
        None => Ok(None),
    }
}

/// The file at `path`, if there is one.
fn opened(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_absent(&error) => Ok(None),
        // Some systems do not open folders.
        Err(_) if path.is_dir() => Ok(None),
        Err(error) => Err(failed("reading", path, error)),
    }
}

/// Reads a value, or part of it, from its file, of which nothing was read.
fn read_file(
    key: &Key,
    (path, file): (&Path, File),
    range: ByteRange,
    to: &mut Output<'_>,
) -> Result<Option<Got>, StoreError> {
    let reading = |error| failed("reading", path, error);
    let state = State::of(&file).map_err(reading)?;
    if !state.is_file {
        return Ok(None);
    }
    let part = range.within(state.size);
    let too_large = |source| StoreError::TooLarge { key: key.to_string(), source };
    let size = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
    let spare = to.spare(size).map_err(too_large)?;
    read_at(file, part.start, &mut spare[..size]).map_err(reading)?;
    to.advance(size);
    Ok(Some(state.with_contents()))
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
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
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
