//! Memory from the allocator: small sizes, and all sizes on systems where memory is not mapped.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The size of a cache line in bytes.
pub(super) const LINE: usize = 64;

/// Allocates `size` zeroed bytes, aligned to `alignment`, a power of two. Returns `None` if the allocation fails.
pub(super) fn allocate(size: usize, alignment: usize) -> Option<NonNull<u8>> {
    // The allocator does not support size 0, so at least one byte is allocated.
    let layout = Layout::from_size_align(size.max(1), alignment).ok()?;
    // SAFETY: the size of the layout is not 0.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Frees memory from `allocate`.
///
/// # Safety
///
/// `start` is from `allocate(size, alignment)`, and no longer used.
pub(super) unsafe fn free(start: NonNull<u8>, size: usize, alignment: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), alignment) {
        // SAFETY: the layout that `allocate` used.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

/// Replaces the module `mapped` on systems where memory is not mapped.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) mod lines {
    use std::ptr::NonNull;

    use super::LINE;

    pub(in super::super) fn allocate(size: usize) -> Option<NonNull<u8>> {
        super::allocate(size, LINE)
    }

    /// # Safety
    ///
    /// `start` is from `allocate(size)`, and no longer used.
    pub(in super::super) unsafe fn free(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { super::free(start, size, LINE) };
    }
}
