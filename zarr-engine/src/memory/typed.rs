//! Memory viewed as values of a Rust type.

use std::alloc::{Layout, alloc_zeroed};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use super::fresh::prefer_huge_pages;
use super::{Memory, OutOfMemory};
use crate::element::{Element, as_bytes_mut};

/// Memory that holds a whole number of values of one type and is aligned for it.
pub(crate) struct TypedMemory<T> {
    memory: Memory,
    count: usize,
    values: PhantomData<T>,
}

impl<T: Element> TypedMemory<T> {
    /// Views `memory` as `count` values; returns `None` if its size or alignment does not match.
    pub(crate) fn new(memory: Memory, count: usize) -> Option<Self> {
        let is_whole = count.checked_mul(size_of::<T>()) == Some(memory.len());
        let is_aligned = memory.as_ptr().addr().is_multiple_of(align_of::<T>());
        (is_whole && is_aligned).then_some(Self { memory, count, values: PhantomData })
    }
}

impl<T: Element> Deref for TypedMemory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `new` checked that `memory` is aligned for `T` and has the bytes of `count` values, which are
        // initialised; any bytes are a value of a type that is an element.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().cast(), self.count) }
    }
}

impl<T: Element> DerefMut for TypedMemory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `new` checked that `memory` is aligned for `T` and has the bytes of `count` values. No type of
        // `Element` has padding, so the bytes stay initialised. They are borrowed mutably with `self`.
        unsafe { slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.count) }
    }
}

impl<T> fmt::Debug for TypedMemory<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TypedMemory").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Returns a `Vec` of `count` zeros. Large memory does not occupy physical pages before it is written, so that the
/// system clears each page on the thread that writes to it first.
pub(crate) fn zeroed_vec<T: Element>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let size = count.saturating_mul(size_of::<T>());
    let layout = Layout::array::<T>(count).map_err(|_| OutOfMemory { size })?;
    let start = match size {
        0 => NonNull::dangling(),
        // SAFETY: the size of the layout is not 0.
        _ => NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(OutOfMemory { size })?.cast(),
    };
    // SAFETY: the memory is from the allocator of every `Vec`, with the layout of `count` values; zeros are a value of
    // a type that is an element.
    let mut values = unsafe { Vec::from_raw_parts(start.as_ptr(), count, count) };
    prefer_huge_pages(as_bytes_mut(&mut values));
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_changes_bytes_as_values() {
        let mut memory = Memory::zeroed(12).unwrap();
        memory.copy_from_slice(&[1u32, 2, 3].map(u32::to_ne_bytes).concat());
        let mut values = TypedMemory::<u32>::new(memory, 3).unwrap();
        assert_eq!(&values[..], [1, 2, 3]);
        values[1] = 9;
        assert_eq!(&values[..], [1, 9, 3]);
    }

    #[test]
    fn rejects_memory_of_another_size_or_alignment() {
        let is_whole = |size, count| TypedMemory::<u16>::new(Memory::zeroed(size).unwrap(), count).is_some();
        assert!(is_whole(0, 0) && is_whole(4, 2));
        assert!(!is_whole(4, 1) && !is_whole(5, 2) && !is_whole(4, usize::MAX));
        #[cfg(feature = "num-complex")]
        assert!(TypedMemory::<num_complex::Complex<f64>>::new(Memory::zeroed(32).unwrap(), 2).is_some());
    }

    #[test]
    fn zeroed_vec_supports_any_count_and_element() {
        for count in [0, 1, 7, if cfg!(miri) { 100 } else { 1_000_000 }] {
            let values = zeroed_vec::<f64>(count).unwrap();
            assert_eq!((values.len(), values.capacity()), (count, count));
            assert!(values.iter().all(|value| value.to_bits() == 0));
        }
        assert_eq!(zeroed_vec::<[u8; 3]>(2).unwrap(), [[0; 3]; 2]);
        assert_eq!(zeroed_vec::<[u8; 0]>(5).unwrap().len(), 5);
    }

    #[test]
    fn zeroed_vec_rejects_impossible_sizes() {
        for count in [usize::MAX, usize::MAX / 8, isize::MAX.unsigned_abs() / 8] {
            assert!(zeroed_vec::<u64>(count).is_err(), "{count}");
        }
    }
}
