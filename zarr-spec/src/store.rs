//! The abstract store interface.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use zarr_json::printable;

use crate::BoxError;
use crate::format::Invalid;
use crate::key::{ByteRange, Key, KeyError, Prefix};
use crate::output::{LimitExceeded, Output};

mod opening;

pub use opening::{DescribeStore, OpenStore, StoreConfiguration, StorePlugin, open_described};

/// Why an operation of a store failed. A missing key is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store does not have this operation.
    #[error("{} is {quality}", printable(.store))]
    NotSupported {
        /// Where the store is.
        store: String,
        /// "not readable", "not writeable", "not listable", "not erasable".
        quality: &'static str,
    },
    /// The store cannot have this key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The value does not fit where it should go.
    #[error("value of key `{}`: {source}", printable(.key))]
    TooLarge {
        /// The key.
        key: String,
        /// By how much.
        source: LimitExceeded,
    },
    /// What the store is built on failed.
    #[error("{operation} `{}`: {}", printable(.place), printable(.source))]
    Io {
        /// What was being done: "reading", "writing", "listing", "erasing".
        operation: &'static str,
        /// The key, prefix or file.
        place: String,
        /// The failure.
        source: BoxError,
    },
}

impl StoreError {
    /// What `store` answers where it does not have an operation: `quality` is as in [`StoreError::NotSupported`].
    pub fn not_supported(store: &dyn Store, quality: &'static str) -> Self {
        Self::NotSupported { store: store.location(), quality }
    }
}

/// What a store can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// `get`, `get_many`, `size`.
    pub readable: bool,
    /// `set`, `set_partial_values`.
    pub writeable: bool,
    /// `list`, `list_prefix`, `list_dir`.
    pub listable: bool,
    /// `erase`, `erase_values`, `erase_prefix`.
    pub erasable: bool,
}

impl Capabilities {
    /// Everything.
    pub const ALL: Self = Self { readable: true, writeable: true, listable: true, erasable: true };
}

/// How a store likes to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Requests in flight that pay. 0: read on the thread that decodes. A store that says more has a
    /// [`Store::get_many`] of its own, which keeps so many in flight.
    pub concurrency: usize,
    /// Bytes between two ranges of one value that are cheaper to read than a request is to make.
    pub join_gap: u64,
}

/// A value, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// The bytes.
    pub contents: Contents,
    /// Bytes of the whole value.
    pub size: u64,
    /// Changes whenever the value does, where the store can tell.
    pub version: Option<Version>,
}

/// Where the bytes of a value are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// In the caller's output.
    Written,
    /// In the store's own memory; the output is untouched.
    Shared(Bytes),
}

/// Tells one state of a value from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(VersionBytes);

/// Those of one version are always in the same variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum VersionBytes {
    /// The size, and the bytes with zeros behind them: no memory is asked for.
    Short(usize, [u8; SHORT_VERSION]),
    Long(Box<[u8]>),
}

/// What an etag has room in, or a time, a size and a number.
const SHORT_VERSION: usize = 40;

impl Version {
    /// From whatever the store has: an etag, a time and a size.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let mut short = [0; SHORT_VERSION];
        Self(match short.get_mut(..bytes.len()) {
            Some(start) => {
                start.copy_from_slice(bytes);
                VersionBytes::Short(bytes.len(), short)
            }
            None => VersionBytes::Long(bytes.into()),
        })
    }

    /// What it was made from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            VersionBytes::Short(size, bytes) => bytes.get(..*size).unwrap_or_default(),
            VersionBytes::Long(bytes) => bytes,
        }
    }
}

/// One part of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Of which value.
    pub key: Key,
    /// Which part.
    pub range: ByteRange,
    /// Bytes that the caller has room for: more is an error.
    pub limit: usize,
    /// Bytes that will probably come: what a budget counts as long as they are in flight. 0 where nobody knows.
    pub expected: usize,
    /// Whether these are bytes that the caller decodes, or replaces, at once: see [`Store::get_once`].
    pub once: bool,
}

impl Request {
    /// As many bytes as the range says are expected, and they may be wanted again.
    #[must_use]
    pub fn new(key: Key, range: ByteRange, limit: usize) -> Self {
        let expected = match range {
            ByteRange::Range { size, .. } | ByteRange::Last(size) => size,
            ByteRange::Full | ByteRange::From(_) => 0,
        };
        let expected = usize::try_from(expected).map_or(limit, |expected| expected.min(limit));
        Self { key, range, limit, expected, once: false }
    }
}

/// What came of a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The bytes: as much of what was asked for as exists.
    pub bytes: Bytes,
    /// Bytes of the whole value.
    pub size: u64,
    /// Changes whenever the value does, where the store can tell.
    pub version: Option<Version>,
}

/// The number of a request, and what came of it; `None` for a missing key.
pub type Delivery = (usize, Result<Option<Fetched>, StoreError>);

/// What lies directly below a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directory {
    /// Full keys, sorted.
    pub keys: Vec<Key>,
    /// Full prefixes one level down, sorted. There may be some that no key begins with: see [`Store::list_dir`].
    pub prefixes: Vec<Prefix>,
}

/// Keys and values.
///
/// One value per key; keys are case sensitive; a value that was set is seen at once. All operations may run at
/// the same time on many threads. Source: "Abstract store interface" in the draft.
pub trait Store: Debug + Send + Sync {
    /// Where the store is, as a URI if it has one: what messages say.
    fn location(&self) -> String;

    /// What it can do. Anything else returns [`StoreError::NotSupported`].
    fn capabilities(&self) -> Capabilities;

    /// How it likes to be used.
    fn manner(&self) -> Manner;

    /// One value or part of it, as much as exists; `None` if there is no such key. Blocks.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] when there is more than `to` takes, [`StoreError::Io`].
    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError>;

    /// All of `requests`, each once, in the order in which they complete. About `budget` bytes are fetched and not yet
    /// taken, and one request at least. Dropping the iterator cancels the rest. Nothing is fetched faster than it is
    /// taken, and whoever takes waits for the store alone: a request that fails is delivered like any other.
    fn get_many<'a>(
        &'a self,
        requests: Vec<Request>,
        budget: usize,
    ) -> Box<dyn Iterator<Item = Delivery> + Send + 'a> {
        let _one_at_a_time = budget;
        Box::new(requests.into_iter().enumerate().map(|(number, request)| {
            let mut output = Output::at_most(request.limit);
            let got = match request.once {
                true => self.get_once(&request.key, request.range, &mut output),
                false => self.get(&request.key, request.range, &mut output),
            };
            (number, got.map(|got| got.map(|got| got.into_fetched(output))))
        }))
    }

    /// As [`Store::get`], for bytes that the caller replaces, or decodes and hands to the [`ChunkCache`] that
    /// [`Store::caching`] names: what keeps decoded chunks need not keep these bytes, too.
    /// Of a whole value the version may be left out, which takes a store of files a call of the system less.
    ///
    /// # Errors
    ///
    /// As [`Store::get`].
    fn get_once(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.get(key, range, to)
    }

    /// What is kept in memory, by this store or by one that it is around.
    fn caching(&self) -> Caching<'_> {
        Caching::None
    }

    /// Stores a value, all or nothing, in the place of an older one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] for a key that the store cannot have, [`StoreError::Io`].
    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError>;

    /// Writes parts of values: key, offset in bytes, bytes. A value grows as needed, with zeros in gaps.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when parts of one value overlap, nothing is written then; as `get` and `set`.
    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        rewrite_values(self, values)
    }

    /// Removes a value; none there is fine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn erase(&self, key: &Key) -> Result<(), StoreError>;

    /// Removes values; none there is fine.
    ///
    /// # Errors
    ///
    /// As [`Store::erase`].
    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        keys.iter().try_for_each(|key| self.erase(key))
    }

    /// Removes every value whose key begins with `prefix`.
    ///
    /// # Errors
    ///
    /// As [`Store::erase`] and [`Store::list_prefix`].
    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.erase_values(&self.list_prefix(prefix)?)
    }

    /// Every key, sorted.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    fn list(&self) -> Result<Vec<Key>, StoreError> {
        self.list_prefix(&Prefix::root())
    }

    /// Every key that begins with `prefix`, sorted.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError>;

    /// What lies directly below `prefix`; nothing for one that no key begins with.
    ///
    /// A store of folders may list prefixes of empty ones: whether a key begins with them is for the caller to find
    /// out, who mostly asks for one anyway. A look into each folder would cost more than all the rest.
    ///
    /// # Errors
    ///
    /// As [`Store::list_prefix`].
    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        directory(prefix, &self.list_prefix(prefix)?)
    }

    /// Bytes of a value; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError>;
}

/// What is kept in memory of the values of a store.
#[derive(Debug, Clone, Copy)]
pub enum Caching<'s> {
    /// Nothing.
    None,
    /// Values and parts of them, as they are stored.
    Encoded,
    /// Chunks as they are decoded, by who decodes them.
    Decoded(&'s dyn ChunkCache),
}

/// Decoded chunks that a store keeps for an engine.
///
/// Whoever reads asks [`ChunkCache::find`] first. What is not there is fetched with [`Store::get_once`], decoded, and
/// handed to [`ChunkCache::keep`], with what [`ChunkCache::begin`] and [`ChunkCache::changes`] said before anything was
/// fetched. A store forgets the chunks of a value that is written or erased through it.
pub trait ChunkCache: Debug + Send + Sync {
    /// Begins to read: what is used from now on makes no way for what is kept with the answer, so that reading more
    /// than there is room for finds some of it the next time.
    fn begin(&self) -> Begun;

    /// How often the value of `key` has changed, as far as is known here. Never less than it was.
    fn changes(&self, key: &Key) -> Changes;

    /// The bytes of a decoded chunk, just as they were handed in.
    fn find(&self, chunk: &ChunkName<'_>) -> Option<Bytes>;

    /// Whether there is room for a decoded chunk of `size` bytes now: what is not kept need not be decoded to memory
    /// that may be.
    fn has_room(&self, chunk: &ChunkName<'_>, size: usize, begun: Begun) -> bool;

    /// Keeps a decoded chunk, unless its value has changed since. `decoded` is memory of its own, and holds nothing else
    /// alive. False if there is no room for it.
    fn keep(&self, chunk: &ChunkName<'_>, decoded: Bytes, changes: Changes, begun: Begun) -> bool;
}

/// Which decoded chunk is meant.
#[derive(Debug, Clone, Copy)]
pub struct ChunkName<'a> {
    /// The value that it is in.
    pub key: &'a Key,
    /// Which of the inner chunks in that value, in C order; 0 for a chunk that is no shard.
    pub number: u64,
    /// All that its decoded bytes depend on besides the stored ones. Another text is another chunk.
    pub decoding: &'a Arc<str>,
}

/// When a read began, as a [`ChunkCache`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Begun(pub u64);

/// How often a value has changed, as a [`ChunkCache`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes(pub u64);

impl From<Fetched> for Got {
    fn from(Fetched { bytes, size, version }: Fetched) -> Self {
        Self { contents: Contents::Shared(bytes), size, version }
    }
}

impl Got {
    /// The bytes, `output` being where the store was told to write.
    #[must_use]
    pub fn into_bytes(self, output: Output<'static>) -> Bytes {
        match self.contents {
            Contents::Written => output.into_written().into(),
            Contents::Shared(bytes) => bytes,
        }
    }

    /// The same as the answer to a [`Request`], `output` being where the store was told to write.
    #[must_use]
    pub fn into_fetched(self, output: Output<'static>) -> Fetched {
        let (size, version) = (self.size, self.version.clone());
        Fetched { bytes: self.into_bytes(output), size, version }
    }
}

/// All of a value in memory of its own; at most `limit` bytes.
///
/// # Errors
///
/// As [`Store::get`].
pub fn get_value(store: &dyn Store, key: &Key, limit: usize) -> Result<Option<Bytes>, StoreError> {
    let mut output = Output::at_most(limit);
    let got = store.get(key, ByteRange::Full, &mut output)?;
    Ok(got.map(|got| got.into_bytes(output)))
}

/// What lies directly below `prefix`, from all keys below it.
///
/// # Errors
///
/// Only for keys that no store should have listed.
pub fn directory(prefix: &Prefix, keys: &[Key]) -> Result<Directory, StoreError> {
    let mut directory = Directory::default();
    let mut prefixes = BTreeSet::new();
    for key in keys {
        match prefix.strip(key.as_str()).map(|rest| rest.split_once('/')) {
            Some(Some((segment, _))) => {
                prefixes.insert(prefix.join(segment)?);
            }
            Some(None) => directory.keys.push(key.clone()),
            None => {}
        }
    }
    directory.prefixes = prefixes.into_iter().collect();
    Ok(directory)
}

/// Partial writes for stores that only write whole values.
///
/// # Errors
///
/// As [`Store::set_partial_values`].
pub fn rewrite_values<S: Store + ?Sized>(store: &S, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
    check_overlaps(values)?;
    let keys: BTreeSet<&Key> = values.iter().map(|(key, ..)| key).collect();
    for key in keys {
        let mut output = Output::at_most(usize::MAX);
        let got = store.get(key, ByteRange::Full, &mut output)?;
        let mut value = got.map_or_else(Vec::new, |got| got.into_bytes(output).into());
        for (_, offset, part) in values.iter().filter(|(of, ..)| of == key) {
            put_at(&mut value, *offset, part)
                .map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        }
        store.set(key, &value)?;
    }
    Ok(())
}

/// Writes `part` at `offset` of `value`, which grows with zeros where it is shorter.
///
/// # Errors
///
/// When the machine has no memory for that.
pub fn put_at(value: &mut Vec<u8>, offset: u64, part: &[u8]) -> Result<(), LimitExceeded> {
    let limit = LimitExceeded { limit: value.len() };
    let start = usize::try_from(offset).map_err(|_| limit)?;
    let end = start.checked_add(part.len()).ok_or(limit)?;
    if end > value.len() {
        value.try_reserve(end - value.len()).map_err(|_| limit)?;
        value.resize(end, 0);
    }
    value[start..end].copy_from_slice(part);
    Ok(())
}

/// Refuses parts of one value that overlap.
///
/// # Errors
///
/// [`Invalid`], naming the key.
pub fn check_overlaps(values: &[(Key, u64, &[u8])]) -> Result<(), Invalid> {
    let mut parts: Vec<_> =
        values.iter().map(|(key, offset, part)| (key, *offset, part.len() as u64)).collect();
    parts.sort_unstable();
    for pair in parts.windows(2) {
        let ((key, offset, size), (next_key, next, _)) = (pair[0], pair[1]);
        if key == next_key && offset.checked_add(size).is_none_or(|end| end > next) {
            return Err(Invalid::new(format!("partial values of key `{key}` overlap at byte {next}")));
        }
    }
    Ok(())
}
