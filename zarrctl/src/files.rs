//! Files that appear under their names only when they are complete.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use zarr_kit::spec::printable_path;

use crate::durable;
use crate::failure::Failure;
use crate::interrupt::{self, Temporary};

/// Writes a file, or replaces it. If this fails, the old file stays, and nothing else remains.
pub(crate) fn write_file(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = match fs::metadata(file).is_ok_and(|there| !there.is_file()) {
        // A pipe or a device has no other name.
        true => fs::write(file, bytes).map_err(Failure::Io),
        false => to_file(file, |mut to| Ok(to.write_all(bytes)?)),
    };
    written.map_err(|failure| failure.while_at(&format!("writing `{}`", printable_path(file))))
}

/// Writes to a temporary file and renames it, so that the target is never incomplete.
///
/// Replaces the target of a symbolic link, not the link. An existing file keeps its permissions.
pub(crate) fn to_file(file: &Path, write: impl FnOnce(File) -> Result<(), Failure>) -> Result<(), Failure> {
    let file = &replaced_file(file)?;
    let nameless =
        || Failure::fault(format!("writing `{}`: the path does not end in a file name", file.display()));
    let mut name = file.file_name().ok_or_else(nameless)?.to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = file.with_file_name(name);
    let _removed = Temporary::new(&part);
    let written = create_like(&part, file).map_err(Failure::from).and_then(write);
    let written = written.and_then(|()| {
        let _writing = interrupt::writing();
        durable::sync_contents(&part)?;
        std::fs::rename(&part, file)?;
        Ok(durable::sync_name(file)?)
    });
    if written.is_err() {
        // The first error is more important than one about removing the file.
        let _left = std::fs::remove_file(&part);
    }
    written
}

/// Returns the file at the end of symbolic links.
fn replaced_file(file: &Path) -> Result<PathBuf, Failure> {
    if !file.is_symlink() {
        return Ok(file.to_owned());
    }
    file.canonicalize().map_err(|error| Failure::fault(format!("writing `{}`: {error}", file.display())))
}

/// Creates `part` with the permissions of `file`, if `file` exists.
fn create_like(part: &Path, file: &Path) -> std::io::Result<File> {
    let created = File::create(part)?;
    match file.metadata() {
        Ok(metadata) => created.set_permissions(metadata.permissions())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(created)
}
