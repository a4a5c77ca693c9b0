//! The nodes below a group, including implicit groups.

use std::collections::{BTreeMap, BTreeSet};

use zarr_spec::NodePath;

use super::node_index::Nodes;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::{EntryKind, NodeEntry};
use crate::hierarchy::listing::is_below;

/// Returns the nodes at and below `path`. `start` is the kind of the node at `path`. `nodes` are all nodes with
/// documents.
pub(super) fn below(access: &Access, path: &NodePath, start: EntryKind, mut nodes: Nodes) -> Vec<NodeEntry> {
    nodes.retain(|node, _| is_below(node, path));
    nodes.insert(path.clone(), start);
    with_implicit_groups(nodes, path, |orphan, array| {
        access.warn(format!("{orphan} is below {array}, which is an array; it is ignored"));
    })
}

/// Returns the nodes at and below `start`: the explicit ones and the implicit groups between them. For each node below
/// an array, calls `orphan` with the node and the array.
fn with_implicit_groups(
    explicit: BTreeMap<NodePath, EntryKind>,
    start: &NodePath,
    mut orphan: impl FnMut(&NodePath, &NodePath),
) -> Vec<NodeEntry> {
    let mut implicit = BTreeSet::new();
    // The paths of nodes below arrays, each with its array.
    let mut orphans: BTreeMap<NodePath, NodePath> = BTreeMap::new();
    let mut nodes = Vec::new();
    // Paths are sorted: a path comes after all paths above it.
    for (path, kind) in &explicit {
        let mut between = Vec::new();
        let mut next = path.parent().filter(|_| path != start);
        let array = loop {
            let Some(above) = next else { break None };
            if let Some(array) = orphans.get(&above) {
                break Some(array.clone());
            }
            match explicit.get(&above) {
                Some(EntryKind::Array) => break Some(above),
                Some(_) => break None,
                None if implicit.contains(&above) => break None,
                None => {}
            }
            next = above.parent().filter(|_| above != *start);
            between.push(above);
        };
        if let Some(array) = array {
            orphan(path, &array);
            orphans.insert(path.clone(), array);
            continue;
        }
        implicit.extend(between);
        nodes.push(NodeEntry { path: path.clone(), kind: *kind });
    }
    nodes.extend(implicit.into_iter().map(|path| NodeEntry { path, kind: EntryKind::ImplicitGroup }));
    nodes
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V3Draft).unwrap()
    }

    #[test]
    fn groups_between_explicit_nodes_are_implicit_and_nothing_is_below_an_array() {
        let explicit = [
            ("/", EntryKind::ImplicitGroup),
            ("/a/b/c", EntryKind::Array),
            ("/a/b/c/x", EntryKind::Group),
            ("/a/b/c/x/y/z", EntryKind::Array),
            ("/d", EntryKind::Group),
        ];
        let explicit = explicit.map(|(text, kind)| (path(text), kind)).into_iter().collect();
        let mut orphans = Vec::new();
        let mut nodes = with_implicit_groups(explicit, &path("/"), |orphan, array| {
            orphans.push((orphan.clone(), array.clone()))
        });
        nodes.sort();
        let names: Vec<_> = nodes.iter().map(|node| (node.path.to_string(), node.kind)).collect();
        let wanted = [
            ("/", EntryKind::ImplicitGroup),
            ("/a", EntryKind::ImplicitGroup),
            ("/a/b", EntryKind::ImplicitGroup),
            ("/a/b/c", EntryKind::Array),
            ("/d", EntryKind::Group),
        ];
        assert_eq!(names, wanted.map(|(text, kind)| (text.to_owned(), kind)));
        let orphan = |text| (path(text), path("/a/b/c"));
        assert_eq!(orphans, [orphan("/a/b/c/x"), orphan("/a/b/c/x/y/z")]);
    }
}
