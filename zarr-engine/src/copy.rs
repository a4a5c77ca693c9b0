//! Copies elements between two strided layouts, such as a chunk and memory.
//!
//! The copy also changes the order of dimensions and the byte order of elements. All bounds are checked once, by
//! arithmetic on the strides, before memory is accessed. Then the dimensions are sorted by the stride of the
//! destination and merged where possible. One of three kernels does the copy: rows that are contiguous on both sides,
//! square tiles of one cache line if the orders differ, or single elements.
//!
//! Several threads write disjoint elements of one output through [`Shared`]. A caller with exclusive access to an
//! output uses the safe functions.
#![expect(unsafe_code, reason = "elements are moved through raw pointers, after one check of all bounds")]

mod elements;
mod fill;
mod geometry;
mod in_place;
mod kernels;
mod level;
mod rows;
mod swap;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

pub(crate) use fill::{FillDimension, all_equal, fill, fill_shared};
pub(crate) use in_place::swap_in_place;
pub(crate) use swap::ByteSwap;

use geometry::{Extent, Geometry, walk};
use level::Level;

/// The most dimensions that a copy or a fill may have.
pub(crate) const MAX_RANK: usize = 32;

/// One dimension of a copy. Strides are in bytes and may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    /// The number of elements along this dimension. With 0, the whole copy is empty.
    pub(crate) count: usize,
    /// The stride of the source in bytes; 0 repeats the same element.
    pub(crate) source_stride: isize,
    /// The stride of the destination in bytes.
    pub(crate) destination_stride: isize,
}

impl Dimension {
    /// A dimension of one element, which has no effect.
    const ONE: Self = Self { count: 1, source_stride: 0, destination_stride: 0 };
}

/// The error for a copy or a fill that would access bytes outside of the given memory.
///
/// It is also returned for a unit of a [`ByteSwap`] that exceeds its element, and for more than [`MAX_RANK`] dimensions.
/// Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBounds;

impl fmt::Display for OutOfBounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("copy reaches outside of its memory")
    }
}

impl Error for OutOfBounds {}

/// The bytes of one output to which several threads write disjoint parts.
///
/// It borrows the bytes exclusively. All writes through it are `unsafe`: two calls that may run concurrently must not
/// write the same byte, and no thread may read a byte that another call may be writing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    start: NonNull<u8>,
    size: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a `&mut [u8]`, which may go to another thread.
unsafe impl Send for Shared<'_> {}
// SAFETY: bytes are only reached through `unsafe` functions, whose callers keep threads apart.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    /// Shares `bytes` for the duration of the borrow.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { size: bytes.len(), start: NonNull::from(bytes).cast(), bytes: PhantomData }
    }

    /// Shares some of the elements in the `size` bytes of memory at `start`.
    ///
    /// # Safety
    ///
    /// The memory is valid for `'a`. During `'a`, the shared elements are accessed only through the result, and the
    /// result is not used for other bytes of the memory.
    pub(crate) unsafe fn of_elements(start: NonNull<u8>, size: usize) -> Self {
        Self { start, size, bytes: PhantomData }
    }

    /// Returns the bytes of `range` as a slice, for writing one contiguous run. Fails if `range` is not inside the
    /// memory.
    ///
    /// # Safety
    ///
    /// While the slice lives, no other slice of an overlapping range lives, and no copy or fill touches it.
    pub(crate) unsafe fn slice_mut(&self, range: Range<usize>) -> Result<&'a mut [u8], OutOfBounds> {
        if range.start > range.end || range.end > self.size {
            return Err(OutOfBounds);
        }
        // SAFETY: the range lies inside the borrowed bytes, and the caller keeps others away from it.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(range.start), range.len()) })
    }
}

/// Copies a box of elements from `source` to `destination`, and changes their byte order.
///
/// The offsets are those of the first element, in bytes. Elements should have distinct positions in the destination; if
/// several have the same position, it is unspecified which of them remains. With `streaming`, complete cache lines are
/// written with non-temporal stores. This is faster if the whole output is much larger than the CPU caches. Fails if
/// any element, on either side, is not completely inside of its slice.
#[expect(clippy::too_many_arguments, reason = "two strided sides have this many parts")]
pub(crate) fn copy(
    element_size: usize,
    swap: ByteSwap<'_>,
    dimensions: &[Dimension],
    source: &[u8],
    source_offset: usize,
    destination: &mut [u8],
    destination_offset: usize,
    streaming: bool,
) -> Result<(), OutOfBounds> {
    let destination = Shared::new(destination);
    // SAFETY: the destination is borrowed for this call alone.
    unsafe {
        copy_shared(
            element_size,
            swap,
            dimensions,
            source,
            source_offset,
            destination,
            destination_offset,
            streaming,
        )
    }
}

/// Like [`copy`], for memory to which other threads write, too.
///
/// When it returns, all writes, including non-temporal stores, are visible to threads that synchronize with this one.
///
/// # Safety
///
/// Until it returns, nothing else accesses the elements of the destination that it writes. (Bytes between them are
/// never accessed.)
#[expect(clippy::too_many_arguments, reason = "two strided sides have this many parts")]
pub(crate) unsafe fn copy_shared(
    element_size: usize,
    swap: ByteSwap<'_>,
    dimensions: &[Dimension],
    source: &[u8],
    source_offset: usize,
    destination: Shared<'_>,
    destination_offset: usize,
    streaming: bool,
) -> Result<(), OutOfBounds> {
    let swap = swap.checked(element_size)?;
    let source_side = Extent { size: source.len(), offset: source_offset };
    let destination_side = Extent { size: destination.size, offset: destination_offset };
    let source = source.as_ptr();
    let destination = destination.start.as_ptr();
    Geometry::with(element_size, dimensions, source_side, destination_side, |geometry| {
        // SAFETY: `Geometry` has checked that all elements are inside of both sides, and `ByteSwap::checked` that all
        // units are inside of their elements. The caller keeps others away from what is written.
        unsafe { run(Level::detect(), swap, geometry, source, destination, streaming) };
    })
}

/// Copies the elements of `geometry` with the best kernel.
///
/// # Safety
///
/// All elements of `geometry` are inside of the memory that `source` and `destination` point to. `swap` fits the
/// elements. No other thread writes to either side.
unsafe fn run(
    level: Level,
    swap: ByteSwap<'_>,
    geometry: &Geometry,
    source: *const u8,
    destination: *mut u8,
    streaming: bool,
) {
    let size = geometry.element_size;
    let source = source.wrapping_add(geometry.source_start);
    let destination = destination.wrapping_add(geometry.destination_start);
    let (inner, outer) = geometry.split();
    let streaming = streaming && inner.count * size >= rows::LINE;
    if inner.source_stride == size.cast_signed() && inner.destination_stride == size.cast_signed() {
        let rows = kernels::rows(level, size, swap, inner.count * size, streaming);
        let (second, outer) = outer.split_first().unwrap_or((&Dimension::ONE, &[]));
        // SAFETY: rows of elements in bounds, by this function's contract.
        walk(outer, |from, to| unsafe {
            rows.copy(source.wrapping_offset(from), destination.wrapping_offset(to), *second);
        });
    } else {
        // SAFETY: this copies the elements of `geometry`, which are in bounds by this function's contract.
        unsafe { tiles::copy(level, size, swap, inner, outer, source, destination, streaming) };
    }
    if streaming {
        kernels::fence(level);
    }
}
