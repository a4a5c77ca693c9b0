//! From blocks to samples.

use zarr_plugin_kit::numbers::Number;
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::Samples;
use crate::blocks::Block;
use crate::library;

/// Decodes all blocks of `stream` to `chunk`, which has the size of the samples.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn decode(expected: &Samples, stream: &[u8], chunk: &mut [u8]) -> CodecResult {
    let channels = check(expected, stream)?;
    let mut rest = stream;
    let mut time = 0;
    let mut channel = 0;
    while let Some(block) = Block::next(&mut rest)? {
        if block.times() == 0 {
            continue;
        }
        let decoded = library::decoded(&block.alone()?).map_err(CodecError::corrupt)?;
        let columns = block.channels();
        if decoded.samples.len() != block.times() * columns
            || decoded.is_float != (expected.number == Number::F32)
        {
            return Err(CodecError::corrupt("a WavPack block does not have the samples of the chunk"));
        }
        for (row, samples) in decoded.samples.chunks_exact(columns).enumerate() {
            let first = (time + row) * channels + channel;
            for (place, sample) in (first..).zip(samples) {
                put(expected.number, *sample, place, chunk);
            }
        }
        channel += columns;
        if block.is_final() {
            channel = 0;
            time += block.times();
        }
    }
    Ok(())
}

/// Compares the headers of all blocks with the chunk, and returns the number of channels.
fn check(expected: &Samples, stream: &[u8]) -> CodecResult<usize> {
    let mut rest = stream;
    let mut channels = None;
    let mut seen = 0;
    let mut times = 0;
    let mut count = 0_usize;
    while let Some(block) = Block::next(&mut rest)? {
        if block.times() == 0 {
            continue;
        }
        block.check_mode()?;
        if seen > 0 && block.times() != times {
            return Err(CodecError::corrupt("channels of a WavPack stream have different lengths"));
        }
        times = block.times();
        seen += block.channels();
        count = count.saturating_add(times.saturating_mul(block.channels()));
        if count > expected.count {
            break;
        }
        if block.is_final() {
            if *channels.get_or_insert(seen) != seen {
                return Err(CodecError::corrupt("the number of channels of a WavPack stream changes"));
            }
            seen = 0;
        }
    }
    match channels {
        Some(channels) if count == expected.count && seen == 0 => Ok(channels),
        _ => Err(CodecError::corrupt(format!(
            "the WavPack stream does not have {} samples, as the chunk does",
            expected.count
        ))),
    }
}

/// Writes one sample. Samples of unsigned integers have the bits of signed ones.
fn put(number: Number, sample: i32, place: usize, chunk: &mut [u8]) {
    let size = number.size();
    let Some(room) = place.checked_mul(size).and_then(|start| chunk.get_mut(start..)?.get_mut(..size)) else {
        return;
    };
    let [b0, b1, ..] = sample.to_le_bytes();
    match size {
        1 => room.copy_from_slice(&[b0]),
        2 => room.copy_from_slice(&u16::from_le_bytes([b0, b1]).to_ne_bytes()),
        _ => room.copy_from_slice(&sample.to_ne_bytes()),
    }
}
