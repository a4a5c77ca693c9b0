//! Files that are mapped into memory.

#![expect(unsafe_code, reason = "the standard library does not map files")]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::slice;

/// The pages of a file, which the system reads when they are used.
pub(super) struct Mapping {
    start: NonNull<c_void>,
    size: usize,
}

impl Mapping {
    /// Maps a whole file. It must have no name, so that only this process can change it.
    ///
    /// # Errors
    ///
    /// If the file is empty or larger than the address space, or if the system refuses.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        let size = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: the system chooses the place of a new mapping, and fails if the file or the size is wrong.
        let mapped = unsafe {
            libc::mmap(ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        match NonNull::new(mapped).filter(|_| mapped != libc::MAP_FAILED) {
            Some(start) => Ok(Self { start, size }),
            None => Err(io::Error::last_os_error()),
        }
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the mapping has `size` readable bytes until it is dropped. The file has no name, and this crate changes
        // none of the bytes that it has mapped, so they are constant.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.size) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` created, and nothing refers to its bytes.
        unsafe { libc::munmap(self.start.as_ptr(), self.size) };
    }
}

// SAFETY: the bytes are constant, and a mapping belongs to the whole process.
unsafe impl Send for Mapping {}

// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}
