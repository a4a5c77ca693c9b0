//! Codecs that work block by block: the decoded bytes need not lie in memory as a whole.

use super::{BytesToBytesCodec, CodecError};
use crate::output::Output;

/// A [`BytesToBytesCodec`] that asks for decoded bytes part by part, or hands them over so.
///
/// Whoever gathers elements from an array, or scatters them to it, then does so while the part is in the cache. Encoded
/// forms are those of `encode`, and whatever `decode` refuses is refused.
pub trait InParts: BytesToBytesCodec {
    /// Bytes of each part that `encode_parts` reads of `decoded_size` bytes, the last one being shorter if they do not
    /// divide it. `None` where that many bytes are not encoded in parts.
    fn part_size(&self, decoded_size: usize) -> Option<usize>;

    /// As [`BytesToBytesCodec::encode`]. Called only where [`InParts::part_size`] has an answer.
    ///
    /// # Errors
    ///
    /// Those of `encode`, and of `decoded`.
    fn encode_parts(&self, decoded: &mut dyn PartSource, encoded: &mut Output<'_>) -> Result<(), CodecError>;

    /// Bytes of each part that `decode_parts` writes of what is `encoded`, the last one being shorter if they do not
    /// divide it: memory that decoding takes. `None` where it is not decoded in parts, or it is plainly wrong.
    fn decoded_part_size(&self, encoded: &[u8]) -> Option<usize>;

    /// As [`BytesToBytesCodec::decode`]. Called only where [`InParts::decoded_part_size`] has an answer. Parts are
    /// written one after another from the first on, and those before an error may have been.
    ///
    /// # Errors
    ///
    /// Those of `decode`, and of `decoded`.
    fn decode_parts(&self, encoded: &[u8], decoded: &mut dyn PartTarget) -> Result<(), CodecError>;
}

/// Decoded bytes that are put together when they are asked for.
pub trait PartSource {
    /// Bytes in all.
    fn size(&self) -> usize;

    /// Fills all of `part`, a part of the size that [`InParts::part_size`] says, with the bytes from `start` on. Each
    /// part may be asked for any number of times, in any order.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`] for other parts.
    fn read(&mut self, start: usize, part: &mut [u8]) -> Result<(), CodecError>;
}

/// Takes decoded bytes as they come.
pub trait PartTarget {
    /// Takes the next `part`.
    ///
    /// # Errors
    ///
    /// [`CodecError::TooLarge`] past the end; [`CodecError::Corrupt`] for a part of another size than
    /// [`InParts::decoded_part_size`] says.
    fn write(&mut self, part: &[u8]) -> Result<(), CodecError>;
}
