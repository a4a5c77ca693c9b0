//! `n5`: documents and listings. `conformance/interop` reads containers of TensorStore and zarr-python 2.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::{described, key};
use zarr_plugin_kit::json::{ParseOptions, Value, parse};
use zarr_spec::store::{Capabilities, Request, Store, get_value};
use zarr_spec::{ByteRange, Output, Prefix, json};
use zarr_store_n5::N5Store;

#[path = "it/writing.rs"]
mod writing;

const ARRAY: &str = r#"{"dimensions": [5, 7], "blockSize": [3, 4], "dataType": "uint16",
    "compression": {"type": "gzip", "useZlib": false, "level": -1}, "units": "nm"}"#;

/// A container with an array, groups with and without documents, and a file of another program.
fn container() -> N5Store {
    let values: &[(&str, &[u8])] = &[
        ("attributes.json", br#"{"n5": "4.0.0"}"#),
        ("g/a/attributes.json", ARRAY.as_bytes()),
        ("g/a/0/0", b"block"),
        ("g/a/0/1", b"block 2"),
        ("g/a/zarr.json", b"hidden"),
        ("g/named/attributes.json", br#"{"name": "x"}"#),
        ("g/readme.txt", b"text"),
    ];
    N5Store::new(Arc::new(MinimalStore::with_values(Capabilities::ALL, values)))
}

fn document(store: &dyn Store, at: &str) -> Option<Value> {
    let bytes = get_value(store, &key(at), 10_000).unwrap()?;
    Some(parse(&bytes, &ParseOptions::default()).unwrap().value)
}

fn converted(attributes: &str) -> Result<Value, String> {
    let values: &[(&str, &[u8])] = &[("attributes.json", attributes.as_bytes())];
    let store = N5Store::new(Arc::new(MinimalStore::with_values(Capabilities::ALL, values)));
    let bytes = get_value(&store, &key("zarr.json"), 10_000).map_err(|error| error.to_string())?.unwrap();
    Ok(parse(&bytes, &ParseOptions::default()).unwrap().value)
}

#[test]
fn an_array_has_the_blocks_and_the_attributes_of_its_document() {
    let store = container();
    let expected = json!({"zarr_format": 3, "node_type": "array", "shape": [5, 7], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}, "fill_value": 0,
        "codecs": [{"name": "n5_default", "configuration": {"codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "gzip", "configuration": {"level": 6}}]}}],
        "attributes": {"units": "nm"}});
    assert_eq!(document(&store, "g/a/zarr.json").unwrap(), expected);
    assert_eq!(get_value(&store, &key("g/a/0/1"), 9).unwrap().unwrap(), "block 2");
    assert_eq!(document(&store, "g/a/attributes.json"), None);
}

#[test]
fn folders_are_groups_unless_they_are_in_an_array() {
    let store = container();
    let group = json!({"zarr_format": 3, "node_type": "group"});
    assert_eq!(document(&store, "zarr.json").unwrap(), group);
    assert_eq!(document(&store, "g/zarr.json").unwrap(), group);
    let named = json!({"zarr_format": 3, "node_type": "group", "attributes": {"name": "x"}});
    assert_eq!(document(&store, "g/named/zarr.json").unwrap(), named);
    for missing in ["h/zarr.json", "g/a/0/zarr.json", "g/readme.txt/zarr.json", "attributes.json"] {
        assert_eq!(
            (document(&store, missing), store.size(&key(missing)).unwrap()),
            (None, None),
            "{missing}"
        );
    }
}

#[test]
fn listings_have_the_documents_of_zarr() {
    let store = container();
    let all = (&store as &dyn Store).list().unwrap();
    let texts: Vec<_> = all.iter().map(zarr_spec::Key::as_str).collect();
    assert_eq!(
        texts,
        [
            "g/a/0/0",
            "g/a/0/1",
            "g/a/zarr.json",
            "g/named/zarr.json",
            "g/readme.txt",
            "g/zarr.json",
            "zarr.json"
        ]
    );
    for key in &all {
        let size = store.size(key).unwrap().unwrap();
        let request = Request::new(key.clone(), ByteRange::Last(3), 3);
        let response = store.get_many(vec![request], 9).next().unwrap().1.unwrap().unwrap();
        let mut output = Output::at_most(3);
        let found = store.get(key, ByteRange::Last(3).into(), &mut output).unwrap().unwrap();
        assert_eq!((found.size, response.size), (size, size), "{key}");
        assert_eq!(found.into_bytes(output), response.bytes, "{key}");
    }
    for (prefix, keys, prefixes) in [
        ("", &["zarr.json"][..], &["g/"][..]),
        ("g/", &["g/readme.txt", "g/zarr.json"], &["g/a/", "g/named/"]),
        ("g/a/", &["g/a/zarr.json"], &["g/a/0/"]),
        ("g/a/0/", &["g/a/0/0", "g/a/0/1"], &[]),
        ("h/", &[], &[]),
    ] {
        let listed = store.list_dir(&Prefix::new(prefix).unwrap()).unwrap();
        assert_eq!(listed.keys.iter().map(zarr_spec::Key::as_str).collect::<Vec<_>>(), keys, "{prefix}");
        assert_eq!(listed.prefixes.iter().map(Prefix::as_str).collect::<Vec<_>>(), prefixes, "{prefix}");
    }
    let below = (&store as &dyn Store).list_sorted(&Prefix::new("g/a/0/").unwrap()).unwrap();
    assert_eq!(below, [key("g/a/0/0"), key("g/a/0/1")]);
}

#[test]
fn compressions_become_codecs() {
    for (compression, codec) in [
        (r#""compression": {"type": "raw"}"#, None),
        (r#""compressionType": "raw""#, None),
        (r#""compressionType": "gzip""#, Some(r#"{"name":"gzip","configuration":{"level":6}}"#)),
        (
            r#""compression": {"type": "gzip", "level": 2, "useZlib": true}"#,
            Some(r#"{"name":"numcodecs.zlib","configuration":{"level":2}}"#),
        ),
        (
            r#""compression": {"type": "bzip2", "blockSize": 4}"#,
            Some(r#"{"name":"numcodecs.bz2","configuration":{"level":4}}"#),
        ),
        (
            r#""compression": {"type": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2, "blocksize": 0}"#,
            Some(
                r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"shuffle":"bitshuffle","typesize":4,"blocksize":0}}"#,
            ),
        ),
        (
            r#""compression": {"type": "lz4", "blockSize": 65536}"#,
            Some(r#"{"name":"n5.lz4","configuration":{"blockSize":65536}}"#),
        ),
    ] {
        let attributes =
            format!(r#"{{"dimensions": [4], "blockSize": [2], "dataType": "float32", {compression}}}"#);
        let converted = converted(&attributes).unwrap().to_string();
        let tail = codec.map_or_else(|| "}}]}}".to_owned(), |codec| format!("}}}},{codec}]}}}}]}}"));
        assert!(converted.replace(' ', "").ends_with(&tail) || codec.is_none(), "{compression}: {converted}");
        assert_eq!(converted.matches("\"name\"").count(), 5 + usize::from(codec.is_some()), "{converted}");
    }
}

#[test]
fn damaged_documents_are_errors() {
    for (attributes, part) in [
        ("", "attributes.json"),
        ("[]", "expected an object"),
        (r#"{"n5": 4}"#, "`n5` is not a string"),
        (r#"{"n5": "5.0.0"}"#, "version `5.0.0` of N5 is unknown"),
        (
            r#"{"dimensions": 1, "blockSize": [1], "dataType": "int8", "compression": {"type": "raw"}}"#,
            "`dimensions` is not",
        ),
        (
            r#"{"dimensions": [1], "dataType": "int8", "compression": {"type": "raw"}}"#,
            "`blockSize` is missing",
        ),
        (r#"{"dimensions": [1], "blockSize": [1], "dataType": "int8"}"#, "`compression` is missing"),
        (
            r#"{"dimensions": [1], "blockSize": [1], "dataType": "int8", "compression": {}}"#,
            "`type` of `compression`",
        ),
        (r#"{"dimensions": [1], "blockSize": [1], "dataType": "int8", "compression": 1}"#, "not an object"),
        (
            r#"{"dimensions": [1], "blockSize": [1], "dataType": "int8", "compression": {"type": "blosc", "shuffle": 3}}"#,
            "expected 0, 1 or 2",
        ),
    ] {
        let refused = converted(attributes).unwrap_err();
        assert!(refused.contains(part), "{attributes}: {refused}");
    }
}

#[test]
fn a_description_contains_the_container() {
    let store = described(r#"{"type": "n5", "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(document(&*store, "d/zarr.json").unwrap(), json!({"zarr_format": 3, "node_type": "group"}));
}
