//! Memory from the allocator: small sizes everywhere, all sizes where nothing is mapped.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Bytes of a cache line, or of two halves of one.
pub(super) const LINE: usize = 64;

/// `size` zeroed bytes that start at a multiple of `alignment`, a power of two. `None`: not to be had.
pub(super) fn allocate(size: usize, alignment: usize) -> Option<NonNull<u8>> {
    // The allocator does not give out nothing: the least is one byte.
    let layout = Layout::from_size_align(size.max(1), alignment).ok()?;
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Gives back what `allocate` gave.
///
/// # Safety
///
/// `start` is from `allocate(size, alignment)`, and not used any more.
pub(super) unsafe fn free(start: NonNull<u8>, size: usize, alignment: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), alignment) {
        // SAFETY: the layout that `allocate` used.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

/// What stands in for mapped memory.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) mod lines {
    use std::ptr::NonNull;

    use super::LINE;

    pub(in super::super) fn allocate(size: usize) -> Option<NonNull<u8>> {
        super::allocate(size, LINE)
    }

    /// # Safety
    ///
    /// `start` is from `allocate(size)`, and not used any more.
    pub(in super::super) unsafe fn free(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { super::free(start, size, LINE) };
    }
}
