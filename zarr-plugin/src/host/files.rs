//! Reads manifests and libraries, and checks that other users cannot write them.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::manifest::{LibraryFile, Manifest};
use super::refusal::Refusal;
use crate::ffi::system::user;

/// Returns the manifests of a place, sorted: the file itself, or the files `*.toml` in the folder.
pub(super) fn manifests(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    paths.sort();
    paths
}

/// The longest manifest, in bytes.
const MAX_MANIFEST: u64 = 1 << 20;

/// The longest library, in bytes.
const MAX_LIBRARY: u64 = 1 << 30;

pub(super) fn read_manifest(path: &Path) -> Result<Manifest, Refusal> {
    if let Some(path) = writable_by_others(path) {
        return Err(Refusal::WritableByOthers(path));
    }
    let bytes = read_at_most(path, MAX_MANIFEST).map_err(|error| Refusal::Manifest(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::Manifest("it is not UTF-8".to_owned()))?;
    Manifest::parse(&text).map_err(Refusal::Manifest)
}

/// Reads the bytes of a library.
pub(super) fn read_library(path: &Path) -> Result<Vec<u8>, Refusal> {
    read_at_most(path, MAX_LIBRARY).map_err(|error| unreadable(path, &error))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::Unreadable { path: path.to_owned(), message: error.to_string() }
}

/// Reads the bytes of a regular file. Opening a FIFO does not block.
pub(super) fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let too_long = || io::Error::other(format!("it has more than {limit} bytes"));
    if metadata.len() > limit {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long());
    }
    Ok(bytes)
}

/// Returns the file, its folder or an ancestor folder if users other than this one and root may write it. An ancestor
/// may be writable by all if it is sticky, such as `/tmp`: others cannot move its contents.
pub(super) fn writable_by_others(path: &Path) -> Option<PathBuf> {
    open_to_others(path, 2)
}

/// Checks like [`writable_by_others`]. The last `closed` parts of the path must not be writable by others, even if they
/// are sticky.
fn open_to_others(path: &Path, closed: usize) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    for (height, part) in path.ancestors().enumerate() {
        let metadata = fs::metadata(part).ok()?;
        let mode = metadata.mode();
        let owner = metadata.uid();
        let is_foreign = owner != 0 && owner != user();
        let by_others = mode & 0o022 != 0;
        let by_all = mode & 0o002 != 0;
        let is_sticky = mode & 0o1000 != 0;
        let is_open = if height < closed { by_others || is_foreign } else { by_all && !is_sticky };
        if is_open {
            return Some(part.to_owned());
        }
    }
    None
}

/// Returns the reason why no plugin of a folder is used, if there is one.
pub(super) fn refused_folder(folder: &Path) -> Option<Refusal> {
    open_to_others(folder, 1).map(Refusal::WritableByOthers)
}

/// Checks that the path of a library is below the folder of its manifest. Links are not followed.
pub(super) fn stays_inside(file: &LibraryFile) -> Result<(), Refusal> {
    let relative = Path::new(&file.path);
    let is_plain = |part| matches!(part, Component::Normal(_));
    match relative.components().all(is_plain) && !relative.as_os_str().is_empty() {
        true => Ok(()),
        false => Err(Refusal::LeadsOut(file.path.clone())),
    }
}

/// The library of a manifest.
#[derive(Debug)]
pub(super) struct CheckedFile {
    /// The path with links resolved.
    pub(super) path: PathBuf,
    /// The bytes, which have the hash in the manifest.
    pub(super) bytes: Vec<u8>,
}

/// Reads the library of a manifest and compares its hash.
pub(super) fn checked_file(manifest: &Path, file: &LibraryFile) -> Result<CheckedFile, Refusal> {
    stays_inside(file)?;
    let relative = Path::new(&file.path);
    // The parent of a file name without a folder is empty, and means the working directory.
    let folder = manifest.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, &error))?;
    let joined = folder.join(relative);
    let path = joined.canonicalize().map_err(|error| unreadable(&joined, &error))?;
    if !path.starts_with(&folder) {
        return Err(Refusal::LeadsOut(file.path.clone()));
    }
    if let Some(path) = writable_by_others(&path) {
        return Err(Refusal::WritableByOthers(path));
    }
    let bytes = read_library(&path)?;
    let found = sha256(&bytes);
    if found != file.sha256 {
        return Err(Refusal::OtherBytes { named: file.sha256.clone(), found });
    }
    Ok(CheckedFile { path, bytes })
}

/// Returns the SHA-256 hash in the form of manifests and lock files: lower case hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
