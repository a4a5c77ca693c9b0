//! `{{name}}` for several numbers of dimensions.

use zarr_conformance::creation;
use zarr_spec::{Codec, Format, Mode, Reading, Registry};
use {{crate}} as _;

#[test]
fn the_first_dimension_becomes_the_last() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.memory_layouts().find(Format::V3Draft, "{{uri}}", &reading).unwrap();
    for (rank, expected) in [(3, vec![1, 2, 0]), (1, vec![0]), (0, vec![])] {
        let made = creation(Format::V3Draft, "{{uri}}", "", Mode::Strict, |it| (plugin.create)(it, rank));
        let Codec::Permutation(order) = made.unwrap() else { panic!("expected a permutation") };
        assert_eq!(order, expected);
    }
}
