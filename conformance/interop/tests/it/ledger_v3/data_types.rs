//! `data-types.md`: fill values in whole arrays, and raw bits.

use serde_json::{Value, json};
use zarr_kit::Selection;

use super::stored;
use super::support::{all, hex, to_hex};

/// Returns types, fill values, and their bits as little endian bytes.
fn fills() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("float32", json!("0x7fc00001"), "01 00 c0 7f"),
        ("float32", json!("0x7f800001"), "01 00 80 7f"),
        ("float32", json!("NaN"), "00 00 c0 7f"),
        ("float32", json!(-0.0), "00 00 00 80"),
        ("float64", json!("0xfff8000000000000"), "00 00 00 00 00 00 f8 ff"),
        ("float16", json!("0xfe00"), "00 fe"),
        ("complex64", json!(["0x7fc00001", -0.0]), "01 00 c0 7f 00 00 00 80"),
        ("int16", json!(-2), "fe ff"),
        ("uint64", json!(u64::MAX), "ff ff ff ff ff ff ff ff"),
        ("bool", json!(true), "01"),
        ("r24", json!([1, 2, 3]), "01 02 03"),
    ]
}

/// Tests DT-G-02.
#[test]
fn missing_elements_have_exactly_the_bits_of_the_fill_value() {
    for (data_type, fill, bits) in fills() {
        for endian in ["little", "big"] {
            let bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
            let shard = json!({"name": "sharding_indexed", "configuration": {
                "chunk_shape": [1], "codecs": [bytes], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            }});
            let members =
                |codecs| json!({"data_type": data_type, "shape": [2], "fill_value": fill, "codecs": codecs});
            let empty = stored(&members(json!([bytes]))).strictly();
            assert_eq!(all(&empty.array()), format!("{bits} {bits}"), "{data_type} {fill} {endian}");
            // First the whole shard is missing, then only its first inner chunk.
            let size = hex(bits).len();
            let index = [[u64::MAX, u64::MAX], [0, size as u64]].concat();
            let index: Vec<u8> = index.into_iter().flat_map(u64::to_le_bytes).collect();
            let value = [vec![0; size], index].concat();
            let shard = stored(&members(json!([shard])));
            assert_eq!(all(&shard.array()), format!("{bits} {bits}"));
            shard.set("c/0", value);
            assert_eq!(
                all(&shard.array()),
                format!("{bits} {}", to_hex(&vec![0; size])),
                "{data_type} {fill}"
            );
        }
    }
}

/// Tests DT-G-03.
#[test]
fn a_chunk_is_omitted_only_if_its_bits_equal_the_fill_value() {
    let is_stored = |fill: Value, bits: u32| {
        let array = stored(&json!({"data_type": "float32", "shape": [2], "fill_value": fill}));
        array.array().write_values::<f32>(&Selection::All, &[f32::from_bits(bits); 2]).unwrap();
        assert_eq!(all(&array.array()), to_hex(&[bits.to_le_bytes(); 2].concat()));
        array.has("c/0")
    };
    assert!(is_stored(json!(0.0), 0x8000_0000));
    assert!(!is_stored(json!(0.0), 0));
    assert!(is_stored(json!("0x7fc00001"), 0x7fc0_0000));
    assert!(!is_stored(json!("0x7fc00001"), 0x7fc0_0001));
    assert!(!is_stored(json!("NaN"), 0x7fc0_0000));
}

/// Tests DT-ID-11, V3-CONTRA-08.
#[test]
fn raw_bits_are_read_by_both_names() {
    let r16 = json!({"data_type": "r16", "fill_value": [0, 255], "codecs": ["bytes"]});
    // The form that zarr-python 3.1.6 writes.
    let raw = json!({"name": "raw_bytes", "configuration": {"length_bytes": 2}});
    let raw = json!({"data_type": raw, "fill_value": "AP8=", "codecs": [{"name": "bytes"}]});
    for members in [r16, raw] {
        let stored = stored(&members).with("c/0", hex("0102 0304"));
        assert_eq!(all(&stored.array()), "01 02 03 04 00 ff 00 ff");
        assert!(stored.array().fallback().is_none());
        stored.array().write(Selection::parse("2:", &[4]).unwrap(), &[5, 6, 7, 8]).unwrap();
        assert_eq!(stored.value("c/1"), "05 06 07 08");
    }
    // Raw bits do not replace other types, and v3 does not have fallbacks.
    let fallback = json!({"name": "int16", "fallback": "r16"});
    assert!(stored(&json!({"data_type": fallback})).strictly().error().contains("`fallback`"));
    let nope = json!({"name": "nope", "fallback": ["r16"]});
    assert!(stored(&json!({"data_type": nope})).error().contains("data type `nope` is unknown"));
}

/// Tests EX-TYPE-10.
#[test]
fn invalid_elements_are_not_written() {
    let text = json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}});
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let members =
        |fill: &str, codec: &Value| json!({"data_type": text, "fill_value": fill, "codecs": [codec]});
    let smile = "00 f6 01 00 00 00 00 00";
    for fill in ["\u{1f600}", "\u{1f600}\0"] {
        let stored = stored(&members(fill, &little)).strictly();
        assert_eq!(all(&stored.array()), [smile; 4].join(" "));
    }
    assert_eq!(all(&stored(&members("", &little)).strictly().array()), vec!["00"; 32].join(" "));
    assert!(stored(&members("foo", &little)).error().contains("`fill_value`"));
    assert!(
        stored(&members("", &json!("bytes"))).strictly().error().contains("lacks `endian`, the byte order")
    );
    // A surrogate, and a value above the last code point.
    for wrong in ["00d80000 00000000", "61000000 00001100"] {
        let stored = stored(&members("", &little)).with("c/0", hex(&format!("{wrong} 62000000 00000000")));
        let array = stored.array();
        // The invalid element is printed as bytes and cannot be converted to text.
        let elements = array.read(&Selection::All).unwrap();
        assert_eq!(
            (elements.print(0).unwrap(), elements.print(1).unwrap()),
            (wrong.replace(' ', ""), "b".to_owned())
        );
        let order = zarr_kit::spec::ByteOrder::Little;
        assert!(
            array.data_type().fill_value_json(elements.element(0), zarr_kit::Format::V3, &order).is_err()
        );
        assert!(elements.strings().is_err());
        let error =
            array.write(Selection::parse("3", &[4]).unwrap(), elements.element(0)).unwrap_err().to_string();
        assert!(error.contains("is not a Unicode code point"), "{error}");
        assert!(!stored.has("c/1"));
    }
    // The fields of a structure are checked, too: 2 is not a bool.
    let fields = json!([{"name": "a", "data_type": "bool"}, {"name": "b", "data_type": "uint8"}]);
    let structure = json!({"name": "struct", "configuration": {"fields": fields}});
    let stored =
        stored(&json!({"data_type": structure, "fill_value": {"a": true, "b": 7}, "codecs": ["bytes"]}));
    let one = Selection::parse("0", &[4]).unwrap();
    let error = stored.array().write(&one, &[2, 2]).unwrap_err().to_string();
    assert!(error.contains("field `a`: byte 2 is neither false nor true"), "{error}");
    stored.array().write(&one, &[0, 2]).unwrap();
    assert_eq!(stored.value("c/0"), "00 02 01 07");
}

#[test]
fn fields_are_normalized_like_elements() {
    let field = |name: &str, data_type: &Value| json!({"name": name, "data_type": data_type});
    let structure = |fields: &[Value]| json!({"name": "struct", "configuration": {"fields": fields}});
    let inner = structure(&[field("c", &json!("uint8")), field("d", &json!("bool"))]);
    let fields = [field("a", &json!("bool")), field("b", &json!("int4")), field("s", &inner)];
    let fill = json!({"a": false, "b": 0, "s": {"c": 0, "d": false}});
    let members = json!({"data_type": structure(&fields), "fill_value": fill, "codecs": ["bytes"]});
    let stored = stored(&members).with("c/0", hex("02 18 02 ff  00 0f 00 00"));
    let array = stored.array();
    let first = Selection::parse("0:2", &[4]).unwrap();
    let elements = array.read(&first).unwrap();
    assert_eq!(elements.bytes(), hex("01 f8 02 01  00 ff 00 00"));
    assert_eq!(elements.print(0).unwrap(), "{a: true, b: -8, s: {c: 2, d: true}}");
    array.write(Selection::parse("1", &[4]).unwrap(), &[1, 1, 1, 1]).unwrap();
    assert_eq!(stored.value("c/0"), "01 f8 02 01 01 01 01 01");

    // Ignored bits are accepted in every mode; an invalid bool is an error in strict mode.
    let strict = stored.strictly();
    for (value, field) in [("02 18 00 00", "a"), ("01 18 00 02", "s")] {
        strict.set("c/0", hex(&format!("{value} 00 00 00 00")));
        let error = strict.array().read(&first).unwrap_err().to_string();
        let inner = if field == "s" { "field `d`: " } else { "" };
        assert_eq!(error, format!("/: field `{field}`: {inner}byte 2 is neither false nor true"));
    }
    strict.set("c/0", hex("01 18 02 01 00 00 00 00"));
    assert_eq!(strict.array().read(&first).unwrap().element(0), hex("01 f8 02 01"));
}

/// Tests DT-ID-10.
#[test]
fn raw_bits_are_exchanged_with_zarrs() {
    let folder = tempfile::tempdir().unwrap();
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"r16","fill_value":[7,8],
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}"#;
    std::fs::write(folder.path().join("zarr.json"), document).unwrap();
    let store = zarrs::filesystem::FilesystemStore::new(folder.path()).unwrap();
    let theirs = zarrs::array::Array::open(std::sync::Arc::new(store), "/").unwrap();
    theirs.store_array_subset(&theirs.subset_all(), &[[1u8, 2], [7, 8], [255, 0]]).unwrap();

    let context = zarr_kit::Context::linked().unwrap();
    let store = zarr_kit::open_store(context.registry(), folder.path().to_str().unwrap()).unwrap();
    let ours = zarr_kit::Hierarchy::open(store, &context).unwrap().array("/").unwrap();
    assert_eq!(ours.read(&Selection::All).unwrap().bytes(), [1, 2, 7, 8, 255, 0]);
    assert_eq!(ours.fill_value().bytes(), [7, 8]);
    ours.write(Selection::parse("1:", &[3]).unwrap(), &[9, 10, 7, 8]).unwrap();
    let again: Vec<[u8; 2]> = theirs.retrieve_array_subset(&theirs.subset_all()).unwrap();
    assert_eq!(again, [[1, 2], [9, 10], [7, 8]]);
}
