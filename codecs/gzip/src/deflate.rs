//! Deflate streams (RFC 1951): in one call to libdeflate if it is available and the size permits, otherwise in
//! pieces.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::{CodecError, CodecResult, Output};

#[cfg(feature = "libdeflate")]
use crate::whole;

/// Scratch memory for compressing at one level.
#[derive(Debug)]
pub(crate) struct Encoder {
    level: Compression,
    #[cfg(feature = "libdeflate")]
    whole: Option<whole::Compressor>,
    /// Created when it is first needed.
    pieces: Option<Compress>,
}

impl Encoder {
    /// Creates an encoder for `level`, 0 to 9.
    pub(crate) fn new(level: u32) -> Self {
        Self {
            level: Compression::new(level),
            #[cfg(feature = "libdeflate")]
            whole: whole::Compressor::new(level),
            pieces: None,
        }
    }

    /// Appends the deflate stream of `decoded`.
    pub(crate) fn deflate(&mut self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        #[cfg(feature = "libdeflate")]
        if let Some(whole) = &mut self.whole {
            let bound = whole.bound(decoded.len()).min(encoded.remaining());
            if let Some(size) = whole.compress(decoded, encoded.spare(bound)?) {
                encoded.advance(size);
                return Ok(());
            }
        }
        let compress = self.pieces.get_or_insert_with(|| Compress::new(self.level, false));
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
#[derive(Debug)]
pub(crate) struct Decoder {
    #[cfg(feature = "libdeflate")]
    whole: Option<whole::Decompressor>,
    /// Created when it is first needed.
    pieces: Option<Decompress>,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            #[cfg(feature = "libdeflate")]
            whole: whole::Decompressor::new(),
            pieces: None,
        }
    }

    /// Decodes the first deflate stream of `encoded` and returns the bytes after it. `encoded` ends with a gzip
    /// trailer.
    pub(crate) fn inflate<'e>(
        &mut self,
        encoded: &'e [u8],
        decoded: &mut Output<'_>,
    ) -> CodecResult<&'e [u8]> {
        #[cfg(feature = "libdeflate")]
        if let Some(whole) = &mut self.whole
            && let Some(size) = expected_size(encoded, decoded.remaining())
            && let Some((read, written)) = whole.decompress(encoded, decoded.spare(size)?)
        {
            decoded.advance(written);
            return Ok(&encoded[read..]);
        }
        let decompress = self.pieces.get_or_insert_with(|| Decompress::new(false));
        decompress.reset(false);
        stream::decode(encoded, decoded, |encoded, room| {
            let status =
                decompress.decompress(encoded, room, FlushDecompress::None).map_err(CodecError::corrupt)?;
            let read = decompress.total_in();
            let written = decompress.total_out();
            Ok(StreamProgress::new(read, written, status == Status::StreamEnd))
        })
    }
}

/// Returns the decoded size in the trailer of `encoded`. The size is correct for a single member of less than 4 GiB.
/// `None` if it exceeds the limit, or the maximum for a stream of this size: then nothing is allocated.
#[cfg(feature = "libdeflate")]
fn expected_size(encoded: &[u8], limit: usize) -> Option<usize> {
    /// The maximum number of decoded bytes per encoded byte.
    const HIGHEST_RATIO: usize = 1032;
    let size = usize::try_from(u32::from_le_bytes(*encoded.last_chunk()?)).ok()?;
    (size <= limit && size / HIGHEST_RATIO <= encoded.len()).then_some(size)
}
