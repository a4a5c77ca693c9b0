//! A model of the node locks: a scheduler runs threads in many orders, and finds deadlocks and unprotected concurrent
//! changes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::thread;

#[path = "../src/locks/nodes.rs"]
mod nodes;

/// The lock types in this model.
mod sync {
    pub(super) use shuttle::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(super) use std::sync::PoisonError;
}

use nodes::{Hold, NodeLocks};

/// Number of thread orders that are tried.
const ORDERS: usize = 2000;

/// A value that is read and written in two steps, so that unsynchronized threads lose changes.
#[derive(Default)]
struct Document(AtomicUsize);

impl Document {
    fn add_one(&self) {
        let value = self.0.load(Ordering::SeqCst);
        thread::yield_now();
        self.0.store(value + 1, Ordering::SeqCst);
    }

    fn value(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Two nodes below one group that has copies of their documents.
#[derive(Default)]
struct Tree {
    group: Document,
    nodes: [Document; 2],
    copies: Document,
}

const GROUP: u64 = 0;

/// Changes the node with this number: its document, then the copy of it in the group.
fn change_node(locks: &NodeLocks, tree: &Tree, number: usize) {
    let _held = locks.lock([(GROUP, Hold::Shared), (1 + number as u64, Hold::Exclusive)]);
    tree.nodes[number].add_one();
    let _alone = locks.lock_consolidated(0);
    tree.copies.add_one();
}

/// Changes the group itself, whose document contains the copies.
fn change_group(locks: &NodeLocks, tree: &Tree) {
    let _held = locks.lock([(GROUP, Hold::Exclusive)]);
    tree.group.add_one();
    tree.copies.add_one();
}

/// Changes both nodes in one call, as when several arrays are created.
fn change_both(locks: &NodeLocks, tree: &Tree) {
    let shared = [(GROUP, Hold::Shared), (GROUP, Hold::Shared)];
    let _held = locks.lock(shared.into_iter().chain([(2, Hold::Exclusive), (1, Hold::Exclusive)]));
    tree.nodes.iter().for_each(Document::add_one);
    let _alone = locks.lock_consolidated(0);
    tree.copies.add_one();
}

/// Runs the model with `count` locks. With few locks, nodes share them.
fn run(count: usize) {
    let locks = Arc::new(NodeLocks::new(count));
    let tree = Arc::new(Tree::default());
    let jobs: [fn(&NodeLocks, &Tree); 5] = [
        |locks, tree| change_node(locks, tree, 0),
        |locks, tree| change_node(locks, tree, 0),
        |locks, tree| change_node(locks, tree, 1),
        change_group,
        change_both,
    ];
    let threads = jobs.map(|job| {
        let locks = Arc::clone(&locks);
        let tree = Arc::clone(&tree);
        thread::spawn(move || job(&locks, &tree))
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let nodes = [tree.nodes[0].value(), tree.nodes[1].value()];
    assert_eq!((tree.group.value(), nodes, tree.copies.value()), (1, [3, 2], 5));
}

#[test]
fn loses_no_change_and_never_deadlocks() {
    for count in [1, 2, 3, 64] {
        shuttle::check_random(move || run(count), ORDERS);
        shuttle::check_pct(move || run(count), ORDERS, 3);
    }
}
