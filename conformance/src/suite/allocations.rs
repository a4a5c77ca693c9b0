//! How much memory a thread allocates: an allocator that counts, for programs that test.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

/// The allocator of the system, and a count for each thread. [`conformance_tests!`](crate::conformance_tests) makes it
/// that of the test.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

thread_local! {
    /// Bytes that this thread has allocated and not freed; what another thread frees is not seen here.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// The most that there were.
    static HIGHEST: Cell<usize> = const { Cell::new(0) };
    /// How often this thread has asked for memory.
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

fn add(size: usize) {
    // A thread that ends has no counts any more.
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

#[expect(unsafe_code, reason = "there is no other way to be an allocator")]
// SAFETY: every call goes to `System` as it came; what is counted is in no memory of the callers, and counting neither
// allocates nor panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller promises what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: the caller promises what `System` asks for, and all memory is from there.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller promises what `System` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        subtract(layout.size());
        // SAFETY: the caller promises what `System` asks for, and all memory is from there.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How often this thread asks for memory, new or more, while `run` runs.
///
/// # Panics
///
/// Where the program has another allocator.
pub fn requests(run: impl FnOnce()) -> usize {
    let before = REQUESTS.get();
    drop(black_box(Vec::<u8>::with_capacity(1)));
    assert!(REQUESTS.get() > before, "the allocator of this program does not count");
    let before = REQUESTS.get();
    run();
    REQUESTS.get() - before
}

/// The most bytes that this thread held at once while `run` ran, beside those that it held before. `None` where the
/// program has another allocator.
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
