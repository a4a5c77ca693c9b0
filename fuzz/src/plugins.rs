//! Plugins, with the targets of the conformance suite, and the files that describe loaded plugins.

use std::io;
use std::sync::LazyLock;

use zarr_conformance::fuzz::{Aspect, Targets};
use zarr_kit::Registry;
use zarr_kit::loaded::{Lock, Manifest};

/// Defines the functions of a fuzz target that tests one aspect of all plugins. The plugins are created at the first
/// use.
macro_rules! aspect {
    ($aspect:ident, $targets:ident, $run:ident, $seeds:ident) => {
        static $targets: LazyLock<Targets> = LazyLock::new(|| targets(Aspect::$aspect));

        pub(crate) fn $run(input: &[u8]) {
            $targets.run(input);
        }

        pub(crate) fn $seeds() -> io::Result<Vec<Vec<u8>>> {
            Ok($targets.seeds())
        }
    };
}

aspect!(Decode, DECODE, decode, decode_seeds);
aspect!(RoundTrip, ROUND_TRIP, round_trip, round_trip_seeds);
aspect!(Configuration, CONFIGURATION, configurations, configuration_seeds);
aspect!(DataType, DATA_TYPE, data_types, data_type_seeds);
aspect!(ChunkKey, CHUNK_KEY, chunk_keys, chunk_key_seeds);
aspect!(Metadata, METADATA, metadata, metadata_seeds);

#[expect(clippy::expect_used, reason = "the plugins of `zarr-kit` are tested")]
fn targets(aspect: Aspect) -> Targets {
    Targets::of(&Registry::linked().expect("the identifiers of plugins are unique")).only(aspect)
}

/// Parses manifests and lock files.
pub(crate) fn manifests(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(manifest) = Manifest::parse(text) {
        assert!(!manifest.name.is_empty() && !manifest.provides.is_empty(), "{manifest:?}");
        assert!(manifest.provides.iter().all(|it| it.identifiers().next().is_some()), "{manifest:?}");
    }
    if let Ok(lock) = toml::from_str::<Lock>(text) {
        let written = toml::to_string(&lock);
        let again = written.as_deref().map(toml::from_str::<Lock>);
        assert!(matches!(&again, Ok(Ok(again)) if *again == lock), "{lock:?} comes back as {again:?}");
    }
}

pub(crate) fn manifest_seeds() -> io::Result<Vec<Vec<u8>>> {
    let hash = "0123456789abcdef".repeat(4);
    let manifest = format!(
        "manifest_version = 1\nname = \"xor\"\nversion = \"1.0.0\"\nlicense = \"MIT\"\nabi = {{ major = 1, minor = 0 }}\n\
         [library.linux_amd64]\npath = \"libxor.so\"\nsha256 = \"{hash}\"\n\
         [[provides]]\nkind = \"codec\"\nname = \"example.xor\"\nuri = \"https://example.org/xor/1.0\"\naliases = [\"x\"]\n\
         summary = \"Xor.\"\n[conformance]\nsuite = \"0.1\"\nlevel = \"L4\"\n"
    );
    let lock = format!(
        "[[plugin]]\nname = \"xor\"\nversion = \"1.0.0\"\npath = \"/libxor.so\"\nsha256 = \"{hash}\"\ndate = \"2026-11-22\"\n\
         [[quarantined]]\nname = \"bad\"\nsha256 = \"{hash}\"\nreason = \"it hung\"\n"
    );
    Ok(vec![manifest.into_bytes(), lock.into_bytes()])
}
