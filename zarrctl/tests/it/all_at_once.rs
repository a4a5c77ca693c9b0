//! One hierarchy that uses every extension point, and the errors of a program that lacks one of the plugins.

use std::sync::Arc;

use zarr_kit::spec::host::registry::{CatalogueEntry, Registered};
use zarr_kit::spec::plugin::Plugin;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Registry};
use zarr_kit::{CATALOGUE, Context, Error, Hierarchy, Problem, Selection, open_store};

use crate::support::{Place, bytes, text};

const SPEC: &str = "https://zarr-kit.example/spec";

/// Creates and fills the hierarchy, through a store that is described as JSON, and returns that description.
fn written(place: &Place) -> String {
    let path = place.at("store");
    let store =
        format!(r#"{{"type":"cache","bytes":1000000,"store":{{"type":"filesystem","path":"{path}"}}}}"#);
    let entry =
        |kind: &str, name: &str, more: &str| format!(r#"{{"extension":"{SPEC}/{kind}/{name}/1.0",{more}}}"#);
    let grid =
        entry("grids", "origin", r#""type":"origin","configuration":{"chunk_shape":[2,2],"origin":[-3,4]}"#);
    let layout = entry("layouts", "morton", r#""type":"morton""#);
    let sharding = r#"{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed",
        "configuration":{"chunks_per_shard":[2,2]}}"#;
    let names = entry(
        "extensions",
        "dimension-names",
        r#""must_understand":false,"configuration":{"names":["y","x"]}"#,
    );
    let unknown = r#"{"extension":"https://e.org/unknown/1.0","must_understand":false}"#;
    let index = entry("extensions", "node-index", r#""must_understand":true"#);
    bytes(&[
        "create",
        &store,
        "/g/a",
        "--format",
        "v3-draft",
        "--metadata-encoding",
        "cbor",
        "--hierarchy-extension",
        &index,
        "--shape",
        "6,5",
        "--dtype",
        "numpy.datetime64[s]",
        "--fill",
        "0",
        "--fallback",
        "int64",
        "--grid",
        &grid,
        "--layout",
        &layout,
        "--codec",
        r#"zstd:{"level":1}"#,
        "--codec",
        "crc32c",
        "--transformer",
        sharding,
        "--extension",
        &names,
        "--extension",
        unknown,
        "--attr",
        "n=1",
    ]);
    bytes(&["put", "--format", "raw", &store, "/g/a", &place.file("raw", &raw())]);
    store
}

fn raw() -> Vec<u8> {
    (100..130i64).flat_map(i64::to_le_bytes).collect()
}

#[test]
fn a_hierarchy_that_uses_every_extension_point_is_written_shown_and_read() {
    let place = Place::new();
    let store = written(&place);
    let files = place.files("store");
    let has = |name: &str| assert!(files.contains(&name.to_owned()), "{name} in {files:?}");
    has("zarr.json");
    has("meta/g/a.array.cbor");
    has("node-index.cbor");
    // Shards are 4 × 4 and begin at coordinate 0: along y, the array covers shards -1 and 0.
    assert_eq!(files.iter().filter(|file| file.starts_with("data/g/a/c")).count(), 4, "{files:?}");
    has("data/g/a/c1/2");
    has("data/g/a/c0/4");
    assert_eq!(bytes(&["get", &store, "/g/a", "--format", "raw"]), raw());
    assert_eq!(
        text(&["get", &store, "g/a", "--select", "1,1:3", "--format", "json"]),
        "[\"1970-01-01T00:01:46\", \"1970-01-01T00:01:47\"]\n"
    );

    let tree = text(&["tree", &store]);
    assert!(
        tree.starts_with("/ (implicit group)\n└─ g (implicit group)\n   └─ a numpy.datetime64[s] [6 × 5]"),
        "{tree}"
    );
    assert!(tree.contains("shards 4 × 4, chunks 2 × 2; zstd, crc32c"), "{tree}");
    let root = text(&["info", &store, "--verbose"]);
    for part in ["metadata encoding", "metadata-encodings/cbor/1.0", "extensions/node-index/1.0"] {
        assert!(root.contains(part), "{part} in {root}");
    }
    let info = text(&["info", &store, "/g/a", "--verbose"]);
    for part in [
        "kind              array",
        "shape             6 × 5",
        "dimension names   y, x",
        "= numpy.datetime64[s]",
        r#""origin":[-3,4]"#,
        "2 × 2 shards of 4 × 4, inner chunks of 2 × 2",
        "layouts/morton/1.0",
        "storage_transformers/sharding/1.0",
        "extensions/dimension-names/1.0",
        "https://e.org/unknown/1.0  (extension `https://e.org/unknown/1.0` is unknown)",
        "chunks stored     4 of 4",
        "n: 1",
    ] {
        assert!(info.contains(part), "{part} in {info}");
    }
    // The array grows at both ends and keeps its elements.
    bytes(&["resize", &store, "/g/a", "--at-start", "1,0", "--shape", "8,5"]);
    assert_eq!(bytes(&["get", &store, "/g/a", "--select", "1:7", "--format", "raw"]), raw());
    let metadata = text(&["info", &store, "/g/a", "--verbose"]);
    assert!(
        metadata.contains(r#""origin":[-4,4]"#) && metadata.contains("https://e.org/unknown/1.0"),
        "{metadata}"
    );
}

/// Returns the plugins of this build without those of `package`, which error messages name as the missing crate.
fn without(package: &str) -> Registry {
    fn add<'p, K: Registered + ?Sized>(
        registry: &mut Registry,
        plugins: impl Iterator<Item = &'p Plugin<K>>,
        package: &str,
    ) -> usize {
        let (gone, kept): (Vec<&Plugin<K>>, Vec<&Plugin<K>>) =
            plugins.partition(|plugin: &&Plugin<K>| plugin.origin.package == package);
        kept.into_iter().for_each(|plugin| registry.register(*plugin).unwrap());
        gone.len()
    }
    let linked = Registry::linked().unwrap();
    let mut registry = Registry::empty();
    CATALOGUE.iter().for_each(|entry: &CatalogueEntry| registry.add_catalogue_entry(*entry));
    let mut gone: usize = [
        add(&mut registry, linked.codecs().iter(), package),
        add(&mut registry, linked.data_types().iter(), package),
        add(&mut registry, linked.chunk_grids().iter(), package),
        add(&mut registry, linked.chunk_key_encodings().iter(), package),
        add(&mut registry, linked.memory_layouts().iter(), package),
        add(&mut registry, linked.metadata_encodings().iter(), package),
        add(&mut registry, linked.storage_transformers().iter(), package),
        add(&mut registry, linked.extensions().iter(), package),
    ]
    .iter()
    .sum();
    for plugin in linked.stores() {
        match plugin.origin.package == package {
            true => gone += 1,
            false => registry.register_store(*plugin).unwrap(),
        }
    }
    assert!(gone > 0, "{package} has no plugin");
    registry
}

/// Opens `/g/a` without the plugins of `package`.
fn opened(place: &Place, package: &str) -> Result<zarr_kit::Array, Error> {
    let context = Context::new(without(package));
    let store = open_store(context.registry(), &place.at("store"))?;
    Hierarchy::open(store, &context)?.array("/g/a")
}

#[test]
fn errors_name_the_missing_plugin() {
    let place = Place::new();
    let description = written(&place);
    let elsewhere =
        |feature: &str| format!("is not in this build; feature `{feature}` of crate `zarr-kit` has it");
    for (package, feature, member) in [
        ("zarr-dtype-datetime", "dtype-datetime", "data_type"),
        ("zarr-grid-origin", "grid-origin", "chunk_grid"),
        ("zarr-layout-morton", "layout-morton", "chunk_memory_layout"),
        ("zarr-codec-zstd", "codec-zstd", "codecs[0]"),
        ("zarr-codec-crc32c", "codec-crc32c", "codecs[1]"),
        ("zarr-transformer-sharding", "transformer-sharding", "storage_transformers[0]"),
        ("zarr-key-encoding-default", "key-encoding-default", "chunk_key_encoding"),
    ] {
        let Err(Error::NotUnderstood(error)) = opened(&place, package) else { panic!("{package}") };
        let problems = &error.problems;
        let [Problem { place: found, reason, missing, .. }] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert_eq!(found, member);
        assert!(reason.contains(&elsewhere(feature)), "{reason}");
        let [unknown] = missing.as_slice() else { panic!("{missing:?}") };
        assert!(unknown.known_elsewhere.is_some() && reason.contains(&unknown.identifier), "{unknown:?}");
        if member == "data_type" {
            assert!(
                reason.contains("it has the fallback int64, which is used only when asked for"),
                "{reason}"
            );
        }
    }
    for (package, feature, member) in [
        ("zarr-metadata-encoding-cbor", "metadata-encoding-cbor", "metadata_encoding"),
        ("zarr-extension-node-index", "extension-node-index", "extensions[0]"),
    ] {
        let error = opened(&place, package).unwrap_err();
        assert!(matches!(error, Error::Document { .. }), "{error}");
        let error = error.to_string();
        assert!(error.starts_with(&format!("document `zarr.json`: `{member}`: ")), "{error}");
        assert!(error.contains(&elsewhere(feature)), "{error}");
    }
    let error = open_store(&without("zarr-transformer-cache"), &description).unwrap_err().to_string();
    assert!(error.contains(&format!("store `cache` {}", elsewhere("transformer-cache"))), "{error}");
    let error = opened(&place, "zarr-store-filesystem").unwrap_err().to_string();
    assert!(error.contains(&elsewhere("store-filesystem")), "{error}");

    // The extension may be ignored: only the dimension names are missing.
    let array = opened(&place, "zarr-extension-dimension-names").unwrap();
    assert_eq!(array.dimension_names(), None);
    let read = array.read(&Selection::All).unwrap();
    let wanted: Vec<u8> = (100..130i64).flat_map(i64::to_ne_bytes).collect();
    assert_eq!(read.bytes(), wanted);
}

#[test]
fn the_same_hierarchy_is_read_and_written_through_its_fallback() {
    let place = Place::new();
    let store = written(&place);
    let context = Context::new(without("zarr-dtype-datetime"));
    let hierarchy =
        Hierarchy::open(open_store(context.registry(), &place.at("store")).unwrap(), &context).unwrap();
    let document = |store: &Arc<dyn Store>| {
        get_value(&**store, &Key::new("meta/g/a.array.cbor").unwrap(), 1 << 20).unwrap().unwrap()
    };
    let before = document(hierarchy.store());
    let options = zarr_kit::ArrayOptions::new().fallback(zarr_kit::FallbackPolicy::Warn).write_fallback(true);
    let array = hierarchy.array_with(hierarchy.path("/g/a").unwrap(), options).unwrap();
    assert_eq!(array.fallback().unwrap().used, "int64");
    let mut values = array.read_values::<i64>(&Selection::All).unwrap();
    assert_eq!(values, (100..130).collect::<Vec<_>>());
    values.iter_mut().for_each(|value| *value -= 100);
    array.write_values(&Selection::All, &values).unwrap();
    assert_eq!(document(hierarchy.store()), before);
    let shown = bytes(&["get", &store, "/g/a", "--format", "raw"]);
    assert_eq!(shown, (0..30i64).flat_map(i64::to_le_bytes).collect::<Vec<u8>>());
}
