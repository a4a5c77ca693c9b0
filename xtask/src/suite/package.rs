//! Checks that all crates can be published: packs them and compiles the packed files.
//!
//! `cargo package` could compile them, but it uses a local registry for crates that depend on each other. It caches their
//! unpacked and compiled files by version number, so a second run would check the files of the first run. It would also
//! compile every dependency again, because it does not use the profile of this workspace.
//!
//! This step therefore only packs, which already refuses dependency cycles, missing versions and wrong manifests. It unpacks
//! the files as a workspace in which the crates replace those of the registry. This needs no network, always checks the
//! present files, and shares the build of clippy.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use toml::{Table, Value};

use super::{Outcome, Run, finish};
use crate::workspace::Member;

pub(super) fn step(run: &mut Run<'_>) -> Result<Outcome, String> {
    // The command works offline, because earlier steps have downloaded everything.
    let mut command =
        run.cargo(&["package", "--workspace", "--allow-dirty", "--no-verify", "--offline", "--quiet"]);
    command.arg("--target-dir").arg(&run.target);
    let (published, private): (Vec<_>, Vec<_>) =
        run.workspace.members.iter().partition(|it| it.is_published());
    for member in private {
        command.args(["--exclude", &member.name]);
    }
    let packed = finish(&mut command)?;
    if packed != Outcome::Passed {
        return Ok(packed);
    }
    let folder = run.target.join("packaged");
    unpack_all(run, &published, &folder)?;
    let mut check = run.cargo(&["check", "--workspace", "--all-features", "--offline"]);
    check.arg("--target-dir").arg(&run.target);
    finish(check.current_dir(&folder))
}

/// Fills `folder` with the packed crates and a root manifest.
fn unpack_all(run: &Run<'_>, published: &[&Member], folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let version = version(&run.workspace.manifest)?;
    for member in published {
        let name = format!("{}-{version}", member.name);
        unpack(&run.target.join("package").join(format!("{name}.crate")), folder)?;
    }
    let names: Vec<_> = published.iter().map(|member| member.name.as_str()).collect();
    let manifest = root_manifest(&run.workspace.manifest, &names, version);
    fs::write(folder.join("Cargo.toml"), manifest.to_string())
        .and_then(|()| fs::copy(run.workspace.root.join("Cargo.lock"), folder.join("Cargo.lock")))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(())
}

/// Returns the version of all members. `tidy` checks that they inherit it from the root manifest.
fn version(manifest: &Table) -> Result<&str, String> {
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version")).and_then(Value::as_str);
    version.ok_or_else(|| "the root manifest does not have `workspace.package.version`".to_owned())
}

fn unpack(archive: &Path, folder: &Path) -> Result<(), String> {
    let mut command = Command::new("tar");
    // `-m` sets the present time. All files in the archive have the same old time, so cargo would not see changes.
    command.arg("-xmzf").arg(archive).arg("-C").arg(folder).stdin(Stdio::null());
    match finish(&mut command)? {
        Outcome::Passed => Ok(()),
        _ => Err(format!("{} could not be unpacked", archive.display())),
    }
}

/// Returns the manifest of a workspace in which the packed crates replace those of the registry.
fn root_manifest(ours: &Table, names: &[&str], version: &str) -> Table {
    let folder = |name: &str| Value::from(format!("{name}-{version}"));
    let members: Vec<Value> = names.iter().map(|name| folder(name)).collect();
    let replaced = names.iter().map(|name| ((*name).to_owned(), table([("path", folder(name))]))).collect();
    let mut manifest = Table::new();
    let workspace = [("resolver", Value::from("3")), ("members", Value::Array(members))];
    manifest.insert("workspace".to_owned(), table(workspace));
    manifest.insert("patch".to_owned(), table([("crates-io", Value::Table(replaced))]));
    // With the same profiles, dependencies are not compiled again.
    if let Some(profiles) = ours.get("profile") {
        manifest.insert("profile".to_owned(), profiles.clone());
    }
    manifest
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packed_crates_replace_those_of_the_registry() {
        let ours: Table =
            "[workspace.package]\nversion = '0.1.0'\n[profile.dev]\ndebug = false".parse().unwrap();
        let manifest = root_manifest(&ours, &["zarr-spec", "zarrctl"], version(&ours).unwrap());
        let expected: Table = "[workspace]\nresolver = '3'\nmembers = ['zarr-spec-0.1.0', 'zarrctl-0.1.0']\n\
            [patch.crates-io]\nzarr-spec = { path = 'zarr-spec-0.1.0' }\nzarrctl = { path = 'zarrctl-0.1.0' }\n\
            [profile.dev]\ndebug = false"
            .parse()
            .unwrap();
        assert_eq!(manifest, expected);
    }

    #[test]
    fn a_workspace_without_a_version_is_an_error() {
        assert!(version(&Table::new()).is_err());
    }
}
