//! The parameters of a stream, and the samples in bytes.

use zarr_spec::{CodecError, CodecResult};

/// The parameters of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Number of bits of a sample, 1 to 32.
    pub(crate) bits: u32,
    /// Number of samples of a block.
    pub(crate) block: usize,
    /// Number of blocks of a segment. A segment begins with a sample that is not a difference.
    pub(crate) segment: usize,
    /// Whether the most significant byte of a sample comes first.
    pub(crate) is_msb_first: bool,
    /// Whether differences of samples are encoded.
    pub(crate) has_differences: bool,
    /// Whether differences are those of signed samples.
    pub(crate) is_signed: bool,
}

impl Parameters {
    /// Returns the number of bits of the form that begins a block.
    pub(crate) fn option_bits(&self) -> u32 {
        match self.bits {
            0..=8 => 3,
            9..=16 => 4,
            _ => 5,
        }
    }

    /// Returns the size of a sample in bytes.
    pub(crate) fn sample_size(&self) -> usize {
        match self.bits {
            0..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    /// Returns the bits that change between a sample and the number whose differences are encoded.
    pub(crate) fn sign(&self) -> u32 {
        if self.is_signed { 1 << (self.bits - 1) } else { 0 }
    }

    /// Returns the largest sample.
    pub(crate) fn largest(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }

    /// Returns the sample in these bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`] if it does not fit into the bits.
    pub(crate) fn sample(&self, bytes: &[u8]) -> CodecResult<u32> {
        let add = |sample: u32, byte: &u8| sample << 8 | u32::from(*byte);
        let sample = match self.is_msb_first {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        };
        match sample <= self.largest() {
            true => Ok(sample),
            false => Err(CodecError::encode(format!("a pixel has more than {} bits", self.bits))),
        }
    }

    /// Appends the bytes of a sample.
    pub(crate) fn put(&self, sample: u32, to: &mut Vec<u8>) {
        let size = self.sample_size();
        match self.is_msb_first {
            true => to.extend_from_slice(&sample.to_be_bytes()[4 - size..]),
            false => to.extend_from_slice(&sample.to_le_bytes()[..size]),
        }
    }
}
