//! Calls of the library, one block at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wavicle::{DecodedStream, EncodeParams, Error, decode_stream, encode_float, encode_int};
use zarr_plugin_kit::numbers::Number;

use crate::wide;

/// The sampling rate in the header, which has no meaning for arrays. The header has a code for this rate, so that
/// blocks need no further metadata for it.
const RATE: u32 = 32_000;

/// Decodes a stream of one block.
///
/// The library relies on numbers that wrap, and panics in builds that check arithmetic: such a panic becomes an error.
pub(crate) fn decoded(block: &[u8]) -> Result<DecodedStream, String> {
    caught(|| decode_stream(block))
}

/// Encodes the samples of one or two channels to a stream of one block.
pub(crate) fn encoded(number: Number, channels: usize, samples: &[i32]) -> Result<Vec<u8>, String> {
    let channels = if channels == 1 { 1 } else { 2 };
    if number == Number::F32 {
        let floats: Vec<f32> = samples.iter().map(|sample| f32::from_bits(sample.cast_unsigned())).collect();
        return caught(|| encode_float(channels, RATE, &floats));
    }
    // The library encodes samples of one byte, but does not decode them.
    let bits_per_sample = if number.size() == 4 { 32 } else { 16 };
    let parameters = EncodeParams { channels, sample_rate: RATE, bits_per_sample };
    let extra = wide::extra_bits(samples);
    if extra == 0 {
        return caught(|| encode_int(parameters, samples));
    }
    let high: Vec<i32> = samples.iter().map(|sample| sample >> extra).collect();
    let mut block = caught(|| encode_int(parameters, &high))?;
    wide::add(extra, samples, &mut block);
    Ok(block)
}

fn caught<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("a number is too large".to_owned()),
    }
}
