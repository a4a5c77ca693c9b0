//! Comma-separated values (RFC 4180).

use std::io::Write;

use zarr_kit::ElementArray;
use zarr_kit::spec::DataType;
use zarr_kit::spec::data_type::Field;

use super::Writer;
use super::element::{parts, to_text};
use crate::decoded::Decoder;
use crate::failure::Failure;

/// A writer of one line for each row. A one-dimensional array has one value per row, or one for each field of
/// its structure.
#[derive(Debug)]
pub(crate) struct CsvWriter {
    columns: u64,
    column: u64,
    /// The fields of a structure, which the first line names.
    fields: Vec<Field>,
    has_header: bool,
    decoder: Option<Decoder>,
}

impl CsvWriter {
    /// Creates a writer. Refuses shapes of more than two dimensions.
    pub(crate) fn new(data_type: &dyn DataType, shape: &[u64]) -> Result<Self, Failure> {
        let (columns, fields) = match shape {
            [] | [_] => (1, data_type.fields().unwrap_or_default()),
            [_, columns] => (*columns, &[][..]),
            _ => {
                return Err(Failure::fault(format!(
                    "CSV is limited to 2 dimensions, but the selection has {}; an integer in --select drops a \
                         dimension",
                    shape.len()
                )));
            }
        };
        let fields = fields.iter().filter(|field| !field.name.is_empty()).cloned().collect();
        Ok(Self { columns, column: 0, fields, has_header: false, decoder: None })
    }

    /// Sets the decoder; `None` writes elements as they are stored.
    pub(crate) fn with_decoder(mut self, decoder: Option<Decoder>) -> Self {
        self.decoder = decoder;
        self
    }

    fn write_header(&mut self, to: &mut dyn Write) -> Result<(), Failure> {
        if !self.fields.is_empty() && !self.has_header {
            write_row(self.fields.iter().map(|field| field.name.clone()), to)?;
        }
        self.has_header = true;
        Ok(())
    }
}

impl Writer for CsvWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        self.write_header(to)?;
        let data_type = elements.data_type();
        let decoded = self.decoder.as_ref().and_then(|decoder| decoder.decoded(elements));
        let mut decoded = decoded.into_iter().flatten();
        for element in elements.iter() {
            if !self.fields.is_empty() {
                let cells = self.fields.iter().map(|field| cell(field, element));
                write_row(cells.collect::<Result<Vec<_>, _>>()?.into_iter(), to)?;
                continue;
            }
            if self.column > 0 {
                to.write_all(b",")?;
            }
            let text = match decoded.next() {
                Some(decoded) => decoded.into_text(),
                None => to_text(data_type, element)?,
            };
            to.write_all(field(&text).as_bytes())?;
            self.column += 1;
            if self.column == self.columns {
                self.column = 0;
                to.write_all(b"\r\n")?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, to: &mut dyn Write) -> Result<(), Failure> {
        self.write_header(to)
    }
}

fn write_row(cells: impl Iterator<Item = String>, to: &mut dyn Write) -> Result<(), Failure> {
    let cells: Vec<_> = cells.map(|cell| field(&cell)).collect();
    Ok(write!(to, "{}\r\n", cells.join(","))?)
}

/// Formats a field of a structure. A field with several elements is in brackets.
fn cell(field: &Field, element: &[u8]) -> Result<String, Failure> {
    let texts = parts(field, element).map(|part| to_text(&*field.data_type, part));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    Ok(if field.shape.is_empty() { texts.concat() } else { format!("[{}]", texts.join(", ")) })
}

/// Quotes a value if necessary. Empty values are quoted too, because many readers skip empty lines.
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
    fn values_are_quoted_where_necessary() {
        assert_eq!(field("plain text"), "plain text");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(field("two\nlines"), "\"two\nlines\"");
        assert_eq!(field(""), "\"\"");
    }
}
