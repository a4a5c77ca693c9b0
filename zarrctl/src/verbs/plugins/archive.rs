//! Zip archives of a manifest and its library.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use zarr_kit::spec::Prefix;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{Registry, open_store};

use super::install::named;
use crate::failure::Failure;

/// The maximum size of one unpacked file in bytes, and the maximum number of files.
const MAX_SIZE: usize = 256 << 20;
const MAX_COUNT: usize = 64;

pub(super) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip")) && path.is_file()
}

/// Unpacks an archive into a temporary folder, without the folders of the archive. An archive of the folder `dist` can
/// therefore be installed like an archive of its files.
pub(super) fn unpacked(archive: &Path) -> Result<TempDir, Failure> {
    let registry = Registry::linked()?;
    let location = archive.to_str().ok_or_else(|| Failure::fault("the path of the archive is not UTF-8"))?;
    let store = open_store(&registry, location).map_err(|error| Failure::Fault(error.into()))?;
    let folder = TempDir::new()?;
    unpack(&*store, archive, folder.path())?;
    Ok(folder)
}

fn unpack(store: &dyn Store, archive: &Path, folder: &Path) -> Result<(), Failure> {
    let refused = |what: String| Failure::fault(format!("{}: {what}", archive.display()));
    for (count, key) in store.list_prefix(&Prefix::root())?.enumerate() {
        let key = key?;
        if count == MAX_COUNT {
            return Err(refused(format!(
                "more than {MAX_COUNT} files; expected a manifest and its libraries"
            )));
        }
        // A key cannot contain `..`, and its last part is the name of the file.
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        let path = folder.join(name);
        if path.exists() {
            return Err(refused(format!("two files have the name {name}")));
        }
        let value = get_value(store, &key, MAX_SIZE)?;
        fs::write(&path, value.unwrap_or_default()).map_err(|error| named(&path, error))?;
    }
    Ok(())
}
