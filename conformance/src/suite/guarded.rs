//! Buffers next to an inaccessible page, so that every access past the end causes a crash.

use std::ops::{Deref, DerefMut};

use zarr_spec::output::LentMemory;
use zarr_spec::{CodecError, Output};

use super::attempt::{Placement, placement};

/// The input of a codec, placed as the current attempt requires.
pub(super) enum Input<'a> {
    Borrowed(&'a [u8]),
    Guarded(Guarded),
}

impl<'a> Input<'a> {
    /// Returns a copy of `bytes` next to a guard page, or `bytes` itself.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        match Guarded::new(bytes.len(), placement()) {
            Some(mut guarded) => {
                guarded.bytes_mut().copy_from_slice(bytes);
                Self::Guarded(guarded)
            }
            None => Self::Borrowed(bytes),
        }
    }
}

impl Deref for Input<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Guarded(guarded) => guarded.bytes(),
        }
    }
}

/// Memory for the output of a codec, filled with `0xa5` and placed as the current attempt requires.
pub(super) enum Memory {
    Allocated(Vec<u8>),
    Guarded(Guarded),
}

impl Memory {
    /// Returns `size` bytes, followed by `more` bytes unless there is a guard page.
    pub(super) fn of(size: usize, more: usize) -> Self {
        let Some(mut guarded) = Guarded::new(size, placement()) else {
            return Self::Allocated(vec![0xa5; size + more]);
        };
        guarded.bytes_mut().fill(0xa5);
        Self::Guarded(guarded)
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Guarded(guarded) => guarded.bytes(),
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Guarded(guarded) => guarded.bytes_mut(),
        }
    }
}

/// Runs `write` with an output of at most `limit` bytes, placed as the current attempt requires, and returns the
/// written bytes.
pub(super) fn written(
    limit: usize,
    write: impl FnOnce(&mut Output<'_>) -> Result<(), CodecError>,
) -> Result<Vec<u8>, CodecError> {
    let Some(memory) = Guarded::new(0, placement()) else {
        let mut output = Output::at_most(limit);
        write(&mut output)?;
        return Ok(output.into_written());
    };
    let mut memory = Growing { memory, limit };
    let mut output = Output::lent(&mut memory, limit);
    write(&mut output)?;
    Ok(output.written().to_vec())
}

/// Memory that grows to the exact size that a codec asks for, or doubles.
#[derive(Debug)]
struct Growing {
    memory: Guarded,
    limit: usize,
}

impl LentMemory for Growing {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn grow(&mut self, size: usize) -> bool {
        // As in a buffer of the engine, doubling keeps small pieces cheap.
        let size = size.max((self.bytes().len() * 2).min(self.limit));
        let Some(mut larger) = Guarded::new(size, self.memory.placement) else { return false };
        let old = self.memory.bytes();
        larger.bytes_mut()[..old.len()].copy_from_slice(old);
        self.memory = larger;
        true
    }
}

pub(super) use pages::Guarded;

#[cfg(unix)]
#[expect(unsafe_code, reason = "system calls map and protect the pages")]
mod pages {
    use std::ptr;
    use std::slice;

    use super::Placement;

    /// Zeroed bytes between two inaccessible pages.
    #[derive(Debug)]
    pub(in crate::suite) struct Guarded {
        /// The start of the mapping, which is the first inaccessible page.
        mapping: *mut u8,
        mapping_size: usize,
        /// The offset of the bytes in the mapping.
        start: usize,
        size: usize,
        pub(super) placement: Placement,
    }

    impl Guarded {
        /// Allocates `size` bytes with this placement. Returns `None` if the placement has no guard page or the
        /// system has no memory.
        pub(in crate::suite) fn new(size: usize, placement: Placement) -> Option<Self> {
            if placement == Placement::Anywhere {
                return None;
            }
            let page = page_size()?;
            let inner = size.max(1).checked_next_multiple_of(page)?;
            let mapping_size = inner.checked_add(2 * page)?;
            let mapping = mapped(mapping_size, page, inner)?;
            let start = if placement == Placement::AfterGuard { page } else { page + inner - size };
            Some(Self { mapping, mapping_size, start, size, placement })
        }

        pub(in crate::suite) fn bytes(&self) -> &[u8] {
            // SAFETY: the `size` bytes from `start` on are in pages of the mapping that can be read and written, and
            // that the system has zeroed. The mapping lives as long as `self`.
            unsafe { slice::from_raw_parts(self.mapping.add(self.start), self.size) }
        }

        pub(in crate::suite) fn bytes_mut(&mut self) -> &mut [u8] {
            // SAFETY: the bytes are valid as in `bytes`, and no other reference to them exists, because `self` is
            // borrowed mutably.
            unsafe { slice::from_raw_parts_mut(self.mapping.add(self.start), self.size) }
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            // SAFETY: this is the whole mapping that `new` made, and no reference to it is left.
            let _always_works = unsafe { libc::munmap(self.mapping.cast(), self.mapping_size) };
        }
    }

    fn page_size() -> Option<usize> {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })
            .ok()
            .filter(|size| size.is_power_of_two())
    }

    /// Maps `size` bytes, of which the `inner` bytes from `page` on can be read and written.
    fn mapped(size: usize, page: usize, inner: usize) -> Option<*mut u8> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place that the system chooses touches no other memory.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return None;
        }
        let mapping: *mut u8 = mapping.cast();
        // SAFETY: `page..page + inner` lies within the mapping that was just made, and no reference to it exists.
        let changed =
            unsafe { libc::mprotect(mapping.add(page).cast(), inner, libc::PROT_READ | libc::PROT_WRITE) };
        if changed != 0 {
            // SAFETY: this is the mapping that was just made.
            let _always_works = unsafe { libc::munmap(mapping.cast(), size) };
            return None;
        }
        Some(mapping)
    }
}

/// A replacement for systems without these calls, which have no guard pages.
#[cfg(not(unix))]
mod pages {
    use super::Placement;

    #[derive(Debug)]
    pub(in crate::suite) struct Guarded {
        bytes: Vec<u8>,
        pub(super) placement: Placement,
    }

    impl Guarded {
        pub(in crate::suite) fn new(_size: usize, _placement: Placement) -> Option<Self> {
            None
        }

        pub(in crate::suite) fn bytes(&self) -> &[u8] {
            &self.bytes
        }

        pub(in crate::suite) fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.bytes
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::suite::attempt::Attempt;

    #[test]
    fn guarded_bytes_touch_the_requested_page() {
        for size in [0, 1, 4095, 4096, 4097, 1 << 20] {
            for placement in [Placement::BeforeGuard, Placement::AfterGuard] {
                let mut guarded = Guarded::new(size, placement).unwrap();
                guarded.bytes_mut().fill(7);
                assert!(guarded.bytes().iter().all(|byte| *byte == 7));
                let start = guarded.bytes().as_ptr().addr();
                let edge = if placement == Placement::AfterGuard { start } else { start + size };
                assert_eq!(edge % 4096, 0, "{size} {placement:?}");
            }
        }
        assert!(Guarded::new(1, Placement::Anywhere).is_none());
    }

    #[test]
    fn an_output_next_to_a_guard_page_holds_all_written_pieces() {
        for placement in [Placement::Anywhere, Placement::BeforeGuard, Placement::AfterGuard] {
            let attempt = Attempt { placement, ..Attempt::default() };
            let all = attempt.run(|| {
                written(1000, |output| {
                    (0..10_u8).try_for_each(|byte| output.put(&[byte; 100]))?;
                    assert!(output.put(&[0]).is_err());
                    Ok(())
                })
            });
            let wanted: Vec<u8> = (0..10_u8).flat_map(|byte| [byte; 100]).collect();
            assert_eq!(all.unwrap(), wanted);
        }
    }
}
