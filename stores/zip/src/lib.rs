//! The `zip` store: values in one zip archive, read-only.
//!
//! The key is the name of the entry. Opening the archive reads its central directory once. A value that is
//! stored without compression is read in ranges, by any number of threads; a deflated value is inflated up to
//! the end of the requested range. Reading a whole value verifies its CRC-32.
//!
//! The store does not trust the archive. Entries that overlap, extend past the end, are encrypted, use
//! another compression method, or declare an impossible size are listed but cannot be read. If several
//! entries have the same name, the last one counts. Folders and names that are not valid keys, such as `../a`
//! and `/a`, are not listed. Names are UTF-8 if the archive declares so, and code page 437 otherwise.
//!
//! Opened as `{"type": "zip", "path": …}`, as a URL `zip:PATH` whose path is not escaped, or as the path of a
//! file that starts like an archive. [`pack`] writes an archive, which is complete only when its directory is
//! written at the end.
//!
//! Source: APPNOTE.TXT 6.3.10 of PKWARE. [`pack`] writes entries in the order of RFC-9 of OME-Zarr.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rawzip::{FileReader, ReaderAt};
use serde::Deserialize;
use zarr_plugin_kit::sorted;
use zarr_spec::store::{
    Capabilities, Contents, Directory, GetOptions, GetResult, Keys, Payload, ReadHints, Store,
    StoreConfiguration, StoreError, StorePlugin, Version,
};
use zarr_spec::{
    BoxError, Example, Invalid, Key, LimitExceeded, Output, Pool, Prefix, printable_path, typetag,
};

mod directory;
mod inflate;
mod names;
mod packing;

use directory::{Entries, Entry, Form};
use inflate::Inflater;
pub use packing::{Packed, pack};

zarr_spec::register!(
    StorePlugin::new("zip", &["zip"], &open)
        .recognizing(is_archive)
        .configuration::<ZipConfiguration>()
        .about("Reads values from a zip archive.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "zip", "path": "data.zip"}"#)];

/// Values in a zip archive.
#[derive(Debug)]
pub struct ZipStore {
    source: Source,
    /// The name of the archive in messages.
    name: String,
    entries: Entries,
    /// Distinguishes this state of the archive from others.
    changed: u64,
    inflaters: Pool<Inflater>,
}

impl ZipStore {
    /// Opens the archive at `path`, which stays open. Do not change the file meanwhile; replacing it with
    /// another one is fine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the file does not exist or is not a complete archive, [`StoreError::Io`] if
    /// it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let opening = |error: io::Error| StoreError::io("opening", printable_path(path).to_string(), error);
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let shown = printable_path(path);
                let what = format!("`{shown}` does not exist; to create a zip archive, pack another store");
                return Err(Invalid::new(what).into());
            }
            file => file.map_err(opening)?,
        };
        let state = file.metadata().map_err(opening)?;
        if !state.is_file() {
            return Err(Invalid::new(format!(
                "`{}` is a folder, expected a zip archive",
                printable_path(path)
            ))
            .into());
        }
        let since = state.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let changed = since.map_or(0, |since| since.as_secs() << 30 | u64::from(since.subsec_nanos()));
        let name = path::absolute(path).map_err(opening)?.display().to_string();
        Self::new(Source::File(file.into(), state.len()), name, changed)
    }

    /// Opens an archive in memory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it is not a complete archive.
    pub fn from_bytes(archive: Bytes) -> Result<Self, StoreError> {
        Self::new(Source::Memory(archive), "memory".to_owned(), 0)
    }

    fn new(source: Source, name: String, changed: u64) -> Result<Self, StoreError> {
        let entries = directory::read(&source)
            .map_err(|reason| Invalid::new(format!("`{name}` cannot be read as a zip archive: {reason}")))?;
        Ok(Self { source, name, entries, changed, inflaters: Pool::new() })
    }

    /// Returns the byte range of the archive that is the value of `key`; `None` if the key is missing or the value is
    /// compressed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the local header of the entry is damaged or cannot be read.
    pub fn stored_range(&self, key: &Key) -> Result<Option<Range<u64>>, StoreError> {
        let Some(entry) = self.entries.find(key).filter(|entry| entry.form() == Form::Stored) else {
            return Ok(None);
        };
        let place = || format!("{}/{key}", self.name);
        let start = entry.start(&self.source).map_err(|error| StoreError::io("reading", place(), error))?;
        Ok(Some(start..start + entry.size()))
    }

    /// Writes the bytes `part` of an entry's value to `to`, which has space for them.
    fn read(&self, entry: &Entry, part: &Range<u64>, to: &mut Output<'_>) -> Result<(), BoxError> {
        if part.is_empty() {
            return Ok(());
        }
        let start = entry.start(&self.source)?;
        let before = to.written().len();
        if entry.form() == Form::Deflated {
            let encoded = start..start + entry.encoded_size();
            self.inflaters.with(Inflater::new, |inflater| {
                inflater.inflate(&self.source, encoded, entry.size(), part, to)
            })?;
        } else {
            let size = usize::try_from(part.end - part.start)?;
            self.source.read_exact_at(&mut to.spare(size)?[..size], start + part.start)?;
            to.advance(size);
        }
        let is_whole = *part == (0..entry.size());
        if is_whole && crc32fast::hash(&to.written()[before..]) != entry.crc32() {
            return Err("the CRC-32 of its bytes differs from the one in the archive".into());
        }
        Ok(())
    }
}

impl Store for ZipStore {
    fn location(&self) -> String {
        format!("zip:{}", self.name)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::READ_ONLY
    }

    fn read_hints(&self) -> ReadHints {
        // The file is open: a read takes about as long as copying this number of bytes.
        ReadHints::new(0, 16 << 10)
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let Some(entry) = self.entries.find(key) else { return Ok(None) };
        let reading = |source: BoxError| StoreError::io("reading", format!("{}/{key}", self.name), source);
        if let Form::Refused(reason) = entry.form() {
            return Err(reading(reason.to_string().into()));
        }
        let part = options.range.within(entry.size());
        if part.end - part.start > to.remaining() as u64 {
            let source = LimitExceeded { limit: to.remaining() };
            return Err(StoreError::TooLarge { key: key.to_string(), source });
        }
        self.read(entry, &part, to).map_err(reading)?;
        let mut version = [0; 28];
        for (number, part) in [self.changed, entry.header(), entry.size()].into_iter().enumerate() {
            version[8 * number..][..8].copy_from_slice(&part.to_le_bytes());
        }
        version[24..].copy_from_slice(&entry.crc32().to_le_bytes());
        Ok(Some(GetResult::new(Contents::Written, entry.size(), Some(Version::new(version)))))
    }

    fn set(&self, _key: &Key, _value: Payload<'_>) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn set_partial_values(&self, _values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn erase(&self, _key: &Key) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_values(&self, _keys: &[Key]) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_prefix(&self, _prefix: &Prefix) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let below = sorted::below(self.entries.all(), prefix, Entry::key);
        Ok(Box::new(below.iter().map(|entry| Ok(entry.key().clone()))))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        Ok(sorted::directory(self.entries.all(), prefix, Entry::key)?)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        Ok(self.entries.find(key).map(Entry::size))
    }
}

/// The bytes of the archive. Reading them does not take a lock.
#[derive(Debug)]
enum Source {
    /// A file, and its size in bytes when it was opened.
    File(FileReader, u64),
    Memory(Bytes),
}

impl Source {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ReaderAt for Source {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        // Offsets past the end may be too large for the system, so they return early.
        if offset >= self.size() {
            return Ok(0);
        }
        match self {
            Self::File(file, _) => loop {
                match file.read_at(bytes, offset) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => return read,
                }
            },
            Self::Memory(archive) => archive[..].read_at(bytes, offset),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZipConfiguration {
    path: PathBuf,
}

#[typetag::deserialize(name = "zip")]
impl StoreConfiguration for ZipConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(ZipStore::open(&self.path)?))
    }
}

/// Extensions of the names of archives. `ozx` is that of OME-Zarr.
const EXTENSIONS: [&str; 2] = ["zip", "ozx"];

/// The possible first bytes of an archive: a local file header, the end of an empty central directory, or the
/// signature of an archive in several parts.
const SIGNATURES: [[u8; 4]; 3] = [*b"PK\x03\x04", *b"PK\x05\x06", *b"PK\x07\x08"];

fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    let has_host = path.starts_with("//") && !path.starts_with("///");
    if path.is_empty() || has_host {
        let what = format!("`{url}`: expected the path of an archive after `zip:`, such as `zip:data.zip`");
        return Err(Invalid::new(what).into());
    }
    Ok(Arc::new(ZipStore::open(path)?))
}

/// Returns whether `path` is an archive, by its name or its first bytes. Folders are not archives.
fn is_archive(path: &Path) -> bool {
    let is_extension =
        |extension: &OsStr| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known));
    !path.is_dir() && (path.extension().is_some_and(is_extension) || has_signature(path))
}

fn has_signature(path: &Path) -> bool {
    let mut start = [0; 4];
    // Opening a pipe would block.
    let is_read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    is_read && SIGNATURES.contains(&start)
}
