//! Rows: elements that are contiguous on both sides.

use std::ptr;

use super::Dimension;
use super::swap::{ByteSwap, Pattern};

/// The size of a cache line in bytes, for copies. Shorter rows are not streamed.
pub(super) const LINE: usize = 64;

/// Number of bytes of the destination that are written in one run: several lines, so that neighbouring lines are
/// written together.
pub(super) const RUN: usize = 4 * LINE;

#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// The size of a row in bytes, a whole number of elements.
    pub(super) bytes: usize,
    /// The swap as a permutation of 16 bytes, if it can be represented in this way.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "vector kernels use it"))]
    pub(super) pattern: Option<Pattern>,
    pub(super) element_size: usize,
    /// The byte order change, which was checked against the element.
    pub(super) swap: ByteSwap<'a>,
    pub(super) kernel: Kernel,
}

/// Copies as many rows as the dimension has.
///
/// Safety: as for [`Rows::copy`].
pub(super) type Kernel = unsafe fn(&Rows<'_>, *const u8, *mut u8, Dimension);

/// Transposes a square tile of one cache line: lines of the source, the given number of bytes apart, become columns of
/// a buffer whose rows have [`RUN`] bytes.
///
/// Safety: `LINE / element_size` lines are valid for reads, and the same number of rows of the buffer for writes.
pub(super) type Transpose = unsafe fn(*const u8, isize, *mut u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Stream,
    Shuffle,
    ShuffleAndStream,
}

impl Rows<'_> {
    /// Copies `rows.count` rows. The strides are the distances between rows in bytes.
    ///
    /// # Safety
    ///
    /// All bytes of all rows are valid for reads from `source` and for writes to `destination`. The two do not overlap;
    /// but if bytes are swapped, each row may be exactly at its source.
    #[inline]
    pub(super) unsafe fn copy(&self, source: *const u8, destination: *mut u8, rows: Dimension) {
        // SAFETY: the caller promises what the kernel requires, and `kernels` chose a kernel that this machine can run.
        unsafe { (self.kernel)(self, source, destination, rows) };
    }
}

pub(super) fn portable(swap: ByteSwap<'_>, bytes: usize) -> Kernel {
    match (swap, bytes) {
        (ByteSwap::None, 1) => fixed::<1>,
        (ByteSwap::None, 2) => fixed::<2>,
        (ByteSwap::None, 4) => fixed::<4>,
        (ByteSwap::None, 8) => fixed::<8>,
        (ByteSwap::None, 16) => fixed::<16>,
        (ByteSwap::None, 32) => fixed::<32>,
        (ByteSwap::None, 64) => fixed::<64>,
        (ByteSwap::None, 0..64) => short,
        (ByteSwap::None, _) => long,
        (ByteSwap::Uniform(2), _) => swapped::<2>,
        (ByteSwap::Uniform(4), _) => swapped::<4>,
        (ByteSwap::Uniform(8), _) => swapped::<8>,
        (ByteSwap::Uniform(16), _) => swapped::<16>,
        _ => reversed,
    }
}

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

unsafe fn fixed<const N: usize>(_: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `N` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { ptr::copy_nonoverlapping(from, to, N) };
    });
}

/// Copies rows that are shorter than a cache line.
unsafe fn short(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    let bytes = this.bytes;
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { copy_short(from, to, bytes) };
    });
}

unsafe fn long(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`.
        unsafe { ptr::copy_nonoverlapping(from, to, this.bytes) };
    });
}

/// Copies less than a cache line without a function call, as a first and a last part that may overlap.
///
/// # Safety
///
/// `bytes` are valid for reads from `source` and writes to `destination`; the two do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_short(source: *const u8, destination: *mut u8, bytes: usize) {
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

/// Copies rows and reverses each unit of `N` bytes.
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

unsafe fn reversed(this: &Rows<'_>, source: *const u8, destination: *mut u8, rows: Dimension) {
    each_row(source, destination, rows, |from, to| {
        // SAFETY: a row of `bytes` bytes, in bounds by the contract of `Rows::copy`; it may lie on its source.
        unsafe { ptr::copy(from, to, this.bytes) };
        // SAFETY: the row was just written, and no other thread writes it.
        let row = unsafe { std::slice::from_raw_parts_mut(to, this.bytes) };
        row.chunks_exact_mut(this.element_size).for_each(|element| this.swap.reverse(element));
    });
}
