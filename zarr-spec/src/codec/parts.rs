//! Codecs that work in blocks, so that memory does not need to hold all decoded bytes.

use super::{BytesToBytesCodec, CodecResult};
use crate::output::Output;

/// A [`BytesToBytesCodec`] that reads and writes decoded bytes in parts.
///
/// The caller can then copy elements from or to an array while the part is in the cache. The encoded form is the output
/// of `encode`, and decoding refuses everything that `decode` refuses.
pub trait InParts: BytesToBytesCodec {
    /// Returns the size of the parts that `encode_parts` reads for `decoded_size` bytes; the last part may be
    /// shorter. Returns `None` if this number of bytes is not encoded in parts.
    fn part_size(&self, decoded_size: usize) -> Option<usize>;

    /// Like [`BytesToBytesCodec::encode`]. Called only if [`InParts::part_size`] returns a size.
    ///
    /// # Errors
    ///
    /// Those of `encode`, and of `decoded`.
    fn encode_parts(&self, decoded: &mut dyn PartSource, encoded: &mut Output<'_>) -> CodecResult;

    /// Returns the size of the parts that `decode_parts` writes for `encoded`, which is the memory that decoding needs;
    /// the last part may be shorter. Returns `None` if `encoded` is not decoded in parts, or is obviously invalid.
    fn decoded_part_size(&self, encoded: &[u8]) -> Option<usize>;

    /// Like [`BytesToBytesCodec::decode`]. Called only if [`InParts::decoded_part_size`] returns a size. Writes
    /// parts in order; some may have been written before an error.
    ///
    /// # Errors
    ///
    /// Those of `decode`, and of `decoded`.
    fn decode_parts(&self, encoded: &[u8], decoded: &mut dyn PartTarget) -> CodecResult;
}

/// A source that assembles decoded bytes on request.
pub trait PartSource {
    /// Returns the total number of bytes.
    fn size(&self) -> usize;

    /// Fills `part`, whose size is [`InParts::part_size`], with the bytes that begin at `start`. Parts may be
    /// requested any number of times, in any order.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`](crate::CodecError::Encode) for other parts.
    fn read(&mut self, start: usize, part: &mut [u8]) -> CodecResult;
}

/// A target for decoded bytes, part by part.
pub trait PartTarget {
    /// Accepts the next `part`.
    ///
    /// # Errors
    ///
    /// [`CodecError::TooLarge`](crate::CodecError::TooLarge) after the end; [`CodecError::Corrupt`](crate::CodecError::Corrupt) for a part that does not have the size
    /// of [`InParts::decoded_part_size`].
    fn write(&mut self, part: &[u8]) -> CodecResult;
}
