//! The shape of a copy: checked against both sides, sorted, and with as few dimensions as possible.

use super::{Dimension, MAX_RANK, OutOfBounds};
use crate::per_dimension::PerDimension;

/// A simplified copy of at least one element. All elements are in bounds.
///
/// The dimensions are sorted by the stride of the destination, which is never negative, innermost first.
#[derive(Debug)]
pub(super) struct Geometry {
    /// The size of an element in bytes, at least 1.
    pub(super) element_size: usize,
    /// The offset of the first element in the source, in bytes.
    pub(super) source_start: usize,
    /// The offset of the first element in the destination, in bytes.
    pub(super) destination_start: usize,
    dimensions: PerDimension<Dimension>,
    rank: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The size of the memory in bytes.
    pub(super) size: usize,
    /// The offset of the first element in bytes.
    pub(super) offset: usize,
}

impl Geometry {
    /// Checks and simplifies a copy between `source` and `destination`, and calls `run` with it if there is anything
    /// to copy.
    ///
    /// The geometry is passed to `run` instead of being returned, because moving it takes longer than copying one
    /// element.
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

    /// Returns the innermost dimension, and the others from the innermost to the outermost. A single element is a row
    /// of one.
    pub(super) fn split(&self) -> (Dimension, &[Dimension]) {
        if let Some((inner, outer)) = self.dimensions[..self.rank].split_first() {
            return (*inner, outer);
        }
        let stride = self.element_size.cast_signed();
        (Dimension { count: 1, source_stride: stride, destination_stride: stride }, &[])
    }

    /// Inserts `dimension`, sorted by the stride of the destination. If this is negative, the dimension is reversed.
    fn insert(&mut self, mut dimension: Dimension) {
        let still = dimension.source_stride == 0 && dimension.destination_stride == 0;
        if dimension.count == 1 || still {
            return;
        }
        if dimension.destination_stride < 0 {
            // The last element is in bounds, so these products and sums do not overflow.
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

    /// Merges a dimension into the next inner one if both together are evenly spaced, in the source and in the
    /// destination.
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

/// Calls `run` with the source and destination offsets in bytes of each position of `dimensions`. The first dimension
/// varies fastest.
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

/// Checks that all elements of one side are inside of its memory. No count may be zero.
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
