//! The grid with an origin: its specification, and a naive reference.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::HashSet;
use std::sync::Arc;

use zarr_conformance::creation;
use zarr_grid_origin::OriginGrid;
use zarr_spec::grid::{ChunkGrid, GridError, chunk_of_key, chunk_shape, chunk_subset, key_indices};
use zarr_spec::{Format, Mode, Registry, Value};

const URI: &str = "https://zarr-kit.example/spec/grids/origin/1.0";

fn create(
    format: Format,
    type_name: Option<&Value>,
    configuration: &str,
    shape: &[u64],
) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let registry = Registry::linked().unwrap();
    creation(format, URI, configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_grids().find(format, URI, creation.reading).unwrap();
        (plugin.create)(&creation.with_type_name(type_name), shape)
    })
}

#[test]
fn the_example_of_the_specification_is_divided_as_printed() {
    let origin = Value::from("origin");
    for (format, type_name) in [(Format::V3, None), (Format::V3Draft, Some(&origin))] {
        let grid = create(format, type_name, r#"{"chunk_shape":[4,10],"origin":[-6,3]}"#, &[9, 10]).unwrap();
        assert_eq!(grid.grid_shape(), [3, 2]);
        assert_eq!(chunk_subset(&*grid, &[0, 0]).unwrap().ranges(), [0..2, 0..7]);
        assert_eq!(chunk_subset(&*grid, &[1, 1]).unwrap().ranges(), [2..6, 7..17]);
        assert_eq!((grid.before_array(0, 0), grid.before_array(1, 0), grid.before_array(0, 1)), (2, 3, 0));
        for index in [[0, 0], [1, 0], [2, 1]] {
            assert_eq!(chunk_shape(&*grid, &index).unwrap(), [4, 10]);
        }
        // The chunks are −2, −1, 0 along the first dimension and 0, 1 along the second.
        assert_eq!(key_indices(&*grid, &[0, 0]).unwrap(), [3, 0]);
        assert_eq!(key_indices(&*grid, &[1, 1]).unwrap(), [1, 2]);
        assert_eq!(key_indices(&*grid, &[2, 1]).unwrap(), [0, 2]);
        assert_eq!(chunk_of_key(&*grid, &[1, 2]).unwrap(), Some(vec![1, 1]));
        assert_eq!(chunk_of_key(&*grid, &[2, 0]).unwrap(), None);
        assert_eq!(chunk_of_key(&*grid, &[5, 0]).unwrap(), None);
    }
}

/// Tests all origins, lengths and chunk lengths up to a limit.
#[test]
fn each_element_lies_in_exactly_one_chunk_and_keys_are_unique() {
    for origin in -9..=9i64 {
        for length in 0..=9u64 {
            for chunk_length in 1..=6u64 {
                let grid = OriginGrid::new(&[length], &[chunk_length], &[origin]).unwrap();
                let mut keys = HashSet::new();
                let mut next = 0;
                for chunk in 0..grid.grid_shape()[0] {
                    let range = grid.chunk_range(0, chunk).unwrap();
                    assert_eq!(range.start, next);
                    assert!(range.start < length, "a chunk holds elements");
                    assert_eq!(chunk_shape(&grid, &[chunk]).unwrap(), [chunk_length]);
                    let key = grid.key_index(0, chunk).unwrap();
                    assert!(keys.insert(key));
                    assert_eq!(grid.chunk_of_key(0, key).unwrap(), Some(chunk));
                    for element in range.start..range.end.min(length) {
                        assert_eq!(grid.chunk_of(0, element).unwrap(), chunk);
                        // The reference divides coordinates starting at 0.
                        let coordinate = origin.checked_add_unsigned(element).unwrap();
                        let number = coordinate.div_euclid(chunk_length.cast_signed());
                        let wanted = if number < 0 { -2 * number - 1 } else { 2 * number };
                        assert_eq!(key, wanted.cast_unsigned());
                    }
                    next = range.end;
                }
                assert!(next >= length);
                assert_eq!((0..200).filter_map(|key| grid.chunk_of_key(0, key).unwrap()).count(), keys.len());
                assert!(grid.chunk_of(0, length).is_err());
                assert!(grid.chunk_range(0, grid.grid_shape()[0]).is_err());
            }
        }
    }
}

#[test]
fn an_array_with_another_start_has_the_same_chunks() {
    let grid = OriginGrid::new(&[9], &[4], &[-6]).unwrap();
    assert_eq!(grid.moved(&[-5]).unwrap().unwrap().to_string(), r#"{"chunk_shape":[4],"origin":[-11]}"#);
    assert_eq!(grid.moved(&[0, 0]).unwrap(), None);
    assert_eq!(OriginGrid::new(&[1], &[4], &[-6]).unwrap().moved(&[i64::MIN]).unwrap(), None);
    for start in -9..=8i64 {
        let moved = OriginGrid::new(&[(9 - start).cast_unsigned()], &[4], &[-6 + start]).unwrap();
        for element in start.max(0).cast_unsigned()..9 {
            let there = element.checked_add_signed(-start).unwrap();
            let keys = [(&grid, element), (&moved, there)]
                .map(|(grid, element)| grid.key_index(0, grid.chunk_of(0, element).unwrap()).unwrap());
            assert_eq!(keys[0], keys[1], "{element} from {start}");
        }
    }
}

#[test]
fn coordinates_that_do_not_fit_are_refused() {
    for wrong in [
        "",
        r#"{"chunk_shape":[4]}"#,
        r#"{"origin":[0]}"#,
        r#"{"chunk_shape":[4],"origin":[0,0]}"#,
        r#"{"chunk_shape":[4,4],"origin":[0]}"#,
        r#"{"chunk_shape":[0],"origin":[0]}"#,
        r#"{"chunk_shape":[-4],"origin":[0]}"#,
        r#"{"chunk_shape":[4],"origin":[0.5]}"#,
        r#"{"chunk_shape":[4],"origin":[9223372036854775808]}"#,
        r#"{"chunk_shape":[4],"origin":[9223372036854775800]}"#,
        r#"{"chunk_shape":[18446744073709551615],"origin":[0]}"#,
        r#"{"chunk_shape":[4],"origin":[0],"step":[1]}"#,
    ] {
        let result = create(Format::V3, None, wrong, &[9]);
        assert!(matches!(result, Err(GridError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    let right = r#"{"chunk_shape":[4],"origin":[0]}"#;
    for type_name in [None, Some(Value::from("regular")), Some(Value::from(0))] {
        let result = create(Format::V3Draft, type_name.as_ref(), right, &[9]);
        assert!(matches!(result, Err(GridError::InvalidConfiguration(_))), "{type_name:?}");
    }
    assert!(OriginGrid::new(&[u64::MAX], &[1], &[i64::MIN + 1]).is_err());
    assert!(OriginGrid::new(&[u64::MAX - 1], &[5], &[i64::MIN]).is_err());
    let widest = OriginGrid::new(&[u64::MAX], &[1], &[i64::MIN]).unwrap();
    let last = u64::MAX - 1;
    assert_eq!(widest.chunk_of(0, last).unwrap(), last);
    assert_eq!(widest.key_index(0, 0).unwrap(), u64::MAX);
    assert_eq!(widest.chunk_of_key(0, widest.key_index(0, last).unwrap()).unwrap(), Some(last));
}
