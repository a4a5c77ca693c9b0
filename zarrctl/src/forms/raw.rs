//! Raw elements in C order, little endian. Each item of variable length follows its size in bytes as `u32`.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::ops::Range;

use zarr_kit::ElementArray;
use zarr_kit::spec::{ByteOrder, Elements};

use super::Writer;
use crate::failure::Failure;

/// A writer of elements without a header.
#[derive(Debug)]
pub(crate) struct RawWriter;

impl Writer for RawWriter {
    fn write(&mut self, elements: &ElementArray, to: &mut dyn Write) -> Result<(), Failure> {
        let layout = elements.data_type().elements();
        if layout == Elements::Variable {
            return elements.iter().try_for_each(|element| write_variable(element, to));
        }
        Ok(to.write_all(&little_endian(elements))?)
    }

    fn finish(&mut self, _to: &mut dyn Write) -> Result<(), Failure> {
        Ok(())
    }
}

pub(crate) fn little_endian(elements: &ElementArray) -> Cow<'_, [u8]> {
    if !super::is_reordered(&ByteOrder::Little) {
        return Cow::Borrowed(elements.bytes());
    }
    let mut bytes = elements.bytes().to_vec();
    super::reorder(&mut bytes, &elements.data_type().elements(), &ByteOrder::Little);
    Cow::Owned(bytes)
}

fn write_variable(element: &[u8], to: &mut dyn Write) -> Result<(), Failure> {
    let size = u32::try_from(element.len());
    let size = size.map_err(|_| {
        Failure::fault(format!(
            "an item of {} bytes is too long for raw output (at most 4 GiB)",
            element.len()
        ))
    })?;
    to.write_all(&size.to_le_bytes())?;
    Ok(to.write_all(element)?)
}

/// Items of variable size, one after another.
#[derive(Debug, Default)]
pub(crate) struct Items {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Items {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

/// Reads the items `numbers` of `all` items. Together they may have at most `limit` bytes.
pub(crate) fn read_items(
    from: &mut dyn Read,
    numbers: Range<u64>,
    all: u64,
    limit: u64,
) -> Result<Items, Failure> {
    let mut items = Items::default();
    for number in numbers {
        let truncated = |wanted: u64, left: usize| {
            Failure::fault(format!(
                "item {number} of {all} is truncated: expected {wanted} bytes, found {left}; each raw item is its \
                     size as u32, followed by its bytes"
            ))
        };
        let mut size = Vec::new();
        from.take(4).read_to_end(&mut size)?;
        let size = <[u8; 4]>::try_from(size).map_err(|size| truncated(4, size.len()))?;
        let size = u64::from(u32::from_le_bytes(size));
        if items.bytes.len() as u64 + size > limit {
            return Err(Failure::fault(format!(
                "item {number}: the items of a chunk have more than {limit} bytes"
            )));
        }
        let read = from.take(size).read_to_end(&mut items.bytes)?;
        if read as u64 != size {
            return Err(truncated(size, read));
        }
        items.ends.push(items.bytes.len());
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8], count: u64) -> Result<Vec<Vec<u8>>, Failure> {
        let items = read_items(&mut bytes, 0..count, count, 3)?;
        Ok(items.iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn items_of_variable_size_are_read_one_after_another() {
        let bytes = b"\x02\0\0\0ab\0\0\0\0\x01\0\0\0c";
        assert_eq!(read(bytes, 3).unwrap(), [&b"ab"[..], b"", b"c"]);
        assert_eq!(read(bytes, 2).unwrap(), [&b"ab"[..], b""]);
        assert!(read(b"", 0).unwrap().is_empty());
    }

    #[test]
    fn items_that_are_truncated_or_too_large_are_refused() {
        for (bytes, count, part) in [
            (&b"\x02\0\0\0ab"[..], 2, "item 1 of 2 is truncated: expected 4 bytes, found 0"),
            (b"\x03\0\0\0ab", 1, "item 0 of 1 is truncated: expected 3 bytes, found 2"),
            (b"\x05\0", 1, "item 0 of 1 is truncated: expected 4 bytes, found 2"),
            (b"\x02\0\0\0ab\x02\0\0\0ab", 2, "item 1: the items of a chunk have more than 3 bytes"),
        ] {
            let message = read(bytes, count).unwrap_err().message().unwrap();
            assert!(message.contains(part), "{message}");
        }
    }
}
