//! Copying elements that are not contiguous on both sides. A transposition is done in tiles.

use std::mem::MaybeUninit;

use super::elements::{self, Elements};
use super::geometry::walk;
use super::kernels;
use super::level::Level;
use super::rows::{LINE, RUN, Rows, Transpose};
use super::swap::ByteSwap;
use super::{Dimension, MAX_RANK};

/// A buffer for tiles. Each row is one run of the destination.
#[repr(align(64))]
struct Buffer(#[expect(dead_code, reason = "only its address is used")] [u8; RUN * LINE]);

/// Minimum number of bytes along the destination for which tiles are faster.
const TILED: usize = 32;

/// Copies the elements of `inner` and `outer`, which do not form rows.
///
/// # Safety
///
/// As for [`super::run`].
#[expect(clippy::too_many_arguments, reason = "two strided sides have this many parts")]
pub(super) unsafe fn copy(
    level: Level,
    element_size: usize,
    swap: ByteSwap<'_>,
    inner: Dimension,
    outer: &[Dimension],
    source: *const u8,
    destination: *mut u8,
    streaming: bool,
) {
    let (across, others, count) = take_shortest(inner, outer);
    let others = &others[..count];
    let plan = Plane::new(level, element_size, swap, streaming, inner, across);
    // SAFETY: this copies the elements of `inner` and `outer`, plane by plane. They are in bounds by this function's
    // contract.
    walk(others, |from, to| unsafe {
        plan.copy(source.wrapping_offset(from), destination.wrapping_offset(to));
    });
}

/// Returns the dimension that forms a plane with `inner`, and the remaining dimensions. It is the outer dimension with
/// the smallest source stride if that is smaller than the stride of `inner`, otherwise the next outer dimension.
fn take_shortest(inner: Dimension, outer: &[Dimension]) -> (Dimension, [Dimension; MAX_RANK], usize) {
    let mut others = [Dimension::ONE; MAX_RANK];
    let Some((&next, _)) = outer.split_first() else { return (Dimension::ONE, others, 0) };
    let stride = |d: &Dimension| d.source_stride.unsigned_abs();
    let nearer = outer.iter().enumerate().filter(|(_, d)| (1..stride(&inner)).contains(&stride(d)));
    let (place, across) = nearer.min_by_key(|(_, d)| stride(d)).map_or((0, next), |(place, d)| (place, *d));
    let rest = outer.iter().enumerate().filter(|(at, _)| *at != place);
    for (slot, (_, dimension)) in others.iter_mut().zip(rest) {
        *slot = *dimension;
    }
    (across, others, outer.len() - 1)
}

struct Plane<'a> {
    level: Level,
    element_size: usize,
    swap: ByteSwap<'a>,
    streaming: bool,
    along: Dimension,
    across: Dimension,
    elements: Option<Elements>,
    /// The kernel for rows of one element, for element sizes without an elements kernel.
    single: Rows<'a>,
    way: Way,
}

enum Way {
    /// Copies the plane as a whole, because blocks would not be faster.
    Whole,
    /// Copies blocks of this number of elements directly.
    Blocks { along: usize, across: usize },
    /// Copies tiles through a buffer in the first-level cache.
    Tiles { gather: Elements, transpose: Option<Transpose> },
}

impl<'a> Plane<'a> {
    fn new(
        level: Level,
        element_size: usize,
        swap: ByteSwap<'a>,
        streaming: bool,
        along: Dimension,
        across: Dimension,
    ) -> Self {
        let size = element_size.cast_signed();
        let turned = across.source_stride != 0
            && across.source_stride.unsigned_abs() < along.source_stride.unsigned_abs();
        let tiled = turned
            && across.source_stride == size
            && along.destination_stride == size
            && along.count * element_size >= TILED
            && across.count >= 4;
        let wide = (LINE / element_size).max(4);
        let way = match elements::kernel(element_size, ByteSwap::None) {
            Some(gather) if tiled => {
                Way::Tiles { gather, transpose: kernels::transpose(level, element_size) }
            }
            _ if turned => Way::Blocks { along: wide, across: wide.max(16) },
            _ => Way::Whole,
        };
        let elements = elements::kernel(element_size, swap);
        let single = kernels::rows(level, element_size, swap, element_size, false);
        Self { level, element_size, swap, streaming, along, across, elements, single, way }
    }

    /// Copies the plane.
    ///
    /// # Safety
    ///
    /// All elements of the plane are in bounds.
    unsafe fn copy(&self, source: *const u8, destination: *mut u8) {
        // SAFETY: each branch copies exactly the elements of the plane, which are in bounds.
        unsafe {
            match &self.way {
                Way::Whole => self.block(source, destination, self.along.count, self.across.count),
                Way::Blocks { along, across } => self.blocks(source, destination, *along, *across),
                Way::Tiles { gather, transpose } => self.tiles(source, destination, *gather, *transpose),
            }
        }
    }

    /// Copies the first elements of the plane, element by element.
    ///
    /// Safety: these elements are in bounds.
    #[inline]
    unsafe fn block(&self, source: *const u8, destination: *mut u8, along: usize, across: usize) {
        let along = Dimension { count: along, ..self.along };
        let across = Dimension { count: across, ..self.across };
        // A very short innermost loop costs more time than the better use of caches saves.
        let short = along.count < 8 && along.count < across.count;
        let (inner, outer) = if short { (across, along) } else { (along, across) };
        if let Some(elements) = self.elements {
            // SAFETY: the caller's promise.
            unsafe { elements(source, destination, inner, outer) };
        } else {
            super::rows::each_row(source, destination, outer, |from, to| {
                // SAFETY: the caller's promise; a row is one element.
                unsafe { self.single.copy(from, to, inner) };
            });
        }
    }

    /// Copies block by block. `across` varies fastest.
    ///
    /// # Safety
    ///
    /// All elements of the plane are in bounds.
    unsafe fn blocks(&self, source: *const u8, destination: *mut u8, along: usize, across: usize) {
        for first in (0..self.along.count).step_by(along) {
            let along = along.min(self.along.count - first);
            for second in (0..self.across.count).step_by(across) {
                let across = across.min(self.across.count - second);
                let (from, to) = self.at(source, destination, first, second);
                // SAFETY: a part of the plane.
                unsafe { self.block(from, to, along, across) };
            }
        }
    }

    /// Copies tile by tile through a buffer. The lines of the source become runs of the destination.
    ///
    /// # Safety
    ///
    /// All elements of the plane are in bounds.
    unsafe fn tiles(
        &self,
        source: *const u8,
        destination: *mut u8,
        gather: Elements,
        transpose: Option<Transpose>,
    ) {
        // Only parts that were written before are read: the same rows, up to the length of the run.
        let mut buffer = MaybeUninit::<Buffer>::uninit();
        let buffer = buffer.as_mut_ptr().cast::<u8>();
        let wide = LINE / self.element_size;
        let mut first = 0;
        while first < self.along.count {
            let along = self.run_elements(destination, first).min(self.along.count - first);
            let bytes = along * self.element_size;
            let rows = kernels::rows(self.level, self.element_size, self.swap, bytes, self.streaming);
            for second in (0..self.across.count).step_by(wide) {
                let across = wide.min(self.across.count - second);
                for part in (0..along).step_by(wide) {
                    let (from, _) = self.at(source, destination, first + part, second);
                    let place = buffer.wrapping_add(part * self.element_size);
                    match transpose {
                        // SAFETY: a whole tile of the plane; its columns fit the run.
                        Some(transpose) if part + wide <= along && across == wide => unsafe {
                            transpose(from, self.along.source_stride, place);
                        },
                        // SAFETY: a part of the plane, and of the buffer.
                        _ => unsafe { self.gather(gather, from, place, wide.min(along - part), across) },
                    }
                }
                let (_, to) = self.at(source, destination, first, second);
                let lines = Dimension { count: across, source_stride: RUN.cast_signed(), ..self.across };
                // SAFETY: rows of the buffer, and the same part of the plane on the other side.
                unsafe { rows.copy(buffer, to, lines) };
            }
            first += along;
        }
    }

    /// Copies a tile to the buffer, transposed.
    ///
    /// Safety: the elements of the tile are in bounds of the source and of the buffer.
    unsafe fn gather(&self, gather: Elements, from: *const u8, place: *mut u8, along: usize, across: usize) {
        let size = self.element_size.cast_signed();
        let inner = Dimension { count: along, destination_stride: size, ..self.along };
        let outer = Dimension { count: across, destination_stride: RUN.cast_signed(), ..self.across };
        // SAFETY: the caller's promise.
        unsafe { gather(from, place, inner, outer) };
    }

    /// Returns the length in elements of the run that starts at element `first`. The run ends at the end of a cache
    /// line of the destination if possible.
    fn run_elements(&self, destination: *mut u8, first: usize) -> usize {
        let over = destination.wrapping_add(first * self.element_size).addr() % LINE;
        let over = if over.is_multiple_of(self.element_size) { over } else { 0 };
        (RUN - over) / self.element_size
    }

    #[inline]
    fn at(
        &self,
        source: *const u8,
        destination: *mut u8,
        along: usize,
        across: usize,
    ) -> (*const u8, *mut u8) {
        let offset = |first: isize, second: isize| {
            first.wrapping_mul(along.cast_signed()).wrapping_add(second.wrapping_mul(across.cast_signed()))
        };
        let from = offset(self.along.source_stride, self.across.source_stride);
        let to = offset(self.along.destination_stride, self.across.destination_stride);
        (source.wrapping_offset(from), destination.wrapping_offset(to))
    }
}
