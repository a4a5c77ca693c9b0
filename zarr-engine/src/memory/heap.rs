//! Memory from the allocator: small sizes everywhere, all sizes where nothing is mapped.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Bytes of a cache line, or of two halves of one.
const ALIGNMENT: usize = 64;

/// `size` zeroed bytes. `None`: not to be had.
pub(super) fn allocate(size: usize) -> Option<NonNull<u8>> {
    // The allocator does not give out nothing: the least is one byte.
    let layout = Layout::from_size_align(size.max(1), ALIGNMENT).ok()?;
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Gives back what `allocate` gave.
///
/// # Safety
///
/// `start` is from `allocate(size)`, and not used any more.
pub(super) unsafe fn free(start: NonNull<u8>, size: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), ALIGNMENT) {
        // SAFETY: the layout that `allocate` used.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}
