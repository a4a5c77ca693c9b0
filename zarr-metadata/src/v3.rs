//! Documents and keys of final version 3: a `zarr.json` in every array and group.
//!
//! Source: the Zarr core specification version 3.1, and the `consolidated_metadata` that zarr-python writes.

use zarr_json::{Object, Value};

use super::identify::{Identified, identify};
use super::members::{
    MemberPath, Members, attributes, chunk_shape, dimension_names, elements, shape, tolerate, unknown_member,
    wrong, zarr_format,
};
use super::write::{add_ignored, check_format, members, refuse_members};
use super::{ArrayMetadata, DocumentError, GroupMetadata, NodeMetadata};
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::{Format, Mode, Reading};
use zarr_spec::key::{Key, KeyError, Prefix};
use zarr_spec::path::NodePath;

/// The name of the document of every node.
pub const NODE: &str = "zarr.json";

/// Returns the key of the document of the node at `path`.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn node_key(path: &NodePath) -> Result<Key, KeyError> {
    Key::of_names(path.names(), NODE)
}

/// Returns the prefix of all keys of the node at `path`: of its document, its chunks and its children.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn prefix(path: &NodePath) -> Result<Prefix, KeyError> {
    Prefix::of_names(path.names())
}

/// Returns the node of a document; `None` if `key` is not the key of a document.
#[must_use]
pub fn node_of(key: &Key) -> Option<NodePath> {
    if key.name() != NODE {
        return None;
    }
    match key.parent().as_str().strip_suffix('/') {
        None => Some(NodePath::root()),
        Some(names) => NodePath::parse(&format!("/{names}"), Format::V3).ok(),
    }
}

/// Reads the `zarr.json` of an array or a group.
///
/// # Errors
///
/// [`DocumentError`] for a document of another format or generation, for a missing or invalid member, and for
/// an unknown member without `"must_understand": false`.
pub fn parse_node(document: &Value, reading: &Reading) -> Result<NodeMetadata, DocumentError> {
    if identify(document)? != Identified::V3 {
        let reason = "is an entry point of the v3 draft; expected a node of final v3";
        return Err(DocumentError::member("zarr_format", reason));
    }
    let mut members = Members::of_document(document)?;
    zarr_format(&mut members, 3, reading)?;
    match members.string("node_type")? {
        "array" => Ok(NodeMetadata::Array(Box::new(array(members, reading)?))),
        "group" => Ok(NodeMetadata::Group(group(members, reading)?)),
        other => {
            Err(DocumentError::member("node_type", format!("is \"{other}\", not \"array\" or \"group\"")))
        }
    }
}

/// Writes the `zarr.json` of an array.
///
/// # Errors
///
/// [`DocumentError`] for an array of another format, and for metadata that v3 cannot express.
pub fn array_document(array: &ArrayMetadata) -> Result<Value, DocumentError> {
    check_format(array.format, Format::V3)?;
    let lacking = [
        ("chunk_memory_layout", array.memory_layout.is_some()),
        ("extensions", !array.extensions.is_empty()),
        ("compressor", array.has_compressor),
    ];
    refuse_members("v3", &lacking)?;
    let mut document = Object::new();
    document.insert("zarr_format", 3);
    document.insert("node_type", "array");
    document.insert("shape", array.shape.iter().copied().collect::<Value>());
    document.insert("data_type", array.data_type.json.clone());
    document.insert("chunk_grid", plain(&array.chunk_grid));
    document.insert("chunk_key_encoding", plain(&array.chunk_key_encoding));
    document.insert("fill_value", array.fill_value.clone());
    document.insert("codecs", array.codecs.iter().map(plain).collect::<Value>());
    document.insert("attributes", array.attributes.clone());
    if let Some(names) = &array.dimension_names {
        let name = |name: &Option<String>| name.as_deref().map_or(Value::Null, Value::from);
        document.insert("dimension_names", names.iter().map(name).collect::<Value>());
    }
    if !array.storage_transformers.is_empty() {
        document.insert(
            "storage_transformers",
            array.storage_transformers.iter().map(skippable).collect::<Value>(),
        );
    }
    checked(document, &array.ignored)
}

/// Writes the `zarr.json` of a group.
///
/// # Errors
///
/// [`DocumentError`] for a group of another format, and for invalid paths of consolidated metadata.
pub fn group_document(group: &GroupMetadata) -> Result<Value, DocumentError> {
    check_format(group.format, Format::V3)?;
    let mut document = Object::new();
    document.insert("zarr_format", 3);
    document.insert("node_type", "group");
    document.insert("attributes", group.attributes.clone());
    if let Some(nodes) = &group.consolidated {
        let consolidated = members([
            ("kind", Value::from("inline")),
            ("must_understand", Value::Bool(false)),
            ("metadata", Value::Object(nodes.clone())),
        ]);
        document.insert("consolidated_metadata", consolidated);
    }
    checked(document, &group.ignored)
}

/// Reads a new document strictly: a document that strict reading refuses is never written.
fn checked(mut document: Object, ignored: &Object) -> Result<Value, DocumentError> {
    add_ignored(&mut document, ignored)?;
    let document = Value::Object(document);
    parse_node(&document, &Reading::new(Mode::Strict))?;
    Ok(document)
}

/// Writes an entry as an object, the form that every reader of v3 supports. `must_understand` is omitted: it
/// does not have a meaning here, and readers of version 3.0 do not expect it.
fn plain(entry: &ExtensionDocument) -> Value {
    let mut object = Object::new();
    object.insert("name", entry.identifier.as_str());
    if !entry.configuration.is_null() {
        object.insert("configuration", entry.configuration.clone());
    } else if entry.identifier.starts_with("numcodecs.") {
        // zarr-python does not read an entry without a configuration.
        object.insert("configuration", Object::new());
    }
    Value::Object(object)
}

/// Writes an entry that readers may skip if it has `"must_understand": false`.
fn skippable(entry: &ExtensionDocument) -> Value {
    let mut value = plain(entry);
    if let (false, Some(object)) = (entry.must_understand, value.as_object_mut()) {
        object.insert("must_understand", false);
    }
    value
}

fn array(mut members: Members<'_, '_>, reading: &Reading) -> Result<ArrayMetadata, DocumentError> {
    members.require(&["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"])?;
    let shape = shape("shape", members.required("shape")?)?;
    let data_type = DataTypeDocument::v3(members.required("data_type")?, reading)
        .map_err(|invalid| DocumentError::member("data_type", invalid.to_string()))?;
    let chunk_grid = extension("chunk_grid", members.required("chunk_grid")?, reading)?;
    if chunk_grid.identifier == "regular" {
        check_regular(&chunk_grid, &shape)?;
    }
    let chunk_key_encoding = chunk_key_encoding(members.required("chunk_key_encoding")?, reading)?;
    let fill_value = members.required("fill_value")?.clone();
    let codecs = extensions("codecs", members.required("codecs")?, reading)?;
    if codecs.is_empty() {
        return Err(DocumentError::member("codecs", "is empty; expected at least an array-to-bytes codec"));
    }
    let attributes = members.optional("attributes").map(attributes).transpose()?.unwrap_or_default();
    let storage_transformers = match members.optional("storage_transformers") {
        None => Vec::new(),
        Some(value) => extensions("storage_transformers", value, reading)?,
    };
    let dimension_names = match members.optional("dimension_names") {
        None => None,
        Some(null @ Value::Null) => {
            tolerate(reading, wrong("dimension_names", null, "an array"))?;
            None
        }
        Some(value) => Some(dimension_names(value, shape.len(), reading)?),
    };
    Ok(ArrayMetadata {
        fill_value,
        codecs,
        storage_transformers,
        attributes,
        dimension_names,
        ignored: ignored(&members, &["extensions"], reading)?,
        ..ArrayMetadata::new(Format::V3, shape, data_type, chunk_grid, chunk_key_encoding)
    })
}

fn group(mut members: Members<'_, '_>, reading: &Reading) -> Result<GroupMetadata, DocumentError> {
    let attributes = members.optional("attributes").map(attributes).transpose()?.unwrap_or_default();
    let consolidated = match members.optional("consolidated_metadata") {
        None => None,
        Some(null @ Value::Null) => {
            tolerate(reading, wrong("consolidated_metadata", null, "an object"))?;
            None
        }
        Some(value) => Some(consolidated_nodes(value, reading)?),
    };
    let ignored = ignored(&members, &[], reading)?;
    Ok(GroupMetadata { format: Format::V3, attributes, consolidated, ignored })
}

/// Returns the members that a reader may ignore. Empty members whose names are in `leftovers` are dropped with
/// a warning: documents of early 2023 have them.
fn ignored(
    members: &Members<'_, '_>,
    leftovers: &[&str],
    reading: &Reading,
) -> Result<Object, DocumentError> {
    let mut ignored = Object::new();
    for (name, value) in members.unknown() {
        let must_understand = value.as_object().and_then(|object| object.get("must_understand"));
        if must_understand.and_then(Value::as_bool) == Some(false) {
            ignored.insert(name, value.clone());
        } else if leftovers.contains(&name) && value.as_array().is_some_and(<[_]>::is_empty) {
            tolerate(reading, members.unknown_member(name))?;
        } else {
            return Err(members.unknown_member(name));
        }
    }
    Ok(ignored)
}

/// Reads the documents in `consolidated_metadata`, by their path below the group.
fn consolidated_nodes(value: &Value, reading: &Reading) -> Result<Object, DocumentError> {
    const MEMBER: &str = "consolidated_metadata";
    let mut members = Members::of_member(MEMBER, value)?;
    members.require(&["kind", "must_understand", "metadata"])?;
    let kind = members.string("kind")?;
    if kind != "inline" {
        return Err(members.error("kind", format!("is \"{kind}\", not \"inline\"")));
    }
    let must_understand = members.required("must_understand")?;
    if must_understand.as_bool() != Some(false) {
        return Err(wrong(&members.path("must_understand"), must_understand, "false"));
    }
    let metadata = members.required("metadata")?;
    members.refuse_unknown()?;
    let Some(metadata) = metadata.as_object() else {
        return Err(wrong(&members.path("metadata"), metadata, "an object"));
    };
    let mut nodes = Object::new();
    for (path, document) in metadata {
        let member = format!("{MEMBER}.metadata.{path}");
        if document.as_object().is_none() {
            return Err(wrong(&member, document, "an object"));
        }
        if path.split('/').any(|name| name.starts_with("__")) {
            reading.warn(format!("`{member}`: names that begin with `__` are reserved; it is ignored"));
            continue;
        }
        // An invalid path makes only this entry unusable: it is skipped, except in strict mode.
        if NodePath::parse(&format!("/{path}"), Format::V3).is_ok_and(|path| !path.is_root()) {
            nodes.insert(path, document.clone());
        } else {
            tolerate(reading, DocumentError::member(&member, "is not the path of a node below this one"))?;
        }
    }
    Ok(nodes)
}

/// Reads an extension definition: a name, or an object with a name and an optional configuration.
fn extension<'p>(
    place: impl Into<MemberPath<'p>>,
    value: &Value,
    reading: &Reading,
) -> Result<ExtensionDocument, DocumentError> {
    let place = place.into();
    let (extension, unknown) = named(place, value)?;
    tolerate_unknown(place, &unknown, reading)?;
    Ok(extension)
}

fn tolerate_unknown(place: MemberPath<'_>, unknown: &[&str], reading: &Reading) -> Result<(), DocumentError> {
    let Some(name) = unknown.first() else { return Ok(()) };
    let reason = unknown_member(name, &["name", "configuration", "must_understand"]);
    tolerate(reading, DocumentError::member(format!("{place}.{name}"), reason))
}

/// Reads an extension definition and the names of the other members of the object.
fn named<'a>(
    place: MemberPath<'_>,
    value: &'a Value,
) -> Result<(ExtensionDocument, Vec<&'a str>), DocumentError> {
    let non_empty = |name: &str| match name {
        "" => Err(DocumentError::member(place.to_string(), "the name is empty")),
        name => Ok(name.to_owned()),
    };
    if let Some(name) = value.as_str() {
        return Ok((ExtensionDocument::new(non_empty(name)?, Value::Null), Vec::new()));
    }
    if value.as_object().is_none() {
        return Err(wrong(&place.to_string(), value, "a name or an object with `name`"));
    }
    let mut members = Members::of_member(place, value)?;
    let name = non_empty(members.string("name")?)?;
    let mut extension = ExtensionDocument::new(name, members.configuration()?);
    if let Some(value) = members.optional("must_understand") {
        let must = value.as_bool();
        extension.must_understand =
            must.ok_or_else(|| wrong(&members.path("must_understand"), value, "true or false"))?;
    }
    let unknown = members.unknown().map(|(name, _)| name).collect();
    Ok((extension, unknown))
}

/// Reads a list of extension definitions such as `codecs`, in an array document or in the configuration of an
/// extension. Errors refer to the list as `path`.
///
/// # Errors
///
/// If the value is not a list, or an entry is neither a name nor an object with a name.
pub fn extensions(
    path: &str,
    value: &Value,
    reading: &Reading,
) -> Result<Vec<ExtensionDocument>, DocumentError> {
    let elements = elements(path, value)?;
    // Collecting results would reserve memory for four entries.
    let mut extensions = Vec::with_capacity(elements.len());
    for (position, value) in elements.iter().enumerate() {
        extensions.push(extension(MemberPath::Element(path, position), value, reading)?);
    }
    Ok(extensions)
}

/// Reads an extension definition like [`extension`], but tolerates a `separator` next to the name, as zarr-python does
/// (V3-GRID-11).
fn chunk_key_encoding(value: &Value, reading: &Reading) -> Result<ExtensionDocument, DocumentError> {
    const MEMBER: &str = "chunk_key_encoding";
    let (mut encoding, unknown) = named(MemberPath::Member(MEMBER), value)?;
    let beside = value.as_object().and_then(|object| object.get("separator"));
    if let (Some(separator), ["separator"], Value::Null) =
        (beside, unknown.as_slice(), &encoding.configuration)
    {
        let reason = "must be in `configuration`, not next to it";
        tolerate(reading, DocumentError::member(format!("{MEMBER}.separator"), reason))?;
        encoding.configuration = members([("separator", separator.clone())]);
        return Ok(encoding);
    }
    tolerate_unknown(MemberPath::Member(MEMBER), &unknown, reading)?;
    Ok(encoding)
}

fn check_regular(grid: &ExtensionDocument, array: &[u64]) -> Result<(), DocumentError> {
    const MEMBER: &str = "chunk_grid.configuration";
    if grid.configuration.is_null() {
        return Err(DocumentError::member(MEMBER, "is missing"));
    }
    let mut members = Members::of_member(MEMBER, &grid.configuration)?;
    chunk_shape("chunk_grid.configuration.chunk_shape", members.required("chunk_shape")?, array, Err)?;
    members.refuse_unknown()
}
