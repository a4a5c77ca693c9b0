//! Uncommitted changes of an archive: a temporary file with the next state of the archive.
//!
//! The file begins with the entries of the archive, as they are. New entries follow, and at the end a directory of all of
//! them. Until the file replaces the archive, every program reads the old one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rawzip::ReaderAt;
use zarr_spec::{BoxError, Key};

use crate::directory::Entry;
use crate::{Source, ZipStore, records};

/// The number of bytes that are moved at a time.
pub(crate) const PIECE: usize = 1 << 20;

/// The gaps of replaced and erased new entries are closed if they take at least an eighth of all new bytes.
const UNUSED: u64 = 8;

/// The changes since the last commit: the new entry of a key, or `None` if it was erased.
pub(crate) type Changes = BTreeMap<Key, Option<Arc<Entry>>>;

/// A temporary file, and what it changes.
#[derive(Debug)]
pub(crate) struct Session {
    /// The process that began the session. A forked child does not own the file.
    process: u32,
    /// The offset of the first new entry.
    begin: u64,
    tail: Mutex<Tail>,
    source: Source,
    changes: RwLock<Changes>,
    /// Whether the bytes before the tail may be in use, so that they are not changed.
    is_fixed: bool,
}

/// The end of the new entries.
#[derive(Debug)]
struct Tail {
    file: File,
    offset: u64,
}

impl Session {
    /// Returns the offset of the first new entry in the next state of `old`.
    ///
    /// # Errors
    ///
    /// If the archive cannot be changed.
    pub(crate) fn begin_of(old: &ZipStore) -> Result<u64, BoxError> {
        let layout = old.entries.layout();
        match layout.is_shifted {
            false => Ok(layout.records.start),
            true => Err(
                "the archive is preceded by bytes that its offsets do not count; copy it to a new archive"
                    .into(),
            ),
        }
    }

    /// Begins a session. New entries are written to `file`, beginning at byte `begin`, and read from `reader`, which is
    /// the same file. The caller copies the old entries.
    pub(crate) fn new(file: File, reader: File, begin: u64) -> Self {
        Self {
            process: process::id(),
            begin,
            tail: Mutex::new(Tail { file, offset: begin }),
            source: Source::File(reader.into(), u64::MAX),
            changes: RwLock::default(),
            is_fixed: false,
        }
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

    /// Returns the offset of the first new entry.
    pub(crate) fn begin(&self) -> u64 {
        self.begin
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

    /// Writes bytes of old entries, which are before the new ones.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn write_old(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut tail = self.tail();
        tail.file.seek(SeekFrom::Start(offset))?;
        tail.file.write_all(bytes)
    }

    /// Closes the gaps that replaced and erased new entries left, if the gaps are large enough ([`UNUSED`]).
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The new entries may then be damaged.
    pub(crate) fn compact(&mut self) -> Result<(), BoxError> {
        if self.is_fixed {
            return Ok(());
        }
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

    /// Writes the directory. Returns the number of values.
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
        Ok(values)
    }

    /// Returns the file.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.tail().file.try_clone()
    }

    /// Waits until the file is on the disk.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The session can still be used.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.tail().file.sync_all()
    }

    /// Protects the bytes that were written: later entries follow at the end of the file, and nothing is moved. The
    /// directory that [`Session::complete`] wrote then leaves unused bytes.
    ///
    /// # Errors
    ///
    /// If the size of the file cannot be read.
    pub(crate) fn fix(&mut self) -> io::Result<()> {
        let tail = self.tail.get_mut().unwrap_or_else(PoisonError::into_inner);
        tail.offset = tail.file.metadata()?.len();
        self.is_fixed = true;
        Ok(())
    }
}

/// Moves bytes to a lower offset of the same file.
fn move_down(source: &Source, file: &mut File, mut from: Range<u64>, mut to: u64) -> Result<(), BoxError> {
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
        let file = File::create_new(&path).unwrap();
        let mut session = Session::new(file, File::open(&path).unwrap(), 0);
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
