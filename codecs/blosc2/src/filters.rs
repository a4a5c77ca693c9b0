//! Inverting the shuffles of a block.
//!
//! A byte shuffle stores the bytes of one position in all elements together. A bit shuffle stores the bits of one
//! position together, for groups of eight elements.

use zarr_plugin_kit::planes;

/// A filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    Bytes,
    Bits,
}

/// The number of elements of a group. Their bits at one position make a byte.
const GROUP: usize = 8;

impl Filter {
    /// Writes the elements of a block of `planes` to `elements`, which has the same size. Bytes after the last element
    /// are copied. `scratch` is memory that calls reuse.
    pub(crate) fn invert(
        self,
        type_size: usize,
        has_partial_groups: bool,
        planes: &[u8],
        elements: &mut [u8],
        scratch: &mut Vec<u8>,
    ) {
        let count = planes.len() / type_size;
        let shuffled = match self {
            Self::Bytes if type_size > 1 => count,
            Self::Bytes => 0,
            Self::Bits if has_partial_groups || count.is_multiple_of(GROUP) => count - count % GROUP,
            Self::Bits => 0,
        };
        let (from, from_rest) = planes.split_at(shuffled * type_size);
        let (to, to_rest) = elements.split_at_mut(shuffled * type_size);
        to_rest.copy_from_slice(from_rest);
        if shuffled == 0 {
            return;
        }
        planes::with_planes(shuffled, from, |planes| match self {
            Self::Bytes => planes::join_bytes(planes, to),
            Self::Bits => planes::join_bits(planes, to, scratch),
        });
    }
}
