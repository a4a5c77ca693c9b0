//! Parses elements from text, in the forms that `get` prints.

use zarr_kit::json::{ParseOptions, parse as parse_json};
use zarr_kit::spec::data_type::{FillContext, Kind};
use zarr_kit::spec::{ByteOrder, DataType, Format, Number, Reading, Value};

use super::element::to_json;
use super::moment;

/// Floats that are not numbers in JSON.
const NOT_FINITE: [&str; 3] = ["Infinity", "-Infinity", "NaN"];

/// The prefix of names of times.
const TIME: &str = "numpy.datetime64[";

/// The prefix of names of time spans.
const SPAN: &str = "numpy.timedelta64[";

/// The prefix of names of zero-padded bytes.
const PADDED: &str = "null_terminated_bytes[";

/// The prefix of names of texts of a fixed length.
const TEXT: &str = "fixed_length_utf32[";

/// Returns the element that a text describes, in native byte order: a number, `true`, a time in ISO 8601, or a text
/// without quotes.
///
/// # Errors
///
/// A message that quotes the text.
pub(crate) fn parse(data_type: &dyn DataType, text: &str) -> Result<Vec<u8>, String> {
    let name = data_type.name();
    let wrong = |what: &str| format!("`{text}` is not {what}; the data type is {name}");
    if let Some(unit) = name.strip_prefix(TIME).and_then(|rest| rest.strip_suffix(']')) {
        let count = moment::parse(text.trim(), unit).ok_or_else(|| {
            wrong(&format!("a time such as 2001-02-03T04:05:06 that is a whole number of `{unit}`"))
        })?;
        return Ok(count.to_ne_bytes().to_vec());
    }
    if let Some(unit) = name.strip_prefix(SPAN).and_then(|rest| rest.strip_suffix(']')) {
        let count = span(text.trim(), unit).ok_or_else(|| wrong(&format!("a number of `{unit}`")))?;
        return Ok(count.to_ne_bytes().to_vec());
    }
    if let Some(size) = size_of(&name, PADDED) {
        return padded(text.as_bytes(), size).ok_or_else(|| too_long(text, size, "bytes", &name));
    }
    if let Some(size) = size_of(&name, TEXT) {
        let units: Vec<u8> = text.chars().flat_map(|character| u32::from(character).to_ne_bytes()).collect();
        return padded(&units, size).ok_or_else(|| too_long(text, size / 4, "characters", &name));
    }
    let value = match data_type.kind() {
        Some(Kind::Bool) => truth(text).map(Value::from).ok_or_else(|| wrong("true or false"))?,
        Some(Kind::Int | Kind::UInt) => number(text).ok_or_else(|| wrong("an integer"))?,
        Some(Kind::Float | Kind::BFloat) => number(text).ok_or_else(|| wrong("a number"))?,
        _ if name == "string" => Value::from(text),
        _ => parse_json(text.as_bytes(), &ParseOptions::default())
            .map_or_else(|_| Value::from(text), |parsed| parsed.value),
    };
    element(data_type, &value)
}

/// Returns the element that a JSON value describes. The value has the form of a fill value in a v3 document, or is a
/// string that [`parse`] accepts.
///
/// # Errors
///
/// A message about the value.
pub(crate) fn of_json(data_type: &dyn DataType, value: &Value) -> Result<Vec<u8>, String> {
    match value.as_str() {
        Some(text) if data_type.name() != "string" => {
            parse(data_type, text).or_else(|error| element(data_type, value).map_err(|_| error))
        }
        _ => element(data_type, value),
    }
}

fn element(data_type: &dyn DataType, value: &Value) -> Result<Vec<u8>, String> {
    let reading = Reading::default();
    let element = data_type.fill_value(value, &FillContext::new(Format::V3, &reading));
    // The prefix "invalid fill value" is about metadata documents, so it is removed.
    let message = |error: zarr_kit::spec::DataTypeError| {
        let text = error.to_string();
        text.strip_prefix("invalid fill value: ").unwrap_or(&text).to_owned()
    };
    let bytes = element.map(|element| element.bytes().to_vec()).map_err(message)?;
    check_range(data_type, value, &bytes)?;
    Ok(bytes)
}

/// Checks that no finite number in `value` has become infinite or NaN in `element`, which was made from it.
///
/// # Errors
///
/// A message with the number and the data type.
pub(crate) fn check_range(data_type: &dyn DataType, value: &Value, element: &[u8]) -> Result<(), String> {
    // An element that cannot be printed has no numbers.
    let Ok(printed) = to_json(data_type, element, &ByteOrder::Little) else { return Ok(()) };
    match overflow(value, &printed) {
        Some(number) => Err(format!("{number} is out of range for {}", data_type.name())),
        None => Ok(()),
    }
}

/// Returns the first finite number in `given` that is not finite in `stored`.
fn overflow<'g>(given: &'g Value, stored: &Value) -> Option<&'g Value> {
    match (given, stored) {
        (Value::Array(given), Value::Array(stored)) => {
            given.iter().zip(stored).find_map(|(given, stored)| overflow(given, stored))
        }
        (Value::Object(given), Value::Object(stored)) => {
            given.iter().find_map(|(name, given)| overflow(given, stored.get(name)?))
        }
        (given, Value::String(stored)) => {
            let is_number = match given {
                Value::Number(_) => true,
                Value::String(text) => text.parse().is_ok_and(f64::is_finite),
                _ => false,
            };
            (is_number && NOT_FINITE.contains(&stored.as_str())).then_some(given)
        }
        _ => None,
    }
}

fn size_of(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.strip_suffix(']')?.parse().ok()
}

fn padded(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut padded = bytes.to_vec();
    (bytes.len() <= size).then(|| {
        padded.resize(size, 0);
        padded
    })
}

fn too_long(text: &str, most: usize, what: &str, name: &str) -> String {
    format!("`{text}` is longer than {most} {what}; the data type is {name}")
}

fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Parses a number, as programs print it: `1e5`, `-.5`, `+3`, `nan`, `inf`.
fn number(text: &str) -> Option<Value> {
    let trimmed = text.trim();
    let plain = trimmed.strip_prefix('+').unwrap_or(trimmed);
    match plain.to_ascii_lowercase().as_str() {
        "nan" => return Some(Value::from("NaN")),
        "inf" | "infinity" => return Some(Value::from("Infinity")),
        "-inf" | "-infinity" => return Some(Value::from("-Infinity")),
        _ => {}
    }
    if let Ok(parsed) = parse_json(plain.as_bytes(), &ParseOptions::default()) {
        return matches!(parsed.value, Value::Number(_)).then_some(parsed.value);
    }
    // Unlike numbers in JSON, numbers of other programs may begin or end with a point.
    Number::from_f64(plain.parse().ok()?).map(Value::from)
}

fn span(text: &str, unit: &str) -> Option<i64> {
    if text == "NaT" {
        return Some(i64::MIN);
    }
    let (scale, name) = moment::unit(unit)?;
    let count: i64 = text.strip_suffix(name).unwrap_or(text).trim().parse().ok()?;
    (count % scale == 0).then_some(count / scale)
}
