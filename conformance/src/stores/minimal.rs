//! A store that implements only the required methods.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, GetOptions, GetResult, Keys, Payload, Store,
    StoreError, Version,
};
use zarr_spec::{Key, Output, Prefix};

/// Values in memory, with only the methods that [`Store`] requires; all others use their defaults. The store reads
/// whole values and cuts them, omits optional information, and has only the given capabilities. With conditions, the
/// version of a value is a copy of its bytes.
///
/// It serves tests of code that uses or wraps a store.
#[derive(Debug)]
pub struct MinimalStore {
    values: Mutex<BTreeMap<Key, Vec<u8>>>,
    capabilities: Capabilities,
}

impl MinimalStore {
    /// Creates a store without values.
    #[must_use]
    pub fn new(capabilities: Capabilities) -> Self {
        Self { values: Mutex::default(), capabilities }
    }

    /// Creates a store with `values`. A store that is not writeable can get values only this way.
    ///
    /// # Panics
    ///
    /// If a key is not valid.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the keys are part of a test")]
    pub fn with_values(capabilities: Capabilities, values: &[(&str, &[u8])]) -> Self {
        let values = values.iter().map(|(key, value)| (Key::new(*key).expect("a key"), value.to_vec()));
        Self { values: Mutex::new(values.collect()), capabilities }
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<Key, Vec<u8>>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn need(&self, has: bool, quality: &'static str) -> Result<(), StoreError> {
        if has { Ok(()) } else { Err(StoreError::not_supported(self, quality)) }
    }
}

impl Store for MinimalStore {
    fn location(&self) -> String {
        "minimal:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.need(self.capabilities.readable, "not readable")?;
        let values = self.values();
        let Some(value) = values.get(key) else { return Ok(None) };
        let size = value.len() as u64;
        let part = options.range.within(size);
        // Both ends are at most the length of the value.
        let [start, end] = [part.start, part.end].map(|at| usize::try_from(at).unwrap_or(value.len()));
        to.put(&value[start..end]).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        let has_version = options.for_update && self.capabilities.conditional_set;
        Ok(Some(GetResult::new(Contents::Written, size, has_version.then(|| Version::new(value)))))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.need(self.capabilities.writeable, "not writeable")?;
        self.values().insert(key.clone(), value.to_vec());
        Ok(())
    }

    fn set_if(
        &self,
        key: &Key,
        value: Payload<'_>,
        condition: &Condition,
    ) -> Result<ConditionalWrite, StoreError> {
        self.need(self.capabilities.conditional_set, "not conditional")?;
        let mut values = self.values();
        if !condition.holds(values.get(key).map(Version::new).as_ref()) {
            return Ok(ConditionalWrite::Conflict);
        }
        values.insert(key.clone(), value.to_vec());
        Ok(ConditionalWrite::Done(None))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
        self.need(self.capabilities.conditional_erase, "not conditional")?;
        let mut values = self.values();
        if values.get(key).map(Version::new).as_ref() != Some(version) {
            return Ok(ConditionalWrite::Conflict);
        }
        values.remove(key);
        Ok(ConditionalWrite::Done(None))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.need(self.capabilities.erasable, "not erasable")?;
        self.values().remove(key);
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.need(self.capabilities.listable, "not listable")?;
        let mut keys: Vec<Key> = self.values().keys().cloned().collect();
        keys.retain(|key| prefix.strip(key.as_str()).is_some());
        Ok(Box::new(keys.into_iter().map(Ok)))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.need(self.capabilities.readable, "not readable")?;
        Ok(self.values().get(key).map(|value| value.len() as u64))
    }
}
