//! Codecs of the other side of the ABI that decode subsets.

use std::ops::Range;

use zarr_spec::codec::{DecodeSubset, EncodedRanges};
use zarr_spec::{ArrayRepresentation, ArraySubset, ByteRange, CodecResult, Output, Value};

use super::codec::{ForeignCodec, codec_error, run_error};
use crate::abi;
use crate::ffi::array::show_array;
use crate::ffi::export::store::{range_of, range_shown};
use crate::ffi::output::{lend_output, plain_call};
use crate::ffi::{Direction, Failure, lend, parse};

/// The range that means that a codec has no index.
const NO_INDEX: ByteRange = ByteRange::Range { offset: 0, size: 0 };

impl DecodeSubset for ForeignCodec {
    fn index_range(&self, array: &ArrayRepresentation) -> CodecResult<Option<ByteRange>> {
        if self.instance.vtable.index_range.is_none() {
            return Ok(None);
        }
        let mut out = range_shown(NO_INDEX);
        let called = show_array(array, |array| call!(self.instance, index_range(array, &mut out)));
        let range = called.and_then(|()| range_of(&out));
        let range = range.map_err(|failure| codec_error(&self.origin, failure, Direction::Decode))?;
        Ok(Some(range).filter(|range| *range != NO_INDEX))
    }

    fn ranges(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        index: &[u8],
    ) -> CodecResult<Vec<Range<u64>>> {
        let start = subset.start();
        let shape = subset.shape();
        // The subset has the dimensions of the array, so both pointers have the number of items that the header
        // requires.
        let fetched = show_array(array, |array| {
            fetch!(self.instance, subset_ranges(array, start.as_ptr(), shape.as_ptr(), lend(index)))
        });
        let ranges = fetched.and_then(|bytes| parse(&bytes)).and_then(|json| {
            ranges_of(&json).ok_or_else(|| Failure::broken(format!("it requested the invalid ranges {json}")))
        });
        ranges.map_err(|failure| codec_error(&self.origin, failure, Direction::Decode))
    }

    fn decode_subset(
        &self,
        array: &ArrayRepresentation,
        subset: &ArraySubset,
        encoded: &EncodedRanges<'_>,
        decoded: &mut Output<'_>,
    ) -> CodecResult {
        let limit = decoded.remaining();
        let call = plain_call(limit);
        let start = subset.start();
        let shape = subset.shape();
        let ranges: Vec<_> = encoded
            .ranges()
            .iter()
            .map(|&(offset, bytes)| abi::EncodedRange { offset, bytes: lend(bytes) })
            .collect();
        let lent = abi::EncodedSubset {
            struct_size: size_of::<abi::EncodedSubset>(),
            start: start.as_ptr(),
            shape: shape.as_ptr(),
            index: lend(encoded.index()),
            ranges: ranges.as_ptr(),
            n_ranges: ranges.len(),
        };
        let run = lend_output(decoded, |to| {
            show_array(array, |array| call!(self.instance, decode_subset(array, &lent, &call, to)))
        });
        run.map_err(|failure| run_error(&self.origin, failure, limit, Direction::Decode))
    }
}

/// Returns the ranges of a list of pairs: start and end.
fn ranges_of(json: &Value) -> Option<Vec<Range<u64>>> {
    let range = |pair: &Value| match pair.as_array()? {
        [start, end] => Some(start.as_u64()?..end.as_u64()?),
        _ => None,
    };
    json.as_array()?.iter().map(range).collect()
}
