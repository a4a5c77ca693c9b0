//! Uncommitted changes of an archive: a temporary file next to the archive, which replaces the archive in one step.
//!
//! The temporary file begins with the entries of the archive, as they are. New entries follow, and at the end a
//! directory of all of them. Until it replaces the archive, every program reads the old one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rawzip::ReaderAt;
use zarr_spec::{BoxError, Key};

use crate::directory::Entry;
use crate::{Source, ZipStore, records};

/// The prefix of the names of temporary files.
const TEMPORARY: &str = ".zarr-tmp-";

/// The suffix of the name of the file that is locked while a temporary file exists.
const LOCK: &str = ".lock";

/// The number of bytes that are moved at a time.
const PIECE: usize = 1 << 20;

/// The gaps of replaced and erased new entries are closed if they take at least an eighth of all new bytes.
const UNUSED: u64 = 8;

/// The changes since the last commit: the new entry of a key, or `None` if it was erased.
pub(crate) type Changes = BTreeMap<Key, Option<Arc<Entry>>>;

/// A temporary file, and what it changes.
#[derive(Debug)]
pub(crate) struct Session {
    path: PathBuf,
    lock: Lock,
    /// The process that began the session. A forked child does not own the file.
    process: u32,
    /// The offset of the first new entry.
    begin: u64,
    tail: Mutex<Tail>,
    source: Source,
    changes: RwLock<Changes>,
}

/// The end of the new entries.
#[derive(Debug)]
struct Tail {
    file: File,
    offset: u64,
}

impl Session {
    /// Begins to change the archive at the path `archive`. If the archive exists, `old` has read it.
    ///
    /// `check` runs after the lock excludes changes by other programs.
    ///
    /// # Errors
    ///
    /// If another program changes the archive, or the temporary file cannot be written.
    pub(crate) fn begin(
        archive: &Path,
        old: &ZipStore,
        check: impl FnOnce() -> Result<(), BoxError>,
    ) -> Result<Self, BoxError> {
        let begin = old.entries.layout().records.start;
        if old.entries.layout().is_shifted {
            return Err(
                "the archive is preceded by bytes that its offsets do not count; copy it to a new archive"
                    .into(),
            );
        }
        let path = temporary(archive, "");
        let lock = Lock::take(temporary(archive, LOCK))?;
        check()?;
        // The lock excludes other processes, so an existing file of this name was left by one that was killed.
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        let source = Source::File(File::open(&path)?.into(), u64::MAX);
        let session = Self {
            path,
            lock,
            process: process::id(),
            begin,
            tail: Mutex::new(Tail { file, offset: begin }),
            source,
            changes: RwLock::default(),
        };
        session.copy(archive, begin)?;
        Ok(session)
    }

    /// Copies the old entries.
    fn copy(&self, archive: &Path, size: u64) -> Result<(), BoxError> {
        if size == 0 {
            return Ok(());
        }
        let copied = io::copy(&mut File::open(archive)?.take(size), &mut &self.tail().file)?;
        if copied == size { Ok(()) } else { Err("the archive is truncated".into()) }
    }

    // Every change is a single step, so a panic leaves the values consistent.
    pub(crate) fn changes(&self) -> RwLockReadGuard<'_, Changes> {
        self.changes.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn changing(&self) -> RwLockWriteGuard<'_, Changes> {
        self.changes.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of new entries.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether this process began the session. After a fork, the child did not.
    pub(crate) fn is_own(&self) -> bool {
        self.process == process::id()
    }

    /// Writes a value. Nothing refers to it until the entry is added to the changes.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The next value then overwrites this one.
    pub(crate) fn append(&self, key: &Key, value: &[u8]) -> io::Result<Arc<Entry>> {
        let size = value.len() as u64;
        let crc32 = crc32fast::hash(value);
        let header = records::local_header(key, size, crc32);
        let header_size = header.len() as u64;
        let mut tail = self.tail();
        let offset = tail.offset;
        tail.file.seek(SeekFrom::Start(offset))?;
        tail.file.write_all(&header)?;
        tail.file.write_all(value)?;
        tail.offset = offset + header_size + size;
        Ok(Arc::new(Entry::stored(key.clone(), offset, header_size, size, crc32)))
    }

    /// Closes the gaps that replaced and erased new entries left, if the gaps are large enough ([`UNUSED`]).
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The new entries may then be damaged.
    pub(crate) fn compact(&mut self) -> Result<(), BoxError> {
        let changes = self.changes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let tail = self.tail.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<Arc<Entry>> = changes.values().flatten().cloned().collect();
        new.sort_unstable_by_key(|entry| entry.header());
        let used: u64 = new.iter().map(|entry| entry.limit() - entry.header()).sum();
        let written = tail.offset - self.begin;
        if written - used < written.div_ceil(UNUSED) {
            return Ok(());
        }
        let mut end = self.begin;
        for entry in new {
            let old = entry.header()..entry.limit();
            if end < old.start {
                move_down(&self.source, &mut tail.file, old.clone(), end)?;
                let header_size = entry.limit() - entry.size() - entry.header();
                let moved = Entry::stored(entry.key().clone(), end, header_size, entry.size(), entry.crc32());
                changes.insert(entry.key().clone(), Some(Arc::new(moved)));
            }
            end += old.end - old.start;
        }
        tail.offset = end;
        Ok(())
    }

    /// Writes the directory, and waits until the file is on the disk. Returns the number of values.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The session can still be used.
    pub(crate) fn complete(&mut self, old: &ZipStore) -> Result<usize, BoxError> {
        let changes = self.changes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let tail = self.tail.get_mut().unwrap_or_else(PoisonError::into_inner);
        let layout = old.entries.layout();
        let mut directory = vec![0; usize::try_from(layout.records.end - layout.records.start)?];
        old.source.read_exact_at(&mut directory, layout.records.start)?;
        let mut is_kept = vec![false; usize::try_from(layout.count)?];
        let unchanged = old.entries.all().iter().filter(|entry| !changes.contains_key(entry.key()));
        let unchanged: Vec<u64> = unchanged.map(Entry::number).collect();
        let values = unchanged.len() + changes.values().flatten().count();
        for number in unchanged.into_iter().chain(layout.others.iter().copied()) {
            if let Some(is_kept) = is_kept.get_mut(usize::try_from(number)?) {
                *is_kept = true;
            }
        }
        let mut bytes = Vec::new();
        let mut count = records::keep_records(&mut bytes, &directory, &is_kept)?;
        let mut new: Vec<&Arc<Entry>> = changes.values().flatten().collect();
        new.sort_unstable_by_key(|entry| entry.header());
        for entry in new {
            records::put_record(&mut bytes, entry);
            count += 1;
        }
        records::put_end(&mut bytes, tail.offset, count, layout);
        tail.file.seek(SeekFrom::Start(tail.offset))?;
        tail.file.write_all(&bytes)?;
        tail.file.set_len(tail.offset + bytes.len() as u64)?;
        tail.file.sync_all()?;
        Ok(values)
    }

    /// Gives the completed file the name and the permissions of the archive.
    ///
    /// # Errors
    ///
    /// If the file cannot be renamed. The session can still be used.
    pub(crate) fn replace(&self, archive: &Path) -> io::Result<()> {
        match fs::metadata(archive) {
            Ok(old) => fs::set_permissions(&self.path, old.permissions())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::rename(&self.path, archive)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_own() {
            // After a commit, there is no file. The next session overwrites one that cannot be removed.
            let _removed = fs::remove_file(&self.path);
            self.lock.release();
        }
    }
}

/// The lock file of an archive. It is locked, and removed at the end of the session. A process that is killed leaves
/// the file, unlocked.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock. Another process may remove the file before it is locked; then a new one is created.
    fn take(path: PathBuf) -> Result<Self, BoxError> {
        loop {
            let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, file }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err("another program is changing the archive; try again when it has ended".into());
                }
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }

    fn release(&self) {
        // If this fails, the file stays, unlocked.
        let _removed = fs::remove_file(&self.path);
        let _unlocked_when_it_is_closed = self.file.unlock();
    }
}

/// Returns whether an open file is still at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

/// Returns true: other systems do not remove a file that is open.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// Returns the path of a temporary file of the archive.
fn temporary(archive: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(TEMPORARY);
    name.push(archive.file_name().unwrap_or_default());
    name.push(suffix);
    archive.with_file_name(name)
}

/// Moves bytes to a lower offset of the same file.
fn move_down(
    source: &Source,
    file: &mut File,
    mut from: std::ops::Range<u64>,
    mut to: u64,
) -> Result<(), BoxError> {
    let mut buffer = vec![0; PIECE];
    while from.start < from.end {
        let size = usize::try_from(from.end - from.start).unwrap_or(PIECE).min(PIECE);
        source.read_exact_at(&mut buffer[..size], from.start)?;
        file.seek(SeekFrom::Start(to))?;
        file.write_all(&buffer[..size])?;
        from.start += size as u64;
        to += size as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use zarr_spec::store::{Store, get_value};
    use zarr_spec::{ByteRange, Output};

    use super::*;

    /// Entries whose sizes and offsets need 64 bits, in a file with holes.
    #[test]
    fn numbers_of_more_than_32_bits_are_in_zip64_fields() {
        const LARGE: u64 = 5 << 30;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        let key = |text: &str| Key::new(text).unwrap();
        let old = ZipStore::empty("a.zip".to_owned());
        let mut session = Session::begin(&path, &old, || Ok(())).unwrap();
        let header = records::local_header(&key("large"), LARGE, 0);
        let header_size = header.len() as u64;
        session.tail().file.write_all(&header).unwrap();
        session.tail().offset = header_size + LARGE;
        let large = Entry::stored(key("large"), 0, header_size, LARGE, 0);
        session.changing().insert(key("large"), Some(Arc::new(large)));
        let after = session.append(&key("after"), b"value").unwrap();
        session.changing().insert(key("after"), Some(after));
        session.compact().unwrap();
        assert_eq!(session.complete(&old).unwrap(), 2);
        session.replace(&path).unwrap();
        drop(session);

        let store = ZipStore::open(&path).unwrap();
        assert_eq!(store.size(&key("large")).unwrap(), Some(LARGE));
        let mut output = Output::at_most(3);
        let range = ByteRange::Range { offset: LARGE - 3, size: 9 };
        store.get(&key("large"), range.into(), &mut output).unwrap().unwrap();
        assert_eq!(output.written(), [0; 3]);
        assert_eq!(get_value(&store, &key("after"), 9).unwrap().unwrap(), b"value"[..]);
        assert!(store.stored_range(&key("after")).unwrap().unwrap().start > LARGE);
    }
}
