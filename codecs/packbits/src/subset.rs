//! Decoding subsets: the position of an element follows from its number.

use std::ops::Range;

use zarr_plugin_kit::subsets::{combined, runs};
use zarr_spec::codec::{DecodeSubset, EncodedRanges};
use zarr_spec::{ArrayRepresentation, ArraySubset, CodecError, Output};

use crate::{PackBits, PaddingEncoding, check_padding};

/// Ranges that are at most this many bytes apart are combined, so that their number is small.
const GAP: u64 = 1 << 10;

impl DecodeSubset for PackBits {
    fn ranges(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        _index: &[u8],
    ) -> Result<Vec<Range<u64>>, CodecError> {
        let runs = runs(&array.shape, subset).map(|run| self.bytes_of(&run));
        let padding = self.padding_range(array)?;
        let before = padding.clone().filter(|_| self.padding_encoding == PaddingEncoding::FirstByte);
        let after = padding.filter(|_| self.padding_encoding == PaddingEncoding::LastByte);
        Ok(combined(before.into_iter().chain(runs).chain(after), GAP))
    }

    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        if let Some(range) = self.padding_range(array)? {
            let (_, _, padding) = self.sizes(array)?;
            encoded.get(range)?.iter().try_for_each(|&declared| check_padding(declared, padding))?;
        }
        for run in runs(&array.shape, subset) {
            let packed = encoded.get(self.bytes_of(&run))?;
            let count = usize::try_from(run.end - run.start).unwrap_or(usize::MAX);
            let size = count.saturating_mul(self.component.size());
            let skipped = u32::try_from(self.bits_before(run.start) % 8).unwrap_or(0);
            self.component.unpack(packed, skipped, &mut decoded.spare(size)?[..size]);
            decoded.advance(size);
        }
        Ok(())
    }
}

impl PackBits {
    /// Returns the encoded bytes that contain a run of elements.
    fn bytes_of(&self, run: &Range<u64>) -> Range<u64> {
        let first = u64::from(self.padding_encoding == PaddingEncoding::FirstByte);
        first + self.bits_before(run.start) / 8..first + self.bits_before(run.end).div_ceil(8)
    }

    /// Returns the number of packed bits before an element. The product does not overflow, because the number of bits
    /// of the whole chunk was computed before.
    fn bits_before(&self, element: u64) -> u64 {
        element * self.component.packed_bits() as u64
    }

    /// Returns the position of the byte with the number of unused bits, if it is stored.
    fn padding_range(&self, array: &ArrayRepresentation) -> Result<Option<Range<u64>>, CodecError> {
        let (_, packed, _) = self.sizes(array)?;
        Ok(match self.padding_encoding {
            PaddingEncoding::None => None,
            PaddingEncoding::FirstByte => Some(0..1),
            PaddingEncoding::LastByte => Some(packed as u64..packed as u64 + 1),
        })
    }
}
