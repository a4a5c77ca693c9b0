//! Data types in the configurations of numcodecs.

use zarr_json::Value;

use crate::numbers::Number;
use zarr_spec::Creation;
use zarr_spec::codec::{CodecError, CodecResult};
use zarr_spec::data_type::{Created, DataType, DataTypeDocument};
use zarr_spec::format::Format;
use zarr_spec::host::chain::has_byte_order;
use zarr_spec::representation::{ArrayRepresentation, ByteOrder, Elements};

/// Returns the data type with the name `text` in the member `member`: a typestring of v2, or a name of NumPy, which
/// final v3 also uses (EX-SEEN-03). v2 uses only typestrings, so names are merely tolerated in v2.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`].
pub fn data_type(creation: &Creation<'_>, member: &str, text: &str) -> CodecResult<Created> {
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

/// The names of the core data types of final v3, except for raw bits.
pub(crate) const NAMES: [&str; 14] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// Returns whether the byte orders of typestrings are significant: in v2, and for the filters of v2 that the
/// first generation of the draft stores in the attributes.
#[must_use]
pub fn have_orders(creation: &Creation<'_>) -> bool {
    let is_older_draft = creation.format == Format::V3Draft && !creation.identifier.contains(':');
    creation.format == Format::V2 || is_older_draft
}

/// Checks a member that repeats the data type of the array. In v2 it also repeats the byte order: with another
/// byte order, the codec would compute with other numbers.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`].
pub fn check_same(
    creation: &Creation<'_>,
    member: &str,
    dtype: &dyn DataType,
    order: &ByteOrder,
    array: &ArrayRepresentation,
) -> CodecResult {
    let name = dtype.name();
    let array_name = array.data_type.name();
    if Number::or_time(&*array.data_type) != Number::or_time(dtype) {
        return Err(CodecError::configuration(format!(
            "`{member}` is `{name}`, but the chunk holds `{array_name}`"
        )));
    }
    let ordered = matches!(dtype.elements(), Elements::Fixed { units, .. } if has_byte_order(&units));
    if have_orders(creation) && ordered && *order != array.byte_order {
        let order = order_name(order);
        let other = order_name(&array.byte_order);
        return Err(CodecError::configuration(format!(
            "`{member}` is {order} `{name}`, but the chunk is {other}"
        )));
    }
    Ok(())
}

fn order_name(order: &ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little endian",
        ByteOrder::Big => "big endian",
        ByteOrder::Mixed(_) => "of mixed byte order",
    }
}

/// Returns the member `name` of a document of `format`, for the data type of `side`. The byte order of a
/// typestring is significant only in v2; otherwise it is little endian.
///
/// # Errors
///
/// [`CodecError::Unsupported`] for a type that v2 does not have.
pub fn member(name: &str, side: &ArrayRepresentation, format: Format) -> CodecResult<(String, Value)> {
    let order = if format == Format::V2 { &side.byte_order } else { &ByteOrder::Little };
    let document = side.data_type.document(Format::V2, order);
    let document = document.map_err(|error| CodecError::Unsupported(error.to_string()))?;
    Ok((name.to_owned(), document.json))
}
