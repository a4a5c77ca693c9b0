//! Encoding a stream of LZW codes.

use zarr_spec::{CodecResult, Output};

use crate::codes::{CLEAR, CODES, END, FIRST, MAX_BITS, MIN_BITS};

/// The code at which the table is emptied. Other writers leave the last two codes unused, and some readers need this.
const FULL: u32 = CODES - 2;

/// The number of slots of the table, as a power of two. Fewer than a half are used.
const SLOT_BITS: u32 = 13;

/// The number of bytes that are appended together.
const BUFFER: usize = 1 << 10;

/// Appends the stream of `decoded`.
pub(crate) fn encode(decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    let mut codes = Codes::new(encoded);
    let mut table = Table::new();
    codes.put(CLEAR)?;
    if let Some((&first, rest)) = decoded.split_first() {
        let mut prefix = u32::from(first);
        for &byte in rest {
            match table.find(prefix, byte) {
                Ok(code) => prefix = code,
                Err(slot) => {
                    codes.put(prefix)?;
                    table.add(slot, prefix, byte);
                    codes.widen(&mut table)?;
                    prefix = byte.into();
                }
            }
        }
        codes.put(prefix)?;
        // A reader adds a string here, although no byte follows.
        table.next += 1;
        codes.widen(&mut table)?;
    }
    codes.put(END)?;
    codes.finish()
}

/// The codes of strings, in a hash table: each string by the code of all its bytes but the last, and the last byte.
struct Table {
    /// The key in the upper bits and the code in the lower ones; 0 if the slot is free.
    slots: Box<[u32; 1 << SLOT_BITS]>,
    /// The next code.
    next: u32,
}

impl Table {
    fn new() -> Self {
        Self { slots: Box::new([0; 1 << SLOT_BITS]), next: FIRST }
    }

    /// Returns the code of a string, or the slot for it if the table does not have it.
    fn find(&self, prefix: u32, byte: u8) -> Result<u32, usize> {
        let key = key(prefix, byte);
        // The multiplier is near 2³² divided by the golden ratio, so that similar keys get different slots.
        let mut slot = (key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - SLOT_BITS)) as usize;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                found if found & KEY == key => return Ok(found & !KEY),
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }

    fn add(&mut self, slot: usize, prefix: u32, byte: u8) {
        self.slots[slot] = key(prefix, byte) | self.next;
        self.next += 1;
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.next = FIRST;
    }
}

/// The bits of a slot that are the key.
const KEY: u32 = !(CODES - 1);

/// Returns the key of a string, shifted to its place in a slot.
fn key(prefix: u32, byte: u8) -> u32 {
    (prefix << 8 | u32::from(byte)) << MAX_BITS
}

/// A writer of codes, most significant bit first.
struct Codes<'o, 'm> {
    encoded: &'o mut Output<'m>,
    /// The number of bits of a code.
    bits: u32,
    /// The last `count` bits, in the least significant bits. Less than 32.
    cache: u64,
    count: u32,
    /// Bytes that are not appended yet.
    buffer: Vec<u8>,
}

impl<'o, 'm> Codes<'o, 'm> {
    fn new(encoded: &'o mut Output<'m>) -> Self {
        Self { encoded, bits: MIN_BITS, cache: 0, count: 0, buffer: Vec::with_capacity(BUFFER) }
    }

    fn put(&mut self, code: u32) -> CodecResult {
        self.cache = self.cache << self.bits | u64::from(code);
        self.count += self.bits;
        if self.count >= u32::BITS {
            self.count -= u32::BITS;
            let [_, _, _, _, bytes @ ..] = (self.cache >> self.count).to_be_bytes();
            self.buffer.extend_from_slice(&bytes);
            if self.buffer.len() == BUFFER {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Makes codes longer if the next code of the table needs it, or empties the table if it is full.
    fn widen(&mut self, table: &mut Table) -> CodecResult {
        if table.next == FULL {
            self.put(CLEAR)?;
            self.bits = MIN_BITS;
            table.clear();
        } else if table.next == 1 << self.bits {
            self.bits += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> CodecResult {
        self.encoded.put(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Appends the last bits, followed by zeros up to a whole byte.
    fn finish(mut self) -> CodecResult {
        let [_, _, _, _, bytes @ ..] = (self.cache << (u32::BITS - self.count)).to_be_bytes();
        self.buffer.extend_from_slice(&bytes[..self.count.div_ceil(8) as usize]);
        self.flush()
    }
}
