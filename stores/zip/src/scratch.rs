//! Temporary files without a name, and their contents as bytes that a store can send.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bytes::Bytes;

use crate::temporary::TEMPORARY;

#[cfg(unix)]
mod mapped;

/// Creates a file without a name in the folder for temporary files, so that it disappears with the process. Returns it
/// twice, to write and to read.
///
/// # Errors
///
/// If the file cannot be created.
pub(crate) fn create() -> io::Result<(File, File)> {
    let folder = std::env::temp_dir();
    match unnamed(&folder) {
        Some(file) => Ok((file.try_clone()?, file)),
        None => create_in(&folder),
    }
}

/// Creates a file that never has a name; `None` if the file system cannot.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
    options.open(folder).ok()
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_folder: &Path) -> Option<File> {
    None
}

/// Creates a file and removes its name.
fn create_in(folder: &Path) -> io::Result<(File, File)> {
    let random = RandomState::new();
    for number in 0_u64.. {
        let path = folder.join(format!("{TEMPORARY}zip-{:016x}", random.hash_one(number)));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        let reader = File::open(&path);
        fs::remove_file(&path)?;
        return Ok((file, reader?));
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the bytes of a file. They are read from the file when they are needed, and do not take memory of the process.
/// The caller does not change these bytes, nor shorten the file, while they are in use.
///
/// # Errors
///
/// If the system cannot map the file.
#[cfg(unix)]
pub(crate) fn contents(file: &File) -> io::Result<Bytes> {
    Ok(Bytes::from_owner(mapped::Mapping::new(file)?))
}

/// Returns the bytes of a file, in memory.
///
/// # Errors
///
/// If the file cannot be read.
#[cfg(not(unix))]
pub(crate) fn contents(file: &File) -> io::Result<Bytes> {
    use std::io::{Read, Seek};

    let mut file = file.try_clone()?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_contents_of_a_file_without_a_name_outlive_it() {
        let folder = tempfile::tempdir().unwrap();
        let written: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        for (mut file, reader) in [create().unwrap(), create_in(folder.path()).unwrap()] {
            file.write_all(&written).unwrap();
            let bytes = contents(&reader).unwrap();
            drop((file, reader));
            assert!(bytes == written);
            let end = bytes.slice(399_999..);
            drop(bytes);
            assert_eq!(end[..], written[399_999..]);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_empty_file_cannot_be_mapped() {
        let (_file, reader) = create().unwrap();
        assert!(!cfg!(unix) || contents(&reader).is_err());
    }
}
