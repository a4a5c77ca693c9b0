//! Locks of nodes. They serialize changes of one node, and changes of consolidated metadata.
//!
//! A change of a node locks the node exclusively and all nodes above it shared. This excludes other changes of the node
//! and of all nodes above and below it. Other nodes can be changed at the same time.
//!
//! A thread acquires all locks of a change in one call, in ascending order, and holds no other node lock meanwhile, so
//! there is no deadlock. The lock of consolidated metadata is acquired after the locks of nodes, and the locks of
//! chunks last.

use super::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Debug)]
pub(crate) struct NodeLocks {
    nodes: Vec<RwLock<()>>,
    consolidated: Vec<Mutex<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hold {
    Shared,
    Exclusive,
}

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
    /// Creates `count` locks, which must be at least 1. Nodes with the same lock exclude each other.
    pub(crate) fn new(count: usize) -> Self {
        let nodes = (0..count).map(|_| RwLock::new(())).collect();
        let consolidated = (0..count.div_ceil(16)).map(|_| Mutex::new(())).collect();
        Self { nodes, consolidated }
    }

    pub(crate) fn lock(&self, nodes: impl IntoIterator<Item = (u64, Hold)>) -> NodeGuard<'_> {
        let count = self.nodes.len();
        let mut wanted: Vec<_> = nodes.into_iter().map(|(hash, hold)| (number(hash, count), hold)).collect();
        // If a lock occurs several times, the exclusive hold comes first and is kept.
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

    /// Acquires the lock of the consolidated metadata in the store with this hash.
    pub(crate) fn lock_consolidated(&self, store: u64) -> Option<MutexGuard<'_, ()>> {
        let lock = self.consolidated.get(number(store, self.consolidated.len()))?;
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn number(hash: u64, count: usize) -> usize {
    // The remainder is below the number of locks, so it fits into a `usize`.
    usize::try_from(hash % (count.max(1) as u64)).unwrap_or(0)
}
