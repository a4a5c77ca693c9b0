//! Checks that each published crate has complete registry pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::Value;

use super::Finding;
use crate::workspace::{Member, Workspace};

/// The maximum number of keywords that a registry accepts.
const MOST_KEYWORDS: usize = 5;

/// The maximum length in characters of a keyword that a registry accepts.
const LONGEST_KEYWORD: usize = 20;

/// The keyword that all crates share.
const SHARED_KEYWORD: &str = "zarr";

/// The attribute that marks items with their features in the documentation that a registry builds.
const MARKS_FEATURES: &str = "#![cfg_attr(docsrs, feature(doc_cfg))]";

/// Checks that each published crate has a README and the texts of both licences. The README of a plugin must name its
/// feature.
pub(super) fn pages(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in published(workspace) {
        let folder = Path::new(&member.folder);
        let page = workspace.read(&folder.join("README.md")).unwrap_or_default();
        if !page.starts_with(&format!("# {}\n", member.name)) {
            let message = format!("expected a README.md that begins with `# {}`", member.name);
            findings.push(Finding::error(&member.folder, message));
        }
        let feature = member.plugin().map(|(family, name)| format!("`{family}-{name}`"));
        if let Some(feature) = feature.filter(|feature| !page.contains(feature)) {
            let message = format!("expected a README.md that names the feature {feature}");
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

/// Checks that each published crate has keywords, categories and its own description.
pub(super) fn terms(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let mut described: BTreeMap<&str, &str> = BTreeMap::new();
    for member in published(workspace) {
        if let Some(message) = wrong_keywords(member) {
            findings.push(Finding::error(member.manifest_file(), message));
        }
        if member.package("categories").is_none() {
            findings.push(Finding::error(member.manifest_file(), "expected `categories`"));
        }
        let description = member.package("description").and_then(Value::as_str).unwrap_or_default();
        if let Some(other) = described.insert(description, &member.name) {
            let message = format!("the description is the same as that of {other}");
            findings.push(Finding::error(member.manifest_file(), message));
        }
    }
    Ok(findings)
}

fn wrong_keywords(member: &Member) -> Option<String> {
    let Some(keywords) = member.package("keywords").and_then(Value::as_array) else {
        return Some("expected `keywords` of this crate".to_owned());
    };
    let keywords: Vec<&str> = keywords.iter().filter_map(Value::as_str).collect();
    if keywords.len() < 2 || keywords.len() > MOST_KEYWORDS || !keywords.contains(&SHARED_KEYWORD) {
        return Some(format!("expected 2 to {MOST_KEYWORDS} keywords, one of which is `{SHARED_KEYWORD}`"));
    }
    let long = keywords.iter().find(|keyword| keyword.chars().count() > LONGEST_KEYWORD)?;
    Some(format!("the keyword `{long}` is longer than {LONGEST_KEYWORD} characters"))
}

/// Checks that the documentation of a library with features shows all features and marks their items.
pub(super) fn documentation(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for member in published(workspace).filter(|member| member.manifest.contains_key("features")) {
        let file = Path::new(&member.folder).join("src/lib.rs");
        let Ok(root) = workspace.read(&file) else { continue };
        let tool = member.package("metadata").and_then(|metadata| metadata.get("docs"));
        let tool = tool.and_then(|docs| docs.get("rs")).and_then(|settings| settings.get("all-features"));
        if tool.and_then(Value::as_bool) != Some(true) {
            let message = "expected `all-features = true` in `[package.metadata.docs.rs]`";
            findings.push(Finding::error(member.manifest_file(), message));
        }
        if !root.lines().any(|line| line == MARKS_FEATURES) {
            findings.push(Finding::error(super::shown(&file), format!("expected `{MARKS_FEATURES}`")));
        }
    }
    Ok(findings)
}

fn published(workspace: &Workspace) -> impl Iterator<Item = &Member> {
    workspace.members.iter().filter(|member| member.is_published())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    const MANIFEST: &str = "[package]\nname = 'zarr-codec-gzip'\ndescription = 'The gzip codec.'\n\
        keywords = ['zarr', 'gzip']\ncategories.workspace = true\n";

    fn messages(check: fn(&Workspace) -> Result<Vec<Finding>, String>, manifest: &str) -> Vec<String> {
        let tree = Tree::new(&[
            ("codecs/gzip/Cargo.toml", manifest),
            ("codecs/gzip/src/lib.rs", "//! The codec.\n\n#![cfg_attr(docsrs, feature(doc_cfg))]\n"),
        ]);
        check(&tree.load()).unwrap().into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_crate_has_a_page_with_its_feature_and_licences() {
        let tree = Tree::new(&[
            ("codecs/gzip/Cargo.toml", MANIFEST),
            ("codecs/gzip/README.md", "# zarr-codec-gzip\n\nThe feature is `codec-gzip`."),
            ("codecs/gzip/LICENSE-APACHE", ""),
            ("codecs/gzip/LICENSE-MIT", ""),
        ]);
        assert_eq!(pages(&tree.load()).unwrap(), []);
        tree.write("codecs/gzip/README.md", "# zarr-codec-gzip\n\nThe feature is `codec-zlib`.");
        assert_eq!(pages(&tree.load()).unwrap().len(), 1);
        let without = Tree::new(&[("codecs/gzip/Cargo.toml", MANIFEST)]);
        assert_eq!(pages(&without.load()).unwrap().len(), 4);
        let engine = Tree::new(&[("zarr-engine/Cargo.toml", "[package]\nname = 'zarr-engine'")]);
        assert_eq!(pages(&engine.load()).unwrap().len(), 3);
    }

    #[test]
    fn keywords_and_categories_are_those_that_a_registry_accepts() {
        assert_eq!(messages(terms, MANIFEST), [""; 0]);
        let keywords = |list: &str| messages(terms, &MANIFEST.replace("['zarr', 'gzip']", list)).len();
        assert_eq!(keywords("['gzip', 'codec']"), 1);
        assert_eq!(keywords("['zarr']"), 1);
        assert_eq!(keywords("['zarr', 'a', 'b', 'c', 'd', 'e']"), 1);
        assert_eq!(keywords("['zarr', 'a-keyword-that-is-long']"), 1);
        assert_eq!(messages(terms, &MANIFEST.replace("categories.workspace = true\n", "")).len(), 1);
    }

    #[test]
    fn two_crates_do_not_share_a_description() {
        let other = MANIFEST.replace("gzip'", "zlib'");
        let tree = Tree::new(&[("codecs/gzip/Cargo.toml", MANIFEST), ("codecs/zlib/Cargo.toml", &other)]);
        assert_eq!(terms(&tree.load()).unwrap().len(), 1);
    }

    #[test]
    fn the_documentation_shows_and_marks_features() {
        assert_eq!(messages(documentation, MANIFEST), [""; 0]);
        let features = format!("{MANIFEST}[features]\nfast = []\n");
        let message = "expected `all-features = true` in `[package.metadata.docs.rs]`";
        assert_eq!(messages(documentation, &features), [message]);
        let shown = format!("{features}[package.metadata.docs.rs]\nall-features = true\n");
        assert_eq!(messages(documentation, &shown), [""; 0]);
        let tree =
            Tree::new(&[("codecs/gzip/Cargo.toml", &*shown), ("codecs/gzip/src/lib.rs", "//! No mark.")]);
        assert_eq!(documentation(&tree.load()).unwrap().len(), 1);
    }
}
