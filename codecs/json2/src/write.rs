//! Writing JSON text like Python's `json`.

use std::fmt::Write as _;

use zarr_spec::{CodecError, Object, Output, Value};

use crate::Json2;

/// Writes JSON in the style of `codec`.
pub(crate) struct Writer<'a, 'o> {
    pub(crate) codec: &'a Json2,
    pub(crate) encoded: &'a mut Output<'o>,
}

impl Writer<'_, '_> {
    pub(crate) fn document(&mut self, document: &Value) -> Result<(), CodecError> {
        self.value(document, 0)
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), CodecError> {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.list(["[", "]"], depth, items, |writer, item| writer.value(item, depth + 1))
            }
            Value::Object(object) => {
                self.list(["{", "}"], depth, &self.members(object), |writer, (name, value)| {
                    writer.string(name)?;
                    writer.put(&writer.codec.separators[1])?;
                    writer.value(value, depth + 1)
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.put(&value.to_string()),
        }
    }

    /// Returns the members sorted by code points, which is the order of their UTF-8 bytes.
    fn members<'v>(&self, object: &'v Object) -> Vec<(&'v str, &'v Value)> {
        let mut members: Vec<_> = object.iter().collect();
        if self.codec.sort_keys {
            members.sort_unstable_by_key(|(name, _)| *name);
        }
        members
    }

    fn list<T>(
        &mut self,
        [open, close]: [&str; 2],
        depth: usize,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        self.put(open)?;
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                self.put(&self.codec.separators[0])?;
            }
            self.line(depth + 1)?;
            write(self, item)?;
        }
        if !items.is_empty() {
            self.line(depth)?;
        }
        self.put(close)
    }

    /// Starts a new line if there is an indentation.
    fn line(&mut self, depth: usize) -> Result<(), CodecError> {
        let Some(indent) = self.codec.indent else { return Ok(()) };
        self.put("\n")?;
        self.put(&" ".repeat(indent * depth))
    }

    fn string(&mut self, text: &str) -> Result<(), CodecError> {
        let mut escaped = String::with_capacity(text.len() + 2);
        escaped.push('"');
        for character in text.chars() {
            match character {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                '\u{8}' => escaped.push_str("\\b"),
                '\u{c}' => escaped.push_str("\\f"),
                ' '..='~' => escaped.push(character),
                '\u{7f}'.. if !self.codec.ensure_ascii => escaped.push(character),
                _ => escape(&mut escaped, character),
            }
        }
        escaped.push('"');
        self.put(&escaped)
    }

    fn put(&mut self, text: &str) -> Result<(), CodecError> {
        Ok(self.encoded.put(text.as_bytes())?)
    }
}

/// Escapes a character as its UTF-16 units.
fn escape(escaped: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(escaped, "\\u{unit:04x}");
    }
}
