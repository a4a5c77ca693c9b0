//! Grouping the bytes or the bits of elements by their position in the element.
//!
//! All bytes of one position form a plane, which has one byte per element. When bits are grouped, each plane is rearranged
//! into eight rows.

mod lanes;
#[cfg(test)]
mod tests;

use lanes::{Best, Lanes};

/// The largest element size for which references to the planes are in an array.
const FEW: usize = 256;

/// Writes the planes of `elements`, of `size` bytes each, one after another. Both slices have the same length, a multiple
/// of `size`, which is not 0.
pub fn split_bytes(size: usize, elements: &[u8], planes: &mut [u8]) {
    planes_of_elements::<Best>(size, elements, planes);
}

/// Inverts [`split_bytes`]. The planes may lie anywhere, and have the same length.
pub fn join_bytes(planes: &[&[u8]], elements: &mut [u8]) {
    elements_of_planes::<Best>(planes, elements);
}

/// Writes the rows of bits of all planes of `elements` one after another. Both slices have the same length, a multiple of
/// `8 * size`. `scratch` is memory that calls reuse.
pub fn split_bits(size: usize, elements: &[u8], planes: &mut [u8], scratch: &mut Vec<u8>) {
    let count = elements.len() / size;
    if size == 1 || count == 0 {
        return rows_of_plane::<Best>(elements, planes);
    }
    scratch.resize(elements.len(), 0);
    planes_of_elements::<Best>(size, elements, scratch);
    for (plane, rows) in scratch.chunks_exact(count).zip(planes.chunks_exact_mut(count)) {
        rows_of_plane::<Best>(plane, rows);
    }
}

/// Inverts [`split_bits`]. The planes of rows may lie anywhere, and have the same length, a multiple of 8.
pub fn join_bits(planes: &[&[u8]], elements: &mut [u8], scratch: &mut Vec<u8>) {
    if let [rows] = planes {
        return plane_of_rows::<Best>(rows, elements);
    }
    let count = elements.len() / planes.len().max(1);
    if count == 0 {
        return;
    }
    scratch.resize(elements.len(), 0);
    for (rows, plane) in planes.iter().zip(scratch.chunks_exact_mut(count)) {
        plane_of_rows::<Best>(rows, plane);
    }
    with_planes(count, scratch, |planes| elements_of_planes::<Best>(planes, elements));
}

/// Calls `join` with the planes of `count` bytes that `planes` contains one after another. `count` is not 0.
pub fn with_planes(count: usize, planes: &[u8], join: impl FnOnce(&[&[u8]])) {
    let number = planes.len() / count;
    let planes = planes.chunks_exact(count);
    if number > FEW {
        return join(&planes.collect::<Vec<_>>());
    }
    let mut few = [&[][..]; FEW];
    for (place, plane) in few.iter_mut().zip(planes) {
        *place = plane;
    }
    join(&few[..number]);
}

/// Copies byte `j` of element `i` to position `i` of plane `j`. Both slices have the same length, a multiple of
/// `size`.
fn planes_of_elements<L: Lanes>(size: usize, elements: &[u8], planes: &mut [u8]) {
    let count = elements.len() / size;
    let done = match size {
        2 => planes_of_groups::<L, 2>(elements, planes),
        4 => planes_of_groups::<L, 4>(elements, planes),
        8 => planes_of_groups::<L, 8>(elements, planes),
        16 => planes_of_groups::<L, 16>(elements, planes),
        _ => 0,
    };
    let rest = &elements[done * size..];
    for (place, plane) in planes.chunks_exact_mut(count).enumerate() {
        for (byte, element) in plane[done..].iter_mut().zip(rest.chunks_exact(size)) {
            *byte = element[place];
        }
    }
}

/// Inverts [`planes_of_elements`].
fn elements_of_planes<L: Lanes>(planes: &[&[u8]], elements: &mut [u8]) {
    let size = planes.len();
    let done = match size {
        2 => groups_of_planes::<L, 2>(planes, elements),
        4 => groups_of_planes::<L, 4>(planes, elements),
        8 => groups_of_planes::<L, 8>(planes, elements),
        16 => groups_of_planes::<L, 16>(planes, elements),
        _ => 0,
    };
    let rest = &mut elements[done * size..];
    for (place, plane) in planes.iter().enumerate() {
        for (byte, element) in plane[done..].iter().zip(rest.chunks_exact_mut(size)) {
            element[place] = *byte;
        }
    }
}

/// Like [`planes_of_elements`], for complete groups of sixteen elements. Returns the number of these elements.
fn planes_of_groups<L: Lanes, const SIZE: usize>(elements: &[u8], planes: &mut [u8]) -> usize {
    let count = elements.len() / SIZE;
    let mut columns = planes.chunks_exact_mut(count).map(|plane| plane.as_chunks_mut::<16>().0);
    let mut columns: [&mut [[u8; 16]]; SIZE] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let groups = elements.as_chunks::<16>().0.as_chunks::<SIZE>().0;
    for (place, group) in groups.iter().enumerate() {
        let sorted = unzip(loaded::<L, _>(group));
        for (column, lanes) in columns.iter_mut().zip(&sorted) {
            lanes.store(&mut column[place]);
        }
    }
    groups.len() * 16
}

/// Like [`elements_of_planes`], for complete groups of sixteen elements. Returns the number of these elements.
fn groups_of_planes<L: Lanes, const SIZE: usize>(planes: &[&[u8]], elements: &mut [u8]) -> usize {
    let columns: [&[[u8; 16]]; SIZE] = std::array::from_fn(|place| planes[place].as_chunks::<16>().0);
    let groups = elements.as_chunks_mut::<16>().0.as_chunks_mut::<SIZE>().0;
    for (place, group) in groups.iter_mut().enumerate() {
        let mixed = zip(loaded_from::<L, _>(&columns, place));
        for (bytes, lanes) in group.iter_mut().zip(&mixed) {
            lanes.store(bytes);
        }
    }
    groups.len() * 16
}

// These functions use loops because the methods of arrays are not inlined here.

#[inline(always)]
fn loaded<L: Lanes, const SIZE: usize>(group: &[[u8; 16]; SIZE]) -> [L; SIZE] {
    let mut lanes = [L::load(&[0; 16]); SIZE];
    for (lanes, bytes) in lanes.iter_mut().zip(group) {
        *lanes = L::load(bytes);
    }
    lanes
}

#[inline(always)]
fn loaded_from<L: Lanes, const SIZE: usize>(columns: &[&[[u8; 16]]; SIZE], place: usize) -> [L; SIZE] {
    let mut lanes = [L::load(&[0; 16]); SIZE];
    for (lanes, column) in lanes.iter_mut().zip(columns) {
        *lanes = L::load(&column[place]);
    }
    lanes
}

/// Interleaves sixteen bytes of each of `SIZE` planes to sixteen elements. `SIZE` is a power of two.
#[inline(always)]
fn zip<L: Lanes, const SIZE: usize>(mut lanes: [L; SIZE]) -> [L; SIZE] {
    for _ in 0..SIZE.trailing_zeros() {
        let before = lanes;
        for place in 0..SIZE / 2 {
            [lanes[2 * place], lanes[2 * place + 1]] = before[place].zip(before[place + SIZE / 2]);
        }
    }
    lanes
}

/// Inverts [`zip`].
#[inline(always)]
fn unzip<L: Lanes, const SIZE: usize>(mut lanes: [L; SIZE]) -> [L; SIZE] {
    for _ in 0..SIZE.trailing_zeros() {
        let before = lanes;
        for place in 0..SIZE / 2 {
            [lanes[place], lanes[place + SIZE / 2]] = before[2 * place].unzip(before[2 * place + 1]);
        }
    }
    lanes
}

/// Copies bit `b` of byte `i` to bit `i` of row `b`; the rows are consecutive. The length is a multiple of eight.
fn rows_of_plane<L: Lanes>(plane: &[u8], rows: &mut [u8]) {
    let row = (plane.len() / 8).max(1);
    let mut columns = rows.chunks_exact_mut(row).map(|row| row.as_chunks_mut::<16>().0);
    let mut columns: [&mut [[u8; 16]]; 8] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let groups = plane.as_chunks::<16>().0.as_chunks::<8>().0;
    for (place, group) in groups.iter().enumerate() {
        let sorted = turned(unzip(loaded::<L, _>(group)));
        for (column, lanes) in columns.iter_mut().zip(&sorted) {
            lanes.store(&mut column[place]);
        }
    }
    let rest = &plane[groups.len() * 128..];
    for (place, bytes) in (groups.len() * 16..).zip(rest.as_chunks::<8>().0) {
        let turned = turn(u64::from_le_bytes(*bytes)).to_le_bytes();
        for (row, byte) in rows.chunks_exact_mut(row).zip(turned) {
            row[place] = byte;
        }
    }
}

/// Inverts [`rows_of_plane`].
fn plane_of_rows<L: Lanes>(rows: &[u8], plane: &mut [u8]) {
    let row = (plane.len() / 8).max(1);
    let mut columns = rows.chunks_exact(row).map(|row| row.as_chunks::<16>().0);
    let columns: [&[[u8; 16]]; 8] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let groups = plane.as_chunks_mut::<16>().0.as_chunks_mut::<8>().0;
    for (place, group) in groups.iter_mut().enumerate() {
        let mixed = zip(turned(loaded_from::<L, _>(&columns, place)));
        for (bytes, lanes) in group.iter_mut().zip(&mixed) {
            lanes.store(bytes);
        }
    }
    let done = groups.len() * 16;
    let rest = &mut plane[done * 8..];
    for (place, bytes) in (done..).zip(rest.as_chunks_mut::<8>().0) {
        let mut turned = [0; 8];
        for (byte, row) in turned.iter_mut().zip(rows.chunks_exact(row)) {
            *byte = row[place];
        }
        *bytes = turn(u64::from_le_bytes(turned)).to_le_bytes();
    }
}

/// Applies [`turn`] at each position to the eight bytes of `rows` there.
#[inline(always)]
fn turned<L: Lanes>(mut rows: [L; 8]) -> [L; 8] {
    for place in [0, 2, 4, 6] {
        [rows[place], rows[place + 1]] = rows[place].swap::<1>(rows[place + 1], 0x55);
    }
    for place in [0, 1, 4, 5] {
        [rows[place], rows[place + 2]] = rows[place].swap::<2>(rows[place + 2], 0x33);
    }
    for place in [0, 1, 2, 3] {
        [rows[place], rows[place + 4]] = rows[place].swap::<4>(rows[place + 4], 0x0f);
    }
    rows
}

/// Transposes eight by eight bits: bit `b` of byte `i` and bit `i` of byte `b` are swapped. Swaps single bits,
/// then squares of two by two, then of four by four. The function is its own inverse.
fn turn(bits: u64) -> u64 {
    let swap = |bits: u64, distance: u32, lower: u64| {
        let differing = (bits ^ (bits >> distance)) & lower;
        bits ^ differing ^ (differing << distance)
    };
    let bits = swap(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swap(bits, 14, 0x0000_cccc_0000_cccc);
    swap(bits, 28, 0x0000_0000_f0f0_f0f0)
}
