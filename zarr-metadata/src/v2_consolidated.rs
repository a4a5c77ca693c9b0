//! `.zmetadata`: the documents of a whole hierarchy in one.

use std::collections::BTreeMap;

use zarr_json::{Object, Value};

use super::DocumentError;
use super::members::{Members, tolerate, wrong};
use super::v2::{GROUP, node_of};
use super::write::members;
use zarr_spec::format::Reading;
use zarr_spec::key::Key;

/// The documents in a `.zmetadata`, which are copies from the time of consolidation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Consolidated {
    /// The documents `.zarray`, `.zgroup` and `.zattrs` by their keys, relative to the `.zmetadata`.
    pub documents: BTreeMap<Key, Value>,
}

/// Reads a `.zmetadata`. Keys that do not name documents are ignored.
///
/// # Errors
///
/// [`DocumentError`] for another version, and for missing or invalid members.
pub fn parse_consolidated(document: &Value, reading: &Reading) -> Result<Consolidated, DocumentError> {
    let mut members = Members::of_document(document)?;
    members.require(&["zarr_consolidated_format", "metadata"])?;
    let version = members.required("zarr_consolidated_format")?;
    if version.as_u64() != Some(1) {
        return Err(wrong("zarr_consolidated_format", version, "the integer 1"));
    }
    let metadata = members.required("metadata")?;
    let Some(metadata) = metadata.as_object() else { return Err(wrong("metadata", metadata, "an object")) };
    for (name, _) in members.unknown() {
        tolerate(reading, members.unknown_member(name))?;
    }
    let mut consolidated = Consolidated::default();
    for (text, document) in metadata {
        let key = Key::new(text).ok().filter(|key| node_of(key).is_some());
        let Some(key) = key else {
            reading.warn(format!("`metadata`: `{text}` is not the key of a document; it is ignored"));
            continue;
        };
        let document = without_inner_copy(&key, document);
        consolidated.documents.insert(key, document);
    }
    Ok(consolidated)
}

/// Writes the `.zmetadata` of these documents.
///
/// # Errors
///
/// [`DocumentError`] for a key that does not name a document.
pub fn consolidated_document(consolidated: &Consolidated) -> Result<Value, DocumentError> {
    let mut metadata = Object::new();
    for (key, document) in &consolidated.documents {
        if node_of(key).is_none() {
            return Err(DocumentError::member("metadata", format!("`{key}` is not the key of a document")));
        }
        metadata.insert(key.as_str(), document.clone());
    }
    Ok(members([("zarr_consolidated_format", Value::from(1)), ("metadata", Value::Object(metadata))]))
}

/// Removes the member of final v3 that zarr-python 3 adds to the groups in a `.zmetadata` (V2-CONS-06).
fn without_inner_copy(key: &Key, document: &Value) -> Value {
    let mut document = document.clone();
    if key.name() == GROUP
        && let Some(group) = document.as_object_mut()
    {
        group.remove("consolidated_metadata");
    }
    document
}
