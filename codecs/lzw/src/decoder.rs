//! Decoding a stream of LZW codes.
//!
//! A code below 256 is a byte. Code 256 empties the table, and code 257 ends the stream. The others are strings of the
//! table: each time a code is decoded, the table gets its string, extended by the byte that follows it.

use zarr_spec::{CodecError, CodecResult, Output};

/// The code that empties the table.
const CLEAR: usize = 256;

/// The code that ends the stream.
const END: usize = 257;

/// The first code of the table.
const FIRST: usize = 258;

/// The number of bits of a code after the table was emptied, and the maximum.
const MIN_BITS: u32 = 9;
const MAX_BITS: u32 = 12;

/// The number of codes.
const CODES: usize = 1 << MAX_BITS;

/// The least growth of the output, in bytes.
const STEP: usize = 1 << 16;

/// Number of bytes that are copied together.
const GROUP: usize = 16;

/// Appends the bytes of `stream`. Bytes after the end code are ignored: writers of TIFF files may pad the stream.
pub(crate) fn decode(stream: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    let limit = decoded.remaining();
    let mut decoder = Decoder::new(stream);
    let mut needed = limit.min(STEP);
    // The written bytes are counted at the end, because later strings are copied from them.
    loop {
        let memory = decoded.spare(needed)?;
        match decoder.decode(memory)? {
            None => break,
            Some(more) => needed = more.max(memory.len().saturating_mul(2).min(limit)),
        }
    }
    decoded.advance(decoder.written);
    Ok(())
}

/// The table, and the position in the stream and in the decoded bytes.
struct Decoder<'s> {
    codes: Codes<'s>,
    /// Where the string of each code begins in the decoded bytes. It ends one byte after the start of the next string.
    starts: Box<[usize; CODES + 1]>,
    /// The next code that the table gets.
    next: usize,
    /// The number of bits of a code.
    bits: u32,
    /// The number of decoded bytes.
    written: usize,
}

impl<'s> Decoder<'s> {
    fn new(stream: &'s [u8]) -> Self {
        let starts = Box::new([0; CODES + 1]);
        Self { codes: Codes::new(stream), starts, next: FIRST, bits: MIN_BITS, written: 0 }
    }

    /// Decodes codes to `memory`, which begins with the bytes that earlier calls decoded. Returns `None` at the end of
    /// the stream, and otherwise the size that `memory` needs for the next code.
    fn decode(&mut self, memory: &mut [u8]) -> CodecResult<Option<usize>> {
        loop {
            let code = self.codes.next(self.bits)?;
            let start = self.written;
            let size = match code {
                END => return Ok(None),
                CLEAR => {
                    (self.next, self.bits) = (FIRST, MIN_BITS);
                    continue;
                }
                0..CLEAR => 1,
                _ if code < self.next => self.starts[code + 1] - self.starts[code] + 1,
                _ => return Err(CodecError::corrupt(format!("code {code} is not in the table"))),
            };
            let end = start + size;
            if end > memory.len() {
                self.codes.put_back(self.bits);
                return Ok(Some(end));
            }
            match u8::try_from(code) {
                Ok(byte) => memory[start] = byte,
                Err(_) => repeat(memory, self.starts[code], start, size),
            }
            self.written = end;
            self.add(start, end);
        }
    }

    /// Adds the string from `start` to `end`, extended by the byte that follows, unless the table is full.
    fn add(&mut self, start: usize, end: usize) {
        if self.next == CODES {
            return;
        }
        self.starts[self.next] = start;
        self.next += 1;
        self.starts[self.next] = end;
        if self.next == 1 << self.bits && self.bits < MAX_BITS {
            self.bits += 1;
        }
    }
}

/// Copies `size` bytes from `source` to `target`. The last of them may be the first byte of the target.
fn repeat(memory: &mut [u8], source: usize, target: usize, size: usize) {
    let group: Option<[u8; GROUP]> = memory[source..].first_chunk().copied();
    match (group, memory[target..].first_chunk_mut()) {
        (Some(group), Some(place)) if size <= GROUP => *place = group,
        _ => memory.copy_within(source..target.min(source + size), target),
    }
    if source + size > target {
        memory[target + size - 1] = memory[source];
    }
}

/// The codes of a stream, most significant bit first.
struct Codes<'s> {
    bytes: &'s [u8],
    /// The next `count` bits, in the least significant bits.
    cache: u64,
    count: u32,
}

impl<'s> Codes<'s> {
    fn new(bytes: &'s [u8]) -> Self {
        Self { bytes, cache: 0, count: 0 }
    }

    /// Returns the next code, which has `bits` bits.
    fn next(&mut self, bits: u32) -> CodecResult<usize> {
        while self.count < bits {
            if let Some((next, rest)) = self.bytes.split_first_chunk() {
                self.cache = self.cache << 32 | u64::from(u32::from_be_bytes(*next));
                self.count += 32;
                self.bytes = rest;
            } else if let Some((&next, rest)) = self.bytes.split_first() {
                self.cache = self.cache << 8 | u64::from(next);
                self.count += 8;
                self.bytes = rest;
            } else {
                return Err(CodecError::corrupt("the stream ends without an end code"));
            }
        }
        self.count -= bits;
        let code = self.cache >> self.count & ((1 << bits) - 1);
        Ok(usize::try_from(code).unwrap_or_default())
    }

    /// Makes the last code, which has `bits` bits, the next one again.
    fn put_back(&mut self, bits: u32) {
        self.count += bits;
    }
}
