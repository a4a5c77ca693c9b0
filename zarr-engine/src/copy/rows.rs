//! Rows: elements that lie together on both sides.

use std::ptr;

use super::Dimension;
use super::swap::{Pattern, Swap};

/// Bytes of a cache line, as far as copies are concerned; shorter rows are not streamed.
pub(super) const LINE: usize = 64;

/// Bytes of the destination that are written in one run: some lines, so that memory sees neighbours together.
pub(super) const RUN: usize = 4 * LINE;

/// Rows of `bytes` bytes each, and how they are copied.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// Bytes in a row, a whole number of elements.
    pub(super) bytes: usize,
    /// The swap as a permutation of 16 bytes, if it is one.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "vector kernels use it"))]
    pub(super) pattern: Option<Pattern>,
    pub(super) element_size: usize,
    /// Was checked against the element.
    pub(super) swap: Swap<'a>,
    pub(super) kernel: Kernel,
}

/// Copies as many rows as the dimension counts.
///
/// Safety: as for [`Rows::copy`].
pub(super) type Kernel = unsafe fn(&Rows<'_>, *const u8, *mut u8, Dimension);

/// Transposes a tile one cache line wide each way: lines of the source, the given number of bytes apart, become columns of a buffer
/// whose rows have [`RUN`] bytes.
///
/// Safety: `LINE / element_size` lines are valid for reads, and the same number of rows of the buffer for writes.
pub(super) type Transpose = unsafe fn(*const u8, isize, *mut u8);

/// What a vector kernel for rows is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whole cache lines go past the caches.
    Stream,
    /// Bytes change places by [`Rows::pattern`].
    Shuffle,
    /// Both.
    ShuffleAndStream,
}

impl Rows<'_> {
    /// Copies `rows.count` rows; its strides are bytes from row to row.
    ///
    /// # Safety
    ///
    /// All bytes of all rows are valid for reads from `source` and for writes to `destination`. The two do
    /// not overlap, but where bytes are swapped each row may lie exactly on its source.
    #[inline]
    pub(super) unsafe fn copy(&self, source: *const u8, destination: *mut u8, rows: Dimension) {
        // SAFETY: the caller's promise is the kernel's. `kernels` chose one that this machine can run.
        unsafe { (self.kernel)(self, source, destination, rows) };
    }
}

/// Returns the kernel in plain Rust.
pub(super) fn portable(swap: Swap<'_>, bytes: usize) -> Kernel {
    match (swap, bytes) {
        (Swap::None, 1) => fixed::<1>,
        (Swap::None, 2) => fixed::<2>,
        (Swap::None, 4) => fixed::<4>,
        (Swap::None, 8) => fixed::<8>,
        (Swap::None, 16) => fixed::<16>,
        (Swap::None, 32) => fixed::<32>,
        (Swap::None, 64) => fixed::<64>,
        (Swap::None, 0..64) => short,
        (Swap::None, _) => long,
        (Swap::Uniform(2), _) => swapped::<2>,
        (Swap::Uniform(4), _) => swapped::<4>,
        (Swap::Uniform(8), _) => swapped::<8>,
        (Swap::Uniform(16), _) => swapped::<16>,
        _ => reversed,
    }
}

/// Calls `row` with source and destination of each row.
#[inline(always)]
pub(super) fn each_row(
    mut source: *const u8,
    mut destination: *mut u8,
    rows: Dimension,
    mut row: impl FnMut(*const u8, *mut u8),
) {
    for _ in 0..rows.count {
        row(source, destination);
        source = source.wrapping_offset(rows.source_stride);
        destination = destination.wrapping_offset(rows.destination_stride);
    }
}

/// Rows of `N` bytes.
unsafe fn fixed<const N: usize>(_: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `N` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { ptr::copy_nonoverlapping(from, to, N) };
    });
}

/// Rows of fewer bytes than a cache line.
unsafe fn short(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    let bytes = this.bytes;
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { copy_short(from, to, bytes) };
    });
}

/// Rows of any length.
unsafe fn long(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { ptr::copy_nonoverlapping(from, to, this.bytes) };
    });
}

/// Copies less than a cache line without a call: its first and its last part, which may overlap.
///
/// # Safety
///
/// `bytes` are valid for reads from `source` and writes to `destination`; the two do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_short(source: *const u8, destination: *mut u8, bytes: usize) {
    /// Copies the first and the last `N` bytes.
    #[inline(always)]
    unsafe fn ends<const N: usize>(source: *const u8, destination: *mut u8, bytes: usize) {
        // SAFETY: there are at least `N` bytes, so both parts are inside of them.
        unsafe {
            let first = source.cast::<[u8; N]>().read();
            let last = source.add(bytes - N).cast::<[u8; N]>().read();
            destination.cast::<[u8; N]>().write(first);
            destination.add(bytes - N).cast::<[u8; N]>().write(last);
        }
    }
    // SAFETY: each arm has at least as many bytes as it copies.
    unsafe {
        match bytes {
            0 => {}
            1 => destination.write(source.read()),
            2..4 => ends::<2>(source, destination, bytes),
            4..8 => ends::<4>(source, destination, bytes),
            8..16 => ends::<8>(source, destination, bytes),
            16..32 => ends::<16>(source, destination, bytes),
            32..64 => ends::<32>(source, destination, bytes),
            _ => ptr::copy_nonoverlapping(source, destination, bytes),
        }
    }
}

/// Rows of units of `N` bytes, each reversed.
unsafe fn swapped<const N: usize>(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        for at in (0..this.bytes / N * N).step_by(N) {
            // SAFETY: a unit inside of the row, read whole before it is written.
            unsafe {
                let mut unit = from.add(at).cast::<[u8; N]>().read();
                unit.reverse();
                to.add(at).cast::<[u8; N]>().write(unit);
            }
        }
    });
}

/// Rows of elements with any swap.
unsafe fn reversed(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`; it may lie on its source.
        unsafe { ptr::copy(from, to, this.bytes) };
        // SAFETY: the row was just written, and nobody else writes it.
        let row = unsafe { std::slice::from_raw_parts_mut(to, this.bytes) };
        row.chunks_exact_mut(this.element_size).for_each(|element| this.swap.reverse(element));
    });
}
