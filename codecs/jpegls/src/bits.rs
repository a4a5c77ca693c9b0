//! The bits of a scan.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// Maximum number of bits that are read together.
const MAX_BITS: u32 = 32;

/// Reads bits, most significant first. After a byte `0xff`, the first bit of the next byte is padding and is skipped.
#[derive(Debug)]
pub(crate) struct Bits<'s> {
    bytes: &'s [u8],
    is_after_ones: bool,
    /// The next `count` bits, in the least significant bits.
    cache: u64,
    count: u32,
}

impl<'s> Bits<'s> {
    pub(crate) fn new(bytes: &'s [u8]) -> Self {
        Self { bytes, is_after_ones: false, cache: 0, count: 0 }
    }

    fn refill(&mut self) {
        while self.count <= u64::BITS - 16 {
            let Some((&byte, rest)) = self.bytes.split_first() else { return };
            let bits = if self.is_after_ones { 7 } else { 8 };
            self.cache = self.cache << bits | u64::from(byte);
            self.count += bits;
            self.is_after_ones = byte == 0xff;
            self.bytes = rest;
        }
    }

    /// Reads a number of up to 32 bits.
    pub(crate) fn number(&mut self, bits: u32) -> CodecResult<u32> {
        debug_assert!(bits <= MAX_BITS, "the cache has fewer bits");
        if self.count < bits {
            self.refill();
        }
        self.count = self.count.checked_sub(bits).ok_or_else(ends_early)?;
        let number = self.cache >> self.count & ((1 << bits) - 1);
        Ok(u32::try_from(number).unwrap_or_default())
    }

    pub(crate) fn bit(&mut self) -> CodecResult<bool> {
        Ok(self.number(1)? == 1)
    }

    /// Reads bits up to and including the next 1, and returns the number of zeros before it. More than `limit` zeros
    /// are an error.
    pub(crate) fn zeros(&mut self, limit: u32) -> CodecResult<u32> {
        let mut zeros = 0;
        loop {
            if self.count == 0 {
                self.refill();
            }
            if self.count == 0 {
                return Err(ends_early());
            }
            let next = (self.cache << (u64::BITS - self.count)).leading_zeros();
            if next < self.count {
                zeros += next;
                self.count -= next + 1;
                break;
            }
            zeros += self.count;
            self.count = 0;
            if zeros > limit {
                break;
            }
        }
        match zeros <= limit {
            true => Ok(zeros),
            false => Err(CodecError::corrupt("a code of the image is too long")),
        }
    }
}

fn ends_early() -> CodecError {
    CodecError::corrupt("the image ends early")
}
