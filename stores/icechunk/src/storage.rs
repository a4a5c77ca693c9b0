//! The files of a repository in another store, for the library.
//!
//! The library calls asynchronous functions, and stores block. Each call therefore runs on a thread for blocking calls.

use std::fmt::{self, Display};
use std::io::Cursor;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use icechunk::storage::{
    DeleteObjectsResult, ETag, GetModifiedResult, ListInfo, Storage, StorageContext, StorageError,
    StorageErrorKind, StorageInfo, StorageResult, VersionInfo, VersionedUpdateResult,
};
use icechunk_storage::sealed::Sealed;
use icechunk_storage::{obj_not_found_res, other_error};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use tokio::io::AsyncBufRead;
use tokio::task::spawn_blocking;
use zarr_spec::store::{
    Condition, ConditionalWrite, GetOptions, IoKind, Store, StoreError, StoreResult, Version,
};
use zarr_spec::{ByteRange, Key, Output, Prefix};

/// The maximum size of a document or a manifest in bytes.
const LARGEST: usize = 1 << 30;

/// The files of a repository in another store.
#[derive(Debug)]
pub(crate) struct InStore(Arc<dyn Store>);

impl InStore {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    /// Runs a call that blocks.
    async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Store) -> StoreResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        let store = Arc::clone(&self.0);
        let done = spawn_blocking(move || call(&*store)).await;
        done.map_err(|error| other_error(error.to_string()))?.map_err(error)
    }

    async fn read(&self, path: &str, range: ByteRange) -> StorageResult<(Bytes, VersionInfo)> {
        let path = path.to_owned();
        let read = self.call(move |store| get(store, &Key::new(path)?, range)).await?;
        match read {
            Some((bytes, version)) => Ok((bytes, shown(version.as_ref()))),
            None => obj_not_found_res(),
        }
    }
}

fn get(store: &dyn Store, key: &Key, range: ByteRange) -> StoreResult<Option<(Bytes, Option<Version>)>> {
    let mut output = Output::at_most(LARGEST);
    let found = store.get(key, GetOptions::for_update(range), &mut output)?;
    Ok(found.map(|mut found| {
        let version = found.version.take();
        (found.into_bytes(output), version)
    }))
}

/// Writes a value under a condition; `None` if the condition does not hold. Returns the new version.
fn put(
    store: &dyn Store,
    key: &Key,
    value: Bytes,
    condition: &Condition,
) -> StoreResult<Option<VersionInfo>> {
    let written = store.set_if(key, value.into(), condition).map_err(|error| match error {
        StoreError::NotSupported { .. } => {
            let what = "the store does not have conditional writes, without which a commit could be lost";
            StoreError::io("writing", format!("{}/{key}", store.location()), what)
        }
        error => error,
    })?;
    Ok(match written {
        ConditionalWrite::Conflict => None,
        ConditionalWrite::Done(Some(version)) => Some(shown(Some(&version))),
        ConditionalWrite::Done(None) => {
            let nothing = ByteRange::Range { offset: 0, size: 0 };
            Some(shown(get(store, key, nothing)?.and_then(|(_, version)| version).as_ref()))
        }
    })
}

/// Returns a version as the library stores it: in hexadecimal digits, because it may be any bytes.
fn shown(version: Option<&Version>) -> VersionInfo {
    let digits = |version: &Version| version.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    VersionInfo { etag: version.map(|version| ETag(digits(version))), generation: None }
}

/// Returns the condition that a value has a version of [`shown`].
fn condition(version: &VersionInfo) -> Condition {
    let Some(digits) = version.etag() else { return Condition::Missing };
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap_or_default());
    let bytes: Vec<u8> = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    Condition::Unchanged(Version::new(bytes))
}

fn error(error: StoreError) -> StorageError {
    match &error {
        StoreError::Io { kind: IoKind::Throttled, .. } => {
            icechunk_storage::throttled_error("throttled", error.to_string())
        }
        _ => StorageError::capture(StorageErrorKind::ObjectStore(Box::new(error))),
    }
}

impl Display for InStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.location())
    }
}

impl Sealed for InStore {}

/// The library requires this to send sessions to other processes, which this store does not do.
impl Serialize for InStore {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("an open store cannot be sent to another process"))
    }
}

impl<'de> Deserialize<'de> for InStore {
    fn deserialize<D: Deserializer<'de>>(_deserializer: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("an open store cannot come from another process"))
    }
}

#[async_trait]
#[typetag::serde(name = "zarr_store")]
impl Storage for InStore {
    fn storage_info(&self) -> StorageInfo {
        StorageInfo { backend_type: "Zarr store", fields: vec![("location", self.0.location())] }
    }

    async fn can_write(&self) -> StorageResult<bool> {
        let can = self.0.capabilities();
        Ok(can.writeable && can.conditional_set)
    }

    async fn get_object_range(
        &self,
        _context: &StorageContext<'_>,
        path: &str,
        range: Option<&Range<u64>>,
    ) -> StorageResult<(Pin<Box<dyn Stream<Item = StorageResult<Bytes>> + Send>>, VersionInfo)> {
        let range = range.map_or(ByteRange::Full, |range| ByteRange::Range {
            offset: range.start,
            size: range.end.saturating_sub(range.start),
        });
        let (bytes, version) = self.read(path, range).await?;
        Ok((Box::pin(stream::iter([Ok(bytes)])), version))
    }

    async fn get_object_conditional(
        &self,
        _context: &StorageContext<'_>,
        path: &str,
        previous: Option<&VersionInfo>,
    ) -> StorageResult<GetModifiedResult> {
        let (bytes, new_version) = self.read(path, ByteRange::Full).await?;
        if previous.is_some_and(|previous| !previous.is_create() && *previous == new_version) {
            return Ok(GetModifiedResult::OnLatestVersion);
        }
        let data: Pin<Box<dyn AsyncBufRead + Send>> = Box::pin(Cursor::new(bytes));
        Ok(GetModifiedResult::Modified { data, new_version })
    }

    /// Writes a value. Types of contents and further metadata of objects are omitted, because stores do not have them.
    async fn put_object(
        &self,
        _context: &StorageContext<'_>,
        path: &str,
        bytes: Bytes,
        _content_type: Option<&str>,
        _metadata: Vec<(String, String)>,
        previous: Option<&VersionInfo>,
    ) -> StorageResult<VersionedUpdateResult> {
        let path = path.to_owned();
        let condition = previous.map(condition);
        let written = self.call(move |store| {
            let key = Key::new(path)?;
            match condition {
                Some(condition) => put(store, &key, bytes, &condition),
                None => store.set(&key, bytes.into()).map(|()| Some(VersionInfo::for_creation())),
            }
        });
        Ok(match written.await? {
            Some(new_version) => VersionedUpdateResult::Updated { new_version },
            None => VersionedUpdateResult::NotOnLatestVersion,
        })
    }

    async fn copy_object(
        &self,
        _context: &StorageContext<'_>,
        from: &str,
        to: &str,
        _content_type: Option<&str>,
        version: &VersionInfo,
    ) -> StorageResult<VersionedUpdateResult> {
        let (bytes, found) = self.read(from, ByteRange::Full).await?;
        if !version.is_create() && found != *version {
            return Ok(VersionedUpdateResult::NotOnLatestVersion);
        }
        let to = to.to_owned();
        self.call(move |store| store.set(&Key::new(to)?, bytes.into())).await?;
        Ok(VersionedUpdateResult::Updated { new_version: version.clone() })
    }

    /// Lists names. Stores do not return the time at which a value was written, so it is the present: the library would
    /// only remove files that are older, and this store calls no function that does.
    async fn list_objects<'a>(
        &'a self,
        _context: &StorageContext<'_>,
        prefix: &str,
    ) -> StorageResult<BoxStream<'a, StorageResult<ListInfo<String>>>> {
        let prefix = prefix.trim_matches('/').to_owned();
        let listed = self.call(move |store| {
            let prefix = if prefix.is_empty() { Prefix::root() } else { Prefix::new(format!("{prefix}/"))? };
            let keys = store.list_sorted(&prefix)?;
            let names = keys.iter().filter_map(|key| prefix.strip(key.as_str()).map(str::to_owned));
            Ok(names.collect::<Vec<String>>())
        });
        let names = listed.await?;
        let info = |id| Ok(ListInfo { id, created_at: Utc::now(), size_bytes: 0 });
        Ok(stream::iter(names.into_iter().map(info)).boxed())
    }

    async fn delete_batch(
        &self,
        _context: &StorageContext<'_>,
        prefix: &str,
        batch: Vec<(String, u64)>,
    ) -> StorageResult<DeleteObjectsResult> {
        let deleted = DeleteObjectsResult {
            deleted_objects: batch.len() as u64,
            deleted_bytes: batch.iter().map(|(_, size)| size).sum(),
        };
        let prefix = prefix.trim_matches('/').to_owned();
        self.call(move |store| {
            let keys = batch.iter().map(|(name, _)| Key::new(format!("{prefix}/{name}")));
            store.erase_values(&keys.collect::<Result<Vec<_>, _>>()?)
        })
        .await?;
        Ok(deleted)
    }

    /// Returns the present. Stores do not return the time of a change, so the library cannot compare the clock of this
    /// machine with that of a server, which it does after it has written a snapshot.
    async fn get_object_last_modified(
        &self,
        _context: &StorageContext<'_>,
        _path: &str,
    ) -> StorageResult<DateTime<Utc>> {
        Ok(Utc::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_any_bytes_return_from_the_library() {
        for bytes in [&b"\"etag\""[..], b"\x00\xff", b""] {
            let version = Version::new(bytes);
            assert_eq!(condition(&shown(Some(&version))), Condition::Unchanged(version));
        }
        assert_eq!(condition(&shown(None)), Condition::Missing);
    }
}
