//! Several versions of one plugin, and concurrent changes of the lock file.

use std::fs;
use std::path::Path;
use std::sync::Barrier;

use zarr_plugin::host::{Loader, Lock, Pin, Policy, Refusal, Search, platform, sha256};
use zarr_spec::Registry;

use crate::built::{Installed, Manifest, XOR_C, in_c};
use crate::loaded::create;

const OLD: Manifest<'static> = XOR_C;
const NEW: Manifest<'static> = Manifest { version: "1.10.0", ..XOR_C };

/// Adds a version with its own library to a folder, and returns its pin.
fn add(folder: &Path, manifest: &Manifest<'_>, macros: &[&str]) -> Pin {
    let bytes = in_c(macros);
    let made = Installed::new(&bytes, manifest);
    let library = format!("{}-{}.so", manifest.name, manifest.version);
    let toml = fs::read_to_string(made.manifest()).unwrap().replace("libplugin.so", &library);
    fs::write(folder.join(&library), &bytes).unwrap();
    fs::write(folder.join(format!("{}-{}.toml", manifest.name, manifest.version)), toml).unwrap();
    Pin {
        version: manifest.version.to_owned(),
        path: folder.join(library),
        sha256: sha256(&bytes),
        ..made.pin()
    }
}

fn trusting<const N: usize>(folder: &Path, pins: [&Pin; N]) -> Loader {
    let mut lock = Lock::default();
    pins.into_iter().for_each(|pin| lock.trust(pin.clone()));
    assert_eq!(lock.pins.len(), N);
    Loader::new(&Search::nowhere().given(folder), Policy::Pinned, lock)
}

fn version_in_use(loader: &Loader) -> Option<String> {
    Some(loader.in_use("xor-c")?.manifest().unwrap().version.to_string())
}

#[test]
fn the_trusted_version_remains_in_use_until_the_new_one_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let old = add(folder.path(), &OLD, &[]);
    let new = add(folder.path(), &NEW, &["MINOR=7"]);
    let loader = trusting(folder.path(), []);
    assert_eq!(version_in_use(&loader), None);
    let refusals: Vec<_> = loader.named("xor-c").iter().map(|it| loader.judge(it).unwrap_err()).collect();
    let untrusted = ["xor-c", "xor-c@1.2.0"].map(|name| Refusal::Untrusted(name.to_owned()));
    assert_eq!(refusals, untrusted);

    let loader = trusting(folder.path(), [&old]);
    assert_eq!(version_in_use(&loader).unwrap(), "1.2.0");
    let mut registry = Registry::empty();
    let passed_over = loader.register(&mut registry);
    assert_eq!(passed_over.len(), 1);
    assert_eq!(passed_over[0].refusal, Refusal::Untrusted("xor-c".to_owned()));
    assert!(create(&registry, "example.xor", &zarr_spec::json!({"key": 1})).is_ok());

    let loader = trusting(folder.path(), [&old, &new]);
    assert_eq!(version_in_use(&loader).unwrap(), "1.10.0");
    let shadowed = Refusal::Shadowed(folder.path().join("xor-c-1.10.0.toml"));
    assert_eq!(loader.judge(loader.named("xor-c")[1]), Err(shadowed));
}

#[test]
fn a_version_in_an_earlier_folder_is_preferred_to_a_newer_one() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    add(first.path(), &OLD, &[]);
    add(second.path(), &NEW, &[]);
    let search = Search::nowhere().given(first.path()).given(second.path());
    let loader = Loader::new(&search, Policy::Any, Lock::default());
    assert_eq!(version_in_use(&loader).unwrap(), "1.2.0");
}

/// Several kinds of machines may share a home folder, and a plugin may also be WebAssembly.
#[test]
fn pins_are_stored_by_version_and_target() {
    let folder = tempfile::tempdir().unwrap();
    let here = add(folder.path(), &OLD, &[]);
    let elsewhere = Pin { target: "linux_mips".to_owned(), sha256: "0".repeat(64), ..here.clone() };
    let loader = trusting(folder.path(), [&here, &elsewhere]);
    assert_eq!(version_in_use(&loader).unwrap(), "1.2.0");
    let mut lock = Lock::default();
    lock.trust(here.clone());
    lock.trust(Pin { sha256: "1".repeat(64), ..here.clone() });
    assert_eq!(lock.pins.len(), 1, "the same version and target");
    assert!(lock.pin("xor-c", "1.2.0", &platform()).is_some());
    assert!(lock.pin("xor-c", "1.10.0", &platform()).is_none());
}

#[test]
fn concurrently_added_pins_are_all_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/plugins.lock");
    let pin = Installed::new(b"library", &XOR_C).pin();
    let names: Vec<String> = (0..16).map(|number| format!("plugin-{number:02}")).collect();
    let start = Barrier::new(names.len());
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| {
                let pin = Pin { name: name.clone(), ..pin.clone() };
                start.wait();
                Lock::update(&path, |lock| lock.trust(pin)).unwrap();
            });
        }
    });
    let mut found: Vec<_> = Lock::read(&path).unwrap().pins.into_iter().map(|pin| pin.name).collect();
    found.sort();
    assert_eq!(found, names);
}
