//! Consolidated metadata in memory: copies of documents by the path of their node.

use std::collections::BTreeMap;
use std::sync::RwLock;

use zarr_spec::NodePath;

use super::listing::is_below;

use crate::unpoisoned::Unpoisoned;

/// The copies of documents, if the hierarchy has consolidated metadata.
#[derive(Debug)]
pub(super) struct Snapshot<D>(RwLock<Option<BTreeMap<NodePath, D>>>);

impl<D: Clone> Snapshot<D> {
    pub(super) fn new(documents: Option<BTreeMap<NodePath, D>>) -> Self {
        Self(RwLock::new(documents))
    }

    pub(super) fn is_there(&self) -> bool {
        self.with(|_| ()).is_some()
    }

    /// Returns the documents of a node; the outer `None` if there are no copies, the inner `None` if the node is not
    /// among them.
    pub(super) fn get(&self, path: &NodePath) -> Option<Option<D>> {
        self.with(|documents| documents.get(path).cloned())
    }

    /// Returns all nodes below `path`, at any depth; `None` if there are no copies.
    pub(super) fn below(&self, path: &NodePath) -> Option<Vec<(NodePath, D)>> {
        self.with(|documents| {
            let from_here = documents.range(path.clone()..).skip_while(|(node, _)| *node == path);
            let below = from_here.take_while(|(node, _)| is_below(node, path));
            below.map(|(node, documents)| (node.clone(), documents.clone())).collect()
        })
    }

    /// Updates the copy of a document that was written, if there are copies.
    pub(super) fn put(&self, path: &NodePath, documents: impl FnOnce() -> D) {
        if let Some(all) = &mut *self.0.write().unpoisoned() {
            all.insert(path.clone(), documents());
        }
    }

    pub(super) fn remove(&self, path: &NodePath) {
        if let Some(all) = &mut *self.0.write().unpoisoned() {
            all.retain(|node, _| node != path && !is_below(node, path));
        }
    }

    fn with<T>(&self, look: impl FnOnce(&BTreeMap<NodePath, D>) -> T) -> Option<T> {
        self.0.read().unpoisoned().as_ref().map(look)
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::Format;

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V3).unwrap()
    }

    #[test]
    fn below_excludes_paths_that_only_share_a_prefix_of_text() {
        let all = ["/", "/a", "/a/b", "/a/b/c", "/a-", "/ab", "/b"].map(|text| (path(text), text));
        let snapshot = Snapshot::new(Some(all.into_iter().collect()));
        let names = |path: &NodePath| {
            snapshot.below(path).unwrap().into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(names(&path("/a")), ["/a/b", "/a/b/c"]);
        assert_eq!(names(&path("/")).len(), 6);
        snapshot.remove(&path("/a"));
        assert_eq!(names(&path("/")), ["/a-", "/ab", "/b"]);
        assert_eq!(snapshot.get(&path("/a/b")), Some(None));
        assert_eq!(Snapshot::<()>::new(None).get(&path("/")), None);
    }
}
