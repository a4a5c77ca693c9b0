//! How much memory this process takes, as Linux says.

#![expect(unsafe_code, reason = "the C library has no safe way to give back what it keeps")]

use std::fs;

/// Bytes of memory that are resident, now and at most since [`forget_peak`].
pub(crate) fn resident() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some((bytes(&status, "VmRSS:")?, bytes(&status, "VmHWM:")?))
}

/// From now on, the peak is counted anew. A kernel that cannot do that leaves it as it is.
pub(crate) fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Gives back to the system what the allocator keeps of memory that was freed: otherwise it would be used again, and not
/// be seen.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes a number, touches free memory alone, and may be called at any time.
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
    fn the_lines_of_the_kernel_are_understood() {
        let status = "Name:\tx\nVmHWM:\t    1968 kB\nVmRSS:\t    12 kB\n";
        assert_eq!(bytes(status, "VmHWM:"), Some(1968 * 1024));
        assert_eq!(bytes(status, "VmRSS:"), Some(12 * 1024));
        assert_eq!(bytes(status, "VmSwap:"), None);
    }
}
