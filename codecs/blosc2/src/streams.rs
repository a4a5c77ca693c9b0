//! The compressed streams of a block.

use flate2::{Decompress, FlushDecompress, Status};
use zarr_spec::{CodecError, CodecResult};
use zstd::zstd_safe::DCtx;

use crate::blosclz;

/// The number of bytes that hold the size of a stream. They precede the stream.
const WORD: usize = 4;

/// The token of a stream that is one repeated byte.
const REPEATED: u8 = 1;

/// A stream of a block.
pub(crate) enum Stream<'e> {
    /// All bytes are equal.
    Run(u8),
    /// The bytes, compressed unless they have the decoded size.
    Bytes(&'e [u8]),
}

/// Removes the next stream from `rest`.
pub(crate) fn next_stream<'e>(rest: &mut &'e [u8]) -> CodecResult<Stream<'e>> {
    let ends_early = || CodecError::corrupt("a block of the chunk ends early");
    let (size, after) = rest.split_first_chunk::<WORD>().ok_or_else(ends_early)?;
    let size = i32::from_le_bytes(*size);
    if size < 0 {
        let (&token, after) = after.split_first().ok_or_else(ends_early)?;
        *rest = after;
        let byte = u8::try_from(size.unsigned_abs()).ok().filter(|_| token == REPEATED);
        return byte
            .map(Stream::Run)
            .ok_or_else(|| CodecError::corrupt("a stream of the chunk has an unknown form"));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (stream, after) = after.split_at_checked(size).ok_or_else(ends_early)?;
    *rest = after;
    Ok(if stream.is_empty() { Stream::Run(0) } else { Stream::Bytes(stream) })
}

/// Returns the maximum decoded size of a compressed stream of `size` bytes.
pub(crate) fn largest_decoded_size(compressor: u8, size: usize) -> usize {
    match compressor {
        // A copy of at most 258 bytes takes two bits.
        3 => size.saturating_mul(1032),
        // A block of at most 128 KiB takes three bytes or more.
        4 => (size / 3).saturating_mul(1 << 17).max(size),
        // Each byte that continues a length adds at most 255.
        _ => size.saturating_mul(255),
    }
}

/// Decompresses streams, with memory that is reused.
pub(crate) struct Streams {
    compressor: u8,
    zstd: Option<DCtx<'static>>,
}

impl Streams {
    pub(crate) fn new(compressor: u8) -> Self {
        Self { compressor, zstd: None }
    }

    /// Decodes the next stream of `rest` to all of `decoded`.
    pub(crate) fn next(&mut self, rest: &mut &[u8], decoded: &mut [u8]) -> CodecResult {
        match next_stream(rest)? {
            Stream::Run(byte) => decoded.fill(byte),
            Stream::Bytes(stream) if stream.len() == decoded.len() => decoded.copy_from_slice(stream),
            Stream::Bytes(stream) => self.decompress(stream, decoded)?,
        }
        Ok(())
    }

    fn decompress(&mut self, stream: &[u8], decoded: &mut [u8]) -> CodecResult {
        let size = match self.compressor {
            0 => blosclz::decompress(stream, decoded),
            1 => lz4_flex::block::decompress_into(stream, decoded).ok(),
            3 => inflate(stream, decoded),
            4 => self.zstd.get_or_insert_with(DCtx::create).decompress(decoded, stream).ok(),
            other => {
                return Err(CodecError::corrupt(format!("compressor {other} of Blosc is not supported")));
            }
        };
        match size == Some(decoded.len()) {
            true => Ok(()),
            false => Err(CodecError::corrupt("a stream of the chunk cannot be decompressed")),
        }
    }
}

/// Decompresses a stream of zlib. Returns the decoded size, or `None` if it fails.
fn inflate(stream: &[u8], decoded: &mut [u8]) -> Option<usize> {
    let mut state = Decompress::new(true);
    let status = state.decompress(stream, decoded, FlushDecompress::Finish).ok()?;
    usize::try_from(state.total_out()).ok().filter(|_| status == Status::StreamEnd)
}
