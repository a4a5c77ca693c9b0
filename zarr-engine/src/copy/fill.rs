//! Filling memory with one element, and recognizing such memory.

use std::mem::MaybeUninit;
use std::ptr;

use super::geometry::{Extent, Geometry, walk};
use super::kernels;
use super::level::Level;
use super::swap::ByteSwap;
use super::{Dimension, OutOfBounds, Shared, run};
use crate::per_dimension::PerDimension;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillDimension {
    /// The number of elements along this dimension. With 0, the whole fill is empty.
    pub(crate) count: usize,
    /// The stride in bytes; may be negative.
    pub(crate) stride: isize,
}

/// The size in bytes of the block of elements from which longer rows are filled.
const BLOCK: usize = 4096;

/// Minimum size in bytes of rows of one repeated byte that are set with `memset`.
const SET_ROW: usize = 256;

/// Fills a box of `destination` with `element`; its first element is at `destination_offset` bytes. Fails if any
/// element of the box is not completely inside of `destination`.
pub(crate) fn fill(
    element: &[u8],
    dimensions: &[FillDimension],
    destination: &mut [u8],
    destination_offset: usize,
) -> Result<(), OutOfBounds> {
    // SAFETY: the destination is borrowed for this call alone.
    unsafe { fill_shared(element, dimensions, Shared::new(destination), destination_offset) }
}

/// Like [`fill`], for memory to which other threads write, too.
///
/// # Safety
///
/// Until it returns, nothing else accesses the elements that it writes. (Bytes between them are never accessed.)
pub(crate) unsafe fn fill_shared(
    element: &[u8],
    dimensions: &[FillDimension],
    destination: Shared<'_>,
    destination_offset: usize,
) -> Result<(), OutOfBounds> {
    let mut repeated = PerDimension::new(dimensions.len(), Dimension::ONE);
    for (to, from) in repeated.iter_mut().zip(dimensions) {
        *to = Dimension { count: from.count, source_stride: 0, destination_stride: from.stride };
    }
    let source_side = Extent { size: element.len(), offset: 0 };
    let destination_side = Extent { size: destination.size, offset: destination_offset };
    Geometry::with(element.len(), &repeated, source_side, destination_side, |geometry| {
        // SAFETY: `Geometry` found all elements in bounds; the caller keeps others away from them.
        unsafe { fill_geometry(Level::detect(), element, geometry, destination.start.as_ptr()) };
    })
}

/// Fills all elements of `geometry`, whose only source element is `element`.
///
/// # Safety
///
/// The elements are inside of the memory that `destination` points to, and nothing else accesses them.
pub(super) unsafe fn fill_geometry(level: Level, element: &[u8], geometry: &Geometry, destination: *mut u8) {
    let (inner, outer) = geometry.split();
    let size = element.len();
    let bytes = inner.count * size;
    if inner.destination_stride != size.cast_signed() || size > BLOCK {
        // SAFETY: the only source element of `geometry` is `element`, and its destinations are in bounds by this
        // function's contract.
        return unsafe { run(level, ByteSwap::None, geometry, element.as_ptr(), destination, false) };
    }
    let destination = destination.wrapping_add(geometry.destination_start);
    match element {
        [first, rest @ ..] if bytes >= SET_ROW && rest.iter().all(|byte| byte == first) => {
            // SAFETY: a row of elements in bounds.
            walk(outer, |_, to| unsafe { destination.wrapping_offset(to).write_bytes(*first, bytes) });
        }
        // SAFETY: rows of elements in bounds.
        _ => unsafe { fill_rows(level, element, bytes, outer, destination) },
    }
}

/// Fills rows of `bytes` bytes from a block of repeated elements.
///
/// # Safety
///
/// All rows are valid for writes.
unsafe fn fill_rows(level: Level, element: &[u8], bytes: usize, outer: &[Dimension], destination: *mut u8) {
    // The block is not initialised: a row needs only a part of it, which is written before it is read.
    let mut block = MaybeUninit::<[u8; BLOCK]>::uninit();
    let block = block.as_mut_ptr().cast::<u8>();
    let size = element.len();
    let whole = (BLOCK / size * size).min(bytes);
    for at in (0..whole).step_by(size) {
        // SAFETY: a row is a whole number of elements, and so are these bytes of the block.
        unsafe { ptr::copy_nonoverlapping(element.as_ptr(), block.add(at), size) };
    }
    let blocks =
        Dimension { count: bytes / whole, source_stride: 0, destination_stride: whole.cast_signed() };
    let end = bytes / whole * whole;
    let rest = bytes - end;
    let rows = kernels::rows(level, size, ByteSwap::None, whole, false);
    let ends = kernels::rows(level, size, ByteSwap::None, rest, false);
    walk(outer, |_, to| {
        let to = destination.wrapping_offset(to);
        // SAFETY: this writes the bytes of one row, and reads only bytes of the block that were written.
        unsafe {
            rows.copy(block, to, blocks);
            if rest > 0 {
                ends.copy(block, to.wrapping_add(end), Dimension::ONE);
            }
        }
    });
}

/// Returns whether `bytes` consists of repetitions of `element`, bit for bit. Returns true if there are no bytes.
///
/// NaNs with different bits and zeros with different signs are different elements. The comparison runs at memory speed
/// and stops at the first difference.
pub(crate) fn all_equal(element: &[u8], bytes: &[u8]) -> bool {
    let size = element.len();
    if bytes.is_empty() {
        return true;
    }
    if size == 0 || !bytes.len().is_multiple_of(size) || !bytes.starts_with(element) {
        return false;
    }
    // The slices are equal if each element equals the element before it.
    bytes[size..] == bytes[..bytes.len() - size]
}
