//! Helpers for the object codecs of v2 that write arbitrary items as JSON or in a similar form.
//!
//! A chunk is one document: nested lists of items, one level for each dimension, and after the last item of the
//! outermost list the typestring `|O` and the shape. The item of an array without dimensions is in its own
//! list.
//!
//! Outside of strict mode, arrays of numbers, booleans and fixed-length text are also accepted, because numcodecs
//! encodes them with these codecs. Such a chunk has the typestring of the array, and its items are fill values of
//! v2.
//!
//! An element of an array of items has a variable size. Its payload is the JSON text of the item. It may contain
//! the tokens that Python's `json` writes for numbers that are not finite (`NaN`, `Infinity`, `-Infinity`).

use std::borrow::Cow;

use zarr_json::{Limits, ParseError, ParseOptions, Value, counted};

use crate::items::Items;
use zarr_spec::codec::{CodecError, CodecResult};
use zarr_spec::data_type::{DataType, FillContext, Kind};
use zarr_spec::output::{LimitExceeded, Output};
use zarr_spec::representation::{ArrayRepresentation, ByteOrder, Elements};
use zarr_spec::{Creation, Format, Mode, Reading};

/// The name of the data type whose elements are items.
pub const DATA_TYPE: &str = "zarr-kit.json";

/// The largest encoded chunk, in bytes. Its items need several times as much memory.
pub const MAX_ENCODED_SIZE: usize = 64 << 20;

/// The maximum nesting of an item.
pub const MAX_ITEM_DEPTH: usize = 128;

/// Maximum number of dimensions of an array of items, because the document has one level of lists per dimension.
const MAX_RANK: usize = zarr_json::MAX_DEPTH - MAX_ITEM_DEPTH;

/// The size of an offset in the decoded form, in bytes.
const OFFSET: usize = 8;

/// Parses the item of a payload.
///
/// # Errors
///
/// If it is not JSON or nests deeper than [`MAX_ITEM_DEPTH`].
pub fn item(payload: &[u8]) -> Result<Value, ParseError> {
    parse(payload, MAX_ITEM_DEPTH)
}

/// Parses the document of an array with `rank` dimensions from its JSON text.
///
/// # Errors
///
/// [`CodecError::Corrupt`] if it is not JSON or nests too deeply; [`CodecError::TooLarge`] past
/// [`MAX_ENCODED_SIZE`].
pub fn parse_document(encoded: &[u8], rank: usize) -> CodecResult<Value> {
    check_size(encoded)?;
    parse(encoded, max_depth(rank)).map_err(CodecError::corrupt)
}

/// Returns the maximum nesting of the document of an array with `rank` dimensions.
#[must_use]
pub fn max_depth(rank: usize) -> usize {
    rank.max(1).saturating_add(MAX_ITEM_DEPTH).min(zarr_json::MAX_DEPTH)
}

/// Rejects a chunk that is too large to parse.
///
/// # Errors
///
/// [`CodecError::TooLarge`] past [`MAX_ENCODED_SIZE`].
pub fn check_size(encoded: &[u8]) -> CodecResult {
    match encoded.len() {
        0..=MAX_ENCODED_SIZE => Ok(()),
        _ => Err(LimitExceeded { limit: MAX_ENCODED_SIZE }.into()),
    }
}

/// Returns the document size that limits the memory of the values of a chunk: see
/// [`ValueMemory`](zarr_json::ValueMemory).
#[must_use]
pub fn counted_size(encoded: usize) -> usize {
    encoded.max(Limits::default().bytes)
}

/// The data types with one JSON value for each element, in addition to fixed-length text.
const PLAIN: [&str; 12] = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64",
];

const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

fn is_plain(data_type: &dyn DataType) -> bool {
    let name = data_type.name();
    PLAIN.contains(&&*name) || name.starts_with("fixed_length_utf32[")
}

/// Accepts arrays of items. In v2 outside of strict mode, also accepts numbers, booleans and fixed-length text, with a
/// warning.
///
/// # Errors
///
/// [`CodecError::Unsupported`].
pub fn check_creation(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult {
    check_array(array)?;
    if !is_plain(&*array.data_type) {
        return Ok(());
    }
    let what = format!("it encodes data type `{DATA_TYPE}`, not `{}`", array.data_type.name());
    match creation.format {
        Format::V2 => {
            creation.reading.tolerate(what).map_err(|invalid| CodecError::Unsupported(invalid.to_string()))
        }
        _ => Err(CodecError::Unsupported(what)),
    }
}

/// Rejects arrays whose elements are neither items nor among the types that [`check_creation`] tolerates.
///
/// # Errors
///
/// [`CodecError::Unsupported`].
pub fn check_array(array: &ArrayRepresentation) -> CodecResult {
    let name = array.data_type.name();
    let is_item = name == DATA_TYPE && array.data_type.elements() == Elements::Variable;
    if !is_item && !is_plain(&*array.data_type) {
        return Err(CodecError::Unsupported(format!("it encodes data type `{DATA_TYPE}`, not `{name}`")));
    }
    if array.shape.len() > MAX_RANK {
        return Err(CodecError::Unsupported(format!(
            "the array has {} dimensions; the maximum is {MAX_RANK}",
            array.shape.len()
        )));
    }
    Ok(())
}

/// Returns the document of a chunk: items, typestring and shape.
///
/// # Errors
///
/// [`CodecError::Unsupported`] as [`check_array`]; [`CodecError::Encode`] for elements that are not items.
pub fn document(array: &ArrayRepresentation, decoded: &[u8]) -> CodecResult<Value> {
    check_array(array)?;
    let shape = lengths(array)?;
    let wrong = |error| CodecError::encode(format!("an item is not valid JSON: {error}"));
    let mut list = if is_plain(&*array.data_type) {
        list(&shape, &mut plain_items(array, decoded)?.into_iter().map(Ok))?
    } else {
        let payloads = Items::new(array, decoded)?;
        list(&shape, &mut payloads.iter().map(|payload| item(payload).map_err(wrong)))?
    };
    list.push(typestring(array)?);
    list.push(array.shape.iter().copied().collect());
    Ok(Value::Array(list))
}

/// Appends the elements of a document. Its shape must be the shape of the array, or the reverse, which zarr-python
/// writes for a chunk in order F. In both cases the items are in stored order.
///
/// # Errors
///
/// [`CodecError::Unsupported`] as [`check_array`]; [`CodecError::Corrupt`]; [`CodecError::TooLarge`].
pub fn put_elements(array: &ArrayRepresentation, document: &Value, decoded: &mut Output<'_>) -> CodecResult {
    check_array(array)?;
    let mut shape = lengths(array)?;
    let [list @ .., typestring, stored_shape] = document.as_array().unwrap_or_default() else {
        return Err(CodecError::corrupt("expected a list that ends with a typestring and a shape"));
    };
    let expected = self::typestring(array)?;
    if without_order(typestring) != without_order(&expected) || typestring.as_str().is_none() {
        return Err(CodecError::corrupt(format!(
            "the items have data type {}, expected {expected}",
            shown(typestring)
        )));
    }
    let wanted: Value = array.shape.iter().copied().collect();
    if *stored_shape != wanted {
        let reversed: Value = array.shape.iter().rev().copied().collect();
        if *stored_shape != reversed {
            return Err(CodecError::corrupt(format!(
                "the items have shape {}, expected {wanted}",
                shown(stored_shape)
            )));
        }
        shape.reverse();
    }
    let mut items = Vec::new();
    flatten(list, if shape.is_empty() { &[1] } else { &shape }, &mut items)?;
    if is_plain(&*array.data_type) {
        return put_plain(array, &items, decoded);
    }
    let mut offsets = vec![0; OFFSET];
    let mut payload = String::new();
    for item in items {
        payload.push_str(&zarr_json::to_item(item));
        offsets.extend_from_slice(&(payload.len() as u64).to_ne_bytes());
        if offsets.len().saturating_add(payload.len()) > decoded.remaining() {
            break;
        }
    }
    decoded.put(&offsets)?;
    Ok(decoded.put(payload.as_bytes())?)
}

fn parse(text: &[u8], depth: usize) -> Result<Value, ParseError> {
    let limits = Limits { bytes: counted_size(text.len()), depth };
    Ok(zarr_json::parse(text, &ParseOptions { limits, bare_non_finite: true })?.value)
}

/// Returns the shape, if the number of lists does not exceed the limit of a document.
fn lengths(array: &ArrayRepresentation) -> CodecResult<Vec<usize>> {
    let lists = array.shape.iter().take_while(|&&length| length > 0);
    let lists =
        lists.copied().try_fold(1, u64::checked_mul).filter(|&lists| lists <= MAX_ENCODED_SIZE as u64);
    let lengths: Option<_> = array.shape.iter().map(|&length| usize::try_from(length).ok()).collect();
    lists
        .and(lengths)
        .ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

/// Returns the typestring of v2 with native byte order.
fn typestring(array: &ArrayRepresentation) -> CodecResult<Value> {
    if !is_plain(&*array.data_type) {
        return Ok(Value::from("|O"));
    }
    let document = array.data_type.document(Format::V2, &NATIVE);
    document.map(|document| document.json).map_err(|error| CodecError::Unsupported(error.to_string()))
}

/// Returns a typestring without its byte order, which does not affect items.
fn without_order(typestring: &Value) -> &str {
    typestring.as_str().unwrap_or_default().trim_start_matches(['<', '>', '|', '='])
}

/// Returns the items of elements that are not items themselves.
fn plain_items(array: &ArrayRepresentation, decoded: &[u8]) -> CodecResult<Vec<Value>> {
    let size = array.data_type.elements().size().unwrap_or(0);
    let elements = if size == 0 { decoded.chunks_exact(1) } else { decoded.chunks_exact(size) };
    let is_float = array.data_type.kind() == Some(Kind::Float);
    let one = |element: &[u8]| {
        let json = array.data_type.fill_value_json(element, Format::V2, &NATIVE);
        let json = json.map_err(|error| CodecError::encode(error.to_string()))?;
        match json.as_str().filter(|_| is_float) {
            Some(token) => item(token.as_bytes()).map_err(|error| CodecError::encode(error.to_string())),
            None => Ok(json),
        }
    };
    elements.map(one).collect()
}

fn put_plain(array: &ArrayRepresentation, items: &[&Value], decoded: &mut Output<'_>) -> CodecResult {
    let reading = Reading::new(Mode::Strict);
    let context = FillContext::new(Format::V2, &reading);
    items.iter().try_for_each(|item| {
        // Python writes NaN and infinities as tokens; metadata documents contain them as strings.
        let item = match item.as_number().filter(|number| !number.is_finite_token()) {
            Some(number) => Cow::Owned(Value::from(number.text())),
            None => Cow::Borrowed(*item),
        };
        let element = array.data_type.fill_value(&item, &context);
        let element =
            element.map_err(|error| CodecError::corrupt(format!("item {}: {error}", shown(&item))))?;
        Ok(decoded.put(element.bytes())?)
    })
}

/// Returns the outermost list. The item of an array without dimensions is in a list.
fn list(shape: &[usize], items: &mut impl Iterator<Item = CodecResult<Value>>) -> CodecResult<Vec<Value>> {
    match shape {
        [] => items.take(1).collect(),
        _ => nested(shape, items),
    }
}

/// Appends the items of a list of the outermost remaining dimension.
fn nested(shape: &[usize], items: &mut impl Iterator<Item = CodecResult<Value>>) -> CodecResult<Vec<Value>> {
    match *shape {
        [] => Ok(Vec::new()),
        [length] => items.take(length).collect(),
        [length, ref rest @ ..] => (0..length).map(|_| nested(rest, items).map(Value::Array)).collect(),
    }
}

fn flatten<'v>(list: &'v [Value], shape: &[usize], items: &mut Vec<&'v Value>) -> CodecResult {
    let Some((&length, rest)) = shape.split_first() else { return Ok(()) };
    if list.len() != length {
        return Err(CodecError::corrupt(format!(
            "a list has {}, expected {length} as in the shape",
            counted(list.len(), "entry", "entries")
        )));
    }
    if rest.is_empty() {
        items.extend(list);
        return Ok(());
    }
    list.iter().try_for_each(|inner| match inner {
        Value::Array(inner) => flatten(inner, rest, items),
        other => Err(CodecError::corrupt(format!("expected a list of items, found {}", other.kind_name()))),
    })
}

/// Formats the value, or its kind if it is long.
fn shown(value: &Value) -> String {
    let is_short = |value: &Value| match value {
        Value::String(text) => text.len() < 100,
        Value::Array(list) => list.len() < 20 && !list.iter().any(|item| item.as_number().is_none()),
        _ => false,
    };
    if is_short(value) { value.to_string() } else { value.kind_name().to_owned() }
}
