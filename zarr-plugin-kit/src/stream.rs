//! The loops around libraries that encode and decode a stream piece by piece.

use zarr_spec::codec::CodecError;
use zarr_spec::output::{LimitExceeded, Output};

/// Memory asked for at least when it grows, in bytes.
const STEP: usize = 1 << 16;

/// How far a stream has come since it began, as libraries count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that the library has read.
    pub read: u64,
    /// Bytes that it has written.
    pub written: u64,
    /// Whether that was the last.
    pub is_end: bool,
}

/// Appends the stream that `step` writes for `decoded`. `step` is given what is left to read, and room to write to.
///
/// # Errors
///
/// Those of `step`; [`CodecError::TooLarge`].
pub fn encode(
    decoded: &[u8],
    encoded: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Progress, CodecError>,
) -> Result<(), CodecError> {
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

/// Appends what `step` makes of the stream that `encoded` starts with, and returns what follows the stream. `step` is
/// given what is left to read, and room to write to.
///
/// # Errors
///
/// Those of `step`; [`CodecError::Corrupt`] where the stream is cut off; [`CodecError::TooLarge`] when the result
/// would pass the limit of `decoded`.
pub fn decode<'e>(
    encoded: &'e [u8],
    decoded: &mut Output<'_>,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Progress, CodecError>,
) -> Result<&'e [u8], CodecError> {
    let mut read = 0;
    let mut written = 0;
    loop {
        // A full output may still be followed by the end of the stream, which one byte of room lets through.
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
            return Err(CodecError::corrupt("the stream is cut off"));
        }
        (read, written) = (end, written + more);
    }
}

/// A count within a slice, which fits.
fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
