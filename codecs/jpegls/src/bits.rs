//! The bits of a scan.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// Maximum number of bits that are read together.
const MAX_BITS: u32 = 32;

/// The number of bits that the cache has after it was filled, unless the stream ends.
const FILLED: u32 = 56;

/// Reads bits, most significant first. After a byte `0xff`, the first bit of the next byte is padding and is skipped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'s> {
    bytes: &'s [u8],
    is_after_ones: bool,
    /// The next `count` bits, in the most significant bits. The bits below these are zeros, or bits that follow.
    cache: u64,
    /// At most 63.
    count: u32,
}

impl<'s> Bits<'s> {
    pub(crate) fn new(bytes: &'s [u8]) -> Self {
        Self { bytes, is_after_ones: false, cache: 0, count: 0 }
    }

    /// Fills the cache. Eight bytes are read together if none of them is `0xff`.
    #[inline]
    fn refill(&mut self) {
        if self.count >= MAX_BITS {
            return;
        }
        if let Some(next) = self.bytes.first_chunk::<8>() {
            let next = u64::from_be_bytes(*next);
            if !self.is_after_ones && !has_ones(next) {
                let bytes = (u64::BITS - 1 - self.count) / 8;
                self.cache |= next >> self.count;
                self.count += 8 * bytes;
                self.bytes = &self.bytes[bytes as usize..];
                return;
            }
        }
        self.refill_by_bytes();
    }

    #[cold]
    #[inline(never)]
    fn refill_by_bytes(&mut self) {
        while self.count < FILLED {
            let Some((&byte, rest)) = self.bytes.split_first() else { return };
            let bits = if self.is_after_ones { 7 } else { 8 };
            self.count += bits;
            self.cache |= u64::from(byte) << (u64::BITS - self.count);
            self.is_after_ones = byte == 0xff;
            self.bytes = rest;
        }
    }

    /// Reads a number of up to 32 bits.
    pub(crate) fn number(&mut self, bits: u32) -> CodecResult<u32> {
        debug_assert!(bits <= MAX_BITS, "the cache has fewer bits");
        self.refill();
        self.count = self.count.checked_sub(bits).ok_or_else(ends_early)?;
        let number = (self.cache >> 1) >> (u64::BITS - 1 - bits);
        self.cache <<= bits;
        Ok(u32::try_from(number).unwrap_or_default())
    }

    pub(crate) fn bit(&mut self) -> CodecResult<bool> {
        Ok(self.number(1)? == 1)
    }

    /// Reads a 1 after fewer than `limit` zeros, and a number of `bits` bits; `None`, and reads nothing, if there are
    /// more zeros or if the cache does not have all these bits. Returns the zeros and the number as one number.
    #[inline]
    pub(crate) fn short_code(&mut self, bits: u32, limit: u32) -> Option<u64> {
        self.refill();
        let zeros = self.cache.leading_zeros();
        let size = zeros + 1 + bits;
        if zeros >= limit || size > self.count {
            return None;
        }
        let rest = self.cache << (zeros + 1);
        self.cache = rest << bits;
        self.count -= size;
        Some(u64::from(zeros) << bits | (rest >> 1) >> (u64::BITS - 1 - bits))
    }

    /// Reads bits up to and including the next 1, and returns the number of zeros before it. More than `limit` zeros
    /// are an error.
    pub(crate) fn zeros(&mut self, limit: u32) -> CodecResult<u32> {
        let mut zeros = 0;
        loop {
            self.refill();
            if self.count == 0 {
                return Err(ends_early());
            }
            let next = self.cache.leading_zeros();
            if next < self.count {
                zeros += next;
                self.count -= next + 1;
                self.cache = (self.cache << next) << 1;
                break;
            }
            zeros += self.count;
            self.cache <<= self.count;
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

/// Returns whether a byte of `bytes` is `0xff`.
#[inline]
fn has_ones(bytes: u64) -> bool {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    const ONE: u64 = u64::from_ne_bytes([1; 8]);
    ((bytes & LOW) + ONE) & bytes & !LOW != 0
}

#[cold]
fn ends_early() -> CodecError {
    CodecError::corrupt("the image ends early")
}
