//! The kernels, portable and for this machine, against the definition of the shuffles.

use super::lanes::Portable;
use super::*;

fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(1);
        (state >> 11).to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(size).collect()
}

fn check_bytes<L: Lanes>(typesize: usize, count: usize) {
    let elements = noise(typesize * count);
    let mut planes = vec![0; elements.len()];
    planes_of_elements::<L>(typesize, &elements, &mut planes);
    for (place, byte) in planes.iter().enumerate() {
        assert_eq!(*byte, elements[place % count * typesize + place / count], "{typesize} {count} {place}");
    }
    let mut again = vec![0; elements.len()];
    elements_of_planes::<L>(&planes.chunks(count).collect::<Vec<_>>(), &mut again);
    assert!(again == elements, "{typesize} {count}");
}

fn check_bits<L: Lanes>(count: usize) {
    let plane = noise(count);
    let bit = |bytes: &[u8], place: usize| bytes[place / 8] >> (place % 8) & 1;
    let mut rows = vec![0; count];
    rows_of_plane::<L>(&plane, &mut rows);
    for place in 0..count * 8 {
        assert_eq!(bit(&rows, place % 8 * count + place / 8), bit(&plane, place), "{count} {place}");
    }
    let mut again = vec![0; count];
    plane_of_rows::<L>(&rows, &mut again);
    assert!(again == plane, "{count}");
}

#[test]
fn bytes_are_grouped_by_their_position_in_the_element() {
    for typesize in [1, 2, 3, 4, 5, 8, 12, 16, 17, 255] {
        for count in [1, 2, 15, 16, 17, 32, 47, 128, 1000] {
            check_bytes::<Best>(typesize, count);
            check_bytes::<Portable>(typesize, count);
        }
    }
}

#[test]
fn bits_are_grouped_by_their_position_in_the_byte() {
    for count in [8, 16, 120, 128, 136, 256, 1000, 4096] {
        check_bits::<Best>(count);
        check_bits::<Portable>(count);
    }
}
