//! Memory that is written once and then shared: decoded chunks in the cache of a store.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;

#[cfg(all(target_os = "linux", not(miri)))]
use super::HUGE_PAGE;
use super::{BufferPool, Memory};

/// Minimum size in bytes for populating pages. For smaller memory, the system call costs more than it saves, and the
/// allocator reuses such memory well enough.
const POPULATED: usize = 64 << 10;

/// Bytes to be overwritten completely.
pub(crate) enum Fresh {
    Large(Whole),
    Small(Vec<u8>),
}

/// Pooled memory in the form that [`Bytes::from_owner`] requires.
pub(crate) struct Whole(Memory);

impl AsRef<[u8]> for Whole {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Fresh {
    /// Returns `size` bytes with undefined content; `None` if the system does not have the memory. Large memory comes
    /// from `kept` and returns there. If it is new, all pages are populated in one call: page faults one by one would
    /// take about a quarter of the time that zstd takes to decode a chunk.
    pub(crate) fn get(size: usize, kept: &Arc<BufferPool>) -> Option<Self> {
        if size >= POPULATED {
            return Some(Self::Large(Whole(kept.get_packed(size).ok()?.0)));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok().filter(|()| size > 0)?;
        bytes.resize(size, 0);
        Some(Self::Small(bytes))
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Large(memory) => Bytes::from_owner(memory),
            Self::Small(bytes) => bytes.into(),
        }
    }
}

impl Deref for Fresh {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Large(memory) => &memory.0,
            Self::Small(bytes) => bytes,
        }
    }
}

impl DerefMut for Fresh {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Large(memory) => &mut memory.0,
            Self::Small(bytes) => bytes,
        }
    }
}

/// Populates all whole pages of `bytes`, which will be written anyway.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn populate(bytes: &mut [u8]) {
    /// The smallest page size. On systems with larger pages, the call fails without harm.
    const PAGE: usize = 4096;
    let before = bytes.as_ptr().addr().wrapping_neg() % PAGE;
    let Some(inside) = bytes.get_mut(before..) else { return };
    let size = inside.len() / PAGE * PAGE;
    // SAFETY: these are pages of our own, whose contents the call does not change. On older systems the call fails, and
    // pages are populated when they are first written.
    unsafe { libc::madvise(inside.as_mut_ptr().cast(), size, libc::MADV_POPULATE_WRITE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn populate(_: &mut [u8]) {}

/// Advises the system to use huge pages for `bytes`, which will be written. Clearing small pages takes longer than
/// copying elements to them.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn prefer_huge_pages(bytes: &mut [u8]) {
    let before = bytes.as_ptr().addr().wrapping_neg() % HUGE_PAGE;
    let Some(inside) = bytes.get_mut(before..) else { return };
    let size = inside.len() / HUGE_PAGE * HUGE_PAGE;
    // SAFETY: these are pages of our own, whose contents the call does not change. Advice may be ignored.
    unsafe { libc::madvise(inside.as_mut_ptr().cast(), size, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn prefer_huge_pages(_: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Allocation, HUGE_PAGE};

    #[test]
    fn new_memory_is_zeroed_and_can_be_shared_after_writing() {
        let large = if cfg!(miri) { 0 } else { HUGE_PAGE };
        let kept = Arc::new(BufferPool::new(0));
        for size in [1, 100, POPULATED - 1, POPULATED, POPULATED + 4097, large + 1, 2 * large, 2 * large + 7]
        {
            if size == 0 {
                continue;
            }
            let mut memory = Fresh::get(size, &kept).unwrap();
            assert_eq!((memory.len(), memory.iter().any(|&byte| byte != 0)), (size, false), "{size}");
            memory.fill(3);
            let bytes = memory.into_bytes();
            assert_eq!((bytes.len(), bytes.iter().all(|&byte| byte == 3)), (size, true), "{size}");
            let shared = bytes.slice(size - 1..);
            drop(bytes);
            assert_eq!(&shared[..], [3]);
        }
    }

    #[test]
    fn uses_huge_pages_only_for_sizes_that_fill_them() {
        // A new pool has not measured the speed of pages yet, so it uses huge pages for sizes that fill them.
        let is_huge = |size| match Fresh::get(size, &Arc::new(BufferPool::new(0))) {
            Some(Fresh::Large(Whole(memory))) => memory.place == Allocation::Mapped,
            _ => false,
        };
        let sizes = [HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 2 * HUGE_PAGE - 4096];
        assert_eq!(sizes.map(is_huge), [false, true, false, true]);
    }

    #[test]
    fn rejects_zero_and_impossible_sizes() {
        let kept = Arc::new(BufferPool::new(0));
        let sizes = [0, usize::MAX, isize::MAX.unsigned_abs()];
        assert!(sizes.into_iter().all(|size| Fresh::get(size, &kept).is_none()));
    }

    #[test]
    fn reuses_memory_that_is_no_longer_shared() {
        let sizes = if cfg!(miri) { [POPULATED, POPULATED + 1] } else { [POPULATED + 1, HUGE_PAGE] };
        for size in sizes {
            let kept = Arc::new(BufferPool::new(4 * size));
            let mut memory = Fresh::get(size, &kept).unwrap();
            memory.fill(3);
            let start = memory.as_ptr();
            let bytes = memory.into_bytes();
            let other = Fresh::get(size, &kept).unwrap();
            assert_ne!(other.as_ptr(), start);
            drop(bytes);
            // A much smaller request would leave most of the piece unused.
            assert_ne!(Fresh::get(size - size / 4, &kept).map(|memory| memory.as_ptr()), Some(start));
            let again = Fresh::get(size - 1, &kept).unwrap();
            assert_eq!((again.as_ptr(), again[size - 2]), (start, 3));
        }
    }

    #[test]
    fn unaligned_memory_is_never_used_for_outputs() {
        let kept = Arc::new(BufferPool::new(1 << 20));
        drop(Fresh::get(POPULATED + 1, &kept).unwrap());
        assert!(kept.get(POPULATED + 1).unwrap().1);
    }
}
