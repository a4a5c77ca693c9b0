//! Memory for outputs and buffers, zeroed and aligned to cache lines.
//!
//! On Linux, memory of 2 MiB or more is mapped, aligned to huge pages, and the kernel is advised to use them: page
//! faults for fresh small pages cost more than the copy that fills them. A large `Vec` usually starts 16 bytes past a
//! cache line, so that every streaming store to it would split a line.
#![expect(unsafe_code, reason = "a `Vec` does not support a chosen alignment")]

mod fresh;
mod heap;
#[cfg(all(target_os = "linux", not(miri)))]
mod mapped;
mod pages;
mod pool;
mod typed;
#[cfg(not(all(target_os = "linux", not(miri))))]
use heap::lines as mapped;

use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

pub(crate) use fresh::Fresh;
pub(crate) use pool::BufferPool;
pub(crate) use typed::{TypedMemory, zeroed_vec};

/// The size of a huge page in bytes. Memory of at least this size is mapped if possible.
const HUGE_PAGE: usize = 2 << 20;

/// The error if the system does not provide the requested memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The requested number of bytes.
    pub size: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no memory for {} bytes", self.size)
    }
}

impl Error for OutOfMemory {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allocation {
    Mapped,
    Aligned,
    Anywhere,
}

/// A fixed number of bytes, aligned to cache lines, or to huge pages if there are 2 MiB or more.
pub struct Memory {
    start: NonNull<u8>,
    size: usize,
    /// The number of allocated bytes. It exceeds `size` if a larger piece was reused.
    capacity: usize,
    place: Allocation,
    /// The pool to which the memory returns when it is dropped; `None` to free it.
    home: Option<Arc<BufferPool>>,
}

// SAFETY: it owns its bytes, as a `Box<[u8]>` does.
unsafe impl Send for Memory {}
// SAFETY: shared references only read.
unsafe impl Sync for Memory {}

impl Memory {
    /// Returns `size` zeroed bytes. Large memory does not occupy physical pages before it is written.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if the system does not have enough memory, or if `size` exceeds the maximum size of a slice.
    pub fn zeroed(size: usize) -> Result<Self, OutOfMemory> {
        Self::at(if size >= HUGE_PAGE { Allocation::Mapped } else { Allocation::Aligned }, size)
    }

    /// Like [`Self::zeroed`], with all pages populated.
    fn populated(size: usize) -> Result<Self, OutOfMemory> {
        let mut memory = Self::zeroed(size)?;
        fresh::populate(&mut memory);
        Ok(memory)
    }

    /// Like [`Self::populated`], without alignment.
    fn packed(size: usize) -> Result<Self, OutOfMemory> {
        let mut memory = Self::at(Allocation::Anywhere, size)?;
        fresh::populate(&mut memory);
        Ok(memory)
    }

    fn at(place: Allocation, size: usize) -> Result<Self, OutOfMemory> {
        let start = match place {
            Allocation::Mapped => mapped::allocate(size),
            Allocation::Aligned => heap::allocate(size, heap::LINE),
            Allocation::Anywhere => heap::allocate(size, 1),
        };
        Ok(Self { start: start.ok_or(OutOfMemory { size })?, size, capacity: size, place, home: None })
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.size
    }

    /// Returns whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let start = self.start;
        let capacity = self.capacity;
        let place = self.place;
        if let Some(home) = self.home.take() {
            return home.keep(Self { start, size: capacity, capacity, place, home: None });
        }
        // SAFETY: `Self::at` allocated this memory in the same way and with this size, and nothing borrows it any more.
        unsafe {
            match place {
                Allocation::Mapped => mapped::free(start, capacity),
                Allocation::Aligned => heap::free(start, capacity, heap::LINE),
                Allocation::Anywhere => heap::free(start, capacity, 1),
            }
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `size` initialised bytes of our own.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.size) }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `size` initialised bytes of our own, borrowed mutably with `self`.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.size) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Memory").field("size", &self.size).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_SIZES: [usize; 12] = [
        0,
        1,
        63,
        64,
        4097,
        HUGE_PAGE - 1,
        HUGE_PAGE,
        HUGE_PAGE + 1,
        2 * HUGE_PAGE,
        3 * HUGE_PAGE + 4096,
        3 * HUGE_PAGE + 4097,
        5 * HUGE_PAGE - 1,
    ];

    /// Miri takes minutes for large sizes, which are not mapped there anyway.
    const SIZES: &[usize] = if cfg!(miri) { ALL_SIZES.first_chunk::<5>().unwrap() } else { &ALL_SIZES };

    #[test]
    fn memory_is_zeroed_aligned_and_writable_to_its_last_byte() {
        for &size in SIZES {
            let mut memory = Memory::zeroed(size).unwrap();
            assert_eq!(memory.len(), size);
            assert_eq!(memory.is_empty(), size == 0);
            assert_eq!(memory.as_ptr().addr() % 64, 0, "size {size}");
            assert!(memory.iter().all(|byte| *byte == 0), "size {size}");
            memory.fill(7);
            assert_eq!(memory.iter().rposition(|byte| *byte != 7), None, "size {size}");
        }
    }

    #[test]
    fn memory_is_zeroed_after_it_was_freed_and_allocated_again() {
        let sizes = if cfg!(miri) { [100, 101, 102] } else { [100, HUGE_PAGE, 3 * HUGE_PAGE + 5] };
        for _ in 0..20 {
            for size in sizes {
                let mut memory = Memory::zeroed(size).unwrap();
                assert!(memory.iter().all(|byte| *byte == 0));
                memory.fill(0xFF);
            }
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn large_memory_starts_at_a_huge_page() {
        let large = SIZES.iter().filter(|size| **size >= HUGE_PAGE);
        let kept: Vec<_> = large.map(|size| Memory::zeroed(*size).unwrap()).collect();
        for memory in &kept {
            assert_eq!(memory.as_ptr().addr() % HUGE_PAGE, 0, "size {}", memory.len());
        }
    }

    #[test]
    fn the_portable_allocator_is_zeroed_and_aligned() {
        for &size in SIZES {
            let start = heap::allocate(size, heap::LINE).unwrap();
            assert_eq!(start.as_ptr().addr() % 64, 0);
            // SAFETY: `size` initialised bytes without other references, freed once.
            unsafe {
                let bytes = slice::from_raw_parts_mut(start.as_ptr(), size);
                assert!(bytes.iter().all(|byte| *byte == 0), "size {size}");
                bytes.fill(9);
                heap::free(start, size, heap::LINE);
            }
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for size in [usize::MAX, usize::MAX - 4096, isize::MAX.unsigned_abs() + 1, isize::MAX.unsigned_abs()]
        {
            assert_eq!(Memory::zeroed(size).unwrap_err(), OutOfMemory { size });
            assert_eq!(heap::allocate(size, heap::LINE), None);
        }
        let message = OutOfMemory { size: 12 }.to_string();
        assert_eq!(message, "no memory for 12 bytes");
    }

    #[test]
    fn memory_can_be_sent_to_other_threads() {
        let size = if cfg!(miri) { 4096 } else { HUGE_PAGE };
        let mut memory = Memory::zeroed(size).unwrap();
        let (left, right) = memory.split_at_mut(size / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| left.fill(1));
            scope.spawn(|| right.fill(2));
        });
        let moved = std::thread::spawn(move || (memory[0], memory[size - 1])).join().unwrap();
        assert_eq!(moved, (1, 2));
    }
}
