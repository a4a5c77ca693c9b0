//! From samples to blocks.

use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::CodecResult;
use zarr_spec::{CodecError, Output};

use crate::Samples;
use crate::blocks::{LARGEST, Place, put_at};
use crate::library;

/// The number of samples of a channel in a block, so that the largest block stays below its limit.
const TIMES: usize = 1 << 15;

/// Encodes the samples to blocks of one or two channels.
///
/// # Errors
///
/// [`CodecError::Encode`] for samples that do not decode to themselves; [`CodecError::TooLarge`].
pub(crate) fn encode(samples: &Samples, chunk: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    let Samples { number, count, channels } = *samples;
    if chunk.len() != count * number.size() {
        return Err(CodecError::encode(format!("the chunk has {} bytes, not {count} samples", chunk.len())));
    }
    let times = count / channels;
    for (index, rows) in chunk.chunks(TIMES * channels * number.size()).enumerate() {
        for channel in (0..channels).step_by(2) {
            let columns = channel..channels.min(channel + 2);
            let pair = columns.len();
            let selected = select(number, rows, channels, columns);
            let mut block = library::encoded(number, pair, &selected).map_err(CodecError::encode)?;
            let again = library::decoded(&block).ok();
            if again.is_none_or(|again| again.samples != selected) || block.len() + 8 > LARGEST {
                return Err(CodecError::encode("WavPack does not preserve these samples"));
            }
            let place = Place { time: index * TIMES, times, channel, channels, sample_size: number.size() };
            put_at(place, &mut block);
            encoded.put(&block)?;
        }
    }
    Ok(())
}

/// Returns the samples of some channels. Unsigned integers become signed ones with the same bits.
fn select(number: Number, rows: &[u8], channels: usize, columns: std::ops::Range<usize>) -> Vec<i32> {
    let size = number.size();
    let pairs = rows.chunks_exact(channels * size).flat_map(|row| {
        row.get(columns.start * size..columns.end * size).unwrap_or_default().chunks_exact(size)
    });
    pairs
        .map(|sample| match *sample {
            [byte] => i32::from(byte.cast_signed()),
            [b0, b1] => i32::from(i16::from_ne_bytes([b0, b1])),
            [b0, b1, b2, b3] => i32::from_ne_bytes([b0, b1, b2, b3]),
            _ => 0,
        })
        .collect()
}
