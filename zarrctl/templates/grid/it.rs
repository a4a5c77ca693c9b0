//! `{{name}}` on known shapes.

use zarr_conformance::creation;
use zarr_spec::{Format, Mode, Reading, Registry};
use {{crate}} as _;

#[test]
fn dimensions_with_two_elements_have_two_chunks() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.chunk_grids().find(Format::V3, "{{name}}", &reading).unwrap();
    let make = |shape: &[u64]| {
        let made = creation(Format::V3, "{{name}}", "", Mode::Strict, |it| (plugin.create)(it, shape));
        made.unwrap()
    };
    let grid = make(&[5, 1, 0]);
    assert_eq!(grid.grid_shape(), [2, 1, 0]);
    assert_eq!(grid.chunk_range(0, 0).unwrap(), 0..3);
    assert_eq!(grid.chunk_range(0, 1).unwrap(), 3..5);
    assert_eq!(grid.chunk_of(0, 3).unwrap(), 1);
    assert!(grid.chunk_range(1, 1).is_err());
    assert!(grid.chunk_of(2, 0).is_err());
}
