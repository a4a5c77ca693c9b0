//! `plugins remove`: removes a plugin, or one version of it, from plugins.lock and from the user's folder.

use std::fs;
use std::io::Write;
use std::path::Path;

use zarr_kit::loaded::{Candidate, Lock, Manifest, Pin};

use super::install::remove_libraries;
use super::trust::files;
use crate::failure::Failure;
use crate::loaded::{Installed, PluginId};

pub(super) fn run(name: &str, to: &mut dyn Write) -> Result<(), Failure> {
    let installed = Installed::find();
    let files = files()?;
    let id = PluginId::of(name);
    let is_meant = |pin: &Pin| pin.name == id.name && id.is_version(&pin.version);
    let lock = Lock::read(&files.lock)?;
    let is_trusted = lock.pins.iter().any(is_meant);
    let mut found = installed.versions(name).peekable();
    if found.peek().is_none() && !is_trusted {
        return Err(installed.no_plugin_named(name));
    }
    // The pin is removed first, so that no program loads the plugin meanwhile.
    if is_trusted {
        Lock::update(&files.lock, |lock| lock.pins.retain(|pin| !is_meant(pin)))?;
        writeln!(to, "{name} is no longer trusted; updated {}.", files.lock.display())?;
    }
    found.try_for_each(|(candidate, manifest)| remove(&installed, candidate, manifest, to))
}

fn remove(
    installed: &Installed,
    candidate: &Candidate,
    manifest: &Manifest,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    let path = candidate.path.display();
    let is_here = |folder: &&Path| candidate.path.parent() == Some(*folder);
    let Some(folder) = installed.search.user_folder().filter(is_here) else {
        writeln!(to, "{path} remains: it is not in your plugin folder.")?;
        return Ok(());
    };
    let others = installed
        .manifests()
        .filter(|(other, _)| other.path != candidate.path && other.path.parent() == Some(folder));
    let others: Vec<_> = others.flat_map(|(_, manifest)| manifest.library.values()).collect();
    remove_libraries(manifest, |path| others.iter().any(|file| file.path == path), folder)?;
    fs::remove_file(&candidate.path).map_err(|error| Failure::Io(error).while_at(&path.to_string()))?;
    writeln!(to, "removed {} {}: {path}", manifest.name, manifest.version)?;
    Ok(())
}
