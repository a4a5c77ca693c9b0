//! Section 5 and the text of section 9: the value of missing elements.

use std::sync::Arc;

use serde_json::json;
use zarr_kit::convert::convert_metadata;
use zarr_kit::metadata::NodeMetadata;
use zarr_kit::{ArrayBuilder, Format, Hierarchy, Selection};

use super::stored;
use super::support::{Stored, all, spec_value};

/// Tests V2-FILL-03, V2-FILL-04, V2-CONTRA-04.
#[test]
fn missing_elements_read_as_zeros_if_the_fill_value_is_null() {
    for (dtype, zeros) in
        [("<i4", 4), (">f8", 8), ("|b1", 1), ("|S3", 3), ("<U2", 8), ("<M8[s]", 8), ("|V5", 5)]
    {
        let stored = stored(&json!({"dtype": dtype, "fill_value": null, "shape": [3]})).strictly();
        let array = stored.array();
        assert!(array.fill_is_undefined(), "{dtype}");
        assert_eq!(all(&array), vec!["00"; 3 * zeros].join(" "), "{dtype}");
    }
    let fields = json!([["a", "<i2"], ["b", "|u1"]]);
    let structure = stored(&json!({"dtype": fields, "fill_value": null, "shape": [1]}));
    assert_eq!(all(&structure.array()), "00 00 00");
    let text =
        stored(&json!({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": null, "shape": [2]}));
    assert_eq!(text.array().read(&Selection::All).unwrap().strings().unwrap(), ["", ""]);
    assert!(!stored(&json!({"fill_value": 0})).array().fill_is_undefined());
}

/// Tests V2-FILL-05.
#[test]
fn without_a_fill_value_unwritten_elements_of_a_chunk_are_zero() {
    let stored = stored(&json!({"dtype": "<i2", "fill_value": null, "shape": [3]}));
    stored.array().write_values::<i16>(&Selection::parse("2", &[3]).unwrap(), &[3]).unwrap();
    assert_eq!(stored.keys(), [".zarray", "1"]);
    assert_eq!(stored.value("1"), "03 00 00 00");
}

/// Tests V2-OBJ-12.
#[test]
fn missing_text_reads_as_empty() {
    for fill in [json!(0), json!(null), json!("")] {
        let text = stored(
            &json!({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": fill, "shape": [3]}),
        );
        let elements = text.array().read(&Selection::All).unwrap();
        assert_eq!(elements.strings().unwrap(), ["", "", ""], "{fill}");
        // No element becomes `"0"`, even in a partially written chunk.
        text.array().write_values(Selection::parse("0", &[3]).unwrap(), &["a"]).unwrap();
        assert_eq!(text.value("0"), "02 00 00 00 01 00 00 00 61 00 00 00 00");
        assert_eq!(text.array().read(&Selection::All).unwrap().strings().unwrap(), ["a", "", ""]);
    }
}

/// Tests V2-FILL-09.
#[test]
fn the_fill_value_of_a_structure_uses_the_byte_order_of_its_fields() {
    let rgb = json!([["r", "|u1"], ["g", "<u2"], ["b", "<f4"]]);
    let read = stored(&json!({"dtype": rgb, "fill_value": "AQIAAABAQA==", "shape": [1]})).strictly();
    assert_eq!(all(&read.array()), "01 02 00 00 00 40 40");
    let zeros = stored(&json!({"dtype": rgb, "fill_value": "AAAAAAAAAA==", "shape": [1]})).strictly();
    assert_eq!(all(&zeros.array()), "00 00 00 00 00 00 00");
    for wrong in [json!(0), json!([0, 0])] {
        assert!(
            stored(&json!({"dtype": rgb, "fill_value": wrong})).error().contains("`fill_value`"),
            "{wrong}"
        );
    }
    // Each field is stored in its own byte order: 1, 2 and 3.0 as `01`, `00 02` and `40 40 00 00`.
    let mixed = json!([["r", "|u1"], ["g", ">u2"], ["b", ">f4"]]);
    let array = stored(&json!({"dtype": mixed, "fill_value": "AQACQEAAAA==", "shape": [1]})).strictly();
    assert_eq!(all(&array.array()), "01 02 00 00 00 40 40");
    let created = Stored::new();
    let hierarchy = Hierarchy::create(Arc::clone(&created.store), &created.context, Format::V2).unwrap();
    for (name, dtype, fill) in [("little", &rgb, "AQIAAABAQA=="), ("big", &mixed, "AQACQEAAAA==")] {
        let builder = ArrayBuilder::new([1], spec_value(dtype)).fill_value(fill);
        let array = hierarchy.create_array(name, &builder).unwrap();
        assert_eq!(all(&array), "01 02 00 00 00 40 40");
        let document = created.document(&format!("{name}/.zarray"));
        assert_eq!((&document["dtype"], &document["fill_value"]), (dtype, &json!(fill)));
        assert_eq!(all(&hierarchy.array(name).unwrap()), "01 02 00 00 00 40 40");
    }
    // Converts from v3, where a codec specifies the byte order, and back from v2, where each field does.
    let fields = json!([{"name": "r", "data_type": "uint8"}, {"name": "g", "data_type": "uint16"}]);
    for (endian, fill) in [("little", "AQIA"), ("big", "AQAC")] {
        let v3 = Stored::new().json(
            "zarr.json",
            &json!({
                "zarr_format": 3, "node_type": "array", "shape": [1],
                "data_type": {"name": "struct", "configuration": {"fields": fields}},
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
                "chunk_key_encoding": "default", "fill_value": {"r": 1, "g": 2},
                "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
            }),
        );
        let registry = v3.context.registry();
        let as_v2 = convert_metadata(v3.array().metadata(), Format::V2, registry).unwrap();
        assert_eq!(as_v2.fill_value.as_str(), Some(fill), "{endian}");
        let as_draft = convert_metadata(&as_v2, Format::V3Draft, registry).unwrap();
        assert_eq!(as_draft.fill_value.as_str(), Some(fill), "{endian}");
        let again = convert_metadata(&as_draft, Format::V3, registry).unwrap();
        assert_eq!(again.fill_value.to_string(), r#"{"r":1,"g":2}"#, "{endian}");
        let NodeMetadata::Array(metadata) = v3.open().metadata("").unwrap() else {
            panic!("expected an array")
        };
        assert_eq!(metadata.codecs, again.codecs);
    }
}
