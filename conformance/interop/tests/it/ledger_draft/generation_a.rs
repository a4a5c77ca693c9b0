//! Formats from before and after the draft's text: generation A, which zarr-python 2 writes, and early
//! documents of v3.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::warnings;
use zarr_kit::spec::Object;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, ArrayBuilder, EntryKind, Error, Format, Hierarchy, Mode, Selection};

use super::support::{
    array_document, children, context, get, get_json, hex, keys, memory, message, named, open, set, set_json,
    walk,
};

/// The entry point that zarr-python 2.18 writes.
const ENTRY_POINT: &str = r#"{
    "extensions": [],
    "metadata_encoding": "https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix": ".json",
    "zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"
}"#;

/// Creates a hierarchy of generation A that holds `values`.
fn older(values: &[(&str, &[u8])]) -> Arc<dyn Store> {
    let store = memory();
    set(&*store, "zarr.json", ENTRY_POINT.as_bytes());
    values.iter().for_each(|(key, value)| set(&*store, key, value));
    store
}

/// Returns the document of an array with one chunk.
fn document(shape: &[u64], data_type: &str, changes: Value) -> Value {
    let mut document = json!({
        "attributes": {},
        "chunk_grid": {"chunk_shape": shape, "separator": "/", "type": "regular"},
        "chunk_memory_layout": "C",
        "data_type": data_type,
        "extensions": [],
        "fill_value": 0,
        "shape": shape,
    });
    let Value::Object(changes) = changes else { return document };
    document.as_object_mut().unwrap().extend(changes);
    document
}

/// Creates a hierarchy of generation A with the array `/a`. `chunks` has the name of each chunk in the folder of the
/// array, and its bytes in hexadecimal digits.
fn with_array(document: &Value, chunks: &[(&str, &str)]) -> Arc<dyn Store> {
    let store = older(&[("meta/root/a.array.json", document.to_string().as_bytes())]);
    chunks.iter().for_each(|(name, digits)| set(&*store, &format!("data/root/a/{name}"), &hex(digits)));
    store
}

fn array(store: &Arc<dyn Store>) -> Array {
    open(store, &context()).array("/a").unwrap()
}

/// Tests DX-GEN-08.
#[test]
fn generation_a_is_read_only_and_generation_b_is_written() {
    let store = with_array(&document(&[2], "<i2", json!({})), &[("c0", "0100 0200")]);
    let before = keys(&*store);
    let hierarchy = open(&store, &context());
    let mut array = hierarchy.array("/a").unwrap();
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2]);
    let errors = [
        message(hierarchy.create_group("/g", Object::new())),
        message(hierarchy.create_array("/b", &ArrayBuilder::new([1], "int8"))),
        message(hierarchy.set_attributes("/a", Object::new())),
        message(hierarchy.erase("/a")),
        message(array.write_values::<i16>(&Selection::All, &[3, 4])),
        message(array.write_encoded_chunk(&[0], &[0; 4])),
        message(array.erase_chunk(&[0])),
        message(array.resize(&[4])),
        message(array.set_attribute("x", 1)),
        message(
            Hierarchy::create(Arc::clone(&store), &context(), Format::V3Draft)
                .and_then(|again| again.create_group("/g", Object::new())),
        ),
    ];
    for error in errors {
        assert!(error.contains("read-only dialect"), "{error}");
    }
    assert_eq!(keys(&*store), before);
    assert_eq!(get(&*store, "data/root/a/c0").unwrap(), [1, 0, 2, 0]);

    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let array = hierarchy.create_array("/a", &ArrayBuilder::new([2], "<i2").uncompressed()).unwrap();
    array.write_values::<i16>(&Selection::All, &[1, 2]).unwrap();
    assert_eq!(keys(&**hierarchy.store()), ["data/a/c0", "meta/a.array.json", "zarr.json"]);
    assert_eq!(get_json(&**hierarchy.store(), "zarr.json"), super::support::entry_point());
    assert_eq!(get_json(&**hierarchy.store(), "meta/a.array.json")["data_type"], "int16");
}

/// Tests DX-A-03.
#[test]
fn a_missing_entry_point_needs_compatibility_mode() {
    let store = with_array(&document(&[2], "<i2", json!({})), &[("c0", "0100 0200")]);
    store.erase(&super::support::key("zarr.json")).unwrap();
    for mode in [Mode::Strict, Mode::Lenient] {
        let error = message(Hierarchy::open(Arc::clone(&store), &context().with_mode(mode)));
        assert!(error.contains("no Zarr hierarchy") && error.contains("compatibility mode"), "{error}");
    }
    let hierarchy = open(&store, &context().with_mode(Mode::Compatibility));
    assert_eq!(hierarchy.array("/a").unwrap().read_values::<i16>(&Selection::All).unwrap(), [1, 2]);
    assert_eq!(warnings(&hierarchy).len(), 1, "{:?}", warnings(&hierarchy));
    // Extensions that must be understood are respected, which zarr-python 2 does not do.
    let mut entry_point: Value = serde_json::from_str(ENTRY_POINT).unwrap();
    entry_point["extensions"] = json!([{"extension": "https://e.org/x/1", "must_understand": true}]);
    set_json(&*store, "zarr.json", &entry_point);
    assert!(message(Hierarchy::open(store, &context())).contains("https://e.org/x/1"));
}

/// Tests DX-A-07.
#[test]
fn a_dot_separates_the_indices_in_one_segment() {
    let grid = json!({"chunk_shape": [2, 2], "separator": ".", "type": "regular"});
    let document = document(&[3, 3], "u1", json!({"chunk_grid": grid, "dimension_separator": "."}));
    let chunks = [("c0.0", "0102 0405"), ("c0.1", "0300 0600"), ("c1.0", "0708 0000"), ("c1.1", "0900 0000")];
    let store = with_array(&document, &chunks);
    let read = |store: &Arc<dyn Store>| array(store).read_values::<u8>(&Selection::All).unwrap();
    assert_eq!(read(&store), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(array(&store).stored_chunks().unwrap(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
    let store = with_array(&document, &[("c0/0", "0102 0405")]);
    assert_eq!(read(&store), [0; 9]);
    assert!(array(&store).stored_chunks().unwrap().is_empty());
}

/// Tests DX-A-08.
#[test]
fn a_single_chunk_is_looked_up_under_two_keys() {
    let document = document(&[], "u1", json!({"fill_value": 5}));
    for (chunks, wanted) in [
        (&[("c0", "07")][..], 7),
        (&[("c", "08")], 8),
        (&[("c0", "07"), ("c", "08")], 7),
        (&[], 5),
        (&[("0", "07"), ("c1", "08")], 5),
    ] {
        let array = array(&with_array(&document, chunks));
        assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [wanted], "{chunks:?}");
        assert_eq!(array.read_chunk(&[]).unwrap().bytes(), [wanted]);
        assert_eq!(array.chunk_exists(&[]).unwrap(), wanted != 5);
        assert_eq!(array.stored_chunks().unwrap().len(), usize::from(wanted != 5));
    }
}

/// Tests DX-A-13.
#[test]
fn filters_in_the_attributes_are_applied() {
    let filters = json!([{"astype": "<i4", "dtype": "<i4", "id": "delta"}]);
    let changes = json!({"attributes": {"filters": filters, "x": 1}, "shape": [4]});
    let document = document(&[2], "<i4", changes);
    let store = with_array(&document, &[("c0", "05000000 01000000"), ("c1", "07000000 02000000")]);
    let array = array(&store);
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [5, 6, 7, 9]);
    assert_eq!(array.attributes().keys().collect::<Vec<_>>(), ["x"]);
    // In generation B, an attribute with that name belongs to the user.
    let changes = json!({"attributes": {"filters": filters}});
    let store = super::support::with_array(&array_document(changes));
    set(&*store, "data/a/c0", &hex("05000000 01000000"));
    let array = super::support::array(&store, &context()).unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [5, 1, 0, 0]);
    assert!(array.attributes().get("filters").is_some());
}

/// Tests DX-A-15.
#[test]
fn typestrings_specify_size_and_byte_order() {
    let chunk = "00000000 40400000 3f800000 40800000";
    let changes = json!({"chunk_memory_layout": "F", "shape": [3, 3], "fill_value": -1.0});
    let store = with_array(&document(&[2, 2], ">f4", changes), &[("c0/0", chunk)]);
    let corner = [0u64..2, 0..2];
    let values = array(&store).read_values::<f32>(&Selection::from(&corner[..])).unwrap();
    assert_eq!(values, [0.0, 1.0, 3.0, 4.0]);

    for (typestring, digits, name, printed) in [
        ("bool", "01", "bool", "true"),
        ("i1", "ff", "int8", "-1"),
        ("u1", "ff", "uint8", "255"),
        ("<i2", "0201", "int16", "258"),
        (">i2", "0102", "int16", "258"),
        ("<i4", "feffffff", "int32", "-2"),
        (">i4", "fffffffe", "int32", "-2"),
        ("<i8", "ffffffffffffffff", "int64", "-1"),
        (">i8", "8000000000000000", "int64", "-9223372036854775808"),
        ("<u2", "0100", "uint16", "1"),
        (">u2", "0100", "uint16", "256"),
        ("<u4", "01000000", "uint32", "1"),
        (">u4", "00000001", "uint32", "1"),
        ("<u8", "ffffffffffffffff", "uint64", "18446744073709551615"),
        (">u8", "0000000000000001", "uint64", "1"),
        ("<f2", "003e", "float16", "1.5"),
        (">f2", "3e00", "float16", "1.5"),
        ("<f4", "0000c03f", "float32", "1.5"),
        ("<f8", "000000000000f83f", "float64", "1.5"),
        (">f8", "3ff8000000000000", "float64", "1.5"),
    ] {
        let fill = if typestring == "bool" { json!(false) } else { json!(0) };
        let store = with_array(&document(&[1], typestring, json!({"fill_value": fill})), &[("c0", digits)]);
        let array = array(&store);
        assert_eq!(array.data_type().name(), name);
        assert_eq!(array.read(&Selection::All).unwrap().print(0).unwrap(), printed, "{typestring}");
    }
    for refused in ["=f8", "<i3", "<f16", "f8", "<b1"] {
        let store = with_array(&document(&[1], refused, json!({})), &[]);
        assert!(message(open(&store, &context()).array("/a")).contains("`data_type`"), "{refused}");
    }
}

/// Tests DX-A-22, DX-A-23.
#[test]
fn groups_without_a_document_are_groups() {
    let group: &[u8] = br#"{"attributes":{}}"#;
    let hierarchy = open(&older(&[("meta/root/g/h.group.json", group)]), &context());
    let implicit = EntryKind::ImplicitGroup;
    assert_eq!(walk(&hierarchy, "/"), named([("/", implicit), ("/g", implicit), ("/g/h", EntryKind::Group)]));
    let group = hierarchy.group("/g").unwrap();
    assert!(group.is_implicit());
    assert_eq!(children(&hierarchy, "/g"), named([("/g/h", EntryKind::Group)]));
    assert!(matches!(hierarchy.group("/h"), Err(Error::NoNode(_))));
    assert!(matches!(hierarchy.group("/root"), Err(Error::NoNode(_))));
}

/// Tests DX-A-26.
#[test]
fn consolidated_metadata_of_generation_a_are_not_used() {
    let group: &[u8] = br#"{"attributes":{}}"#;
    let copied = json!({
        "zarr_consolidated_format": 1,
        "metadata": {"meta/root/ghost.group.json": {"attributes": {}}, "meta/root/a.array.json": {}},
    });
    let document = document(&[2], "<i2", json!({}));
    let store = with_array(&document, &[("c0", "0100 0200")]);
    set(&*store, "meta/root/consolidated.group.json", group);
    set_json(&*store, "meta/root/consolidated/.zmetadata", &copied);
    let hierarchy = open(&store, &context());
    assert_eq!(
        children(&hierarchy, "/"),
        named([("/a", EntryKind::Array), ("/consolidated", EntryKind::Group)])
    );
    assert!(children(&hierarchy, "/consolidated").is_empty());
    assert!(!hierarchy.exists("/ghost").unwrap());
    assert_eq!(hierarchy.array("/a").unwrap().read_values::<i16>(&Selection::All).unwrap(), [1, 2]);
}

/// Tests DX-A-28.
#[test]
fn nodes_with_long_names_can_be_read() {
    for length in [255, 256, 300] {
        let name = "n".repeat(length);
        let document = document(&[2], "u1", json!({})).to_string();
        let store = older(&[(&format!("meta/root/{name}.array.json"), document.as_bytes())]);
        set(&*store, &format!("data/root/{name}/c0"), &[1, 2]);
        let path = format!("/{name}");
        let hierarchy = open(&store, &context());
        assert_eq!(children(&hierarchy, "/"), named([(&path, EntryKind::Array)]));
        assert_eq!(hierarchy.array(&path).unwrap().read_values::<u8>(&Selection::All).unwrap(), [1, 2]);
    }
}

/// Tests DX-URI-05.
#[test]
fn compressors_without_a_specification_are_known_by_their_uris() {
    // Each stream decodes to the bytes 1, 2, 3, 4. Python's modules zlib, bz2 and lzma wrote the first three. The
    // stream for lz4 is the size, as numcodecs writes it, and a block of four literals. The stream for zstd is a frame
    // of one raw block.
    let compressed = [
        ("zlib", "78016364626601000018000b"),
        ("bz2", "425a683131415926535986c8c83200000040003c002000219a68334d133c5dc914e142421b2320c8"),
        (
            "lzma",
            "fd377a585a000004e6d6b4460200210116000000742fe5a3010003010203040025a81d04cc87b71100011c046f2c9cc1\
             1fb6f37d010000000004595a",
        ),
        ("lz4", "04000000 40 01020304"),
        ("zstd", "28b52ffd 20 04 210000 01020304"),
    ];
    for (name, digits) in compressed {
        let with_uri = |uri: String| {
            let compressor = json!({"codec": uri, "configuration": {}});
            with_array(&document(&[4], "u1", json!({"compressor": compressor})), &[("c0", digits)])
        };
        let store = with_uri(format!("https://purl.org/zarr/spec/codec/{name}/1.0"));
        let hierarchy = open(&store, &context());
        let values = hierarchy.array("/a").and_then(|array| array.read_values::<u8>(&Selection::All));
        assert_eq!(values.unwrap(), [1, 2, 3, 4], "{name}");
        let other = with_uri(format!("https://purl.org/zarr/spec/codecs/{name}/1.0"));
        assert!(matches!(open(&other, &context()).array("/a"), Err(Error::NotUnderstood { .. })), "{name}");
    }
}

/// Tests DX-GEN-05.
#[test]
fn documents_of_early_2023_are_read_except_in_strict_mode() {
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let endian = json!({"name": "endian", "configuration": {"endian": "little"}});
    // Python's `gzip.compress(b'\x00\x01', 1, mtime=0)`.
    let compressed = "1f8b0800000000000403636004006922de3602000000";
    for (changes, chunk) in [
        (json!({"codecs": [gzip]}), compressed),
        (json!({"codecs": [endian, gzip]}), compressed),
        (
            json!({"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "extensions": []}),
            "0001",
        ),
    ] {
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": [1],
            "data_type": "int16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "attributes": {},
        });
        document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let store = memory();
        set_json(&*store, "zarr.json", &json!({"zarr_format": 3, "node_type": "group", "attributes": {}}));
        set_json(&*store, "a/zarr.json", &document);
        set(&*store, "a/c/0", &hex(chunk));
        let hierarchy = open(&store, &context());
        assert_eq!(
            hierarchy.array("/a").unwrap().read_values::<i16>(&Selection::All).unwrap(),
            [256],
            "{document}"
        );
        assert!(!warnings(&hierarchy).is_empty(), "{document}");
        let strict = open(&store, &context().with_mode(Mode::Strict));
        assert!(strict.array("/a").is_err(), "{document}");
    }
}

/// Tests DX-SHARD-05.
#[test]
fn shards_do_not_divide_along_the_dimensions_of_sub_arrays() {
    // Written by zarr-python 2.18.7 for four elements of `(2,)<i4` in chunks of one element, with two chunks
    // in a shard.
    let sharding = |configuration: Value| {
        let uri = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";
        json!([{"configuration": configuration, "extension": uri, "type": "indexed"}])
    };
    let grid = json!({"chunk_shape": [1, 2], "separator": "/", "type": "regular"});
    let short = sharding(json!({"chunks_per_shard": [2]}));
    let changes = json!({"chunk_grid": grid, "storage_transformers": short});
    let written = document(&[4, 2], "<i4", changes.clone());
    let index = "0800000000000000 0800000000000000 0000000000000000 0800000000000000";
    let first = format!("02000000 03000000 00000000 01000000 {index}");
    let second = format!("06000000 07000000 04000000 05000000 {index}");
    let store = with_array(&written, &[("c0/0", &first), ("c1/0", &second)]);
    assert_eq!(array(&store).read_values::<i32>(&Selection::All).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // `chunks_per_shard` must not have more entries than the shape, and in generation B it must not have fewer.
    let long = sharding(json!({"chunks_per_shard": [2, 1, 1]}));
    let store = with_array(&document(&[4, 2], "<i4", json!({"storage_transformers": long})), &[]);
    assert!(message(open(&store, &context()).array("/a")).contains("3 entries, but the array has 2"));
    let mut document = array_document(changes);
    document["shape"] = json!([4, 2]);
    let store = super::support::with_array(&document);
    assert!(message(open(&store, &context()).array("/a")).contains("1 entry, but the array has 2"));
}
