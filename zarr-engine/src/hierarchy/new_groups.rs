//! Groups below which nothing was stored when they were created: what is created there needs no look for leftovers.
//!
//! A look costs little in a store on this machine. In a store that is far away it is a listing.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use zarr_spec::NodePath;

use crate::context::Context;

/// Groups that are remembered at most.
const MOST: usize = 10_000;

/// The groups that were created through one hierarchy.
#[derive(Debug, Default)]
pub(super) struct NewGroups {
    /// The names of their paths.
    known: Mutex<HashSet<Vec<String>>>,
    /// Whether the hierarchy was started here, and its root was not listed yet.
    is_started: AtomicBool,
}

impl NewGroups {
    /// Notes that the hierarchy was started here.
    pub(super) fn start(&self) {
        self.is_started.store(true, Ordering::Relaxed);
    }

    /// Whether the hierarchy was started here, so that its root may be empty. Returns true once.
    pub(super) fn take_start(&self) -> bool {
        self.is_started.swap(false, Ordering::Relaxed)
    }

    /// Whether `path` is below a group, or is one, that nothing was below when it was created. Nothing is known once
    /// chunks may have been left without a document.
    pub(super) fn cover(&self, context: &Context, path: &NodePath) -> bool {
        if context.leftovers.load(Ordering::SeqCst) {
            return false;
        }
        let known = self.lock();
        let names = path.names();
        !known.is_empty() && (0..=names.len()).any(|depth| known.contains(&names[..depth]))
    }

    /// Remembers a group that nothing is below, unless one above it is remembered.
    pub(super) fn add(&self, context: &Context, group: &NodePath) {
        if self.cover(context, group) {
            return;
        }
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(group.names().to_vec());
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Vec<String>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
