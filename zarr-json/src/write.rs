//! Writes values as JSON text.

use std::fmt;
use std::fmt::Write as _;

use super::{Object, Value, write_place};
use crate::printable::is_printable;

/// The maximum width of a line with an array of scalars, in characters.
const LINE_WIDTH: usize = 100;

/// The initial capacity. Most documents are shorter.
const USUAL_SIZE: usize = 1 << 10;

/// The error for a bare `NaN` or infinity, which is not a JSON number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteError {
    /// The JSON pointer of the first such value.
    pub path: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, &self.path)?;
        f.write_str("JSON cannot represent NaN or infinities")
    }
}

impl std::error::Error for WriteError {}

/// Writes a document on one line without white space.
///
/// # Errors
///
/// [`WriteError`] for a bare `NaN` or infinity.
pub fn to_vec(value: &Value) -> Result<Vec<u8>, WriteError> {
    checked(value)?;
    let mut text = String::with_capacity(USUAL_SIZE);
    write_compact(&mut text, value);
    Ok(text.into_bytes())
}

/// Writes a value on one line without white space, including bare `NaN` and infinities. Elements of JSON data types
/// may contain them; documents may not.
#[must_use]
pub fn to_item(value: &Value) -> String {
    let mut text = String::new();
    write_compact(&mut text, value);
    text
}

/// Writes a document with an indent of two spaces, and with short arrays of scalars on one line. The text does not
/// end with a newline.
///
/// # Errors
///
/// [`WriteError`] for a bare `NaN` or infinity.
pub fn to_vec_pretty(value: &Value) -> Result<Vec<u8>, WriteError> {
    checked(value)?;
    let mut text = String::with_capacity(USUAL_SIZE);
    write_pretty(&mut text, value, 0);
    Ok(text.into_bytes())
}

/// Writes a document like [`to_vec_pretty`], with escapes for the characters that [`is_printable`] rejects. The text
/// is safe for terminals, and programs parse it to the same document.
///
/// # Errors
///
/// [`WriteError`] for a bare `NaN` or infinity.
pub fn to_printable_pretty(value: &Value) -> Result<String, WriteError> {
    checked(value)?;
    let mut text = String::with_capacity(USUAL_SIZE);
    write_pretty(&mut text, value, 0);
    Ok(escaped(text))
}

/// Escapes unprintable characters, which occur only in strings, but not the newlines between lines.
fn escaped(text: String) -> String {
    let is_plain = |character| character == '\n' || is_printable(character);
    if text.chars().all(is_plain) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + USUAL_SIZE);
    for character in text.chars() {
        if is_plain(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

fn checked(value: &Value) -> Result<(), WriteError> {
    value.find_non_finite().map_or(Ok(()), |path| Err(WriteError { path }))
}

/// Prints the value on one line without white space, for messages. Includes bare `NaN` and infinities, and escapes
/// the characters that [`is_printable`] rejects.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_compact(&mut text, self);
        f.write_str(&escaped(text))
    }
}

/// Prints the object as [`Value`] does.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_compact_object(&mut text, self);
        f.write_str(&escaped(text))
    }
}

fn write_compact(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => text.push_str(number.text()),
        Value::String(string) => write_string(text, string),
        Value::Array(elements) => write_row(text, elements, ","),
        Value::Object(object) => write_compact_object(text, object),
    }
}

fn write_compact_object(text: &mut String, object: &Object) {
    text.push('{');
    for (position, (name, value)) in object.iter().enumerate() {
        text.push_str(if position == 0 { "" } else { "," });
        write_string(text, name);
        text.push(':');
        write_compact(text, value);
    }
    text.push('}');
}

fn write_row(text: &mut String, elements: &[Value], separator: &str) {
    text.push('[');
    for (position, element) in elements.iter().enumerate() {
        text.push_str(if position == 0 { "" } else { separator });
        write_compact(text, element);
    }
    text.push(']');
}

fn write_pretty(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(elements) if elements.is_empty() => text.push_str("[]"),
        Value::Object(object) if object.is_empty() => text.push_str("{}"),
        Value::Array(elements) => {
            if !write_short_row(text, elements) {
                write_lines(text, ['[', ']'], depth, elements, |text, element| {
                    write_pretty(text, element, depth + 1);
                });
            }
        }
        Value::Object(object) => write_lines(text, ['{', '}'], depth, object, |text, (name, value)| {
            write_string(text, name);
            text.push_str(": ");
            write_pretty(text, value, depth + 1);
        }),
        scalar => write_compact(text, scalar),
    }
}

/// Writes the elements on the current line if they are scalars and fit.
fn write_short_row(text: &mut String, elements: &[Value]) -> bool {
    let is_scalar = |element: &Value| !matches!(element, Value::Array(_) | Value::Object(_));
    // A scalar and its separator have at least three characters.
    if elements.len() > LINE_WIDTH / 3 || !elements.iter().all(is_scalar) {
        return false;
    }
    let start = text.len();
    write_row(text, elements, ", ");
    let line = text.bytes().rev().take_while(|byte| *byte != b'\n').count();
    // A comma may follow. Counting characters is necessary only if there are too many bytes.
    let fits = line < LINE_WIDTH || text[text.len() - line..].chars().count() < LINE_WIDTH;
    if !fits {
        text.truncate(start);
    }
    fits
}

/// Writes one line for each item, between two brackets.
fn write_lines<T>(
    text: &mut String,
    [open, close]: [char; 2],
    depth: usize,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    text.push(open);
    for (position, item) in items.into_iter().enumerate() {
        text.push_str(if position == 0 { "" } else { "," });
        write_line_start(text, depth + 1);
        write(text, item);
    }
    write_line_start(text, depth);
    text.push(close);
}

fn write_line_start(text: &mut String, depth: usize) {
    text.push('\n');
    for _ in 0..depth {
        text.push_str("  ");
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    let mut rest = string;
    // Escaped bytes are ASCII, so no character is split.
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' ')) {
        text.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            8 => text.push_str("\\b"),
            12 => text.push_str("\\f"),
            control => {
                // Writing to a string does not fail.
                let _ = write!(text, "\\u{control:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
    text.push('"');
}
