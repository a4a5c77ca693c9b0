//! Stores in memory with documents in them.

use std::fmt::Debug;
use std::sync::Arc;

use serde_json::{Value, json};
pub(super) use zarr_conformance::hex;
pub(super) use zarr_interop::memory;
use zarr_kit::json as spec_json;
use zarr_kit::spec::Key;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::{Array, Context, EntryKind, Error, Hierarchy, Registry};

pub(super) const GZIP: &str = "https://purl.org/zarr/spec/codecs/gzip/1.0";
pub(super) const ENDIAN: &str = "https://purl.org/zarr/spec/codecs/endian/1.0";

pub(super) fn context() -> Context {
    Context::linked().unwrap()
}

/// Creates a context with the plugins of this build and those that `add` registers.
pub(super) fn context_with(add: impl FnOnce(&mut Registry)) -> Context {
    let mut registry = Registry::linked().unwrap();
    add(&mut registry);
    Context::new(registry)
}

/// Returns the entry point `EP` of the ledger.
pub(super) fn entry_point() -> Value {
    json!({
        "zarr_format": "https://purl.org/zarr/spec/core/3.0",
        "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
        "extensions": [],
    })
}

/// Returns the document `ARR` of the ledger, modified by the members of `changes`.
pub(super) fn array_document(changes: Value) -> Value {
    let mut document = json!({
        "shape": [4],
        "data_type": "int32",
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
        "chunk_memory_layout": "C",
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
        "codecs": [],
    });
    let Value::Object(changes) = changes else { return document };
    document.as_object_mut().unwrap().extend(changes);
    document
}

/// Returns the document of an uncompressed array with one chunk.
pub(super) fn one_chunk(shape: &[u64], data_type: impl Into<Value>, changes: Value) -> Value {
    let mut document = array_document(changes);
    document["shape"] = json!(shape);
    document["chunk_grid"]["chunk_shape"] = json!(shape);
    document["data_type"] = data_type.into();
    document
}

/// Creates a hierarchy of the draft that holds `values`.
pub(super) fn draft(values: &[(&str, Value)]) -> Arc<dyn Store> {
    let store = memory();
    set_json(&*store, "zarr.json", &entry_point());
    values.iter().for_each(|(key, document)| set_json(&*store, key, document));
    store
}

/// Creates a hierarchy of the draft with the array `/a`.
pub(super) fn with_array(document: &Value) -> Arc<dyn Store> {
    draft(&[("meta/a.array.json", document.clone())])
}

pub(super) fn open(store: &Arc<dyn Store>, context: &Context) -> Hierarchy {
    Hierarchy::open(Arc::clone(store), context).unwrap()
}

/// Opens the array `/a`.
pub(super) fn array(store: &Arc<dyn Store>, context: &Context) -> Result<Array, Error> {
    Hierarchy::open(Arc::clone(store), context)?.array("/a")
}

pub(super) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

pub(super) fn set(store: &dyn Store, at: &str, value: &[u8]) {
    store.set(&key(at), value.into()).unwrap();
}

pub(super) fn set_json(store: &dyn Store, at: &str, document: &Value) {
    set(store, at, document.to_string().as_bytes());
}

pub(super) fn get(store: &dyn Store, at: &str) -> Option<Vec<u8>> {
    get_value(store, &key(at), 1 << 20).unwrap().map(Vec::from)
}

pub(super) fn get_json(store: &dyn Store, at: &str) -> Value {
    serde_json::from_slice(&get(store, at).unwrap()).unwrap()
}

/// Returns all keys of a store, sorted.
pub(super) fn keys(store: &dyn Store) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// Returns the paths and kinds of the children of a group.
pub(super) fn children(hierarchy: &Hierarchy, path: &str) -> Vec<(String, EntryKind)> {
    let children = hierarchy.children(hierarchy.path(path).unwrap()).unwrap();
    children.into_iter().map(|child| (child.path.to_string(), child.kind)).collect()
}

/// Returns the paths and kinds of a node and of all nodes below it.
pub(super) fn walk(hierarchy: &Hierarchy, path: &str) -> Vec<(String, EntryKind)> {
    let nodes = hierarchy.walk(hierarchy.path(path).unwrap()).unwrap();
    nodes.into_iter().map(|node| (node.path.to_string(), node.kind)).collect()
}

pub(super) fn named<const N: usize>(nodes: [(&str, EntryKind); N]) -> Vec<(String, EntryKind)> {
    nodes.map(|(path, kind)| (path.to_owned(), kind)).to_vec()
}

/// Returns the message of an error.
pub(super) fn message<T: Debug, E: std::error::Error>(result: Result<T, E>) -> String {
    result.unwrap_err().to_string()
}

/// Converts to the JSON type of the framework.
pub(super) fn value(json: &Value) -> zarr_kit::spec::Value {
    spec_json::parse(json.to_string().as_bytes(), &spec_json::ParseOptions::default()).unwrap().value
}

/// Converts to an object of the framework's JSON.
pub(super) fn object(json: &Value) -> zarr_kit::spec::Object {
    value(json).as_object().unwrap().clone()
}
