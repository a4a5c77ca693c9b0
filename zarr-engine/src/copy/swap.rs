//! Changes of byte order.

use zarr_spec::Unit;
use zarr_spec::host::pipeline;

use super::OutOfBounds;

/// The units of an element whose bytes are reversed by a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swap<'a> {
    /// No units: elements are copied unchanged.
    None,
    /// All units, each of this size in bytes. An element consists of whole units. Sizes 0 and 1 change nothing.
    Uniform(usize),
    /// The listed units.
    Units(&'a [Unit]),
}

impl<'a> From<&'a pipeline::Swap> for Swap<'a> {
    fn from(swap: &'a pipeline::Swap) -> Self {
        match swap {
            pipeline::Swap::None => Self::None,
            pipeline::Swap::Uniform(size) => Self::Uniform(*size),
            pipeline::Swap::Units(units) => Self::Units(units),
        }
    }
}

impl<'a> Swap<'a> {
    /// Simplifies the swap. Returns an error if a unit exceeds the element.
    pub(super) fn checked(self, element_size: usize) -> Result<Self, OutOfBounds> {
        match self {
            Swap::Uniform(unit) if unit > 1 && !element_size.is_multiple_of(unit) => Err(OutOfBounds),
            Swap::Units(units) => Self::checked_units(units, element_size),
            Swap::None | Swap::Uniform(0 | 1) => Ok(Swap::None),
            Swap::Uniform(_) => Ok(self),
        }
    }

    fn checked_units(units: &'a [Unit], element_size: usize) -> Result<Self, OutOfBounds> {
        let inside = |unit: &Unit| unit.offset.checked_add(unit.size).is_some_and(|end| end <= element_size);
        match units {
            _ if !units.iter().all(inside) => Err(OutOfBounds),
            _ if units.iter().all(|unit| unit.size < 2) => Ok(Swap::None),
            [Unit { offset: 0, size }] if *size == element_size => Ok(Swap::Uniform(element_size)),
            _ => Ok(Swap::Units(units)),
        }
    }

    /// Reverses the units of one element in place.
    pub(super) fn reverse(self, element: &mut [u8]) {
        match self {
            Swap::None => {}
            Swap::Uniform(unit) => element.chunks_exact_mut(unit.max(1)).for_each(<[u8]>::reverse),
            Swap::Units(units) => {
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
            Swap::None => return None,
            Swap::Uniform(unit) => unit,
            Swap::Units(_) => element_size,
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
    /// The source position of each byte.
    pub(super) from: [u8; 16],
    /// The number of bytes after which the permutation repeats; divides 16.
    pub(super) period: usize,
}
