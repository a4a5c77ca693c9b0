//! A store that stops as if the process had been killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_kit::spec::store::{ChunkCache, Request, Responses, Store, StoreError, rewrite_values};
use zarr_kit::spec::{Key, Prefix};

/// Wraps another store, and accepts a fixed number of changes. All later calls fail.
///
/// Values that are erased together are erased one by one, each as a separate change.
#[derive(Debug)]
pub struct StoppingStore {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    /// Whether values that are erased together are erased in reverse order.
    is_reversed: bool,
}

impl StoppingStore {
    /// Wraps `store` and accepts `changes` changes.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, changes: usize, is_reversed: bool) -> Self {
        Self { store, left: AtomicUsize::new(changes + 1), is_reversed }
    }

    fn running(&self) -> Result<&dyn Store, StoreError> {
        match self.left.load(Ordering::SeqCst) {
            0 => Err(Self::stopped()),
            _ => Ok(&*self.store),
        }
    }

    fn change(&self) -> Result<&dyn Store, StoreError> {
        let one_less = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
            Ok(left) if left > 1 => Ok(&*self.store),
            _ => Err(Self::stopped()),
        }
    }

    fn stopped() -> StoreError {
        StoreError::io("writing", "the store", "the store has stopped")
    }
}

zarr_kit::spec::delegate_store! {
    impl Store for StoppingStore {
        forward(self.store): describe;
        forward(self.running()?): get, size, list;
        forward(self.change()?): set, set_if, erase, erase_if;
        forward(self.running()?): lock, commit, array_document;

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            match self.running() {
                Ok(store) => store.get_many(requests, budget),
                Err(_) => Box::new((0..requests.len()).map(|index| (index, Err(Self::stopped())))),
            }
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            false
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
            rewrite_values(self, values)
        }

        fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
            match self.is_reversed {
                false => keys.iter().try_for_each(|key| self.erase(key)),
                true => keys.iter().rev().try_for_each(|key| self.erase(key)),
            }
        }

        fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
            let store: &dyn Store = self;
            self.erase_values(&store.list_sorted(prefix)?)
        }
    }
}
