//! `plugins pack` and `plugins install`: packages and installs libraries.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zarr_kit::loaded::{
    Checked, Loader, Lock, LockFiles, Manifest, Needs, Policy, Refusal, Search, platform,
};

use super::{archive, built_in};
use crate::failure::Failure;
use crate::loaded::provided;
use crate::terminal::warn;

pub(super) fn pack(library: &Path, folder: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    let bytes = fs::read(library).map_err(|error| named(library, error))?;
    // The file name is still empty, because it contains the name of the plugin, which only the library knows.
    let mut manifest = Manifest::of_library(&bytes, "").map_err(|refusal| {
        Failure::fault(format!("cannot use {} as a plugin: {refusal}", library.display()))
    })?;
    let file = rename(&mut manifest, library)?;
    let path = folder.join(format!("{}.toml", manifest.name));
    if let Ok(text) = fs::read_to_string(&path) {
        let before = Manifest::parse(&text)
            .map_err(|what| Failure::fault(format!("the existing manifest {}: {what}", path.display())))?;
        if before.version == manifest.version && before.provides == manifest.provides {
            keep_other_platforms(&mut manifest, before);
        }
    }
    let written = Written { manifest: &manifest, path: &path, file: &file, library: &bytes };
    written.write(folder)?;
    print(&manifest, "packed", &path, &Needs::of_library(&bytes)?, to)?;
    let folder = folder.display();
    let path = path.display();
    writeln!(
        to,
        "Check it with `zarrctl plugins probe {path}`, install it with `zarrctl plugins install {folder}`."
    )?;
    Ok(())
}

pub(super) fn install(from: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    if archive::is_archive(from) {
        let folder = archive::unpacked(from)?;
        // The message must not name the temporary folder.
        let path = manifest_in(folder.path()).map_err(|_| {
            Failure::fault(format!("{}: expected an archive with one manifest", from.display()))
        })?;
        return install_manifest(&path, to);
    }
    install_manifest(&manifest_in(from)?, to)
}

fn install_manifest(path: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    let loader = Loader::new(&Search::nowhere().given(path), Policy::Any, Lock::default());
    let [candidate] = loader.candidates() else {
        return Err(Failure::fault(format!("{}: no such file", path.display())));
    };
    let mut manifest = candidate.manifest()?.clone();
    // The library is checked before anything is written.
    let library = loader.check(candidate)?;
    manifest.library.retain(|machine, _| *machine == library.target);
    let file = rename(&mut manifest, &library.path)?;

    let search = Search::from_environment();
    let folder = search.user_folder().ok_or_else(|| {
        Failure::fault(
            "no plugin folder for the user: neither XDG_DATA_HOME nor HOME is set, or they are ignored \
             because this program runs with elevated privileges",
        )
    })?;
    let installed = folder.join(format!("{}-{}.toml", manifest.name, manifest.version));
    if let Some(before) = installed_before(&installed)? {
        is_same(&before, &manifest, &library)?;
        keep_other_platforms(&mut manifest, before);
    }
    let written = Written { manifest: &manifest, path: &installed, file: &file, library: &library.bytes };
    written.write(folder)?;
    print(&manifest, "installed", &installed, &library.needs, to)?;
    print_trust(&manifest, &library, to)
}

fn keep_other_platforms(manifest: &mut Manifest, before: Manifest) {
    let others = before.library.into_iter().filter(|(machine, _)| !manifest.library.contains_key(machine));
    let others: Vec<_> = others.collect();
    manifest.library.extend(others);
}

fn installed_before(path: &Path) -> Result<Option<Manifest>, Failure> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    let loader = Loader::new(&Search::nowhere().given(path), Policy::Any, Lock::default());
    let manifest = loader.candidates().first().map_or_else(
        || Err(Refusal::Manifest("it is not a regular file".to_owned())),
        |candidate| candidate.manifest().cloned(),
    );
    manifest.map(Some).map_err(|refusal| {
        Failure::fault(format!("{} already exists, but {refusal}; remove it first", path.display()))
    })
}

fn is_same(before: &Manifest, manifest: &Manifest, library: &Checked) -> Result<(), Failure> {
    let other = before.library.get(&library.target).filter(|file| file.sha256 != library.sha256);
    if other.is_none() && before.provides == manifest.provides {
        return Ok(());
    }
    let Manifest { name, version, .. } = manifest;
    let found = other.map_or(String::new(), |file| format!(" (SHA-256 {})", file.sha256));
    Err(Failure::fault(format!(
        "{name} {version} is already installed with different contents{found}; increase the version, or first run \
             `zarrctl plugins remove {name}@{version}`"
    )))
}

fn print_trust(manifest: &Manifest, library: &Checked, to: &mut dyn Write) -> Result<(), Failure> {
    let lock = LockFiles::from_environment().map_or_else(|| Ok(Lock::default()), |files| files.read());
    let lock = lock?;
    let name = &manifest.name;
    let pin = lock.pin(name, &manifest.version.to_string(), &library.target);
    if pin.is_some_and(|pin| pin.sha256 == library.sha256) {
        writeln!(to, "It is trusted.")?;
        return Ok(());
    }
    let others = lock.pins.iter().filter(|pin| pin.name == *name && pin.target == library.target);
    let others: Vec<_> = others.map(|pin| pin.version.as_str()).collect();
    if !others.is_empty() {
        writeln!(to, "Already trusted: {name} {}. The trusted version remains in use.", others.join(", "))?;
    }
    writeln!(
        to,
        "It is not trusted yet; its code would run with your permissions. To trust it: zarrctl plugins trust {name}"
    )?;
    Ok(())
}

pub(super) fn needs(needs: &Needs) -> Vec<String> {
    let glibc = needs.glibc.iter().map(|version| format!("glibc {version} or newer"));
    let system = needs.system.join(", ");
    let system = (!system.is_empty()).then(|| format!("{system} of the system"));
    let others = needs.others.iter().map(|needed| {
        format!("{}: {}, SHA-256 {}, trusted with it", needed.name, needed.path.display(), needed.sha256)
    });
    glibc.chain(system).chain(others).collect()
}

/// Finds the manifest at a path: the file itself, or the only manifest in a folder.
pub(super) fn manifest_in(from: &Path) -> Result<PathBuf, Failure> {
    let is_manifest = |path: &Path| path.extension().is_some_and(|extension| extension == "toml");
    let shown = from.display();
    if from.is_file() {
        return match is_manifest(from) {
            true => Ok(from.to_owned()),
            false => Err(Failure::fault(format!(
                "{shown} is not a manifest; if it is a library, package it with `zarrctl plugins pack {shown}` \
                     and install the resulting folder"
            ))),
        };
    }
    let mut manifests = Vec::new();
    for entry in fs::read_dir(from).map_err(|error| named(from, error))? {
        let path = entry?.path();
        if is_manifest(&path) && path.file_name().is_none_or(|name| name != "Cargo.toml") {
            manifests.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(manifests) {
        Ok([manifest]) => Ok(manifest),
        Err(none) if none.is_empty() => Err(Failure::fault(format!(
            "{shown} does not contain a manifest; package a library with `zarrctl plugins pack LIBRARY`"
        ))),
        Err(mut several) => {
            several.sort();
            let several: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::fault(format!(
                "{shown} contains several manifests; give one of them: {}",
                several.join(", ")
            )))
        }
    }
}

/// Sets the file name of the only library in the manifest, so that plugins, versions and platforms can share
/// a folder.
fn rename(manifest: &mut Manifest, library: &Path) -> Result<String, Failure> {
    let (machine, file) = manifest.library.iter_mut().next().ok_or_else(|| Refusal::Platform(platform()))?;
    let extension = library.extension().unwrap_or_default().to_string_lossy();
    file.path = format!("{}-{}-{machine}.{extension}", manifest.name, manifest.version);
    Ok(file.path.clone())
}

struct Written<'w> {
    manifest: &'w Manifest,
    path: &'w Path,
    /// The file name of the library.
    file: &'w str,
    library: &'w [u8],
}

impl Written<'_> {
    fn write(&self, folder: &Path) -> Result<(), Failure> {
        DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|error| named(folder, error))?;
        let text = self.manifest.to_toml().map_err(Failure::fault)?;
        write(&folder.join(self.file), self.library)?;
        write(self.path, text.as_bytes())
    }
}

/// Writes a file atomically. Only the user can write it, because files with other permissions are not loaded.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    let written = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        file.persist(path).map_err(|error| error.error)
    };
    written().map(drop).map_err(|error| named(path, error))
}

/// Removes the libraries of a manifest from `folder`, except those that other manifests still use.
pub(super) fn remove_libraries(
    manifest: &Manifest,
    is_used: impl Fn(&str) -> bool,
    folder: &Path,
) -> Result<(), Failure> {
    let is_plain = |path: &str| Path::new(path).file_name().is_some_and(|name| name == path);
    for file in manifest.library.values().filter(|file| !is_used(&file.path) && is_plain(&file.path)) {
        match fs::remove_file(folder.join(&file.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(named(&folder.join(&file.path), error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn print(
    manifest: &Manifest,
    what: &str,
    path: &Path,
    required: &Needs,
    to: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(to, "{what} {} {}: {}", manifest.name, manifest.version, path.display())?;
    for (what, summary) in provided(manifest) {
        writeln!(to, "  {what}  {summary}")?;
    }
    for (machine, file) in &manifest.library {
        writeln!(to, "  {machine} {}", file.sha256)?;
    }
    for line in needs(required) {
        writeln!(to, "  needs {line}")?;
    }
    if let Some(why) = built_in(manifest)? {
        warn(&why);
    }
    Ok(())
}

pub(super) fn named(path: &Path, error: io::Error) -> Failure {
    Failure::Io(error).while_at(&path.display().to_string())
}
