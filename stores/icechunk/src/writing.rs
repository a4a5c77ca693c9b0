//! Changes of a session.

use bytes::Bytes;
use icechunk::format::manifest::ChunkPayload;
use icechunk::format::{ChunkIndices, Path};
use icechunk::session::{Session, SessionErrorKind};
use icechunk::store::StoreErrorKind;
use zarr_spec::store::{StoreError, StoreResult};
use zarr_spec::{Invalid, Key, KeyError};

use crate::documents;
use crate::failure;
use crate::names::{Name, folder};
use crate::reading::{self, Waiting};
use crate::repository::Opened;

/// The beginning of names that are not nodes, such as the folder of copies.
const NOT_A_NODE: &str = "__";

/// Stores a document, or a value that is not part of a hierarchy.
pub(crate) async fn set(opened: &Opened, waiting: &Waiting, key: &Key, value: Bytes) -> StoreResult<()> {
    if matches!(Name::of(key), Some(Name::Document(_))) {
        documents::check(&value).map_err(|error| Invalid::new(format!("`{key}`: {error}")))?;
        return set_document(opened, waiting, key, value).await;
    }
    if key.as_str().starts_with(NOT_A_NODE) {
        waiting.lock().insert(key.clone(), ChunkPayload::Inline(value));
        return Ok(());
    }
    let what = "an Icechunk repository holds only `zarr.json` of nodes, and chunks below `c` of arrays";
    Err(KeyError::new(key.as_str(), "key", what).into())
}

async fn set_document(opened: &Opened, waiting: &Waiting, key: &Key, value: Bytes) -> StoreResult<()> {
    let store = icechunk::Store::from_session_and_config(opened.session.clone(), 1);
    store.set(key.as_str(), value).await.map_err(|error| match &error.kind {
        StoreErrorKind::SessionError(SessionErrorKind::AlreadyExists { .. }) => {
            let what = format!("`{key}`: a node of another kind is there; erase it first");
            Invalid::new(what).into()
        }
        StoreErrorKind::SessionError(kind) => failure::session("writing", key.as_str(), kind),
        kind => StoreError::io("writing", key.as_str(), failure::reason(kind)),
    })?;
    let mut session = opened.session.write().await;
    let parent = key.as_str().trim_end_matches("zarr.json");
    for key in waiting.keys(&format!("{parent}c")) {
        let Some((Name::Chunk(array, index), payload)) = Name::of(&key).zip(waiting.get(&key)) else {
            continue;
        };
        match session.set_chunk_ref(array, index, Some(payload)).await.map_err(|error| error.kind) {
            Ok(()) => {
                waiting.lock().remove(&key);
            }
            // It is a chunk of another array, or outside of this one.
            Err(kind) if failure::is_missing(&kind) => {}
            Err(kind) => return Err(failure::session("writing", key.as_str(), &kind)),
        }
    }
    Ok(())
}

/// Returns the maximum size in bytes of a chunk in a manifest. Larger ones are files.
pub(crate) async fn inline_limit(opened: &Opened) -> usize {
    opened.session.read().await.config().inline_chunk_threshold_bytes().into()
}

/// Adds a chunk to an array. It waits if the array does not exist.
pub(crate) async fn set_chunk(
    opened: &Opened,
    waiting: &Waiting,
    key: &Key,
    chunk: (Path, ChunkIndices),
    payload: ChunkPayload,
) -> StoreResult<()> {
    let (array, index) = chunk;
    let mut session = opened.session.write().await;
    let set = session.set_chunk_ref(array, index, Some(payload.clone())).await;
    match set.map_err(|error| error.kind) {
        Ok(()) => {
            waiting.lock().remove(key);
            Ok(())
        }
        Err(kind @ SessionErrorKind::InvalidIndex { .. }) => {
            Err(KeyError::new(key.as_str(), "key", failure::reason(&kind)).into())
        }
        Err(kind) if failure::is_missing(&kind) => {
            waiting.lock().insert(key.clone(), payload);
            Ok(())
        }
        Err(kind) => Err(failure::session("writing", key.as_str(), &kind)),
    }
}

/// Removes values. Without its document, a node has no chunks and no nodes below it.
pub(crate) async fn erase(opened: &Opened, waiting: &Waiting, keys: &[Key]) -> StoreResult<()> {
    let mut session = opened.session.write().await;
    for key in keys {
        waiting.lock().remove(key);
        let erased = match Name::of(key) {
            Some(Name::Chunk(array, index)) => session.delete_chunks(&array, [index]).await,
            Some(Name::Document(path)) => match session.get_node(&path).await {
                Ok(node) => session.delete_node(node).await,
                Err(error) => Err(error),
            },
            None => Ok(()),
        };
        ignore_missing(erased.map_err(|error| error.kind), key.as_str())?;
    }
    Ok(())
}

/// Removes all values whose keys begin with `prefix`.
pub(crate) async fn erase_prefix(opened: &Opened, waiting: &Waiting, prefix: &str) -> StoreResult<()> {
    let mut session = opened.session.write().await;
    waiting.lock().retain(|key, _| !key.as_str().starts_with(prefix));
    for node in reading::nodes(&session, prefix).await? {
        let erased = match folder(&node.path).starts_with(prefix) {
            true => session.delete_node(node).await.map_err(|error| error.kind),
            false => erase_chunks(&mut session, node, prefix).await?,
        };
        ignore_missing(erased, prefix)?;
    }
    Ok(())
}

/// Removes the chunks of an array whose keys begin with `prefix`.
async fn erase_chunks(
    session: &mut Session,
    array: icechunk::format::snapshot::NodeSnapshot,
    prefix: &str,
) -> StoreResult<Result<(), SessionErrorKind>> {
    let mut indices = reading::chunks(session, &array).await?;
    indices.retain(|index| {
        let key = crate::names::chunk_key(&array.path, index);
        key.is_ok_and(|key| key.as_str().starts_with(prefix))
    });
    Ok(session.delete_chunks(&array.path, indices).await.map_err(|error| error.kind))
}

fn ignore_missing(erased: Result<(), SessionErrorKind>, place: &str) -> StoreResult<()> {
    match erased {
        Err(kind) if !failure::is_missing(&kind) => Err(failure::session("erasing", place, &kind)),
        _ => Ok(()),
    }
}
