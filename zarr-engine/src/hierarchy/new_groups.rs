//! Groups that were empty when they were created: nodes below them need no search for leftover chunks.
//!
//! The search is cheap in a local store. In a remote store it is a listing.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_spec::NodePath;

use crate::context::Context;
use crate::unpoisoned::Unpoisoned;

/// Maximum number of cached groups.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct NewGroups {
    known: Mutex<HashSet<Vec<String>>>,
    /// Whether the hierarchy was created through this handle in an empty store and has no node yet.
    is_started: AtomicBool,
}

impl NewGroups {
    /// Notes that the hierarchy is created through this handle, in a store that was listed as empty.
    pub(super) fn start(&self, context: &Context) {
        self.is_started.store(true, Ordering::Relaxed);
        self.add(context, &NodePath::root());
    }

    /// Returns whether the hierarchy was created through this handle in an empty store. Returns true only once, for the
    /// first nodes.
    pub(super) fn take_start(&self) -> bool {
        self.is_started.swap(false, Ordering::Relaxed)
    }

    /// Returns whether `path` is at or below a group that was empty when it was created. Returns false once chunks may
    /// exist without a document.
    pub(super) fn cover(&self, context: &Context, path: &NodePath) -> bool {
        if context.leftovers.load(Ordering::SeqCst) {
            return false;
        }
        let known = self.known.lock().unpoisoned();
        let names = path.names();
        !known.is_empty() && (0..=names.len()).any(|depth| known.contains(&names[..depth]))
    }

    /// Adds an empty group, unless a group above it is cached.
    pub(super) fn add(&self, context: &Context, group: &NodePath) {
        if self.cover(context, group) {
            return;
        }
        let mut known = self.known.lock().unpoisoned();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(group.names().to_vec());
    }
}
