//! Decoding streams.

use zarr_spec::{CodecError, CodecResult};

use crate::bits::BitReader;
use crate::parameters::Parameters;

/// The number that stands for all blocks up to the next multiple of [`ZERO_BLOCKS`] or the end of the segment.
pub(crate) const REST: u32 = 4;

/// The maximum number of blocks of one run of zeros.
pub(crate) const ZERO_BLOCKS: usize = 64;

/// The number of different sums of two samples that are encoded as one number.
const SUMS: u32 = 13;

/// Decodes a stream of at least `size` bytes of samples. A run of zeros at the end may yield more.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn decode(parameters: &Parameters, encoded: &[u8], size: usize) -> CodecResult<Vec<u8>> {
    let mut decoder = Decoder { parameters, reader: BitReader::new(encoded), samples: Vec::new() };
    let mut decoded = Vec::new();
    while decoded.len() < size {
        let wanted = (size - decoded.len()).div_ceil(parameters.sample_size());
        decoder.samples.clear();
        decoder.segment(wanted)?;
        decoder.restore(&mut decoded);
    }
    match decoder.reader.is_at_end() {
        true => Ok(decoded),
        false => Err(CodecError::corrupt("the stream has more samples than the chunk")),
    }
}

struct Decoder<'d> {
    parameters: &'d Parameters,
    reader: BitReader<'d>,
    /// The samples of the segment. If the stream stores differences, only the first item is a sample.
    samples: Vec<u32>,
}

impl Decoder<'_> {
    /// Reads the blocks of a segment, at most until there are `wanted` samples.
    fn segment(&mut self, wanted: usize) -> CodecResult {
        let length = self.parameters.segment * self.parameters.block;
        while self.samples.len() < length.min(wanted) {
            self.block()
                .ok_or_else(|| CodecError::corrupt("the stream is damaged, or ends within a block"))?;
        }
        Ok(())
    }

    /// Reads a block, or a run of blocks of zeros.
    fn block(&mut self) -> Option<()> {
        let Parameters { bits, block, .. } = *self.parameters;
        let option_bits = self.parameters.option_bits();
        let has_reference = self.parameters.has_differences && self.samples.is_empty();
        let count = if has_reference { block - 1 } else { block };
        let option = self.reader.bits(option_bits)?;
        if option == (1 << option_bits) - 1 {
            for _ in 0..block {
                let sample = self.reader.bits(bits)?;
                self.samples.push(sample);
            }
            return Some(());
        }
        let is_second = option == 0 && self.reader.bits(1)? == 1;
        if has_reference {
            let reference = self.reader.bits(bits)?;
            self.samples.push(reference);
        }
        match option {
            0 if is_second => self.pairs(count),
            0 => self.zeros(count),
            option => self.split(option - 1, count),
        }
    }

    /// Reads samples whose lowest `low` bits are separate.
    fn split(&mut self, low: u32, count: usize) -> Option<()> {
        let first = self.samples.len();
        for _ in 0..count {
            let high = self.reader.zeros()?;
            self.samples.push(high.checked_shl(low).filter(|sample| sample >> low == high)?);
        }
        if low > 0 {
            for sample in self.samples.get_mut(first..)? {
                *sample |= self.reader.bits(low)?;
            }
        }
        Some(())
    }

    /// Reads pairs of samples. The stream has one number for each pair. A reference sample is the first sample of its
    /// pair.
    fn pairs(&mut self, count: usize) -> Option<()> {
        let end = self.samples.len() + count;
        let mut is_half = count % 2 == 1;
        while self.samples.len() < end {
            let number = self.reader.zeros()?;
            let sum = (0..SUMS).rev().find(|sum| sum * (sum + 1) / 2 <= number)?;
            let second = number - sum * (sum + 1) / 2;
            let first = sum.checked_sub(second)?;
            if !is_half {
                self.samples.push(first);
            }
            self.samples.push(second);
            is_half = false;
        }
        Some(())
    }

    /// Reads a run of blocks of zeros.
    fn zeros(&mut self, count: usize) -> Option<()> {
        let Parameters { block, segment, .. } = *self.parameters;
        let number = self.samples.len() / block;
        let zeros = self.reader.zeros()?;
        let blocks = match zeros {
            REST => (segment - number).min(ZERO_BLOCKS - number % ZERO_BLOCKS),
            0..REST => usize::try_from(zeros).ok()? + 1,
            zeros => usize::try_from(zeros).ok()?,
        };
        if number + blocks > segment {
            return None;
        }
        let length = self.samples.len() + count + (blocks - 1) * block;
        self.samples.resize(length, 0);
        Some(())
    }

    /// Appends the samples as bytes. If the stream stores differences, each sample is the one before it plus its difference.
    fn restore(&self, decoded: &mut Vec<u8>) {
        let parameters = self.parameters;
        let Some((first, differences)) = self.samples.split_first() else { return };
        if !parameters.has_differences {
            self.samples.iter().for_each(|sample| parameters.put(*sample, decoded));
            return;
        }
        let sign = parameters.sign();
        let mut sample = *first ^ sign;
        parameters.put(*first, decoded);
        let largest = parameters.largest();
        for difference in differences {
            sample = next(sample, *difference, largest);
            parameters.put(sample ^ sign, decoded);
        }
    }
}

/// Returns the positive or negative number that a stored difference stands for: 0, -1, 1, -2 for 0, 1, 2, 3.
const fn signed(difference: u32) -> u32 {
    (difference >> 1) ^ 0_u32.wrapping_sub(difference & 1)
}

/// Returns the sample after `sample`, from its stored difference.
const fn next(sample: u32, difference: u32, largest: u32) -> u32 {
    let half = (difference >> 1) + (difference & 1);
    let mask = if sample > largest / 2 { largest } else { 0 };
    if half <= mask ^ sample { sample.wrapping_add(signed(difference)) } else { mask ^ difference }
}
