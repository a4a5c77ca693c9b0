//! The regular grid: the examples of the specifications, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_grid_regular::RegularGrid;
use zarr_spec::grid::{ChunkGrid, GridError, chunk_subset};
use zarr_spec::{Format, Mode, Registry};

/// Creates the grid of a document of `format`.
fn create(format: Format, configuration: &str, array_shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let registry = Registry::linked().unwrap();
    creation(format, "regular", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_grids().find(format, "regular", creation.reading).unwrap();
        (plugin.create)(creation, array_shape)
    })
}

fn assert_invalid(format: Format, configuration: &str, array_shape: &[u64]) {
    match create(format, configuration, array_shape) {
        Err(GridError::InvalidConfiguration(_)) => {}
        other => panic!("{format}: {configuration} for {array_shape:?}: {other:?}"),
    }
}

/// Tests D3-GRID-07, D3-GRID-08, D3-GRID-09, V3-GRID-03.
#[test]
fn the_example_of_the_specification_is_divided_as_printed() {
    for format in [Format::V3, Format::V3Draft] {
        let grid = create(format, r#"{"chunk_shape":[5,20,400]}"#, &[10, 200, 3000]).unwrap();
        assert_eq!(grid.grid_shape(), [2, 10, 8]);
        assert_eq!(grid.chunk_shape(), Some(&[5, 20, 400][..]));
        let subset = chunk_subset(&*grid, &[1, 7, 2]).unwrap();
        assert_eq!(subset.ranges(), [5..10, 140..160, 800..1200]);
        let element = [7, 150, 900];
        let chunk: Vec<u64> =
            element.iter().enumerate().map(|(d, &element)| grid.chunk_of(d, element).unwrap()).collect();
        assert_eq!(chunk, [1, 7, 2]);
        let inside: Vec<u64> =
            element.iter().zip(subset.start()).map(|(element, start)| element - start).collect();
        assert_eq!(inside, [2, 10, 100]);
        let zero = chunk_subset(&*grid, &[0, 0, 0]).unwrap();
        assert_eq!(zero.start(), [0, 0, 0]);
    }
    let empty = RegularGrid::new(&[0], &[3]).unwrap();
    assert_eq!(empty.grid_shape(), [0]);
    let rank_0 = RegularGrid::new(&[], &[]).unwrap();
    assert_eq!(rank_0.grid_shape(), [0; 0]);
    assert_eq!(chunk_subset(&rank_0, &[]).unwrap().element_count(), Some(1));
}

/// Tests V2-CHUNK-01, V2-CHUNK-03.
#[test]
fn chunks_of_v2_are_divided_as_printed() {
    let grid = create(Format::V2, r#"{"chunk_shape":[1000,1000]}"#, &[10000, 10000]).unwrap();
    assert_eq!(grid.grid_shape(), [10, 10]);
    assert_eq!(chunk_subset(&*grid, &[2, 4]).unwrap().ranges(), [2000..3000, 4000..5000]);
    assert_eq!((grid.chunk_of(0, 2999).unwrap(), grid.chunk_of(1, 4999).unwrap()), (2, 4));
    assert_eq!(grid.chunk_of(0, 3000).unwrap(), 3);
    assert_eq!(create(Format::V2, r#"{"chunk_shape":[2]}"#, &[3]).unwrap().grid_shape(), [2]);
    assert_eq!(create(Format::V2, r#"{"chunk_shape":[2,2]}"#, &[0, 3]).unwrap().grid_shape(), [0, 2]);
}

/// Tests all shapes of two dimensions up to five elements, with chunks up to six.
///
/// Tests D3-GRID-01.
#[test]
fn each_element_lies_in_exactly_one_chunk() {
    let lengths = || (0..=5u64).flat_map(|first| (0..=5u64).map(move |second| [first, second]));
    for shape in lengths() {
        for chunk_shape in lengths().map(|[first, second]| [first + 1, second + 1]) {
            let grid = RegularGrid::new(&shape, &chunk_shape).unwrap();
            let mut times = [[0; 5]; 5];
            let [rows, columns] = *grid.grid_shape() else { panic!("two dimensions") };
            for index in (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column])) {
                let subset = chunk_subset(&grid, &index).unwrap();
                assert_eq!(subset.shape(), chunk_shape);
                for row in subset.ranges()[0].clone().filter(|&row| row < shape[0]) {
                    for column in subset.ranges()[1].clone().filter(|&column| column < shape[1]) {
                        times[usize::try_from(row).unwrap()][usize::try_from(column).unwrap()] += 1;
                        let of = [grid.chunk_of(0, row).unwrap(), grid.chunk_of(1, column).unwrap()];
                        assert_eq!(of, index);
                    }
                }
            }
            for (row, times) in (0..).zip(times) {
                for (column, times) in (0..).zip(times) {
                    let inside = row < shape[0] && column < shape[1];
                    assert_eq!(times, u32::from(inside), "{shape:?} in {chunk_shape:?}: {row}, {column}");
                }
            }
        }
    }
}

/// Tests D3-SHAPE-05, D3-SHAPE-06.
#[test]
fn the_draft_allows_a_chunk_length_of_zero_without_elements() {
    let grid = create(Format::V3Draft, r#"{"chunk_shape":[0]}"#, &[0]).unwrap();
    assert_eq!(grid.grid_shape(), [0]);
    assert!(matches!(grid.chunk_range(0, 0), Err(GridError::OutOfBounds(_))));
    assert!(matches!(grid.chunk_of(0, 0), Err(GridError::OutOfBounds(_))));
    assert_eq!(create(Format::V3Draft, r#"{"chunk_shape":[2]}"#, &[4]).unwrap().grid_shape(), [2]);
    assert_eq!(create(Format::V3Draft, r#"{"chunk_shape":[1]}"#, &[0]).unwrap().grid_shape(), [0]);
    assert_invalid(Format::V3Draft, r#"{"chunk_shape":[0]}"#, &[4]);
}

/// Tests V3-GRID-01, V3-GRID-02.
#[test]
fn a_chunk_shape_is_one_positive_integer_per_dimension() {
    for (chunk_shape, array_shape) in [("[2]", &[4][..]), ("[10]", &[4]), ("[]", &[]), ("[1]", &[0])] {
        let configuration = format!(r#"{{"chunk_shape":{chunk_shape}}}"#);
        create(Format::V3, &configuration, array_shape).unwrap();
    }
    for format in [Format::V3, Format::V2] {
        for chunk_shape in ["[0]", "[-1]", "[2,2]", "[1.5]", "[\"2\"]", "2", "null", "[18446744073709551616]"]
        {
            assert_invalid(format, &format!(r#"{{"chunk_shape":{chunk_shape}}}"#), &[4]);
        }
        assert_invalid(format, r#"{"chunk_shape":[0]}"#, &[0]);
        assert_invalid(format, "", &[4]);
    }
    assert_invalid(Format::V3, r#"{"chunk_shape":[2],"offset":[1]}"#, &[4]);
}

#[test]
fn indices_outside_of_the_grid_are_refused_and_nothing_overflows() {
    let grid = RegularGrid::new(&[u64::MAX], &[u64::MAX - 1]).unwrap();
    assert_eq!(grid.grid_shape(), [2]);
    assert_eq!(grid.chunk_of(0, u64::MAX - 1).unwrap(), 1);
    assert_eq!(grid.chunk_range(0, 0).unwrap(), 0..u64::MAX - 1);
    assert!(matches!(grid.chunk_range(0, 1), Err(GridError::OutOfBounds(_))));
    assert!(matches!(grid.chunk_range(0, 2), Err(GridError::OutOfBounds(_))));
    assert!(matches!(grid.chunk_range(1, 0), Err(GridError::OutOfBounds(_))));
    assert!(matches!(grid.chunk_of(1, 0), Err(GridError::OutOfBounds(_))));
    assert!(matches!(chunk_subset(&grid, &[0, 0]), Err(GridError::OutOfBounds(_))));
}
