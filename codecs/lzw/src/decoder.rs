//! Decoding a stream of LZW codes.

use zarr_spec::{CodecError, CodecResult, Output};

use crate::codes::{CLEAR, CODES, END, FIRST, MAX_BITS, MIN_BITS};

/// The least growth of the output, in bytes.
const STEP: usize = 1 << 16;

/// The number of bytes of a string that the table contains. The others are copied from the decoded bytes.
const HEAD: usize = 8;

/// The number of bytes that are copied together.
const GROUP: usize = 16;

/// Appends the bytes of `stream`. Bytes after the end code are ignored: writers of TIFF files may pad the stream.
pub(crate) fn decode(stream: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    let limit = decoded.remaining();
    let mut decoder = Decoder::new(stream);
    let mut needed = limit.min(STEP);
    // The bytes are counted as written at the end, because later strings are copied from them.
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

/// The string of a code.
#[derive(Debug, Clone, Copy, Default)]
struct Text {
    /// The first bytes; the first one is the least significant.
    head: u64,
    /// The position in the bytes that were decoded since the table was emptied. They are less than 4 GiB, because the
    /// table becomes full.
    start: u32,
    size: u32,
}

impl Text {
    fn of_byte(byte: u8) -> Self {
        Self { head: byte.into(), start: 0, size: 1 }
    }

    fn first(self) -> u8 {
        self.head.to_le_bytes()[0]
    }

    /// Returns the string followed by `byte`.
    fn followed_by(self, byte: u8) -> Self {
        let head = self.head | u64::from(byte).checked_shl(8 * self.size).unwrap_or(0);
        Self { head, size: self.size + 1, ..self }
    }
}

/// The position in the stream and in the decoded bytes, and the table.
struct Decoder<'s> {
    codes: Codes<'s>,
    texts: Box<[Text; CODES as usize]>,
    /// The next code of the table. It gets its string when the code after `previous` is known.
    next: u32,
    /// The string of the previous code; `None` after the table was emptied.
    previous: Option<Text>,
    /// The position in the decoded bytes at which the table was emptied.
    emptied: usize,
    /// The number of decoded bytes.
    written: usize,
}

impl<'s> Decoder<'s> {
    fn new(stream: &'s [u8]) -> Self {
        let mut texts = Box::new([Text::default(); CODES as usize]);
        for (text, byte) in texts.iter_mut().zip(0..=u8::MAX) {
            *text = Text::of_byte(byte);
        }
        Self { codes: Codes::new(stream), texts, next: FIRST, previous: None, emptied: 0, written: 0 }
    }

    /// Decodes codes to `memory`, which begins with the bytes that earlier calls decoded. Returns `None` at the end of
    /// the stream, and otherwise the size that `memory` needs for the next code.
    fn decode(&mut self, memory: &mut [u8]) -> CodecResult<Option<usize>> {
        // A copy, so that the bits are in registers.
        let mut codes = self.codes;
        let mut previous = self.previous;
        loop {
            let code = codes.next()?;
            let text = match (code, previous) {
                (END, _) => return Ok(None),
                (CLEAR, _) => {
                    codes.bits = MIN_BITS;
                    (self.next, self.emptied) = (FIRST, self.written);
                    previous = None;
                    continue;
                }
                (code, _) if code < self.next => self.texts[code as usize],
                (code, Some(previous)) if code == self.next => previous.followed_by(previous.first()),
                _ => return Err(CodecError::corrupt(format!("code {code} is not in the table"))),
            };
            let start = self.written;
            let end = start + text.size as usize;
            if end > memory.len() {
                codes.put_back();
                (self.codes, self.previous) = (codes, previous);
                return Ok(Some(end));
            }
            if text.size as usize > HEAD {
                repeat(memory, self.emptied + text.start as usize, start, text.size as usize);
            } else if let Some(place) = memory[start..].first_chunk_mut() {
                *place = text.head.to_le_bytes();
            } else {
                memory[start..end].copy_from_slice(&text.head.to_le_bytes()[..end - start]);
            }
            if let (Some(previous), Some(place)) = (previous, self.texts.get_mut(self.next as usize)) {
                *place = previous.followed_by(text.first());
                self.next += 1;
            }
            // Codes get longer one code earlier than the table needs.
            if self.next + 1 == 1 << codes.bits && codes.bits < MAX_BITS {
                codes.bits += 1;
            }
            // Positions after the table has become full are not used.
            previous = Some(Text { start: u32::try_from(start - self.emptied).unwrap_or(u32::MAX), ..text });
            self.written = end;
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
#[derive(Clone, Copy)]
struct Codes<'s> {
    bytes: &'s [u8],
    /// The number of bits of a code.
    bits: u32,
    /// The next `count` bits, in the least significant bits.
    cache: u64,
    count: u32,
}

impl<'s> Codes<'s> {
    fn new(bytes: &'s [u8]) -> Self {
        Self { bytes, bits: MIN_BITS, cache: 0, count: 0 }
    }

    fn next(&mut self) -> CodecResult<u32> {
        while self.count < self.bits {
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
        self.count -= self.bits;
        let code = self.cache >> self.count & ((1 << self.bits) - 1);
        Ok(u32::try_from(code).unwrap_or_default())
    }

    /// Makes the last code the next one again.
    fn put_back(&mut self) {
        self.count += self.bits;
    }
}
