//! A store that completes each change before a signal ends the program.

use std::ops::Deref;
use std::sync::Arc;

use zarr_kit::spec::store::Store;

use super::writing;

/// A wrapper of a store. After a signal, changes in progress are completed and no other changes begin.
#[derive(Debug)]
pub(crate) struct Interruptible(Arc<dyn Store>);

impl Interruptible {
    /// Wraps a store, which is committed when the command or a signal ends the program.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        super::state().changed.push(Arc::clone(&store));
        Self(store)
    }

    fn change(&self) -> Change<'_> {
        Change { store: &*self.0, _writing: writing() }
    }
}

struct Change<'s> {
    store: &'s dyn Store,
    _writing: super::Writing,
}

impl<'s> Deref for Change<'s> {
    type Target = dyn Store + 's;

    fn deref(&self) -> &Self::Target {
        self.store
    }
}

zarr_kit::spec::delegate_store! {
    impl Store for Interruptible {
        forward(self.0): describe, read, cache, list;
        forward(self.change()): write, remove;
    }
}
