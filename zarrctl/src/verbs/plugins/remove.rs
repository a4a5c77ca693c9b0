//! `plugins remove`: a plugin is not trusted any more, and is no longer in the user's folder.

use std::fs;
use std::io::Write;

use zarr_kit::loaded::Lock;

use super::install::remove_libraries;
use super::trust::files;
use crate::failure::Failure;
use crate::loaded::Installed;

pub(super) fn run(name: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let (installed, files) = (Installed::find(), files()?);
    let mut lock = Lock::read(&files.lock).map_err(|error| Failure::Fault(error.into()))?;
    let found = installed.named(name);
    let is_trusted = lock.pin(name).is_some();
    if found.is_none() && !is_trusted {
        return Err(installed.nobody_called(name));
    }
    // First of all nobody loads it any more.
    if is_trusted {
        lock.pins.retain(|pin| pin.name != name);
        lock.write(&files.lock).map_err(|error| Failure::Fault(error.into()))?;
        writeln!(to, "{name} is not trusted any more, as {} says.", files.lock.display())?;
    }
    let Some((candidate, manifest)) = found else { return Ok(()) };
    let path = candidate.path.display();
    match installed.search.user_folder().filter(|folder| candidate.path.parent() == Some(*folder)) {
        Some(folder) => {
            remove_libraries(manifest, |_| false, folder)?;
            fs::remove_file(&candidate.path)
                .map_err(|error| Failure::Io(error).while_at(&path.to_string()))?;
            writeln!(to, "removed {name} {}: {path}", manifest.version)?;
        }
        None => writeln!(to, "{path} is left: it is not in your folder for plugins.")?,
    }
    Ok(())
}
