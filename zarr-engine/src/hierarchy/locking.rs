//! Which locks a change of a hierarchy takes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use zarr_spec::NodePath;

use super::Hierarchy;
use crate::locks::{Hold, NodeGuard};
use crate::progress::Progress;

impl Hierarchy {
    /// Excludes other changes of the nodes at `paths`, and of all nodes above and below them, until the guard is dropped.
    /// The caller holds no other lock, and hands no work to rayon meanwhile: see [`Hierarchy::under_lock`].
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

    /// The same hierarchy for arrays that are read and written under the lock of a node.
    pub(crate) fn under_lock(&self) -> Self {
        Self { under_lock: Some(Arc::new(self.context().under_lock())), ..self.clone() }
    }

    /// The same hierarchy for callers.
    pub(crate) fn released(&self) -> Self {
        Self { under_lock: None, ..self.clone() }
    }

    /// The same hierarchy whose arrays count their chunks in `progress`.
    pub(crate) fn with_progress(&self, progress: &Progress) -> Self {
        Self { context: Some(Arc::new(self.context().clone().with_progress(progress))), ..self.clone() }
    }
}
