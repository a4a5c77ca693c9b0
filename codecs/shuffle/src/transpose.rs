//! Elements of some bytes, and planes of the bytes at one place: from one to the other and back.

/// Byte `j` of element `i` of `elements` goes to place `i` of plane `j`. Both have the same length, a multiple of
/// `size`.
pub(crate) fn apart(size: usize, elements: &[u8], planes: &mut [u8]) {
    let done = match size {
        2 => apart_in_groups::<2>(elements, planes),
        4 => apart_in_groups::<4>(elements, planes),
        8 => apart_in_groups::<8>(elements, planes),
        16 => apart_in_groups::<16>(elements, planes),
        _ => 0,
    };
    let count = elements.len() / size;
    for (place, plane) in planes.chunks_exact_mut(count.max(1)).enumerate() {
        for (index, byte) in plane.iter_mut().enumerate().skip(done) {
            *byte = elements[index * size + place];
        }
    }
}

/// The inverse of [`apart`].
pub(crate) fn together(size: usize, planes: &[u8], elements: &mut [u8]) {
    let done = match size {
        2 => together_in_groups::<2>(planes, elements),
        4 => together_in_groups::<4>(planes, elements),
        8 => together_in_groups::<8>(planes, elements),
        16 => together_in_groups::<16>(planes, elements),
        _ => 0,
    };
    let count = elements.len() / size;
    for (place, plane) in planes.chunks_exact(count.max(1)).enumerate() {
        for (index, &byte) in plane.iter().enumerate().skip(done) {
            elements[index * size + place] = byte;
        }
    }
}

/// Elements in a group: their bytes at one place fill a vector register, and the compiler sees fixed sizes only.
const GROUP: usize = 16;

/// Does what it can in whole groups, and returns the number of elements in them.
fn apart_in_groups<const SIZE: usize>(elements: &[u8], planes: &mut [u8]) -> usize {
    let count = elements.len() / SIZE;
    let groups = elements.chunks_exact(SIZE * GROUP);
    let done = groups.len() * GROUP;
    for (number, group) in groups.enumerate() {
        let mut columns = [[0; GROUP]; SIZE];
        for index in 0..GROUP {
            for place in 0..SIZE {
                columns[place][index] = group[index * SIZE + place];
            }
        }
        for (place, column) in columns.iter().enumerate() {
            planes[place * count + number * GROUP..][..GROUP].copy_from_slice(column);
        }
    }
    done
}

/// The inverse of [`apart_in_groups`].
fn together_in_groups<const SIZE: usize>(planes: &[u8], elements: &mut [u8]) -> usize {
    let count = elements.len() / SIZE;
    let groups = elements.chunks_exact_mut(SIZE * GROUP);
    let done = groups.len() * GROUP;
    for (number, group) in groups.enumerate() {
        let mut columns = [[0; GROUP]; SIZE];
        for (place, column) in columns.iter_mut().enumerate() {
            column.copy_from_slice(&planes[place * count + number * GROUP..][..GROUP]);
        }
        for index in 0..GROUP {
            for place in 0..SIZE {
                group[index * SIZE + place] = columns[place][index];
            }
        }
    }
    done
}
