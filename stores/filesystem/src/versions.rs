//! Versions of values for conditional writes.
//!
//! The time, the size and the number of a file do not identify its contents: clocks of file systems tick every few
//! milliseconds, and a new file often has the number of a removed one. Therefore this store sets the time of each file
//! that it writes from a clock of nanoseconds. Two files with the same number exist one after the other, so their times
//! differ.
//!
//! On file systems that are not local, attributes may be cached and clocks may differ. On these, and on file systems
//! that round times, the version is a hash of the contents. A value that is changed and changed back has its old
//! version again. This is harmless: a writer that has read the old bytes has read the present ones.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::OnceLock;

use zarr_spec::store::{StoreResult, Version};

use crate::FilesystemStore;
use crate::place::failed;
use crate::reading::{is_absent, opened};
use crate::state::State;

/// The number of bytes that are hashed at a time.
const HASHED: usize = 256 << 10;

impl FilesystemStore {
    /// Returns whether attributes of files are current and locks reach all processes that use the folder.
    pub(crate) fn is_local(&self) -> bool {
        *self.is_local.get_or_init(|| !self.locks_files && is_local(&self.closest_folder()))
    }

    /// Returns the version of an open file for a conditional write. `whole` are the contents, if they are known.
    pub(crate) fn version_of(&self, file: &File, state: &State, whole: Option<&[u8]>) -> io::Result<Version> {
        match (state.precise_version(), whole) {
            (Some(version), _) if self.is_local() => Ok(version.clone()),
            (_, Some(bytes)) => {
                let mut hasher = hasher();
                bytes.chunks(HASHED).for_each(|part| hasher.write(part));
                Ok(version(&*hasher, bytes.len() as u64))
            }
            _ => hash_of(file),
        }
    }

    /// Returns the version of the value at `path`; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`](zarr_spec::store::StoreError::Io).
    pub(crate) fn current_version(&self, path: &Path) -> StoreResult<Option<Version>> {
        let reading = |error| failed("reading", path, error);
        if self.is_local() {
            match State::at(path).and_then(State::of_value) {
                Ok(None) => return Ok(None),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => return Err(reading(error)),
                Ok(Some(state)) => {
                    if let Some(version) = state.precise_version() {
                        return Ok(Some(version.clone()));
                    }
                }
            }
        }
        let Some(file) = opened(path)? else { return Ok(None) };
        match State::of(&file).and_then(State::of_value).map_err(reading)? {
            Some(state) => self.version_of(&file, &state, None).map(Some).map_err(reading),
            None => Ok(None),
        }
    }
}

/// Returns a hasher. Its key is different in each process, because versions are compared within one process.
fn hasher() -> Box<dyn Hasher> {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    Box::new(KEY.get_or_init(RandomState::new).build_hasher())
}

fn version(hasher: &dyn Hasher, size: u64) -> Version {
    Version::new([size.to_le_bytes(), hasher.finish().to_le_bytes()].concat())
}

/// Returns a hash of the contents of a file.
fn hash_of(file: &File) -> io::Result<Version> {
    let mut file = File::try_clone(file)?;
    io::Seek::rewind(&mut file)?;
    let mut hasher = hasher();
    let mut buffer = vec![0; HASHED];
    let mut size = 0;
    loop {
        let part = read_part(&mut file, &mut buffer)?;
        size += part.len() as u64;
        if part.is_empty() {
            return Ok(version(&*hasher, size));
        }
        hasher.write(part);
    }
}

/// Fills `buffer`, or reads to the end of the file. The parts must always have the same sizes, because the hash depends
/// on them.
fn read_part<'b>(file: &mut File, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let mut size = 0;
    while size < buffer.len() {
        match file.read(&mut buffer[size..]) {
            Ok(0) => break,
            Ok(count) => size += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(&buffer[..size])
}

/// Returns whether a folder is on a local file system of Linux. There, all processes have the same locks of folders and
/// attributes of files.
#[cfg(target_os = "linux")]
fn is_local(folder: &Path) -> bool {
    /// The magic numbers of ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, overlayfs, ZFS, F2FS and bcachefs, from
    /// `linux/magic.h` and the sources of the others.
    const LOCAL: [u32; 9] = [
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0x0102_1994,
        0x8584_58F6,
        0x794C_7630,
        0x2FC1_2FC1,
        0xF2F5_2010,
        0xCA45_1A4E,
    ];
    rustix::fs::statfs(folder).is_ok_and(|found| {
        let magic = found.f_type.cast_unsigned();
        LOCAL.iter().any(|&local| u64::from(local) == magic & u64::from(u32::MAX))
    })
}

/// Returns false: other systems use lock files and hashes.
#[cfg(not(target_os = "linux"))]
fn is_local(_folder: &Path) -> bool {
    false
}
