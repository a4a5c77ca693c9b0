//! Two crates of one program with plugins that have the same identifiers.

use zarr_spec::codec::CodecPlugin;
use zarr_spec::{Codec, CodecError, Creation, Identifiers, Origin, Registry, Representation};

const FIRST: Origin = Origin::new("first", "1.0.0");
const SECOND: Origin = Origin::new("second", "1.0.0");

const NAME: Identifiers = Identifiers::name("example.twice");
const NAME_AND_ID: Identifiers =
    Identifiers::name("example.other").with_id("example.id").with_aliases(&["example.twice"]);

zarr_spec::inventory::submit! { CodecPlugin::new(NAME, &create).from(FIRST) }
zarr_spec::inventory::submit! { CodecPlugin::new(NAME_AND_ID, &create).from(SECOND) }

fn create(_creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::Permutation(vec![0]))
}

fn packages(registry: &Registry) -> Vec<&'static str> {
    registry.codecs().iter().map(|plugin| plugin.origin.package).collect()
}

#[test]
fn a_program_chooses_between_plugins_with_one_identifier() {
    let duplicate = Registry::linked().unwrap_err();
    assert_eq!(duplicate.identifier, "example.twice");
    for (preferred, package) in [(FIRST, "first"), (SECOND, "second")] {
        let registry = Registry::linked_with(|_| preferred).unwrap();
        assert_eq!(packages(&registry), [package]);
    }
}

#[test]
fn choosing_neither_plugin_returns_the_error() {
    let error = Registry::linked_with(|_| Origin::UNKNOWN).unwrap_err();
    assert_eq!(error, Registry::linked().unwrap_err());
}
