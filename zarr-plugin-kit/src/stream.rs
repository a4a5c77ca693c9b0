//! Loops for libraries that encode and decode a stream in pieces.

use zarr_spec::codec::{CodecError, CodecResult};
use zarr_spec::output::{LimitExceeded, Output};

/// The least growth of the output, in bytes.
const STEP: usize = 1 << 16;

/// The progress of a stream, as libraries count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamProgress {
    /// The number of bytes that the library has read.
    pub read: u64,
    /// The number of bytes that the library has written.
    pub written: u64,
    /// Whether the stream has ended.
    pub is_end: bool,
}

impl StreamProgress {
    /// Creates the progress from the total counts.
    #[must_use]
    pub const fn new(read: u64, written: u64, is_end: bool) -> Self {
        Self { read, written, is_end }
    }
}

/// Appends the stream that `step` writes for `decoded`. The arguments of `step` are the remaining input and
/// memory for output.
///
/// # Errors
///
/// Those of `step`; [`CodecError::TooLarge`].
pub fn encode(
    decoded: &[u8],
    encoded: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut [u8]) -> CodecResult<StreamProgress>,
) -> CodecResult {
    let mut read = 0;
    let mut written = 0;
    loop {
        let room = encoded.spare(encoded.remaining().clamp(1, STEP))?;
        let now = step(&decoded[read..], room)?;
        encoded.advance(bytes(now.written) - written);
        if now.is_end {
            return Ok(());
        }
        (read, written) = (bytes(now.read), bytes(now.written));
    }
}

/// Decodes the stream at the start of `encoded` with `step`, and returns the bytes after the stream. The
/// arguments of `step` are the remaining input and memory for output.
///
/// # Errors
///
/// Those of `step`; [`CodecError::Corrupt`] if the stream is truncated; [`CodecError::TooLarge`] if the result
/// would exceed the limit of `decoded`.
pub fn decode<'e>(
    encoded: &'e [u8],
    decoded: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut [u8]) -> CodecResult<StreamProgress>,
) -> CodecResult<&'e [u8]> {
    let mut read = 0;
    let mut written = 0;
    loop {
        // The end of the stream may follow when the output is full. One more byte of memory lets the library
        // read it.
        let mut beyond = [0];
        let full = decoded.remaining() == 0;
        let room = if full { &mut beyond } else { decoded.spare(decoded.remaining().min(STEP))? };
        let now = step(&encoded[read..], room)?;
        let more = bytes(now.written) - written;
        if full && more > 0 {
            return Err(LimitExceeded { limit: decoded.written().len() }.into());
        }
        decoded.advance(more);
        let end = bytes(now.read);
        if now.is_end {
            return Ok(&encoded[end..]);
        }
        if more == 0 && end == read {
            return Err(CodecError::corrupt("the stream is truncated"));
        }
        (read, written) = (end, written + more);
    }
}

/// Converts a count of bytes in a slice, which fits.
fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
