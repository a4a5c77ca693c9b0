//! Finds chunks without an array, which interrupted copies, erasures and resizes leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zarr_engine::{Context, EntryKind, Error, Hierarchy, Node, OpenOptions};
use zarr_json::{Object, ParseOptions, Value, counted, parse};
use zarr_metadata::draft::Keys;
use zarr_metadata::{ArrayMetadata, Identified, identify, v2};
use zarr_spec::grid::chunk_of_key;
use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::store::{Store, StoreError, get_value};
use zarr_spec::{Creation, Format, Invalid, Key, NodePath, Prefix, Reading};

use crate::copy::incomplete;

/// The largest document that is parsed, in bytes.
const LARGEST_DOCUMENT: usize = 64 << 20;

/// The folder in which copies and repairs store what is not part of a hierarchy. Names that begin with `__` are not
/// nodes.
pub const OWN_FOLDER: &str = "__zarrctl/";

/// The number of hexadecimal digits in the name of a plan.
pub(crate) const PLAN_DIGITS: usize = 32;

/// Values in one folder that do not belong to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The folder of the (former) node.
    pub folder: String,
    /// The reason.
    pub reason: Reason,
    /// The keys of the values.
    pub keys: Vec<Key>,
}

/// Why values are left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Chunks without the document of an array.
    NoDocument,
    /// Chunks outside of the grid of their array.
    OutsideOfTheArray,
    /// Attributes of v2 without the document of an array or a group.
    NoNode,
    /// Markers and intermediate chunks of a copy that is not complete, unless it has several parts and its arrays exist.
    UnfinishedCopy,
}

impl Reason {
    /// Returns the reason as text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::NoDocument => "array metadata is missing",
            Self::OutsideOfTheArray => "outside of the shape of the array",
            Self::NoNode => "array or group metadata is missing",
            Self::UnfinishedCopy => "a copy that is not complete",
        }
    }

    /// Formats a number of values: `1 chunk`, `2 chunks`.
    #[must_use]
    pub fn counted(self, count: usize) -> String {
        match self {
            Self::NoDocument | Self::OutsideOfTheArray => counted(count, "chunk", "chunks"),
            Self::NoNode => counted(count, "document of attributes", "documents of attributes"),
            Self::UnfinishedCopy => counted(count, "value", "values"),
        }
    }
}

/// Finds leftovers in a store that can list. `hierarchies` are all hierarchies in it.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn find(store: &dyn Store, hierarchies: &[Hierarchy]) -> Result<Vec<Leftover>, Error> {
    let keys = store.list_sorted(&Prefix::root())?;
    let mut found = without_document(store, &keys)?;
    let mut folders = BTreeMap::new();
    for hierarchy in hierarchies {
        for node in hierarchy.walk(NodePath::root())? {
            if node.kind == EntryKind::Array {
                let folder = chunk_folder(hierarchy, &node.path)?;
                let arrays: &mut Vec<_> = folders.entry(folder).or_default();
                arrays.push((hierarchy, node.path));
            }
        }
    }
    for (folder, arrays) in folders {
        // Arrays of two formats may share chunks.
        if let [(hierarchy, path)] = &arrays[..] {
            found.extend(outside_of(hierarchy, path, folder, &keys)?);
        }
    }
    Ok(found)
}

/// Counts the chunks at and below a path without a node, except the chunks of arrays below it.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn chunks_below(hierarchy: &Hierarchy, path: &NodePath) -> Result<usize, Error> {
    let store = &**hierarchy.store();
    let keys = listed(store, &chunk_folder(hierarchy, path)?)?;
    let nodes = Nodes::of(store, &keys)?;
    let is_left = |key: &&Key| is_certain(key) && !is_below(key, &nodes.arrays);
    Ok(keys.iter().filter(is_left).count())
}

/// Returns all keys at and below a path that are almost certainly chunks.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn chunks_at(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<Key>, Error> {
    let mut keys = listed(&**hierarchy.store(), &chunk_folder(hierarchy, path)?)?;
    keys.retain(is_certain);
    Ok(keys)
}

/// Counts the chunks in a store without a hierarchy.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn chunks_without_hierarchy(store: &dyn Store) -> Result<usize, Error> {
    let found = without_document(store, &listed(store, "")?)?;
    let chunks = found.iter().filter(|found| found.reason == Reason::NoDocument);
    Ok(chunks.map(|found| found.keys.len()).sum())
}

/// Counts the chunks outside of the shape of an array.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn chunks_outside(hierarchy: &Hierarchy, path: &NodePath) -> Result<usize, Error> {
    let folder = chunk_folder(hierarchy, path)?;
    let keys = listed(&**hierarchy.store(), &folder)?;
    Ok(outside_of(hierarchy, path, folder, &keys)?.map_or(0, |outside| outside.keys.len()))
}

fn listed(store: &dyn Store, folder: &str) -> Result<Vec<Key>, Error> {
    let prefix = Prefix::new(folder).map_err(StoreError::from)?;
    Ok(store.list_sorted(&prefix)?)
}

/// Returns the folder of the chunks of an array.
fn chunk_folder(hierarchy: &Hierarchy, path: &NodePath) -> Result<String, Error> {
    let prefix = match hierarchy.entry_point() {
        Some(entry_point) => Keys::new(entry_point).data_prefix(path),
        None => v2::prefix(path),
    };
    Ok(prefix.map_err(StoreError::from)?.as_str().to_owned())
}

/// Finds chunks in the folders of groups, except the chunks of arrays, and all chunks in a store without other files.
/// Keys such as `7` and `0/1` are ignored, because they may not be v2 chunks.
fn without_document(store: &dyn Store, keys: &[Key]) -> Result<Vec<Leftover>, Error> {
    let nodes = Nodes::of(store, keys)?;
    let is_left = |key: &Key| is_of_attributes(key) || is_certain(key) || folder_of_plan(key).is_some();
    let are_all_left = keys.iter().all(is_left);
    let mut folders: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
    let mut plans: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
    for key in keys {
        if let Some(folder) = folder_of_plan(key) {
            plans.entry(folder).or_default().push(key.clone());
            continue;
        }
        let Some(chunk) = Chunk::of(key) else { continue };
        if !chunk.is_certain || is_below(key, &nodes.arrays) {
            continue;
        }
        if are_all_left || is_below(key, &nodes.groups) {
            folders.entry(chunk.folder).or_default().push(key.clone());
        }
    }
    let found = folders.into_iter().map(|(folder, keys)| Leftover {
        folder: folder.to_owned(),
        reason: Reason::NoDocument,
        keys,
    });
    let attributes = keys.iter().filter(|key| is_of_attributes(key) && !nodes.are_at(key.parent().as_str()));
    let attributes = attributes.filter(|key| are_all_left || is_below(key, &nodes.groups));
    let attributes = attributes.map(|key| Leftover {
        folder: key.parent().as_str().to_owned(),
        reason: Reason::NoNode,
        keys: vec![key.clone()],
    });
    let mut found: Vec<Leftover> = found.chain(attributes).collect();
    for (folder, keys) in plans {
        if !is_in_parts(store, folder, &nodes)? {
            found.push(Leftover { folder: folder.to_owned(), reason: Reason::UnfinishedCopy, keys });
        }
    }
    Ok(found)
}

/// Returns whether a folder belongs to a copy in several parts, and arrays of the copy exist. Without its markers, such
/// a copy would look complete.
fn is_in_parts(store: &dyn Store, folder: &str, nodes: &Nodes) -> Result<bool, Error> {
    let folder = Prefix::new(folder).map_err(StoreError::from)?;
    let Some(copy) = incomplete(store, &folder)? else { return Ok(false) };
    let is_there = |path: &String| {
        let folder = match path.trim_start_matches('/') {
            "" => String::new(),
            relative => format!("{relative}/"),
        };
        // In the v3 draft, chunks are below `data/`, not in the folder of the document.
        nodes.arrays.contains(&format!("data/{folder}")) || nodes.arrays.contains(&folder)
    };
    Ok(copy.parts > 1 && copy.arrays.iter().any(is_there))
}

/// Returns the folder of a copy's plan, `__zarrctl/` and hexadecimal digits, if the key is in such a folder.
fn folder_of_plan(key: &Key) -> Option<&str> {
    let rest = key.as_str().strip_prefix(OWN_FOLDER)?;
    let name = rest.split_once('/')?.0;
    is_name_of_plan(name).then(|| &key.as_str()[..OWN_FOLDER.len() + name.len() + 1])
}

/// Returns whether a name in [`OWN_FOLDER`] is the name of a copy's plan.
pub(crate) fn is_name_of_plan(name: &str) -> bool {
    name.len() == PLAN_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a key is almost certainly a chunk.
fn is_certain(key: &Key) -> bool {
    Chunk::of(key).is_some_and(|chunk| chunk.is_certain)
}

/// Returns whether a key is a v2 attributes document.
fn is_of_attributes(key: &Key) -> bool {
    key.name() == ".zattrs"
}

/// Finds the chunks of an array outside of its grid.
fn outside_of(
    hierarchy: &Hierarchy,
    path: &NodePath,
    folder: String,
    keys: &[Key],
) -> Result<Option<Leftover>, Error> {
    let Node::Array(array) = hierarchy.node(path)? else { return Ok(None) };
    let metadata = array.metadata();
    let Ok(encoding) = key_encoding(hierarchy, metadata) else { return Ok(None) };
    if !metadata.storage_transformers.is_empty() {
        return Ok(None);
    }
    let is_outside = |key: &&Key| {
        let rest = key.as_str().strip_prefix(&folder)?;
        let indices = encoding.decode(rest, metadata.shape.len()).ok()??;
        Some(chunk_of_key(array.chunk_grid(), &indices).ok()?.is_none())
    };
    let outside: Vec<_> = keys.iter().filter(|key| is_outside(key) == Some(true)).cloned().collect();
    Ok((!outside.is_empty()).then_some(Leftover { folder, reason: Reason::OutsideOfTheArray, keys: outside }))
}

/// The folders of nodes.
#[derive(Debug, Default)]
struct Nodes {
    arrays: BTreeSet<String>,
    groups: BTreeSet<String>,
    /// v2 groups in consolidated metadata. They may lack documents of their own.
    copied_groups: BTreeSet<String>,
}

impl Nodes {
    /// Returns whether `folder` is the folder of a node.
    fn are_at(&self, folder: &str) -> bool {
        [&self.arrays, &self.groups, &self.copied_groups].iter().any(|nodes| nodes.contains(folder))
    }

    fn of(store: &dyn Store, keys: &[Key]) -> Result<Self, Error> {
        let mut nodes = Self::default();
        for key in keys {
            nodes.arrays.extend(chunks_of_draft(key));
            let folder = key.parent().as_str().to_owned();
            match key.name() {
                ".zarray" => drop(nodes.arrays.insert(folder)),
                ".zgroup" => drop(nodes.groups.insert(folder)),
                ".zmetadata" | "zarr.json" => nodes.add_document(folder, document(store, key)?.as_ref()),
                _ => {}
            }
        }
        Ok(nodes)
    }

    /// Adds the node of a `zarr.json`, and the arrays in its consolidated metadata, because such arrays may lack
    /// documents of their own. An unreadable document may belong to an array.
    fn add_document(&mut self, folder: String, document: Option<&Value>) {
        let member = |name| document?.as_object()?.get(name);
        let consolidated = member("consolidated_metadata").map_or(document, Some);
        let nodes = consolidated.and_then(|nodes| nodes.as_object()?.get("metadata")?.as_object());
        for name in nodes.into_iter().flat_map(Object::keys) {
            let [array, group] = [".zarray", ".zgroup"].map(|document| name.strip_suffix(document));
            if let Some(group) = group {
                self.copied_groups.insert(format!("{folder}{group}"));
            }
            match array {
                Some(array) => drop(self.arrays.insert(format!("{folder}{array}"))),
                None if is_array(nodes.and_then(|nodes| nodes.get(name))) => {
                    self.arrays.insert(format!("{folder}{name}/"));
                }
                None => {}
            }
        }
        match is_array(document) {
            true => self.arrays.insert(folder),
            false => self.groups.insert(folder),
        };
    }
}

/// Returns whether a key is in or below one of the folders.
fn is_below(key: &Key, folders: &BTreeSet<String>) -> bool {
    let text = key.as_str();
    let above = text.match_indices('/').map(|(at, _)| &text[..=at]);
    std::iter::once("").chain(above).any(|folder| folders.contains(folder))
}

/// Reads a document. Returns `None` if it is unreadable.
fn document(store: &dyn Store, key: &Key) -> Result<Option<Value>, Error> {
    let bytes = get_value(store, key, LARGEST_DOCUMENT)?;
    let parsed = bytes.and_then(|bytes| parse(&bytes, &ParseOptions::default()).ok());
    Ok(parsed.map(|parsed| parsed.value))
}

/// Returns whether a document may belong to an array: it is not a group, an entry point or `.zmetadata`.
fn is_array(document: Option<&Value>) -> bool {
    let Some(document) = document else { return true };
    let member = |name| document.as_object().and_then(|members| members.get(name));
    let is_group = member("node_type").and_then(Value::as_str) == Some("group");
    let is_entry_point = matches!(identify(document), Ok(Identified::DraftA | Identified::DraftB));
    !is_group && !is_entry_point && member("zarr_consolidated_format").is_none()
}

/// Returns the possible chunk folders of an array in the v3 draft, from the key of its document:
/// `meta/a.array.json` has `data/a/`. There may be several, because a name may contain `.array.` too.
fn chunks_of_draft(key: &Key) -> Vec<String> {
    let Some(name) = key.as_str().strip_prefix("meta/") else { return Vec::new() };
    let ends = name.match_indices(".array.").map(|(at, _)| format!("data/{}/", &name[..at]));
    let is_root = name.starts_with("array.");
    ends.chain(is_root.then(|| "data/".to_owned())).collect()
}

/// A key that may be a chunk.
#[derive(Debug, PartialEq, Eq)]
struct Chunk<'k> {
    /// The part before the indices.
    folder: &'k str,
    /// Whether other files are unlikely to have such a key.
    is_certain: bool,
}

impl<'k> Chunk<'k> {
    fn of(key: &'k Key) -> Option<Self> {
        let text = key.as_str();
        let name = key.name();
        let of_folder = |is_certain| Some(Self { folder: &text[..text.len() - name.len()], is_certain });
        // The name may be `c.0.1` as in v3, or `0.1` as in v2.
        if let Some(indices) = name.strip_prefix("c.") {
            return are_numbers(indices, '.').then(|| of_folder(true)).flatten();
        }
        if name.contains('.') {
            return are_numbers(name, '.').then(|| of_folder(true)).flatten();
        }
        // The key may end in `c/0/1` as in v3, `c0/1` as in the draft, or `0/1` as in v2.
        let mut start = text.len();
        while let Some(segment) = text[..start].trim_end_matches('/').rsplit('/').next() {
            let end = text[..start].trim_end_matches('/').len();
            if segment.is_empty() || !are_numbers(segment, '/') {
                break;
            }
            start = end - segment.len();
        }
        let before = text[..start].trim_end_matches('/');
        let last = before.rsplit('/').next().unwrap_or_default();
        let folder = &before[..before.len() - last.len()];
        let is_first_of_draft = last.strip_prefix('c').is_some_and(|index| are_numbers(index, '/'));
        if last == "c" || (is_first_of_draft && text.starts_with("data/")) {
            return Some(Self { folder, is_certain: start < text.len() || is_first_of_draft });
        }
        (start < text.len()).then_some(Self { folder: &text[..start], is_certain: false })
    }
}

fn are_numbers(text: &str, separator: char) -> bool {
    text.split(separator).all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Creates the chunk key encoding of an array.
///
/// # Errors
///
/// If it is unknown, or rejects its configuration.
pub fn key_encoding(
    hierarchy: &Hierarchy,
    metadata: &ArrayMetadata,
) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
    let reading = Reading::new(hierarchy.context().mode());
    let registry = hierarchy.context().registry();
    let document = &metadata.chunk_key_encoding;
    let found = registry.chunk_key_encodings().find(metadata.format, &document.identifier, &reading);
    let plugin = found.map_err(|unknown| Invalid::new(unknown.to_string()))?;
    let creation = Creation::of(document, metadata.format, registry, &reading);
    (plugin.create)(&creation).map_err(|error| Invalid::new(error.to_string()))
}

/// Opens the hierarchies of all formats in a store.
///
/// # Errors
///
/// If the store cannot list, or fails; the error of a document that is needed.
pub fn hierarchies(store: &Arc<dyn Store>, context: &Context) -> Result<Vec<Hierarchy>, Error> {
    let mut hierarchies = Vec::new();
    for format in Format::ALL {
        let options = OpenOptions::new().format(format).consolidated(false);
        match Hierarchy::open_with(Arc::clone(store), context, options) {
            Ok(hierarchy) => hierarchies.push(hierarchy),
            // A `zarr.json` of another format means that the store has no hierarchy of this format.
            Err(Error::NoHierarchy { .. } | Error::Document { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hierarchies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_recognized_by_their_keys() {
        let chunk = |key: &str| {
            let key = Key::new(key).unwrap();
            Chunk::of(&key).map(|chunk| (chunk.folder.to_owned(), chunk.is_certain))
        };
        for (key, folder, is_certain) in [
            ("g/a/c/0/1", "g/a/", true),
            ("c/0", "", true),
            ("a/c.0.1", "a/", true),
            ("a/0.1", "a/", true),
            ("a/0", "a/", false),
            ("a/3/4", "a/", false),
            ("12", "", false),
            ("data/a/c0/1", "data/a/", true),
            ("data/a/c5", "data/a/", true),
            ("scalar/c", "scalar/", false),
            // This may be a chunk of a v2 array `c0`.
            ("a/c0/1", "a/c0/", false),
        ] {
            assert_eq!(chunk(key), Some((folder.to_owned(), is_certain)), "{key}");
        }
        for key in ["notes.txt", "a/zarr.json", "a/.zarray", "a/c/x", "a/c0", "1.5.txt", "a/-1", "c.x"] {
            assert_eq!(chunk(key), None, "{key}");
        }
    }

    /// Finds the leftovers in a store with these documents and keys.
    fn left(documents: &[(&str, &str)], others: &[&str]) -> Vec<(String, usize)> {
        let store: Arc<dyn Store> = Arc::<crate::shelf::Shelf>::default();
        let others = others.iter().map(|key| (*key, ""));
        for (key, value) in documents.iter().copied().chain(others) {
            store.set(&Key::new(key).unwrap(), value.as_bytes().into()).unwrap();
        }
        let keys = store.list_sorted(&Prefix::root()).unwrap();
        let found = without_document(&*store, &keys).unwrap();
        found.into_iter().map(|leftover| (leftover.folder, leftover.keys.len())).collect()
    }

    #[test]
    fn chunks_of_existing_arrays_are_not_leftovers() {
        let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
        let array = r#"{"zarr_format": 3, "node_type": "array"}"#;
        let documents = [("zarr.json", group), ("g/zarr.json", group), ("g/a/zarr.json", array)];
        let chunks = ["g/a/c/0", "g/b/c/0", "g/b/c/1", "g/d/0", "g/d/0.0", "notes.txt"];
        assert_eq!(left(&documents, &chunks), [("g/b/".to_owned(), 2), ("g/d/".to_owned(), 1)]);
        // An unreadable document may belong to an array.
        assert_eq!(left(&[("zarr.json", "{")], &["a/c/0"]), []);
        assert_eq!(
            left(&[(".zgroup", "{}"), ("a/.zarray", "{}")], &["a/0.0", "b/0.0", "e/0", "d/0/1"]),
            [("b/".to_owned(), 1)]
        );
        let draft = [
            ("meta/a.array.json", "{}"),
            ("zarr.json", r#"{"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"}"#),
        ];
        assert_eq!(left(&draft, &["data/a/c0/1"]), []);
        let root = [("meta/array.json", "{}"), draft[1]];
        assert_eq!(left(&root, &["data/c0/1"]), []);
        let named = [("meta/x.array.y.array.json", "{}"), draft[1]];
        assert_eq!(left(&named, &["data/x.array.y/c0"]), []);
    }

    #[test]
    fn arrays_in_consolidated_metadata_keep_their_chunks() {
        let v3 = r#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline",
            "must_understand": false, "metadata": {"g/a": {"zarr_format": 3, "node_type": "array"},
            "g": {"zarr_format": 3, "node_type": "group"}}}}"#;
        assert_eq!(left(&[("zarr.json", v3)], &["g/a/c/0", "g/b/c/0"]), [("g/b/".to_owned(), 1)]);
        let v2 = r#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": {}, "g/a/.zarray": {}}}"#;
        let documents = [(".zmetadata", v2), (".zgroup", "{}")];
        assert_eq!(left(&documents, &["g/a/0.0", "g/b/0.0"]), [("g/b/".to_owned(), 1)]);
        assert_eq!(left(&[(".zmetadata", "{"), (".zgroup", "{}")], &["g/a/0.0"]), []);
    }

    #[test]
    fn attributes_without_a_node_are_leftovers() {
        let documents = [(".zgroup", "{}"), ("a/.zarray", "{}"), ("g/.zgroup", "{}")];
        let attributes = [".zattrs", "a/.zattrs", "g/.zattrs", "g/x/.zattrs", "y/.zattrs"];
        assert_eq!(left(&documents, &attributes), [("g/x/".to_owned(), 1), ("y/".to_owned(), 1)]);
        let copies = r#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": {}, "y/.zgroup": {}}}"#;
        let documents = [(".zmetadata", copies), (".zgroup", "{}")];
        assert_eq!(left(&documents, &attributes[3..]), [("g/x/".to_owned(), 1)]);
        // The result of a copy that was interrupted before its first group.
        assert_eq!(left(&[], &[".zattrs", "a/0.0"]), [("a/".to_owned(), 1), (String::new(), 1)]);
        assert_eq!(left(&[], &[".zattrs", "notes.txt"]), []);
    }

    #[test]
    fn markers_of_an_unfinished_copy_are_leftovers_and_the_quarantine_is_not() {
        let plan = format!("__zarrctl/{}/", "0123456789abcdef".repeat(2));
        let keys = ["plan.json", "pass-1/part-2", "between/a/c/0/1"].map(|name| format!("{plan}{name}"));
        let keys: Vec<&str> = keys.iter().map(String::as_str).chain(["__zarrctl/quarantine/a"]).collect();
        assert_eq!(left(&[(".zgroup", "{}")], &keys), [(plan.clone(), 3)]);
        assert_eq!(left(&[], &[keys[0], "a/0.0"]), [("a/".to_owned(), 1), (plan, 1)]);
    }

    #[test]
    fn markers_of_a_copy_in_parts_are_leftovers_unless_its_arrays_exist() {
        let plan = format!("__zarrctl/{}/plan.json", "0123456789abcdef".repeat(2));
        let group = ("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#);
        let array = ("g/a/zarr.json", r#"{"zarr_format": 3, "node_type": "array"}"#);
        let draft = ("meta/g/a.array.json", "{}");
        for (parts, documents, count) in
            [(4, &[group, array][..], 0), (4, &[group, draft], 0), (4, &[group], 1), (1, &[group, array], 1)]
        {
            let description = format!(r#"{{"parts": {parts}, "arrays": ["/b", "/g/a"]}}"#);
            let documents = [documents, &[(&*plan, &*description)]].concat();
            assert_eq!(left(&documents, &[]).len(), count, "{documents:?}");
        }
    }

    #[test]
    fn folders_with_other_files_are_ignored() {
        assert_eq!(left(&[], &["a/c/0/0", "b/0.0"]), [("a/".to_owned(), 1), ("b/".to_owned(), 1)]);
        for other in ["notes.txt", "2024/05/1", "7"] {
            assert_eq!(left(&[], &["a/c/0/0", "b/0.0", other]), [], "{other}");
        }
    }
}
