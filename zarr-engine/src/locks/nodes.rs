//! Locks of nodes: changes of one node take turns, and so do changes of consolidated metadata.
//!
//! A change of a node locks the node exclusively and all nodes above it shared. So it excludes other changes of the
//! node, and of everything above and below it, while nodes that are not above one another are changed at the same time.
//!
//! A thread takes all locks of a change in one call, in ascending order, and holds no other lock of a node meanwhile:
//! therefore threads never wait for one another in a circle. The lock of consolidated metadata comes after the locks of
//! nodes, and locks of chunks come last.

use super::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A fixed number of locks for any number of nodes.
#[derive(Debug)]
pub(crate) struct NodeLocks {
    nodes: Vec<RwLock<()>>,
    consolidated: Vec<Mutex<()>>,
}

/// How a node is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    /// The node is above the one that changes.
    Shared,
    /// The node changes.
    Exclusive,
}

/// The locks of one change, until this is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct NodeGuard<'l> {
    _held: Vec<Held<'l>>,
}

#[derive(Debug)]
enum Held<'l> {
    Shared { _guard: RwLockReadGuard<'l, ()> },
    Exclusive { _guard: RwLockWriteGuard<'l, ()> },
}

impl NodeLocks {
    /// Makes `count` locks, which is at least 1. Nodes with the same lock wait for one another.
    pub(crate) fn new(count: usize) -> Self {
        let nodes = (0..count).map(|_| RwLock::new(())).collect();
        let consolidated = (0..count.div_ceil(16)).map(|_| Mutex::new(())).collect();
        Self { nodes, consolidated }
    }

    /// Takes the locks of the nodes with these hashes.
    pub(crate) fn lock(&self, nodes: impl IntoIterator<Item = (u64, Hold)>) -> NodeGuard<'_> {
        let count = self.nodes.len();
        let mut wanted: Vec<_> = nodes.into_iter().map(|(hash, hold)| (number(hash, count), hold)).collect();
        // Of one lock the exclusive hold comes first, and is the one that is kept.
        wanted.sort_unstable_by(|(one, hold), (other, other_hold)| {
            one.cmp(other).then_with(|| other_hold.cmp(hold))
        });
        wanted.dedup_by_key(|(number, _)| *number);
        let held = wanted.into_iter().filter_map(|(number, hold)| {
            let lock = self.nodes.get(number)?;
            Some(match hold {
                Hold::Shared => Held::Shared { _guard: lock.read().unwrap_or_else(PoisonError::into_inner) },
                Hold::Exclusive => {
                    Held::Exclusive { _guard: lock.write().unwrap_or_else(PoisonError::into_inner) }
                }
            })
        });
        NodeGuard { _held: held.collect() }
    }

    /// Takes the lock of the consolidated metadata in the store with this hash.
    pub(crate) fn lock_consolidated(&self, store: u64) -> Option<MutexGuard<'_, ()>> {
        let lock = self.consolidated.get(number(store, self.consolidated.len()))?;
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the number of the lock of this hash among `count`.
fn number(hash: u64, count: usize) -> usize {
    // The remainder is below the number of locks.
    usize::try_from(hash % (count.max(1) as u64)).unwrap_or(0)
}
