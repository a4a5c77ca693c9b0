//! A store that stops, as if the program had been killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_kit::spec::store::{Caching, Capabilities, Directory, Got, Manner, Store, StoreError};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};

/// Another store, which takes a number of changes. Every call after these fails.
///
/// Values that are erased together are erased one after another, each as a change.
#[derive(Debug)]
pub struct StoppingStore {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    /// Whether values that are erased together go in the opposite order.
    is_reversed: bool,
}

impl StoppingStore {
    /// Around `store`, with `changes` to come.
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
        StoreError::Io {
            operation: "writing",
            place: "the store".to_owned(),
            source: "it has stopped".into(),
        }
    }
}

impl Store for StoppingStore {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn manner(&self) -> Manner {
        self.store.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.running()?.get(key, range, to)
    }

    fn caching(&self) -> Caching<'_> {
        Caching::None
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.change()?.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.change()?.erase(key)
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        match self.is_reversed {
            false => keys.iter().try_for_each(|key| self.erase(key)),
            true => keys.iter().rev().try_for_each(|key| self.erase(key)),
        }
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.erase_values(&self.list_prefix(prefix)?)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.running()?.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.running()?.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.running()?.size(key)
    }
}
