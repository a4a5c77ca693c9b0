//! The facts about a node as JSON.

use zarr_kit::spec::{Number, Object, Value};
use zarr_kit::{Hierarchy, NodeEntry};

use super::{ArrayFacts, Known};
use crate::conventions::Convention;
use crate::describe::{Part, Stored};

pub(super) fn object(hierarchy: &Hierarchy, known: &Known) -> Object {
    let mut object = Object::new();
    object.insert("path", known.path.as_str());
    object.insert("kind", known.kind);
    object.insert("format", hierarchy.format().name());
    object.insert("description", hierarchy.description().as_str());
    object.insert("store", hierarchy.store().location().as_str());
    object.insert("consolidated", hierarchy.is_consolidated());
    object.insert("conventions", known.conventions.iter().map(Convention::to_json).collect::<Value>());
    if let Some(children) = &known.children {
        let names = |children: &Vec<NodeEntry>| children.iter().map(|child| child.path.name()).collect();
        object.insert("children", children.as_ref().map_or(Value::Null, names));
    }
    for part in known.hierarchy.iter().filter(|part| part.member == "metadata_encoding") {
        object.insert(part.member, part_value(part));
        let extensions = known.hierarchy.iter().filter(|part| part.member == "hierarchy_extensions");
        object.insert("hierarchy_extensions", extensions.map(part_value).collect::<Value>());
    }
    if let Some(array) = &known.array {
        array_members(array, &mut object);
    }
    if let Some(document) = &known.document {
        object.insert("document", document.clone());
    }
    if let Some(attributes) = &known.attributes {
        object.insert("attributes", attributes.clone());
    }
    object.insert("problems", known.problems.iter().map(String::as_str).collect::<Value>());
    object.insert("warnings", hierarchy.warnings().iter().map(ToString::to_string).collect::<Value>());
    object
}

fn array_members(array: &ArrayFacts, object: &mut Object) {
    let lengths = |lengths: &[u64]| lengths.iter().copied().collect::<Value>();
    object.insert("shape", lengths(&array.metadata.shape));
    if let Some(names) = &array.dimension_names {
        let names = names.iter().map(|name| name.as_deref().map_or(Value::Null, Value::from));
        object.insert("dimension_names", names.collect::<Value>());
    }
    for member in ["data_type", "chunk_grid", "chunk_memory_layout", "chunk_key_encoding"] {
        let part = array.parts.iter().find(|part| part.member == member);
        object.insert(member, part.map_or(Value::Null, part_value));
    }
    for member in ["codecs", "storage_transformers", "extensions"] {
        let parts = array.parts.iter().filter(|part| part.member == member);
        object.insert(member, parts.map(part_value).collect::<Value>());
    }
    object.insert("fill_value", array.metadata.fill_value.clone());
    if let Some(fallback) = &array.fallback {
        object.insert("fallback", fallback.as_str());
    }
    let Some(chunks) = &array.chunks else { return };
    object.insert("grid_shape", lengths(&chunks.grid_shape));
    object.insert("chunk_shape", chunks.chunk_shape.as_deref().map_or(Value::Null, lengths));
    let inner = chunks.inner_chunk_shape.as_deref();
    object.insert("inner_chunk_shape", inner.map_or(Value::Null, lengths));
    match &chunks.stored {
        Ok(stored) => stored_members(stored, object),
        Err(reason) => drop(object.insert("chunks_unknown", reason.as_str())),
    }
}

fn stored_members(stored: &Stored, object: &mut Object) {
    object.insert("chunks_stored", stored.chunks);
    object.insert("chunks", stored.all.map_or(Value::Null, Value::from));
    object.insert("stored_size", stored.size);
    object.insert("raw_size", stored.raw.map_or(Value::Null, Value::from));
    let ratio = stored.ratio().and_then(Number::from_f64);
    object.insert("ratio", ratio.map_or(Value::Null, Value::from));
}

fn part_value(part: &Part) -> Value {
    let mut object = Object::new();
    object.insert("identifier", part.identifier.as_str());
    object.insert("name", part.name.as_str());
    object.insert("configuration", part.configuration.clone());
    match &part.plugin {
        Ok(plugin) => object.insert("plugin", plugin.as_str()),
        Err(reason) => object.insert("unknown", reason.as_str()),
    };
    if !part.inner.is_empty() {
        object.insert("codecs", part.inner.iter().map(part_value).collect::<Value>());
    }
    Value::Object(object)
}
