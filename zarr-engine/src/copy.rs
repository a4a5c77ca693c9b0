//! Moves elements between two strided layouts: the one copy between a chunk and memory.
//!
//! The order of dimensions and the byte order of elements are folded into it. A copy is checked once, by
//! arithmetic on its strides, before it touches memory. Then its dimensions are ordered by the stride of the
//! destination and joined where they can be, and one of three kernels runs: rows that lie together on both
//! sides, tiles one cache line wide each way where the sides disagree, or element by element.
//!
//! Several threads write disjoint elements of one output through [`Shared`]; who owns a whole output uses
//! the safe functions beside them.
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
pub(crate) use swap::Swap;

use geometry::{Extent, Geometry, walk};
use level::Level;

/// The most dimensions that a copy or a fill may have.
pub(crate) const MAX_RANK: usize = 32;

/// One dimension of a copy. Strides are bytes between neighbours and may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    /// Elements along this dimension; 0 makes the whole copy empty.
    pub(crate) count: usize,
    /// Bytes from one element of the source to the next; 0 repeats the same one.
    pub(crate) source_stride: isize,
    /// Bytes from one element of the destination to the next.
    pub(crate) destination_stride: isize,
}

impl Dimension {
    /// The dimension that changes nothing.
    const ONE: Self = Self { count: 1, source_stride: 0, destination_stride: 0 };
}

/// A copy or a fill would touch bytes outside of the memory it was given.
///
/// Also: a unit of a [`Swap`] that reaches out of its element, or more than [`MAX_RANK`] dimensions.
/// Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBounds;

impl fmt::Display for OutOfBounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("copy reaches outside of its memory")
    }
}

impl Error for OutOfBounds {}

/// The bytes of one output that several threads write to, each its own part.
///
/// Nobody else can reach the bytes while it lives. All writing through it is `unsafe`: two calls that may
/// run at the same time must not write the same byte, and nobody may read a byte that another call may be
/// writing.
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
    /// Shares `bytes` for as long as it is borrowed.
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Self { size: bytes.len(), start: NonNull::from(bytes).cast(), bytes: PhantomData }
    }

    /// Shares some elements of `size` bytes of memory; `None` if there is no memory.
    ///
    /// # Safety
    ///
    /// The memory is valid for `'a`. For as long, its elements are reached only through the result, and the result is only
    /// used for these elements.
    #[cfg(feature = "ndarray")]
    pub(crate) unsafe fn of_elements(start: *mut u8, size: usize) -> Option<Self> {
        Some(Self { start: NonNull::new(start)?, size, bytes: PhantomData })
    }

    /// The bytes of `range` as a slice, for what writes one contiguous run.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`] if `range` is not inside the memory.
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

/// Copies a box of elements from `source` to `destination`, with the byte order changed on the way.
///
/// Offsets are those of the first element in bytes. Elements should have distinct places in the destination:
/// where they have not, one of them stays, and which one is not said. `streaming` writes past the caches
/// where whole cache lines are written; it pays when the whole output is much larger than they are.
///
/// # Errors
///
/// [`OutOfBounds`] if any element, on either side, is not wholly inside its slice.
#[expect(clippy::too_many_arguments, reason = "two strided sides have this many parts")]
pub(crate) fn copy(
    element_size: usize,
    swap: Swap<'_>,
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

/// [`copy`] to memory that other threads write to as well.
///
/// When it returns, all it wrote is visible to whoever synchronises with this thread, streamed or not.
///
/// # Errors
///
/// [`OutOfBounds`] as for [`copy`].
///
/// # Safety
///
/// Until it returns, nothing else touches the elements of the destination that it writes. (Bytes between
/// them are never touched.)
#[expect(clippy::too_many_arguments, reason = "two strided sides have this many parts")]
pub(crate) unsafe fn copy_shared(
    element_size: usize,
    swap: Swap<'_>,
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
        // SAFETY: `Geometry` found all elements inside of both sides, `checked` all units inside of their
        // elements; the caller keeps others away from what is written.
        unsafe { run(Level::detect(), swap, geometry, source, destination, streaming) };
    })
}

/// Copies what `geometry` says, with the kernel that suits it.
///
/// # Safety
///
/// All elements of `geometry` are inside of the memory that `source` and `destination` point to.
/// `swap` fits the elements. Nobody else writes to either side.
unsafe fn run(
    level: Level,
    swap: Swap<'_>,
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
        // SAFETY: the same elements in another order.
        unsafe { tiles::copy(level, size, swap, inner, outer, source, destination, streaming) };
    }
    if streaming {
        kernels::fence(level);
    }
}
