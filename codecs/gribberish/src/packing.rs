//! The sizes of packings, which limit the memory for decoding.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::bits::{at, count, number};

/// The largest number of bits of a value.
const MOST_BITS: usize = 32;

/// The maximum number of bytes after the values.
const PADDING: usize = 8;

/// The library computes places of groups with floating-point numbers, which are exact below this number of bits.
const MOST_GROUP_BITS: usize = 1 << 24;

/// The largest number of blocks between two references of CCSDS.
const LONGEST_INTERVAL: u32 = 4096;

/// Checks that a packing has `packed` values.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn check(representation: &[u8], packed: usize, data: &[u8]) -> CodecResult {
    let template = number::<2>(representation, 9)?;
    let bits = count::<1>(representation, 19)?;
    let size = match template {
        0 | 41 => 21,
        2 => 47,
        3 => 49,
        42 => 25,
        40 => return Err(CodecError::corrupt("JPEG 2000 as packing of GRIB is not supported")),
        _ => {
            return Err(CodecError::corrupt(format!(
                "GRIB packings with template {template} are not supported"
            )));
        }
    };
    let is_right = representation.len() >= size
        && bits <= MOST_BITS
        && match template {
            0 => is_simple(bits, packed, data),
            2 | 3 => Groups::of(representation, template == 3)?.hold(packed, data),
            41 => is_png(packed, data),
            _ => is_ccsds(representation)?,
        };
    if is_right { Ok(()) } else { Err(CodecError::corrupt("the packing of the GRIB message is damaged")) }
}

fn is_simple(bits: usize, packed: usize, data: &[u8]) -> bool {
    let size = packed.checked_mul(bits).map(|bits| bits.div_ceil(8));
    bits == 0 || size.is_some_and(|size| (size..=size.saturating_add(PADDING)).contains(&data.len()))
}

/// The groups of the complex packing.
#[derive(Debug)]
struct Groups {
    count: usize,
    /// The number of bits before the references of the groups.
    start: usize,
    reference_bits: usize,
    width_bits: usize,
    length_bits: usize,
    width: u32,
    length: u32,
    increment: u32,
    last_length: u32,
}

impl Groups {
    fn of(representation: &[u8], has_differences: bool) -> CodecResult<Self> {
        let start = match has_differences {
            false => 0,
            true => {
                let order = count::<1>(representation, 47)?;
                let size = count::<1>(representation, 48)?;
                if !(1..=2).contains(&order) || !(1..=4).contains(&size) {
                    return Err(CodecError::corrupt("the differences of the GRIB message are damaged"));
                }
                (order + 1) * size * 8
            }
        };
        Ok(Self {
            count: count::<4>(representation, 31)?,
            start,
            reference_bits: count::<1>(representation, 19)?,
            width_bits: count::<1>(representation, 36)?,
            length_bits: count::<1>(representation, 46)?,
            width: number::<1>(representation, 35)?,
            length: number::<4>(representation, 37)?,
            increment: number::<1>(representation, 41)?,
            last_length: number::<4>(representation, 42)?,
        })
    }

    /// Returns whether the groups have `packed` values, and the data the bits of all of them.
    fn hold(&self, packed: usize, data: &[u8]) -> bool {
        let widest = self.reference_bits.max(self.width_bits).max(self.length_bits);
        if self.count == 0 {
            return true;
        }
        if self.count > packed || widest > MOST_BITS || self.count.saturating_mul(widest) >= MOST_GROUP_BITS {
            return false;
        }
        let whole_bytes = |bits: usize| bits.div_ceil(8) * 8;
        let widths = self.start + whole_bytes(self.count * self.reference_bits);
        let lengths = widths + whole_bytes(self.count * self.width_bits);
        let values = lengths + whole_bytes(self.count * self.length_bits);
        let mut found = 0_u64;
        let mut bits = values as u64;
        for group in 0..self.count {
            let width = at(data, widths + group * self.width_bits, self.width_bits);
            let length = at(data, lengths + group * self.length_bits, self.length_bits);
            let Some((width, length)) = width.zip(length) else { return false };
            let Some(width) = width.checked_add(self.width).filter(|&width| width <= 32) else {
                return false;
            };
            let length = match group + 1 == self.count {
                true => u64::from(self.last_length),
                false => u64::from(length) * u64::from(self.increment) + u64::from(self.length),
            };
            found += length;
            bits += length * u64::from(width);
            if found > packed as u64 {
                return false;
            }
        }
        found == packed as u64 && bits <= data.len() as u64 * 8
    }
}

/// Returns whether the image has a pixel for each value, without a palette.
fn is_png(packed: usize, data: &[u8]) -> bool {
    let side = |offset| count::<4>(data, offset).ok();
    let pixels = side(16).zip(side(20)).and_then(|(width, height)| width.checked_mul(height));
    data.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        && pixels == Some(packed)
        && data.get(25).is_some_and(|&color| color != 3)
}

fn is_ccsds(representation: &[u8]) -> CodecResult<bool> {
    let block = number::<1>(representation, 22)?;
    let interval = number::<2>(representation, 23)?;
    Ok([8, 16, 32, 64].contains(&block) && (1..=LONGEST_INTERVAL).contains(&interval))
}
