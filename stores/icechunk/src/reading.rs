//! Finds the values of a session, and those that wait until a repository can hold them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use icechunk::format::manifest::{ChunkPayload, ChunkRef};
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icechunk::format::{ByteRange as Part, ChunkId, ChunkIndices, Path};
use icechunk::session::{Session, SessionErrorKind, get_chunk};
use zarr_spec::store::{IoKind, StoreError, StoreResult, shared_part};
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

/// The location of a part of a value.
#[derive(Debug)]
pub(crate) enum Located {
    /// In memory.
    Here(Found),
    /// In a file of the repository.
    Stored(StoredPart),
    /// In a file outside of the repository.
    Virtual(VirtualPart),
}

/// A part of a value, and the size of the whole value in bytes.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bytes: Bytes,
    pub(crate) size: u64,
}

/// A part of a chunk in a file of the repository.
#[derive(Debug)]
pub(crate) struct StoredPart {
    pub(crate) id: ChunkId,
    /// The first byte in the file, which may contain several chunks.
    pub(crate) offset: u64,
    /// The size of the part in bytes.
    pub(crate) size: u64,
    /// The size of the chunk in bytes.
    pub(crate) whole: u64,
}

/// A part of a virtual chunk.
#[derive(Debug)]
pub(crate) struct VirtualPart {
    array: Path,
    index: ChunkIndices,
    part: Range<u64>,
    /// The size of the chunk in bytes.
    whole: u64,
    /// The location of the file.
    url: String,
}

impl VirtualPart {
    /// Returns the size of the part in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.part.end - self.part.start
    }
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

    fn of(self, key: &Key, value: &Bytes) -> StoreResult<Located> {
        let bytes = shared_part(key, value, self.range, self.limit)?;
        Ok(Located::Here(Found { bytes, size: value.len() as u64 }))
    }

    fn of_stored(self, key: &Key, stored: ChunkRef) -> StoreResult<Located> {
        let ChunkRef { id, offset, length: whole } = stored;
        let part = self.within(key, whole)?;
        if part.is_empty() {
            return Ok(Located::Here(Found { bytes: Bytes::new(), size: whole }));
        }
        let offset = offset.checked_add(part.start);
        let stored = |offset| StoredPart { id, offset, size: part.end - part.start, whole };
        offset.map(stored).map(Located::Stored).ok_or_else(|| {
            let what = "the manifest lists an offset that is too large";
            StoreError::io("reading", key.as_str(), what).with_kind(IoKind::Damaged)
        })
    }
}

/// Finds a part of a value; `None` if the key is missing.
pub(crate) async fn locate(
    opened: &Opened,
    waiting: &Waiting,
    key: &Key,
    wanted: Wanted,
) -> StoreResult<Option<Located>> {
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
                Ok(Some(ChunkPayload::Virtual(reference))) => {
                    let whole = reference.length;
                    let part = wanted.within(key, whole)?;
                    let url = reference.location.url().to_owned();
                    Ok(Some(Located::Virtual(VirtualPart { array, index, part, whole, url })))
                }
                Ok(Some(payload)) => payload_part(key, payload, wanted),
                Err(kind) if !failure::is_missing(&kind) => Err(failed(&kind)),
                _ => waiting_part(waiting, key, wanted),
            }
        }
        None => waiting_part(waiting, key, wanted),
    }
}

/// Finds a part of a value that waits for its array.
fn waiting_part(waiting: &Waiting, key: &Key, wanted: Wanted) -> StoreResult<Option<Located>> {
    waiting.get(key).map_or(Ok(None), |payload| payload_part(key, payload, wanted))
}

fn payload_part(key: &Key, payload: ChunkPayload, wanted: Wanted) -> StoreResult<Option<Located>> {
    match payload {
        ChunkPayload::Inline(value) => wanted.of(key, &value).map(Some),
        ChunkPayload::Ref(stored) => wanted.of_stored(key, stored).map(Some),
        _ => {
            Err(StoreError::io("reading", key.as_str(), "the repository stores the chunk in an unknown form"))
        }
    }
}

/// Reads a part of a virtual chunk.
pub(crate) async fn virtual_part(opened: &Opened, key: &Key, wanted: VirtualPart) -> StoreResult<Found> {
    let VirtualPart { array, index, part, whole: size, url } = wanted;
    if part.is_empty() {
        return Ok(Found { bytes: Bytes::new(), size });
    }
    let expected = part.end - part.start;
    let session = opened.session.read().await;
    let read = match session.get_chunk_reader(&array, &index, &Part::Bounded(part)).await {
        Ok(reader) => get_chunk(reader).await,
        Err(error) => Err(error),
    };
    let bytes = read.map_err(|error| match failure::unpermitted(&error.kind) {
        Some(prefix) => {
            let what = format!(
                "it is a virtual chunk in `{url}`, which is read only with permission: allow `{prefix}` with the \
                 option `virtual_chunks`"
            );
            StoreError::io("reading", key.as_str(), what).with_kind(IoKind::NotPermitted)
        }
        None => failure::session("reading", key.as_str(), &error.kind),
    })?;
    match bytes.filter(|bytes| bytes.len() as u64 == expected) {
        Some(bytes) => Ok(Found { bytes, size }),
        None => {
            let what = format!("`{url}` does not have the {expected} bytes that the manifest lists");
            Err(StoreError::io("reading", key.as_str(), what).with_kind(IoKind::Damaged))
        }
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
