//! Reads the parts of nodes that are readable although their documents are invalid or not understood.

use std::sync::Arc;

use zarr_kit::archive::leftovers::key_encoding;
use zarr_kit::json::{self, Limits, ParseOptions};
use zarr_kit::metadata::ArrayMetadata;
use zarr_kit::spec::grid::{ChunkGrid, chunk_of_key};
use zarr_kit::spec::store::get_value;
use zarr_kit::spec::{Creation, Key, Object, Prefix, Reading, Value};
use zarr_kit::{Error, Format, Hierarchy, NodePath, Unreadable};

use crate::describe::Stored;
use crate::failure::chain;

/// Returns the members of the unreadable document, if it is a JSON object. In v2, attributes come from
/// `.zattrs`.
pub(crate) fn document(hierarchy: &Hierarchy, unreadable: &Unreadable) -> Option<Object> {
    let Error::Document(error) = &*unreadable.error else { return None };
    let key = Key::new(error.key.as_str()).ok()?;
    if hierarchy.format() != Format::V2 {
        return object(hierarchy, &key);
    }
    let sibling = |name: &str| object(hierarchy, &key.parent().key(name).ok()?);
    let mut members = sibling(".zarray").or_else(|| sibling(".zgroup"))?;
    if let Some(attributes) = sibling(".zattrs") {
        members.insert("attributes", attributes);
    }
    Some(members)
}

fn object(hierarchy: &Hierarchy, key: &Key) -> Option<Object> {
    let options = ParseOptions { limits: Limits::default(), bare_non_finite: true };
    let bytes = get_value(&**hierarchy.store(), key, options.limits.bytes).ok()??;
    match json::parse(&bytes, &options).ok()?.value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

pub(crate) fn grid(hierarchy: &Hierarchy, metadata: &ArrayMetadata) -> Option<Arc<dyn ChunkGrid>> {
    let reading = Reading::new(hierarchy.context().mode());
    let registry = hierarchy.context().registry();
    let document = &metadata.chunk_grid;
    let plugin = registry.chunk_grids().find(metadata.format, &document.identifier, &reading).ok()?;
    let creation = Creation::of(document, metadata.format, registry, &reading);
    let grid = (plugin.create)(&creation, &metadata.shape).ok()?;
    (grid.grid_shape().len() == metadata.shape.len()).then_some(grid)
}

/// Computes statistics about the stored chunks of an array that cannot be decoded. The error is the reason as text.
pub(crate) fn stored(
    hierarchy: &Hierarchy,
    unreadable: &Unreadable,
    metadata: &ArrayMetadata,
    grid: &dyn ChunkGrid,
) -> Result<Stored, String> {
    if !metadata.storage_transformers.is_empty() {
        return Err("the storage transformers determine where chunks are stored".to_owned());
    }
    let encoding = key_encoding(hierarchy, metadata).map_err(|error| chain(&error))?;
    let prefix = prefix(&unreadable.path, &unreadable.error)?;
    let store = hierarchy.store();
    let keys = store.list_prefix(&prefix).map_err(|error| chain(&error))?;
    let mut sizes = Vec::new();
    for key in keys {
        let key = key.map_err(|error| chain(&error))?;
        let Some(rest) = prefix.strip(key.as_str()) else { continue };
        let indices = encoding.decode(rest, metadata.shape.len());
        let indices = indices.map_err(|error| format!("key `{key}`: {}", chain(&*error)))?;
        let Some(indices) = indices else { continue };
        if chunk_of_key(grid, &indices).map_err(|error| chain(&error))?.is_some() {
            sizes.extend(store.size(&key).map_err(|error| chain(&error))?);
        }
    }
    let reading = Reading::new(hierarchy.context().mode());
    let registry = hierarchy.context().registry();
    let created = registry.data_type(metadata.format, &metadata.data_type, &reading);
    let element = created.ok().and_then(|(data_type, _)| data_type.elements().size());
    Ok(Stored::from_sizes(&sizes, grid, &metadata.shape, element))
}

/// Returns the prefix of the chunk keys of an array.
///
/// The document of the array is in the same folder. In the v3 draft, the document is `meta/a.array.json` and
/// the chunks are in `data/a/`; the first generation of the draft uses `meta/root` and `data/root`.
fn prefix(path: &NodePath, error: &Error) -> Result<Prefix, String> {
    let Error::NotUnderstood(not_understood) = error else { return Err(chain(error)) };
    let key = Key::new(not_understood.key.as_str()).map_err(|error| chain(&error))?;
    if key.name() == "zarr.json" || key.name() == ".zarray" {
        return Ok(key.parent());
    }
    let place = if path.is_root() { String::new() } else { path.to_string() };
    let root = match key.as_str().starts_with(&format!("meta/root{place}.array")) {
        true => "data/root",
        false => "data",
    };
    Prefix::new(format!("{root}{place}/")).map_err(|error| chain(&error))
}
