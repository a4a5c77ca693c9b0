//! Nested JSON arrays of elements.

use std::io::Write;

use zarr_kit::ElementArray;
use zarr_kit::spec::ByteOrder;

use super::Writer;
use super::element::to_json;
use crate::decoded::Decoder;
use crate::failure::Failure;

/// A writer of nested arrays, with the innermost dimension on one line.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    shape: Vec<u64>,
    /// Byte order of fill values that contain bytes.
    order: ByteOrder,
    position: u64,
    decoder: Option<Decoder>,
}

impl JsonWriter {
    pub(crate) fn new(shape: &[u64], order: ByteOrder) -> Self {
        Self { shape: shape.to_vec(), order, position: 0, decoder: None }
    }

    /// Sets the decoder; `None` writes elements as they are stored.
    pub(crate) fn with_decoder(mut self, decoder: Option<Decoder>) -> Self {
        self.decoder = decoder;
        self
    }

    /// Returns the number of arrays that begin or end at a position.
    fn boundaries(&self, position: u64) -> usize {
        let mut size = 1u64;
        self.shape
            .iter()
            .rev()
            .take_while(|&&length| {
                size = size.saturating_mul(length);
                position.is_multiple_of(size)
            })
            .count()
    }
}

impl Writer for JsonWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        let rank = self.shape.len();
        let decoded = self.decoder.as_ref().and_then(|decoder| decoder.decoded(elements));
        let mut decoded = decoded.into_iter().flatten();
        for element in elements.iter() {
            let opening = self.boundaries(self.position);
            if self.position > 0 {
                to.write_all(if opening == 0 { b", " } else { b",\n" })?;
            }
            if opening > 0 {
                let indent = if self.position == 0 { 0 } else { rank - opening };
                write!(to, "{:indent$}{}", "", "[".repeat(opening))?;
            }
            let value = match decoded.next() {
                Some(decoded) => Ok(decoded.into_json()),
                None => to_json(elements.data_type(), element, &self.order),
            };
            let value =
                value.map_err(|error| Failure::fault(format!("element {}: {error}", self.position)))?;
            write!(to, "{value}")?;
            self.position += 1;
            write!(to, "{}", "]".repeat(self.boundaries(self.position)))?;
        }
        Ok(())
    }

    fn finish(&mut self, to: &mut dyn Write) -> Result<(), Failure> {
        if self.shape.contains(&0) {
            write_empty(&self.shape, to)?;
        }
        Ok(writeln!(to)?)
    }
}

/// Writes an array without elements, such as `[[], []]`.
fn write_empty(shape: &[u64], to: &mut dyn Write) -> Result<(), Failure> {
    let Some((&length, inner)) = shape.split_first() else { return Ok(()) };
    to.write_all(b"[")?;
    for number in 0..length {
        if number > 0 {
            to.write_all(b", ")?;
        }
        write_empty(inner, to)?;
    }
    Ok(to.write_all(b"]")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_without_elements_keep_their_nesting() {
        let text = |shape: &[u64]| {
            let mut text = Vec::new();
            JsonWriter::new(shape, ByteOrder::Little).finish(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(&[0]), "[]\n");
        assert_eq!(text(&[2, 0]), "[[], []]\n");
        assert_eq!(text(&[0, 5]), "[]\n");
    }

    #[test]
    fn arrays_begin_and_end_according_to_the_shape() {
        let writer = JsonWriter::new(&[2, 3], ByteOrder::Little);
        let boundaries: Vec<_> = (0..7).map(|position| writer.boundaries(position)).collect();
        assert_eq!(boundaries, [2, 0, 0, 1, 0, 0, 2]);
    }
}
