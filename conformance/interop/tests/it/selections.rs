//! Selections given as Rust ranges, tuples and text.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_interop::created;
use zarr_kit::spec::ArraySubset;
use zarr_kit::{Array, ArrayBuilder, DimensionSelection, Format, Selection};

/// Creates an array of 5 × 7 elements in chunks of 2 × 3; the elements count up from 0.
fn array() -> Array {
    let array = created(Format::V3, &ArrayBuilder::new([5, 7], "uint8").chunks([2, 3]));
    array.write_values(.., &(0..35u8).collect::<Vec<_>>()).unwrap();
    array
}

fn read(array: &Array, selection: impl Into<Selection>) -> Vec<u8> {
    array.read_values::<u8>(selection).unwrap().into_vec()
}

#[test]
fn ranges_are_accepted_as_selections() {
    let array = array();
    let wanted = [9, 10, 16, 17];
    let ranges = [1..3, 2..4];
    assert_eq!(read(&array, [1..3, 2..4]), wanted);
    assert_eq!(read(&array, &ranges), wanted);
    assert_eq!(read(&array, &ranges[..]), wanted);
    assert_eq!(read(&array, ranges.to_vec()), wanted);
    assert_eq!(read(&array, ArraySubset::new(ranges.to_vec())), wanted);
    assert_eq!(read(&array, ..), (0..35).collect::<Vec<_>>());
    let error = array.read([0..6, 0..1]).unwrap_err().to_string();
    assert!(error.contains("it ends at 6, but the array ends at 5"), "{error}");
}

#[test]
fn entries_of_a_tuple_are_ranges_indices_and_lists() {
    let array = array();
    assert_eq!(read(&array, (4, 5..)), [33, 34]);
    assert_eq!(read(&array, (..2, 6)), [6, 13]);
    assert_eq!(read(&array, (.., vec![6, 0])), [6, 0, 13, 7, 20, 14, 27, 21, 34, 28]);
    assert_eq!(read(&array, (1..=2, 3)), [10, 17]);
    // Omitted dimensions are read completely.
    assert_eq!(read(&array, (4,)), [28, 29, 30, 31, 32, 33, 34]);
    let step = DimensionSelection::Range { start: 0, stop: 7, step: 3 };
    assert_eq!(read(&array, (0, step)), [0, 3, 6]);
    let error = array.read((1, 2, 3)).unwrap_err().to_string();
    assert_eq!(error, "selection `[1, 2, 3]`: 3 entries for 2 dimensions");
}

#[test]
fn parsed_text_selects_from_arrays_of_any_shape() {
    let array = array();
    let last: Selection = "..., -1".parse().unwrap();
    assert_eq!(read(&array, &last), [6, 13, 20, 27, 34]);
    assert_eq!(last.shape(&[2, 3, 4]).unwrap(), [2, 3]);
    let steps = last.clone().resolve(&[2, 3, 4]).unwrap();
    assert_eq!(steps.to_string(), "[0:2, 0:3, 3]");
}

#[test]
fn selections_work_the_same_for_reads_and_writes() {
    let array = array();
    array.write_values((.., 0), &[50u8, 51, 52, 53, 54]).unwrap();
    array.write([4..5, 5..7], &[60, 61]).unwrap();
    assert_eq!(read(&array, (3.., [0, 5, 6].to_vec())), [53, 26, 27, 54, 60, 61]);
}

#[test]
fn the_subset_of_a_chunk_at_the_edge_can_be_read() {
    let array = array();
    let edge = array.chunk_subset(&[2, 2]).unwrap();
    assert_eq!(edge.ranges(), [4..5, 6..7]);
    assert_eq!(read(&array, edge), [34]);
}
