//! Raw elements: C order, little endian; items of variable length behind their size in bytes as `u32`.

use std::io::Write;

use zarr_kit::ElementArray;
use zarr_kit::spec::{ByteOrder, Elements};

use super::Writer;
use crate::failure::Failure;

/// Elements one after another.
#[derive(Debug)]
pub(crate) struct RawWriter;

impl Writer for RawWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        let layout = elements.data_type().elements();
        if layout == Elements::Variable {
            return elements.iter().try_for_each(|element| write_variable(element, to));
        }
        if !super::is_reordered(&ByteOrder::Little) {
            return Ok(to.write_all(elements.bytes())?);
        }
        let mut bytes = elements.bytes().to_vec();
        super::reorder(&mut bytes, &layout, &ByteOrder::Little);
        Ok(to.write_all(&bytes)?)
    }

    fn finish(&mut self, _to: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}

fn write_variable(element: &[u8], to: &mut dyn Write) -> Result<(), Failure> {
    let size = u32::try_from(element.len());
    let size = size.map_err(|_| {
        Failure::fault(format!("an item of {} bytes is too long for raw form", element.len()))
    })?;
    to.write_all(&size.to_le_bytes())?;
    Ok(to.write_all(element)?)
}

/// The items of variable length in `bytes`, which are all of it.
pub(crate) fn parse_variable(bytes: &[u8], count: u64) -> Result<Vec<&[u8]>, Failure> {
    let mut rest = bytes;
    let mut items = Vec::new();
    while (items.len() as u64) < count {
        let Some((one, behind)) = split_item(rest) else {
            return Err(Failure::fault(format!(
                "item {} of {count} is cut short: {} bytes are left, u32 size and then the bytes are wanted",
                items.len(),
                rest.len()
            )));
        };
        items.push(one);
        rest = behind;
    }
    if rest.is_empty() {
        return Ok(items);
    }
    Err(Failure::fault(format!("{} bytes are left behind {count} items", rest.len())))
}

/// The first item, and what stands behind it.
fn split_item(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, behind) = bytes.split_first_chunk::<4>()?;
    behind.split_at_checked(usize::try_from(u32::from_le_bytes(*size)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_variable_length_are_counted_to_the_last_byte() {
        let bytes = b"\x02\0\0\0ab\0\0\0\0\x01\0\0\0c";
        assert_eq!(parse_variable(bytes, 3).unwrap(), [&b"ab"[..], b"", b"c"]);
        assert!(parse_variable(bytes, 4).is_err());
        assert!(parse_variable(bytes, 2).is_err());
        assert!(parse_variable(b"\x05\0\0\0ab", 1).is_err());
        assert!(parse_variable(b"\x05\0", 1).is_err());
        assert!(parse_variable(b"", 0).unwrap().is_empty());
    }
}
