//! Lines of values between commas, as RFC 4180 has them.

use std::io::Write;

use zarr_kit::ElementArray;
use zarr_kit::spec::{ByteOrder, Format, Value};

use super::Writer;
use crate::failure::Failure;

/// One line for each row; an array of one dimension has one value in a row.
#[derive(Debug)]
pub(crate) struct CsvWriter {
    columns: u64,
    column: u64,
}

impl CsvWriter {
    /// For elements of a shape of at most two dimensions.
    pub(crate) fn new(shape: &[u64]) -> Result<Self, Failure> {
        match shape {
            [] | [_] => Ok(Self { columns: 1, column: 0 }),
            [_, columns] => Ok(Self { columns: *columns, column: 0 }),
            _ => Err(Failure::fault(format!(
                "csv has at most two dimensions, and the selection has {}; integers in --select drop dimensions",
                shape.len()
            ))),
        }
    }
}

impl Writer for CsvWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        for position in 0..elements.count() {
            if self.column > 0 {
                to.write_all(b",")?;
            }
            to.write_all(field(&text(elements, position)?).as_bytes())?;
            self.column += 1;
            if self.column == self.columns {
                self.column = 0;
                to.write_all(b"\r\n")?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _to: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}

/// An element as people read it; text as it is.
pub(crate) fn text(elements: &ElementArray, position: usize) -> Result<String, Failure> {
    let printed = elements.print(position)?;
    let json =
        elements.data_type().fill_value_json(elements.element(position), Format::V3, &ByteOrder::Little);
    Ok(match json {
        Ok(Value::String(text)) if is_text(&text, &printed) => text,
        _ => printed,
    })
}

/// Whether an element that is `text` in JSON is text and not, say, bytes in Base64: printed it is the same, apart from
/// characters that could upset a terminal.
fn is_text(text: &str, printed: &str) -> bool {
    let mut rest = printed.chars();
    let mut follows = |character: char| rest.next() == Some(character);
    text.chars().all(|character| match character.is_control() {
        true => character.escape_default().all(&mut follows),
        false => follows(character),
    }) && rest.next().is_none()
}

/// In quotes where that is needed, and for nothing at all: an empty line would be no row for many readers.
fn field(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        assert_eq!(field("plain text"), "plain text");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(field("two\nlines"), "\"two\nlines\"");
        assert_eq!(field(""), "\"\"");
    }

    #[test]
    fn text_is_what_is_printed_as_itself() {
        for (text, printed) in [("ögr", "ögr"), ("a\nb", "a\\nb"), ("\u{1}", "\\u{1}"), ("", "")] {
            assert!(is_text(text, printed), "{printed}");
        }
        for (text, printed) in [("AQI=", "0102"), ("a", "\"a\""), ("a", "ab"), ("ab", "a"), ("a\nb", "a\nb")]
        {
            assert!(!is_text(text, printed), "{printed}");
        }
    }

    #[test]
    fn three_dimensions_are_refused() {
        assert!(CsvWriter::new(&[2, 3, 4]).is_err());
        assert!(CsvWriter::new(&[]).is_ok());
    }
}
