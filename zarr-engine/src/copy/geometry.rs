//! The shape of a copy: checked against both sides, put in order, and as few dimensions as possible.

use super::{Dimension, MAX_RANK, OutOfBounds};
use crate::per_dimension::PerDimension;

/// A copy of at least one element, all of them in bounds, in its simplest form.
///
/// Dimensions stand innermost first, by the stride of the destination, which is never negative.
#[derive(Debug)]
pub(super) struct Geometry {
    /// Bytes of an element, at least 1.
    pub(super) element_size: usize,
    /// Where the first element lies, in bytes from the start of the source.
    pub(super) source_start: usize,
    /// Where the first element lies, in bytes from the start of the destination.
    pub(super) destination_start: usize,
    dimensions: PerDimension<Dimension>,
    rank: usize,
}

/// The memory of one side of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Bytes of the memory.
    pub(super) size: usize,
    /// Bytes before the first element.
    pub(super) offset: usize,
}

impl Geometry {
    /// Checks and simplifies a copy between `source` and `destination`, and calls `run` with it if there is anything
    /// to copy.
    ///
    /// It is handed on and not returned: moving it took longer than copying one element.
    pub(super) fn with(
        element_size: usize,
        dimensions: &[Dimension],
        source: Extent,
        destination: Extent,
        run: impl FnOnce(&Self),
    ) -> Result<(), OutOfBounds> {
        if dimensions.len() > MAX_RANK {
            return Err(OutOfBounds);
        }
        if element_size == 0 || dimensions.iter().any(|dimension| dimension.count == 0) {
            return Ok(());
        }
        check(element_size, source, dimensions.iter().map(|d| (d.count, d.source_stride)))?;
        check(element_size, destination, dimensions.iter().map(|d| (d.count, d.destination_stride)))?;
        let mut geometry = Self {
            element_size,
            source_start: source.offset,
            destination_start: destination.offset,
            dimensions: PerDimension::new(dimensions.len(), Dimension::ONE),
            rank: 0,
        };
        for &dimension in dimensions {
            geometry.insert(dimension);
        }
        geometry.join();
        run(&geometry);
        Ok(())
    }

    /// Returns the innermost dimension, and the others from the inside out. A single element is a row of one.
    pub(super) fn split(&self) -> (Dimension, &[Dimension]) {
        if let Some((inner, outer)) = self.dimensions[..self.rank].split_first() {
            return (*inner, outer);
        }
        let stride = self.element_size.cast_signed();
        (Dimension { count: 1, source_stride: stride, destination_stride: stride }, &[])
    }

    /// Puts `dimension` in its place by the stride of the destination, turned so that this is not negative.
    fn insert(&mut self, mut dimension: Dimension) {
        let still = dimension.source_stride == 0 && dimension.destination_stride == 0;
        if dimension.count == 1 || still {
            return;
        }
        if dimension.destination_stride < 0 {
            // The last element lies in bounds, so these products and sums do not overflow.
            let last = (dimension.count - 1).cast_signed();
            self.source_start =
                self.source_start.wrapping_add_signed(dimension.source_stride.wrapping_mul(last));
            self.destination_start =
                self.destination_start.wrapping_add_signed(dimension.destination_stride.wrapping_mul(last));
            dimension.source_stride = dimension.source_stride.wrapping_neg();
            dimension.destination_stride = dimension.destination_stride.wrapping_neg();
        }
        let key = |d: &Dimension| (d.destination_stride, d.source_stride.unsigned_abs());
        let place = self.dimensions[..self.rank].partition_point(|other| key(other) <= key(&dimension));
        self.dimensions.copy_within(place..self.rank, place + 1);
        self.dimensions[place] = dimension;
        self.rank += 1;
    }

    /// Joins each dimension to the one inside of it that it continues on both sides.
    fn join(&mut self) {
        let mut joined = 0;
        for at in 1..self.rank {
            let outer = self.dimensions[at];
            let inner = &mut self.dimensions[joined];
            let continues = |stride: isize, next: isize| {
                stride.checked_mul(inner.count.cast_signed()).is_some_and(|end| end == next)
            };
            let length = inner.count.checked_mul(outer.count);
            if let Some(length) = length
                && continues(inner.source_stride, outer.source_stride)
                && continues(inner.destination_stride, outer.destination_stride)
            {
                inner.count = length;
            } else {
                joined += 1;
                self.dimensions[joined] = outer;
            }
        }
        self.rank = self.rank.min(joined + 1);
    }
}

/// Calls `run` with the byte offsets, from and to, of each position of `dimensions`, the first one fastest.
pub(super) fn walk(dimensions: &[Dimension], mut run: impl FnMut(isize, isize)) {
    let mut index = [0; MAX_RANK];
    let mut source = 0_isize;
    let mut destination = 0_isize;
    loop {
        run(source, destination);
        let mut at = 0;
        loop {
            let (Some(dimension), Some(index)) = (dimensions.get(at), index.get_mut(at)) else { return };
            *index += 1;
            source = source.wrapping_add(dimension.source_stride);
            destination = destination.wrapping_add(dimension.destination_stride);
            if *index < dimension.count {
                break;
            }
            *index = 0;
            let count = dimension.count.cast_signed();
            source = source.wrapping_sub(dimension.source_stride.wrapping_mul(count));
            destination = destination.wrapping_sub(dimension.destination_stride.wrapping_mul(count));
            at += 1;
        }
    }
}

/// Finds all elements of one side inside of its memory. No count is zero.
fn check(
    element_size: usize,
    side: Extent,
    dimensions: impl Iterator<Item = (usize, isize)>,
) -> Result<(), OutOfBounds> {
    let mut low = 0_usize;
    let mut high = element_size;
    for (count, stride) in dimensions {
        let reach = (count - 1).checked_mul(stride.unsigned_abs()).ok_or(OutOfBounds)?;
        let end = if stride < 0 { &mut low } else { &mut high };
        *end = end.checked_add(reach).ok_or(OutOfBounds)?;
    }
    let end = side.offset.checked_add(high).ok_or(OutOfBounds)?;
    if low > side.offset || end > side.size { Err(OutOfBounds) } else { Ok(()) }
}
