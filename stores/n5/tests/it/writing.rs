//! Writing containers: documents, what N5 cannot hold, and blocks at the end of an array.

use std::sync::Arc;

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::key;
use zarr_plugin_kit::json::{ParseOptions, Value, parse};
use zarr_spec::store::{Capabilities, Condition, GetOptions, Store, StoreError, get_value};
use zarr_spec::{ByteRange, Output, json};
use zarr_store_n5::N5Store;

fn container() -> (Arc<dyn Store>, N5Store) {
    let inner: Arc<dyn Store> = Arc::new(MinimalStore::new(Capabilities::ALL_AND_CONDITIONAL));
    (Arc::clone(&inner), N5Store::new(inner))
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn document(store: &dyn Store, at: &str) -> Option<Value> {
    let bytes = get_value(store, &key(at), 10_000).unwrap()?;
    Some(parse(&bytes, &ParseOptions::default()).unwrap().value)
}

/// Returns the document of an array, with the members in `others` added or replaced.
fn array(others: &Value) -> Value {
    let mut document = json!({"zarr_format": 3, "node_type": "array", "shape": [5, 3], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "gzip", "configuration": {"level": 1}}],
        "attributes": {"units": "nm"}, "dimension_names": ["x", null]});
    let members = document.as_object_mut().unwrap();
    for (name, value) in others.as_object().unwrap() {
        members.insert(name, value.clone());
    }
    document
}

#[test]
fn new_arrays_get_the_form_of_n5() {
    let (inner, store) = container();
    let at = key("g/a/zarr.json");
    let adapted = store.array_document(&at, &array(&json!({}))).unwrap().unwrap();
    assert_eq!(store.array_document(&at, &adapted).unwrap(), None, "it has this form");
    let unadapted = store.set(&at, text(&array(&json!({}))).into()).unwrap_err().to_string();
    assert!(
        unadapted.contains("`/g/a`: its codecs are not those of N5: expected `n5_default`"),
        "{unadapted}"
    );
    store.set(&at, text(&adapted).into()).unwrap();
    let expected = json!({"units": "nm", "axes": ["x", ""], "dimensions": [5, 3], "blockSize": [3, 2],
        "dataType": "uint16", "compression": {"type": "gzip", "useZlib": false, "level": 1}});
    assert_eq!(document(&*inner, "g/a/attributes.json").unwrap(), expected);
    assert_eq!(document(&store, "g/a/zarr.json").unwrap(), adapted);
    // Some programs find groups by their documents only.
    assert_eq!(document(&*inner, "g/attributes.json").unwrap(), json!({}));
    assert_eq!(document(&*inner, "attributes.json").unwrap(), json!({"n5": "4.0.0"}));
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"n": 5}});
    store.set(&key("zarr.json"), text(&group).into()).unwrap();
    assert_eq!(document(&*inner, "attributes.json").unwrap(), json!({"n": 5, "n5": "4.0.0"}));
    assert_eq!(document(&store, "zarr.json").unwrap(), group);
    assert_eq!(
        (&store as &dyn Store).list().unwrap(),
        [key("g/a/zarr.json"), key("g/zarr.json"), key("zarr.json")]
    );
}

#[test]
fn what_n5_cannot_hold_is_refused_with_every_reason() {
    let (_, store) = container();
    let refused = |others: &Value| match store.array_document(&key("a/zarr.json"), &array(others)) {
        Err(StoreError::Invalid(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for (others, reason) in [
        (json!({"data_type": "complex64"}), "N5 does not have the data type \"complex64\""),
        (json!({"data_type": {"name": "r8"}}), "N5 does not have the data type {\"name\":\"r8\"}"),
        (json!({"fill_value": 1}), "missing blocks of N5 are 0, and the fill value is 1"),
        (json!({"fill_value": "NaN"}), "the fill value is \"NaN\""),
        (json!({"data_type": "float32", "fill_value": (-0.0)}), "missing blocks of N5 are 0"),
        (json!({"shape": []}), "N5 does not have arrays without dimensions"),
        (json!({"attributes": {"dataType": 1}}), "the attribute `dataType` is a member of N5's documents"),
        (json!({"attributes": {"axes": ["u", "v"]}}), "the attribute `axes` names dimensions in N5"),
        (json!({"dimension_names": ["", "b"]}), "dimensions with an empty name"),
        (json!({"chunk_grid": {"name": "rectilinear"}}), "N5 does not have chunks of different sizes"),
        (json!({"codecs": [{"name": "sharding_indexed"}]}), "N5 does not have the codec `sharding_indexed`"),
        (
            json!({"codecs": ["bytes", "gzip", "crc32c"]}),
            "N5 has one compression, and the codecs are `gzip`, `crc32c`",
        ),
        (
            json!({"codecs": ["bytes", {"name": "numcodecs.lzma", "configuration": {"format": 3}}]}),
            "N5 has xz without filters",
        ),
        (json!({"storage_transformers": [{"name": "x"}]}), "N5 does not have `storage_transformers`"),
    ] {
        let found = refused(&others);
        assert!(found.contains(reason) && found.starts_with("an N5 container cannot hold `/a`: "), "{found}");
    }
    let two = refused(&json!({"data_type": "bool", "fill_value": true}));
    assert!(two.contains("data type \"bool\"; missing blocks"), "{two}");
    for name in [".zarray", ".zgroup", ".zattrs", "attributes.json", "meta/root.array.json"] {
        let error = store.set(&key(name), b"{}".into()).unwrap_err();
        assert!(matches!(&error, StoreError::Key(error) if error.reason.contains("of format v3")), "{error}");
    }
    let consolidated =
        json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline"}});
    let error = store.set(&key("zarr.json"), text(&consolidated).into()).unwrap_err().to_string();
    assert!(error.contains("N5 does not have `consolidated_metadata`"), "{error}");
}

#[test]
fn blocks_at_the_end_are_smaller_before_and_after_the_document_is_written() {
    let (inner, store) = container();
    let raw = json!({"codecs": ["bytes"], "data_type": "uint8"});
    let adapted = store.array_document(&key("a/zarr.json"), &array(&raw)).unwrap().unwrap();
    let header = |sizes: [u8; 2]| vec![0, 0, 0, 2, 0, 0, 0, sizes[0], 0, 0, 0, sizes[1]];
    let full = [header([3, 2]), (0..6).collect()].concat();
    let corner = [header([2, 1]), vec![0, 1]].concat();
    let stored = |at: &str| get_value(&*inner, &key(at), 100).unwrap().unwrap();
    store.set(&key("a/1/1"), (&full).into()).unwrap();
    assert_eq!(stored("a/1/1"), corner);
    // A new array is not a group before its document is written.
    assert_eq!(document(&store, "a/zarr.json"), None);
    assert_eq!((&store as &dyn Store).list().unwrap(), [key("a/1/1"), key("zarr.json")]);
    store.set(&key("a/zarr.json"), text(&adapted).into()).unwrap();
    store.set(&key("a/0/0"), (&full).into()).unwrap();
    assert_eq!(stored("a/0/0"), full);
    let written = store.set_if(&key("a/0/1"), (&full).into(), &Condition::Missing).unwrap();
    assert!(!written.is_conflict());
    assert_eq!(stored("a/0/1"), [header([3, 1]), vec![0, 1, 2]].concat());
}

#[test]
fn documents_are_written_under_conditions() {
    let (_, store) = container();
    let at = key("g/zarr.json");
    let version = || {
        let mut output = Output::at_most(1000);
        let found = store.get(&at, GetOptions::for_update(ByteRange::Full), &mut output).unwrap();
        Condition::of(found.unwrap().version.as_ref()).unwrap()
    };
    let group = |n: u64| text(&json!({"zarr_format": 3, "node_type": "group", "attributes": {"n": n}}));
    // The group exists because it contains a file.
    store.set(&key("g/file"), b"x".into()).unwrap();
    assert!(store.set_if(&at, group(0).into(), &Condition::Missing).unwrap().is_conflict());
    let implicit = version();
    assert!(!store.set_if(&at, group(1).into(), &implicit).unwrap().is_conflict());
    assert!(store.set_if(&at, group(2).into(), &implicit).unwrap().is_conflict());
    let first = version();
    assert!(!store.set_if(&at, group(3).into(), &first).unwrap().is_conflict());
    assert!(store.set_if(&at, group(4).into(), &first).unwrap().is_conflict());
    let Condition::Unchanged(now) = version() else { panic!("the document exists") };
    assert!(!store.erase_if(&at, &now).unwrap().is_conflict());
    assert_eq!(version(), implicit);
    store.erase(&key("g/file")).unwrap();
    assert_eq!(document(&store, "g/zarr.json"), None);
}
