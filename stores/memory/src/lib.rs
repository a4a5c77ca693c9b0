//! The `memory` store: keys and values in the memory of this process.
//!
//! Reads share the stored bytes and copy nothing. Values live as long as the store. Every [`Key`] can be
//! stored, including both `a` and `a/b`.
//!
//! Opened as `{"type": "memory"}` or `memory:`. Each opening creates a new, empty store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, Directory, GetOptions, GetResult, Keys, Payload,
    Store, StoreConfiguration, StoreError, StoreLock, StorePlugin, StoreResult, Version, check_overlaps,
    put_at, shared_part,
};
use zarr_spec::{Example, Invalid, Key, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("memory", &["memory"], &open)
        .configuration::<MemoryConfiguration>()
        .about("Stores values in memory until the store is closed.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "memory"}"#)];

/// Keys and values in memory.
#[derive(Default)]
pub struct MemoryStore {
    values: RwLock<Values>,
    locks: Arc<Locks>,
}

/// The keys whose locks are held.
#[derive(Default)]
struct Locks {
    held: Mutex<BTreeSet<Key>>,
    released: Condvar,
}

/// Holds the lock of a key.
struct HeldLock {
    locks: Arc<Locks>,
    key: Key,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        self.locks.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locks.released.notify_all();
    }
}

#[derive(Default)]
struct Values {
    by_key: BTreeMap<Key, Value>,
    /// Counts the calls that set a value.
    sets: u64,
}

struct Value {
    bytes: Bytes,
    /// The value of `sets` after this value was set.
    version: u64,
}

/// The number of keys that a listing copies in one page.
const PAGE: usize = 1000;

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    // No foreign code runs under the lock and every change is a single step, so a panic leaves the values
    // consistent.
    fn values(&self) -> RwLockReadGuard<'_, Values> {
        self.values.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Values> {
        self.values.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn location(&self) -> String {
        "memory:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL_AND_CONDITIONAL
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let values = self.values();
        let Some(Value { bytes, version }) = values.by_key.get(key) else { return Ok(None) };
        let contents = Contents::Shared(shared_part(key, bytes, options.range, to.remaining())?);
        Ok(Some(GetResult::new(contents, bytes.len() as u64, Some(as_version(*version)))))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        // The bytes are copied before the lock is taken. Replacing a value allocates nothing else.
        let bytes = value.into_bytes();
        let mut stored = self.change();
        if let Some(bytes) = stored.replace(key, bytes) {
            stored.set(key.clone(), bytes);
        }
        Ok(())
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        let bytes = value.into_bytes();
        let mut stored = self.change();
        if !condition.holds(stored.version(key).as_ref()) {
            return Ok(ConditionalWrite::Conflict);
        }
        stored.set(key.clone(), bytes);
        Ok(ConditionalWrite::Done(stored.version(key)))
    }

    fn lock(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
        let held = self.locks.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_held = |held: &mut BTreeSet<Key>| held.contains(key);
        let held = self.locks.released.wait_while(held, is_held);
        held.unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        Ok(Some(Box::new(HeldLock { locks: Arc::clone(&self.locks), key: key.clone() })))
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        let mut stored = self.change();
        if stored.version(key).as_ref() != Some(version) {
            return Ok(ConditionalWrite::Conflict);
        }
        stored.by_key.remove(key);
        Ok(ConditionalWrite::Done(None))
    }

    /// Changes either all values or none.
    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        check_overlaps(values)?;
        let mut stored = self.change();
        let mut changed: BTreeMap<&Key, Vec<u8>> = BTreeMap::new();
        for (key, offset, part) in values {
            let value = changed.entry(key).or_insert_with(|| {
                stored.by_key.get(key).map_or_else(Vec::new, |value| value.bytes.to_vec())
            });
            put_at(value, *offset, part)
                .map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        }
        for (key, value) in changed {
            stored.set(key.clone(), value.into());
        }
        Ok(())
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.change().by_key.remove(key);
        Ok(())
    }

    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        let mut stored = self.change();
        for key in keys {
            stored.by_key.remove(key);
        }
        Ok(())
    }

    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        let mut stored = self.change();
        let all = Bound::Included(prefix.to_string());
        let keys: Vec<Key> = stored.below(prefix, &all).cloned().collect();
        for key in keys {
            stored.by_key.remove(&key);
        }
        Ok(())
    }

    /// Copies a page of keys at a time, so the caller may change the store while it iterates.
    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let prefix = prefix.clone();
        let mut from = Bound::Included(prefix.to_string());
        let mut page = Vec::new().into_iter();
        Ok(Box::new(std::iter::from_fn(move || {
            if page.len() == 0 {
                let keys: Vec<Key> = self.values().below(&prefix, &from).take(PAGE).cloned().collect();
                from = Bound::Excluded(keys.last()?.to_string());
                page = keys.into_iter();
            }
            page.next().map(Ok)
        })))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let stored = self.values();
        let mut directory = Directory::default();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        loop {
            let Some(key) = stored.below(prefix, &from).next() else { return Ok(directory) };
            let rest = prefix.strip(key.as_str()).unwrap_or_default();
            from = match rest.split_once('/') {
                None => {
                    directory.keys.push(key.clone());
                    Bound::Excluded(key.to_string())
                }
                Some((segment, _)) => {
                    let below = prefix.join(segment)?;
                    let end = after(&below);
                    directory.prefixes.push(below);
                    Bound::Included(end)
                }
            };
        }
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(self.values().by_key.get(key).map(|value| value.bytes.len() as u64))
    }
}

impl Values {
    fn version(&self, key: &Key) -> Option<Version> {
        self.by_key.get(key).map(|value| as_version(value.version))
    }

    /// Replaces the value of `key`. Returns the bytes if the key does not exist.
    fn replace(&mut self, key: &Key, bytes: Bytes) -> Option<Bytes> {
        let Some(value) = self.by_key.get_mut(key) else { return Some(bytes) };
        self.sets += 1;
        *value = Value { bytes, version: self.sets };
        None
    }

    fn set(&mut self, key: Key, bytes: Bytes) {
        self.sets += 1;
        self.by_key.insert(key, Value { bytes, version: self.sets });
    }

    /// Returns the sorted keys that start with `prefix`, beginning at `from`.
    fn below(&self, prefix: &Prefix, from: &Bound<String>) -> impl Iterator<Item = &Key> {
        let from = from.as_ref().map(String::as_str);
        let keys = self.by_key.range::<str, _>((from, Bound::Unbounded)).map(|(key, _)| key);
        keys.take_while(|key| key.as_str().starts_with(prefix.as_str()))
    }
}

fn as_version(number: u64) -> Version {
    Version::new(number.to_le_bytes())
}

/// Returns the first text that sorts after every key below `prefix`: it ends in `0`, the character after `/`.
fn after(prefix: &Prefix) -> String {
    let mut text = prefix.to_string();
    text.pop();
    text.push('0');
    text
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} values)", self.values().by_key.len())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryConfiguration {}

#[typetag::deserialize(name = "memory")]
impl StoreConfiguration for MemoryConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        Ok(Arc::new(MemoryStore::new()))
    }
}

fn open(url: &str) -> StoreResult<Arc<dyn Store>> {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
    if !matches!(rest, "" | "//" | "///") {
        let what = format!(
            "`{url}`: unexpected text after `memory:`; a memory store does not have a name or folders"
        );
        return Err(Invalid::new(what).into());
    }
    Ok(Arc::new(MemoryStore::new()))
}
