//! Locks for changes of a hierarchy.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use zarr_spec::NodePath;

use super::Hierarchy;
use crate::locks::{Hold, NodeGuard};
use crate::progress::Progress;

impl Hierarchy {
    /// Locks the nodes at `paths`, and all nodes above and below them, against other changes until the guard is
    /// dropped. The caller holds no other lock, and starts no rayon jobs while it holds the guard: see
    /// [`Hierarchy::under_lock`].
    pub(crate) fn lock<'p>(&self, paths: impl IntoIterator<Item = &'p NodePath>) -> NodeGuard<'_> {
        let mut nodes = Vec::new();
        for path in paths {
            let mut hasher = DefaultHasher::new();
            self.location().hash(&mut hasher);
            for name in path.names() {
                nodes.push((hasher.finish(), Hold::Shared));
                name.hash(&mut hasher);
            }
            nodes.push((hasher.finish(), Hold::Exclusive));
        }
        self.inner.access.context.node_locks.lock(nodes)
    }

    pub(crate) fn under_lock(&self) -> Self {
        Self { under_lock: Some(Arc::new(self.context().under_lock())), ..self.clone() }
    }

    pub(crate) fn released(&self) -> Self {
        Self { under_lock: None, ..self.clone() }
    }

    /// Returns the same hierarchy with other counters: `progress` counts the chunks of its arrays, and cancels their
    /// calls as well as erasures and consolidations, between two requests.
    #[must_use]
    pub fn with_progress(&self, progress: &Progress) -> Self {
        Self { context: Some(Arc::new(self.context().clone().with_progress(progress))), ..self.clone() }
    }
}
