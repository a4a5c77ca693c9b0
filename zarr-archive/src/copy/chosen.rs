//! The nodes that `copy` takes: by path, and by patterns.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use zarr_engine::{Hierarchy, NodeEntry};
use zarr_spec::NodePath;

use super::CopyRequest;
use super::error::CopyError;

/// A pattern of node paths. `*` stands for any characters in a name, and `**` for any number of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    names: Vec<String>,
}

impl FromStr for Pattern {
    type Err = String;

    /// Parses a pattern. Without a slash at its beginning, it matches at any depth.
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim_end_matches('/');
        let mut names: Vec<String> = match trimmed.strip_prefix('/') {
            Some(absolute) => absolute.split('/').map(str::to_owned).collect(),
            None => ["**"].into_iter().chain(trimmed.split('/')).map(str::to_owned).collect(),
        };
        if trimmed.is_empty() {
            names.clear();
        }
        if text.is_empty() || names.iter().any(String::is_empty) {
            return Err(format!("`{text}` is not a path of a node or a pattern such as /ocean/* or *_bnds"));
        }
        Ok(Pattern { text: text.to_owned(), names })
    }
}

impl Pattern {
    /// Returns whether the pattern matches the node or a group above it.
    fn contains(&self, path: &NodePath) -> bool {
        let names: Vec<_> = path.names().iter().map(String::as_str).collect();
        (0..=names.len()).any(|depth| matches_names(&self.names, &names[..depth]))
    }
}

/// The nodes to copy.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The nodes to copy. Parents precede their children.
    pub(crate) nodes: Vec<NodeEntry>,
    /// All nodes at and below the paths, also those that are excluded.
    pub(crate) all: Vec<NodeEntry>,
}

impl Chosen {
    /// Lists the nodes at and below the paths of the copy, and selects those that the patterns include.
    pub(crate) fn find(
        source: &Hierarchy,
        roots: &[NodePath],
        request: &CopyRequest,
    ) -> Result<Self, CopyError> {
        let mut all = BTreeMap::new();
        for root in roots {
            all.extend(source.walk(root)?.into_iter().map(|node| (node.path.clone(), node)));
        }
        let all: Vec<NodeEntry> = all.into_values().collect();
        let nodes = included(&all, request)?;
        Ok(Self { nodes, all })
    }
}

fn included(all: &[NodeEntry], request: &CopyRequest) -> Result<Vec<NodeEntry>, CopyError> {
    for pattern in request.include.iter().chain(&request.exclude) {
        if !all.iter().any(|node| pattern.contains(&node.path)) {
            return Err(CopyError::message(format!(
                "the pattern `{}` matches no node to copy",
                pattern.text
            )));
        }
    }
    let is_excluded = |node: &NodeEntry| request.exclude.iter().any(|pattern| pattern.contains(&node.path));
    let is_included = |node: &NodeEntry| {
        request.include.is_empty() || request.include.iter().any(|pattern| pattern.contains(&node.path))
    };
    let mut nodes: Vec<_> = all.iter().filter(|node| !is_excluded(node)).cloned().collect();
    // The groups above an included node are copied too, with their attributes.
    let mut groups = BTreeSet::new();
    for node in nodes.iter().filter(|node| is_included(node)) {
        let mut path = node.path.parent();
        while let Some(group) = path.filter(|group| groups.insert(group.clone())) {
            path = group.parent();
        }
    }
    nodes.retain(|node| is_included(node) || groups.contains(&node.path));
    Ok(nodes)
}

/// Returns whether a pattern matches all names of a path.
fn matches_names(pattern: &[String], names: &[&str]) -> bool {
    match pattern.split_first() {
        None => names.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=names.len()).any(|skipped| matches_names(rest, &names[skipped..]))
        }
        Some((first, rest)) => names
            .split_first()
            .is_some_and(|(name, names)| matches_name(first, name) && matches_names(rest, names)),
    }
}

/// Returns whether a pattern matches a name. Takes time in proportion to the product of the lengths.
fn matches_name(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        // The first occurrence leaves the most characters for the other parts.
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    fn matches(text: &str, path: &str) -> bool {
        text.parse::<Pattern>().unwrap().contains(&NodePath::parse(path, Format::V3).unwrap())
    }

    #[test]
    fn patterns_match_nodes_and_those_below() {
        for (text, path) in [
            ("/", "/a"),
            ("/a", "/a"),
            ("/a/", "/a/b/c"),
            ("/*/t2m", "/ocean/t2m"),
            ("/**/t2m", "/t2m"),
            ("/**/t2m", "/x/y/t2m"),
            ("*_bnds", "/ocean/lat_bnds"),
            ("t*m", "/t2m"),
            ("a*b*c", "/axbyc"),
            ("a*b*c", "/abc"),
            ("x/y", "/a/x/y/z"),
        ] {
            assert!(matches(text, path), "{text} {path}");
        }
        for (text, path) in [
            ("/a", "/ab"),
            ("/a", "/"),
            ("/a/b", "/a"),
            ("/*", "/"),
            ("t2m", "/t2"),
            ("*_bnds", "/lat_bnds2"),
            ("ab*b", "/ab"),
            ("x/y", "/x/a/y"),
        ] {
            assert!(!matches(text, path), "{text} {path}");
        }
        assert!(["", "/a//b"].iter().all(|text| text.parse::<Pattern>().is_err()));
    }
}
