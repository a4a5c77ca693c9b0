//! Chunks that are stored at larger lengths than they have in the array.

use zarr_grid_rectilinear::{Lengths, RectilinearGrid};
use zarr_spec::grid::{ChunkGrid, GridError, chunk_shape, chunk_subset};
use zarr_spec::{Format, Mode, Registry, Value};

use super::{URI, assert_invalid, creation, lengths, named};

fn encoded(
    chunk_shapes: &str,
    encoded: &str,
    shape: &[u64],
) -> Result<std::sync::Arc<dyn ChunkGrid>, GridError> {
    let configuration =
        format!(r#"{{"kind":"inline","chunk_shapes":{chunk_shapes},"encoded_chunk_shapes":{encoded}}}"#);
    named("rectilinear", Mode::Strict, &configuration, shape)
}

/// Returns the lengths at which all chunks along one dimension are stored.
fn stored(grid: &dyn ChunkGrid, dimension: usize) -> Vec<u64> {
    let lengths = lengths(grid, dimension).into_iter().zip(0..);
    lengths.map(|(length, chunk)| length + grid.padding(dimension, chunk).unwrap()).collect()
}

/// The example of the proposal: two arrays of 550 elements in chunks of 200, one after the other.
///
/// Tests EX-GRID-15, EX-GRID-16.
#[test]
fn two_arrays_with_padded_last_chunks_form_one() {
    let grid = encoded("[[[200,2],150,[200,2],150]]", "[200]", &[1100]).unwrap();
    assert_eq!(lengths(&*grid, 0), [200, 200, 150, 200, 200, 150]);
    assert_eq!(stored(&*grid, 0), [200; 6]);
    let starts: Vec<u64> = (0..6).map(|chunk| grid.chunk_range(0, chunk).unwrap().start).collect();
    assert_eq!(starts, [0, 200, 400, 550, 750, 950]);
    assert_eq!(grid.chunk_of(0, 549).unwrap(), 2);
    assert_eq!(grid.chunk_of(0, 550).unwrap(), 3);
    assert_eq!(grid.largest_chunk(), [200]);
    assert_eq!(grid.chunk_shape(), None);
    assert_eq!(chunk_subset(&*grid, &[2]).unwrap().shape(), [150]);
    assert_eq!(chunk_shape(&*grid, &[2]).unwrap(), [200]);
}

/// Tests EX-GRID-15.
#[test]
fn encoded_lengths_have_the_forms_of_lengths() {
    let shape = [18, 10];
    let grid = encoded("[[[5,2],3,6],4]", "[[5,[8,3]],6]", &shape).unwrap();
    assert_eq!((stored(&*grid, 0), stored(&*grid, 1)), (vec![5, 8, 8, 8], vec![6, 6, 6]));
    assert_eq!(grid.largest_chunk(), [8, 6]);
    // The number of chunks of one length follows from the length of the array.
    assert_eq!(stored(&*encoded("[4]", "[[6,[7,2]]]", &[10]).unwrap(), 0), [6, 7, 7]);
    for (chunks, stored) in [
        ("[[[5,2],3,6],4]", "[[5,[8,3]]]"),
        ("[[[5,2],3,6],4]", "[[5,[8,3]],6,6]"),
        ("[[[5,2],3,6],4]", "[[5,[8,2]],6]"),
        ("[[[5,2],3,6],4]", "[[5,[8,4]],6]"),
        ("[[[5,2],3,6],4]", "[[],6]"),
        ("[[[5,2],3,6],4]", "[[5,[8,3]],[6,6]]"),
        ("[[[5,2],3,6],4]", "[[5,[8,3]],3]"),
        ("[[[5,2],3,6],4]", "[[5,4,8,8],6]"),
        ("[[[5,2],3,6],4]", "[[5,[8,3]],0]"),
        ("[[[5,2],3,6],4]", "[[5,[8,3],[1,0]],6]"),
        ("[[[5,2],3,6],4]", "6"),
        ("[[[5,2],3,6],4]", r#"["5",6]"#),
    ] {
        assert_invalid(encoded(chunks, stored, &shape), stored);
    }
    let error = encoded("[[[5,2],3,6],4]", "[[5,5,2,8],6]", &shape).unwrap_err().to_string();
    assert!(error.contains("dimension 0: chunk 2 has length 3, but its encoded length is 2"), "{error}");
    let error = encoded("[[5,5],4]", "[[6,6],[6,6]]", &[10, 9]).unwrap_err().to_string();
    assert!(error.contains("dimension 1: there are 2 encoded lengths for 3 chunks"), "{error}");
}

/// Chunks after the end of the array have encoded lengths, too.
///
/// Tests EX-GRID-04, EX-GRID-15.
#[test]
fn chunks_after_the_array_count() {
    let grid = encoded("[[4,4,4]]", "[[4,5,9]]", &[6]).unwrap();
    assert_eq!(stored(&*grid, 0), [4, 5]);
    assert_eq!(grid.largest_chunk(), [5]);
    assert_invalid(encoded("[[4,4,4]]", "[[4,5]]", &[6]), "two of three");
    assert_invalid(encoded("[[4,4,4]]", "[[4,5,3]]", &[6]), "a short one after the array");
    let empty = encoded("[[]]", "[[]]", &[0]).unwrap();
    assert_eq!(empty.grid_shape(), [0]);
    assert!(matches!(empty.padding(0, 0), Err(GridError::OutOfBounds(_))));
    assert_eq!(encoded("[3]", "[7]", &[0]).unwrap().largest_chunk(), [7]);
    assert_eq!(encoded("[3]", "[[]]", &[0]).unwrap().grid_shape(), [0]);
    assert_invalid(encoded("[3]", "[[7]]", &[0]), "one encoded length for no chunk");
}

/// Tests EX-GRID-15.
#[test]
fn equal_lengths_are_those_of_a_grid_without_padding() {
    let plain = named("rectilinear", Mode::Strict, r#"{"kind":"inline","chunk_shapes":[4]}"#, &[6]).unwrap();
    let same = encoded("[4]", "[4]", &[6]).unwrap();
    assert_eq!(same.chunk_shape(), plain.chunk_shape());
    assert_eq!(stored(&*same, 0), lengths(&*plain, 0));
    assert_eq!(encoded("[4]", "[[4,4]]", &[6]).unwrap().chunk_shape(), Some(&[4][..]));
}

/// Tests EX-GRID-17.
#[test]
fn the_draft_does_not_have_encoded_lengths() {
    let registry = Registry::linked().unwrap();
    let configuration = r#"{"kind":"inline","chunk_shapes":[3],"encoded_chunk_shapes":[4]}"#;
    let created = creation(Format::V3Draft, URI, configuration, Mode::Lenient, |creation| {
        let plugin = registry.chunk_grids().find(Format::V3Draft, URI, creation.reading).unwrap();
        (plugin.create)(&creation.with_type_name(Some(&Value::from("rectilinear"))), &[3])
    });
    assert_invalid(created, "in the draft");
    let older = r#"{"chunk_shape":[3],"encoded_chunk_shapes":[4]}"#;
    assert_invalid(named("rectangular", Mode::Lenient, older, &[3]), "in the older form");
}

#[test]
fn large_numbers_neither_overflow_nor_exhaust_memory() {
    let many = Lengths::Listed(vec![(3, u64::MAX / 4), (u64::MAX, u64::MAX)]);
    let stored = Lengths::Listed(vec![(5, u64::MAX / 4 - 1), (u64::MAX, u64::MAX), (u64::MAX, 1)]);
    let grid = RectilinearGrid::with_encoded(&[u64::MAX], &[many], &[stored]).unwrap();
    let last = u64::MAX / 4;
    assert_eq!(grid.grid_shape(), [last + 1]);
    assert_eq!(grid.padding(0, last - 2).unwrap(), 2);
    assert_eq!(grid.padding(0, last - 1).unwrap(), u64::MAX - 3);
    assert_eq!(grid.padding(0, last).unwrap(), 0);
    assert!(grid.padding(0, last + 1).is_err());
    assert!(grid.padding(1, 0).is_err());
    assert_eq!(grid.largest_chunk(), [u64::MAX]);
}
