//! Streams of bits. The highest bit of each byte comes first.

/// Reads bits.
#[derive(Debug)]
pub(crate) struct BitReader<'b> {
    rest: &'b [u8],
    /// The next bits, in the highest places; the other bits are 0.
    next: u64,
    /// The number of bits in `next`.
    count: u32,
}

impl<'b> BitReader<'b> {
    pub(crate) const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes, next: 0, count: 0 }
    }

    /// Reads an integer of up to 32 bits; `None` at the end.
    pub(crate) fn bits(&mut self, size: u32) -> Option<u32> {
        if self.count < size {
            self.refill();
        }
        if size == 0 {
            return Some(0);
        }
        let number = u32::try_from(self.next >> (64 - size)).ok().filter(|_| size <= self.count)?;
        self.skip(size);
        Some(number)
    }

    /// Reads bits up to and including the next 1, and returns the number of zeros before it; `None` at the end.
    pub(crate) fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0_u32;
        loop {
            self.refill();
            let leading = self.next.leading_zeros();
            if leading < self.count {
                self.skip(leading + 1);
                return zeros.checked_add(leading);
            }
            if self.rest.is_empty() {
                return None;
            }
            zeros = zeros.checked_add(self.count)?;
            self.skip(self.count);
        }
    }

    /// Returns whether only zeros that fill the last byte are left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.refill();
        self.count < 8 && self.next == 0
    }

    fn refill(&mut self) {
        while self.count <= 56
            && let Some((byte, rest)) = self.rest.split_first()
        {
            self.next |= u64::from(*byte) << (56 - self.count);
            self.count += 8;
            self.rest = rest;
        }
    }

    fn skip(&mut self, size: u32) {
        self.next = self.next.checked_shl(size).unwrap_or(0);
        self.count -= size;
    }
}

/// Writes bits.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// The last bits, in the lowest places.
    last: u64,
    /// The number of bits in `last`, less than 8.
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `size` bits of a number, at most 32.
    pub(crate) fn bits(&mut self, number: u32, size: u32) {
        let mask = (1_u64 << size) - 1;
        self.last = self.last << size | (u64::from(number) & mask);
        self.count += size;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.last >> self.count).to_le_bytes()[0]);
        }
        self.last &= (1 << self.count) - 1;
    }

    /// Writes `count` zeros and a one.
    pub(crate) fn zeros(&mut self, mut count: u32) {
        while count >= 32 {
            self.bits(0, 32);
            count -= 32;
        }
        self.bits(1, count + 1);
    }

    /// Fills the last byte with zeros.
    pub(crate) fn align(&mut self) {
        if self.count > 0 {
            self.bits(0, 8 - self.count);
        }
    }

    /// Takes the whole bytes that were written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
