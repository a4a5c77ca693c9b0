//! The pages of a column: levels, dictionaries and values.
//!
//! Source: "Data Pages" and "Parquet encoding definitions" of Apache Parquet.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use super::thrift::{self, Value};
use super::{Cell, ColumnChunk, MAX_DECODED};

/// The decompressed bytes that may still be read from a file.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Self {
        Self(MAX_DECODED)
    }

    fn take(&mut self, size: usize) -> Result<(), String> {
        self.0 = self
            .0
            .checked_sub(size)
            .ok_or_else(|| format!("it decompresses to more than {MAX_DECODED} bytes"))?;
        Ok(())
    }
}

/// Appends the cells of a column chunk.
///
/// # Errors
///
/// If the chunk is damaged, or has an encoding or compression that is not supported.
pub(super) fn read(
    chunk: &ColumnChunk,
    budget: &mut Budget,
    cells: &mut Vec<Option<Cell>>,
) -> Result<(), String> {
    let end = cells.len() + chunk.count;
    let mut dictionary = Vec::new();
    let mut rest = &chunk.pages[..];
    while cells.len() < end {
        let (header, body) = thrift::structure(rest)?;
        let (body, following) = body.split_at_checked(header.count(3)?).ok_or("it ends within a page")?;
        rest = following;
        let page = Page { chunk, header: &header, body, most: end - cells.len() };
        match header.integer(1) {
            Some(0) => page.first_version(budget, &dictionary, cells)?,
            Some(2) => dictionary = page.dictionary(budget)?,
            Some(3) => page.second_version(budget, &dictionary, cells)?,
            // An index page does not contain values.
            _ => {}
        }
    }
    Ok(())
}

struct Page<'p> {
    chunk: &'p ColumnChunk,
    header: &'p Value<'p>,
    body: &'p [u8],
    /// The maximum number of cells in the page.
    most: usize,
}

/// A data page without its levels.
struct Values {
    is_present: Option<Vec<u32>>,
    count: usize,
    encoding: Option<i64>,
    bytes: Bytes,
}

impl Page<'_> {
    fn dictionary(&self, budget: &mut Budget) -> Result<Vec<Cell>, String> {
        let header = self.header.member(7).ok_or("a dictionary does not have a header")?;
        let encoding = header.integer(2);
        if !matches!(encoding, Some(0 | 2)) {
            return Err(unknown_encoding(encoding));
        }
        let values = self.decompressed(self.body, self.header.count(2)?, budget)?;
        plain(self.chunk.kind, &values, header.count(1)?)
    }

    fn first_version(
        &self,
        budget: &mut Budget,
        dictionary: &[Cell],
        cells: &mut Vec<Option<Cell>>,
    ) -> Result<(), String> {
        let header = self.header.member(5).ok_or("a page does not have a header")?;
        let count = self.checked(header.count(1)?)?;
        let mut bytes = self.decompressed(self.body, self.header.count(2)?, budget)?;
        let mut is_present = None;
        if self.chunk.is_optional {
            if header.integer(3) != Some(3) {
                return Err("its levels have an encoding that is not supported".to_owned());
            }
            let size = bytes.first_chunk().map(|size| u32::from_le_bytes(*size) as usize);
            let size = size.filter(|size| *size <= bytes.len() - 4).ok_or("it ends within its levels")?;
            is_present = Some(hybrid(&bytes[4..4 + size], 1, count)?);
            bytes = bytes.slice(4 + size..);
        }
        self.put(Values { is_present, count, encoding: header.integer(2), bytes }, dictionary, cells)
    }

    fn second_version(
        &self,
        budget: &mut Budget,
        dictionary: &[Cell],
        cells: &mut Vec<Option<Cell>>,
    ) -> Result<(), String> {
        let header = self.header.member(8).ok_or("a page does not have a header")?;
        let count = self.checked(header.count(1)?)?;
        let levels = header.count(5)?;
        let (levels, body) = self.body.split_at_checked(levels).ok_or("it ends within its levels")?;
        let size = self.header.count(2)?.checked_sub(levels.len()).ok_or("a page has a wrong size")?;
        let bytes = match header.integer(7) {
            Some(0) => self.chunk.pages.slice_ref(body),
            _ => self.decompressed(body, size, budget)?,
        };
        let has_levels = self.chunk.is_optional && header.integer(2) != Some(0);
        let is_present = has_levels.then(|| hybrid(levels, 1, count)).transpose()?;
        self.put(Values { is_present, count, encoding: header.integer(4), bytes }, dictionary, cells)
    }

    fn checked(&self, count: usize) -> Result<usize, String> {
        if count > self.most { Err("a page has too many values".to_owned()) } else { Ok(count) }
    }

    fn put(&self, page: Values, dictionary: &[Cell], cells: &mut Vec<Option<Cell>>) -> Result<(), String> {
        let Values { is_present, count, encoding, bytes } = page;
        let present =
            is_present.as_ref().map_or(count, |levels| levels.iter().filter(|level| **level == 1).count());
        let values = match encoding {
            // A column that contains only nulls may have any type.
            _ if present == 0 => Vec::new(),
            Some(0) => plain(self.chunk.kind, &bytes, present)?,
            Some(2 | 8) => from_dictionary(&bytes, dictionary, present)?,
            encoding => return Err(unknown_encoding(encoding)),
        };
        let mut values = values.into_iter();
        match is_present {
            None => cells.extend(values.map(Some)),
            Some(levels) => {
                cells.extend(levels.iter().map(|level| if *level == 1 { values.next() } else { None }));
            }
        }
        Ok(())
    }

    /// Decompresses bytes to `size` bytes.
    fn decompressed(&self, bytes: &[u8], size: usize, budget: &mut Budget) -> Result<Bytes, String> {
        if self.chunk.codec == 0 {
            return Ok(self.chunk.pages.slice_ref(bytes));
        }
        budget.take(size)?;
        let decompressed = match self.chunk.codec {
            1 => {
                let declared = snap::raw::decompress_len(bytes).map_err(|error| error.to_string())?;
                if declared != size {
                    return Err(format!("a page declares {declared} decompressed bytes, expected {size}"));
                }
                snap::raw::Decoder::new().decompress_vec(bytes).map_err(|error| error.to_string())?
            }
            2 => {
                let mut decompressed = Vec::new();
                let limit = size as u64 + 1;
                let read = MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut decompressed);
                read.map_err(|error| error.to_string())?;
                decompressed
            }
            6 => zstd::bulk::decompress(bytes, size).map_err(|error| error.to_string())?,
            codec => {
                let name = ["", "", "", "lzo", "brotli", "lz4", "", "lz4_raw"];
                let name =
                    usize::try_from(codec).ok().and_then(|codec| name.get(codec)).unwrap_or(&"unknown");
                return Err(format!(
                    "it is compressed with {name}; expected zstd, snappy, gzip or no compression"
                ));
            }
        };
        match decompressed.len() == size {
            true => Ok(decompressed.into()),
            false => Err(format!("a page has {} decompressed bytes, expected {size}", decompressed.len())),
        }
    }
}

/// Reads `count` values that are stored one after the other.
fn plain(kind: i64, bytes: &Bytes, count: usize) -> Result<Vec<Cell>, String> {
    let mut rest = &bytes[..];
    let mut one = || match kind {
        1 => Ok(Cell::Integer(i64::from(i32::from_le_bytes(taken(&mut rest)?)))),
        2 => Ok(Cell::Integer(i64::from_le_bytes(taken(&mut rest)?))),
        6 => {
            let size = u32::from_le_bytes(taken(&mut rest)?) as usize;
            let (value, following) = rest.split_at_checked(size).ok_or("it ends within a value")?;
            rest = following;
            Ok(Cell::Bytes(bytes.slice_ref(value)))
        }
        kind => Err(format!("it has values of type {kind}; expected integers or bytes")),
    };
    (0..count).map(|_| one()).collect()
}

fn taken<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let (first, following) = rest.split_first_chunk().ok_or("it ends within a value")?;
    *rest = following;
    Ok(*first)
}

fn from_dictionary(bytes: &[u8], dictionary: &[Cell], count: usize) -> Result<Vec<Cell>, String> {
    let (width, indices) = bytes.split_first().ok_or("it ends before the indices of a dictionary")?;
    let cell = |index: u32| dictionary.get(index as usize).cloned();
    let indices = hybrid(indices, u32::from(*width), count)?.into_iter();
    indices
        .map(|index| cell(index).ok_or_else(|| format!("its dictionary does not have entry {index}")))
        .collect()
}

/// Reads `count` numbers of `width` bits, which are in runs of equal numbers and in groups of 8.
fn hybrid(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, String> {
    if width > 32 {
        return Err(format!("it has numbers of {width} bits"));
    }
    let mut numbers = Vec::new();
    let mut rest = bytes;
    while numbers.len() < count {
        let (header, following) = thrift::unsigned(rest)?;
        let length = usize::try_from(header >> 1).map_err(|error| error.to_string())?;
        let left = count - numbers.len();
        if header & 1 == 0 {
            let (number, following) =
                following.split_at_checked(width.div_ceil(8) as usize).ok_or("it ends within a run")?;
            let number = number.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
            numbers.extend(std::iter::repeat_n(number, length.min(left)));
            rest = following;
        } else {
            let size = length.checked_mul(width as usize).ok_or("a group is too long")?;
            // Some writers omit the end of the last group.
            let (packed, following) = following.split_at(size.min(following.len()));
            unpack(packed, width, length.saturating_mul(8).min(left), &mut numbers)?;
            rest = following;
        }
    }
    Ok(numbers)
}

/// Appends `count` numbers of `width` bits, of which the lowest bits come first.
fn unpack(packed: &[u8], width: u32, count: usize, numbers: &mut Vec<u32>) -> Result<(), String> {
    let mut bytes = packed.iter();
    let mut bits = 0_u64;
    let mut available = 0;
    let mask = (1_u64 << width) - 1;
    for _ in 0..count {
        while available < width {
            bits |= u64::from(*bytes.next().ok_or("it ends within a group")?) << available;
            available += 8;
        }
        numbers.push(u32::try_from(bits & mask).unwrap_or(u32::MAX));
        bits >>= width;
        available -= width;
    }
    Ok(())
}

fn unknown_encoding(encoding: Option<i64>) -> String {
    let encoding =
        encoding.map_or_else(|| "no encoding".to_owned(), |encoding| format!("encoding {encoding}"));
    format!("its values have {encoding}; expected plain values or a dictionary")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification: the numbers 0 to 7 in 3 bits, and a run.
    #[test]
    fn runs_and_groups_are_read() {
        let bytes = [0x03, 0x88, 0xc6, 0xfa, 0x06, 0x05];
        assert_eq!(hybrid(&bytes, 3, 11).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5]);
        assert_eq!(hybrid(&bytes, 3, 5).unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(hybrid(&[4], 0, 2).unwrap(), [0, 0]);
        assert_eq!(hybrid(&[3, 255, 255, 255, 255], 32, 1).unwrap(), [u32::MAX]);
        for (bytes, width, count) in [
            (&bytes[..], 3, 12),
            (&bytes[..2], 3, 8),
            (&[], 1, 1),
            (&[2], 8, 1),
            (&[0, 0], 33, 1),
            (&[255; 12], 1, 1),
        ] {
            assert!(hybrid(bytes, width, count).is_err(), "{bytes:?}");
        }
    }
}
