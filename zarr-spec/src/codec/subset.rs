//! Codecs that decode a subset of an array from parts of its encoded bytes.

use std::ops::Range;

use super::{ArrayToBytesCodec, CodecError, CodecResult};
use crate::key::ByteRange;
use crate::output::Output;
use crate::representation::ArrayRepresentation;
use crate::subset::ArraySubset;

/// An [`ArrayToBytesCodec`] that decodes a subset of the elements without all of the encoded bytes.
///
/// If the codec is the only computed step of a chain, an engine fetches only the bytes that the codec asks for. This
/// takes up to two round trips: one for the index, if there is one, and one for the ranges. The engine may also decode
/// everything with [`ArrayToBytesCodec::decode`].
///
/// Elements have a fixed size. Every subset is within the array and is not empty.
pub trait DecodeSubset: ArrayToBytesCodec {
    /// Returns the part of the encoded bytes that [`DecodeSubset::ranges`] needs, such as an index of the
    /// positions of blocks. The default is `None`: positions depend only on the array.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the codec does not support the data type or shape.
    fn index_range(&self, array: &ArrayRepresentation) -> CodecResult<Option<ByteRange>> {
        let _positions_depend_only_on_the_array = array;
        Ok(None)
    }

    /// Returns the ranges of the encoded bytes that contain the elements of `subset`, in ascending order and without
    /// overlap. `index` has the bytes of [`DecodeSubset::index_range`]; it is empty if there is no index.
    ///
    /// No range is empty. There may be no ranges if the index contains everything that is needed.
    ///
    /// The engine combines ranges that are close to one another, so that a codec may return one range per row.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`] for an invalid index.
    fn ranges(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        index: &[u8],
    ) -> CodecResult<Vec<Range<u64>>>;

    /// Appends the elements of `subset`, in C order. `encoded` has the bytes of [`DecodeSubset::ranges`].
    ///
    /// Errors in the bytes of the subset are found as in [`ArrayToBytesCodec::decode`]. Damage in other parts
    /// may go unnoticed. A codec with a checksum of all bytes therefore does not implement this trait.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> CodecResult;
}

/// Parts of the encoded bytes of an array.
#[derive(Debug, Clone, Default)]
pub struct EncodedRanges<'e> {
    index: &'e [u8],
    /// The offset and the bytes of each range, in ascending order.
    ranges: Vec<(u64, &'e [u8])>,
}

impl<'e> EncodedRanges<'e> {
    /// Creates ranges from the bytes of [`DecodeSubset::index_range`], and the offset and the bytes of each
    /// range, in ascending order.
    #[must_use]
    pub const fn new(index: &'e [u8], ranges: Vec<(u64, &'e [u8])>) -> Self {
        Self { index, ranges }
    }

    /// Returns the bytes of [`DecodeSubset::index_range`]; an empty slice if there is no index.
    #[must_use]
    pub const fn index(&self) -> &'e [u8] {
        self.index
    }

    /// Returns the offset and the bytes of each range, in ascending order.
    #[must_use]
    pub fn ranges(&self) -> &[(u64, &'e [u8])] {
        &self.ranges
    }

    /// Returns the bytes in `range`, which is within one of the ranges of [`DecodeSubset::ranges`].
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`] if the range was not requested, or the encoded bytes end before it.
    pub fn get(&self, range: Range<u64>) -> CodecResult<&'e [u8]> {
        let following = self.ranges.partition_point(|&(offset, _)| offset <= range.start);
        let part = following.checked_sub(1).and_then(|number| {
            let (offset, bytes) = self.ranges[number];
            let start = usize::try_from(range.start - offset).ok()?;
            let end = usize::try_from(range.end.checked_sub(offset)?).ok()?;
            bytes.get(start..end)
        });
        part.ok_or_else(|| {
            CodecError::corrupt(format!(
                "the encoded bytes {} to {} are missing or were not requested",
                range.start, range.end
            ))
        })
    }
}
