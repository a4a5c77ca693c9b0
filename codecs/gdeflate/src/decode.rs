//! Decoding a page.

use zarr_spec::{CodecError, CodecResult};

use crate::codes::Decoding;
use crate::lanes::{LANES, Reader};
use crate::tables::{
    CODE_LENGTHS, DISTANCES, END, LENGTH_RANGES, LITERALS, ORDER, distance_range, fixed_lengths,
};

/// Decodes the pages of a chunk.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The codes of blocks without their own, which are created once.
    fixed: Option<Codes>,
}

/// The codes of a block.
#[derive(Debug, Clone)]
struct Codes {
    literals: Decoding,
    distances: Decoding,
}

/// A repetition whose distance the lane has not read yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    position: usize,
    length: usize,
}

/// A page that is being decoded.
struct Page<'p, 'r> {
    reader: Reader<'p>,
    room: &'r mut [u8],
    /// The number of bytes that are decoded or belong to a pending repetition.
    at: usize,
    pending: [Option<Pending>; LANES],
}

impl Decoder {
    /// Decodes a page to exactly `room`.
    pub(crate) fn page(&mut self, page: &[u8], room: &mut [u8]) -> CodecResult {
        let mut page = Page { reader: Reader::new(page), room, at: 0, pending: [None; LANES] };
        loop {
            page.reader.reset();
            let is_last = page.reader.take(1)? == 1;
            let kind = page.reader.take(2)?;
            page.reader.fill();
            match kind {
                0 => page.stored()?,
                1 => {
                    let codes = match self.fixed.take() {
                        Some(codes) => codes,
                        None => fixed_codes()?,
                    };
                    let decoded = page.block(&codes);
                    self.fixed = Some(codes);
                    decoded?;
                }
                2 => {
                    let codes = page.codes()?;
                    page.block(&codes)?;
                }
                _ => return Err(CodecError::corrupt("a block has an unknown type")),
            }
            if is_last {
                break;
            }
        }
        match page.room.len() - page.at {
            0 => Ok(()),
            missing => Err(CodecError::corrupt(format!("the page ends {missing} bytes early"))),
        }
    }
}

fn fixed_codes() -> CodecResult<Codes> {
    let (literals, distances) = fixed_lengths();
    Ok(Codes { literals: Decoding::new(&literals)?, distances: Decoding::new(&distances)? })
}

impl Page<'_, '_> {
    fn put(&mut self, byte: u8) -> CodecResult {
        *self.room.get_mut(self.at).ok_or_else(too_long)? = byte;
        self.at += 1;
        Ok(())
    }

    fn stored(&mut self) -> CodecResult {
        for _byte in 0..self.reader.take(16)? {
            let [byte, ..] = self.reader.take(8)?.to_le_bytes();
            self.put(byte)?;
            self.reader.advance();
        }
        // The decoder visits all lanes at the end of every block.
        (0..LANES).for_each(|_lane| self.reader.advance());
        Ok(())
    }

    /// Reads the codes of a block.
    fn codes(&mut self) -> CodecResult<Codes> {
        let literals = self.reader.take(5)? as usize + 257;
        let distances = self.reader.take(5)? as usize + 1;
        let explicit = self.reader.take(4)? as usize + 4;
        self.reader.fill();
        let mut lengths = [0; CODE_LENGTHS];
        for &symbol in ORDER.iter().take(explicit) {
            [lengths[symbol], ..] = self.reader.take(3)?.to_le_bytes();
            self.reader.advance();
        }
        let decoding = Decoding::new(&lengths)?;
        self.reader.reset();
        let mut lengths = Vec::with_capacity(LITERALS + DISTANCES);
        while lengths.len() < literals + distances {
            self.code_length(&decoding, &mut lengths)?;
            self.reader.advance();
        }
        if lengths.len() > literals + distances || literals > LITERALS {
            return Err(CodecError::corrupt("a block has too many codes"));
        }
        let (literals, distances) = lengths.split_at(literals);
        Ok(Codes { literals: Decoding::new(literals)?, distances: Decoding::new(distances)? })
    }

    /// Reads the length of a code, or a number of equal lengths.
    fn code_length(&mut self, decoding: &Decoding, lengths: &mut Vec<u8>) -> CodecResult {
        let (symbol, bits) = decoding.symbol(self.reader.peek())?;
        self.reader.skip(bits)?;
        let (length, count) = match symbol {
            16 => {
                let last = lengths.last().copied();
                let last =
                    last.ok_or_else(|| CodecError::corrupt("a block repeats a length before the first"))?;
                (last, 3 + self.reader.take(2)?)
            }
            17 => (0, 3 + self.reader.take(3)?),
            18 => (0, 11 + self.reader.take(7)?),
            // A length is at most 15.
            length => (u8::try_from(length).unwrap_or(0), 1),
        };
        lengths.extend(std::iter::repeat_n(length, count as usize));
        Ok(())
    }

    /// Decodes the symbols of a block.
    fn block(&mut self, codes: &Codes) -> CodecResult {
        self.reader.reset();
        loop {
            let lane = self.reader.current();
            if let Some(pending) = self.pending[lane].take() {
                self.repeat(pending, codes)?;
            } else {
                let (symbol, bits) = codes.literals.symbol(self.reader.peek())?;
                self.reader.skip(bits)?;
                match u8::try_from(symbol) {
                    Ok(byte) => self.put(byte)?,
                    Err(_) if symbol == END => return self.finish(codes),
                    Err(_) => self.pending[lane] = Some(self.length(symbol)?),
                }
            }
            self.reader.advance();
        }
    }

    /// Reserves the bytes of a repetition.
    fn length(&mut self, symbol: usize) -> CodecResult<Pending> {
        let (smallest, bits) = LENGTH_RANGES[symbol - END - 1];
        let length = (smallest + self.reader.take(bits)?) as usize;
        let position = self.at;
        if length > self.room.len() - position {
            return Err(too_long());
        }
        self.at += length;
        Ok(Pending { position, length })
    }

    /// Reads the distance of a repetition, and copies its bytes.
    fn repeat(&mut self, pending: Pending, codes: &Codes) -> CodecResult {
        let (symbol, bits) = codes.distances.symbol(self.reader.peek())?;
        self.reader.skip(bits)?;
        let (smallest, bits) = distance_range(symbol);
        let distance = (smallest + self.reader.take(bits)?) as usize;
        let Pending { position, length } = pending;
        let from = position.checked_sub(distance);
        let from = from.ok_or_else(|| CodecError::corrupt("a repetition begins before the page"))?;
        if distance >= length {
            self.room.copy_within(from..from + length, position);
        } else {
            for offset in 0..length {
                self.room[position + offset] = self.room[from + offset];
            }
        }
        Ok(())
    }

    /// Completes the repetitions of a block, whose distances follow its end.
    fn finish(&mut self, codes: &Codes) -> CodecResult {
        for _lane in 0..LANES {
            if let Some(pending) = self.pending[self.reader.current()].take() {
                self.repeat(pending, codes)?;
            }
            self.reader.advance();
        }
        Ok(())
    }
}

fn too_long() -> CodecError {
    CodecError::corrupt("a page is longer than the chunk")
}
