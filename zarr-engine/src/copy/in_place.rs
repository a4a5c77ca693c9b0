//! Reversing the bytes of elements in place.

use super::kernels;
use super::level::Level;
use super::swap::ByteSwap;
use super::{Dimension, OutOfBounds};

/// Reverses the units of all elements of `bytes` in place. Fails if `bytes` is not a whole number of elements, or a
/// unit exceeds its element.
pub(crate) fn swap_in_place(
    swap: ByteSwap<'_>,
    element_size: usize,
    bytes: &mut [u8],
) -> Result<(), OutOfBounds> {
    swap_in_place_at(Level::detect(), swap, element_size, bytes)
}

/// Like [`swap_in_place`], with the instructions of `level`.
pub(super) fn swap_in_place_at(
    level: Level,
    swap: ByteSwap<'_>,
    element_size: usize,
    bytes: &mut [u8],
) -> Result<(), OutOfBounds> {
    let swap = swap.checked(element_size)?;
    if bytes.is_empty() || element_size == 0 {
        return if bytes.is_empty() { Ok(()) } else { Err(OutOfBounds) };
    }
    if !bytes.len().is_multiple_of(element_size) {
        return Err(OutOfBounds);
    }
    if swap != ByteSwap::None {
        let start = bytes.as_mut_ptr();
        let rows = kernels::rows(level, element_size, swap, bytes.len(), false);
        // SAFETY: the only row is all of `bytes`. Its source and destination are the same memory, which is allowed for
        // rows whose bytes are swapped.
        unsafe { rows.copy(start, start, Dimension::ONE) };
    }
    Ok(())
}
