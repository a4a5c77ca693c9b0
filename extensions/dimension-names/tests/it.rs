//! `dimension-names`: valid and invalid names.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_extension_dimension_names::DimensionNames;
use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::{Format, Mode, Reading, Registry};

const URI: &str = "https://zarr-kit.example/spec/extensions/dimension-names/1.0";

fn create(configuration: &str, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, String> {
    let registry = Registry::linked().unwrap();
    let plugin = *registry.extensions().find(Format::V3Draft, URI, &Reading::new(Mode::Strict)).unwrap();
    creation(Format::V3Draft, URI, configuration, Mode::Strict, |creation| {
        (plugin.create)(creation, place).map_err(|error| error.to_string())
    })
}

#[test]
fn every_dimension_has_an_optional_name() {
    let place = ExtensionPlace::Array(&[2, 3, 4]);
    let extension = create(r#"{"names": ["time", null, "time"]}"#, place).unwrap();
    let names = [Some("time".to_owned()), None, Some("time".to_owned())];
    assert_eq!(extension.dimension_names().unwrap(), names);
    assert_eq!(extension.node_index(), None);
    assert_eq!(
        create(r#"{"names": []}"#, ExtensionPlace::Array(&[])).unwrap().dimension_names(),
        Some(&[][..])
    );
    assert_eq!(DimensionNames::new(names.to_vec(), 3).unwrap().dimension_names().unwrap(), names);
}

#[test]
fn invalid_names_and_places_are_refused() {
    let place = ExtensionPlace::Array(&[2, 3]);
    for (configuration, reason) in [
        (r#"{"names": ["x"]}"#, "1 entry, but the array has 2"),
        (r#"{"names": ["x", 1]}"#, "1"),
        (r#"{"names": ["x", "y"], "units": []}"#, "`units`"),
        ("{}", "names"),
        ("", "names"),
    ] {
        let error = create(configuration, place).unwrap_err();
        assert!(error.contains(reason), "{configuration}: {error}");
    }
    let error = create(r#"{"names": ["x"]}"#, ExtensionPlace::EntryPoint).unwrap_err();
    assert!(error.contains("belong to an array"), "{error}");
}
