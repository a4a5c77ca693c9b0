//! The 32 lanes of a page, whose words alternate in the order in which the decoder needs them.
//!
//! The decoder and the encoder visit the lanes in turn. When a lane is left with fewer than 32 bits, it takes the next
//! word of the page.

use zarr_spec::{CodecError, CodecResult};

/// Number of lanes.
pub(crate) const LANES: usize = 32;
/// Number of bits of a word, and the number that a lane has when it is visited.
const WORD_BITS: u32 = 32;
/// Size of a word in bytes.
pub(crate) const WORD_SIZE: usize = 4;

/// Bits of a lane that are not yet consumed.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    bits: u64,
    count: u32,
    /// The number of bits at the end that lie after the end of the page.
    missing: u32,
}

/// Reads the lanes of a page.
#[derive(Debug)]
pub(crate) struct Reader<'p> {
    lanes: [Lane; LANES],
    current: usize,
    words: &'p [u8],
}

impl<'p> Reader<'p> {
    pub(crate) fn new(page: &'p [u8]) -> Self {
        let mut reader = Self { lanes: [Lane::default(); LANES], current: 0, words: page };
        for _lane in 0..LANES {
            reader.advance();
        }
        reader
    }

    /// Returns the current lane.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Returns to the first lane.
    pub(crate) fn reset(&mut self) {
        self.current = 0;
    }

    /// Fills the current lane, and moves to the next one.
    pub(crate) fn advance(&mut self) {
        self.fill();
        self.current = (self.current + 1) % LANES;
    }

    /// Takes the next word if the current lane has fewer than 32 bits. A decoder reads ahead, so words may be missing
    /// at the end of a page.
    pub(crate) fn fill(&mut self) {
        let lane = &mut self.lanes[self.current];
        if lane.count >= WORD_BITS {
            return;
        }
        match self.words.split_first_chunk::<WORD_SIZE>() {
            Some((word, rest)) => {
                lane.bits |= u64::from(u32::from_le_bytes(*word)) << lane.count;
                self.words = rest;
            }
            None => lane.missing += WORD_BITS,
        }
        lane.count += WORD_BITS;
    }

    /// Returns the next bits of the current lane; at least 32 after [`Reader::advance`].
    pub(crate) fn peek(&self) -> u64 {
        self.lanes[self.current].bits
    }

    /// Removes the next `count` bits of the current lane.
    pub(crate) fn skip(&mut self, count: u32) -> CodecResult {
        let lane = &mut self.lanes[self.current];
        match lane.count.checked_sub(count).filter(|&left| left >= lane.missing) {
            Some(left) => {
                lane.bits >>= count;
                lane.count = left;
                Ok(())
            }
            None => Err(CodecError::corrupt("the page ends within a symbol")),
        }
    }

    /// Removes and returns the next `count` bits of the current lane, at most 31.
    pub(crate) fn take(&mut self, count: u32) -> CodecResult<u32> {
        let bits = self.peek() & ((1 << count) - 1);
        self.skip(count)?;
        #[expect(clippy::cast_possible_truncation, reason = "at most 31 bits")]
        Ok(bits as u32)
    }
}

/// Writes the lanes of a page.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The words of each lane, least significant bit first, and the number of bits in them.
    lanes: [(Vec<u32>, u32); LANES],
    /// The number of bits that the decoder has in each lane and did not consume yet.
    left: [u32; LANES],
    /// The lanes in the order in which the decoder takes words.
    order: Vec<u8>,
    current: usize,
}

impl Writer {
    pub(crate) fn new() -> Self {
        let mut writer = Self {
            lanes: std::array::from_fn(|_lane| (Vec::new(), 0)),
            left: [0; LANES],
            order: Vec::new(),
            current: 0,
        };
        for _lane in 0..LANES {
            writer.advance();
        }
        writer
    }

    /// Returns the current lane.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Returns to the first lane.
    pub(crate) fn reset(&mut self) {
        self.current = 0;
    }

    /// Records that the decoder fills the current lane, and moves to the next one.
    pub(crate) fn advance(&mut self) {
        self.fill();
        self.current = (self.current + 1) % LANES;
    }

    /// Records that the decoder takes a word if the current lane has fewer than 32 bits.
    pub(crate) fn fill(&mut self) {
        if self.left[self.current] < WORD_BITS {
            self.left[self.current] += WORD_BITS;
            #[expect(clippy::cast_possible_truncation, reason = "less than 32")]
            self.order.push(self.current as u8);
        }
    }

    /// Appends the lowest `count` bits of `bits`, at most 16, to the current lane.
    pub(crate) fn put(&mut self, bits: u32, count: u32) {
        let (words, used) = &mut self.lanes[self.current];
        if count == 0 {
            return;
        }
        let free = words.len() * WORD_BITS as usize - *used as usize;
        let shift = *used % WORD_BITS;
        if free > 0
            && let Some(last) = words.last_mut()
        {
            *last |= bits << shift;
        }
        if count as usize > free {
            #[expect(clippy::cast_possible_truncation, reason = "less than 32")]
            words.push(bits.checked_shr(free as u32).unwrap_or(0));
        }
        *used += count;
        self.left[self.current] = self.left[self.current].saturating_sub(count);
    }

    /// Returns the words of all lanes in the order in which the decoder takes them.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut taken = [0; LANES];
        let mut page = Vec::with_capacity(self.order.len() * WORD_SIZE);
        for lane in self.order.into_iter().map(usize::from) {
            let word = self.lanes[lane].0.get(taken[lane]).copied().unwrap_or(0);
            taken[lane] += 1;
            page.extend_from_slice(&word.to_le_bytes());
        }
        page
    }
}
