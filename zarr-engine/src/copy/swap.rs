//! Changes of byte order.

use zarr_spec::Unit;
use zarr_spec::host::pipeline;

use super::OutOfBounds;

/// The units of an element whose bytes are reversed by a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteSwap<'a> {
    /// No units: elements are copied unchanged.
    None,
    /// All units, each of this size in bytes. An element consists of whole units. Sizes 0 and 1 change nothing.
    Uniform(usize),
    Units(&'a [Unit]),
}

impl<'a> From<&'a pipeline::Swap> for ByteSwap<'a> {
    fn from(swap: &'a pipeline::Swap) -> Self {
        match swap {
            pipeline::Swap::None => Self::None,
            pipeline::Swap::Uniform(size) => Self::Uniform(*size),
            pipeline::Swap::Units(units) => Self::Units(units),
        }
    }
}

impl<'a> ByteSwap<'a> {
    /// Simplifies the swap. Returns an error if a unit exceeds the element.
    pub(super) fn checked(self, element_size: usize) -> Result<Self, OutOfBounds> {
        match self {
            ByteSwap::Uniform(unit) if unit > 1 && !element_size.is_multiple_of(unit) => Err(OutOfBounds),
            ByteSwap::Units(units) => Self::checked_units(units, element_size),
            ByteSwap::None | ByteSwap::Uniform(0 | 1) => Ok(ByteSwap::None),
            ByteSwap::Uniform(_) => Ok(self),
        }
    }

    fn checked_units(units: &'a [Unit], element_size: usize) -> Result<Self, OutOfBounds> {
        let inside = |unit: &Unit| unit.offset.checked_add(unit.size).is_some_and(|end| end <= element_size);
        match units {
            _ if !units.iter().all(inside) => Err(OutOfBounds),
            _ if units.iter().all(|unit| unit.size < 2) => Ok(ByteSwap::None),
            [Unit { offset: 0, size }] if *size == element_size => Ok(ByteSwap::Uniform(element_size)),
            _ => Ok(ByteSwap::Units(units)),
        }
    }

    pub(super) fn reverse(self, element: &mut [u8]) {
        match self {
            ByteSwap::None => {}
            ByteSwap::Uniform(unit) => element.chunks_exact_mut(unit.max(1)).for_each(<[u8]>::reverse),
            ByteSwap::Units(units) => {
                for &Unit { offset, size } in units {
                    if let Some(unit) = element.get_mut(offset..).and_then(|e| e.get_mut(..size)) {
                        unit.reverse();
                    }
                }
            }
        }
    }

    /// Returns the swap as a permutation of 16 bytes; `None` if its period does not divide 16.
    pub(super) fn pattern(self, element_size: usize) -> Option<Pattern> {
        let period = match self {
            ByteSwap::None => return None,
            ByteSwap::Uniform(unit) => unit,
            ByteSwap::Units(_) => element_size,
        };
        if period == 0 || 16 % period != 0 {
            return None;
        }
        let mut from = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        from.chunks_exact_mut(period).for_each(|element| self.reverse(element));
        Some(Pattern { from, period })
    }
}

/// A permutation of 16 bytes that is the same for each run of `period` bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "vector kernels use it"))]
pub(super) struct Pattern {
    pub(super) from: [u8; 16],
    /// The number of bytes after which the permutation repeats; divides 16.
    pub(super) period: usize,
}
