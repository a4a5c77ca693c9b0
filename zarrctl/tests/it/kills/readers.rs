//! Reads a store by its documents and by its consolidated metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use zarr_kit::spec::Object;
use zarr_kit::{
    Array, Context, Error, Format, Hierarchy, Node, NodePath, OpenOptions, Selection, open_store,
};

/// Size of an element of the arrays in these tests, in bytes.
const ELEMENT: usize = 2;

/// The paths of all nodes that the tests erase.
const PATHS: [&str; 5] = ["/a", "/g", "/g/b", "/g/h", "/g/h/c"];

/// A node as a reader finds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    Group {
        attributes: Object,
    },
    /// A group of the draft without a document.
    ImplicitGroup,
    Array(FoundArray),
}

/// An array with all its elements.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundArray {
    attributes: Object,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    elements: Vec<u8>,
}

/// All nodes that one reader finds, by their paths.
pub(super) type Nodes = BTreeMap<String, Found>;

/// The nodes and elements that readers find with and without consolidated metadata.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Readers {
    pub(super) by_documents: Nodes,
    pub(super) by_copies: Nodes,
}

impl Readers {
    /// Reads everything in the store at `folder`.
    pub(super) fn of(folder: &Path, format: Format) -> Self {
        Self { by_documents: nodes(folder, format, false), by_copies: nodes(folder, format, true) }
    }
}

/// Opens the hierarchy of this format in a folder, if there is one.
fn opened(folder: &Path, format: Format, consolidated: bool) -> Option<Hierarchy> {
    let context = Context::linked().unwrap();
    let store = open_store(context.registry(), folder.to_str().unwrap()).unwrap();
    let options = OpenOptions::new().format(format).consolidated(consolidated);
    match Hierarchy::open_with(store, &context, options) {
        Err(Error::NoHierarchy { .. }) => None,
        hierarchy => Some(hierarchy.unwrap()),
    }
}

/// Panics unless all nodes in a folder can be read. Returns the number of arrays.
pub(super) fn check_readable(folder: &Path, format: Format) -> usize {
    let Some(hierarchy) = opened(folder, format, true) else { return 0 };
    let children = hierarchy.walk(NodePath::root()).unwrap().into_iter();
    let is_array = |node: Node| match node {
        Node::Group(_) => false,
        Node::Array(array) => array.read(&Selection::All).map(|_| true).unwrap(),
        Node::Unreadable(unreadable) => panic!("{} cannot be read: {}", unreadable.path, unreadable.error),
    };
    children.filter(|child| is_array(hierarchy.node(&child.path).unwrap())).count()
}

fn nodes(folder: &Path, format: Format, consolidated: bool) -> Nodes {
    let Some(hierarchy) = opened(folder, format, consolidated) else { return Nodes::new() };
    let children = hierarchy.walk(NodePath::root()).unwrap().into_iter().map(|child| child.path.to_string());
    // A node is found by its path even if a group above it is missing.
    let paths: BTreeSet<String> = children.chain(PATHS.map(str::to_owned)).collect();
    let open = |path: String| match hierarchy.node(&path) {
        Err(Error::NoNode(_)) => None,
        node => Some((path, found(node.unwrap()))),
    };
    paths.into_iter().filter_map(open).collect()
}

fn found(node: Node) -> Found {
    match node {
        Node::Group(group) if group.is_implicit() => Found::ImplicitGroup,
        Node::Group(group) => Found::Group { attributes: group.attributes().clone() },
        Node::Array(array) => Found::Array(FoundArray::of(&array)),
        Node::Unreadable(unreadable) => panic!("{} cannot be read: {}", unreadable.path, unreadable.error),
    }
}

impl FoundArray {
    fn of(array: &Array) -> Self {
        Self {
            attributes: array.attributes().clone(),
            shape: array.shape().to_vec(),
            chunk: array.chunk_grid().chunk_shape().unwrap().to_vec(),
            elements: array.read(&Selection::All).unwrap().bytes().to_vec(),
        }
    }

    /// Returns whether each chunk equals the same chunk of one of these arrays.
    fn is_mixed_from(&self, allowed: &[&Self]) -> bool {
        let are_alike = |other: &&Self| {
            (&other.attributes, &other.shape, &other.chunk) == (&self.attributes, &self.shape, &self.chunk)
        };
        let chunks: Vec<_> = allowed.iter().copied().filter(are_alike).map(Self::chunks).collect();
        let has = |(index, chunk): (&Vec<u64>, &Vec<u8>)| chunks.iter().any(|own| own[index] == *chunk);
        self.chunks().iter().all(has)
    }

    /// Returns the elements of each chunk.
    fn chunks(&self) -> BTreeMap<Vec<u64>, Vec<u8>> {
        let mut chunks: BTreeMap<Vec<u64>, Vec<u8>> = BTreeMap::new();
        for (number, element) in (0..).zip(self.elements.chunks(ELEMENT)) {
            let mut rest: u64 = number;
            let mut index = vec![0; self.shape.len()];
            for dimension in (0..self.shape.len()).rev() {
                index[dimension] = rest % self.shape[dimension] / self.chunk[dimension];
                rest /= self.shape[dimension];
            }
            chunks.entry(index).or_default().extend(element);
        }
        chunks
    }
}

/// How nodes may combine the allowed states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mixing {
    /// Each node comes from one state.
    Nodes,
    /// Each chunk comes from one state.
    Chunks,
}

/// Panics unless each node of `now` is in one of the `allowed` states.
pub(super) fn check_nodes(now: &Nodes, allowed: &[&Nodes], mixing: Mixing) {
    let paths: BTreeSet<&String> = allowed.iter().flat_map(|nodes| nodes.keys()).chain(now.keys()).collect();
    for path in paths {
        let node = now.get(path);
        let states: Vec<_> = allowed.iter().map(|nodes| nodes.get(path)).collect();
        let arrays: Vec<_> = states.iter().filter_map(|state| array(*state)).collect();
        let is_mixed =
            mixing == Mixing::Chunks && array(node).is_some_and(|node| node.is_mixed_from(&arrays));
        // In the draft, the groups above a node do not need documents.
        let is_implicit = node == Some(&Found::ImplicitGroup) && states.contains(&None);
        assert!(
            states.contains(&node) || is_mixed || is_implicit,
            "{path}: found {node:?}, allowed {states:?}"
        );
    }
}

fn array(node: Option<&Found>) -> Option<&FoundArray> {
    match node {
        Some(Found::Array(array)) => Some(array),
        _ => None,
    }
}

/// Returns all files below a folder with their contents.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}
