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
            to.write_all(field(&text(elements, position)).as_bytes())?;
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
pub(crate) fn text(elements: &ElementArray, position: usize) -> String {
    let data_type = elements.data_type();
    let name = data_type.name();
    let is_text = name == "string" || name.starts_with("fixed_length_utf32");
    if is_text
        && let Ok(Value::String(text)) =
            data_type.fill_value_json(elements.element(position), Format::V3, &ByteOrder::Little)
    {
        return text;
    }
    elements.print(position)
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
    fn three_dimensions_are_refused() {
        assert!(CsvWriter::new(&[2, 3, 4]).is_err());
        assert!(CsvWriter::new(&[]).is_ok());
    }
}
