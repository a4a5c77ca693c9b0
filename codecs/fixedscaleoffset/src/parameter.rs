//! Data types as the configuration names them.

use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::{CodecError, Creation, Format, Value};

/// A typestring of v2, or one of NumPy's names, which final v3 has as well. v2 has only typestrings, so
/// that names are tolerated there.
pub(crate) fn data_type(creation: &Creation<'_>, member: &str, text: &str) -> Result<Created, CodecError> {
    let is_name = NAMES.contains(&text);
    if is_name && creation.format == Format::V2 {
        creation.reading.tolerate(format!("`{member}` is `{text}` instead of a typestring"))?;
    }
    let (format, document) = if is_name {
        (Format::V3, DataTypeDocument::named(text))
    } else {
        (Format::V2, DataTypeDocument::v2(&Value::from(text), None, creation.reading)?)
    };
    creation
        .registry
        .data_type(format, &document, creation.reading)
        .map_err(|error| CodecError::configuration(format!("`{member}`: {error}")))
}

const NAMES: [&str; 11] = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
];
