//! Libraries of version 1.0 of the ABI are refused with a message that names the remedy.

use std::fs;
use std::path::{Path, PathBuf};

use zarr_plugin::host::{Loader, Lock, Manifest, Policy, Refusal, Search, sha256};
use zarr_spec::Registry;

/// The libraries of `tests/v1.0` and their SHA-256 hashes. They are never rebuilt.
const LIBRARIES: [(&str, &str); 2] = [
    ("abi-1-0-c", "1b36b5956cc275373dd1b615560eeb150c166b661e3edd1ec7908e25ce249e66"),
    ("abi-1-0-rust", "f0682f3fb1fc7bac0747636a4952007acd17872f7dfa58507bff856f5077204a"),
];

const MESSAGE: &str = "it uses version 1 of the plugin ABI, expected version 2; \
                       build it again with the crate `zarr-plugin` or the header `zarr_plugin.h` of this program";

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/v1.0").join(name)
}

fn library(name: &str) -> Vec<u8> {
    fs::read(stored(&format!("{name}-1.0.0-linux_amd64.so"))).unwrap()
}

#[test]
fn the_libraries_are_unchanged() {
    for (name, hash) in LIBRARIES {
        assert_eq!(sha256(&library(name)), hash, "{name}");
    }
}

#[test]
fn a_manifest_of_version_1_is_refused() {
    // A copy that others cannot write, independent of the umask at checkout.
    let folder = tempfile::tempdir().unwrap();
    for (name, _) in LIBRARIES {
        fs::write(folder.path().join(format!("{name}-1.0.0-linux_amd64.so")), library(name)).unwrap();
        let manifest = format!("{name}.toml");
        fs::write(folder.path().join(&manifest), fs::read(stored(&manifest)).unwrap()).unwrap();
    }
    let loader = Loader::new(&Search::nowhere().given(folder.path()), Policy::Any, Lock::default());
    assert_eq!(loader.candidates().len(), LIBRARIES.len());
    for candidate in loader.candidates() {
        assert_eq!(loader.judge(candidate), Err(Refusal::AbiMajor(1)));
        assert_eq!(loader.open(candidate).unwrap_err().to_string(), MESSAGE);
        assert_eq!(loader.pin(candidate, "2026-11-22").unwrap_err(), Refusal::AbiMajor(1));
    }
    let mut registry = Registry::empty();
    let passed_over = loader.register(&mut registry);
    assert_eq!(passed_over.len(), LIBRARIES.len());
    assert!(passed_over.iter().all(|it| it.refusal == Refusal::AbiMajor(1)), "{passed_over:?}");
    assert_eq!(registry.stores().len(), 0);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_library_of_version_1_is_refused_by_its_symbol() {
    for (name, _) in LIBRARIES {
        let refused = Manifest::of_library(&library(name), "a.so").unwrap_err();
        assert_eq!(refused, Refusal::AbiMajor(1), "{name}");
        let file = stored(&format!("{name}-1.0.0-linux_amd64.so"));
        assert_eq!(Loader::of_one(&file).unwrap_err().to_string(), MESSAGE);
    }
}
