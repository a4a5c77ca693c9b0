//! Conversion of arrays of the draft to the other formats.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_kit::convert::convert_metadata;
use zarr_kit::metadata::{v2, v3};
use zarr_kit::spec::{Object, Reading};
use zarr_kit::{Array, Error, Format, Hierarchy, Mode, Selection};

use super::support::{
    ENDIAN, GZIP, array, array_document, context, get, get_json, keys, memory, message, one_chunk, set,
    value, with_array,
};

fn parsed(document: &zarr_kit::spec::Value) -> Value {
    serde_json::from_str(&document.to_string()).unwrap()
}

/// Converts an array document of the draft to final v3.
fn converted(document: &Value) -> Result<Value, Error> {
    let context = context();
    let source = array(&with_array(document), &context)?;
    let metadata = convert_metadata(source.metadata(), Format::V3, context.registry())?;
    Ok(parsed(&v3::array_document(&metadata).unwrap()))
}

/// Creates the same array in a hierarchy of v3, with copies of the encoded chunks.
fn with_same_chunks(path: &str, source: &Array) -> Array {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3).unwrap();
    let metadata = convert_metadata(source.metadata(), Format::V3, context().registry()).unwrap();
    let target = hierarchy.prepare_array(path, metadata).unwrap();
    for index in source.stored_chunks().unwrap() {
        target.write_encoded_chunk(&index, &source.read_encoded_chunk(&index).unwrap().unwrap()).unwrap();
    }
    hierarchy.publish_array(&target).unwrap();
    hierarchy.array(path).unwrap()
}

fn bytes(order: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": order}})
}

/// Tests DX-MAP-01, DX-MAP-02.
#[test]
fn keys_change_and_implicit_groups_are_written() {
    for separator in ["/", "."] {
        let grid = json!({"type": "regular", "chunk_shape": [1, 2], "separator": separator});
        let document = array_document(json!({"shape": [2, 4], "data_type": "uint8", "chunk_grid": grid}));
        let store = super::support::draft(&[("meta/g/h/a.array.json", document)]);
        let key = |chunk: &str| format!("data/g/h/a/c{}", chunk.replace('/', separator));
        set(&*store, &key("0/0"), &[1, 2]);
        set(&*store, &key("1/1"), &[3, 4]);
        let source = super::support::open(&store, &context()).array("/g/h/a").unwrap();
        let target = with_same_chunks("/g/h/a", &source);
        assert_eq!(target.read_values::<u8>(&Selection::All).unwrap(), [1, 2, 0, 0, 0, 0, 3, 4]);
        let store = Arc::clone(target.hierarchy().store());
        let chunk = |index: &str| format!("g/h/a/c{separator}{}", index.replace('/', separator));
        let mut wanted = vec![
            chunk("0/0"),
            chunk("1/1"),
            "g/h/a/zarr.json".into(),
            "g/h/zarr.json".into(),
            "g/zarr.json".into(),
        ];
        wanted.push("zarr.json".into());
        assert_eq!(keys(&*store), wanted);
        assert_eq!(get_json(&*store, "g/h/zarr.json")["node_type"], "group");
        let encoding = json!({"name": "default", "configuration": {"separator": separator}});
        assert_eq!(get_json(&*store, "g/h/a/zarr.json")["chunk_key_encoding"], encoding);
    }
}

/// Tests DX-MAP-03, DX-MAP-04, DX-MAP-05.
#[test]
fn layout_and_byte_order_become_codecs_that_produce_the_same_bytes() {
    let endian = |order: &str| json!({"type": ENDIAN, "configuration": {"endian": order}});
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let old_gzip = json!({"type": GZIP, "configuration": {"level": 1}});
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    for (layout, codecs, wanted) in [
        ("C", json!([]), json!([bytes("little")])),
        ("C", json!([endian("little")]), json!([bytes("little")])),
        ("C", json!([endian("big")]), json!([bytes("big")])),
        ("F", json!([]), json!([transpose, bytes("little")])),
        ("F", json!([endian("big"), old_gzip]), json!([transpose, bytes("big"), gzip])),
        ("C", json!([old_gzip]), json!([bytes("little"), gzip])),
    ] {
        let document = one_chunk(&[2, 3], "int16", json!({"chunk_memory_layout": layout, "codecs": codecs}));
        assert_eq!(converted(&document).unwrap()["codecs"], wanted, "{layout} {codecs}");
        let source = array(&with_array(&document), &context()).unwrap();
        source.write_values::<i16>(&Selection::All, &[1, 2, 3, 4, 5, 258]).unwrap();
        let target = with_same_chunks("/a", &source);
        assert_eq!(
            target.read_values::<i16>(&Selection::All).unwrap(),
            [1, 2, 3, 4, 5, 258],
            "{layout} {codecs}"
        );
    }
}

/// Tests DX-MAP-08, DX-MAP-10.
#[test]
fn conversion_to_v3_drops_only_ignorable_metadata() {
    let datetime = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
    let data_type = json!({"extension": datetime, "type": "<M8[ns]", "fallback": ["int64"]});
    let ignorable = json!({"extension": "https://e.org/x/1", "must_understand": false});
    let document = array_document(json!({"data_type": data_type, "extensions": [ignorable]}));
    let v3 = converted(&document).unwrap();
    let wanted = json!({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}});
    assert_eq!(v3["data_type"], wanted);
    assert!(v3.get("extensions").is_none() && v3.get("fallback").is_none(), "{v3}");

    // Unknown types cannot be named in v3, and extensions that must be understood are not dropped.
    let registry = context().registry().clone();
    for change in [
        json!({"data_type": {"extension": "https://e.org/t/1", "type": "q", "fallback": "int64"}}),
        json!({"extensions": [{"extension": "https://e.org/x/1", "must_understand": true}]}),
    ] {
        let document = value(&array_document(change));
        let generation = zarr_kit::metadata::draft::Generation::B;
        let reading = Reading::new(Mode::Strict);
        let source = zarr_kit::metadata::draft::parse_array(&document, generation, &reading).unwrap();
        let error = message(convert_metadata(&source, Format::V3, &registry));
        assert!(error.contains("https://e.org/"), "{error}");
    }
}

/// Tests DX-MAP-09.
#[test]
fn fill_values_keep_their_bits() {
    for (data_type, fill, wanted) in [
        ("float32", json!("0x7fc00001"), json!("0x7fc00001")),
        ("float32", json!("0x7fc00000"), json!("NaN")),
        ("float32", json!("+Infinity"), json!("Infinity")),
        ("float64", json!("-Infinity"), json!("-Infinity")),
        ("float16", json!("0b0111111000000001"), json!("0x7e01")),
        ("float16", json!("0b0011110000000000"), json!(1.0)),
        ("complex64", json!(["+Infinity", "0x7fc00001"]), json!(["Infinity", "0x7fc00001"])),
        ("int16", json!("0xfffe"), json!(-2)),
    ] {
        let document = array_document(json!({"data_type": data_type, "fill_value": fill}));
        assert_eq!(converted(&document).unwrap()["fill_value"], wanted, "{data_type} {fill}");
        let source = array(&with_array(&document), &context()).unwrap();
        let target = with_same_chunks("/a", &source);
        let elements = |array: &Array| array.read(&Selection::All).unwrap().bytes().to_vec();
        assert_eq!(elements(&target), elements(&source), "{data_type} {fill}");
    }
}

/// Returns the document `ZA` of the ledger of v2.
fn za() -> Value {
    json!({
        "zarr_format": 2,
        "shape": [4],
        "chunks": [2],
        "dtype": "<i4",
        "compressor": null,
        "fill_value": 0,
        "order": "C",
        "filters": null,
    })
}

/// Tests D3-ARR-13.
#[test]
fn members_of_v2_have_other_names_in_the_draft() {
    let context = context();
    let reading = Reading::new(Mode::Strict);
    let source = v2::parse_array(&value(&za()), None, &reading).unwrap();
    let draft = convert_metadata(&source, Format::V3Draft, context.registry()).unwrap();
    let document = parsed(&zarr_kit::metadata::draft::array_document(&draft).unwrap());
    let separator = document["chunk_grid"]["separator"].clone();
    let mut wanted = array_document(json!({}));
    wanted["chunk_grid"]["separator"] = separator;
    assert_eq!(document, wanted);
    let back = convert_metadata(&draft, Format::V2, context.registry()).unwrap();
    let mut written = parsed(&v2::array_document(&back).unwrap());
    written.as_object_mut().unwrap().remove("dimension_separator");
    assert_eq!(written, za());
    assert_eq!(back.attributes, Object::new());

    for (name, member) in za().as_object().unwrap() {
        if name == "shape" || name == "fill_value" {
            continue;
        }
        let error = message(array(&with_array(&array_document(json!({name: member}))), &context));
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
    assert!(array(&with_array(&wanted), &context).is_ok());
}

#[test]
fn text_in_order_f_uses_the_transpose_codec_in_the_draft() {
    let context = context();
    let mut document = za();
    for (name, member) in [
        ("shape", json!([2, 3])),
        ("chunks", json!([2, 3])),
        ("dtype", json!("|O")),
        ("order", json!("F")),
        ("fill_value", json!("")),
        ("filters", json!([{"id": "vlen-utf8"}])),
    ] {
        document[name] = member;
    }
    let source = v2::parse_array(&value(&document), None, &Reading::new(Mode::Strict)).unwrap();
    let draft = convert_metadata(&source, Format::V3Draft, context.registry()).unwrap();
    let document = parsed(&zarr_kit::metadata::draft::array_document(&draft).unwrap());
    assert_eq!(document["chunk_memory_layout"], "C");
    let store = with_array(&document);
    let text = ["a", "b", "c", "d", "e", "f"];
    array(&store, &context).unwrap().write_values(&Selection::All, &text).unwrap();
    let read = array(&store, &context).unwrap().read(&Selection::All).unwrap();
    assert_eq!(read.strings().unwrap(), text);
    let letters = get(&*store, "data/a/c0.0").unwrap().into_iter().filter(u8::is_ascii_lowercase);
    assert_eq!(letters.collect::<Vec<_>>(), b"adbecf");
}
