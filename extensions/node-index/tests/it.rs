//! `node-index`: the key of the list. The engine tests its content.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::creation;
use zarr_extension_node_index::NodeIndex;
use zarr_spec::extension::{Extension, ExtensionPlace};
use zarr_spec::{Format, Mode, Reading, Registry};

const URI: &str = "https://zarr-kit.example/spec/extensions/node-index/1.0";

fn create(configuration: &str, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, String> {
    let registry = Registry::linked().unwrap();
    let plugin = *registry.extensions().find(Format::V3Draft, URI, &Reading::new(Mode::Strict)).unwrap();
    creation(Format::V3Draft, URI, configuration, Mode::Strict, |creation| {
        (plugin.create)(creation, place).map_err(|error| error.to_string())
    })
}

#[test]
fn the_key_is_configured_or_the_default() {
    for (configuration, key) in [
        ("", "node-index"),
        ("{}", "node-index"),
        (r#"{"key": "lists/nodes"}"#, "lists/nodes"),
        (r#"{"key": "metadata"}"#, "metadata"),
    ] {
        let extension = create(configuration, ExtensionPlace::EntryPoint).unwrap();
        assert_eq!(extension.node_index(), Some(key));
        assert_eq!(extension.dimension_names(), None);
        assert_eq!(NodeIndex::new(key).unwrap().node_index(), Some(key));
    }
}

#[test]
fn other_keys_of_the_draft_are_refused() {
    for key in ["", "/", "a/", "../a", "a b", "meta", "meta/root", "data/a", "zarr.json", "zarr"] {
        let error = create(&format!(r#"{{"key": "{key}"}}"#), ExtensionPlace::EntryPoint).unwrap_err();
        assert!(error.contains("`key`"), "{key}: {error}");
    }
    assert!(create(r#"{"keys": "a"}"#, ExtensionPlace::EntryPoint).unwrap_err().contains("`keys`"));
    let error = create("", ExtensionPlace::Array(&[1])).unwrap_err();
    assert!(error.contains("entry point"), "{error}");
}
