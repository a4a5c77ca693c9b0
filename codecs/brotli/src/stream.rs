//! Brotli streams, with the library `brotli`.

use brotli::enc::StandardAlloc;
use brotli::enc::backward_references::BrotliEncoderMode;
use brotli::enc::encode::BrotliEncoderInitParams;
use brotli::{BrotliCompress, BrotliDecompressStream, BrotliResult, BrotliState};
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::{CodecError, CodecResult, Output};

use crate::{Brotli, BrotliMode};

/// Appends the stream of `decoded`.
pub(crate) fn encode(codec: &Brotli, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
    let mut parameters = BrotliEncoderInitParams();
    parameters.quality = codec.level;
    parameters.lgwin = codec.window;
    parameters.size_hint = decoded.len();
    parameters.mode = match codec.mode {
        BrotliMode::Generic => BrotliEncoderMode::BROTLI_MODE_GENERIC,
        BrotliMode::Text => BrotliEncoderMode::BROTLI_MODE_TEXT,
        BrotliMode::Font => BrotliEncoderMode::BROTLI_MODE_FONT,
    };
    let mut rest = decoded;
    BrotliCompress(&mut rest, encoded, &parameters).map_err(CodecError::encode)?;
    Ok(())
}

/// Decodes `encoded`, which must be exactly one stream.
pub(crate) fn decode(encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
    let alloc = StandardAlloc::default;
    // A strict decoder has windows of at most 16 MiB, so that a stream cannot request 1 GiB.
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let mut read = 0;
    let mut written = 0;
    let rest = stream::decode(encoded, decoded, |encoded, room| {
        let mut input = encoded.len();
        let mut space = room.len();
        let mut input_end = 0;
        let mut room_end = 0;
        let mut total = 0;
        let result = BrotliDecompressStream(
            &mut input,
            &mut input_end,
            encoded,
            &mut space,
            &mut room_end,
            room,
            &mut total,
            &mut state,
        );
        read += input_end as u64;
        written += room_end as u64;
        match result {
            BrotliResult::ResultFailure => Err(CodecError::corrupt("the bytes are not a Brotli stream")),
            status => Ok(StreamProgress::new(read, written, matches!(status, BrotliResult::ResultSuccess))),
        }
    })?;
    if !rest.is_empty() {
        return Err(CodecError::corrupt(format!("{} bytes follow the stream", rest.len())));
    }
    Ok(())
}
