//! Encoding streams. Each block takes the smallest of the options: zeros, split samples, or no compression.

use zarr_spec::{CodecError, CodecResult, Output};

use crate::bits::BitWriter;
use crate::decode::{REST, ZERO_BLOCKS};
use crate::parameters::Parameters;

/// Encodes samples, which are whole blocks.
///
/// # Errors
///
/// [`CodecError::Encode`] if the bytes are not whole samples, or a sample has too many bits.
pub(crate) fn encode(parameters: &Parameters, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    let size = parameters.sample_size();
    if !decoded.len().is_multiple_of(size) {
        return Err(CodecError::encode(format!("{} bytes are not samples of {size} bytes", decoded.len())));
    }
    let mut writer = BitWriter::default();
    for bytes in decoded.chunks(size * parameters.segment * parameters.block) {
        let samples = bytes.chunks_exact(size).map(|sample| parameters.sample(sample));
        let samples = samples.collect::<CodecResult<Vec<u32>>>()?;
        segment(parameters, &samples, &mut writer);
        encoded.put(&writer.take())?;
    }
    writer.align();
    Ok(encoded.put(&writer.take())?)
}

fn segment(parameters: &Parameters, samples: &[u32], writer: &mut BitWriter) {
    let reference = samples.first().copied().filter(|_| parameters.has_differences);
    let differences;
    let samples = match reference {
        Some(_) => {
            differences = differences_of(parameters, samples);
            &differences[..]
        }
        None => samples,
    };
    let mut zero_blocks = 0;
    for (number, block) in samples.chunks_exact(parameters.block).enumerate() {
        let is_first = number == 0 && reference.is_some();
        let values = if is_first { &block[1..] } else { block };
        let is_zero = values.iter().all(|value| *value == 0);
        if is_zero {
            zero_blocks += 1;
        }
        let next = number + 1;
        let is_end = next == parameters.segment || next % ZERO_BLOCKS == 0;
        let is_last = next * parameters.block == samples.len();
        if zero_blocks > 0 && (!is_zero || is_end || is_last) {
            let reference = reference.filter(|_| next - usize::from(!is_zero) == zero_blocks);
            zeros(parameters, zero_blocks, reference, is_zero && is_end, writer);
            zero_blocks = 0;
        }
        if !is_zero {
            self::block(parameters, values, reference.filter(|_| is_first), writer);
        }
    }
}

/// Writes a run of blocks of zeros. `reference` is the first sample if the run is at the start of a segment.
fn zeros(
    parameters: &Parameters,
    blocks: usize,
    reference: Option<u32>,
    is_to_end: bool,
    writer: &mut BitWriter,
) {
    writer.bits(0, parameters.option_bits() + 1);
    if let Some(reference) = reference {
        writer.bits(reference, parameters.bits);
    }
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
    writer.zeros(match blocks {
        0..=REST => blocks - 1,
        _ if is_to_end => REST,
        blocks => blocks,
    });
}

/// Writes a block. `reference` is the sample before `values`.
fn block(parameters: &Parameters, values: &[u32], reference: Option<u32>, writer: &mut BitWriter) {
    let option_bits = parameters.option_bits();
    let none = (1 << option_bits) - 1;
    let split_size = |low: u32| {
        let high: u64 = values.iter().map(|value| u64::from(value >> low) + 1).sum();
        high + values.len() as u64 * u64::from(low)
    };
    // With one bit, there are no options with split samples.
    let low = (0..(none - 1).min(parameters.bits)).min_by_key(|low| split_size(*low));
    match low.filter(|low| split_size(*low) < values.len() as u64 * u64::from(parameters.bits)) {
        Some(low) => {
            writer.bits(low + 1, option_bits);
            reference.into_iter().for_each(|reference| writer.bits(reference, parameters.bits));
            values.iter().for_each(|value| writer.zeros(value >> low));
            values.iter().for_each(|value| writer.bits(*value, low));
        }
        None => {
            writer.bits(none, option_bits);
            reference.iter().chain(values).for_each(|value| writer.bits(*value, parameters.bits));
        }
    }
}

/// Returns the differences of neighbouring samples as small numbers from 0; the first one is 0.
fn differences_of(parameters: &Parameters, samples: &[u32]) -> Vec<u32> {
    let range = parameters.largest();
    let difference = |pair: &[u32]| {
        let before = pair[0] ^ parameters.sign();
        let sample = pair[1] ^ parameters.sign();
        match sample >= before {
            true if sample - before <= before => 2 * (sample - before),
            true => sample,
            false if before - sample <= range - before => 2 * (before - sample) - 1,
            false => range - sample,
        }
    };
    std::iter::once(0).chain(samples.windows(2).map(difference)).collect()
}
