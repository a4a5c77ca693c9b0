//! Reading values, or parts of them, from files.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use zarr_spec::store::{Contents, GetResult, StoreError, StoreResult};
use zarr_spec::{ByteRange, Key, Output};

use crate::place::failed;
use crate::state::State;

/// Values of at most this size are read without requesting the state of the file, if the caller does not need
/// the version. The request takes 4 % of the time of reading a chunk of 2 KiB.
pub(crate) const SMALL: usize = 64 << 10;

/// Reads a value, or part of it, from the file at `path`.
///
/// # Errors
///
/// [`StoreError::Io`], also if the path is neither a file nor a folder; [`StoreError::TooLarge`].
pub(crate) fn read(
    key: &Key,
    path: &Path,
    range: ByteRange,
    to: &mut Output<'_>,
) -> StoreResult<Option<GetResult>> {
    if let ByteRange::Range { size: 0, .. } = range {
        // A limit of zero bytes asks only for the size and the version.
        return Ok(state(path)?.map(State::with_contents));
    }
    match opened(path)? {
        Some(file) => read_file(key, path, &file, range, to),
        None => Ok(None),
    }
}

/// Reads a value without its version if it has the expected size. The expected size is one byte less than the limit of
/// `to`, so that a longer value is noticed.
///
/// # Errors
///
/// Those of [`read`].
pub(crate) fn read_small(key: &Key, path: &Path, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
    let Some(file) = opened(path)? else { return Ok(None) };
    let room = to.remaining();
    let spare = to.spare(room).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
    // Reading a folder or an empty pipe fails here. Every other failure occurs again below, and is returned there.
    let size = read_beginning(&file, &mut spare[..room]).unwrap_or(0);
    let whole = GetResult::new(Contents::Written, size as u64, None);
    if size > 0 && size + 1 == room {
        to.advance(size);
        return Ok(Some(whole));
    }
    let Some(state) = state_of(path, &file)? else { return Ok(None) };
    if state.size == whole.size {
        to.advance(size);
        return Ok(Some(state.with_contents()));
    }
    read_file(key, path, &file, ByteRange::Full, to)
}

/// Returns the state of the value at `path`, if it exists.
///
/// # Errors
///
/// [`StoreError::Io`], also if the path is neither a file nor a folder.
pub(crate) fn state(path: &Path) -> StoreResult<Option<State>> {
    match State::at(path).and_then(State::of_value) {
        Ok(state) => Ok(state),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(failed("reading", path, error)),
    }
}

/// Returns the state of an open file.
fn state_of(path: &Path, file: &File) -> StoreResult<Option<State>> {
    State::of(file).and_then(State::of_value).map_err(|error| failed("reading", path, error))
}

/// Opens the file at `path`, if it exists.
pub(crate) fn opened(path: &Path) -> StoreResult<Option<File>> {
    match open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_absent(&error) => Ok(None),
        // Sockets cannot be opened, and on some systems folders cannot either.
        Err(error) => match State::at(path).map(State::of_value) {
            Ok(Ok(None)) => Ok(None),
            Ok(Err(what)) => Err(failed("reading", path, what)),
            _ => Err(failed("reading", path, error)),
        },
    }
}

/// Reads a value, or part of it, from its file.
pub(crate) fn read_file(
    key: &Key,
    path: &Path,
    file: &File,
    range: ByteRange,
    to: &mut Output<'_>,
) -> StoreResult<Option<GetResult>> {
    let Some(state) = state_of(path, file)? else { return Ok(None) };
    let part = range.within(state.size);
    let too_large = |source| StoreError::TooLarge { key: key.to_string(), source };
    let size = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
    let spare = to.spare(size).map_err(too_large)?;
    if size > 0 {
        // If the file became shorter in the meantime, this is an error.
        let done = read_exactly(file, part.start, &mut spare[..size]);
        done.map_err(|error| failed("reading", path, error))?;
    }
    to.advance(size);
    Ok(Some(state.with_contents()))
}

/// Returns whether the error means that the file does not exist. This includes paths through a file and
/// circular links.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) || is_circle(error)
}

/// Returns whether the error reports circular links.
#[cfg(unix)]
fn is_circle(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Returns false: other systems do not have a separate error for circular links.
#[cfg(not(unix))]
fn is_circle(_error: &io::Error) -> bool {
    false
}

/// Opens a file for reading. Opening a pipe does not wait for a writer.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    match File::options().read(true).custom_flags(flags).open(path) {
        // Another program holds a lease, which the system now asks it to release.
        Err(error) if error.kind() == ErrorKind::WouldBlock && path.is_file() => File::open(path),
        opened => opened,
    }
}

/// Reads from the start of the file. Does not consume data of a pipe.
#[cfg(unix)]
fn read_beginning(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, 0)
}

/// Fills `bytes`, starting at byte `offset`.
#[cfg(unix)]
fn read_exactly(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
fn read_beginning(mut file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    io::Read::read(&mut file, bytes)
}

#[cfg(not(unix))]
fn read_exactly(mut file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
    io::Read::read_exact(&mut file, bytes)
}
