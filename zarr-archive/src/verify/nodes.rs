//! The nodes of a hierarchy, for checks that compare them.

use std::collections::{BTreeMap, BTreeSet};

use zarr_engine::{Array, Error, Group, Hierarchy, Node};
use zarr_spec::NodePath;

/// The nodes of a hierarchy.
pub(super) struct Nodes {
    /// The arrays that can be opened.
    pub(super) arrays: Vec<Array>,
    /// The groups that can be opened.
    pub(super) groups: Vec<Group>,
    /// The positions of arrays by their paths.
    places: BTreeMap<String, usize>,
    /// The paths of nodes that cannot be opened.
    unreadable: BTreeSet<String>,
    group_paths: BTreeSet<String>,
}

/// The node that a path names.
pub(super) enum Found<'a> {
    Array(&'a Array),
    Group,
    /// A node that cannot be opened.
    Unreadable,
    Nothing,
}

impl Nodes {
    pub(super) fn of(hierarchy: &Hierarchy) -> Result<Self, Error> {
        let mut nodes = Self {
            arrays: Vec::new(),
            groups: Vec::new(),
            places: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            group_paths: BTreeSet::new(),
        };
        for entry in hierarchy.walk(NodePath::root())? {
            let path = entry.path.to_string();
            match hierarchy.node(&entry.path)? {
                Node::Array(array) => {
                    nodes.places.insert(path, nodes.arrays.len());
                    nodes.arrays.push(*array);
                }
                Node::Group(group) => {
                    nodes.group_paths.insert(path);
                    nodes.groups.push(group);
                }
                Node::Unreadable(_) => drop(nodes.unreadable.insert(path)),
            }
        }
        Ok(nodes)
    }

    /// Returns the node that `relative`, a path such as `0/pixels`, names below a group.
    pub(super) fn below(&self, group: &Group, relative: &str) -> Found<'_> {
        self.at(&below(group.path(), relative))
    }

    /// Returns the node that `name` names in the group of an array, or else in the nearest group above it.
    pub(super) fn near(&self, array: &Array, name: &str) -> Found<'_> {
        let groups = std::iter::successors(array.path().parent(), NodePath::parent);
        for group in groups {
            match self.at(&below(&group, name)) {
                Found::Nothing => {}
                found => return found,
            }
        }
        Found::Nothing
    }

    /// Returns the node at an absolute path.
    pub(super) fn at(&self, path: &str) -> Found<'_> {
        match self.places.get(path) {
            Some(place) => Found::Array(&self.arrays[*place]),
            None if self.group_paths.contains(path) => Found::Group,
            None if self.unreadable.contains(path) => Found::Unreadable,
            None => Found::Nothing,
        }
    }
}

fn below(group: &NodePath, relative: &str) -> String {
    if group.is_root() { format!("/{relative}") } else { format!("{group}/{relative}") }
}
