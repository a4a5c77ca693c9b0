//! Fast decoding of the most common images: integers of 16 or 32 bits without loss and without missing pixels.
//!
//! Such an image consists of blocks. A block has an offset, and the difference of each pixel in a fixed number of bits.
//! Source: "LERC2" in the format description of Esri.

use lerc::{DataType, LercInfo};

/// The bytes before the checksum, which covers the bytes after it: "Lerc2 ", the version and the checksum.
const UNCHECKED: usize = 14;

/// Maximum of the rows and columns of a block. Encoders use 8 and 16.
const MAX_BLOCK: usize = 64;

/// The kinds of blocks, in the lowest bits of their first byte.
const RAW: u8 = 0;
const PACKED: u8 = 1;
const ZERO: u8 = 2;

/// Decodes an image to all of `room`. Returns `None` for an image of another form, and for a damaged one.
pub(crate) fn decode(encoded: &[u8], info: &LercInfo, room: &mut [u8]) -> Option<()> {
    let is_supported = cfg!(target_endian = "little")
        && info.version >= 3
        && info.bands == 1
        && info.depth == 1
        && u64::from(info.valid_pixels) == u64::from(info.width) * u64::from(info.height)
        && info.tolerance == 0.5
        && info.min_value < info.max_value
        && info.no_data_value.is_none();
    if !is_supported {
        return None;
    }
    let (size, range) = match info.data_type {
        DataType::Short => (2, i64::from(i16::MIN)..=i64::from(i16::MAX)),
        DataType::UShort => (2, 0..=i64::from(u16::MAX)),
        DataType::Int => (4, i64::from(i32::MIN)..=i64::from(i32::MAX)),
        DataType::UInt => (4, 0..=i64::from(u32::MAX)),
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "casts from floats saturate")]
    let largest = info.max_value as i64;
    let encoded = encoded.get(..usize::try_from(info.blob_size).ok()?)?;
    let checksum = u32::from_le_bytes(*encoded[..UNCHECKED].last_chunk()?);
    if info.max_value.fract() != 0.0
        || !range.contains(&largest)
        || checksum != fletcher(&encoded[UNCHECKED..])
    {
        return None;
    }
    let has_depth = info.version >= 4;
    let mut rest = Reader(encoded.get(UNCHECKED + if has_depth { 16 } else { 12 }..)?);
    let block_size = usize::try_from(rest.u32()?).ok().filter(|size| (1..=MAX_BLOCK).contains(size))?;
    // The sizes of the image, flags, limits of the pixels and the numbers of missing pixels.
    rest.take(if info.version >= 6 { 56 } else { 32 })?;
    let mask_size = rest.u32()?;
    let limits = rest.take(if has_depth { 2 * size } else { 0 })?;
    let is_raw = *rest.take(1)?.first()?;
    if mask_size != 0 || is_raw != 0 || (has_depth && limits[..size] == limits[size..]) {
        return None;
    }
    let width = usize::try_from(info.width).ok()?;
    let mut image =
        Image { rest, info, smallest: *range.start(), largest, block_size, width, differences: Vec::new() };
    match size {
        2 => image.decode::<2>(room),
        _ => image.decode::<4>(room),
    }
}

/// The bytes that were not read yet.
#[derive(Debug, Clone, Copy)]
struct Reader<'e>(&'e [u8]);

impl<'e> Reader<'e> {
    fn take(&mut self, size: usize) -> Option<&'e [u8]> {
        self.0.split_off(..size)
    }

    fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn number(&mut self, data_type: DataType) -> Option<i64> {
        Some(match data_type {
            DataType::Char => i8::from_le_bytes([self.byte()?]).into(),
            DataType::Byte => self.byte()?.into(),
            DataType::Short => i16::from_le_bytes(*self.take(2)?.first_chunk()?).into(),
            DataType::UShort => u16::from_le_bytes(*self.take(2)?.first_chunk()?).into(),
            DataType::Int => i32::from_le_bytes(*self.take(4)?.first_chunk()?).into(),
            DataType::UInt => self.u32()?.into(),
            _ => return None,
        })
    }

    /// Reads the number of elements that follow, which has 1, 2 or 4 bytes.
    fn count(&mut self, size: u8) -> Option<usize> {
        let count = match size {
            0 => self.u32()?,
            1 => u16::from_le_bytes(*self.take(2)?.first_chunk()?).into(),
            2 => self.byte()?.into(),
            _ => return None,
        };
        usize::try_from(count).ok()
    }

    /// Reads numbers of `bits` bits each, from 1 to 31, the least significant bit first.
    fn unpack(&mut self, bits: usize, numbers: &mut [u32]) -> Option<()> {
        let size = (numbers.len() * bits).div_ceil(8);
        let mask = (1_u64 << bits) - 1;
        let following = self.0;
        let packed = self.take(size)?;
        let mut padded = Vec::new();
        // Eight bytes are read for each number.
        let bytes = match following.get(..size + 8) {
            Some(bytes) => bytes,
            None => {
                padded.extend_from_slice(packed);
                padded.resize(size + 8, 0);
                &padded
            }
        };
        for (place, number) in numbers.iter_mut().enumerate() {
            let bit = place * bits;
            let word = u64::from_le_bytes(*bytes[bit / 8..].first_chunk()?);
            *number = u32::try_from(word >> (bit % 8) & mask).unwrap_or_default();
        }
        Some(())
    }
}

/// The rows and columns of a block.
#[derive(Debug, Clone, Copy)]
struct Block {
    top: usize,
    left: usize,
    height: usize,
    width: usize,
}

#[derive(Debug)]
struct Image<'e> {
    rest: Reader<'e>,
    info: &'e LercInfo,
    smallest: i64,
    largest: i64,
    block_size: usize,
    width: usize,
    /// The differences of the pixels of a block to its offset.
    differences: Vec<u32>,
}

impl Image<'_> {
    fn decode<const SIZE: usize>(&mut self, room: &mut [u8]) -> Option<()> {
        let (pixels, []) = room.as_chunks_mut::<SIZE>() else { return None };
        let height = pixels.len() / self.width;
        for top in (0..height).step_by(self.block_size) {
            for left in (0..self.width).step_by(self.block_size) {
                let [height, width] = [height - top, self.width - left].map(|size| size.min(self.block_size));
                self.block(Block { top, left, height, width }, pixels)?;
            }
        }
        Some(())
    }

    fn block<const SIZE: usize>(&mut self, block: Block, pixels: &mut [[u8; SIZE]]) -> Option<()> {
        let first = self.rest.byte()?;
        // Bits that repeat the position of the block. From version 5 on, one of them marks differences to another
        // depth.
        let (is_other, pattern) = if self.info.version >= 5 { (first & 4 != 0, 14) } else { (false, 15) };
        if is_other || usize::from(first >> 2 & pattern) != (block.left >> 3) & usize::from(pattern) {
            return None;
        }
        let rows = pixels.chunks_exact_mut(self.width).skip(block.top).take(block.height);
        let rows = rows.map(|row| &mut row[block.left..block.left + block.width]);
        let offset = match first & 3 {
            RAW => {
                let raw = self.rest.take(block.height * block.width * SIZE)?.as_chunks().0;
                rows.zip(raw.chunks_exact(block.width)).for_each(|(row, raw)| row.copy_from_slice(raw));
                return Some(());
            }
            ZERO => 0,
            _ => self.offset(first >> 6)?,
        };
        if first & 3 != PACKED {
            let pixel = low_bytes(offset);
            rows.for_each(|row| row.fill(pixel));
            return Some(());
        }
        let highest = self.unpack(block.height * block.width)?;
        let largest = self.largest;
        let is_limited = offset + i64::from(highest) > largest;
        for (row, differences) in rows.zip(self.differences.chunks_exact(block.width)) {
            let pixels = row.iter_mut().zip(differences);
            match is_limited {
                true => pixels.for_each(|(pixel, difference)| {
                    *pixel = low_bytes((offset + i64::from(*difference)).min(largest));
                }),
                false => {
                    pixels.for_each(|(pixel, difference)| *pixel = low_bytes(offset + i64::from(*difference)))
                }
            }
        }
        Some(())
    }

    /// Reads the offset of a block, whose data type may be smaller than that of the image.
    fn offset(&mut self, reduction: u8) -> Option<i64> {
        use DataType::{Byte, Char, Int, Short, UInt, UShort};
        let data_type = match (self.info.data_type, reduction) {
            (data_type, 0) => data_type,
            (UInt | Int, 1) => UShort,
            (Short | UShort, 1) | (UInt, 2) | (Int, 3) => Byte,
            (Short, 2) => Char,
            (Int, 2) => Short,
            _ => return None,
        };
        self.rest.number(data_type).filter(|offset| (self.smallest..=self.largest).contains(offset))
    }

    /// Reads the differences of a block, and returns an upper bound of them.
    fn unpack(&mut self, expected: usize) -> Option<u32> {
        let first = self.rest.byte()?;
        let bits = usize::from(first & 31);
        if self.rest.count(first >> 6)? != expected {
            return None;
        }
        self.differences.resize(expected, 0);
        if bits == 0 {
            self.differences.fill(0);
            return (first & 32 == 0).then_some(0);
        }
        if first & 32 == 0 {
            self.rest.unpack(bits, &mut self.differences)?;
        } else {
            let mut table = [0; 256];
            let count = usize::from(self.rest.byte()?).checked_sub(1).filter(|count| *count > 0)?;
            self.rest.unpack(bits, &mut table[1..=count])?;
            let index_bits = usize::try_from(count.ilog2()).ok()? + 1;
            self.rest.unpack(index_bits, &mut self.differences)?;
            for difference in &mut self.differences {
                *difference = *table[..=count].get(usize::try_from(*difference).ok()?)?;
            }
        }
        Some((1 << bits) - 1)
    }
}

/// Returns the bytes of a number that fits in `SIZE` bytes, in little-endian order.
fn low_bytes<const SIZE: usize>(number: i64) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    bytes.copy_from_slice(&number.to_le_bytes()[..SIZE]);
    bytes
}

/// Returns the checksum of Fletcher of 16-bit numbers in big-endian order. Sums of several numbers are added together.
fn fletcher(bytes: &[u8]) -> u32 {
    const TOGETHER: usize = 16;
    const MODULUS: u64 = 0xffff;
    let mut sum = 0;
    let mut sums = 0;
    let (groups, rest) = bytes.as_chunks::<{ 2 * TOGETHER }>();
    for group in groups {
        let mut group_sum = 0;
        let mut group_sums = 0;
        for (pair, weight) in group.as_chunks().0.iter().zip((1..=16).rev()) {
            let number = u32::from(u16::from_be_bytes(*pair));
            group_sum += number;
            group_sums += weight * number;
        }
        sums = (sums + 16 * sum + u64::from(group_sums)) % MODULUS;
        sum = (sum + u64::from(group_sum)) % MODULUS;
    }
    for pair in rest.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or_default());
        sums += sum;
    }
    // The library starts with the modulus, so sums that it divides are never 0.
    let [sum, sums] = [sum, sums].map(|sum| match u32::try_from(sum % MODULUS) {
        Ok(0) | Err(_) => 0xffff,
        Ok(sum) => sum,
    });
    sums << 16 | sum
}
