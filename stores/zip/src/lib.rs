//! The `zip` store: values in one zip archive, which can be created and changed in a file or in another store.
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
//! An archive may be a value of another store, such as an object store or another archive. Its directory is read with
//! one or two requests. A value is usually read with one request, and several values with one batch of requests.
//!
//! Opened as `{"type": "zip", "path": …}`, as a URL `zip:PATH` whose path is not escaped, as the path of a file that
//! starts like an archive, as the step `LOCATION|zip:` of a URL pipeline, or as
//! `{"type": "zip", "store": {…}, "key": …}`.
//!
//! **Changes** are in a temporary file until a commit, and visible in this process. Until the commit, all other programs
//! read the old archive, also if the process is killed. New values are not compressed. New values that replace old ones
//! leave unused bytes in the archive; [`pack`] writes an archive without them.
//!
//! The first change of a local archive ([`LocalZipStore`]) copies it to a temporary file next to it. A commit completes
//! this file, waits until it is on the disk, and gives it the name of the archive. One program can change an archive at
//! a time.
//!
//! A commit of an archive in another store ([`StoredZipStore`]) reads the old entries, and writes the new archive as one
//! value, under the condition that the old one is unchanged. Of several programs, the first one to commit succeeds; the
//! others get an error.
//!
//! Source: APPNOTE.TXT 6.3.10 of PKWARE. [`pack`] writes entries in the order of RFC-9 of OME-Zarr.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rawzip::{FileReader, ReaderAt};
use serde::Deserialize;
use zarr_plugin_kit::sorted;
use zarr_spec::store::{
    Capabilities, Contents, DescribedStore, Directory, Durability, GetOptions, GetResult, IoKind, Keys,
    Payload, ReadHints, Request, Responses, Step, Store, StoreConfiguration, StoreError, StorePlugin,
    StoreResult, Version, get_each,
};
use zarr_spec::{
    BoxError, ByteRange, Example, Invalid, Key, LimitExceeded, Output, Pool, Prefix, printable_path, typetag,
};

mod changing;
mod directory;
mod inflate;
mod local;
mod names;
mod packing;
mod ranges;
mod records;
mod scratch;
mod session;
mod stored;
mod temporary;
mod within;

use directory::{Entries, Entry, Form};
use inflate::Inflater;
pub use local::LocalZipStore;
pub use packing::{Packed, pack};
use stored::{Access, StoredArchive};
pub use within::StoredZipStore;

zarr_spec::register!(
    StorePlugin::new("zip", &["zip"], &open)
        .recognizing(is_archive)
        .step(&open_step)
        .configuration::<ZipConfiguration>()
        .about("Stores values in a zip archive.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "zip", "path": "data.zip"}"#)];

/// Values in a zip archive, read-only. [`LocalZipStore`] and [`StoredZipStore`] also change archives.
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
    pub fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        let path = path.as_ref();
        let opening = |error: io::Error| StoreError::io("opening", printable_path(path).to_string(), error);
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let shown = printable_path(path);
                let what = format!("`{shown}` does not exist; `LocalZipStore` creates zip archives");
                return Err(Invalid::new(what).into());
            }
            file => file.map_err(opening)?,
        };
        if !file.metadata().map_err(opening)?.is_file() {
            return Err(Invalid::new(format!(
                "`{}` is a folder, expected a zip archive",
                printable_path(path)
            ))
            .into());
        }
        let name = path::absolute(path).map_err(opening)?.display().to_string();
        Self::of_file(file, name)
    }

    /// Opens the archive in an open file.
    fn of_file(file: File, name: String) -> StoreResult<Self> {
        let state = file.metadata().map_err(|error| StoreError::io("opening", name.clone(), error))?;
        let since = state.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let changed = since.map_or(0, |since| since.as_secs() << 30 | u64::from(since.subsec_nanos()));
        Self::new(Source::File(file.into(), state.len()), name, changed)
    }

    /// Returns an archive without values. It is not the content of a file.
    fn empty(name: String) -> Self {
        let source = Source::Memory(Bytes::new());
        Self { source, name, entries: Entries::default(), changed: 0, inflaters: Pool::new() }
    }

    /// Opens an archive in memory.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it is not a complete archive.
    pub fn from_bytes(archive: Bytes) -> StoreResult<Self> {
        Self::new(Source::Memory(archive), "memory".to_owned(), 0)
    }

    /// Opens the archive that is the value of `key` in another store. Its directory is read with one or two requests.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the value does not exist or is not a complete archive, and the errors of `store`.
    pub fn within(store: Arc<dyn Store>, key: Key) -> StoreResult<Self> {
        match StoredArchive::open(&store, &key, Access::Reading)? {
            Some(archive) => Self::of_stored(archive),
            None => Err(stored::missing(&*store, &key)),
        }
    }

    /// Opens an archive in a store, whose end was read.
    fn of_stored(archive: StoredArchive) -> StoreResult<Self> {
        let name = archive.place();
        let mut hasher = DefaultHasher::new();
        archive.version().hash(&mut hasher);
        let mut store = Self::new(Source::Stored(archive), name, hasher.finish())?;
        if let Source::Stored(archive) = &mut store.source {
            archive.finish_opening();
        }
        Ok(store)
    }

    fn new(source: Source, name: String, changed: u64) -> StoreResult<Self> {
        let entries = directory::read(&source).map_err(|reason| not_an_archive(&name, &reason))?;
        Ok(Self { source, name, entries, changed, inflaters: Pool::new() })
    }

    /// Checks the number of values in an archive that was written.
    fn check_count(&self, values: usize) -> Result<(), BoxError> {
        let found = self.entries.all().len();
        match found == values {
            true => Ok(()),
            false => Err(format!("the new archive has {found} values, expected {values}").into()),
        }
    }

    /// Returns the byte range of the archive that is the value of `key`; `None` if the key is missing or the value is
    /// compressed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the local header of the entry is damaged or cannot be read.
    pub fn stored_range(&self, key: &Key) -> StoreResult<Option<Range<u64>>> {
        let Some(entry) = self.entries.find(key).filter(|entry| entry.form() == Form::Stored) else {
            return Ok(None);
        };
        let place = || format!("{}/{key}", self.name);
        let start = entry.start(&self.source).map_err(|error| StoreError::io("reading", place(), error))?;
        Ok(Some(start..start + entry.size()))
    }

    /// Writes the bytes `part` of an entry's value to `to`, which has space for them.
    fn read(
        &self,
        source: &impl ReaderAt,
        entry: &Entry,
        part: &Range<u64>,
        to: &mut Output<'_>,
    ) -> Result<(), BoxError> {
        if part.is_empty() {
            return Ok(());
        }
        let start = entry.start(source)?;
        let before = to.written().len();
        if entry.form() == Form::Deflated {
            let encoded = start..start + entry.encoded_size();
            self.inflaters
                .with(Inflater::new, |inflater| inflater.inflate(source, encoded, entry.size(), part, to))?;
        } else {
            let size = usize::try_from(part.end - part.start)?;
            source.read_exact_at(&mut to.spare(size)?[..size], start + part.start)?;
            to.advance(size);
        }
        check_whole(entry, part, &to.written()[before..])
    }

    /// Refuses an entry that cannot be read, and a part that is larger than `limit`. Returns the part.
    fn part(&self, key: &Key, entry: &Entry, range: ByteRange, limit: usize) -> StoreResult<Range<u64>> {
        if let Form::Refused(reason) = entry.form() {
            return Err(self.failed(key, reason.to_string().into()));
        }
        let part = range.within(entry.size());
        if part.end - part.start > limit as u64 {
            return Err(StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } });
        }
        Ok(part)
    }

    /// Reads the value of an entry whose bytes are in `source`.
    fn get_from(
        &self,
        source: &Source,
        entry: &Entry,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> StoreResult<GetResult> {
        let part = self.part(entry.key(), entry, options.range, to.remaining())?;
        self.read(source, entry, &part, to).map_err(|error| self.failed(entry.key(), error))?;
        Ok(GetResult::new(Contents::Written, entry.size(), Some(self.version_of(entry))))
    }

    fn failed(&self, key: &Key, source: BoxError) -> StoreError {
        let is_damaged = source.is::<Damage>();
        let error = StoreError::io("reading", format!("{}/{key}", self.name), source);
        if is_damaged { error.with_kind(IoKind::Damaged) } else { error }
    }

    fn version_of(&self, entry: &Entry) -> Version {
        let mut version = [0; 28];
        for (number, part) in [self.changed, entry.header(), entry.size()].into_iter().enumerate() {
            version[8 * number..][..8].copy_from_slice(&part.to_le_bytes());
        }
        version[24..].copy_from_slice(&entry.crc32().to_le_bytes());
        Version::new(version)
    }
}

impl Store for ZipStore {
    fn location(&self) -> String {
        match &self.source {
            Source::Stored(_) => format!("{}|zip:", self.name),
            _ => format!("zip:{}", self.name),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::READ_ONLY
    }

    fn read_hints(&self) -> ReadHints {
        match &self.source {
            Source::Stored(archive) => archive.hints(),
            // The file is open: a read takes about as long as copying this number of bytes.
            _ => ReadHints::new(0, 16 << 10),
        }
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let Some(entry) = self.entries.find(key) else { return Ok(None) };
        let part = self.part(key, entry, options.range, to.remaining())?;
        let contents = match &self.source {
            Source::Stored(archive) => ranges::read(self, archive, entry, &part, to),
            source => self.read(source, entry, &part, to).map(|()| Contents::Written),
        };
        let contents = contents.map_err(|error| self.failed(key, error))?;
        Ok(Some(GetResult::new(contents, entry.size(), Some(self.version_of(entry)))))
    }

    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        match &self.source {
            Source::Stored(archive) => ranges::get_many(self, archive, requests, budget),
            _ => get_each(self, requests),
        }
    }

    fn set(&self, _key: &Key, _value: Payload<'_>) -> StoreResult<()> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn set_partial_values(&self, _values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn erase(&self, _key: &Key) -> StoreResult<()> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_values(&self, _keys: &[Key]) -> StoreResult<()> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_prefix(&self, _prefix: &Prefix) -> StoreResult<()> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let below = sorted::below(self.entries.all(), prefix, Entry::key);
        Ok(Box::new(below.iter().map(|entry| Ok(entry.key().clone()))))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        Ok(sorted::directory(self.entries.all(), prefix, Entry::key)?)
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(self.entries.find(key).map(Entry::size))
    }
}

/// The bytes of the archive. Reading them does not take a lock.
#[derive(Debug)]
enum Source {
    /// A file, and its size in bytes when it was opened.
    File(FileReader, u64),
    Memory(Bytes),
    Stored(StoredArchive),
}

impl Source {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Stored(archive) => archive.size,
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
            Self::Stored(archive) => archive.read_at(bytes, offset),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZipConfiguration {
    /// The path of an archive.
    path: Option<PathBuf>,
    /// A store that contains an archive.
    store: Option<DescribedStore>,
    /// The key of the archive in the store.
    key: Option<String>,
    /// Whether a commit waits until the name of a local archive is on the disk. It always waits for the contents.
    durable: Option<Durability>,
}

#[typetag::deserialize(name = "zip")]
impl StoreConfiguration for ZipConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        match (&self.path, &self.store, &self.key) {
            (Some(path), None, None) => {
                Ok(Arc::new(LocalZipStore::open(path)?.durable(self.durable.unwrap_or_default())))
            }
            _ if self.durable.is_some() => {
                Err(Invalid::new("`durable` is an option of an archive with `path`").into())
            }
            (None, Some(store), Some(key)) => {
                Ok(Arc::new(StoredZipStore::open(store.open(given)?, Key::new(&**key)?)?))
            }
            _ => Err(Invalid::new("a zip store needs either `path`, or `store` and `key`").into()),
        }
    }
}

/// Extensions of the names of archives. `ozx` is that of OME-Zarr.
const EXTENSIONS: [&str; 2] = ["zip", "ozx"];

/// The possible first bytes of an archive: a local file header, the end of an empty central directory, or the
/// signature of an archive in several parts.
const SIGNATURES: [[u8; 4]; 3] = [*b"PK\x03\x04", *b"PK\x05\x06", *b"PK\x07\x08"];

fn open(url: &str) -> StoreResult<Arc<dyn Store>> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    let has_host = path.starts_with("//") && !path.starts_with("///");
    if path.is_empty() || has_host {
        let what = format!("`{url}`: expected the path of an archive after `zip:`, such as `zip:data.zip`");
        return Err(Invalid::new(what).into());
    }
    Ok(Arc::new(LocalZipStore::open(path)?))
}

fn open_step(step: &Step<'_>) -> StoreResult<Arc<dyn Store>> {
    if let Some((name, _)) = step.options.first() {
        return Err(Invalid::new(format!("`|zip:` does not have options, found `{name}`")).into());
    }
    if let Some(path) = step.path {
        return open(&format!("zip:{}", path.display()));
    }
    let (store, key) = step.locations.open_file(step.input)?;
    Ok(Arc::new(StoredZipStore::open(store, key)?))
}

/// A value differs from what the directory of the archive records.
#[derive(Debug)]
struct Damage(String);

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Damage {}

fn not_an_archive(name: &str, reason: &str) -> Invalid {
    Invalid::new(format!("`{name}` cannot be read as a zip archive: {reason}"))
}

/// Compares the CRC-32 of a whole value with that in the archive.
fn check_whole(entry: &Entry, part: &Range<u64>, bytes: &[u8]) -> Result<(), BoxError> {
    let is_whole = *part == (0..entry.size());
    if is_whole && crc32fast::hash(bytes) != entry.crc32() {
        return Err(Damage("the CRC-32 of its bytes differs from the one in the archive".to_owned()).into());
    }
    Ok(())
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
