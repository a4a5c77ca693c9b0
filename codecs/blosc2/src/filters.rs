//! Inverting the shuffles of a block.
//!
//! A byte shuffle stores the bytes of one position in all elements together. A bit shuffle stores the bits of one
//! position together, for groups of eight elements.

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
    /// are copied.
    pub(crate) fn invert(
        self,
        type_size: usize,
        has_partial_groups: bool,
        planes: &[u8],
        elements: &mut [u8],
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
        match self {
            Self::Bytes => join_bytes(type_size, from, to),
            Self::Bits => join_bits(type_size, from, to),
        }
    }
}

fn join_bytes(type_size: usize, planes: &[u8], elements: &mut [u8]) {
    let count = planes.len() / type_size;
    for (position, plane) in planes.chunks_exact(count).enumerate() {
        for (element, byte) in elements.chunks_exact_mut(type_size).zip(plane) {
            element[position] = *byte;
        }
    }
}

fn join_bits(type_size: usize, planes: &[u8], elements: &mut [u8]) {
    let groups = planes.len() / type_size / GROUP;
    for (position, rows) in planes.chunks_exact(groups * GROUP).enumerate() {
        for (group, elements) in elements.chunks_exact_mut(GROUP * type_size).enumerate() {
            let mut bits = [0; GROUP];
            bits.iter_mut().enumerate().for_each(|(row, byte)| *byte = rows[row * groups + group]);
            let bytes = transposed(u64::from_le_bytes(bits)).to_le_bytes();
            for (element, byte) in elements.chunks_exact_mut(type_size).zip(bytes) {
                element[position] = byte;
            }
        }
    }
}

/// Transposes a matrix of 8 by 8 bits, whose rows are bytes.
fn transposed(mut matrix: u64) -> u64 {
    for (mask, shift) in
        [(0x00aa_00aa_00aa_00aa, 7), (0x0000_cccc_0000_cccc, 14), (0x0000_0000_f0f0_f0f0_u64, 28)]
    {
        let swapped = (matrix ^ matrix >> shift) & mask;
        matrix ^= swapped ^ swapped << shift;
    }
    matrix
}
