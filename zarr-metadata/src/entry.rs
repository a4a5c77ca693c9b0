//! Reading the entry of a single extension.

use zarr_json::{Object, Value, json};

use super::members::wrong;
use super::{ArrayMetadata, DocumentError, NodeMetadata, draft, v2, v3};
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::{Format, Reading};
use zarr_spec::host::registry::ExtensionPoint;

/// Reads the entry of one extension in a document of `format`: an element of `codecs`, the value of
/// `chunk_grid`, and so on.
///
/// In v2, a codec is a `compressor`, and a chunk grid, chunk key encoding or layout is the value of `chunks`,
/// `dimension_separator` or `order`. `shape` is the shape of the array.
///
/// For data types, use [`DataTypeDocument`](zarr_spec::data_type::DataTypeDocument); for stores, use
/// [`StoreConfiguration`](zarr_spec::store::StoreConfiguration).
///
/// # Errors
///
/// [`DocumentError`] for an invalid entry, and for an extension point that the format does not have.
pub fn parse_entry(
    point: ExtensionPoint,
    format: Format,
    entry: &Value,
    shape: &[u64],
    reading: &Reading,
) -> Result<ExtensionDocument, DocumentError> {
    let no_place = || wrong(&point.to_string(), entry, &format!("an extension point of {format}"));
    if (point, format) == (ExtensionPoint::MetadataEncoding, Format::V3Draft) {
        let document = json!({
            "zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": (entry.clone()), "extensions": []
        });
        return Ok(draft::parse_entry_point(&document, reading)?.metadata_encoding);
    }
    let (member, is_list) = member(point, format).ok_or_else(no_place)?;
    let value = if is_list { Value::Array(vec![entry.clone()]) } else { entry.clone() };
    let array = array_with(format, shape, member, value, reading)?;
    let found = match point {
        ExtensionPoint::Codec => array.codecs.into_iter().next(),
        ExtensionPoint::ChunkGrid => Some(array.chunk_grid),
        ExtensionPoint::ChunkKeyEncoding => Some(array.chunk_key_encoding),
        ExtensionPoint::MemoryLayout => array.memory_layout,
        ExtensionPoint::StorageTransformer => array.storage_transformers.into_iter().next(),
        ExtensionPoint::GenericExtension => array.extensions.into_iter().next(),
        ExtensionPoint::DataType | ExtensionPoint::MetadataEncoding | ExtensionPoint::Store => None,
    };
    found.ok_or_else(no_place)
}

/// Returns the member of an array document that names extensions of the kind `point`, and whether it is a list.
fn member(point: ExtensionPoint, format: Format) -> Option<(&'static str, bool)> {
    Some(match (point, format) {
        (ExtensionPoint::Codec, Format::V2) => ("compressor", false),
        (ExtensionPoint::Codec, _) => ("codecs", true),
        (ExtensionPoint::ChunkGrid, Format::V2) => ("chunks", false),
        (ExtensionPoint::ChunkGrid, _) => ("chunk_grid", false),
        (ExtensionPoint::ChunkKeyEncoding, Format::V2) => ("dimension_separator", false),
        (ExtensionPoint::ChunkKeyEncoding, Format::V3) => ("chunk_key_encoding", false),
        (ExtensionPoint::MemoryLayout, Format::V2) => ("order", false),
        (ExtensionPoint::MemoryLayout, Format::V3Draft) => ("chunk_memory_layout", false),
        (ExtensionPoint::StorageTransformer, Format::V3Draft | Format::V3) => ("storage_transformers", true),
        (ExtensionPoint::GenericExtension, Format::V3Draft) => ("extensions", true),
        _ => return None,
    })
}

/// Reads an array document in which only the shape and one member matter.
fn array_with(
    format: Format,
    shape: &[u64],
    member: &str,
    value: Value,
    reading: &Reading,
) -> Result<ArrayMetadata, DocumentError> {
    let lengths: Value = shape.iter().copied().collect();
    let ones: Value = shape.iter().map(|_| 1).collect();
    let document = match format {
        Format::V2 => json!({
            "zarr_format": 2, "shape": lengths, "chunks": ones, "dtype": "|u1", "compressor": null, "fill_value": 0,
            "order": "C", "filters": null
        }),
        Format::V3Draft => json!({
            "shape": lengths, "data_type": "uint8", "chunk_grid": {"type": "regular", "chunk_shape": ones},
            "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}
        }),
        Format::V3 => json!({
            "zarr_format": 3, "node_type": "array", "shape": lengths, "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": ones}},
            "chunk_key_encoding": "default", "fill_value": 0, "codecs": ["bytes"]
        }),
    };
    let members = document.as_object().into_iter().flatten().filter(|(name, _)| *name != member);
    let mut document: Object = members.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    document.insert(member, value);
    let document = Value::Object(document);
    match format {
        Format::V2 => v2::parse_array(&document, None, reading),
        Format::V3Draft => draft::parse_array(&document, draft::Generation::B, reading),
        Format::V3 => match v3::parse_node(&document, reading)? {
            NodeMetadata::Array(array) => Ok(*array),
            NodeMetadata::Group(_) => Err(DocumentError::document("describes a group")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_spec::format::Mode;

    fn parse(
        point: ExtensionPoint,
        format: Format,
        entry: Value,
    ) -> Result<ExtensionDocument, DocumentError> {
        parse_entry(point, format, &entry, &[4, 6], &Reading::new(Mode::Strict))
    }

    #[test]
    fn entries_are_read_in_the_form_of_each_format() {
        let v3 = parse(ExtensionPoint::Codec, Format::V3, json!({"name": "a", "configuration": {"b": 1}}));
        assert_eq!(v3.unwrap(), ExtensionDocument::new("a", json!({"b": 1})));
        let draft = parse(ExtensionPoint::Codec, Format::V3Draft, json!({"type": "https://a/b/1.0"}));
        assert_eq!(draft.unwrap(), ExtensionDocument::new("https://a/b/1.0", Value::Null));
        let v2 = parse(ExtensionPoint::Codec, Format::V2, json!({"id": "a", "b": 1}));
        assert_eq!(v2.unwrap(), ExtensionDocument::new("a", json!({"b": 1})));
        let chunks = parse(ExtensionPoint::ChunkGrid, Format::V2, json!([2, 3]));
        assert_eq!(chunks.unwrap(), ExtensionDocument::new("regular", json!({"chunk_shape": [2, 3]})));
        let encoding = json!({"type": "json", "metadata_key_suffix": ".json"});
        let encoding = parse(ExtensionPoint::MetadataEncoding, Format::V3Draft, encoding);
        assert_eq!(encoding.unwrap().identifier, "json");
    }

    #[test]
    fn entries_of_other_formats_are_errors() {
        for (point, format) in [
            (ExtensionPoint::StorageTransformer, Format::V2),
            (ExtensionPoint::ChunkKeyEncoding, Format::V3Draft),
            (ExtensionPoint::MemoryLayout, Format::V3),
            (ExtensionPoint::MetadataEncoding, Format::V3),
            (ExtensionPoint::DataType, Format::V3),
        ] {
            let error = parse(point, format, json!("C")).unwrap_err();
            assert_eq!(error.member, Some(point.to_string()), "{error}");
        }
        let error = parse(ExtensionPoint::ChunkGrid, Format::V2, json!([2])).unwrap_err();
        assert_eq!(error.member.as_deref(), Some("chunks"));
    }
}
