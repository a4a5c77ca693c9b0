//! The rectilinear grid: the examples of its specification, and a naive reference.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

#[cfg(feature = "encoded-chunk-shapes")]
#[path = "it/encoded.rs"]
mod encoded;

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_grid_rectilinear::{Lengths, RectilinearGrid};
use zarr_spec::grid::{ChunkGrid, GridError, chunk_subset};
use zarr_spec::{Format, Mode, Registry, Value};

const URI: &str = "https://zarr-kit.example/spec/grids/rectilinear/1.0";

/// Creates the grid of a document of v3.
fn named(
    name: &str,
    mode: Mode,
    configuration: &str,
    shape: &[u64],
) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3, name, configuration, mode, |creation| {
        let plugin = registry.chunk_grids().find(Format::V3, name, creation.reading).unwrap();
        (plugin.create)(creation, shape)
    })
}

fn inline(chunk_shapes: &str, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let configuration = format!(r#"{{"kind":"inline","chunk_shapes":{chunk_shapes}}}"#);
    named("rectilinear", Mode::Strict, &configuration, shape)
}

fn assert_invalid(result: Result<Arc<dyn ChunkGrid>, GridError>, what: &str) {
    assert!(matches!(result, Err(GridError::InvalidConfiguration(_))), "{what}: {result:?}");
}

/// Returns the lengths of all chunks along one dimension.
fn lengths(grid: &dyn ChunkGrid, dimension: usize) -> Vec<u64> {
    let range = |chunk| grid.chunk_range(dimension, chunk).unwrap();
    (0..grid.grid_shape()[dimension]).map(|chunk| range(chunk).end - range(chunk).start).collect()
}

/// Tests EX-GRID-01.
#[test]
fn there_is_one_entry_for_each_dimension() {
    let grid = inline("[4,[1,2,3]]", &[7, 6]).unwrap();
    assert_eq!(grid.grid_shape(), [2, 3]);
    assert_eq!((lengths(&*grid, 0), lengths(&*grid, 1)), (vec![4, 4], vec![1, 2, 3]));
    assert_eq!(grid.largest_chunk(), [4, 3]);
    assert_eq!(grid.chunk_shape(), None);
    assert_eq!(inline("[]", &[]).unwrap().grid_shape(), [0; 0]);
    for configuration in [
        r#"{"kind":"external","chunk_shapes":[4,[1,2,3]]}"#,
        r#"{"kind":1,"chunk_shapes":[4,[1,2,3]]}"#,
        r#"{"chunk_shapes":[4,[1,2,3]]}"#,
        r#"{"kind":"inline"}"#,
        r#"{"kind":"inline","chunk_shapes":4}"#,
        r#"{"kind":"inline","chunk_shapes":[4,[1,2,3]],"more":1}"#,
        "",
    ] {
        assert_invalid(named("rectilinear", Mode::Strict, configuration, &[7, 6]), configuration);
    }
    for count in ["[4]", "[4,[1,2,3],4]", "[]"] {
        assert_invalid(inline(count, &[7, 6]), count);
    }
}

/// Tests EX-GRID-02, EX-GRID-06.
#[test]
fn one_length_is_repeated_and_the_last_chunk_keeps_it() {
    assert_eq!(lengths(&*inline("[3]", &[10]).unwrap(), 0), [3, 3, 3, 3]);
    let grid = inline("[4]", &[6]).unwrap();
    assert_eq!(lengths(&*grid, 0), [4, 4]);
    assert_eq!(grid.chunk_shape(), Some(&[4][..]));
    for wrong in ["[0]", "[-1]", "[1.5]", "[\"4\"]", "[null]", "[true]", "[{}]"] {
        assert_invalid(inline(wrong, &[6]), wrong);
    }
}

/// Tests EX-GRID-03.
#[test]
fn lengths_may_be_repeated_in_lists() {
    assert_eq!(lengths(&*inline("[[[4,2]]]", &[8]).unwrap(), 0), [4, 4]);
    assert_eq!(lengths(&*inline("[[[1,3],3]]", &[6]).unwrap(), 0), [1, 1, 1, 3]);
    for wrong in
        ["[[[4]]]", "[[[4,0]]]", "[[[0,4]]]", "[[[1,2,3]]]", "[[4,0]]", "[[[[4,1],2]]]", "[[[4,1.5]]]"]
    {
        assert_invalid(inline(wrong, &[4]), wrong);
    }
}

/// Tests EX-GRID-04.
#[test]
fn lengths_reach_the_end_of_the_array_and_may_continue() {
    let grid = inline("[[4,4,4]]", &[6]).unwrap();
    assert_eq!(lengths(&*grid, 0), [4, 4], "a chunk without elements is not part of the grid");
    assert_eq!(inline("[[4,4,9]]", &[6]).unwrap().largest_chunk(), [4]);
    assert_invalid(inline("[[2,3]]", &[6]), "five elements for six");
    assert_invalid(inline("[[]]", &[6]), "none for six");
}

/// Tests EX-GRID-05, EX-GRID-08.
#[test]
fn an_element_is_in_the_first_chunk_that_ends_after_it() {
    let grid = inline("[[16,10],[24,14]]", &[26, 38]).unwrap();
    let index = [grid.chunk_of(0, 20).unwrap(), grid.chunk_of(1, 15).unwrap()];
    assert_eq!(index, [1, 0]);
    let subset = chunk_subset(&*grid, &index).unwrap();
    assert_eq!([20 - subset.start()[0], 15 - subset.start()[1]], [4, 15]);
    assert_eq!(chunk_subset(&*grid, &[0, 1]).unwrap().shape(), [16, 14]);
}

/// Tests EX-GRID-07.
#[test]
fn a_dimension_without_elements_may_have_any_list() {
    for list in ["[[]]", "[[1]]", "[5]", "[[7,[2,3]]]"] {
        let grid = inline(list, &[0]).unwrap();
        assert_eq!(grid.grid_shape(), [0], "{list}");
        assert!(matches!(grid.chunk_range(0, 0), Err(GridError::OutOfBounds(_))));
        assert!(matches!(grid.chunk_of(0, 0), Err(GridError::OutOfBounds(_))));
        assert!(grid.largest_chunk()[0] > 0);
    }
}

#[cfg(not(feature = "encoded-chunk-shapes"))]
#[test]
fn a_build_without_the_proposal_names_the_feature() {
    let configuration = r#"{"kind":"inline","chunk_shapes":[4],"encoded_chunk_shapes":[4]}"#;
    let error = named("rectilinear", Mode::Lenient, configuration, &[7]).unwrap_err().to_string();
    assert!(error.contains("`encoded_chunk_shapes`") && error.contains("feature `proposals`"), "{error}");
}

#[test]
fn the_older_form_is_read_with_a_warning() {
    let configuration = r#"{"chunk_shape":[[5,5,5,15,15,20,35],10]}"#;
    let grid = named("rectangular", Mode::Lenient, configuration, &[100, 25]).unwrap();
    assert_eq!(lengths(&*grid, 0), [5, 5, 5, 15, 15, 20, 35]);
    assert_eq!(lengths(&*grid, 1), [10, 10, 10]);
    assert_invalid(named("rectangular", Mode::Strict, configuration, &[100, 25]), "read strictly");
    for wrong in [
        r#"{"chunk_shape":[[[5,20]],10]}"#,
        r#"{"chunk_shapes":[[100],10]}"#,
        r#"{"kind":"inline","chunk_shape":[[100],10]}"#,
    ] {
        assert_invalid(named("rectangular", Mode::Lenient, wrong, &[100, 25]), wrong);
    }
}

#[test]
fn the_draft_has_an_extension_of_one_type() {
    let registry = Registry::linked().unwrap();
    let configuration = r#"{"kind":"inline","chunk_shapes":[[1,2]]}"#;
    let create = |type_name: Option<&Value>| {
        creation(Format::V3Draft, URI, configuration, Mode::Strict, |creation| {
            let plugin = registry.chunk_grids().find(Format::V3Draft, URI, creation.reading).unwrap();
            (plugin.create)(&creation.with_type_name(type_name), &[3])
        })
    };
    assert_eq!(create(Some(&Value::from("rectilinear"))).unwrap().grid_shape(), [2]);
    for wrong in [None, Some(&Value::from("regular")), Some(&Value::from(1))] {
        assert_invalid(create(wrong), "type");
    }
}

/// Tests every division of up to six elements, with and without additional chunks.
#[test]
fn each_element_lies_in_exactly_one_chunk() {
    for cuts in 0..64u32 {
        let mut all = vec![1];
        for cut in 0..6 {
            match cuts >> cut & 1 {
                0 => *all.last_mut().unwrap() += 1,
                _ => all.push(1u64),
            }
        }
        let end: u64 = all.iter().sum();
        for length in 0..=end {
            let listed = Lengths::Listed(all.iter().map(|&length| (length, 1)).collect());
            let grid = RectilinearGrid::new(&[length], &[listed]).unwrap();
            let mut next = 0;
            for chunk in 0..grid.grid_shape()[0] {
                let range = grid.chunk_range(0, chunk).unwrap();
                assert_eq!(range.start, next);
                assert_eq!(range.end - range.start, all[usize::try_from(chunk).unwrap()]);
                assert!(range.start < length, "a chunk holds elements");
                for element in range.start..range.end.min(length) {
                    assert_eq!(grid.chunk_of(0, element).unwrap(), chunk);
                }
                next = range.end;
            }
            assert!(next >= length, "{all:?} for {length}");
            assert!(grid.chunk_of(0, length).is_err());
            assert!(grid.chunk_range(0, grid.grid_shape()[0]).is_err());
        }
    }
}

#[test]
fn large_numbers_neither_overflow_nor_exhaust_memory() {
    let repeated = Lengths::Listed(vec![(3, u64::MAX / 4), (u64::MAX, u64::MAX), (5, 7)]);
    let grid = RectilinearGrid::new(&[u64::MAX], std::slice::from_ref(&repeated)).unwrap();
    let last = u64::MAX / 4;
    assert_eq!(grid.grid_shape(), [last + 1]);
    assert_eq!(grid.chunk_of(0, u64::MAX - 1).unwrap(), last);
    assert_eq!(grid.chunk_range(0, last - 1).unwrap().end, last * 3);
    assert!(matches!(grid.chunk_range(0, last), Err(GridError::OutOfBounds(_))));
    let every = RectilinearGrid::new(&[u64::MAX], &[Lengths::Every(2)]).unwrap();
    assert_eq!(every.grid_shape(), [1 << 63]);
    assert!(matches!(every.chunk_range(0, (1 << 63) - 1), Err(GridError::OutOfBounds(_))));
    assert!(RectilinearGrid::new(&[1], &[Lengths::Every(0)]).is_err());
    assert!(RectilinearGrid::new(&[1], &[Lengths::Listed(vec![(1, 0)])]).is_err());
    assert!(RectilinearGrid::new(&[1], &[repeated.clone(), repeated]).is_err());
}
