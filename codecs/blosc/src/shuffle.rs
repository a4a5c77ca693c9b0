//! Sorting the bytes or the bits of a block by their place in the element.
//!
//! Whole elements are sorted, and the bytes after the last one stay where they are. Bits are sorted only if the
//! number of elements is a multiple of eight; otherwise the block stays as it is.

use crate::Shuffle;

/// Shuffles blocks in one way, with memory that is used again for the next block.
#[derive(Debug)]
pub(crate) struct Shuffler {
    shuffle: Shuffle,
    typesize: usize,
    shuffled: Vec<u8>,
    /// Between elements and bits: all first bytes, then all second ones.
    planes: Vec<u8>,
}

impl Shuffler {
    /// For elements of `typesize` bytes, which is not 0.
    pub(crate) fn new(shuffle: Shuffle, typesize: usize) -> Self {
        Self { shuffle, typesize, shuffled: Vec::new(), planes: Vec::new() }
    }

    /// `block` as it is compressed.
    pub(crate) fn apart<'a>(&'a mut self, block: &'a [u8]) -> &'a [u8] {
        let elements = self.elements(block.len());
        if elements == 0 {
            return block;
        }
        let (whole, tail) = block.split_at(elements * self.typesize);
        self.shuffled.resize(block.len(), 0);
        let (shuffled, after) = self.shuffled.split_at_mut(whole.len());
        after.copy_from_slice(tail);
        match self.shuffle {
            Shuffle::Bit if self.typesize == 1 => bits(whole, shuffled, elements, rows_of_plane),
            Shuffle::Bit => {
                self.planes.resize(whole.len(), 0);
                planes_of_elements(self.typesize, whole, &mut self.planes);
                bits(&self.planes, shuffled, elements, rows_of_plane);
            }
            Shuffle::Byte | Shuffle::None => planes_of_elements(self.typesize, whole, shuffled),
        }
        &self.shuffled
    }

    /// The inverse of [`Shuffler::apart`]: `decompress` fills all of the memory that it is given, and `block` holds
    /// the elements then.
    pub(crate) fn together(
        &mut self,
        block: &mut [u8],
        decompress: impl FnOnce(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let elements = self.elements(block.len());
        if elements == 0 {
            return decompress(block);
        }
        self.shuffled.resize(block.len(), 0);
        decompress(&mut self.shuffled)?;
        let (whole, tail) = block.split_at_mut(elements * self.typesize);
        let (shuffled, after) = self.shuffled.split_at(whole.len());
        tail.copy_from_slice(after);
        match self.shuffle {
            Shuffle::Bit if self.typesize == 1 => bits(shuffled, whole, elements, plane_of_rows),
            Shuffle::Bit => {
                self.planes.resize(whole.len(), 0);
                bits(shuffled, &mut self.planes, elements, plane_of_rows);
                elements_of_planes(self.typesize, &self.planes, whole);
            }
            Shuffle::Byte | Shuffle::None => elements_of_planes(self.typesize, shuffled, whole),
        }
        Ok(())
    }

    /// How many elements of a block of `size` bytes change places.
    fn elements(&self, size: usize) -> usize {
        let count = size / self.typesize;
        match self.shuffle {
            Shuffle::Byte if self.typesize > 1 => count,
            Shuffle::Bit if count.is_multiple_of(8) => count,
            _ => 0,
        }
    }
}

/// Byte `j` of element `i` goes to place `i` of plane `j`. Both sides have the same length, a multiple of `typesize`.
fn planes_of_elements(typesize: usize, elements: &[u8], planes: &mut [u8]) {
    match typesize {
        2 => planes_of_arrays::<2>(elements, planes),
        4 => planes_of_arrays::<4>(elements, planes),
        8 => planes_of_arrays::<8>(elements, planes),
        _ => {
            let count = elements.len() / typesize;
            for (place, plane) in planes.chunks_exact_mut(count).enumerate() {
                for (byte, element) in plane.iter_mut().zip(elements.chunks_exact(typesize)) {
                    *byte = element[place];
                }
            }
        }
    }
}

/// The inverse of [`planes_of_elements`].
fn elements_of_planes(typesize: usize, planes: &[u8], elements: &mut [u8]) {
    match typesize {
        2 => arrays_of_planes::<2>(planes, elements),
        4 => arrays_of_planes::<4>(planes, elements),
        8 => arrays_of_planes::<8>(planes, elements),
        _ => {
            let count = elements.len() / typesize;
            for (place, plane) in planes.chunks_exact(count).enumerate() {
                for (byte, element) in plane.iter().zip(elements.chunks_exact_mut(typesize)) {
                    element[place] = *byte;
                }
            }
        }
    }
}

/// [`planes_of_elements`] where the compiler knows the size.
fn planes_of_arrays<const SIZE: usize>(elements: &[u8], planes: &mut [u8]) {
    let (elements, _) = elements.as_chunks::<SIZE>();
    for (place, plane) in planes.chunks_exact_mut(elements.len()).enumerate() {
        for (byte, element) in plane.iter_mut().zip(elements) {
            *byte = element[place];
        }
    }
}

/// [`elements_of_planes`] where the compiler knows the size.
fn arrays_of_planes<const SIZE: usize>(planes: &[u8], elements: &mut [u8]) {
    let (elements, _) = elements.as_chunks_mut::<SIZE>();
    for (place, plane) in planes.chunks_exact(elements.len()).enumerate() {
        for (byte, element) in plane.iter().zip(elements.iter_mut()) {
            element[place] = *byte;
        }
    }
}

/// Turns every plane of `count` bytes, a multiple of eight, with `turn`.
fn bits(from: &[u8], to: &mut [u8], count: usize, turn: impl Fn(&[u8], &mut [u8])) {
    for (from, to) in from.chunks_exact(count).zip(to.chunks_exact_mut(count)) {
        turn(from, to);
    }
}

/// Bit `b` of byte `i` goes to bit `i` of row `b`: eight rows, one after another.
fn rows_of_plane(plane: &[u8], rows: &mut [u8]) {
    let row = plane.len() / 8;
    for (place, bytes) in plane.as_chunks::<8>().0.iter().enumerate() {
        let turned = turn(u64::from_le_bytes(*bytes)).to_le_bytes();
        for (row, byte) in rows.chunks_exact_mut(row).zip(turned) {
            row[place] = byte;
        }
    }
}

/// The inverse of [`rows_of_plane`].
fn plane_of_rows(rows: &[u8], plane: &mut [u8]) {
    let row = plane.len() / 8;
    for (place, bytes) in plane.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut turned = [0; 8];
        for (byte, row) in turned.iter_mut().zip(rows.chunks_exact(row)) {
            *byte = row[place];
        }
        *bytes = turn(u64::from_le_bytes(turned)).to_le_bytes();
    }
}

/// Transposes eight by eight bits: bit `b` of byte `i` and bit `i` of byte `b` change places. First single bits, then
/// squares of two by two, then those of four by four. The inverse is the same.
fn turn(bits: u64) -> u64 {
    let swap = |bits: u64, distance: u32, lower: u64| {
        let differing = (bits ^ (bits >> distance)) & lower;
        bits ^ differing ^ (differing << distance)
    };
    let bits = swap(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swap(bits, 14, 0x0000_cccc_0000_cccc);
    swap(bits, 28, 0x0000_0000_f0f0_f0f0)
}
