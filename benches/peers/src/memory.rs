//! The memory of this process, as Linux reports it.

#![expect(unsafe_code, reason = "the C library does not have a safe function that returns free memory")]

use std::fs;

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

fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_file_of_the_kernel_is_parsed() {
        let status = "Name:\tx\nVmHWM:\t    1968 kB\nVmRSS:\t    12 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(1968 * 1024));
        assert_eq!(bytes(status, "VmRSS:"), Some(12 * 1024));
        assert_eq!(bytes(status, "VmSwap:"), None);
    }
}
