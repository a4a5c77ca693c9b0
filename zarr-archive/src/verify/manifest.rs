//! Compares a hierarchy with a manifest.

use std::collections::BTreeSet;

use zarr_engine::{EntryKind, Error, Hierarchy, Node};
use zarr_json::{Object, Value};
use zarr_spec::NodePath;

use super::{Finding, FindingKind, Report};
use crate::canonical_json::canonical_json;
use crate::digest::{below, described};
use crate::elements::Stream;
use crate::manifest::{Manifest, ManifestNode};
use crate::sums::ValueSum;

/// Compares the nodes of a hierarchy with those of the manifest, except for elements.
pub(super) fn check(hierarchy: &Hierarchy, manifest: &Manifest, report: &mut Report) -> Result<(), Error> {
    let root = NodePath::root();
    let mut found = BTreeSet::new();
    for entry in hierarchy.walk(&root)? {
        let path = below(&entry.path, &root);
        found.insert(path.clone());
        let node = match hierarchy.node(&entry.path)? {
            Node::Group(_) if entry.kind == EntryKind::ImplicitGroup => {
                ManifestNode::Group { attributes: Object::new() }
            }
            Node::Group(group) => ManifestNode::Group { attributes: group.attributes().clone() },
            Node::Array(array) => described(&array, &Stream::of(&array), ValueSum::default()),
            Node::Unreadable(_) => continue,
        };
        let text = match manifest.nodes.get(&path) {
            None => "the manifest does not have this node".to_owned(),
            Some(expected) => match differences(expected, &node) {
                names if names.is_empty() => continue,
                names => format!("differs from the manifest: {}", names.join(", ")),
            },
        };
        report.add(Finding::new(FindingKind::Manifest, text).at(path));
    }
    for path in manifest.nodes.keys().filter(|path| !found.contains(*path)) {
        report.add(Finding::new(FindingKind::Manifest, "this node of the manifest is missing").at(path));
    }
    Ok(())
}

/// Returns the members that differ, without the hash of the elements.
fn differences(expected: &ManifestNode, found: &ManifestNode) -> Vec<String> {
    let [Value::Object(expected), Value::Object(found)] = [expected, found].map(ManifestNode::to_json) else {
        return Vec::new();
    };
    let names: BTreeSet<&str> =
        expected.keys().chain(found.keys()).filter(|name| *name != "values").collect();
    let text = |node: &Object, name: &str| node.get(name).map(canonical_json);
    let differ = names.into_iter().filter(|name| text(&expected, name) != text(&found, name));
    differ.map(|name| format!("`{name}`")).collect()
}

/// Returns the finding for an array whose elements have another hash.
pub(super) fn compare_values(manifest: &Manifest, path: &str, values: &str) -> Option<Finding> {
    let ManifestNode::Array { values: expected, .. } = manifest.nodes.get(path)? else { return None };
    (expected != values).then(|| {
        let text = format!("the elements differ from the manifest: their hash is {values}, not {expected}");
        Finding::new(FindingKind::Manifest, text).at(path)
    })
}
