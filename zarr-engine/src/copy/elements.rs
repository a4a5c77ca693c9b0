//! Copying element by element, for sizes that fit into a register.

use super::Dimension;
use super::swap::ByteSwap;

/// Copies a rectangle of elements. `inner` varies fastest.
///
/// Safety: all elements are valid for reads from the source and writes to the destination.
pub(super) type Elements = unsafe fn(*const u8, *mut u8, inner: Dimension, outer: Dimension);

/// Returns the kernel for elements of `element_size` bytes; `None` if no kernel supports this size and swap.
pub(super) fn kernel(element_size: usize, swap: ByteSwap<'_>) -> Option<Elements> {
    Some(match (element_size, swap) {
        (1, ByteSwap::None) => elements::<u8, 0>,
        (2, ByteSwap::None) => elements::<u16, 0>,
        (4, ByteSwap::None) => elements::<u32, 0>,
        (8, ByteSwap::None) => elements::<u64, 0>,
        (16, ByteSwap::None) => elements::<u128, 0>,
        (2, ByteSwap::Uniform(2)) => elements::<u16, 1>,
        (4, ByteSwap::Uniform(4)) => elements::<u32, 1>,
        (8, ByteSwap::Uniform(8)) => elements::<u64, 1>,
        (16, ByteSwap::Uniform(16)) => elements::<u128, 1>,
        (4, ByteSwap::Uniform(2)) => elements::<u32, 2>,
        (8, ByteSwap::Uniform(4)) => elements::<u64, 2>,
        (16, ByteSwap::Uniform(8)) => elements::<u128, 2>,
        _ => return None,
    })
}

trait Element: Copy {
    fn reversed(self) -> Self;
    /// Reverses the bytes of each half, as for a complex number.
    fn halves_reversed(self) -> Self;
}

macro_rules! element {
    ($($type:ty),*) => {$(
        impl Element for $type {
            #[inline(always)]
            fn reversed(self) -> Self {
                self.swap_bytes()
            }
            #[inline(always)]
            fn halves_reversed(self) -> Self {
                self.swap_bytes().rotate_left(<$type>::BITS / 2)
            }
        }
    )*};
}
element!(u8, u16, u32, u64, u128);

/// Copies elements and reverses the bytes of each of `UNITS` units; 0 for no change.
unsafe fn elements<E: Element, const UNITS: usize>(
    source: *const u8,
    destination: *mut u8,
    inner: Dimension,
    outer: Dimension,
) {
    super::rows::each_row(source, destination, outer, |from, to| {
        super::rows::each_row(from, to, inner, |from, to| {
            // SAFETY: an element of the rectangle, which the caller found in bounds on both sides.
            unsafe {
                let element = from.cast::<E>().read_unaligned();
                let element = match UNITS {
                    0 => element,
                    1 => element.reversed(),
                    _ => element.halves_reversed(),
                };
                to.cast::<E>().write_unaligned(element);
            }
        });
    });
}
