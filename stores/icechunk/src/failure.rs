//! Messages for failures of the library.

use std::collections::BTreeSet;
use std::error::Error;

use icechunk::conflicts::Conflict;
use icechunk::format::IcechunkFormatErrorKind;
use icechunk::format::manifest::VirtualReferenceErrorKind;
use icechunk::repository::RepositoryErrorKind;
use icechunk::session::SessionErrorKind;
use zarr_spec::store::{IoKind, StoreError};

use crate::names::{chunk_key, document_key};

/// The maximum number of conflicts in a message.
const SHOWN: usize = 5;

/// Returns the message of a failure and of its causes, without the trace that the library adds.
pub(crate) fn reason(failure: &(dyn Error + 'static)) -> String {
    let first_line = |failure: &dyn Error| failure.to_string().lines().next().unwrap_or_default().to_owned();
    let mut text = first_line(failure);
    let mut cause = failure.source();
    while let Some(failure) = cause {
        let next = first_line(failure);
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = failure.source();
    }
    text
}

/// Returns the error for a repository that cannot be opened.
pub(crate) fn repository(operation: &'static str, place: &str, kind: &RepositoryErrorKind) -> StoreError {
    let is_damaged = matches!(
        kind,
        RepositoryErrorKind::FormatError(kind) if is_damage(kind)
    );
    io(operation, place, kind, is_damaged)
}

/// Returns the error for an operation of a session.
pub(crate) fn session(operation: &'static str, place: &str, kind: &SessionErrorKind) -> StoreError {
    let is_damaged = match kind {
        SessionErrorKind::FormatError(kind)
        | SessionErrorKind::RepositoryError(RepositoryErrorKind::FormatError(kind)) => is_damage(kind),
        _ => false,
    };
    io(operation, place, kind, is_damaged)
}

fn io(operation: &'static str, place: &str, failure: &(dyn Error + 'static), is_damaged: bool) -> StoreError {
    if let Some(error) = of_store(failure) {
        let kind = if let StoreError::Io { kind, .. } = error { *kind } else { IoKind::Other };
        return StoreError::io(operation, place, error.to_string()).with_kind(kind);
    }
    let error = StoreError::io(operation, place, reason(failure));
    if is_damaged { error.with_kind(IoKind::Damaged) } else { error }
}

/// Returns the error of the store that contains the repository, if it is the cause.
fn of_store<'e>(failure: &'e (dyn Error + 'static)) -> Option<&'e StoreError> {
    let mut cause = Some(failure);
    while let Some(failure) = cause {
        if let Some(error) = failure.downcast_ref::<StoreError>() {
            return Some(error);
        }
        cause = failure.source();
    }
    None
}

/// Returns whether the file of a repository is damaged. Other failures of this kind are missing names.
fn is_damage(kind: &IcechunkFormatErrorKind) -> bool {
    !matches!(
        kind,
        IcechunkFormatErrorKind::BranchNotFound { .. }
            | IcechunkFormatErrorKind::TagNotFound { .. }
            | IcechunkFormatErrorKind::SnapshotIdNotFound { .. }
    )
}

/// Returns whether a node or a chunk does not exist, which is not a failure.
pub(crate) fn is_missing(kind: &SessionErrorKind) -> bool {
    matches!(
        kind,
        SessionErrorKind::NodeNotFound { .. }
            | SessionErrorKind::NotAnArray { .. }
            | SessionErrorKind::InvalidIndex { .. }
    )
}

/// Returns the prefix of the locations that the caller did not permit to read.
pub(crate) fn unpermitted(kind: &SessionErrorKind) -> Option<&str> {
    match kind {
        SessionErrorKind::VirtualReferenceError(
            VirtualReferenceErrorKind::UnauthorizedVirtualChunkContainer { url_prefix, .. },
        ) => Some(url_prefix),
        _ => None,
    }
}

/// Returns the error for a commit, which names what conflicted.
pub(crate) fn commit(place: &str, branch: &str, kind: &SessionErrorKind) -> StoreError {
    let SessionErrorKind::RebaseFailed { conflicts, .. } = kind else {
        return session("committing", place, kind);
    };
    let mut conflicts: BTreeSet<String> = conflicts.iter().flat_map(keys_in_conflict).collect();
    let more = conflicts.len().saturating_sub(SHOWN);
    while conflicts.len() > SHOWN {
        conflicts.pop_last();
    }
    let mut shown = conflicts.into_iter().collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown = format!("{shown}, and {more} more");
    }
    let what = format!(
        "conflict: after this session began, another one committed to the branch `{branch}` and changed the same \
         values ({shown}); nothing was committed: open the repository again and repeat the changes"
    );
    StoreError::io("committing", place, what)
}

/// Returns descriptions of what two sessions changed.
fn keys_in_conflict(conflict: &Conflict) -> Vec<String> {
    let document = |path| document_key(path).map_or_else(|_| path.to_string(), |key| format!("`{key}`"));
    match conflict {
        Conflict::ChunkDoubleUpdate { path, chunk_coordinates, .. } => {
            let keys = chunk_coordinates.iter().filter_map(|index| chunk_key(path, index).ok());
            keys.map(|key| format!("`{key}`")).collect()
        }
        Conflict::NewNodeConflictsWithExistingNode(path) => {
            vec![format!("{}, which both created", document(path))]
        }
        Conflict::NewNodeInInvalidGroup(path) => {
            vec![format!("{}, whose group was removed or replaced", document(path))]
        }
        Conflict::ZarrMetadataDoubleUpdate(path) => vec![document(path)],
        Conflict::ZarrMetadataUpdateOfDeletedArray(path)
        | Conflict::ZarrMetadataUpdateOfDeletedGroup(path) => {
            vec![format!("{}, which the other one removed", document(path))]
        }
        Conflict::ChunksUpdatedInDeletedArray { path, .. } => {
            vec![format!("chunks of {}, which the other one removed", document(path))]
        }
        Conflict::ChunksUpdatedInUpdatedArray { path, .. } => {
            vec![format!("chunks of {}, which the other one changed", document(path))]
        }
        Conflict::DeleteOfUpdatedArray { path, .. } | Conflict::DeleteOfUpdatedGroup { path, .. } => {
            vec![format!("{}, which this one removed", document(path))]
        }
        Conflict::MoveOperationCannotBeRebased => vec!["a node that was moved".to_owned()],
    }
}
