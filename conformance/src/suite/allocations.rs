//! A counting allocator, which measures the memory that a thread allocates in a test program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

/// The system allocator with a count for each thread. [`conformance_tests!`](crate::conformance_tests) makes it the
/// global allocator of the test.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

thread_local! {
    /// The bytes that this thread has allocated and not freed. Memory freed by other threads is not subtracted.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// The maximum of `HELD`.
    static HIGHEST: Cell<usize> = const { Cell::new(0) };
    /// The number of allocations and reallocations by this thread.
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

fn add(size: usize) {
    // The counts of a thread that ends may already be gone.
    let held = HELD.try_with(|held| {
        held.set(held.get().saturating_add(size));
        held.get()
    });
    let _ended = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
    if let Ok(held) = held {
        let _ended = HIGHEST.try_with(|highest| highest.set(highest.get().max(held)));
    }
}

fn subtract(size: usize) {
    let _ended = HELD.try_with(|held| held.set(held.get().saturating_sub(size)));
}

#[expect(unsafe_code, reason = "an allocator cannot be implemented without it")]
// SAFETY: every call is forwarded to `System` unchanged. Counting does not touch memory of the callers, and neither
// allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller upholds the contract of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: the caller upholds the contract of `System`, which allocated all memory.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller upholds the contract of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        subtract(layout.size());
        // SAFETY: the caller upholds the contract of `System`, which allocated all memory.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns the number of allocations and reallocations by this thread during `run`.
///
/// # Panics
///
/// If the program has another allocator.
pub fn requests(run: impl FnOnce()) -> usize {
    let before = REQUESTS.get();
    drop(black_box(Vec::<u8>::with_capacity(1)));
    assert!(REQUESTS.get() > before, "the allocator of this program does not count");
    let before = requests_of_this_thread();
    run();
    requests_of_this_thread() - before
}

/// Returns the number of allocations and reallocations by this thread since it began.
#[must_use]
pub fn requests_of_this_thread() -> usize {
    REQUESTS.get()
}

/// Returns the peak number of bytes that this thread allocated during `run`, not counting earlier allocations. `None`
/// if the program has another allocator.
#[must_use]
pub fn highest(run: impl FnOnce()) -> Option<usize> {
    let before = HELD.get();
    HIGHEST.set(before);
    drop(black_box(Vec::<u8>::with_capacity(1)));
    if HIGHEST.get() == before {
        return None;
    }
    HIGHEST.set(before);
    run();
    Some(HIGHEST.get().saturating_sub(before))
}
