//! Profile `dynamic`: all plugins of the workspace in a loaded library must pass every rule of the suite
//! again through the C ABI.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;

use zarr_conformance::suite::{Level, Report, Suite, suites_of};
use zarr_kit::loaded::Loader;
use zarr_kit::spec::Key;
use zarr_kit::spec::host::registry::Table;
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::store::{IoKind, StoreError, get_value};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Registry, Selection, json, open_store};

// The library is also linked, so that the same plugins exist linked and loaded.
use zarr_conformance_library as _;

/// The rules that fail through the ABI: plugin, rule and reason. The list must match exactly.
const NOT_CARRIED: &[(&str, &str, &str)] = &[];

/// Returns the library, which Cargo places next to the tests because they depend on it.
fn library() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libzarr_conformance_library.so")
}

/// Returns a registry with only the plugins of the library.
fn loaded() -> Registry {
    let mut registry = Registry::empty();
    assert_eq!(Loader::of_one(&library()).unwrap().register(&mut registry), []);
    registry
}

#[test]
fn all_loaded_plugins_pass_all_rules() {
    let suites = suites_of(&loaded());
    let linked = suites_of(&Registry::linked().unwrap());
    let names =
        |suites: &[Suite]| -> Vec<String> { suites.iter().map(|suite| suite.subject.to_string()).collect() };
    assert_eq!(names(&suites), names(&linked), "all linked plugins are loaded");

    // A rule runs on one thread, and there is one suite per plugin, so two threads share the suites.
    let found: Vec<_> = thread::scope(|scope| {
        let halves = suites.chunks(suites.len().div_ceil(2));
        let halves: Vec<_> =
            halves.map(|half| scope.spawn(move || broken(&Report::of(half, Level::L4)))).collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    let found: Vec<_> = found.iter().map(|(subject, rule)| (subject.as_str(), *rule)).collect();
    let expected: Vec<_> = NOT_CARRIED.iter().map(|(subject, rule, _)| (*subject, *rule)).collect();
    assert_eq!(found, expected);
}

fn broken(report: &Report) -> Vec<(String, &'static str)> {
    let failures = report.failures().map(|(subject, outcome)| {
        eprintln!("{subject}: {outcome:?}");
        (subject.to_string(), outcome.rule.id)
    });
    failures.collect()
}

/// The suite runs on examples: none of them may get lost.
#[test]
fn the_documentation_of_plugins_crosses_the_boundary() {
    let linked = Registry::linked().unwrap();
    let loaded = loaded();
    assert_eq!(said(loaded.codecs()), said(linked.codecs()));
    assert_eq!(said(loaded.data_types()), said(linked.data_types()));
    assert_eq!(said(loaded.chunk_grids()), said(linked.chunk_grids()));
    assert_eq!(said(loaded.chunk_key_encodings()), said(linked.chunk_key_encodings()));
    assert_eq!(said(loaded.memory_layouts()), said(linked.memory_layouts()));
    assert_eq!(said(loaded.metadata_encodings()), said(linked.metadata_encodings()));
    assert_eq!(said(loaded.storage_transformers()), said(linked.storage_transformers()));
    assert_eq!(said(loaded.extensions()), said(linked.extensions()));
    let stores = |registry: &Registry| -> BTreeMap<&str, _> {
        let stores = registry.stores().iter();
        stores.map(|store| (store.name, (store.schemes, store.about.examples.len()))).collect()
    };
    assert_eq!(stores(&loaded), stores(&linked));
}

/// Returns the summary and the number of examples of each plugin.
fn said<K: PluginKind + ?Sized>(table: &Table<K>) -> BTreeMap<String, (&'static str, usize)> {
    let plugins = table.iter().map(|plugin| {
        let identifiers = plugin.identifiers;
        let about = plugin.about;
        (format!("{identifiers:?}"), (about.summary, about.examples.len()))
    });
    plugins.collect()
}

/// A transformer in a library uses the host's store, and the engine uses the transformer's store. A grid in a
/// library may begin before the array, and chunks keep their keys when the array grows at the start.
#[test]
fn chunks_go_through_a_loaded_transformer_in_a_loaded_grid() {
    let context = Context::new(loaded());
    let store = open_store(context.registry(), "memory:").unwrap();
    let grid = json!({
        "extension": "https://zarr-kit.example/spec/grids/origin/1.0",
        "type": "origin",
        "configuration": {"chunk_shape": [4], "origin": [(-2)]}
    });
    let builder = ArrayBuilder::new([6], "uint8").chunk_grid(grid).uncompressed();
    let hierarchy = Hierarchy::create(store.clone(), &context, Format::V3Draft).unwrap();
    hierarchy.create_array("/x", &builder).unwrap();
    let document = Key::new("meta/x.array.json").unwrap();
    let text = get_value(&*store, &document, 1 << 12).unwrap().unwrap();
    let text = String::from_utf8(text.into()).unwrap();
    let transformer = r#"{"storage_transformers": [{"type": "complement", "configuration": {},
        "extension": "https://example.org/storage-transformers/complement/1.0"}], "#;
    store.set(&document, text.replacen('{', transformer, 1).as_bytes().into()).unwrap();

    let mut array = Hierarchy::open(store.clone(), &context).unwrap().array("/x").unwrap();
    array.write(&Selection::All, &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), [1, 2, 3, 4, 5, 6]);
    let value = |key: &str| get_value(&*store, &Key::new(key).unwrap(), 9).unwrap().map(Vec::from);
    // Keys encode chunk -1 as 1. Elements before the array hold the fill value.
    let stored = [Some(vec![!0, !0, !1, !2]), Some(vec![!3, !4, !5, !6])];
    assert_eq!([value("data/x/c1"), value("data/x/c0")], stored);
    array.resize_at(&[-3], &[9]).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), [0, 0, 0, 1, 2, 3, 4, 5, 6]);
    array.resize_at(&[5], &[4]).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), [3, 4, 5, 6]);
    assert_eq!([value("data/x/c1"), value("data/x/c0")], [None, stored[1].clone()]);
}

/// The archive records a checksum, so a changed byte is damage of the stored data, and not a fault of the device.
#[test]
fn a_loaded_store_reports_damaged_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let location = format!("zip:{}", path.display());
    let registry = loaded();
    let a = Key::new("a").unwrap();
    let store = open_store(&registry, &location).unwrap();
    store.set(&a, b"some bytes".into()).unwrap();
    store.commit().unwrap();
    drop(store);
    let mut archive = fs::read(&path).unwrap();
    let value = archive.windows(10).position(|bytes| bytes == b"some bytes").unwrap();
    archive[value] ^= 1;
    fs::write(&path, archive).unwrap();
    let error = get_value(&*open_store(&registry, &location).unwrap(), &a, 100).unwrap_err();
    assert!(matches!(error, StoreError::Io { kind: IoKind::Damaged, .. }), "{error:?}");
    assert!(error.to_string().contains("CRC-32"), "{error}");
}

/// A linked store can wrap a loaded one and vice versa, and names with a number (`r16`) find their data type.
#[test]
fn a_hierarchy_is_written_and_read_without_linked_plugins() {
    let context = Context::new(loaded());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let description = format!(
        r#"{{"type": "prefix", "prefix": "a/b", "store": {{"type": "filesystem", "path": "{path}"}}}}"#
    );
    let store = open_store(context.registry(), &description).unwrap();
    let hierarchy = Hierarchy::create(store.clone(), &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([4, 6], "r16").chunks([2, 4]);
    let array = hierarchy.create_array("/x", &builder).unwrap();
    let all: Vec<u8> = (0..48).collect();
    array.write(&Selection::All, &all).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), all);
    assert!(folder.path().join("a/b/x/c/0/0").is_file());

    // A loaded store inside a linked one and a linked store inside a loaded one.
    let mut mixed = Registry::empty();
    for plugin in Registry::linked().unwrap().stores().iter().filter(|plugin| plugin.name == "prefix") {
        mixed.register_store(*plugin).unwrap();
    }
    for plugin in context.registry().stores().iter().filter(|plugin| plugin.name != "prefix") {
        mixed.register_store(*plugin).unwrap();
    }
    let around = format!(r#"{{"type": "statistics", "report": false, "store": {description}}}"#);
    let store = open_store(&mixed, &around).unwrap();
    let keys: Vec<_> = store.list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["x/c/0/0", "x/c/0/1", "x/c/1/0", "x/c/1/1", "x/zarr.json", "zarr.json"]);
}
