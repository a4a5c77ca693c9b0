//! Codecs of this side of the ABI that decode subsets, for the other side.

use std::ffi::c_void;

use zarr_spec::codec::{ArrayToBytesCodec, DecodeSubset, EncodedRanges};
use zarr_spec::{ArraySubset, Codec, Value};

use super::codec::{started, wrong_function};
use super::held;
use super::store::range_shown;
use crate::abi::{self, Array, Buf, Call, EncodedSubset, Str};
use crate::ffi::array::array_of;
use crate::ffi::output::write_output;
use crate::ffi::{Failure, borrowed, borrowed_items, put, read};

/// Returns the codec as a [`DecodeSubset`]; `None` if it does not decode subsets.
pub(super) fn of(codec: &Codec) -> Option<&dyn DecodeSubset> {
    match codec {
        Codec::ArrayToBytes(codec) => ArrayToBytesCodec::subsets(&**codec),
        _ => None,
    }
}

fn required(codec: &Codec) -> Result<&dyn DecodeSubset, Failure> {
    of(codec).ok_or_else(|| wrong_function(codec))
}

/// Returns the subset that begins at `start` and has the shape `shape`.
///
/// # Safety
///
/// The other side lends `rank` numbers at both pointers.
unsafe fn subset_of(start: *const u64, shape: *const u64, rank: usize) -> ArraySubset {
    // SAFETY: as this function requires.
    let (start, shape) = unsafe { (borrowed_items(start, rank), borrowed_items(shape, rank)) };
    let range = |(start, length): (&u64, &u64)| *start..start.saturating_add(*length);
    ArraySubset::new(start.iter().zip(shape).map(range).collect())
}

callbacks! {
    pub(super) fn index_range(this: *const c_void, array: *const Array, out: *mut abi::ByteRange) {
        let array = array_of(array)?;
        if let Some(range) = required(held(this))?.index_range(&array)? {
            out.write(range_shown(range));
        }
        Ok(())
    }

    pub(super) fn subset_ranges(
        this: *const c_void,
        array: *const Array,
        start: *const u64,
        shape: *const u64,
        index: Str,
        ranges_json: *mut Buf,
    ) {
        let array = array_of(array)?;
        let subset = subset_of(start, shape, array.shape.len());
        let ranges = required(held(this))?.ranges(&array, &subset, borrowed(index))?;
        let pair = |range: std::ops::Range<u64>| [range.start, range.end].into_iter().collect::<Value>();
        let ranges: Value = ranges.into_iter().map(pair).collect();
        put(ranges_json, ranges.to_string().into_bytes());
        Ok(())
    }

    pub(super) fn decode_subset(
        this: *const c_void,
        array: *const Array,
        encoded: *const EncodedSubset,
        call: *const Call,
        decoded: *mut abi::Output,
    ) {
        started(call)?;
        let codec = required(held(this))?;
        let array = array_of(array)?;
        let encoded = read(encoded)?;
        let subset = subset_of(encoded.start, encoded.shape, array.shape.len());
        let ranges = borrowed_items(encoded.ranges, encoded.n_ranges).iter();
        let ranges = ranges.map(|range| (range.offset, borrowed(range.bytes))).collect();
        let encoded = EncodedRanges::new(borrowed(encoded.index), ranges);
        write_output(decoded, |decoded| Ok(codec.decode_subset(&array, &subset, &encoded, decoded)?))
    }
}
