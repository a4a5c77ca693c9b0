//! `{{name}}` on known shapes.

use zarr_conformance::creation;
use zarr_spec::extension::ExtensionPlace;
use zarr_spec::{Format, Mode, Reading, Registry};
use {{crate}} as _;

#[test]
fn dimensions_are_named_with_letters() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.extensions().find(Format::V3Draft, "{{uri}}", &reading).unwrap();
    let make = |place| {
        creation(Format::V3Draft, "{{uri}}", "", Mode::Strict, |it| (plugin.create)(it, place))
    };
    let letters = make(ExtensionPlace::Array(&[4, 6])).unwrap();
    let names = letters.dimension_names().unwrap();
    assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
    assert!(make(ExtensionPlace::Array(&[1; 27])).is_err());
    assert!(make(ExtensionPlace::EntryPoint).is_err());
}
