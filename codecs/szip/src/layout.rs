//! The layout of szip around a stream: lines of pixels, and the bytes of large pixels.
//!
//! Source: `sz_compat.c` of libaec.

use zarr_spec::{CodecError, CodecResult, Output};

use crate::parameters::Parameters;
use crate::{decode, encode};

/// The options of szip that change the stream: the byte order of pixels, and differences of pixels.
const MSB_OPTION: u32 = 16;
const NN_OPTION: u32 = 32;

/// The maximum number of pixels of a line.
const LONGEST_LINE: usize = 4096;

/// The layout of the bytes of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    parameters: Parameters,
    /// The size of pixels whose bytes are separated, so that all first bytes come first; 1 if bytes are not separated.
    separated: usize,
    /// The number of bytes of a line in the chunk, and in the stream, where each line is padded to whole blocks.
    line: usize,
    padded: usize,
}

impl Layout {
    /// Returns the layout for the parameters of szip.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`].
    pub(crate) fn new(
        options_mask: u32,
        pixels_per_block: usize,
        bits_per_pixel: u32,
        pixels_per_scanline: usize,
    ) -> CodecResult<Self> {
        let wrong = |what: String| Err(CodecError::configuration(what));
        if pixels_per_block == 0 || !pixels_per_block.is_multiple_of(2) || pixels_per_block > 32 {
            return wrong(format!(
                "`pixels_per_block` is {pixels_per_block}; expected an even number up to 32"
            ));
        }
        if !(1..=LONGEST_LINE).contains(&pixels_per_scanline) {
            return wrong(format!(
                "`pixels_per_scanline` is {pixels_per_scanline}; expected 1 to {LONGEST_LINE}"
            ));
        }
        let (bits, separated) = match bits_per_pixel {
            32 => (8, 4),
            64 => (8, 8),
            1..=24 => (bits_per_pixel, 1),
            _ => return wrong(format!("`bits_per_pixel` is {bits_per_pixel}; expected 1 to 24, 32 or 64")),
        };
        let segment = pixels_per_scanline.div_ceil(pixels_per_block);
        let parameters = Parameters {
            bits,
            block: pixels_per_block,
            segment,
            is_msb_first: options_mask & MSB_OPTION != 0,
            has_differences: options_mask & NN_OPTION != 0,
            is_signed: false,
        };
        let size = parameters.sample_size();
        let padded = segment * pixels_per_block * size;
        Ok(Self { parameters, separated, line: pixels_per_scanline * size, padded })
    }

    /// Returns the largest size of the stream for a chunk of `size` bytes.
    pub(crate) fn encoded_limit(&self, size: usize) -> Option<u64> {
        let Parameters { bits, block, segment, .. } = self.parameters;
        let lines = size.div_ceil(self.line) as u64;
        // Each block has a form and its samples; a run of zeros has at most three more bits and a sample.
        let block_bits = (block as u64 + 1) * u64::from(bits) + u64::from(self.parameters.option_bits()) + 3;
        Some(lines.checked_mul(segment as u64)?.checked_mul(block_bits)? / 8 + 1)
    }

    pub(crate) fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let separated = self.separate(decoded)?;
        let mut padded = Vec::new();
        let size = self.parameters.sample_size();
        for line in separated.chunks(self.line) {
            padded.extend_from_slice(line);
            let last = line.get(line.len().saturating_sub(size)..).unwrap_or_default();
            let filler = if self.parameters.has_differences { last } else { &[0; 4][..size] };
            if line.len() % size != 0 {
                return Err(CodecError::encode(format!(
                    "{} bytes are not pixels of {size} bytes",
                    decoded.len()
                )));
            }
            while padded.len() % self.padded != 0 {
                padded.extend_from_slice(filler);
            }
        }
        encode::encode(&self.parameters, &padded, encoded)
    }

    /// Decodes the stream of a chunk of `size` bytes.
    pub(crate) fn decode(&self, encoded: &[u8], size: usize) -> CodecResult<Vec<u8>> {
        let too_large = || CodecError::corrupt(format!("the chunk has {size} bytes, which is too large"));
        let padded_size = size.div_ceil(self.line).checked_mul(self.padded).ok_or_else(too_large)?;
        let padded = decode::decode(&self.parameters, encoded, padded_size)?;
        if padded.len() != padded_size {
            return Err(CodecError::corrupt("the stream has more samples than the chunk"));
        }
        let mut decoded = Vec::with_capacity(size);
        for line in padded.chunks(self.padded) {
            let left = size - decoded.len();
            decoded.extend_from_slice(&line[..line.len().min(self.line).min(left)]);
        }
        if decoded.len() % self.separated != 0 {
            return Err(CodecError::corrupt(format!(
                "{size} bytes are not pixels of {} bytes",
                self.separated
            )));
        }
        Ok(self.join(decoded))
    }

    /// Writes the first bytes of all pixels, then all second bytes, and so on.
    fn separate(&self, decoded: &[u8]) -> CodecResult<Vec<u8>> {
        let size = self.separated;
        if !decoded.len().is_multiple_of(size) {
            return Err(CodecError::encode(format!(
                "{} bytes are not pixels of {size} bytes",
                decoded.len()
            )));
        }
        if size == 1 {
            return Ok(decoded.to_vec());
        }
        Ok((0..size).flat_map(|byte| decoded.iter().skip(byte).step_by(size).copied()).collect())
    }

    fn join(&self, separated: Vec<u8>) -> Vec<u8> {
        let size = self.separated;
        if size == 1 {
            return separated;
        }
        let count = separated.len() / size;
        let mut joined = vec![0; count * size];
        for (byte, values) in separated.chunks_exact(count.max(1)).enumerate().take(size) {
            let places = joined.iter_mut().skip(byte).step_by(size);
            places.zip(values).for_each(|(place, value)| *place = *value);
        }
        joined
    }
}
