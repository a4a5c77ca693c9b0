//! Converts an element to JSON or text. The result is the same for all formats of hierarchies.

use std::fmt;

use zarr_kit::spec::data_type::Field;
use zarr_kit::spec::{ByteOrder, DataType, DataTypeError, Format, Object, Value};

use crate::failure::Failure;

/// The prefix of names of times.
const TIME: &str = "numpy.datetime64[";

/// The prefix of names of time spans.
const SPAN: &str = "numpy.timedelta64[";

/// The prefix of names of zero-padded bytes, which often contain text.
const PADDED: &str = "null_terminated_bytes[";

/// NumPy's missing time ("not a time").
const NOT_A_TIME: &str = "NaT";

/// Converts an element to JSON: numbers with the fewest digits that restore them, times in ISO 8601,
/// structures as objects, bytes in Base64. Padded bytes are a string if they are UTF-8, else an object with
/// the member `base64`. Fails for bytes that are not an element.
pub(crate) fn to_json(
    data_type: &dyn DataType,
    element: &[u8],
    order: &ByteOrder,
) -> Result<Value, DataTypeError> {
    if let Some(fields) = data_type.fields() {
        return structure(fields, element, order);
    }
    if let (Some(inner), Some((1, there))) =
        (data_type.optional(), element.split_first().map(|(&a, b)| (a, b)))
    {
        return Ok(Value::Array(vec![to_json(&**inner, there, order)?]));
    }
    let name = data_type.name();
    if name.starts_with(TIME) || name.starts_with(SPAN) {
        let printed = print(data_type, element).map_err(DataTypeError::FillValue)?;
        if name.starts_with(TIME) || printed == NOT_A_TIME {
            return Ok(Value::from(printed.as_str()));
        }
    }
    let json = data_type.fill_value_json(element, Format::V3, order)?;
    match name.starts_with(PADDED) {
        true => {
            Ok(padded_text(element).map_or_else(|| [("base64", json)].into_iter().collect(), Value::from))
        }
        false => Ok(json),
    }
}

/// Converts an element to text, without escaping strings.
pub(crate) fn to_text(data_type: &dyn DataType, element: &[u8]) -> Result<String, Failure> {
    if data_type.name().starts_with(PADDED)
        && let Some(text) = padded_text(element)
    {
        return Ok(text.to_owned());
    }
    let printed = print(data_type, element).map_err(Failure::fault)?;
    Ok(match data_type.fill_value_json(element, Format::V3, &ByteOrder::Little) {
        Ok(Value::String(text)) if is_text(&text, &printed) => text,
        _ => printed,
    })
}

/// Returns the bytes of each element in one field of a structure.
pub(crate) fn parts<'e>(field: &Field, element: &'e [u8]) -> impl Iterator<Item = &'e [u8]> {
    let size = field.data_type.elements().size().unwrap_or(0);
    let count: usize = field.shape.iter().product();
    let bytes = element.get(field.offset..field.offset + size * count).unwrap_or_default();
    // `chunks_exact` yields nothing for elements of size 0, which are empty strings.
    let empty = if size == 0 { count } else { 0 };
    bytes.chunks_exact(size.max(1)).chain(std::iter::repeat_n(&[][..], empty))
}

fn structure(fields: &[Field], element: &[u8], order: &ByteOrder) -> Result<Value, DataTypeError> {
    let mut object = Object::new();
    for field in fields.iter().filter(|field| !field.name.is_empty()) {
        let values = parts(field, element).map(|part| to_json(&*field.data_type, part, order));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        object.insert(field.name.as_str(), nested(values, &field.shape));
    }
    Ok(Value::Object(object))
}

/// Nests values in C order in arrays. Without dimensions, returns the only value.
fn nested(mut values: Vec<Value>, shape: &[usize]) -> Value {
    let Some((_, inner)) = shape.split_first() else { return values.pop().unwrap_or(Value::Null) };
    let size = inner.iter().product::<usize>().max(1);
    values.chunks(size).map(|values| nested(values.to_vec(), inner)).collect()
}

/// Returns the bytes before the padding, if they are UTF-8.
fn padded_text(element: &[u8]) -> Option<&str> {
    let end = element.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    std::str::from_utf8(&element[..end]).ok()
}

fn print(data_type: &dyn DataType, element: &[u8]) -> Result<String, String> {
    let mut text = String::new();
    match data_type.print(element, &mut text) {
        Ok(()) => Ok(text),
        // Writing to a string does not fail, so the plugin failed and `text` is its reason.
        Err(fmt::Error) => Err(format!("an element of type {} cannot be printed: {text}", data_type.name())),
    }
}

/// Returns whether an element that is `text` in JSON is a string, and not, for example, bytes in Base64.
/// Strings are printed unchanged, except for control characters.
fn is_text(text: &str, printed: &str) -> bool {
    let mut rest = printed.chars();
    let mut follows = |character: char| rest.next() == Some(character);
    text.chars().all(|character| match character.is_control() {
        true => character.escape_default().all(&mut follows),
        false => follows(character),
    }) && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_recognized_by_its_printed_form() {
        for (text, printed) in [("ögr", "ögr"), ("a\nb", "a\\nb"), ("\u{1}", "\\u{1}"), ("", "")] {
            assert!(is_text(text, printed), "{printed}");
        }
        for (text, printed) in [("AQI=", "0102"), ("a", "\"a\""), ("a", "ab"), ("ab", "a"), ("a\nb", "a\nb")]
        {
            assert!(!is_text(text, printed), "{printed}");
        }
    }

    #[test]
    fn padding_is_not_part_of_text() {
        assert_eq!(padded_text(b"ab\0\0"), Some("ab"));
        assert_eq!(padded_text(b"a\0b\0"), Some("a\0b"));
        assert_eq!(padded_text(b"\0\0"), Some(""));
        assert_eq!(padded_text(b"\xff\0"), None);
    }

    #[test]
    fn values_of_a_field_are_nested_by_its_shape() {
        let values = |count: i32| (0..count).map(Value::from).collect::<Vec<_>>();
        assert_eq!(nested(values(4), &[2, 2]).to_string(), "[[0,1],[2,3]]");
        assert_eq!(nested(values(1), &[]).to_string(), "0");
        assert_eq!(nested(values(0), &[0]).to_string(), "[]");
    }
}
