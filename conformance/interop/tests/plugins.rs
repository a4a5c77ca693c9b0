//! Plugins that are loaded at run time, tested with the whole engine. Each library is built in its own
//! folder, as a third party would build it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;
use zarr_kit::loaded::{Loader, Lock, Policy, Search, platform, sha256};
use zarr_kit::spec::host::registry::Table;
use zarr_kit::spec::plugin::PluginKind;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Format, Identifiers, Key, Mode, Reading};
use zarr_kit::{Context, Hierarchy, Registry, Selection, open_store};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Builds the crate `name` from this source and these dependencies, and returns the folder with its library
/// and a manifest with `provides`.
fn installed(name: &str, source: &str, dependencies: &str, provides: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(HERE).ancestors().nth(2).unwrap();
    let manifest = format!(
        "[package]\nname = '{name}'\nversion = '1.0.0'\nedition = '2024'\nlicense = 'MIT'\n\
         [lib]\npath = '{source}'\ncrate-type = ['cdylib']\n[workspace]\n\
         [dependencies]\nzarr-plugin.path = '{0}/zarr-plugin'\nzarr-spec.path = '{0}/zarr-spec'\n{dependencies}",
        root.display()
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet"]).current_dir(folder.path()).env("CARGO_TARGET_DIR", &target);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let library = fs::read(target.join(format!("debug/lib{}.so", name.replace('-', "_")))).unwrap();
    fs::write(folder.path().join("libplugin.so"), &library).unwrap();
    let text = format!(
        "manifest_version = 1\nname = '{name}'\nversion = '1.0.0'\nlicense = 'MIT'\nabi = {{ major = 2, minor = 0 }}\n\
         library.{} = {{ path = 'libplugin.so', sha256 = '{}' }}\n{provides}",
        platform(),
        sha256(&library)
    );
    // Removes the manifest of the crate from the folder.
    fs::remove_file(folder.path().join("Cargo.toml")).unwrap();
    fs::write(folder.path().join("plugin.toml"), text).unwrap();
    folder
}

/// Adds the plugins of a folder to `registry`. They are opened first, so that their examples are known.
fn load(folder: &TempDir, registry: &mut Registry) {
    let loader = Loader::new(&Search::nowhere().given(folder.path()), Policy::Any, Lock::default());
    for candidate in loader.candidates() {
        loader.open(candidate).unwrap();
    }
    assert_eq!(loader.register(registry), []);
}

fn provides(kind: &str, identifiers: &Identifiers) -> String {
    let mut text = format!("[[provides]]\nkind = '{kind}'\n");
    let name = identifiers.name;
    for (member, identifier) in [("uri", identifiers.uri), ("name", name), ("id", identifiers.id)] {
        if let Some(identifier) = identifier {
            writeln!(text, "{member} = '{identifier}'").unwrap();
        }
    }
    writeln!(text, "aliases = {:?}", identifiers.aliases).unwrap();
    text
}

/// The data type, grid, keys and codecs of the array all come from a library.
#[test]
fn loaded_plugins_write_and_read_an_array() {
    let names = [
        ("codec", Identifiers::name("example.pack12")),
        ("codec", Identifiers::name("example.sum")),
        ("data_type", Identifiers::name("example.uint12")),
        ("chunk_grid", Identifiers::name("example.halves")),
        ("chunk_key_encoding", Identifiers::name("example.dashes")),
    ];
    let provides: String = names.iter().map(|(kind, identifiers)| provides(kind, identifiers)).collect();
    let source = format!("{HERE}/../../zarr-plugin/tests/plugins/extensions.rs");
    let serde = "serde = { version = '1', features = ['derive'] }\n";
    // Needs a unique name: `zarr-plugin` builds this source into the same target folder.
    let folder = installed("extensions-of-arrays", &source, serde, &provides);
    let mut registry = Registry::linked().unwrap();
    load(&folder, &mut registry);

    let context = Context::new(registry);
    let store = open_store(context.registry(), "memory:").unwrap();
    let document = r#"{
        "zarr_format": 3, "node_type": "array", "shape": [5, 7], "data_type": "example.uint12", "fill_value": 4095,
        "chunk_grid": {"name": "example.halves"}, "chunk_key_encoding": {"name": "example.dashes"},
        "codecs": [{"name": "example.pack12"}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}},
                   {"name": "example.sum"}]
    }"#;
    store.set(&Key::new("zarr.json").unwrap(), document.as_bytes().into()).unwrap();
    let hierarchy = Hierarchy::open(store.clone(), &context).unwrap();
    let array = hierarchy.array("/").unwrap();
    let all: Vec<u8> = (0..35u16).flat_map(|number| (number * 100).to_ne_bytes()).collect();
    array.write(&Selection::All, &all).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), all);
    let part = array.read(Selection::parse("1:4, 3:5", array.shape()).unwrap()).unwrap();
    let expected: Vec<u8> =
        [10u16, 11, 17, 18, 24, 25].iter().flat_map(|n| (n * 100).to_ne_bytes()).collect();
    assert_eq!(part.bytes(), expected);
    let keys: Vec<_> = store.list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["k0-0", "k0-1", "k1-0", "k1-1", "zarr.json"]);
    // A missing chunk reads as the fill value; a damaged one gives an error that names the plugin and the
    // chunk.
    store.erase(&Key::new("k0-0").unwrap()).unwrap();
    let first = array.read(Selection::parse("0, 0", array.shape()).unwrap()).unwrap();
    assert_eq!(first.bytes(), 4095u16.to_ne_bytes());
    store.set(&Key::new("k1-1").unwrap(), b"damaged".into()).unwrap();
    let error = array.read(&Selection::All).unwrap_err().to_string();
    assert!(
        error.contains("`k1-1`), codec `example.sum`: chunk is corrupt: the stored checksum is 64"),
        "{error}"
    );

    check_overlapping_chunks(&context, &store, document);
}

/// Checks that overlapping chunks are an error. The array has 7 elements; one chunk has the range 0 to 4, the other 3
/// to 7.
fn check_overlapping_chunks(context: &Context, store: &Arc<dyn Store>, document: &str) {
    let overlapping = document.replace(
        r#"{"name": "example.halves"}"#,
        r#"{"name": "example.halves", "configuration": {"overlap": 1}}"#,
    );
    assert_ne!(overlapping, document);
    store.set(&Key::new("zarr.json").unwrap(), overlapping.as_bytes().into()).unwrap();
    let array = Hierarchy::open(store.clone(), context).unwrap().array("/").unwrap();
    let points = Selection::Coordinates(vec![vec![0, 0], vec![0, 6]]);
    for error in [
        array.read(&Selection::All).unwrap_err(),
        array.read(&points).unwrap_err(),
        array.write(&Selection::All, &[0; 70]).unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains("chunk grid `example.halves` of extensions-of-arrays 1.0.0"), "{error}");
        assert!(error.contains("chunks must follow one another without gap and overlap"), "{error}");
    }
}

/// The arrays have shards, structures and optional elements. Everything except `zstd` and the store comes from two
/// libraries. A plugin can look up other plugins in its own library, in the other library and in the host.
#[test]
fn loaded_and_linked_plugins_store_the_same_bytes() {
    let structure = r#"{"name": "struct", "configuration": {"fields": [
        {"name": "x", "data_type": "float32"}, {"name": "n", "data_type": "int16"}]}}"#;
    let sharding = r#"[{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3],
        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                   {"name": "bytes", "configuration": {"endian": "big"}},
                   {"name": "zstd", "configuration": {"level": 1, "checksum": false}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]"#;
    let optional = r#"{"name": "zarrs.optional", "configuration": {"name": "int16", "configuration": {}}}"#;
    let composite = r#"[{"name": "zarrs.optional", "configuration": {
        "mask_codecs": [{"name": "packbits"}],
        "data_codecs": [{"name": "bytes", "configuration": {"endian": "big"}},
                        {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]}}]"#;
    let structures: Vec<u8> = (0..24 * 6).collect();
    // Every second element is present: 1, followed by the bytes of a number.
    let offsets = (0..=24u64).flat_map(|number| (number.div_ceil(2) * 3).to_ne_bytes());
    let there = (0..12i16).flat_map(|number| [&[1][..], &number.to_ne_bytes()].concat());
    let optionals: Vec<u8> = offsets.chain(there).collect();
    for (data_type, fill_value, codecs, elements) in [
        (structure, r#"{"x": 1.5, "n": 2}"#, sharding, &structures),
        (optional, "null", composite, &optionals),
    ] {
        let document = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": {data_type},
            "fill_value": {fill_value}, "codecs": {codecs},
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [4, 6]}}}},
            "chunk_key_encoding": {{"name": "default", "configuration": {{"separator": "/"}}}}}}"#
        );
        let stored =
            [loaded(), Registry::linked().unwrap()].map(|registry| stored(registry, &document, elements));
        assert_eq!(stored[0], stored[1], "{data_type}");
    }
}

/// Writes the elements, reads all and part of them, and returns the stored chunk.
fn stored(registry: Registry, document: &str, elements: &[u8]) -> Vec<u8> {
    let context = Context::new(registry);
    let store = open_store(context.registry(), "memory:").unwrap();
    store.set(&Key::new("zarr.json").unwrap(), document.as_bytes().into()).unwrap();
    let hierarchy = Hierarchy::open(store.clone(), &context).unwrap();
    let array = hierarchy.array("/").unwrap();
    array.write(&Selection::All, elements).unwrap();
    assert_eq!(array.read(&Selection::All).unwrap().bytes(), elements);
    if let Some(size) = array.data_type().elements().size() {
        let part = array.read(Selection::parse("1, 2:4", array.shape()).unwrap()).unwrap();
        assert_eq!(part.bytes(), &elements[8 * size..10 * size]);
    }
    get_value(&*store, &Key::new("c/0/0").unwrap(), 1 << 16).unwrap().unwrap().to_vec()
}

/// Plugins that look up other plugins, and some of the plugins that they look up.
const TYPES: &[(&str, &str, &str)] = &[("dtypes", "dtype", "core"), ("dtypes", "dtype", "struct")];

/// The remaining plugins.
const OTHERS: &[(&str, &str, &str)] = &[
    ("codecs", "codec", "bytes"),
    ("codecs", "codec", "crc32c"),
    ("codecs", "codec", "optional"),
    ("codecs", "codec", "packbits"),
    ("codecs", "codec", "sharding-indexed"),
    ("codecs", "codec", "transpose"),
    ("dtypes", "dtype", "optional"),
    ("grids", "grid", "regular"),
    ("key-encodings", "key-encoding", "default"),
];

/// Returns a registry with plugins of this workspace from two libraries; only stores and `zstd` are linked.
fn loaded() -> Registry {
    static LIBRARIES: OnceLock<[TempDir; 2]> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        [of_the_workspace("types-of-the-workspace", TYPES), of_the_workspace("of-the-workspace", OTHERS)]
    });
    let linked = Registry::linked().unwrap();
    let mut registry = Registry::empty();
    let zstd = *linked.codecs().find(Format::V3, "zstd", &Reading::new(Mode::Strict)).unwrap();
    registry.register(zstd).unwrap();
    linked.stores().iter().for_each(|store| registry.register_store(*store).unwrap());
    libraries.iter().for_each(|folder| load(folder, &mut registry));
    registry
}

/// Builds a library of crates, each given by its folder, kind and name.
fn of_the_workspace(library: &str, crates: &[(&str, &str, &str)]) -> TempDir {
    let root = Path::new(HERE).ancestors().nth(2).unwrap().display();
    let mut dependencies = String::new();
    let mut source = String::new();
    let mut packages = Vec::new();
    for (folder, kind, name) in crates {
        let package = format!("zarr-{kind}-{name}");
        writeln!(dependencies, "{package}.path = '{root}/{folder}/{name}'").unwrap();
        writeln!(source, "use {} as _;", package.replace('-', "_")).unwrap();
        packages.push(package);
    }
    source.push_str("zarr_plugin::export_plugins!();\n");
    let linked = Registry::linked().unwrap();
    let mut manifest = String::new();
    of(linked.codecs(), "codec", &packages, &mut manifest);
    of(linked.data_types(), "data_type", &packages, &mut manifest);
    of(linked.chunk_grids(), "chunk_grid", &packages, &mut manifest);
    of(linked.chunk_key_encodings(), "chunk_key_encoding", &packages, &mut manifest);
    let written = tempfile::tempdir().unwrap();
    let lib = written.path().join("lib.rs");
    fs::write(&lib, source).unwrap();
    installed(library, lib.to_str().unwrap(), &dependencies, &manifest)
}

/// Appends the entries of a manifest for the plugins of `packages` in `table`.
fn of<K: PluginKind + ?Sized>(table: &Table<K>, kind: &str, packages: &[String], manifest: &mut String) {
    let mut wanted: Vec<_> =
        table.iter().filter(|plugin| packages.iter().any(|it| it == plugin.origin.package)).collect();
    wanted.sort_by_key(|plugin| plugin.identifiers.name);
    wanted.iter().for_each(|plugin| manifest.push_str(&provides(kind, &plugin.identifiers)));
}
