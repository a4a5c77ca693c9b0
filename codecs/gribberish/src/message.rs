//! The sections of a message, and what they state about sizes.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::bits::{count, number};
use crate::packing;

/// The size of the indicator section, which is the first.
const INDICATOR_SIZE: usize = 16;

/// The last section.
const END: &[u8] = b"7777";

/// The largest number of rows and columns of a grid whose coordinates are computed.
const LARGEST_SIDE: usize = 1 << 20;

/// A message of edition 2 whose sections are complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'e> {
    pub(crate) bytes: &'e [u8],
    /// The first section with each number from 1 to 7.
    sections: [Option<&'e [u8]>; 7],
}

/// The grid of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    columns: usize,
    rows: usize,
    is_of_latitudes: bool,
}

impl<'e> Message<'e> {
    /// Finds the sections of the message at the beginning of `bytes`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`].
    pub(crate) fn of(bytes: &'e [u8]) -> CodecResult<Self> {
        let Some(indicator) =
            bytes.first_chunk::<INDICATOR_SIZE>().filter(|bytes| bytes.starts_with(b"GRIB"))
        else {
            return Err(CodecError::corrupt("the chunk is not a GRIB message"));
        };
        let [.., edition, b0, b1, b2, b3, b4, b5, b6, b7] = *indicator;
        if edition != 2 {
            return Err(CodecError::corrupt(format!("the GRIB message is of edition {edition}; expected 2")));
        }
        let incomplete = || CodecError::corrupt("the GRIB message is not complete");
        let size = usize::try_from(u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7])).ok();
        let bytes = size.and_then(|size| bytes.get(..size)).ok_or_else(incomplete)?;
        let sections = bytes.get(INDICATOR_SIZE..).and_then(|rest| rest.strip_suffix(END));
        let mut rest = sections.ok_or_else(incomplete)?;
        let mut sections = [None; 7];
        while !rest.is_empty() {
            let size = count::<4>(rest, 0)?;
            let place = count::<1>(rest, 4)?.wrapping_sub(1);
            let section = rest.split_at_checked(size).filter(|_| size >= 5);
            let Some(((section, after), slot)) = section.zip(sections.get_mut(place)) else {
                return Err(CodecError::corrupt("the sections of the GRIB message are damaged"));
            };
            slot.get_or_insert(section);
            rest = after;
        }
        Ok(Self { bytes, sections })
    }

    /// Returns the first section with a number.
    fn section(&self, number: usize) -> CodecResult<&'e [u8]> {
        let section = self.sections.get(number.wrapping_sub(1)).copied().flatten();
        section.ok_or_else(|| CodecError::corrupt(format!("the GRIB message does not have section {number}")))
    }

    /// Returns the grid of the first field.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], also for grids whose coordinates the library does not compute.
    pub(crate) fn grid(&self) -> CodecResult<Grid> {
        let section = self.section(3)?;
        let template = number::<2>(section, 12)?;
        let size = match template {
            0 | 10 => 72,
            20 => 65,
            30 => 81,
            _ => {
                return Err(CodecError::corrupt(format!(
                    "coordinates of GRIB grids with template {template} are not supported"
                )));
            }
        };
        let grid = Grid {
            columns: count::<4>(section, 30)?,
            rows: count::<4>(section, 34)?,
            is_of_latitudes: template == 0,
        };
        let points = count::<4>(section, 6)?;
        if section.len() < size || grid.columns.checked_mul(grid.rows) != Some(points) {
            return Err(CodecError::corrupt("the grid of the GRIB message is not regular"));
        }
        Ok(grid)
    }

    /// Checks that the first field has `count` points, and that decoding it takes no more memory.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`].
    pub(crate) fn check_field(&self, expected: usize) -> CodecResult {
        let points = count::<4>(self.section(3)?, 6)?;
        if points != expected {
            return Err(CodecError::corrupt(format!(
                "the grid of the GRIB message has {points} points; expected {expected}"
            )));
        }
        let representation = self.section(5)?;
        let packed = count::<4>(representation, 5)?;
        let bitmap = self.section(6)?;
        let present = match number::<1>(bitmap, 5)? {
            255 => points,
            0 => set_bits(&bitmap[6..], points)?,
            indicator => {
                return Err(CodecError::corrupt(format!(
                    "GRIB bitmaps of kind {indicator} are not supported"
                )));
            }
        };
        if packed != present {
            return Err(CodecError::corrupt(format!(
                "the GRIB message has {packed} packed values for {present} points"
            )));
        }
        packing::check(representation, packed, &self.section(7)?[5..])
    }
}

/// Counts the bits of a bitmap for `points`.
fn set_bits(bitmap: &[u8], points: usize) -> CodecResult<usize> {
    let is_expected = bitmap.len() == points.div_ceil(8);
    let padding = bitmap.last().map_or(0, |last| last.trailing_zeros() as usize);
    if !is_expected || padding < bitmap.len() * 8 - points {
        return Err(CodecError::corrupt("the bitmap of the GRIB message does not have a bit for each point"));
    }
    Ok(bitmap.iter().map(|byte| byte.count_ones() as usize).sum())
}

impl Grid {
    /// Returns whether the rows and columns are latitudes and longitudes.
    pub(crate) fn is_of_latitudes(self) -> bool {
        self.is_of_latitudes
    }

    /// Checks that the grid has `count` points.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`].
    pub(crate) fn check_points(self, count: usize) -> CodecResult {
        self.check(self.rows.saturating_mul(self.columns), count)
    }

    /// Checks that the grid has `count` latitudes or longitudes.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`].
    pub(crate) fn check_coordinates(self, latitudes: bool, count: usize) -> CodecResult {
        let found = match (self.is_of_latitudes, latitudes) {
            (true, true) => self.rows,
            (true, false) => self.columns,
            (false, _) => self.rows.saturating_mul(self.columns),
        };
        self.check(found, count)
    }

    fn check(self, found: usize, expected: usize) -> CodecResult {
        if found != expected || self.rows > LARGEST_SIDE || self.columns > LARGEST_SIDE {
            let Self { rows, columns, .. } = self;
            return Err(CodecError::corrupt(format!(
                "the grid of the GRIB message has {rows} rows and {columns} columns; expected {expected} elements"
            )));
        }
        Ok(())
    }
}
