//! Every URI of the project begins with the prefix that `zarr-spec` declares.

use std::fs;

use super::spec_pages;
use super::{Finding, shown};
use crate::workspace::{PLUGIN_FAMILIES, Workspace};

/// Prefixes of the URIs of other projects.
const OTHERS: &[(&str, &str)] = &[
    ("https://purl.org/zarr/spec/", "the Zarr specifications"),
    ("http://purl.org/zarr/spec/", "the Zarr specifications, as some writers spell them"),
    ("https://zarr-specs.readthedocs.io/", "pages of the Zarr specifications"),
    ("https://codec.zarrs.dev/", "codecs of zarrs"),
    ("https://example.org/", "reserved for examples"),
];

/// Finds URIs of the project with another prefix: URIs on the same host, and in plugins identifiers with a version.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<Finding>, String> {
    let Some(base) = spec_pages::base(workspace) else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    for file in workspace.project_files()? {
        let place = shown(&file);
        let bytes = fs::read(workspace.root.join(&file)).map_err(|error| format!("{place}: {error}"))?;
        for (line, number) in String::from_utf8_lossy(&bytes).lines().zip(1..) {
            let wrong = uris(line).filter(|uri| is_wrong(uri, &base, is_of_plugin(&place)));
            findings.extend(wrong.map(|uri| {
                let message = format!("`{uri}` does not begin with the prefix `{base}` of our own URIs");
                Finding::error(format!("{place}:{number}"), message)
            }));
        }
    }
    Ok(findings)
}

/// Returns whether a file is source code of a plugin.
fn is_of_plugin(place: &str) -> bool {
    let mut parts = place.split('/');
    let family = parts.next().unwrap_or_default();
    PLUGIN_FAMILIES.iter().any(|(folder, _)| *folder == family) && parts.nth(1) == Some("src")
}

fn is_wrong(uri: &str, base: &str, is_of_plugin: bool) -> bool {
    if uri == base || uri.strip_prefix(base).is_some_and(|rest| rest.starts_with('/')) {
        return false;
    }
    let is_on_host = host(uri) == host(base);
    let is_other = OTHERS.iter().any(|(start, _)| uri.starts_with(start));
    is_on_host || (is_of_plugin && has_version(uri) && !is_other)
}

fn host(uri: &str) -> Option<&str> {
    uri.split_once("://")?.1.split('/').next()
}

/// Returns whether a URI ends in a version, as identifiers of plugins do.
fn has_version(uri: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = uri.rsplit('/').next().and_then(|version| version.split_once('.'));
    version.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Returns the URIs in a line.
fn uris(line: &str) -> impl Iterator<Item = &str> {
    let starts = ["https://", "http://"].into_iter().flat_map(|scheme| line.match_indices(scheme));
    starts.map(|(at, _)| {
        let rest = &line[at..];
        let end = rest.find(|it: char| it.is_whitespace() || "\"'`<>()[]{}|\\,;".contains(it));
        rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ':'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::made_up::Tree;

    const DECLARATION: (&str, &str) =
        ("zarr-spec/src/lib.rs", "pub const OWN_URI_BASE: &str = \"https://e.org/s\";");

    fn places(file: &str, text: &str) -> Vec<String> {
        let tree = Tree::new(&[DECLARATION, (file, text)]);
        check(&tree.load()).unwrap().into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn another_prefix_on_the_same_host_is_found_in_any_file() {
        let text =
            "see https://e.org/s/codecs/a/1.0, `https://e.org/s`.\nhttps://e.org/spec/a\n(http://e.org/s)";
        assert_eq!(places("docs/a.md", text), ["docs/a.md:2", "docs/a.md:3"]);
        assert_eq!(places("a.json", "{\"uri\": \"https://e.org/\"}"), ["a.json:1"]);
    }

    #[test]
    fn an_identifier_in_a_plugin_is_our_own_or_of_a_known_project() {
        let file = "codecs/a/src/lib.rs";
        assert_eq!(places(file, "Some(\"https://other.org/codecs/a/1.0\")"), ["codecs/a/src/lib.rs:1"]);
        assert_eq!(places(file, "Some(\"https://purl.org/zarr/spec/codecs/a/1.0\")"), [""; 0]);
        assert_eq!(places(file, "//! See https://other.org/a."), [""; 0]);
        assert_eq!(places("codecs/a/tests/it.rs", "\"https://other.org/a/1.0\""), [""; 0]);
    }
}
