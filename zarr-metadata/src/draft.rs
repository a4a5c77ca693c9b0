//! Documents and keys of the v3 draft: the entry point `zarr.json`, arrays and groups.
//!
//! Source: the Zarr core protocol version 3.0, editor's draft as of December 2022 (generation B). The forms of
//! its text of May 2022 and of zarr-python 2 (generation A) are read, but never written.

use zarr_json::{Object, Value};

use super::members::{
    MemberPath, Members, attributes, chunk_shape, dimension_names, elements, shape, tolerate,
    tolerate_for_compatibility, wrong,
};
use super::v2::filter_codecs;
use super::write::{
    add_ignored, check_format, members, only_configuration, refuse_members, regular_chunk_shape, separator,
};
use super::{ArrayMetadata, DocumentError, GroupMetadata};
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::{Format, Mode, Reading};

pub use super::draft_entry_point::{EntryPoint, Generation, entry_point_document, parse_entry_point};
pub use super::draft_keys::{ENTRY_POINT, Keys};

/// Reads the document of an array in a hierarchy of `generation`.
///
/// # Errors
///
/// [`DocumentError`] for a missing, unknown or invalid member.
pub fn parse_array(
    document: &Value,
    generation: Generation,
    reading: &Reading,
) -> Result<ArrayMetadata, DocumentError> {
    let mut members = Members::of_document(document)?;
    members.require(&["shape", "data_type", "chunk_grid", "fill_value"])?;
    let shape = shape("shape", members.required("shape")?)?;
    let mut data_type = DataTypeDocument::draft(members.required("data_type")?, reading)
        .map_err(|invalid| DocumentError::member("data_type", invalid.to_string()))?;
    let (chunk_grid, separator) = chunk_grid(members.required("chunk_grid")?, &shape, reading)?;
    let memory_layout = memory_layout(&mut members, reading)?;
    let fill_value = members.required("fill_value")?.clone();
    if fill_value.is_null() && generation == Generation::B {
        let reason = "is null; elements that were never written are undefined";
        tolerate(reading, DocumentError::member("fill_value", reason))?;
    }
    let extensions = array_extensions(&mut members, generation, reading)?;
    let mut attributes = node_attributes(&mut members, reading)?;
    let codecs = match generation {
        Generation::A => {
            check_dimension_separator(&mut members, &separator)?;
            older_codecs(&mut attributes, members.optional("compressor"))?
        }
        Generation::B => {
            let codecs = members.optional("codecs").map(|value| codecs("codecs", value));
            codecs.transpose()?.unwrap_or_default()
        }
    };
    let mut storage_transformers =
        members.optional("storage_transformers").map(transformers).transpose()?.unwrap_or_default();
    if generation == Generation::A {
        data_type = with_object_codec(data_type, &codecs);
        storage_transformers
            .iter_mut()
            .for_each(|transformer| pad_chunks_per_shard(transformer, shape.len()));
    }
    let dimension_names = later_dimension_names(&mut members, shape.len(), reading)?;
    members.refuse_unknown()?;
    let keys = ExtensionDocument::new("default", object("separator", separator));
    Ok(ArrayMetadata {
        memory_layout,
        fill_value,
        codecs,
        storage_transformers,
        attributes,
        dimension_names,
        extensions,
        ..ArrayMetadata::new(Format::V3Draft, shape, data_type, chunk_grid, keys)
    })
}

fn array_extensions(
    members: &mut Members<'_, '_>,
    generation: Generation,
    reading: &Reading,
) -> Result<Vec<ExtensionDocument>, DocumentError> {
    if let Some(value) = members.optional("extensions") {
        return generic_extensions(value, reading);
    }
    // In generation A, a missing `extensions` is allowed in every mode: there are no extensions (DX-A-12).
    if generation == Generation::B {
        tolerate(reading, DocumentError::member("extensions", "is missing"))?;
    }
    Ok(Vec::new())
}

/// Returns the data type of objects with their codec, which generation A stores as the first filter.
fn with_object_codec(data_type: DataTypeDocument, codecs: &[ExtensionDocument]) -> DataTypeDocument {
    let is_object = data_type.type_name.as_ref().and_then(Value::as_str) == Some("|O");
    match codecs.first().filter(|_| is_object) {
        Some(codec) => data_type
            .with_object_codec(&codec.identifier)
            .with_object_elements(codec.configuration.as_object().and_then(|members| members.get("dtype"))),
        None => data_type,
    }
}

/// Reads the document of a group, which has the same form in both generations.
///
/// # Errors
///
/// [`DocumentError`] for any member other than `attributes`.
pub fn parse_group(document: &Value, reading: &Reading) -> Result<GroupMetadata, DocumentError> {
    let mut members = Members::of_document(document)?;
    let attributes = node_attributes(&mut members, reading)?;
    members.refuse_unknown()?;
    Ok(GroupMetadata::new(Format::V3Draft, attributes))
}

/// Writes the document of an array in the form of generation B.
///
/// # Errors
///
/// [`DocumentError`] for an array of another format, and for metadata that generation B cannot express.
pub fn array_document(array: &ArrayMetadata) -> Result<Value, DocumentError> {
    check_format(array.format, Format::V3Draft)?;
    let lacking =
        [("dimension_names", array.dimension_names.is_some()), ("compressor", array.has_compressor)];
    refuse_members("the v3 draft", &lacking)?;
    let mut document = Object::new();
    document.insert("shape", array.shape.iter().copied().collect::<Value>());
    document.insert("data_type", data_type_value(&array.data_type)?);
    document.insert("chunk_grid", chunk_grid_value(array)?);
    document.insert("chunk_memory_layout", memory_layout_value(array.memory_layout.as_ref())?);
    let codecs: Result<Vec<_>, _> = array.codecs.iter().map(codec_value).collect();
    document.insert("codecs", Value::Array(codecs?));
    document.insert("fill_value", array.fill_value.clone());
    document.insert("extensions", array.extensions.iter().map(generic_extension_value).collect::<Value>());
    document.insert("attributes", array.attributes.clone());
    if !array.storage_transformers.is_empty() {
        let transformers: Result<Vec<_>, _> =
            array.storage_transformers.iter().map(typed_extension_value).collect();
        document.insert("storage_transformers", Value::Array(transformers?));
    }
    add_ignored(&mut document, &array.ignored)?;
    let document = Value::Object(document);
    // A document that strict reading refuses is never written.
    parse_array(&document, Generation::B, &Reading::new(Mode::Strict))?;
    Ok(document)
}

/// Writes the document of a group.
///
/// # Errors
///
/// [`DocumentError`] for a group of another format, and for metadata that the draft cannot express.
pub fn group_document(group: &GroupMetadata) -> Result<Value, DocumentError> {
    check_format(group.format, Format::V3Draft)?;
    let mut document = Object::new();
    document.insert("attributes", group.attributes.clone());
    add_ignored(&mut document, &group.ignored)?;
    let document = Value::Object(document);
    parse_group(&document, &Reading::new(Mode::Strict))?;
    Ok(document)
}

fn object(name: &str, value: impl Into<Value>) -> Value {
    members([(name, value)])
}

/// Reads the attributes. Missing `attributes` are read as empty, except in strict mode.
fn node_attributes(members: &mut Members<'_, '_>, reading: &Reading) -> Result<Object, DocumentError> {
    match members.optional("attributes") {
        Some(value) => attributes(value),
        None => {
            tolerate(reading, DocumentError::member("attributes", "is missing"))?;
            Ok(Object::new())
        }
    }
}

/// Returns the data type under its name in generation B. Typestrings are read, but never written.
fn data_type_value(data_type: &DataTypeDocument) -> Result<Value, DocumentError> {
    let Some(text) = data_type.json.as_str() else { return Ok(data_type.json.clone()) };
    if text.starts_with('>') {
        let reason = format!("is \"{text}\"; in the v3 draft, a codec decides on the byte order");
        return Err(DocumentError::member("data_type", reason));
    }
    Ok(match text {
        "i1" => "int8",
        "<i2" => "int16",
        "<i4" => "int32",
        "<i8" => "int64",
        "u1" => "uint8",
        "<u2" => "uint16",
        "<u4" => "uint32",
        "<u8" => "uint64",
        "<f2" => "float16",
        "<f4" => "float32",
        "<f8" => "float64",
        _ => text,
    }
    .into())
}

/// Reads the grid and the separator of its keys.
fn chunk_grid(
    value: &Value,
    array: &[u64],
    reading: &Reading,
) -> Result<(ExtensionDocument, String), DocumentError> {
    const MEMBER: &str = "chunk_grid";
    let mut members = Members::of_member(MEMBER, value)?;
    if value.as_object().is_some_and(|object| object.contains("extension")) {
        return Ok((typed_extension(MEMBER, value)?, "/".to_owned()));
    }
    let name = members.string("type")?;
    if name != "regular" {
        return Err(members.error("type", format!("is \"{name}\"; expected \"regular\" or an extension")));
    }
    let path = members.path("chunk_shape");
    // A dimension without elements has no chunks, so any chunk length is valid (D3-SHAPE-06).
    let zero = |error: DocumentError| {
        reading.warn(error.to_string());
        Ok(())
    };
    let chunk_shape = chunk_shape(&path, members.required("chunk_shape")?, array, zero)?;
    let separator = match members.optional("separator") {
        None => "/",
        Some(Value::String(separator)) if matches!(separator.as_str(), "/" | ".") => separator,
        Some(other) => return Err(wrong(&members.path("separator"), other, "\"/\" or \".\"")),
    };
    members.refuse_unknown()?;
    let configuration = object("chunk_shape", chunk_shape.into_iter().collect::<Value>());
    Ok((ExtensionDocument::new("regular", configuration), separator.to_owned()))
}

fn chunk_grid_value(array: &ArrayMetadata) -> Result<Value, DocumentError> {
    let grid = &array.chunk_grid;
    let separator = separator(&array.chunk_key_encoding, "default", "/")?;
    if grid.type_name.is_none() {
        return Ok(members([
            ("type", Value::from("regular")),
            ("chunk_shape", regular_chunk_shape(grid, Format::V3Draft)?.clone()),
            ("separator", Value::String(separator)),
        ]));
    }
    if separator != "/" {
        let reason = "the grid of an extension cannot have a separator other than `/` in the v3 draft";
        return Err(DocumentError::member("chunk_key_encoding", reason));
    }
    typed_extension_value(grid)
}

/// Reads the layout. Documents of January 2023, the end of generation B, do not have one (DX-GEN-06).
fn memory_layout(
    members: &mut Members<'_, '_>,
    reading: &Reading,
) -> Result<Option<ExtensionDocument>, DocumentError> {
    const MEMBER: &str = "chunk_memory_layout";
    match members.optional(MEMBER) {
        None => {
            tolerate_for_compatibility(reading, DocumentError::member(MEMBER, "is missing"))?;
            Ok(None)
        }
        Some(Value::String(letter)) if matches!(letter.as_str(), "C" | "F") => {
            Ok(Some(ExtensionDocument::new(letter, Value::Null)))
        }
        Some(value @ Value::Object(_)) => typed_extension(MEMBER, value).map(Some),
        Some(other) => Err(wrong(MEMBER, other, "\"C\", \"F\" or an extension")),
    }
}

fn memory_layout_value(layout: Option<&ExtensionDocument>) -> Result<Value, DocumentError> {
    match layout {
        None => Ok("C".into()),
        Some(layout) if layout.type_name.is_some() => typed_extension_value(layout),
        Some(layout) => {
            let letter = only_configuration("chunk_memory_layout", layout, &[])?;
            Ok(letter.identifier.as_str().into())
        }
    }
}

/// Reads an extension with a `type`: a grid, a layout or a storage transformer.
fn typed_extension<'p>(
    place: impl Into<MemberPath<'p>>,
    value: &Value,
) -> Result<ExtensionDocument, DocumentError> {
    let mut members = Members::of_member(place, value)?;
    members.require(&["extension", "type"])?;
    let mut extension = ExtensionDocument::new(members.uri("extension")?, Value::Null);
    extension.type_name = Some(members.required("type")?.clone());
    extension.configuration = members.configuration()?;
    members.refuse_unknown()?;
    Ok(extension)
}

fn typed_extension_value(extension: &ExtensionDocument) -> Result<Value, DocumentError> {
    let mut object = Object::new();
    object.insert("extension", extension.identifier.as_str());
    let Some(type_name) = &extension.type_name else {
        return Err(DocumentError::member(
            &extension.identifier,
            "does not have a `type`, which the v3 draft requires",
        ));
    };
    object.insert("type", type_name.clone());
    if !extension.configuration.is_null() {
        object.insert("configuration", extension.configuration.clone());
    }
    Ok(Value::Object(object))
}

fn transformers(value: &Value) -> Result<Vec<ExtensionDocument>, DocumentError> {
    const MEMBER: &str = "storage_transformers";
    let transformer = |(position, value)| typed_extension(MemberPath::Element(MEMBER, position), value);
    elements(MEMBER, value)?.iter().enumerate().map(transformer).collect()
}

/// Reads a list of codecs, in an array document or in the configuration of an extension. Errors refer to the list as
/// `path`.
///
/// # Errors
///
/// If the value is not a list, or an entry does not consist of a URI and an optional configuration.
pub fn codecs(path: &str, value: &Value) -> Result<Vec<ExtensionDocument>, DocumentError> {
    let codec = |(position, value)| codec(MemberPath::Element(path, position), "type", value);
    elements(path, value)?.iter().enumerate().map(codec).collect()
}

/// Reads a codec, whose URI is the member `name`: `type`, or `codec` in generation A.
fn codec(
    place: MemberPath<'_>,
    name: &'static str,
    value: &Value,
) -> Result<ExtensionDocument, DocumentError> {
    let mut members = Members::of_member(place, value)?;
    let uri = members.uri(name)?;
    let codec = ExtensionDocument::new(uri, members.configuration()?);
    members.refuse_unknown()?;
    Ok(codec)
}

fn codec_value(codec: &ExtensionDocument) -> Result<Value, DocumentError> {
    if codec.type_name.is_some() {
        let reason = "a codec of the v3 draft cannot have a type in addition to its URI";
        return Err(DocumentError::member(&codec.identifier, reason));
    }
    let mut object = Object::new();
    object.insert("type", codec.identifier.as_str());
    if !codec.configuration.is_null() {
        object.insert("configuration", codec.configuration.clone());
    }
    Ok(Value::Object(object))
}

/// Returns the codecs of generation A: filters of v2, which zarr-python stores in the attributes, and the
/// compressor.
fn older_codecs(
    attributes: &mut Object,
    compressor: Option<&Value>,
) -> Result<Vec<ExtensionDocument>, DocumentError> {
    let mut codecs = match attributes.remove("filters") {
        Some(filters) => filter_codecs("attributes.filters", &filters)?,
        None => Vec::new(),
    };
    match compressor {
        None | Some(Value::Null) => {}
        Some(compressor) => codecs.push(codec(MemberPath::Member("compressor"), "codec", compressor)?),
    }
    Ok(codecs)
}

/// Appends 1 for each missing dimension. zarr-python appends the dimensions of sub-arrays to the shape of an array, but
/// not to `chunks_per_shard`, since a shard does not divide them (DX-SHARD-05).
fn pad_chunks_per_shard(transformer: &mut ExtensionDocument, dimensions: usize) {
    if let Value::Object(configuration) = &mut transformer.configuration
        && let Some(Value::Array(counts)) = configuration.get_mut("chunks_per_shard")
        && counts.len() < dimensions
    {
        counts.resize(dimensions, Value::from(1));
    }
}

/// Checks the `dimension_separator` that zarr-python adds to arrays of generation A.
fn check_dimension_separator(members: &mut Members<'_, '_>, separator: &str) -> Result<(), DocumentError> {
    match members.optional("dimension_separator") {
        None => Ok(()),
        Some(value) if value.as_str() == Some(separator) => Ok(()),
        Some(other) => {
            Err(wrong("dimension_separator", other, &format!("\"{separator}\" as in `chunk_grid.separator`")))
        }
    }
}

/// Reads the dimension names in documents of January 2023, the end of generation B (DX-GEN-06).
fn later_dimension_names(
    members: &mut Members<'_, '_>,
    dimensions: usize,
    reading: &Reading,
) -> Result<Option<Vec<Option<String>>>, DocumentError> {
    const MEMBER: &str = "dimension_names";
    if !members.unknown().any(|(name, _)| name == MEMBER) {
        return Ok(None);
    }
    tolerate_for_compatibility(reading, members.unknown_member(MEMBER))?;
    dimension_names(members.required(MEMBER)?, dimensions, reading).map(Some)
}

/// Reads the entries of `extensions` in an array or in the entry point. Other members of an entry are ignored.
pub(super) fn generic_extensions(
    value: &Value,
    reading: &Reading,
) -> Result<Vec<ExtensionDocument>, DocumentError> {
    const MEMBER: &str = "extensions";
    let extension = |(position, value)| {
        let mut members = Members::of_member(MemberPath::Element(MEMBER, position), value)?;
        let uri = members.uri("extension")?;
        let must_understand = members.required("must_understand")?;
        let configuration = members.optional("configuration").cloned().unwrap_or(Value::Null);
        let mut extension = ExtensionDocument::new(uri, configuration);
        extension.must_understand = must_understand
            .as_bool()
            .ok_or_else(|| wrong(&members.path("must_understand"), must_understand, "true or false"))?;
        extension.type_name = members.optional("type").cloned();
        for (name, _) in members.unknown() {
            reading.warn(format!("{}; it is ignored", members.unknown_member(name)));
        }
        Ok(extension)
    };
    elements(MEMBER, value)?.iter().enumerate().map(extension).collect()
}

pub(super) fn generic_extension_value(extension: &ExtensionDocument) -> Value {
    let mut object = Object::new();
    object.insert("extension", extension.identifier.as_str());
    if let Some(type_name) = &extension.type_name {
        object.insert("type", type_name.clone());
    }
    object.insert("must_understand", extension.must_understand);
    if !extension.configuration.is_null() {
        object.insert("configuration", extension.configuration.clone());
    }
    Value::Object(object)
}
