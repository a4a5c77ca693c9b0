//! Memory mapped on Linux, with huge pages if the system grants them.

use std::ptr::{self, NonNull};

use super::HUGE_PAGE;

/// Maps `size` zeroed bytes, aligned to a huge page. Returns `None` if that fails.
///
/// It maps more than necessary and unmaps both ends.
pub(super) fn allocate(size: usize) -> Option<NonNull<u8>> {
    let size = rounded(size)?;
    let mapped_size = size.checked_add(HUGE_PAGE)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: this is a new mapping at an address that the system chooses.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), mapped_size, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let before = mapped.addr().wrapping_neg() % HUGE_PAGE;
    let start = mapped.wrapping_byte_add(before);
    // SAFETY: these are whole pages at both ends of the new mapping, to which no other references exist yet; the advice
    // covers the rest.
    unsafe {
        unmap(mapped, before);
        unmap(start.byte_add(size), HUGE_PAGE - before);
        // If the advice is ignored, pages are small.
        libc::madvise(start, size, libc::MADV_HUGEPAGE);
    }
    NonNull::new(start.cast())
}

/// Frees memory from `allocate`.
///
/// # Safety
///
/// `start` is from `allocate(size)`, and no longer used.
pub(super) unsafe fn free(start: NonNull<u8>, size: usize) {
    if let Some(size) = rounded(size) {
        // SAFETY: this is the part of the mapping that was not unmapped.
        unsafe { unmap(start.as_ptr().cast(), size) };
    }
}

/// Rounds up to a whole number of huge pages, so that the last page can be huge, too.
fn rounded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(HUGE_PAGE).filter(|size| isize::try_from(*size).is_ok())
}

/// Unmaps a range of memory.
///
/// # Safety
///
/// The range belongs to a mapping of this module and is no longer used.
unsafe fn unmap(start: *mut libc::c_void, size: usize) {
    if size > 0 {
        // SAFETY: the caller's promise. Unmapping whole pages of our own fails only when the system has no memory to
        // split a mapping. Then the pages stay mapped, which is harmless.
        unsafe { libc::munmap(start, size) };
    }
}
