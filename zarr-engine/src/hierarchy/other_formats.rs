//! Documents of other formats in the folders of a node. One store may hold hierarchies of several formats.

use zarr_metadata::{DOCUMENT_NAMES, DocumentKind, Identified, identify};
use zarr_spec::{Format, Key, NodePath};

use super::access::Access;
use super::rules::FormatRules;
use crate::error::{Error, OtherFormat};

/// Handling of documents of other formats when a node is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherFormats {
    Refuse,
    RefuseKeepingFiles,
    /// Leaves documents and chunks of other formats, and files that are not part of Zarr.
    Keep,
}

/// Refuses to erase the node at `path` if documents of another format would be erased with it. Lists each prefix of the
/// node once. A store that cannot list is not checked.
pub(super) fn refuse(access: &Access, rules: &dyn FormatRules, path: &NodePath) -> Result<(), Error> {
    own_keys(access, rules, path).map(drop)
}

/// Returns all keys below the prefixes of the node at `path`, and checks them as [`refuse`] does. Returns no keys if
/// the store cannot list.
pub(super) fn own_keys(access: &Access, rules: &dyn FormatRules, path: &NodePath) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    if !access.store.capabilities().listable {
        return Ok(keys);
    }
    for prefix in rules.prefixes(path)? {
        for key in access.store.list_sorted(&prefix)? {
            refuse_key(access, rules, path, &key)?;
            keys.push(key);
        }
    }
    Ok(keys)
}

pub(super) fn refuse_key(
    access: &Access,
    rules: &dyn FormatRules,
    path: &NodePath,
    key: &Key,
) -> Result<(), Error> {
    match other_format(access, rules.format(), key)? {
        Some(format) => Err(OtherFormat { path: path.clone(), key: key.to_string(), format }.into()),
        None => Ok(()),
    }
}

/// Returns the format of the document with this key if it is not `format`. Returns `None` for chunk keys.
fn other_format(access: &Access, format: Format, key: &Key) -> Result<Option<String>, Error> {
    if is_of_v2(key) {
        return Ok((format != Format::V2).then(|| Format::V2.to_string()));
    }
    if is_of_draft(key) {
        return Ok((format != Format::V3Draft).then(|| Format::V3Draft.to_string()));
    }
    if !is_of_v3(key) || format == Format::V3 {
        return Ok(None);
    }
    let Some(bytes) = access.get(key)? else { return Ok(None) };
    // A document that cannot be parsed may belong to either of two formats.
    let document = access.parse(key, &bytes, DocumentKind::V3).ok();
    Ok(Some(match document.and_then(|document| identify(&document).ok()) {
        Some(Identified::V3) => Format::V3.to_string(),
        Some(Identified::DraftA | Identified::DraftB) => Format::V3Draft.to_string(),
        None => format!("{} or {}", Format::V3, Format::V3Draft),
    }))
}

pub(super) fn is_of_v2(key: &Key) -> bool {
    DOCUMENT_NAMES.contains(&key.name()) && !is_of_v3(key)
}

pub(super) fn is_of_v3(key: &Key) -> bool {
    key.name() == "zarr.json"
}

pub(super) fn is_of_draft(key: &Key) -> bool {
    let name = key.name();
    let is_document = [".array.", ".group."].iter().any(|kind| name.contains(kind));
    is_document && key.as_str().split('/').rev().skip(1).any(|folder| folder == "meta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_documents_of_the_draft_by_their_keys() {
        let is_draft = |key: &str| is_of_draft(&Key::new(key).unwrap());
        for key in
            ["meta/a.array.json", "meta/a/b.group.cbor", "x/meta/root.group.json", "meta/root/a.array.json"]
        {
            assert!(is_draft(key), "{key}");
        }
        for key in ["data/a/c0/0", "meta/a/0.0", "a.array.json", "meta/a.json", "meta/.array/.zarray"] {
            assert!(!is_draft(key), "{key}");
        }
    }
}
