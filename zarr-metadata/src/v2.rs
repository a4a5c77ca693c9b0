//! Documents and keys of version 2: `.zarray`, `.zgroup`, `.zattrs` and `.zmetadata`.
//!
//! Source: the Zarr storage specification version 2, and the `.zmetadata` that zarr-python writes.

use zarr_json::{Object, Value};

use super::members::{Members, attributes, chunk_shape, shape, tolerate, wrong, zarr_format};
use super::v2_nczarr;
use super::write::{
    check_format, members, only_configuration, refuse_members, regular_chunk_shape, separator,
};
use super::{ArrayMetadata, DocumentError, GroupMetadata};
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::{Format, Mode, Reading};
use zarr_spec::host::chain::v2_codec;
use zarr_spec::key::{Key, KeyError, Prefix};
use zarr_spec::path::NodePath;

pub use super::v2_consolidated::{Consolidated, consolidated_document, parse_consolidated};

/// The name of array documents.
pub const ARRAY: &str = ".zarray";
/// The name of group documents.
pub const GROUP: &str = ".zgroup";
/// The name of the attributes of arrays and groups.
pub const ATTRIBUTES: &str = ".zattrs";
/// The name of consolidated metadata.
pub const CONSOLIDATED: &str = ".zmetadata";

/// The kind of document at a key of v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "v2 has no other keys")]
pub enum KeyKind {
    /// The document of an array.
    Array,
    /// The document of a group.
    Group,
    /// The attributes of an array or a group.
    Attributes,
}

/// Returns the key of the array document at `path`.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn array_key(path: &NodePath) -> Result<Key, KeyError> {
    Key::of_names(path.names(), ARRAY)
}

/// Returns the key of the group document at `path`.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn group_key(path: &NodePath) -> Result<Key, KeyError> {
    Key::of_names(path.names(), GROUP)
}

/// Returns the key of the attributes of the node at `path`.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn attributes_key(path: &NodePath) -> Result<Key, KeyError> {
    Key::of_names(path.names(), ATTRIBUTES)
}

/// Returns the key of the consolidated metadata of the group at `path`.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn consolidated_key(path: &NodePath) -> Result<Key, KeyError> {
    Key::of_names(path.names(), CONSOLIDATED)
}

/// Returns the prefix of all keys of the node at `path`: of its documents, its chunks and its children.
///
/// # Errors
///
/// If a name of the path cannot be part of a key.
pub fn prefix(path: &NodePath) -> Result<Prefix, KeyError> {
    Prefix::of_names(path.names())
}

/// Returns the node of a document; `None` if `key` is not the key of a document.
#[must_use]
pub fn node_of(key: &Key) -> Option<(NodePath, KeyKind)> {
    let kind = match key.name() {
        ARRAY => KeyKind::Array,
        GROUP => KeyKind::Group,
        ATTRIBUTES => KeyKind::Attributes,
        _ => return None,
    };
    Some((NodePath::parse(key.parent().as_str(), Format::V2).ok()?, kind))
}

/// Reads a `.zarray`, and the `.zattrs` next to it if it exists. Members that v2 does not define are ignored
/// with a warning.
///
/// # Errors
///
/// [`DocumentError`] for a missing or invalid member.
pub fn parse_array(
    document: &Value,
    attributes: Option<&Value>,
    reading: &Reading,
) -> Result<ArrayMetadata, DocumentError> {
    let mut members = Members::of_document(document)?;
    zarr_format(&mut members, 2, reading)?;
    members.require(&["shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters"])?;
    let shape = shape("shape", members.required("shape")?)?;
    let chunks =
        chunk_shape("chunks", members.required("chunks")?, &shape, |error| tolerate(reading, error))?;
    let (mut codecs, has_compressor) = codecs(members.required("filters")?, members.required("compressor")?)?;
    if v2_nczarr::is_marked(document, attributes) {
        v2_nczarr::resolve_element_size(&mut codecs, members.required("dtype")?, reading)?;
    }
    let object_codec = codecs.first().filter(|_| codecs.len() > usize::from(has_compressor));
    let data_type = data_type(members.required("dtype")?, object_codec, reading)?;
    let order = order(members.required("order")?, reading)?;
    let separator = dimension_separator(members.optional("dimension_separator"), reading)?;
    let fill_value = members.required("fill_value")?.clone();
    for (name, _) in members.unknown() {
        reading.warn(format!("{}; it is ignored", members.unknown_member(name)));
    }
    let grid = configured("regular", "chunk_shape", chunks.into_iter().collect());
    let keys = configured("v2", "separator", separator.into());
    Ok(ArrayMetadata {
        memory_layout: Some(ExtensionDocument::new(order, Value::Null)),
        fill_value,
        codecs,
        has_compressor,
        attributes: attributes.map(parse_attributes).transpose()?.unwrap_or_default(),
        ..ArrayMetadata::new(Format::V2, shape, data_type, grid, keys)
    })
}

/// Reads a `.zgroup`, and the `.zattrs` next to it if it exists.
///
/// # Errors
///
/// [`DocumentError`] for another version, and in strict mode for any other member.
pub fn parse_group(
    document: &Value,
    attributes: Option<&Value>,
    reading: &Reading,
) -> Result<GroupMetadata, DocumentError> {
    let mut members = Members::of_document(document)?;
    zarr_format(&mut members, 2, reading)?;
    for (name, _) in members.unknown() {
        tolerate(reading, members.unknown_member(name))?;
    }
    let attributes = attributes.map(parse_attributes).transpose()?.unwrap_or_default();
    Ok(GroupMetadata::new(Format::V2, attributes))
}

/// Reads a `.zattrs`.
///
/// # Errors
///
/// [`DocumentError`] if the document is not an object.
pub fn parse_attributes(document: &Value) -> Result<Object, DocumentError> {
    attributes(document)
}

/// Writes the `.zarray` of an array. Its attributes are a separate document.
///
/// # Errors
///
/// [`DocumentError`] for an array of another format, and for metadata that v2 cannot express.
pub fn array_document(array: &ArrayMetadata) -> Result<Value, DocumentError> {
    check_format(array.format, Format::V2)?;
    refuse_what_v2_lacks(array)?;
    let (filters, compressor) = match array.codecs.split_last() {
        Some((last, filters)) if array.has_compressor => (filters, codec_document(last)?),
        None if array.has_compressor => {
            return Err(DocumentError::member("compressor", "is set, but the list of codecs is empty"));
        }
        _ => (array.codecs.as_slice(), Value::Null),
    };
    let filters = match filters {
        [] => Value::Null,
        filters => Value::Array(filters.iter().map(codec_document).collect::<Result<_, _>>()?),
    };
    let order = match &array.memory_layout {
        Some(layout) => only_configuration("order", layout, &[])?.identifier.as_str(),
        None => "C",
    };
    let document = members([
        ("zarr_format", Value::from(2)),
        ("shape", array.shape.iter().copied().collect()),
        ("chunks", regular_chunk_shape(&array.chunk_grid, Format::V2)?.clone()),
        ("dtype", array.data_type.json.clone()),
        ("compressor", compressor),
        ("fill_value", array.fill_value.clone()),
        ("order", order.into()),
        ("filters", filters),
        ("dimension_separator", separator(&array.chunk_key_encoding, "v2", ".")?.into()),
    ]);
    parse_array(&document, None, &Reading::new(Mode::Strict))?;
    Ok(document)
}

/// Writes the `.zgroup` of a group. Its attributes are a separate document.
///
/// # Errors
///
/// [`DocumentError`] for a group of another format.
pub fn group_document(group: &GroupMetadata) -> Result<Value, DocumentError> {
    check_format(group.format, Format::V2)?;
    if !group.ignored.is_empty() {
        return Err(DocumentError::document("a group of v2 cannot have members other than `zarr_format`"));
    }
    Ok(members([("zarr_format", 2)]))
}

/// Writes the `.zattrs` of a node.
#[must_use]
pub fn attributes_document(attributes: &Object) -> Value {
    Value::Object(attributes.clone())
}

fn configured(identifier: &str, parameter: &str, value: Value) -> ExtensionDocument {
    ExtensionDocument::new(identifier, members([(parameter, value)]))
}

/// Reads the filters and the compressor, and whether there is a compressor.
fn codecs(filters: &Value, compressor: &Value) -> Result<(Vec<ExtensionDocument>, bool), DocumentError> {
    let mut codecs = filter_codecs("filters", filters)?;
    if !compressor.is_null() {
        codecs.push(codec("compressor", compressor)?);
    }
    Ok((codecs, !compressor.is_null()))
}

/// Reads a list of filters or null. Generation A of the draft uses the same form in its attributes.
pub(super) fn filter_codecs(path: &str, filters: &Value) -> Result<Vec<ExtensionDocument>, DocumentError> {
    let codec = |(position, filter)| codec(&format!("{path}[{position}]"), filter);
    match filters {
        Value::Null => Ok(Vec::new()),
        Value::Array(filters) => filters.iter().enumerate().map(codec).collect(),
        other => Err(wrong(path, other, "an array or null")),
    }
}

fn codec(path: &str, value: &Value) -> Result<ExtensionDocument, DocumentError> {
    let Some(object) = value.as_object() else {
        return Err(wrong(path, value, "an object with `id`"));
    };
    let id = Members::of_member(path, value)?.string("id")?;
    Ok(v2_codec(object, id))
}

fn codec_document(codec: &ExtensionDocument) -> Result<Value, DocumentError> {
    let mut object = Object::new();
    object.insert("id", codec.identifier.as_str());
    match &codec.configuration {
        Value::Null => {}
        Value::Object(parameters) => {
            for (name, value) in parameters {
                if object.insert(name, value.clone()).is_some() {
                    let reason = "v2 cannot have a parameter of this name";
                    return Err(DocumentError::member(format!("{}.{name}", codec.identifier), reason));
                }
            }
        }
        other => return Err(wrong(&codec.identifier, other, "an object")),
    }
    Ok(Value::Object(object))
}

fn data_type(
    dtype: &Value,
    object_codec: Option<&ExtensionDocument>,
    reading: &Reading,
) -> Result<DataTypeDocument, DocumentError> {
    if !matches!(dtype, Value::String(_) | Value::Array(_)) {
        return Err(wrong("dtype", dtype, "a string or a list of fields"));
    }
    let id = object_codec.map(|codec| codec.identifier.as_str());
    let elements = object_codec.and_then(|codec| codec.configuration.as_object()?.get("dtype"));
    DataTypeDocument::v2(dtype, id, reading)
        .map(|document| document.with_object_elements(elements))
        .map_err(|invalid| DocumentError::member("dtype", invalid.to_string()))
}

fn order(value: &Value, reading: &Reading) -> Result<&'static str, DocumentError> {
    let error = || wrong("order", value, "\"C\" or \"F\"");
    match value.as_str() {
        Some("C") => Ok("C"),
        Some("F") => Ok("F"),
        Some("c") => tolerate(reading, error()).map(|()| "C"),
        Some("f") => tolerate(reading, error()).map(|()| "F"),
        _ => Err(error()),
    }
}

fn dimension_separator(value: Option<&Value>, reading: &Reading) -> Result<&'static str, DocumentError> {
    let Some(value) = value else { return Ok(".") };
    let error = || wrong("dimension_separator", value, "\".\" or \"/\"");
    match value {
        Value::Null => tolerate(reading, error()).map(|()| "."),
        Value::String(text) if text == "." => Ok("."),
        Value::String(text) if text == "/" => Ok("/"),
        _ => Err(error()),
    }
}

fn refuse_what_v2_lacks(array: &ArrayMetadata) -> Result<(), DocumentError> {
    let lacking = [
        ("dimension_names", array.dimension_names.is_some()),
        ("storage_transformers", !array.storage_transformers.is_empty()),
        ("extensions", !array.extensions.is_empty()),
    ];
    refuse_members("v2", &lacking)?;
    array.ignored.keys().next().map_or(Ok(()), |member| refuse_members("v2", &[(member, true)]))
}
