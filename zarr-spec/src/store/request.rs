//! Requests to a store, and their results.
#![expect(clippy::exhaustive_enums, reason = "stores and callers handle every form of a value")]

use std::ops::Deref;

use bytes::Bytes;

use super::StoreResult;
use crate::key::{ByteRange, Key, Prefix};
use crate::output::Output;

/// The operations that a store supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// `get`, `get_many`, `size`.
    pub readable: bool,
    /// `set`, `set_partial_values`.
    pub writeable: bool,
    /// `list_prefix`, `list_dir`.
    pub listable: bool,
    /// `erase`, `erase_values`, `erase_prefix`.
    pub erasable: bool,
    /// `set_if`. If true, reads with [`GetOptions::for_update`] return versions.
    pub conditional_set: bool,
    /// `erase_if`. Some services have only `set_if`.
    pub conditional_erase: bool,
    /// `array_document`: the store holds some arrays only in another form. It may also have documents of groups that were
    /// not written.
    pub adapts_documents: bool,
    /// Not an operation: stored values are only changed with `set_if`, and otherwise the change is refused.
    pub conditions_required: bool,
}

impl Capabilities {
    /// Every operation except conditional ones.
    pub const ALL: Self = Self {
        readable: true,
        writeable: true,
        listable: true,
        erasable: true,
        conditional_set: false,
        conditional_erase: false,
        adapts_documents: false,
        conditions_required: false,
    };

    /// Every operation.
    pub const ALL_AND_CONDITIONAL: Self =
        Self { conditional_set: true, conditional_erase: true, ..Self::ALL };

    /// Reading and listing.
    pub const READ_ONLY: Self = Self::ALL.read_only();

    /// Removes writing and erasing.
    #[must_use]
    pub const fn read_only(self) -> Self {
        Self { writeable: false, conditional_set: false, adapts_documents: false, ..self.unerasable() }
    }

    /// Adds [`Store::array_document`](super::Store::array_document).
    #[must_use]
    pub const fn adapting_documents(self) -> Self {
        Self { adapts_documents: true, ..self }
    }

    /// Removes reading.
    #[must_use]
    pub const fn unreadable(self) -> Self {
        Self { readable: false, ..self }
    }

    /// Removes listing.
    #[must_use]
    pub const fn unlistable(self) -> Self {
        Self { listable: false, ..self }
    }

    /// Removes erasing.
    #[must_use]
    pub const fn unerasable(self) -> Self {
        Self { erasable: false, conditional_erase: false, ..self }
    }

    /// Removes conditional erasing.
    #[must_use]
    pub const fn without_conditional_erase(self) -> Self {
        Self { conditional_erase: false, ..self }
    }

    /// Removes conditional writing and erasing.
    #[must_use]
    pub const fn unconditional(self) -> Self {
        Self { conditional_set: false, conditional_erase: false, ..self }
    }
}

/// Hints for reading from a store efficiently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadHints {
    /// The number of concurrent requests that the store benefits from, typically 64 for an object store. 0
    /// means that reads are fast and run on the decoding thread. A store with a larger number implements
    /// [`Store::get_many`](super::Store::get_many).
    pub max_concurrency: usize,
    /// The maximum number of bytes between two byte ranges of one value that are read with one request:
    /// typically 64 KiB for a file, 256 KiB for an object store.
    pub coalesce_gap: u64,
    /// The number of bytes of one response that arrive in the time of a round trip; `None` if not measured. Values of a
    /// few times this size are read with one request.
    pub bytes_per_round_trip: Option<u64>,
}

impl ReadHints {
    /// The hints for values in memory: no concurrency, no coalescing.
    pub const MEMORY: Self = Self::new(0, 0);

    /// Creates hints with these values.
    #[must_use]
    pub const fn new(max_concurrency: usize, coalesce_gap: u64) -> Self {
        Self { max_concurrency, coalesce_gap, bytes_per_round_trip: None }
    }

    /// Sets the measured number of bytes per round trip.
    #[must_use]
    pub const fn with_bytes_per_round_trip(self, bytes: Option<u64>) -> Self {
        Self { bytes_per_round_trip: bytes, ..self }
    }
}

/// The part of a value to read, and options. A [`ByteRange`] converts into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetOptions {
    /// The part of the value.
    pub range: ByteRange,
    /// Whether a cache may retain the encoded bytes. If not, a store may omit the version of a whole value.
    pub may_cache: bool,
    /// Whether the caller writes the value with [`Store::set_if`](super::Store::set_if) next. The bytes are then
    /// current, not cached, and a store with conditions returns the version. Every change of the value changes this
    /// version, except a change to equal bytes.
    pub for_update: bool,
}

impl GetOptions {
    /// Creates options to read `range`. A cache may retain the bytes.
    #[must_use]
    pub const fn new(range: ByteRange) -> Self {
        Self { range, may_cache: true, for_update: false }
    }

    /// Creates options for bytes that a cache should not retain, because the caller will replace them, or will cache
    /// their decoded form in a [`ChunkCache`](super::ChunkCache).
    #[must_use]
    pub const fn uncached(range: ByteRange) -> Self {
        Self { range, may_cache: false, for_update: false }
    }

    /// Creates options to read a value that the caller changes and writes under a condition.
    #[must_use]
    pub const fn for_update(range: ByteRange) -> Self {
        Self { range, may_cache: false, for_update: true }
    }
}

impl From<ByteRange> for GetOptions {
    fn from(range: ByteRange) -> Self {
        Self::new(range)
    }
}

/// One part of one value, for [`Store::get_many`](super::Store::get_many).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The key of the value.
    pub key: Key,
    /// The part of the value.
    pub options: GetOptions,
    /// The largest number of bytes that the caller accepts; more is [`StoreError::TooLarge`](crate::store::StoreError::TooLarge).
    pub limit: usize,
    /// The expected number of bytes, which count against the budget while the request is in flight; 0 if unknown.
    pub expected_size: usize,
}

impl Request {
    /// Creates a request for a part of the value of `key`. The expected size follows from the range.
    #[must_use]
    pub fn new(key: Key, options: impl Into<GetOptions>, limit: usize) -> Self {
        let options = options.into();
        let expected = match options.range {
            ByteRange::Range { size, .. } | ByteRange::Last(size) => size,
            ByteRange::Full | ByteRange::From(_) => 0,
        };
        let expected_size = usize::try_from(expected).map_or(limit, |expected| expected.min(limit));
        Self { key, options, limit, expected_size }
    }

    /// Returns the same request with another expected size.
    #[must_use]
    pub fn with_expected_size(self, expected_size: usize) -> Self {
        Self { expected_size, ..self }
    }

    /// Returns the same request for another key.
    #[must_use]
    pub fn with_key(self, key: Key) -> Self {
        Self { key, ..self }
    }
}

/// The result of [`Store::get`](super::Store::get).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GetResult {
    /// The bytes.
    pub contents: Contents,
    /// The size of the whole value in bytes.
    pub size: u64,
    /// The version of the value, if the store has versions.
    pub version: Option<Version>,
}

/// The location of the bytes of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// In the caller's output.
    Written,
    /// In memory of the store; the output is unchanged.
    Shared(Bytes),
}

impl GetResult {
    /// Creates the result for `contents` of a value of `size` bytes.
    #[must_use]
    pub const fn new(contents: Contents, size: u64, version: Option<Version>) -> Self {
        Self { contents, size, version }
    }

    /// Returns the bytes. `output` is the output that the store wrote to.
    #[must_use]
    pub fn bytes<'b>(&'b self, output: &'b Output<'_>) -> &'b [u8] {
        match &self.contents {
            Contents::Written => output.written(),
            Contents::Shared(bytes) => bytes,
        }
    }

    /// Returns the bytes like [`GetResult::bytes`], owned.
    #[must_use]
    pub fn into_bytes(self, output: Output<'static>) -> Bytes {
        match self.contents {
            Contents::Written => output.into_written().into(),
            Contents::Shared(bytes) => bytes,
        }
    }

    /// Returns the response to a [`Request`]. `output` is the output that the store wrote to.
    #[must_use]
    pub fn into_response(mut self, output: Output<'static>) -> Response {
        let version = self.version.take();
        let size = self.size;
        Response { bytes: self.into_bytes(output), size, version }
    }
}

/// The response to a [`Request`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The part of the value that exists.
    pub bytes: Bytes,
    /// The size of the whole value in bytes.
    pub size: u64,
    /// The version of the value, if the store has versions.
    pub version: Option<Version>,
}

impl Response {
    /// Creates the response with `bytes` of a value of `size` bytes.
    #[must_use]
    pub const fn new(bytes: Bytes, size: u64, version: Option<Version>) -> Self {
        Self { bytes, size, version }
    }
}

impl From<Response> for GetResult {
    fn from(response: Response) -> Self {
        let Response { bytes, size, version } = response;
        Self { contents: Contents::Shared(bytes), size, version }
    }
}

/// The index of a request, and its response; `None` if the key is missing.
pub type CompletedRequest = (usize, StoreResult<Option<Response>>);

/// Responses in the order in which they complete.
pub type Responses<'a> = Box<dyn Iterator<Item = CompletedRequest> + Send + 'a>;

/// The keys that a store lists.
pub type Keys<'a> = Box<dyn Iterator<Item = StoreResult<Key>> + Send + 'a>;

/// The bytes of a value to store. A store that retains or sends them takes owned bytes without a copy.
#[derive(Debug, Clone)]
pub enum Payload<'a> {
    /// Memory of the caller.
    Borrowed(&'a [u8]),
    /// Memory that the store may retain.
    Owned(Bytes),
}

impl Payload<'_> {
    /// Returns the bytes in memory that the store may retain. Borrowed bytes are copied.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Deref for Payload<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Implements conversions of bytes.
macro_rules! payloads {
    ($($bytes:ident: $source:ty => $payload:expr;)*) => {$(
        impl<'a> From<$source> for Payload<'a> {
            fn from($bytes: $source) -> Self {
                $payload
            }
        }
    )*};
}

payloads! {
    bytes: &'a [u8] => Self::Borrowed(bytes);
    bytes: &'a Vec<u8> => Self::Borrowed(bytes);
    bytes: Vec<u8> => Self::Owned(bytes.into());
    bytes: Bytes => Self::Owned(bytes);
    bytes: &Bytes => Self::Owned(bytes.clone());
}

impl<'a, const N: usize> From<&'a [u8; N]> for Payload<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Borrowed(bytes)
    }
}

/// The keys and prefixes directly below a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Directory {
    /// Full keys, sorted.
    pub keys: Vec<Key>,
    /// Full prefixes one level down, sorted. Some may not have keys: see [`Store::list_dir`](super::Store::list_dir).
    pub prefixes: Vec<Prefix>,
}

impl Directory {
    /// Sorts `keys` and `prefixes`, and removes duplicates.
    #[must_use]
    pub fn new(mut keys: Vec<Key>, mut prefixes: Vec<Prefix>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        prefixes.sort_unstable();
        prefixes.dedup();
        Self { keys, prefixes }
    }
}

/// Identifies a state of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(VersionBytes);

/// Equal versions are always in the same variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum VersionBytes {
    /// The size, and the bytes followed by zeros, without an allocation.
    Short(usize, [u8; SHORT_VERSION]),
    Long(Box<[u8]>),
}

/// The maximum size of a short version. This is enough for an ETag, or for a time, a size and a number.
const SHORT_VERSION: usize = 40;

impl Version {
    /// Creates a version from bytes that the store provides, such as an etag, or a time and a size.
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

    /// Returns the bytes that the version was created from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            VersionBytes::Short(size, bytes) => bytes.get(..*size).unwrap_or_default(),
            VersionBytes::Long(bytes) => bytes,
        }
    }
}
