//! Section 6, and the stored values.

use serde_json::json;
use zarr_kit::Selection;

use super::stored;
use super::support::{Stored, all, hex, reading_fails};
use super::za;

/// Tests V2-STORE-04, V2-CHUNK-12, V2-ARR-23.
#[test]
fn a_value_may_hold_any_bytes_but_must_have_the_size_of_a_chunk() {
    let bytes = hex("00 ff 0a 7b 22 80 fe 01");
    let array = stored(&json!({})).with("0", &bytes).with("1", [0xff; 8]).array();
    assert_eq!(all(&array), "00 ff 0a 7b 22 80 fe 01 ff ff ff ff ff ff ff ff");
    assert_eq!(array.chunk_size(&[0]).unwrap(), Some(8));
    // An empty value is a chunk of the wrong size, not a missing one.
    for short in [&bytes[..0], &bytes[..4], &bytes[..7], &hex("00 ff 0a 7b 22 80 fe 01 00")] {
        let array = stored(&json!({})).with("0", short).array();
        assert!(reading_fails(&array).contains("key `0`"), "{}", reading_fails(&array));
        assert!(array.read_chunk(&[0]).is_err());
        assert!(array.read_values::<i32>(&Selection::parse("1", &[4]).unwrap()).is_err());
    }
    // The last chunk has the same length as all others, although part of it is outside the array.
    let edge = stored(&json!({"shape": [3]})).with("1", hex("01000000 02000000"));
    assert_eq!(edge.array().read_chunk(&[1]).unwrap().as_slice::<i32>().unwrap()[..], [1, 2]);
    let short = stored(&json!({"shape": [3]})).with("1", hex("01000000"));
    assert!(reading_fails(&short.array()).contains("key `1`"));
}

/// Tests V2-ARR-01.
#[test]
fn an_array_exists_where_a_zarray_document_is() {
    let group =
        Stored::new().json(".zgroup", &json!({"zarr_format": 2})).json("a/b/.zarray", &za(&json!({})));
    let hierarchy = group.open();
    assert_eq!(hierarchy.array("a/b").unwrap().shape(), [4]);
    assert_eq!(stored(&json!({})).array().shape(), [4]);
    for path in ["a", "a/b/c", "c"] {
        assert!(hierarchy.array(path).is_err(), "{path}");
    }
    let elsewhere = Stored::new().json("zarray", &za(&json!({}))).with("0", [0; 8]);
    assert!(elsewhere.try_open().is_err());
}

/// Tests V2-CHUNK-05, V2-CHUNK-06.
#[test]
fn missing_chunks_read_as_the_fill_value() {
    let empty = stored(&json!({"fill_value": 7, "shape": [3], "dtype": "<i2"}));
    assert_eq!(all(&empty.array()), "07 00 07 00 07 00");
    let selection = Selection::parse("2", &[3]).unwrap();
    empty.array().write_values::<i16>(&selection, &[9]).unwrap();
    assert_eq!(empty.keys(), [".zarray", "1"]);
    assert_eq!(all(&empty.array()), "07 00 07 00 09 00");
    assert_eq!(empty.array().stored_chunks().unwrap(), [[1]]);
}

/// Tests V2-CHUNK-07, V2-CHUNK-08.
#[test]
fn edge_chunks_are_whole_and_padded_with_the_fill_value() {
    let edge = stored(&json!({"fill_value": 7, "shape": [3], "dtype": "<i2"}));
    edge.array().write_values::<i16>(&Selection::All, &[1, 2, 3]).unwrap();
    assert_eq!(edge.value("0"), "01 00 02 00");
    assert_eq!(edge.value("1"), "03 00 07 00");
    // The elements outside the array may have any value.
    edge.set("1", hex("03 00 ff ff"));
    assert_eq!(all(&edge.array()), "01 00 02 00 03 00");
    edge.set("1", hex("03 00"));
    assert!(reading_fails(&edge.array()).contains("key `1`"));
    // Without a fill value, the padding is zeros.
    let undefined = stored(&json!({"fill_value": null, "shape": [3], "dtype": "<i2"}));
    undefined.array().write_values::<i16>(&Selection::All, &[1, 2, 3]).unwrap();
    assert_eq!(undefined.value("1"), "03 00 00 00");
}

/// Tests V2-CHUNK-09, V2-CHUNK-10, V2-CHUNK-13.
#[test]
fn order_byte_order_and_separator_determine_bytes_and_keys() {
    let elements: Vec<i16> = (0..6).collect();
    let write = |members| {
        let grid = json!({"shape": [2, 3], "chunks": [2, 2], "fill_value": 0});
        let stored = Stored::new().json(".zarray", &super::support::changed(za(&grid), &members));
        stored.array().write_values::<i16>(&Selection::All, &elements).unwrap();
        assert_eq!(stored.array().read_values::<i16>(&Selection::All).unwrap(), elements);
        stored
    };
    let f = write(json!({"dtype": "<i2", "order": "F"}));
    assert_eq!(f.value("0.0"), "00 00 03 00 01 00 04 00");
    assert_eq!(f.value("0.1"), "02 00 05 00 00 00 00 00");
    let c = write(json!({"dtype": "<i2", "order": "C"}));
    assert_eq!(c.value("0.0"), "00 00 01 00 03 00 04 00");
    let big = write(json!({"dtype": ">i2", "dimension_separator": "/"}));
    assert_eq!(big.value("0/0"), "00 00 00 01 00 03 00 04");
    assert_eq!(big.keys(), [".zarray", "0/0", "0/1"]);
    let below = Stored::new().json(".zgroup", &json!({"zarr_format": 2}));
    let below =
        below.json("x/.zarray", &za(&json!({"shape": [2, 3], "chunks": [2, 2], "dimension_separator": "/"})));
    let array = below.open().array("x").unwrap();
    array.write_values::<i32>(&Selection::All, &[1; 6]).unwrap();
    assert_eq!(below.keys(), [".zgroup", "x/.zarray", "x/0/0", "x/0/1"]);
}

/// Tests V2-CHUNK-11.
#[test]
fn the_value_is_exactly_the_output_of_the_compressor() {
    // 24 bytes of int32 0 to 5, written by zlib at level 1.
    let zlib = hex("780163606060600462262066066216206605620000a40010");
    let members = json!({"shape": [6], "chunks": [6], "compressor": {"id": "zlib", "level": 1}});
    let compressed = stored(&members).with("0", &zlib);
    assert_eq!(compressed.array().read_values::<i32>(&Selection::All).unwrap(), [0, 1, 2, 3, 4, 5]);
    let written = stored(&members);
    written.array().write_values::<i32>(&Selection::All, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert!(written.value("0").starts_with("78 01"), "{}", written.value("0"));
    // An additional byte at the start, like a header, is an error.
    let headed = stored(&members).with("0", [&[0], &zlib[..]].concat());
    assert!(reading_fails(&headed.array()).contains("codec `zlib`"));
    // With only filters, the value is the output of the last filter.
    let shuffled =
        stored(&json!({"shape": [6], "chunks": [6], "filters": [{"id": "shuffle", "elementsize": 4}]}));
    shuffled.array().write_values::<i32>(&Selection::All, &[0, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(shuffled.value("0"), format!("00 01 02 03 04 05{}", " 00".repeat(18)));
}

/// Tests V2-CHUNK-14.
#[test]
fn the_separator_is_never_guessed() {
    let members = json!({"shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "fill_value": 9});
    let nested = stored(&members).with("0/0", [1, 2, 3, 4]);
    assert_eq!(all(&nested.array()), "09 09 09 09");
    assert_eq!(nested.array().stored_chunks().unwrap(), [[0u64; 2]; 0]);
    nested.set("0.0", [5, 6, 7, 8]);
    assert_eq!(all(&nested.array()), "05 06 07 08");
}

/// Tests V2-CHUNK-15.
#[test]
fn chunks_of_only_fill_values_may_be_stored_or_omitted() {
    let elements = [7, 7, 1, 7];
    let without = stored(&json!({"fill_value": 7}));
    without.array().write_values::<i32>(&Selection::All, &elements).unwrap();
    assert_eq!(without.keys(), [".zarray", "1"]);
    let with = stored(&json!({"fill_value": 7}));
    let with = Stored { context: with.context.clone().with_empty_chunks(), ..with };
    with.array().write_values::<i32>(&Selection::All, &elements).unwrap();
    assert_eq!(with.keys(), [".zarray", "0", "1"]);
    assert_eq!(with.value("0"), "07 00 00 00 07 00 00 00");
    assert_eq!(all(&with.array()), all(&without.array()));
    // A stored chunk is erased when all its elements become the fill value.
    let lean = Stored { context: without.context, ..with };
    lean.array().write_values::<i32>(&Selection::All, &[7; 4]).unwrap();
    assert_eq!(lean.keys(), [".zarray"]);
}

/// Tests V2-CHUNK-16.
#[test]
fn chunks_are_compared_with_the_fill_value_by_their_bits() {
    let write = |fill: serde_json::Value, bits: u32| {
        let stored = stored(&json!({"dtype": "<f4", "shape": [2], "fill_value": fill}));
        stored.array().write_values::<f32>(&Selection::All, &[f32::from_bits(bits); 2]).unwrap();
        assert_eq!(all(&stored.array()), super::support::to_hex(&[bits.to_le_bytes(); 2].concat()));
        stored.has("0")
    };
    assert!(!write(json!("NaN"), 0x7fc0_0000));
    assert!(write(json!("NaN"), 0x7fc0_0001));
    assert!(!write(json!(0.0), 0));
    assert!(write(json!(0.0), 0x8000_0000));
    assert!(!write(json!(-0.0), 0x8000_0000));
    assert!(write(json!(-0.0), 0));
}

/// Tests V2-CHUNK-17.
#[test]
fn resizing_erases_whole_chunks_and_keeps_partially_covered_ones() {
    let stored = stored(&json!({"shape": [5], "fill_value": 9}));
    let mut array = stored.array();
    array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4, 5]).unwrap();
    array.resize(&[3]).unwrap();
    assert_eq!(stored.document(".zarray")["shape"], json!([3]));
    assert_eq!(stored.keys(), [".zarray", "0", "1"]);
    assert_eq!(stored.value("1"), "03 00 00 00 04 00 00 00");
    array.resize(&[5]).unwrap();
    assert_eq!(stored.keys(), [".zarray", "0", "1"]);
    // zarr-python shows the fourth element again. This engine fills all new elements of an array with the
    // fill value.
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [1, 2, 3, 9, 9]);
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2, 3, 9, 9]);
}

/// Tests V2-CONTRA-03, V2-CHUNK-04.
#[test]
fn the_chunk_of_an_array_without_dimensions_has_the_key_0() {
    let members = json!({"shape": [], "chunks": []});
    let root = stored(&members);
    root.array().write_values::<i32>(&Selection::All, &[42]).unwrap();
    assert_eq!(root.keys(), [".zarray", "0"]);
    assert_eq!(root.value("0"), "2a 00 00 00");
    assert_eq!(all(&root.array()), "2a 00 00 00");
    let below = Stored::new().json(".zgroup", &json!({"zarr_format": 2})).json("a/b/.zarray", &za(&members));
    let below = below.with("a/b/0", hex("2a 00 00 00")).with("a/b/c", hex("2b 00 00 00"));
    assert_eq!(all(&below.open().array("a/b").unwrap()), "2a 00 00 00");
}

/// Tests V2-STRUCT-13.
#[test]
fn a_sub_array_is_not_a_data_type_of_an_array() {
    let folded = stored(&json!({"shape": [2, 3], "chunks": [2, 3], "dtype": "<i2"}));
    let folded = folded.with("0.0", hex("0100 0200 0300 0400 0500 0600"));
    assert_eq!(folded.array().read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3, 4, 5, 6]);
    let unfolded = stored(&json!({"shape": [2], "chunks": [2], "dtype": ["<i2", [3]]}));
    assert!(unfolded.error().contains("is not a field"), "{}", unfolded.error());
}
