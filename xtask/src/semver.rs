//! `cargo xtask semver`: checks that changes of the public interfaces since the last release match the version.
//!
//! Releases are tags that begin with `v`. The comparison uses `cargo-semver-checks`. If it is missing, it is installed into
//! the target folder as soon as there is a release.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::workspace::Workspace;
use crate::{Failure, say};

/// The packages that crates outside this workspace use. The other crates follow their version.
const PACKAGES: [&str; 5] = ["zarr-json", "zarr-spec", "zarr-plugin-kit", "zarr-plugin", "zarr-conformance"];

/// The version of `cargo-semver-checks`. A newer one may report more findings for the same change.
const VERSION: &str = "0.51.0";

pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let Some(tag) = newest_release(workspace)? else {
        say("there is no release tag `v…` to compare with\n")?;
        return Ok(());
    };
    say(&format!("compared with {tag}: {}\n", PACKAGES.join(", ")))?;
    let mut checks = checks(workspace)?;
    checks.args(["semver-checks", "--baseline-rev", &tag]);
    checks.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    ends_well(&mut checks)
}

/// Returns the tag with the highest version among the releases before the checked-out commit.
fn newest_release(workspace: &Workspace) -> Result<Option<String>, String> {
    if !workspace.root.join(".git").exists() {
        return Ok(None);
    }
    let mut git = Command::new("git");
    // A version with a suffix sorts before the same version without one.
    git.args([
        "-c",
        "versionsort.suffix=-",
        "tag",
        "--list",
        "v[0-9]*",
        "--merged",
        "HEAD",
        "--sort=-version:refname",
    ]);
    let output = git.current_dir(&workspace.root).output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git tag: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().map(ToOwned::to_owned))
}

/// Returns the command `cargo-semver-checks`, which is installed first if necessary.
fn checks(workspace: &Workspace) -> Result<Command, Failure> {
    let at_root = |program: PathBuf| {
        let mut command = Command::new(program);
        command.current_dir(&workspace.root).stdin(Stdio::null());
        command
    };
    let cargo = || at_root(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into());
    let mut version = cargo();
    version.args(["semver-checks", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if version.status().is_ok_and(|status| status.success()) {
        return Ok(cargo());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let tools = workspace.root.join(target).join("tools");
    let program = tools.join("bin/cargo-semver-checks");
    if !program.exists() {
        let mut install = cargo();
        install.args(["install", "cargo-semver-checks", "--version", VERSION, "--locked", "--root"]);
        ends_well(install.arg(tools))?;
    }
    Ok(at_root(program))
}

fn ends_well(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(Failure::Checks) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workspace::made_up::Tree;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        let output =
            git.args(["-c", "tag.gpgSign=false", "-c", "commit.gpgSign=false"]).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn the_newest_release_is_the_highest_version_before_the_commit() {
        let tree = Tree::new(&[]);
        let workspace = tree.load();
        assert_eq!(newest_release(&workspace), Ok(None), "no repository");
        let root = workspace.root.as_path();
        git(root, &["init", "--quiet"]);
        let commit = |message| git(root, &["commit", "--quiet", "--allow-empty", "--message", message]);
        commit("a");
        assert_eq!(newest_release(&workspace), Ok(None));
        assert!(run(&workspace).is_ok());
        for tag in ["v0.9.0", "v0.10.0", "v0.10.0-rc.1", "version-5"] {
            git(root, &["tag", tag]);
        }
        commit("b");
        git(root, &["tag", "v1.0.0"]);
        git(root, &["checkout", "--quiet", "HEAD~"]);
        commit("c");
        assert_eq!(newest_release(&workspace), Ok(Some("v0.10.0".to_owned())));
    }
}
