//! Reads the values of a session, and those that wait until a repository can hold them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use icechunk::format::manifest::ChunkPayload;
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::format::{ByteRange as Part, ChunkIndices, Path};
use icechunk::session::{Session, SessionErrorKind, get_chunk};
use zarr_spec::store::{IoKind, StoreError, StoreResult};
use zarr_spec::{ByteRange, Key, LimitExceeded};

use crate::failure;
use crate::names::{Name, array_around, chunk_key, document_key, folder};
use crate::repository::Opened;

/// Values that the session does not have: chunks of arrays whose documents are not stored yet, and the markers of
/// copies. A repository cannot hold them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<BTreeMap<Key, ChunkPayload>>>);

impl Waiting {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, ChunkPayload>> {
        // A value is added or removed in one step, so the map is consistent after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<ChunkPayload> {
        self.lock().get(key).cloned()
    }

    pub(crate) fn keys(&self, prefix: &str) -> Vec<Key> {
        let waiting = self.lock();
        waiting.keys().filter(|key| key.as_str().starts_with(prefix)).cloned().collect()
    }
}

/// A part of a value, and the size of the whole value in bytes.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bytes: Bytes,
    pub(crate) size: u64,
}

/// The requested part of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) range: ByteRange,
    /// The maximum number of bytes of the part.
    pub(crate) limit: usize,
}

impl Wanted {
    /// Returns the part of a value of `size` bytes.
    fn within(self, key: &Key, size: u64) -> StoreResult<Range<u64>> {
        let part = self.range.within(size);
        if part.end - part.start > self.limit as u64 {
            let source = LimitExceeded { limit: self.limit };
            return Err(StoreError::TooLarge { key: key.to_string(), source });
        }
        Ok(part)
    }

    fn of(self, key: &Key, value: &Bytes) -> StoreResult<Found> {
        let size = value.len() as u64;
        let part = self.within(key, size)?;
        let bounds = usize::try_from(part.start).ok().zip(usize::try_from(part.end).ok());
        let bytes = bounds.map_or_else(Bytes::new, |(start, end)| value.slice(start..end));
        Ok(Found { bytes, size })
    }
}

/// Reads a part of a value; `None` if the key is missing.
pub(crate) async fn value(
    opened: &Opened,
    waiting: &Waiting,
    key: &Key,
    wanted: Wanted,
) -> StoreResult<Option<Found>> {
    let session = opened.session.read().await;
    let failed = |kind: &SessionErrorKind| failure::session("reading", key.as_str(), kind);
    match Name::of(key) {
        Some(Name::Document(path)) => match session.get_node(&path).await.map_err(|error| error.kind) {
            Ok(node) => wanted.of(key, &node.user_data).map(Some),
            Err(kind) if failure::is_missing(&kind) => Ok(None),
            Err(kind) => Err(failed(&kind)),
        },
        Some(Name::Chunk(array, index)) => {
            match session.get_chunk_ref(&array, &index).await.map_err(|error| error.kind) {
                Ok(Some(payload)) => {
                    chunk(&session, StoredChunk { key, array, index, payload }, wanted).await.map(Some)
                }
                Err(kind) if !failure::is_missing(&kind) => Err(failed(&kind)),
                _ => waiting_value(opened, waiting, key, wanted).await,
            }
        }
        None => waiting_value(opened, waiting, key, wanted).await,
    }
}

/// A chunk that the session has.
struct StoredChunk<'k> {
    key: &'k Key,
    array: Path,
    index: ChunkIndices,
    payload: ChunkPayload,
}

async fn chunk(session: &Session, chunk: StoredChunk<'_>, wanted: Wanted) -> StoreResult<Found> {
    let StoredChunk { key, array, index, payload } = chunk;
    let size = payload.length();
    let part = wanted.within(key, size)?;
    if part.is_empty() {
        return Ok(Found { bytes: Bytes::new(), size });
    }
    let expected = part.end - part.start;
    let read = match session.get_chunk_reader(&array, &index, &Part::Bounded(part)).await {
        Ok(reader) => get_chunk(reader).await,
        Err(error) => Err(error),
    };
    let bytes = read.map_err(|error| match (&payload, failure::unpermitted(&error.kind)) {
        (ChunkPayload::Virtual(reference), Some(prefix)) => {
            let what = format!(
                "it is a virtual chunk in `{}`, which is read only with permission: allow `{prefix}` with the option \
                 `virtual_chunks`",
                reference.location.url()
            );
            StoreError::io("reading", key.as_str(), what).with_kind(IoKind::NotPermitted)
        }
        _ => failure::session("reading", key.as_str(), &error.kind),
    })?;
    match bytes.filter(|bytes| bytes.len() as u64 == expected) {
        Some(bytes) => Ok(Found { bytes, size }),
        None => {
            let what = format!("the stored chunk does not have the {expected} bytes that the manifest lists");
            Err(StoreError::io("reading", key.as_str(), what).with_kind(IoKind::Damaged))
        }
    }
}

/// Reads a value that waits for its array.
async fn waiting_value(
    opened: &Opened,
    waiting: &Waiting,
    key: &Key,
    wanted: Wanted,
) -> StoreResult<Option<Found>> {
    match waiting.get(key) {
        Some(ChunkPayload::Inline(value)) => wanted.of(key, &value).map(Some),
        Some(ChunkPayload::Ref(stored)) => {
            let part = wanted.within(key, stored.length)?;
            let range = stored.offset + part.start..stored.offset + part.end;
            if part.is_empty() {
                return Ok(Some(Found { bytes: Bytes::new(), size: stored.length }));
            }
            let fetched = opened.repository.asset_manager().fetch_chunk("", &[], &stored.id, &range).await;
            let bytes = fetched.map_err(|error| failure::repository("reading", key.as_str(), &error.kind))?;
            Ok(Some(Found { bytes, size: stored.length }))
        }
        _ => Ok(None),
    }
}

/// Returns the nodes that have keys below `prefix`, which ends in `/` or is empty. If `prefix` is in the folder of the
/// chunks of an array, returns that array, too.
pub(crate) async fn nodes(session: &Session, prefix: &str) -> StoreResult<Vec<NodeSnapshot>> {
    let failed = |kind: &SessionErrorKind| failure::session("listing", prefix, kind);
    let parent = Path::try_from(format!("/{}", prefix.trim_end_matches('/')));
    let mut found = Vec::new();
    if let Ok(parent) = parent {
        for node in session.list_nodes(&parent).await.map_err(|error| failed(&error.kind))? {
            found.push(node.map_err(|error| failed(&error.kind))?);
        }
        // The library also lists new nodes elsewhere.
        found.retain(|node| folder(&node.path).starts_with(prefix));
    }
    if let Some(array) = array_around(prefix) {
        match session.get_array(&array).await.map_err(|error| error.kind) {
            Ok(node) => found.push(node),
            Err(kind) if failure::is_missing(&kind) => {}
            Err(kind) => return Err(failed(&kind)),
        }
    }
    Ok(found)
}

/// Returns the indices of the stored chunks of a node.
pub(crate) async fn chunks(session: &Session, node: &NodeSnapshot) -> StoreResult<Vec<ChunkIndices>> {
    if matches!(node.node_data, NodeData::Group) {
        return Ok(Vec::new());
    }
    let chunks = session.all_node_chunks(node).await;
    let indices = chunks.map(|chunk| chunk.map(|(_, chunk)| chunk.coord)).try_collect().await;
    indices.map_err(|error| failure::session("listing", &folder(&node.path), &error.kind))
}

/// Returns the keys of a node, of its document and of its chunks.
pub(crate) async fn keys(session: &Session, node: &NodeSnapshot) -> StoreResult<Vec<Key>> {
    let mut keys = vec![document_key(&node.path)?];
    for index in chunks(session, node).await? {
        keys.push(chunk_key(&node.path, &index)?);
    }
    Ok(keys)
}
