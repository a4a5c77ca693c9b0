//! Integers of more than 24 bits and a sign: their lowest bits are stored apart, because libwavpack does not read
//! blocks of larger integers.

use crate::blocks::{HEADER_SIZE, add_flags, set_size};

/// The bits of the integers that are compressed, without the sign.
const COMPRESSED: u32 = 24;

/// The flag of blocks with such integers.
const INT32_DATA: u32 = 1 << 8;

/// The identifiers of metadata: the number of bits, and the bits, whose size has three bytes.
const INT32_INFO: u8 = 0x09;
const EXTRA_BITS: u8 = 0x0c | 0x80;

/// Returns the number of bits of each sample that are stored apart.
pub(crate) fn extra_bits(samples: &[i32]) -> u32 {
    let all = samples.iter().fold(0, |all, &sample| all | (sample ^ sample >> 31).cast_unsigned());
    (u32::BITS - all.leading_zeros()).saturating_sub(COMPRESSED)
}

/// Adds the lowest bits of the samples to a block of the others.
pub(crate) fn add(extra: u32, samples: &[i32], block: &mut Vec<u8>) {
    let info = [INT32_INFO, 2, extra.to_le_bytes()[0], 0, 0, 0];
    block.splice(HEADER_SIZE..HEADER_SIZE, info);
    let mut content = checksum(samples).to_le_bytes().to_vec();
    content.extend(lowest_bits(extra, samples));
    let [low, middle, high, _] = u32::try_from(content.len() / 2).unwrap_or(u32::MAX).to_le_bytes();
    block.extend([EXTRA_BITS, low, middle, high]);
    block.extend(content);
    add_flags(block, INT32_DATA);
    set_size(block);
}

fn checksum(samples: &[i32]) -> u32 {
    samples.iter().fold(u32::MAX, |sum, &sample| {
        let sample = sample.cast_unsigned();
        let low = (sample & 0xffff).wrapping_mul(3);
        sum.wrapping_mul(9).wrapping_add(low).wrapping_add(sample >> 16)
    })
}

/// Returns the lowest bits of all samples, the lowest first, in an even number of bytes.
fn lowest_bits(extra: u32, samples: &[i32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for &sample in samples {
        bits |= (sample.cast_unsigned() & ((1 << extra) - 1)) << count;
        count += extra;
        while count >= 8 {
            bytes.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        bytes.push(bits.to_le_bytes()[0]);
    }
    if bytes.len() % 2 == 1 {
        bytes.push(0xff);
    }
    bytes
}
