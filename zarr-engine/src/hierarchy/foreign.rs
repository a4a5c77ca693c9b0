//! Documents of other formats in the folders of a node: one store may hold hierarchies of several.

use zarr_metadata::{DocumentKind, Identified, identify};
use zarr_spec::{Format, Key, NodePath};

use super::access::Access;
use super::dialect::Dialect;
use crate::error::Error;

/// Names of documents in the folder of their node.
pub(super) const OF_V2: [&str; 4] = [".zarray", ".zgroup", ".zattrs", ".zmetadata"];
pub(super) const OF_V3: &str = "zarr.json";

/// Refuses to erase the node at `path` while documents of another format are where everything would go. One
/// listing for each of its prefixes; a store that cannot list is not looked into.
pub(super) fn refuse(access: &Access, dialect: &dyn Dialect, path: &NodePath) -> Result<(), Error> {
    own_keys(access, dialect, path).map(drop)
}

/// All keys below the prefixes of the node at `path`, as [`refuse`] lists them. Without a listing there are none.
pub(super) fn own_keys(access: &Access, dialect: &dyn Dialect, path: &NodePath) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    if !access.store.capabilities().listable {
        return Ok(keys);
    }
    for prefix in dialect.prefixes(path)? {
        for key in access.store.list_sorted(&prefix)? {
            refuse_key(access, dialect, path, &key)?;
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Refuses to erase the node at `path` if `key` is that of a document of another format.
pub(super) fn refuse_key(
    access: &Access,
    dialect: &dyn Dialect,
    path: &NodePath,
    key: &Key,
) -> Result<(), Error> {
    match owner(access, dialect.format(), key)? {
        Some(format) => Err(Error::OtherFormat { path: path.clone(), key: key.to_string(), format }),
        None => Ok(()),
    }
}

/// The format that a key is a document of; `None` for keys of a hierarchy of `format`, and for those of chunks.
fn owner(access: &Access, format: Format, key: &Key) -> Result<Option<String>, Error> {
    let name = key.name();
    if OF_V2.contains(&name) {
        return Ok((format != Format::V2).then(|| Format::V2.to_string()));
    }
    if is_of_draft(key) {
        return Ok((format != Format::V3Draft).then(|| Format::V3Draft.to_string()));
    }
    if name != OF_V3 || format == Format::V3 {
        return Ok(None);
    }
    let Some(bytes) = access.get(key)? else { return Ok(None) };
    // What cannot be read is somebody's all the same.
    let document = access.parse(key, &bytes, DocumentKind::V3).ok();
    Ok(Some(match document.and_then(|document| identify(&document).ok()) {
        Some(Identified::V3) => Format::V3.to_string(),
        Some(Identified::DraftA | Identified::DraftB) => Format::V3Draft.to_string(),
        None => format!("{} or {}", Format::V3, Format::V3Draft),
    }))
}

/// Whether a key is that of an array or group of the draft, whatever its documents are encoded by.
pub(super) fn is_of_draft(key: &Key) -> bool {
    let name = key.name();
    let is_document = [".array.", ".group."].iter().any(|kind| name.contains(kind));
    is_document && key.as_str().split('/').rev().skip(1).any(|folder| folder == "meta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_the_draft_are_told_from_chunks_and_from_other_documents() {
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
