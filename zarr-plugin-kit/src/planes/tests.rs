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

fn check_bytes<L: Lanes>(size: usize, count: usize) {
    let elements = noise(size * count);
    let mut planes = vec![0; elements.len()];
    planes_of_elements::<L>(size, &elements, &mut planes);
    for (place, byte) in planes.iter().enumerate() {
        assert_eq!(*byte, elements[place % count * size + place / count], "{size} {count} {place}");
    }
    let mut again = vec![0; elements.len()];
    elements_of_planes::<L>(&planes.chunks(count).collect::<Vec<_>>(), &mut again);
    assert!(again == elements, "{size} {count}");
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
    for size in [1, 2, 3, 4, 5, 8, 12, 16, 17, 255] {
        for count in [1, 2, 15, 16, 17, 32, 47, 128, 1000] {
            check_bytes::<Best>(size, count);
            check_bytes::<Portable>(size, count);
        }
    }
}

#[test]
fn bits_of_elements_of_any_size_are_grouped_and_restored() {
    let mut scratch = Vec::new();
    for size in [1, 2, 3, 8, 16, 255, 256, 257, 300] {
        for count in [0, 8, 128, 136] {
            let elements = noise(size * count);
            let mut planes = vec![0; elements.len()];
            split_bits(size, &elements, &mut planes, &mut scratch);
            let mut again = vec![0; elements.len()];
            if count > 0 {
                with_planes(count, &planes, |planes| join_bits(planes, &mut again, &mut scratch));
            }
            assert!(again == elements, "{size} {count}");
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
