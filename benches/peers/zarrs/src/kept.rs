//! Reads into existing memory.

#![expect(unsafe_code, reason = "zarrs does not have a safe function that reads into memory of the caller")]

use unsafe_cell_slice::UnsafeCellSlice;
use zarr_peers::Failure;
use zarrs::array::{ArrayBytesDecodeIntoTarget, ArrayBytesFixedDisjointView};

use crate::StoredArray;

/// Reads all of `array` into `kept`, which must have the size of all elements in bytes.
pub(crate) fn read(array: &StoredArray, kept: &mut [u8]) -> Result<(), Failure> {
    let item = array.data_type().fixed_size().ok_or("elements do not have a fixed size")?;
    let all = array.subset_all();
    let shape = array.shape().to_vec();
    // SAFETY: this is the only view of `kept`.
    let mut view =
        unsafe { ArrayBytesFixedDisjointView::new(UnsafeCellSlice::new(kept), item, &shape, all.clone())? };
    Ok(array.retrieve_array_subset_into(&all, ArrayBytesDecodeIntoTarget::Fixed(&mut view))?)
}
