//! The `C` layout in the formats that have it.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::creation;
use zarr_layout_c as _;
use zarr_spec::{Codec, CodecError, Format, Mode, Registry};

fn create(format: Format, configuration: &str, rank: usize) -> Result<Codec, CodecError> {
    let registry = Registry::linked().unwrap();
    creation(format, "C", configuration, Mode::Strict, |creation| {
        let plugin = registry.memory_layouts().find(format, "C", creation.reading).unwrap();
        (plugin.create)(creation, rank)
    })
}

#[test]
fn the_order_of_dimensions_does_not_change() {
    for format in [Format::V2, Format::V3Draft] {
        for (rank, expected) in [(0, &[][..]), (1, &[0]), (3, &[0, 1, 2])] {
            let Codec::Permutation(order) = create(format, "", rank).unwrap() else {
                panic!("a layout is a permutation")
            };
            assert_eq!(order, expected);
        }
    }
}

#[test]
fn a_configuration_is_refused() {
    assert!(matches!(create(Format::V3Draft, r#"{"rank":1}"#, 1), Err(CodecError::InvalidConfiguration(_))));
}
