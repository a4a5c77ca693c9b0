//! The `F` layout in the formats that have it.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::creation;
use zarr_layout_f as _;
use zarr_spec::{Codec, CodecError, Format, Mode, Registry};

fn create(format: Format, configuration: &str, rank: usize) -> Result<Codec, CodecError> {
    let registry = Registry::linked().unwrap();
    creation(format, "F", configuration, Mode::Strict, |creation| {
        let plugin = registry.memory_layouts().find(format, "F", creation.reading).unwrap();
        (plugin.create)(creation, rank)
    })
}

#[test]
fn dimensions_are_reversed() {
    for format in [Format::V2, Format::V3Draft] {
        for (rank, expected) in [(0, &[][..]), (1, &[0]), (3, &[2, 1, 0])] {
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
