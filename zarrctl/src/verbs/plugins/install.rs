//! `plugins pack` and `plugins install`: a library with its manifest, and how it gets where plugins are looked for.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zarr_kit::loaded::{
    Checked, Loader, Lock, LockFiles, Manifest, Needs, Policy, Refusal, Search, platform,
};

use super::built_in;
use crate::failure::Failure;
use crate::loaded::provided;
use crate::terminal::warn;

pub(super) fn pack(library: &Path, folder: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    let bytes = fs::read(library).map_err(|error| named(library, error))?;
    // Its name is known only by what it says itself.
    let mut manifest = Manifest::of_library(&bytes, "").map_err(|refusal| {
        Failure::fault(format!("cannot use {} as a plugin: {refusal}", library.display()))
    })?;
    let file = rename(&mut manifest, library)?;
    let path = folder.join(format!("{}.toml", manifest.name));
    if let Ok(text) = fs::read_to_string(&path) {
        let before = Manifest::parse(&text)
            .map_err(|what| Failure::fault(format!("{}, which is there already: {what}", path.display())))?;
        if before.version == manifest.version && before.provides == manifest.provides {
            keep_other_machines(&mut manifest, before);
        }
    }
    let written = Written { manifest: &manifest, path: &path, file: &file, library: &bytes };
    written.write(folder)?;
    say(&manifest, "packed", &path, to)?;
    for line in needs(&Needs::of_library(&bytes)?) {
        writeln!(to, "  needs {line}")?;
    }
    if let Some(why) = built_in(&manifest)? {
        warn(&why);
    }
    let folder = folder.display();
    let path = path.display();
    writeln!(
        to,
        "`zarrctl plugins probe {path}` tries it out, and `zarrctl plugins install {folder}` installs it."
    )?;
    Ok(())
}

pub(super) fn install(from: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    let path = manifest_in(from)?;
    let loader = Loader::new(&Search::nowhere().given(&path), Policy::Any, Lock::default());
    let [candidate] = loader.candidates() else {
        return Err(Failure::fault(format!("{}: no such file", path.display())));
    };
    let mut manifest = candidate.manifest()?.clone();
    // All that is to be said against the library is found out now.
    let library = loader.check(candidate)?;
    manifest.library.retain(|machine, _| *machine == library.target);
    let file = rename(&mut manifest, &library.path)?;

    let search = Search::from_environment();
    let folder = search.user_folder().ok_or_else(|| {
        Failure::fault("there is no folder for your plugins: neither XDG_DATA_HOME nor HOME is set, or this program has more rights than \
             its user and ignores them")
    })?;
    let installed = folder.join(format!("{}-{}.toml", manifest.name, manifest.version));
    if let Some(before) = installed_before(&installed)? {
        is_same(&before, &manifest, &library)?;
        keep_other_machines(&mut manifest, before);
    }
    let written = Written { manifest: &manifest, path: &installed, file: &file, library: &library.bytes };
    written.write(folder)?;
    say(&manifest, "installed", &installed, to)?;
    for line in needs(&library.needs) {
        writeln!(to, "  needs {line}")?;
    }
    if let Some(why) = built_in(&manifest)? {
        warn(&why);
    }
    say_whether_trusted(&manifest, &library, to)
}

/// Keeps the libraries for other machines of a manifest that is there already.
fn keep_other_machines(manifest: &mut Manifest, before: Manifest) {
    let others = before.library.into_iter().filter(|(machine, _)| !manifest.library.contains_key(machine));
    let others: Vec<_> = others.collect();
    manifest.library.extend(others);
}

/// The manifest of the same version that is installed already, if there is one.
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
        Failure::fault(format!("{} is there already, and {refusal}; remove it first", path.display()))
    })
}

/// Whether nothing is lost when the plugin is installed over the one that is there.
fn is_same(before: &Manifest, manifest: &Manifest, library: &Checked) -> Result<(), Failure> {
    let other = before.library.get(&library.target).filter(|file| file.sha256 != library.sha256);
    if other.is_none() && before.provides == manifest.provides {
        return Ok(());
    }
    let Manifest { name, version, .. } = manifest;
    let found = other.map_or(String::new(), |file| format!(" (SHA-256 {})", file.sha256));
    Err(Failure::fault(format!(
        "{name} {version} is installed already with other contents{found}: give this one another version, or run \
         `zarrctl plugins remove {name}@{version}` first"
    )))
}

fn say_whether_trusted(manifest: &Manifest, library: &Checked, to: &mut dyn Write) -> Result<(), Failure> {
    let lock = LockFiles::from_environment().map_or_else(|| Ok(Lock::default()), |files| files.read());
    let lock = lock.map_err(|error| Failure::Fault(error.into()))?;
    let name = &manifest.name;
    let pin = lock.pin(name, &manifest.version.to_string(), &library.target);
    if pin.is_some_and(|pin| pin.sha256 == library.sha256) {
        writeln!(to, "It is trusted.")?;
        return Ok(());
    }
    let others = lock.pins.iter().filter(|pin| pin.name == *name && pin.target == library.target);
    let others: Vec<_> = others.map(|pin| pin.version.as_str()).collect();
    if !others.is_empty() {
        writeln!(to, "Trusted so far: {name} {}. What is trusted remains in use.", others.join(", "))?;
    }
    writeln!(
        to,
        "It is code that would run with your rights. If you trust it: zarrctl plugins trust {name}"
    )?;
    Ok(())
}

/// What a library needs, a line each.
pub(super) fn needs(needs: &Needs) -> Vec<String> {
    let glibc = needs.glibc.iter().map(|version| format!("glibc {version} or newer"));
    let system = needs.system.join(", ");
    let system = (!system.is_empty()).then(|| format!("{system} of the system"));
    let others = needs.others.iter().map(|needed| {
        format!("{}: {}, SHA-256 {}, trusted with it", needed.name, needed.path.display(), needed.sha256)
    });
    glibc.chain(system).chain(others).collect()
}

/// The manifest that is meant: the file itself, or the only one in a folder.
pub(super) fn manifest_in(from: &Path) -> Result<PathBuf, Failure> {
    let is_manifest = |path: &Path| path.extension().is_some_and(|extension| extension == "toml");
    let shown = from.display();
    if from.is_file() {
        return match is_manifest(from) {
            true => Ok(from.to_owned()),
            false => Err(Failure::fault(format!(
                "{shown} is no manifest: install the folder with its manifest, which `zarrctl plugins pack {shown}` makes of \
                 a library that you have built"
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
            "{shown} has no manifest; `zarrctl plugins pack LIBRARY` makes one of a library that you have built"
        ))),
        Err(mut several) => {
            several.sort();
            let several: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::fault(format!(
                "{shown} has several manifests; say which one: {}",
                several.join(", ")
            )))
        }
    }
}

/// Names the file of the one library that the manifest has, so that those of several plugins, versions and machines may lie
/// in one folder.
fn rename(manifest: &mut Manifest, library: &Path) -> Result<String, Failure> {
    let (machine, file) = manifest.library.iter_mut().next().ok_or_else(|| Refusal::Platform(platform()))?;
    let extension = library.extension().unwrap_or_default().to_string_lossy();
    file.path = format!("{}-{}-{machine}.{extension}", manifest.name, manifest.version);
    Ok(file.path.clone())
}

/// A manifest and its library, which are written together.
struct Written<'w> {
    manifest: &'w Manifest,
    path: &'w Path,
    /// The name of the library.
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

/// Writes a file that nobody else may write, whatever the user's mask is: otherwise it would be refused. All or nothing.
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

/// Removes the libraries of a manifest in `folder`, but for those that are still used.
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

fn say(manifest: &Manifest, what: &str, path: &Path, to: &mut dyn Write) -> Result<(), Failure> {
    writeln!(to, "{what} {} {}: {}", manifest.name, manifest.version, path.display())?;
    for (what, summary) in provided(manifest) {
        writeln!(to, "  {what}  {summary}")?;
    }
    for (machine, file) in &manifest.library {
        writeln!(to, "  {machine} {}", file.sha256)?;
    }
    Ok(())
}

/// With the file that fails.
fn named(path: &Path, error: io::Error) -> Failure {
    Failure::Io(error).while_at(&path.display().to_string())
}
