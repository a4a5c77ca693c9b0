//! Rules for the manifests of members.

use std::fs;
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

/// Every crate inherits the lints; a published one also has all that a registry shows.
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
        for key in ["repository", "categories"] {
            if !is_inherited(member.package(key)) {
                missing(format!("`{key}` is not inherited"));
            }
        }
        let keywords = member.package("keywords");
        let is_listed = keywords.and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if member.plugin().is_some() && !is_listed {
            missing("`keywords` does not list keywords of this plugin".to_owned());
        }
        if member.plugin().is_none() && !is_inherited(keywords) {
            missing("`keywords` is not inherited".to_owned());
        }
        if member.package("description").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            missing("there is no `description`".to_owned());
        }
        if !has_crate_docs(workspace, member) {
            missing(
                "its root module does not begin with `//!`, so its documentation has no first page"
                    .to_owned(),
            );
        }
    }
    Ok(findings)
}

/// Each plugin has a README that names its feature, and the texts of both licences.
pub(super) fn registry_pages(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some((family, name)) = member.plugin() else { continue };
        let folder = Path::new(&member.folder);
        let page = workspace.read(&folder.join("README.md")).unwrap_or_default();
        if !page.contains(&format!("`{family}-{name}`")) {
            let message = format!("expected a README.md that names the feature `{family}-{name}`");
            findings.push(Finding::error(&member.folder, message));
        }
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if fs::symlink_metadata(workspace.root.join(folder).join(file)).is_err() {
                findings.push(Finding::error(&member.folder, format!("expected a link to {file}")));
            }
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
        license.workspace = true\nrepository.workspace = true\nkeywords = ['zarr', 'gzip']\n\
        categories.workspace = true\n[lints]\nworkspace = true\n";

    fn messages(check: fn(&Workspace) -> Result<Vec<Finding>, String>, manifest: &str) -> Vec<String> {
        let tree =
            Tree::new(&[("codecs/gzip/Cargo.toml", manifest), ("codecs/gzip/src/lib.rs", "//! The codec.")]);
        check(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_version_path_or_source_in_a_member_is_refused() {
        for value in ["'1.0'", "{ path = '../zlib' }", "{ git = 'https://example.org/flate2' }"] {
            let manifest = format!("{PUBLISHED}[dependencies]\nflate2 = {value}\n");
            assert_eq!(messages(versions, &manifest), ["dependency `flate2` is not `workspace = true`"]);
        }
        let inherited =
            format!("{PUBLISHED}[dependencies]\nflate2 = {{ workspace = true, features = ['zlib'] }}\n");
        assert_eq!(messages(versions, &inherited), [""; 0]);
    }

    #[test]
    fn a_published_crate_shows_what_a_registry_wants() {
        assert_eq!(messages(inherited, PUBLISHED), [""; 0]);
        for line in PUBLISHED.lines().filter(|line| line.contains('=') && !line.starts_with("name")) {
            let without: Vec<_> = PUBLISHED.lines().filter(|other| *other != line).collect();
            assert_eq!(messages(inherited, &without.join("\n")).len(), 1, "without {line}");
        }
    }

    #[test]
    fn a_published_crate_has_a_first_page_of_documentation() {
        let tree =
            Tree::new(&[("codecs/gzip/Cargo.toml", PUBLISHED), ("codecs/gzip/src/lib.rs", "use std::io;")]);
        assert_eq!(inherited(&tree.load()).unwrap().len(), 1);
    }

    #[test]
    fn a_plugin_has_a_page_that_names_its_feature_and_licences() {
        let tree = Tree::new(&[
            ("codecs/gzip/Cargo.toml", PUBLISHED),
            ("codecs/gzip/README.md", "The feature is `codec-gzip`."),
            ("codecs/gzip/LICENSE-APACHE", ""),
            ("codecs/gzip/LICENSE-MIT", ""),
        ]);
        assert_eq!(registry_pages(&tree.load()).unwrap(), []);
        tree.write("codecs/gzip/README.md", "The feature is `codec-zlib`.");
        assert_eq!(registry_pages(&tree.load()).unwrap().len(), 1);
        let without = Tree::new(&[("codecs/gzip/Cargo.toml", PUBLISHED)]);
        assert_eq!(registry_pages(&without.load()).unwrap().len(), 3);
    }

    #[test]
    fn a_crate_that_is_not_published_needs_only_versions_licence_and_lints() {
        let manifest = PUBLISHED.replace("description = 'The gzip codec.'", "publish = false");
        let manifest = manifest.replace("keywords = ['zarr', 'gzip']\n", "");
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
    fn the_lock_file_must_be_there() {
        let tree = Tree::new(&[]);
        assert_eq!(lock_file(&tree.load()).unwrap().len(), 1);
        tree.write("Cargo.lock", "");
        assert_eq!(lock_file(&tree.load()).unwrap(), []);
    }
}
