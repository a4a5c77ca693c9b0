//! Memory mapped from Linux, in huge pages where it grants them.

use std::ptr::{self, NonNull};

use super::HUGE_PAGE;

/// `size` zeroed bytes that start at a huge page. `None`: not to be had.
///
/// More is mapped than is needed, and the ends that are not used are given back.
pub(super) fn allocate(size: usize) -> Option<NonNull<u8>> {
    let size = rounded(size)?;
    let mapped_size = size.checked_add(HUGE_PAGE)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at a place of the system's choice.
    let mapped = unsafe { libc::mmap(ptr::null_mut(), mapped_size, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let before = mapped.addr().wrapping_neg() % HUGE_PAGE;
    let start = mapped.wrapping_byte_add(before);
    // SAFETY: whole pages at both ends of the new mapping, which nobody knows yet; the advice covers the rest.
    unsafe {
        unmap(mapped, before);
        unmap(start.byte_add(size), HUGE_PAGE - before);
        // Advice may be ignored, and then pages are small.
        libc::madvise(start, size, libc::MADV_HUGEPAGE);
    }
    NonNull::new(start.cast())
}

/// Gives back what `allocate` gave.
///
/// # Safety
///
/// `start` is from `allocate(size)`, and not used any more.
pub(super) unsafe fn free(start: NonNull<u8>, size: usize) {
    if let Some(size) = rounded(size) {
        // SAFETY: what is left of the mapping.
        unsafe { unmap(start.as_ptr().cast(), size) };
    }
}

/// Returns a whole number of huge pages, so that the last one can be huge too.
fn rounded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(HUGE_PAGE).filter(|size| isize::try_from(*size).is_ok())
}

/// # Safety
///
/// The range belongs to a mapping of this module and is not used any more.
unsafe fn unmap(start: *mut libc::c_void, size: usize) {
    if size > 0 {
        // SAFETY: the caller's promise. Unmapping whole pages of our own fails only when the system has no
        // memory to split a mapping; then the pages stay mapped, which harms nobody.
        unsafe { libc::munmap(start, size) };
    }
}
