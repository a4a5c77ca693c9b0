//! Archives that are values of other stores, read in ranges.
//!
//! Opening an archive takes one request for its end, and a second one if the directory begins before it. A value takes
//! one request: the local header, whose size is not known before, is read together with the value.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rawzip::ReaderAt;
use zarr_spec::store::{
    Contents, GetOptions, ReadHints, Request, Responses, Store, StoreError, StoreResult, Version,
};
use zarr_spec::{BoxError, ByteRange, Invalid, Key, Output};

use crate::directory::MAX_DIRECTORY_SIZE;

/// The number of bytes at the end of an archive that are read when it is opened.
const TAIL: u64 = 256 << 10;

/// The maximum number of bytes that are read at a time into memory of the store, except for the directory.
pub(crate) const MAX_PIECE: u64 = 16 << 20;

/// The number of bytes that one request of a copy reads.
const COPIED: usize = 8 << 20;

/// The number of bytes of requests and responses in memory while an archive is copied.
const BUDGET: usize = 4 * COPIED;

/// Why an archive is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Reading,
    /// The archive will be replaced if it is unchanged. A store with conditions returns its version.
    Replacing,
}

impl Access {
    fn of(self, range: ByteRange) -> GetOptions {
        match self {
            Self::Reading => GetOptions::uncached(range),
            Self::Replacing => GetOptions::for_update(range),
        }
    }
}

/// An archive in a store.
#[derive(Debug)]
pub(crate) struct StoredArchive {
    store: Arc<dyn Store>,
    key: Key,
    access: Access,
    pub(crate) size: u64,
    /// The version of the archive when it was opened.
    version: Option<Version>,
    /// The end of the archive, until it has been opened. A whole archive stays in memory.
    tail: Piece,
    /// The directory and everything after it, if the directory begins before the tail. These bytes are released when
    /// the archive has been opened.
    directory: OnceLock<Piece>,
    is_open: bool,
}

/// Bytes of an archive.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    offset: u64,
    bytes: Bytes,
}

impl Piece {
    pub(crate) fn new(offset: u64, bytes: Bytes) -> Self {
        Self { offset, bytes }
    }

    /// Copies bytes that begin at `offset`; `None` if the first one is not in this piece.
    fn copy(&self, to: &mut [u8], offset: u64) -> Option<usize> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let here = self.bytes.get(start..).filter(|here| !here.is_empty())?;
        let count = here.len().min(to.len());
        to[..count].copy_from_slice(&here[..count]);
        Some(count)
    }
}

impl StoredArchive {
    /// Reads the end of an archive. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    pub(crate) fn open(store: &Arc<dyn Store>, key: &Key, access: Access) -> StoreResult<Option<Self>> {
        let mut output = Output::at_most(usize::try_from(TAIL).unwrap_or(usize::MAX));
        let found = store.get(key, access.of(ByteRange::Last(TAIL)), &mut output)?;
        let Some(found) = found else { return Ok(None) };
        let size = found.size;
        let version = found.version.clone();
        let bytes = found.into_bytes(output);
        let tail = Piece::new(size.saturating_sub(bytes.len() as u64), bytes);
        Ok(Some(Self {
            store: Arc::clone(store),
            key: key.clone(),
            access,
            size,
            version,
            tail,
            directory: OnceLock::new(),
            is_open: false,
        }))
    }

    /// Returns the location of the archive for messages.
    pub(crate) fn place(&self) -> String {
        place(&*self.store, &self.key)
    }

    pub(crate) fn hints(&self) -> ReadHints {
        self.store.read_hints()
    }

    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Releases the bytes in memory when the directory has been read, unless they are the whole archive.
    pub(crate) fn finish_opening(&mut self) {
        self.is_open = true;
        self.directory.take();
        if self.tail.offset > 0 {
            self.tail = Piece::default();
        }
    }

    /// Reads the directory from `start` up to the tail, which is in memory already. Returns both.
    fn read_directory(&self, start: u64) -> Result<&Piece, BoxError> {
        let mut bytes = self.fetch(start..self.tail.offset)?.to_vec();
        bytes.extend_from_slice(&self.tail.bytes);
        Ok(self.directory.get_or_init(|| Piece::new(start, bytes.into())))
    }

    /// Reads a range with one request.
    ///
    /// # Errors
    ///
    /// If the store fails, or the archive has changed or does not have these bytes.
    pub(crate) fn fetch(&self, range: Range<u64>) -> Result<Bytes, BoxError> {
        let (request, size) = self.request(range)?;
        let mut output = Output::at_most(request.limit);
        let found = self.store.get(&request.key, request.options, &mut output)?;
        let found = found.ok_or("the archive was removed")?;
        self.check(found.size, found.version.as_ref())?;
        let bytes = found.into_bytes(output);
        if bytes.len() == size { Ok(bytes) } else { Err("the archive is truncated".into()) }
    }

    /// Returns the request for a range, and its size in bytes.
    ///
    /// # Errors
    ///
    /// If the range is too large for the memory of the machine.
    pub(crate) fn request(&self, range: Range<u64>) -> Result<(Request, usize), BoxError> {
        let size = range.end.min(self.size).saturating_sub(range.start);
        let range = ByteRange::Range { offset: range.start, size };
        let size = usize::try_from(size)?;
        Ok((Request::new(self.key.clone(), self.access.of(range), size), size))
    }

    /// Reads a range into `to`, which has space for it, or returns it in memory of the store.
    ///
    /// # Errors
    ///
    /// Those of [`StoredArchive::fetch`].
    pub(crate) fn read_to(&self, range: Range<u64>, to: &mut Output<'_>) -> Result<Contents, BoxError> {
        let (request, size) = self.request(range)?;
        let before = to.written().len();
        let found = self.store.get(&request.key, request.options, to)?.ok_or("the archive was removed")?;
        self.check(found.size, found.version.as_ref())?;
        let read = match &found.contents {
            Contents::Written => to.written().len() - before,
            Contents::Shared(bytes) => bytes.len(),
        };
        if read == size { Ok(found.contents) } else { Err("the archive is truncated".into()) }
    }

    /// Calls `write` with pieces of the first `size` bytes, and their offsets. The pieces have any order.
    ///
    /// # Errors
    ///
    /// Those of [`StoredArchive::fetch`] and of `write`.
    pub(crate) fn copy(
        &self,
        size: u64,
        write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), BoxError> {
        // A small archive is in memory.
        let whole = usize::try_from(size).ok().and_then(|size| self.tail.bytes.get(..size));
        if let Some(bytes) = whole.filter(|_| self.tail.offset == 0) {
            return Ok(write(0, bytes)?);
        }
        let starts: Vec<u64> = (0..size).step_by(COPIED).collect();
        let range = |start: &u64| self.request(*start..size.min(start + COPIED as u64));
        let pieces = starts.iter().map(range).collect::<Result<Vec<_>, _>>()?;
        let requests = pieces.iter().map(|(request, _)| request.clone()).collect();
        let mut copied = 0;
        for (number, response) in self.get_many(requests, BUDGET) {
            let response = response?.ok_or("the archive was removed")?;
            self.check(response.size, response.version.as_ref())?;
            let (start, expected) = starts.get(number).zip(pieces.get(number)).ok_or("unknown response")?;
            if response.bytes.len() != expected.1 {
                return Err("the archive is truncated".into());
            }
            write(*start, &response.bytes)?;
            copied += 1;
        }
        if copied == starts.len() { Ok(()) } else { Err("the store did not complete all requests".into()) }
    }

    pub(crate) fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        self.store.get_many(requests, budget)
    }

    /// Refuses a response from another archive than the one that was opened.
    ///
    /// # Errors
    ///
    /// If the size or the version differs.
    pub(crate) fn check(&self, size: u64, version: Option<&Version>) -> Result<(), BoxError> {
        let is_other = self.version.as_ref().zip(version).is_some_and(|(opened, now)| opened != now);
        if size != self.size || is_other {
            return Err("the archive was replaced after it was opened; open it again".into());
        }
        Ok(())
    }

    /// Returns a reader of the bytes before `end`, which has `piece` in memory.
    pub(crate) fn window(&self, piece: Piece, end: u64) -> Window<'_> {
        Window { archive: self, piece: RefCell::new(piece), end }
    }
}

impl ReaderAt for StoredArchive {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if bytes.is_empty() || offset >= self.size {
            return Ok(0);
        }
        let in_memory = [Some(&self.tail), self.directory.get()];
        if let Some(count) = in_memory.into_iter().flatten().find_map(|piece| piece.copy(bytes, offset)) {
            return Ok(count);
        }
        let is_directory =
            self.tail.offset.checked_sub(offset).is_some_and(|size| size <= MAX_DIRECTORY_SIZE);
        if !self.is_open && is_directory && self.directory.get().is_none() {
            let directory = self.read_directory(offset).map_err(io::Error::other)?;
            return Ok(directory.copy(bytes, offset).unwrap_or(0));
        }
        let end = offset.saturating_add(bytes.len() as u64).min(self.size);
        let read = self.fetch(offset..end).map_err(io::Error::other)?;
        bytes[..read.len()].copy_from_slice(&read);
        Ok(read.len())
    }
}

/// A part of an archive that is read from its start to its end, in large pieces.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    archive: &'a StoredArchive,
    piece: RefCell<Piece>,
    end: u64,
}

impl ReaderAt for Window<'_> {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        if let Some(count) = self.piece.borrow().copy(bytes, offset) {
            return Ok(count);
        }
        if bytes.len() as u64 >= MAX_PIECE || offset >= self.end {
            return self.archive.read_at(bytes, offset);
        }
        let end = self.end.min(offset.saturating_add(MAX_PIECE));
        let read = self.archive.fetch(offset..end).map_err(io::Error::other)?;
        let piece = Piece::new(offset, read);
        let count = piece.copy(bytes, offset).unwrap_or(0);
        *self.piece.borrow_mut() = piece;
        Ok(count)
    }
}

/// Returns the error for an archive that does not exist.
pub(crate) fn missing(store: &dyn Store, key: &Key) -> StoreError {
    Invalid::new(format!("`{}` does not exist", place(store, key))).into()
}

/// Returns the location of a value, as URL pipelines spell it.
pub(crate) fn place(store: &dyn Store, key: &Key) -> String {
    let location = store.location();
    let separator = if location.ends_with([':', '/']) { "" } else { "/" };
    format!("{location}{separator}{key}")
}
