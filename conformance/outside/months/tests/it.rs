//! `outside.months` with known years and with invalid input.

use std::sync::Arc;

use outside_months as _;
use zarr_conformance::creation;
use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::{Format, Mode, Registry};

fn grid(configuration: &str, shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let registry = Registry::linked().unwrap();
    creation(Format::V3, "outside.months", configuration, Mode::Strict, |creation| {
        let plugin = registry.chunk_grids().find(Format::V3, "outside.months", creation.reading).unwrap();
        (plugin.create)(creation, shape)
    })
}

#[test]
fn february_is_longer_in_leap_years() {
    for (year, days) in [(1900, 28), (2000, 29), (2023, 28), (2024, 29)] {
        let configuration = format!(r#"{{"first_month": "{year}-01", "chunk_shape": [100]}}"#);
        let grid = grid(&configuration, &[60, 250]).unwrap();
        assert_eq!(grid.grid_shape(), [if days == 28 { 3 } else { 2 }, 3]);
        assert_eq!(grid.chunk_range(0, 1).unwrap(), 31..31 + days, "{year}");
        assert_eq!(grid.chunk_of(0, 31 + days - 1).unwrap(), 1);
        assert_eq!(grid.chunk_range(1, 2).unwrap(), 200..300);
    }
}

#[test]
fn a_year_may_begin_in_any_month() {
    let grid = grid(r#"{"first_month": "2023-11", "chunk_shape": []}"#, &[122]).unwrap();
    let months: Vec<_> = (0..4).map(|month| grid.chunk_range(0, month).unwrap()).collect();
    assert_eq!(months, [0..30, 30..61, 61..92, 92..121]);
    assert_eq!(grid.grid_shape(), [5]);
}

#[test]
fn refuses_invalid_months_and_shapes() {
    for (configuration, shape) in [
        (r#"{"first_month": "2024-13", "chunk_shape": []}"#, &[1][..]),
        (r#"{"first_month": "24-01", "chunk_shape": []}"#, &[1]),
        (r#"{"first_month": "2024-+1", "chunk_shape": []}"#, &[1]),
        (r#"{"first_month": 2024, "chunk_shape": []}"#, &[1]),
        (r#"{"first_month": "2024-01", "chunk_shape": [1]}"#, &[1]),
        (r#"{"first_month": "2024-01", "chunk_shape": [0]}"#, &[1, 1]),
        (r#"{"first_month": "2024-01", "chunk_shape": []}"#, &[]),
    ] {
        let refused = grid(configuration, shape);
        assert!(matches!(refused, Err(GridError::InvalidConfiguration(_))), "{configuration}: {refused:?}");
    }
}
