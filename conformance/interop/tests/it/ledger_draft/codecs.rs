//! Chains of codecs.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::{CountingStore, warnings};
use zarr_kit::spec::{Codec, Creation, Output, Reading, Representation, Size};
use zarr_kit::{Array, Context, Error, Format, Hierarchy, Mode, Selection};

use super::plugins::{self, CUTTING, NUMBERING, PICTURE, ROUNDING};
use super::support::{
    ENDIAN, GZIP, array, array_document, context, context_with, get, get_json, hex, message, object,
    one_chunk, open, set, with_array,
};

fn gzip() -> Value {
    json!({"type": GZIP, "configuration": {"level": 1}})
}

fn endian(order: &str) -> Value {
    json!({"type": ENDIAN, "configuration": {"endian": order}})
}

/// Decodes a gzip stream with only the codec.
fn gunzip(context: &Context, stream: &[u8]) -> Vec<u8> {
    let registry = context.registry();
    let reading = Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(Format::V3Draft, GZIP, &reading).unwrap();
    let configuration = super::support::value(&json!({"level": 1}));
    let creation = Creation::new(GZIP, &configuration, Format::V3Draft, registry, &reading);
    let Codec::BytesToBytes(codec) =
        (plugin.create)(&creation, &Representation::Bytes(Size::Unknown)).unwrap()
    else {
        panic!("gzip is a bytes-to-bytes codec")
    };
    let mut decoded = Output::at_most(1 << 16);
    codec.decode(stream, &mut decoded).unwrap();
    decoded.into_written()
}

/// Writes one chunk with these codecs; returns the array and the stored bytes.
fn stored<T: zarr_kit::Element>(document: &Value, values: &[T], context: &Context) -> (Array, Vec<u8>) {
    let store = with_array(document);
    let array = array(&store, context).unwrap();
    array.write_values(&Selection::All, values).unwrap();
    let name = array.chunk_key(&vec![0; array.shape().len()]).unwrap();
    let bytes = get(&*store, name.as_str()).unwrap();
    (array, bytes)
}

/// Tests D3-CODEC-05.
#[test]
fn only_the_metadata_of_an_array_with_an_unknown_codec_can_be_read() {
    let uri = "https://e.org/codec/none/1.0";
    let store =
        with_array(&array_document(json!({"codecs": [{"type": uri}, gzip()], "attributes": {"a": 1}})));
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        let hierarchy = open(&store, &context().with_mode(mode));
        let error = hierarchy.array("/a").unwrap_err();
        let Error::NotUnderstood(not_understood) = &error else { panic!("{error}") };
        let problems = &not_understood.problems;
        assert_eq!(problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), ["codecs[0]"]);
        assert_eq!(problems[0].missing[0].identifier, uri);
        let zarr_kit::metadata::NodeMetadata::Array(metadata) = hierarchy.metadata("/a").unwrap() else {
            panic!("expected an array")
        };
        assert_eq!(metadata.shape, [4]);
        assert_eq!(metadata.attributes.get("a").unwrap().as_u64(), Some(1));
    }
}

/// Tests D3-CODEC-06, D3-CODEC-14.
#[test]
fn codecs_are_applied_in_order_and_produce_bytes() {
    let context = context();
    let document = one_chunk(&[1], "int16", json!({"codecs": [endian("big"), gzip()]}));
    let (array, bytes) = stored::<i16>(&document, &[1], &context);
    assert_eq!(gunzip(&context, &bytes), [0, 1]);
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1]);
    // Python's `gzip.compress(b'\x00\x01', 1, mtime=0)`.
    let foreign = hex("1f8b0800000000000403636004006922de3602000000");
    array.write_encoded_chunk(&[0], &foreign).unwrap();
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1]);

    assert_eq!(stored::<i16>(&one_chunk(&[2], "int16", json!({})), &[1, 2], &context).1, [1, 0, 2, 0]);
    let turned = one_chunk(&[2, 3], "uint8", json!({"chunk_memory_layout": "F"}));
    assert_eq!(stored::<u8>(&turned, &[0, 1, 2, 3, 4, 5], &context).1, [0, 3, 1, 4, 2, 5]);
}

/// Tests D3-CODEC-07, D3-CODEC-17.
#[test]
fn an_incompatible_codec_is_an_error_before_chunks_are_accessed() {
    let context = context_with(plugins::register);
    let cases = [
        (one_chunk(&[2], "float32", json!({"codecs": [{"type": ROUNDING}]})), "elements must have two bytes"),
        (
            one_chunk(&[1, 1, 2, 2, 2], "uint8", json!({"codecs": [{"type": PICTURE}]})),
            "a picture has two dimensions",
        ),
        (one_chunk(&[2, 2], "int16", json!({"codecs": [{"type": PICTURE}]})), "one byte for each point"),
        (
            one_chunk(&[2, 2], "uint8", json!({"codecs": [{"type": PICTURE}, {"type": PICTURE}]})),
            "produces bytes",
        ),
    ];
    for (document, reason) in cases {
        let store = with_array(&document);
        set(&*store, "data/a/c0", &[0; 8]);
        let counting = Arc::new(CountingStore::new(store));
        let hierarchy = Hierarchy::open(Arc::<CountingStore>::clone(&counting), &context).unwrap();
        drop(counting.take());
        let error = message(hierarchy.array("/a"));
        assert!(error.contains("codecs[") && error.contains(reason), "{error}");
        let calls = counting.take();
        // The two documents that a node may have are requested, but no chunks.
        assert_eq!(
            calls.iter().map(|(name, count)| (*name, *count)).collect::<Vec<_>>(),
            [("get", 2), ("get_many", 1)]
        );
    }
    let fits = one_chunk(&[2, 2], "uint8", json!({"codecs": [{"type": PICTURE}, gzip()]}));
    let (array, bytes) = stored::<u8>(&fits, &[1, 2, 3, 4], &context);
    assert_eq!(gunzip(&context, &bytes), b"P\x01\x02\x03\x04");
    assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [1, 2, 3, 4]);
}

/// Tests D3-CODEC-08, D3-CODEC-09.
#[test]
fn codecs_receive_a_chunk_of_layout_f_transposed() {
    let context = context_with(plugins::register);
    let document = |layout: &str| {
        one_chunk(&[2, 3], "uint8", json!({"chunk_memory_layout": layout, "codecs": [{"type": NUMBERING}]}))
    };
    for (layout, shape, wanted) in [
        ("C", [2, 3], [0x30, 0x32, 0x34, 0x36, 0x38, 0x3a]),
        ("F", [3, 2], [0x20, 0x24, 0x23, 0x27, 0x26, 0x2a]),
    ] {
        let (array, bytes) = stored::<u8>(&document(layout), &[0, 1, 2, 3, 4, 5], &context);
        assert_eq!(bytes, wanted);
        assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [0, 1, 2, 3, 4, 5]);
        let links = array.codecs().links();
        let link = links.iter().find(|link| link.document.is_some()).unwrap();
        let Representation::Array(seen) = &link.decoded else { panic!("{link:?}") };
        assert_eq!(seen.shape, shape);
        assert_eq!(seen.data_type.name(), "uint8");
    }
}

/// Tests D3-CODEC-10, D3-CODEC-11.
#[test]
fn a_bytes_codec_receives_the_elements_of_an_array_in_c_order() {
    let context = context();
    let document = |layout: &str| {
        one_chunk(&[2, 2], "int16", json!({"chunk_memory_layout": layout, "codecs": [gzip()]}))
    };
    let values = [258, 2, 3, -2];
    let (_, bytes) = stored::<i16>(&document("C"), &values, &context);
    assert_eq!(gunzip(&context, &bytes), hex("0201 0200 0300 feff"));
    let (_, bytes) = stored::<i16>(&document("F"), &values, &context);
    assert_eq!(gunzip(&context, &bytes), hex("0201 0300 0200 feff"));

    let document = one_chunk(&[4], "uint8", json!({"codecs": [gzip()]}));
    let (array, bytes) = stored::<u8>(&document, &[1, 2, 3, 4], &context);
    assert_eq!(gunzip(&context, &bytes), [1, 2, 3, 4]);
    // Python's `gzip.compress(bytes([4, 3, 2, 1]), 9, mtime=0)`.
    let foreign = hex("1f8b080000000000020363616662040006a451e904000000");
    array.write_encoded_chunk(&[0], &foreign).unwrap();
    assert_eq!(array.read_values::<u8>(&Selection::All).unwrap(), [4, 3, 2, 1]);
}

/// Tests D3-CODEC-13, DX-ENDIAN-05, DX-URI-03.
#[test]
fn an_array_codec_cannot_follow_a_bytes_codec() {
    let context = context();
    let chain = |codecs: Value| one_chunk(&[2], "int16", json!({"codecs": codecs}));
    let (array, bytes) = stored::<i16>(&chain(json!([endian("big"), gzip()])), &[1, 2], &context);
    assert_eq!(gunzip(&context, &bytes), [0, 1, 0, 2]);
    assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2]);
    let error = message(super::support::array(&with_array(&chain(json!([gzip(), endian("big")]))), &context));
    assert!(error.contains("`codecs[1]`") && error.contains("produces bytes"), "{error}");
    for other in ["https://purl.org/zarr/spec/codec/endian/1.0", "https://purl.org/zarr/spec/codec/endian"] {
        let codec = json!([{"type": other, "configuration": {"endian": "big"}}]);
        assert!(message(super::support::array(&with_array(&chain(codec)), &context)).contains(other));
    }
}

/// Tests D3-CODEC-15.
#[test]
fn without_codecs_the_stored_size_equals_the_size_of_the_elements() {
    let values = [0.0, 1.5, -2.0, f64::MAX];
    let (array, bytes) = stored::<f64>(&one_chunk(&[2, 2], "float64", json!({})), &values, &context());
    assert_eq!(bytes.len(), 32);
    assert_eq!(bytes[8..16], [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
    for size in [31, 33, 0] {
        array.write_encoded_chunk(&[0, 0], &vec![0; size]).unwrap();
        let error = message(array.read(&Selection::All));
        assert!(error.contains("data/a/c0/0") && error.contains(&format!("{size} bytes")), "{error}");
    }
    array.write_encoded_chunk(&[0, 0], &bytes).unwrap();
    assert_eq!(array.read_values::<f64>(&Selection::All).unwrap(), values);
}

/// Tests D3-CODEC-16, D3-CONTRA-18.
#[test]
fn decoding_reverses_the_codecs_and_then_the_layout() {
    let context = context_with(plugins::register);
    let turn = json!({"type": "https://purl.org/zarr/spec/codecs/transpose/1.0", "configuration": {"order": [2, 0, 1]}});
    let chains = [
        json!([]),
        json!([gzip()]),
        json!([endian("big")]),
        json!([endian("big"), gzip(), gzip()]),
        json!([turn]),
        json!([turn, endian("big"), gzip()]),
        json!([{"type": ROUNDING}, turn, gzip()]),
        json!([turn, {"type": ROUNDING}, turn, {"type": ROUNDING}, endian("little"), gzip()]),
    ];
    let values: Vec<i16> = (0..60).map(|number| number << 8).collect();
    for (layout, codecs) in
        ["C", "F"].into_iter().flat_map(|layout| chains.iter().map(move |codecs| (layout, codecs)))
    {
        let grid = json!({"type": "regular", "chunk_shape": [2, 2, 3], "separator": "."});
        let changes = json!({"chunk_memory_layout": layout, "codecs": codecs, "chunk_grid": grid, "shape": [3, 4, 5],
            "data_type": "int16"});
        let store = with_array(&array_document(changes));
        array(&store, &context).unwrap().write_values::<i16>(&Selection::All, &values).unwrap();
        let read = array(&store, &context).unwrap().read_values::<i16>(&Selection::All).unwrap();
        assert_eq!(read, values, "{layout} {codecs}");
    }
}

/// Tests D3-CODEC-18, D3-CODEC-19, D3-CONTRA-28.
#[test]
fn a_codec_is_identified_by_its_exact_uri() {
    let context = context_with(plugins::register);
    let reading = |uri: &str, mode| {
        let document =
            one_chunk(&[2], "uint8", json!({"codecs": [{"type": uri, "configuration": {"level": 1}}]}));
        let store = with_array(&document);
        array(&store, &context.clone().with_mode(mode)).map(|array| (array, store))
    };
    let older = ["https://purl.org/zarr/spec/codec/gzip", "https://purl.org/zarr/spec/codec/gzip/1.0"];
    for uri in [GZIP, older[0], older[1]] {
        let (mut array, store) = reading(uri, Mode::Lenient).unwrap();
        array.write_values::<u8>(&Selection::All, &[1, 2]).unwrap();
        assert_eq!(gunzip(&context, &get(&*store, "data/a/c0").unwrap()), [1, 2], "{uri}");
        array.resize(&[3]).unwrap();
        let written = get_json(&*store, "meta/a.array.json");
        assert_eq!(written["codecs"], json!([gzip()]), "only the canonical URI is written");
    }
    for other in [
        "https://purl.org/zarr/spec/codecs/gzip/1.0/",
        "https://purl.org/zarr/spec/codecs/GZIP/1.0",
        "HTTPS://purl.org/zarr/spec/codecs/gzip/1.0",
        "http://purl.org/zarr/spec/codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codecs/../codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codecs/gzip",
    ] {
        assert!(matches!(reading(other, Mode::Compatibility), Err(Error::NotUnderstood { .. })), "{other}");
    }
    // Any URI can identify a codec, but each URI identifies only one.
    let document = one_chunk(&[2, 1], "uint8", json!({"codecs": [{"type": PICTURE}]}));
    assert_eq!(stored::<u8>(&document, &[7, 8], &context).1, b"P\x07\x08");
    let mut registry = context.registry().clone();
    let plugin = *registry.codecs().find(Format::V3Draft, PICTURE, &Reading::new(Mode::Strict)).unwrap();
    let mut other = plugin;
    other.identifiers.name = Some("another");
    assert!(message(registry.register(other)).contains(PICTURE));
}

/// Tests D3-CODEC-20.
#[test]
fn unknown_members_of_a_codec_are_an_error() {
    let reading = |codec: Value, mode| {
        let document = one_chunk(&[2], "uint8", json!({"codecs": [codec]}));
        array(&with_array(&document), &context().with_mode(mode))
    };
    let wbits = json!({"type": GZIP, "configuration": {"level": 1, "wbits": -15}});
    let beside = json!({"type": GZIP, "configuration": {"level": 1}, "wbits": -15});
    for mode in [Mode::Strict, Mode::Lenient, Mode::Compatibility] {
        for codec in [&wbits, &beside] {
            let error = message(reading(codec.clone(), mode));
            assert!(error.contains("codecs[0]") && error.contains("wbits"), "{mode:?}: {error}");
        }
        assert!(reading(gzip(), mode).is_ok());
    }
}

/// Tests D3-CODEC-22.
#[test]
fn a_codec_may_lose_precision_but_not_elements() {
    let context = context_with(plugins::register);
    let document = one_chunk(&[2, 2], "int16", json!({"codecs": [{"type": ROUNDING}, gzip()]}));
    let (array, _) = stored::<i16>(&document, &[0x1234, -1, 256, 5], &context);
    let read = array.read(&Selection::All).unwrap();
    assert_eq!(read.shape(), [2, 2]);
    assert_eq!(read.data_type().name(), "int16");
    assert_eq!(*read.as_slice::<i16>().unwrap(), [0x1200, -256, 256, 0]);

    let document = one_chunk(&[2, 2], "int16", json!({"codecs": [{"type": CUTTING}]}));
    let (array, bytes) = stored::<i16>(&document, &[1, 2, 3, 4], &context);
    assert_eq!(bytes.len(), 7);
    let error = message(array.read(&Selection::All));
    assert!(error.contains("chunk [0, 0] of /a (key `data/a/c0/0`)"), "{error}");
}

/// Tests D3-VER-05.
#[test]
fn a_newer_minor_version_of_a_codec_is_accepted() {
    let reading = |version: &str| {
        let uri = format!("https://purl.org/zarr/spec/codecs/gzip/{version}");
        let codec = json!({"type": uri, "configuration": {"level": 1}});
        let store = with_array(&one_chunk(&[1], "int16", json!({"codecs": [endian("big"), codec]})));
        set(&*store, "data/a/c0", &hex("1f8b0800000000000403636004006922de3602000000"));
        let hierarchy = open(&store, &context());
        hierarchy.array("/a").map(|array| {
            (array.read_values::<i16>(&Selection::All).unwrap().into_vec(), warnings(&hierarchy))
        })
    };
    assert_eq!(reading("1.0").unwrap(), (vec![1], Vec::new()));
    let (values, warnings) = reading("1.1").unwrap();
    assert_eq!(values, [1]);
    assert!(warnings.len() == 1 && warnings[0].contains("newer"), "{warnings:?}");
    for version in ["2.0", "0.9", "1", "1.0.0"] {
        assert!(message(reading(version)).contains(&format!("gzip/{version}")));
    }
}

/// Tests D3-DOC-03.
#[test]
fn documents_of_nodes_use_the_encoding_in_the_entry_point() {
    let hierarchy = Hierarchy::create(super::support::memory(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_group("/g", object(&json!({"é": "\u{0}", "n": [1e300, null]}))).unwrap();
    let builder = zarr_kit::ArrayBuilder::new([2], "int8").uncompressed();
    hierarchy.create_array("/a", &builder).unwrap();
    let store = &**hierarchy.store();
    assert_eq!(get_json(store, "zarr.json"), super::support::entry_point());
    assert_eq!(
        get_json(store, "meta/g.group.json"),
        json!({"attributes": {"é": "\u{0}", "n": [1e300, null]}})
    );
    assert_eq!(get_json(store, "meta/a.array.json")["data_type"], "int8");
    set(store, "meta/g.group.json", b"\xa1jattributes\xa0");
    assert!(matches!(hierarchy.group("/g"), Err(Error::Document { .. })), "CBOR is not JSON");
}
