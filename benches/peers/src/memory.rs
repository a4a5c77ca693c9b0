//! The memory of this process, as Linux reports it.

#![expect(unsafe_code, reason = "the C library does not have safe functions that return memory or map it")]

use std::fs;
use std::io;
use std::ptr;

/// Returns the resident memory in bytes: the present value, and the peak since [`forget_peak`].
pub(crate) fn resident() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some((bytes(&status, "VmRSS:")?, bytes(&status, "VmHWM:")?))
}

/// Resets the peak. Returns whether the kernel supports it.
pub(crate) fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Returns the free memory of the allocator to the system. Otherwise a run that reuses it would not count as taking
/// memory.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` takes a number, accesses only free memory, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns an empty vector whose memory may be in huge pages, as the memory of NumPy's arrays is. Without this, copies
/// from and to the programs in Rust would miss more addresses in the processor's cache of pages than others do.
#[must_use]
pub fn vector_in_huge_pages(capacity: usize) -> Vec<u8> {
    let mut vector: Vec<u8> = Vec::with_capacity(capacity);
    let unused = vector.spare_capacity_mut();
    let before = unused.as_ptr().align_offset(PAGE);
    let size = unused.len().saturating_sub(before) / PAGE * PAGE;
    if size > 0 {
        // SAFETY: these are whole pages within the vector. Advice does not change them, and may be ignored.
        unsafe { libc::madvise(unused.as_mut_ptr().wrapping_add(before).cast(), size, libc::MADV_HUGEPAGE) };
    }
    vector
}

/// The memory that remains for the programs while memory is fragmented, in bytes, in addition to single free pages.
const REST: u64 = 1 << 30;

/// The size of a page in bytes.
const PAGE: usize = 4096;

/// Most of the memory of the machine, of which every second page is free. The system thus has hardly any free memory in one
/// piece, as on a machine that has run for weeks.
pub(crate) struct Fragments {
    start: *mut libc::c_void,
    size: usize,
}

impl Fragments {
    /// # Errors
    ///
    /// If the system does not report its free memory, or has less than two gibibytes.
    pub(crate) fn new() -> io::Result<Self> {
        let status = fs::read_to_string("/proc/meminfo")?;
        let available = bytes(&status, "MemAvailable:").unwrap_or(0);
        let size = available.checked_sub(REST).filter(|size| *size >= REST);
        let size =
            size.ok_or_else(|| io::Error::other("memory cannot be fragmented: less than 2 GiB are free"))?;
        Self::of(usize::try_from(size).unwrap_or(usize::MAX) / PAGE * PAGE)
    }

    fn of(size: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: this is a new mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let fragments = Self { start, size };
        // SAFETY: the advice and the writes are within the new mapping. If the advice is ignored, pages are small anyway.
        unsafe { libc::madvise(start, size, libc::MADV_NOHUGEPAGE) };
        for at in (0..size).step_by(PAGE) {
            // SAFETY: `at` is within the mapping.
            unsafe { start.cast::<u8>().add(at).write_volatile(1) };
        }
        for at in (PAGE..size).step_by(2 * PAGE) {
            // SAFETY: this page is within the mapping, and nothing refers to its content.
            if unsafe { libc::madvise(start.byte_add(at), PAGE, libc::MADV_DONTNEED) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(fragments)
    }

    /// Returns the size in bytes, including the free pages.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Fragments {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, to which nothing refers any more.
        unsafe { libc::munmap(self.start, self.size) };
    }
}

fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_in_huge_pages_has_its_capacity() {
        for capacity in [0, 1, 10_000, 8 << 20] {
            let mut vector = vector_in_huge_pages(capacity);
            assert!(vector.is_empty() && vector.capacity() >= capacity);
            vector.resize(capacity, 7);
            assert!(vector.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn half_of_the_pages_are_free() {
        let before = resident().unwrap().0;
        let fragments = Fragments::of(64 << 20).unwrap();
        assert_eq!(fragments.size(), 64 << 20);
        let added = resident().unwrap().0 - before;
        assert!((24 << 20..48 << 20).contains(&added), "{added}");
    }

    #[test]
    fn the_status_file_of_the_kernel_is_parsed() {
        let status = "Name:\tx\nVmHWM:\t    1968 kB\nVmRSS:\t    12 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(1968 * 1024));
        assert_eq!(bytes(status, "VmRSS:"), Some(12 * 1024));
        assert_eq!(bytes(status, "VmSwap:"), None);
    }
}
