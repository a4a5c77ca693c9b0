//! `data-types.md`: fill values in whole arrays, and raw bits.

use serde_json::{Value, json};
use zarr_kit::Selection;

use crate::stored;
use crate::support::{all, hex, to_hex};

/// Types, fill values, and their bits as little endian bytes.
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
fn what_is_missing_has_exactly_the_bits_of_the_fill_value() {
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
            // A shard in which the first inner chunk is missing, and one that is all missing.
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
fn a_chunk_is_left_out_only_if_its_bits_are_those_of_the_fill_value() {
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
fn raw_bits_are_read_under_both_names() {
    let r16 = json!({"data_type": "r16", "fill_value": [0, 255], "codecs": ["bytes"]});
    // As zarr-python 3.1.6 writes it.
    let raw = json!({"name": "raw_bytes", "configuration": {"length_bytes": 2}});
    let raw = json!({"data_type": raw, "fill_value": "AP8=", "codecs": [{"name": "bytes"}]});
    for members in [r16, raw] {
        let stored = stored(&members).with("c/0", hex("0102 0304"));
        assert_eq!(all(&stored.array()), "01 02 03 04 00 ff 00 ff");
        assert!(stored.array().fallback().is_none());
        stored.array().write(&Selection::parse("2:", &[4]).unwrap(), &[5, 6, 7, 8]).unwrap();
        assert_eq!(stored.value("c/1"), "05 06 07 08");
    }
    // They stand in for no other type, and no type of v3 has a fallback.
    let fallback = json!({"name": "int16", "fallback": "r16"});
    assert!(stored(&json!({"data_type": fallback})).strictly().error().contains("`fallback`"));
    let nope = json!({"name": "nope", "fallback": ["r16"]});
    assert!(stored(&json!({"data_type": nope})).error().contains("data type `nope` is unknown"));
}
