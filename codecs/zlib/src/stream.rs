//! zlib streams (RFC 1950): in one call to libdeflate if it is available and the size permits, otherwise in
//! pieces.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
#[cfg(feature = "libdeflate")]
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::{CodecError, CodecResult, Output};

/// Scratch memory for compressing at one level.
pub(crate) struct Encoder {
    level: Compression,
    #[cfg(feature = "libdeflate")]
    whole: Option<Compressor>,
    /// Created when it is first needed.
    pieces: Option<Compress>,
}

impl Encoder {
    /// Creates an encoder for `level`, 0 to 9.
    pub(crate) fn new(level: u32) -> Self {
        Self {
            level: Compression::new(level),
            #[cfg(feature = "libdeflate")]
            whole: i32::try_from(level)
                .ok()
                .and_then(|level| CompressionLvl::new(level).ok())
                .map(Compressor::new),
            pieces: None,
        }
    }

    /// Appends the stream of `decoded`.
    pub(crate) fn deflate(&mut self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        #[cfg(feature = "libdeflate")]
        if let Some(whole) = &mut self.whole {
            let bound = whole.zlib_compress_bound(decoded.len()).min(encoded.remaining());
            if let Ok(size) = whole.zlib_compress(decoded, encoded.spare(bound)?) {
                encoded.advance(size);
                return Ok(());
            }
        }
        let compress = self.pieces.get_or_insert_with(|| Compress::new(self.level, true));
        compress.reset();
        stream::encode(decoded, encoded, |decoded, room| {
            let status =
                compress.compress(decoded, room, FlushCompress::Finish).map_err(CodecError::encode)?;
            let read = compress.total_in();
            let written = compress.total_out();
            Ok(StreamProgress::new(read, written, status == Status::StreamEnd))
        })
    }
}

/// Scratch memory for decompressing.
pub(crate) struct Decoder {
    #[cfg(feature = "libdeflate")]
    whole: Decompressor,
    /// Created when it is first needed.
    pieces: Option<Decompress>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(feature = "libdeflate")]
            whole: Decompressor::new(),
            pieces: None,
        }
    }

    /// Decodes the stream at the start of `encoded`. Ignores bytes after the stream.
    pub(crate) fn inflate(&mut self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        #[cfg(feature = "libdeflate")]
        {
            let room = decoded.spare(expected_size(encoded, decoded.remaining()))?;
            if let Ok(size) = self.whole.zlib_decompress(encoded, room) {
                decoded.advance(size);
                return Ok(());
            }
        }
        let decompress = self.pieces.get_or_insert_with(|| Decompress::new(true));
        decompress.reset(true);
        let _ignored = stream::decode(encoded, decoded, |encoded, room| {
            let status =
                decompress.decompress(encoded, room, FlushDecompress::None).map_err(CodecError::corrupt)?;
            let read = decompress.total_in();
            let written = decompress.total_out();
            Ok(StreamProgress::new(read, written, status == Status::StreamEnd))
        })?;
        Ok(())
    }
}

/// Returns the size of the memory to try first, since `encoded` does not contain its decoded size: the usual size for a
/// stream of this length, or 16 MiB if that is more. It is at most the limit, and at most what such a stream can
/// contain.
#[cfg(feature = "libdeflate")]
fn expected_size(encoded: &[u8], limit: usize) -> usize {
    /// The maximum and the usual number of decoded bytes per encoded byte.
    const RATIOS: [usize; 2] = [1032, 16];
    /// A size that is cheap to allocate for any stream.
    const SMALL: usize = 16 << 20;
    let [highest, usual] = RATIOS.map(|ratio| encoded.len().saturating_mul(ratio));
    limit.min(highest).min(usual.max(SMALL))
}
