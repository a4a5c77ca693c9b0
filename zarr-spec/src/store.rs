//! The store contract: keys and values.
//!
//! A store implements [`Store`]; a wrapper of another store uses [`delegate_store!`](crate::delegate_store).
//! Callers also have the methods of `dyn Store`, such as `list`, and [`get_value`].

use std::collections::BTreeSet;
use std::fmt::Debug;

use bytes::Bytes;
use zarr_json::Value;

use crate::key::{ByteRange, Key, Prefix};
use crate::output::{LimitExceeded, Output};

pub mod cache;
mod condition;
mod delegate;
mod durability;
mod error;
mod opening;
mod partial;
mod request;

pub use cache::ChunkCache;
pub use condition::{Backoff, Condition, ConditionalWrite, StoreLock};
#[doc(hidden)]
pub use delegate::EveryStoreMethod;
pub use durability::Durability;
pub use error::{IoKind, StoreError, StoreResult};
pub use opening::{
    DescribeStore, DescribedStore, Locations, OpenStep, OpenStore, Step, StoreConfiguration, StorePlugin,
    open_described,
};
pub use partial::{check_overlaps, put_at, rewrite_values};
pub use request::{
    Capabilities, CompletedRequest, Contents, Directory, GetOptions, GetResult, Keys, Payload, ReadHints,
    Request, Response, Responses, Version,
};

/// Keys and values.
///
/// A store has at most one value per key. Keys are case sensitive. A value is visible to all readers when `set`
/// returns; in a store that collects changes, readers in other processes see it after [`Store::commit`]. All operations
/// may run concurrently on any number of threads. Source: "Abstract store interface" in the draft.
///
/// Six methods are required:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
/// use zarr_spec::store::{
///     Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreError,
/// };
/// use zarr_spec::{Bytes, Key, Output, Prefix};
///
/// #[derive(Debug, Default)]
/// struct Shelf(Mutex<BTreeMap<Key, Bytes>>);
///
/// impl Store for Shelf {
///     fn location(&self) -> String {
///         "shelf:".to_owned()
///     }
///
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::ALL
///     }
///
///     fn get(
///         &self,
///         key: &Key,
///         options: GetOptions,
///         to: &mut Output<'_>,
///     ) -> Result<Option<GetResult>, StoreError> {
///         let values = self.0.lock().unwrap();
///         let Some(value) = values.get(key) else { return Ok(None) };
///         let part = options.range.within(value.len() as u64);
///         to.put(&value[part.start as usize..part.end as usize])
///             .map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
///         Ok(Some(GetResult::new(Contents::Written, value.len() as u64, None)))
///     }
///
///     fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
///         self.0.lock().unwrap().insert(key.clone(), value.into_bytes());
///         Ok(())
///     }
///
///     fn erase(&self, key: &Key) -> Result<(), StoreError> {
///         self.0.lock().unwrap().remove(key);
///         Ok(())
///     }
///
///     fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
///         let mut keys: Vec<Key> = self.0.lock().unwrap().keys().cloned().collect();
///         keys.retain(|key| prefix.strip(key.as_str()).is_some());
///         Ok(Box::new(keys.into_iter().map(Ok)))
///     }
/// }
///
/// let store: &dyn Store = &Shelf::default();
/// store.set(&Key::new("a/zarr.json")?, b"{}".into())?;
/// assert_eq!(store.size(&Key::new("a/zarr.json")?)?, Some(2));
/// assert_eq!(store.list()?, [Key::new("a/zarr.json")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Debug + Send + Sync {
    /// Returns the location for messages: a URI if possible, such as `s3://bucket/data.zarr`.
    fn location(&self) -> String;

    /// Returns the operations that the store supports. All others return [`StoreError::NotSupported`].
    ///
    /// For example, a zip archive in a store that is read only returns [`Capabilities::READ_ONLY`].
    fn capabilities(&self) -> Capabilities;

    /// Reads a value or a part of it; `None` if the key is missing. Blocks until the bytes have arrived.
    ///
    /// Reads as much of the range as exists: of a value of 4 bytes, `Range { offset: 2, size: 3 }` is the
    /// last 2 bytes, `Range { offset: 9, size: 1 }` is empty, and `size` is 4 in both results. An empty range
    /// reads only the size and the version.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] if the part is larger than `to` accepts, [`StoreError::Io`].
    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>>;

    /// Replaces the value atomically: concurrent readers see the old value or the new one, never a mixture.
    ///
    /// For example, a store that retains values copies the bytes of `set(&key, b"{}".into())`, but not the bytes of
    /// `set(&key, bytes.into())` with [`Bytes`] or a `Vec`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] for a key that the store cannot hold, [`StoreError::Io`].
    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()>;

    /// Writes a value if `condition` holds. A store with this method has [`Capabilities::conditional_set`].
    ///
    /// Comparing and writing are one step with respect to every other write of the key, by any program:
    /// [`Store::set`], [`Store::set_if`], [`Store::erase`] and [`Store::erase_if`] of one key have one order.
    ///
    /// This function adds 1 to a counter. No addition is lost if other threads and programs call it at the same time:
    ///
    /// ```
    /// # use zarr_spec::store::*;
    /// # use zarr_spec::{ByteRange, Key, Output};
    /// fn add_one(store: &dyn Store, key: &Key) -> Result<(), StoreError> {
    ///     loop {
    ///         let mut output = Output::at_most(1);
    ///         let (old, condition) = match store.get(key, GetOptions::for_update(ByteRange::Full), &mut output)? {
    ///             Some(found) => (found.bytes(&output)[0], Condition::of(found.version.as_ref())),
    ///             None => (0, Some(Condition::Missing)),
    ///         };
    ///         let condition = condition.ok_or_else(|| StoreError::not_supported(store, "not conditional"))?;
    ///         if !store.set_if(key, (&[old + 1]).into(), &condition)?.is_conflict() {
    ///             return Ok(());
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Store::set`]. A condition that does not hold is a value: [`ConditionalWrite::Conflict`].
    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        let _nothing_is_written = (key, value, condition);
        Err(not_conditional(&self.location()))
    }

    /// Removes a value if it has `version`; a missing key is a conflict. A store with this method has
    /// [`Capabilities::conditional_erase`]. Comparing and removing are one step, as for [`Store::set_if`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::erase`].
    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        let _nothing_is_erased = (key, version);
        Err(not_conditional(&self.location()))
    }

    /// Waits for the lock of `key` and holds it until the guard is dropped; `None` if the store does not have locks.
    ///
    /// The lock excludes only other callers of this method, in any process that opened the same store. It serves
    /// changes of several values, such as a document and chunks. The system releases the lock when the process ends.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`], of the kind [`IoKind::TimedOut`] if the lock of a process that ended must be removed
    /// manually.
    fn lock(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
        let _nothing_is_locked = key;
        Ok(None)
    }

    /// Returns the document of a new array of v3 in the form that this store can hold; `None` if the store holds
    /// `document` unchanged. A store with this method has [`Capabilities::adapts_documents`].
    ///
    /// The elements of both arrays are the same. Programs call this before they write chunks or the document at `key`. For
    /// example, an N5 container has other codecs.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`], with everything that the store cannot hold.
    fn array_document(&self, key: &Key, document: &Value) -> StoreResult<Option<Value>> {
        let _every_document_is_held = (key, document);
        Ok(None)
    }

    /// Removes a value. It is not an error if the key is missing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn erase(&self, key: &Key) -> StoreResult<()>;

    /// Makes the changes of all finished calls permanent and visible to other processes.
    ///
    /// Most stores do this in each call, and then `commit` does nothing. A store that collects changes, such as a zip
    /// archive, needs `commit`: dropping the store also commits, but cannot return a failure. Concurrent changes are
    /// part of this commit or of the next one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`]. Other processes then see the state of the last commit.
    fn commit(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Lists every key that begins with `prefix` once, in any order.
    ///
    /// The iterator fetches keys as they are taken, in bounded memory. Dropping it ends the listing, so taking one item
    /// is an efficient check for keys below a prefix. Keys that are set or erased during the listing may or may not be
    /// included; all other keys are. The caller may use the store while it takes keys.
    ///
    /// For example, `list_prefix` of `a/` includes `a/b` and `a/c/d`, but not `ab`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`]. An error ends the listing.
    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>>;

    /// Returns hints for reading efficiently.
    fn read_hints(&self) -> ReadHints {
        ReadHints::MEMORY
    }

    /// Completes every request once, in the order in which the responses arrive. Requests in flight and
    /// responses that are not yet taken have at most about `budget` bytes; one request is always allowed.
    /// Dropping the iterator cancels the remaining requests.
    ///
    /// `next` waits only for the store. A failed request does not end the iteration: its error is an item like others.
    fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
        let _one_request_is_within_any_budget = budget;
        get_each(self, requests)
    }

    /// Returns the size of a value in bytes; `None` if the key is missing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        let nothing = ByteRange::Range { offset: 0, size: 0 };
        let found = self.get(key, GetOptions::uncached(nothing), &mut Output::at_most(0))?;
        Ok(found.map(|found| found.size))
    }

    /// Returns the cache of decoded chunks of this store, or of the store that it wraps.
    fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
        None
    }

    /// Returns whether this store, or the store that it wraps, caches encoded values.
    fn caches_values(&self) -> bool {
        false
    }

    /// Writes parts of values: key, offset in bytes, bytes. A value grows as needed, with zeros in gaps.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if parts of one value overlap; nothing is written in this case. Otherwise those of
    /// [`Store::get`] and [`Store::set`].
    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
        rewrite_values(self, values)
    }

    /// Removes values. It is not an error if a key is missing.
    ///
    /// # Errors
    ///
    /// As [`Store::erase`].
    fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
        keys.iter().try_for_each(|key| self.erase(key))
    }

    /// Removes every value whose key begins with `prefix`.
    ///
    /// # Errors
    ///
    /// As [`Store::erase`] and [`Store::list_prefix`].
    fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
        erase_listed(self, prefix)
    }

    /// Lists the keys and prefixes directly below `prefix`; nothing if no key begins with it.
    ///
    /// A store of folders may include prefixes of empty folders, because opening every folder would take
    /// longer than the listing, and callers usually read a key below the prefix anyway.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        directory(prefix, self.list_prefix(prefix)?)
    }
}

fn not_conditional(location: &str) -> StoreError {
    StoreError::NotSupported { store: location.to_owned(), quality: "not conditional" }
}

/// Methods for callers, which implementations of [`Store`] do not provide.
impl dyn Store + '_ {
    /// Returns every key, sorted. All keys are in memory at the same time.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    pub fn list(&self) -> StoreResult<Vec<Key>> {
        self.list_sorted(&Prefix::root())
    }

    /// Returns every key that begins with `prefix`, sorted. All keys are in memory at the same time.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    pub fn list_sorted(&self, prefix: &Prefix) -> StoreResult<Vec<Key>> {
        let mut keys: Vec<Key> = self.list_prefix(prefix)?.collect::<Result<_, _>>()?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Returns a key that begins with `prefix`, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    pub fn any_key(&self, prefix: &Prefix) -> StoreResult<Option<Key>> {
        self.list_prefix(prefix)?.next().transpose()
    }
}

/// Reads a whole value of at most `limit` bytes.
///
/// # Errors
///
/// As [`Store::get`].
pub fn get_value(store: &dyn Store, key: &Key, limit: usize) -> StoreResult<Option<Bytes>> {
    let mut output = Output::at_most(limit);
    let found = store.get(key, ByteRange::Full.into(), &mut output)?;
    Ok(found.map(|found| found.into_bytes(output)))
}

/// Answers requests one by one with [`Store::get`], in their order.
pub fn get_each<S: Store + ?Sized>(store: &S, requests: Vec<Request>) -> Responses<'_> {
    Box::new(requests.into_iter().enumerate().map(|(index, request)| (index, get_one(store, &request))))
}

/// Answers a request with [`Store::get`].
///
/// # Errors
///
/// As [`Store::get`].
pub fn get_one<S: Store + ?Sized>(store: &S, request: &Request) -> StoreResult<Option<Response>> {
    let mut output = Output::at_most(request.limit);
    let found = store.get(&request.key, request.options, &mut output)?;
    Ok(found.map(|found| found.into_response(output)))
}

/// Returns a part of a value in memory, without a copy.
///
/// # Errors
///
/// [`StoreError::TooLarge`] if it has more than `limit` bytes.
pub fn shared_part(key: &Key, value: &Bytes, range: ByteRange, limit: usize) -> StoreResult<Bytes> {
    let part = range.within(value.len() as u64);
    let bounds = usize::try_from(part.start).ok().zip(usize::try_from(part.end).ok());
    match bounds.filter(|(start, end)| end - start <= limit) {
        Some((start, end)) => Ok(value.slice(start..end)),
        None => Err(StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } }),
    }
}

/// Removes the values of all keys below `prefix` that the store lists, in bounded memory.
///
/// # Errors
///
/// As [`Store::erase_values`] and [`Store::list_prefix`].
pub fn erase_listed<S: Store + ?Sized>(store: &S, prefix: &Prefix) -> StoreResult<()> {
    let mut keys = store.list_prefix(prefix)?;
    loop {
        let batch: Vec<Key> = keys.by_ref().take(ERASED_TOGETHER).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(());
        }
        store.erase_values(&batch)?;
    }
}

/// The number of keys in memory while a prefix is erased.
const ERASED_TOGETHER: usize = 10_000;

/// Returns the keys and prefixes directly below `prefix`, from all keys below it.
///
/// # Errors
///
/// Those of `keys`.
pub fn directory(prefix: &Prefix, keys: Keys<'_>) -> StoreResult<Directory> {
    let mut here = Vec::new();
    let mut prefixes = BTreeSet::new();
    for key in keys {
        let key = key?;
        match prefix.strip(key.as_str()).map(|rest| rest.split_once('/')) {
            Some(Some((segment, _))) => {
                prefixes.insert(prefix.join(segment)?);
            }
            Some(None) => here.push(key),
            None => {}
        }
    }
    Ok(Directory::new(here, prefixes.into_iter().collect()))
}
