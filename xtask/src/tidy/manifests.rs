//! Rules for the manifests of members.

use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use super::{Finding, code_of};
use crate::workspace::{Member, Workspace};

/// Checks that every dependency of a member is inherited: `NAME.workspace = true`.
pub(super) fn versions(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        for dependency in workspace.dependencies(member) {
            if !is_inherited(Some(&dependency.value)) {
                let message = format!("dependency `{}` is not `workspace = true`", dependency.package);
                findings.push(Finding::error(member.manifest_file(), message));
            }
        }
    }
    Ok(findings)
}

fn is_inherited(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
}

/// Checks that every crate inherits the lints and common metadata. A published crate also needs all that its registry
/// page shows.
pub(super) fn inherited(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let mut missing = |message: String| findings.push(Finding::error(member.manifest_file(), message));
        if !is_inherited(member.manifest.get("lints")) {
            missing("`[lints]` is not `workspace = true`".to_owned());
        }
        for key in ["version", "edition", "rust-version", "license"] {
            if !is_inherited(member.package(key)) {
                missing(format!("`{key}` is not inherited"));
            }
        }
        if !member.is_published() {
            continue;
        }
        if !is_inherited(member.package("repository")) {
            missing("`repository` is not inherited".to_owned());
        }
        if member.package("description").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            missing("`description` is missing".to_owned());
        }
        if !has_crate_docs(workspace, member) {
            missing(
                "expected a root module that begins with `//!`, the first page of its documentation"
                    .to_owned(),
            );
        }
    }
    Ok(findings)
}

fn has_crate_docs(workspace: &Workspace, member: &Member) -> bool {
    let roots = ["src/lib.rs", "src/main.rs"].map(|room| Path::new(&member.folder).join(room));
    roots.iter().filter_map(|file| workspace.read(file).ok()).any(|text| text.starts_with("//!"))
}

/// Finds `#[test]` functions in targets with `harness = false`, which have their own `main` and would never run them.
pub(super) fn harness(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in without_harness(workspace) {
        if code_of(workspace, &file)?.contains("#[test]") {
            findings.push(Finding::error(
                super::shown(&file),
                "a `#[test]` in a target without harness never runs",
            ));
        }
    }
    Ok(findings)
}

fn without_harness(workspace: &Workspace) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for member in &workspace.members {
        for (kind, folder) in [("test", "tests"), ("bench", "benches")] {
            let targets = member.manifest.get(kind).and_then(Value::as_array).into_iter().flatten();
            for target in targets.filter_map(Value::as_table) {
                if target.get("harness").and_then(Value::as_bool) == Some(false) {
                    files
                        .extend(target_file(target, folder).map(|file| Path::new(&member.folder).join(file)));
                }
            }
        }
    }
    files
}

fn target_file(target: &Table, folder: &str) -> Option<String> {
    let text = |key: &str| Some(target.get(key)?.as_str()?.to_owned());
    text("path").or_else(|| Some(format!("{folder}/{}.rs", text("name")?)))
}

/// Finds unit tests and examples of a library whose manifest turns them off. Most plugins have neither, and building an
/// empty test program for each of them takes long.
pub(super) fn turned_off(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let files = workspace.rust_files()?;
    let mut findings = Vec::new();
    for member in &workspace.members {
        let is_off =
            |key: &str| member.manifest.get("lib").and_then(|lib| lib.get(key)) == Some(&false.into());
        let folder = Path::new(&member.folder).join("src");
        for file in files.iter().filter(|file| file.starts_with(&folder)) {
            let mut found = |what: &str| {
                let message = format!("never runs: the manifest has `[lib]` with `{what} = false`");
                findings.push(Finding::error(super::shown(file), message));
            };
            if is_off("test") && code_of(workspace, file)?.contains("#[test]") {
                found("test");
            }
            if is_off("doctest") && workspace.read(file)?.lines().any(is_fence_of_an_example) {
                found("doctest");
            }
        }
    }
    Ok(findings)
}

fn is_fence_of_an_example(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    comment.is_some_and(|text| text.trim_start().starts_with("```"))
}

/// Checks that `Cargo.lock` is committed.
pub(super) fn lock_file(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let missing = |message: &str| Ok(vec![Finding::error("Cargo.lock", message)]);
    if !workspace.root.join("Cargo.lock").is_file() {
        return missing("the file is missing");
    }
    // Without `.git`, as in a packed or copied tree, nothing more can be checked.
    if !workspace.root.join(".git").exists() {
        return Ok(Vec::new());
    }
    let git = Command::new("git").arg("-C").arg(&workspace.root).args(["ls-files", "Cargo.lock"]).output();
    match git {
        Ok(output) if output.status.success() && output.stdout.is_empty() => {
            missing("the file is not committed")
        }
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    const PUBLISHED: &str = "[package]\nname = 'zarr-codec-gzip'\ndescription = 'The gzip codec.'\n\
        version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\nrepository.workspace = true\n[lints]\nworkspace = true\n";

    fn messages(check: fn(&Workspace) -> Result<Vec<Finding>, String>, manifest: &str) -> Vec<String> {
        let tree =
            Tree::new(&[("codecs/gzip/Cargo.toml", manifest), ("codecs/gzip/src/lib.rs", "//! The codec.")]);
        check(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn rejects_a_version_path_or_source_in_a_member() {
        for value in ["'1.0'", "{ path = '../zlib' }", "{ git = 'https://example.org/flate2' }"] {
            let manifest = format!("{PUBLISHED}[dependencies]\nflate2 = {value}\n");
            assert_eq!(messages(versions, &manifest), ["dependency `flate2` is not `workspace = true`"]);
        }
        let inherited =
            format!("{PUBLISHED}[dependencies]\nflate2 = {{ workspace = true, features = ['zlib'] }}\n");
        assert_eq!(messages(versions, &inherited), [""; 0]);
    }

    #[test]
    fn a_published_crate_needs_all_metadata_of_a_registry_page() {
        assert_eq!(messages(inherited, PUBLISHED), [""; 0]);
        for line in PUBLISHED.lines().filter(|line| line.contains('=') && !line.starts_with("name")) {
            let without: Vec<_> = PUBLISHED.lines().filter(|other| *other != line).collect();
            assert_eq!(messages(inherited, &without.join("\n")).len(), 1, "without {line}");
        }
    }

    #[test]
    fn a_published_crate_needs_documentation_of_its_root_module() {
        let tree =
            Tree::new(&[("codecs/gzip/Cargo.toml", PUBLISHED), ("codecs/gzip/src/lib.rs", "use std::io;")]);
        assert_eq!(inherited(&tree.load()).unwrap().len(), 1);
    }

    #[test]
    fn a_crate_that_is_not_published_needs_only_versions_licence_and_lints() {
        let manifest = PUBLISHED.replace("description = 'The gzip codec.'", "publish = false");
        assert_eq!(messages(inherited, &manifest), [""; 0]);
        assert_eq!(messages(inherited, &manifest.replace("license.workspace = true\n", "")).len(), 1);
    }

    #[test]
    fn a_test_in_a_target_without_harness_is_an_error() {
        let manifest = format!("{PUBLISHED}[[test]]\nname = 'conformance'\nharness = false\n");
        let tree = Tree::new(&[
            ("codecs/gzip/Cargo.toml", manifest.as_str()),
            ("codecs/gzip/tests/conformance.rs", "fn main() {} // no #[test]"),
        ]);
        assert_eq!(harness(&tree.load()).unwrap(), []);
        tree.write("codecs/gzip/tests/conformance.rs", "fn main() {}\n#[test]\nfn lost() {}");
        assert_eq!(harness(&tree.load()).unwrap().len(), 1);
    }

    #[test]
    fn a_test_or_an_example_that_is_turned_off_is_an_error() {
        let manifest = format!("{PUBLISHED}[lib]\ntest = false\ndoctest = false\n");
        let tree = Tree::new(&[
            ("codecs/gzip/Cargo.toml", &*manifest),
            ("codecs/gzip/src/lib.rs", "//! The codec."),
        ]);
        assert_eq!(turned_off(&tree.load()).unwrap(), []);
        for source in ["//! ```\n//! let a = 1;\n//! ```", "mod tests {\n    #[test]\n    fn runs() {}\n}"] {
            tree.write("codecs/gzip/src/lib.rs", source);
            assert_eq!(turned_off(&tree.load()).unwrap().len(), 1, "{source}");
        }
        tree.write("codecs/gzip/Cargo.toml", PUBLISHED);
        assert_eq!(turned_off(&tree.load()).unwrap(), []);
    }

    #[test]
    fn the_lock_file_must_exist() {
        let tree = Tree::new(&[]);
        assert_eq!(lock_file(&tree.load()).unwrap().len(), 1);
        tree.write("Cargo.lock", "");
        assert_eq!(lock_file(&tree.load()).unwrap(), []);
    }
}
