//! `struct`: offsets of fields, documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

#[path = "it/types.rs"]
mod types;

use zarr_conformance::data_types::Subject;
use zarr_conformance::hex;
use zarr_dtype_struct as _;
use zarr_spec::{ByteOrder, DataTypeError, Elements, Format, Mode, Units};

const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/struct/1.0";

fn subject(format: Format, mode: Mode, json: &str) -> Result<Subject, DataTypeError> {
    Subject::with_object_codec(&types::registry(), format, mode, json, None)
}

fn v2(mode: Mode, dtype: &str) -> Result<Subject, DataTypeError> {
    subject(Format::V2, mode, dtype)
}

fn v3(mode: Mode, name: &str, fields: &str) -> Result<Subject, DataTypeError> {
    subject(Format::V3, mode, &format!(r#"{{"name":"{name}","configuration":{{"fields":{fields}}}}}"#))
}

fn draft(mode: Mode, uri: &str, type_name: &str) -> Result<Subject, DataTypeError> {
    subject(Format::V3Draft, mode, &format!(r#"{{"extension":"{uri}","type":{type_name},"fallback":null}}"#))
}

/// Returns the offsets of the fields and the size of the structure.
fn places(subject: &Subject) -> (Vec<usize>, usize) {
    let fields = subject.data_type.fields().unwrap();
    (fields.iter().map(|field| field.offset).collect(), subject.data_type.elements().size().unwrap())
}

fn rewritten(subject: &Subject, format: Format) -> String {
    subject.data_type.document(format, &subject.order).unwrap().json.to_string()
}

fn refuses(subject: &Subject, fills: &[&str]) {
    for fill in fills {
        let result = subject.fill(fill);
        assert!(matches!(result, Err(DataTypeError::FillValue(_))), "{fill}: {result:?}");
    }
}

/// Tests V2-STRUCT-01, V2-STRUCT-02, V2-STRUCT-03, V2-STRUCT-08, V2-STRUCT-10.
#[test]
fn v2_lists_names_types_and_shapes() {
    for (dtype, size) in [
        (r#"[["r","|u1"],["g","|u1"],["b","|u1"]]"#, 3),
        (r#"[["x","<f4"],["z","<f4",[2,2]]]"#, 20),
        (r#"[["foo","<f4"],["bar",[["baz","<f4"],["qux","<i4"]]]]"#, 12),
    ] {
        let structure = v2(Mode::Strict, dtype).unwrap();
        assert_eq!(structure.data_type.elements().size(), Some(size));
        assert_eq!(rewritten(&structure, Format::V2), dtype);
    }
    let scalar = v2(Mode::Strict, r#"[["x","<f4",[]]]"#).unwrap();
    assert_eq!(rewritten(&scalar, Format::V2), r#"[["x","<f4"]]"#);
    for wrong in [
        r#"[["x"]]"#,
        r#"[["x","<f4",[2],1]]"#,
        r#"[[1,"<f4"]]"#,
        r#"[["x",5]]"#,
        r#"[["r","|u1"],["r","|u1"]]"#,
        r#"["x","<f4"]"#,
        r#"[["x","<f4",[-1]]]"#,
        r#"[["x","<f4",[1.5]]]"#,
        r#"[["x","<f4",null]]"#,
        r#"[["x","<f3"]]"#,
        r#"[["x","<f2"]]"#,
        r#"[["x",[["y","nope"]]]]"#,
    ] {
        assert!(v2(Mode::Lenient, wrong).is_err(), "{wrong}");
    }
}

/// Tests V2-STRUCT-04, V2-STRUCT-05, V2-STRUCT-07, V2-STRUCT-12.
#[test]
fn fields_are_packed_in_their_own_byte_orders() {
    let sub_array = v2(Mode::Strict, r#"[["x","<f4"],["z","<i2",[2,2]]]"#).unwrap();
    assert_eq!(places(&sub_array), (vec![0, 4], 12));
    let element = sub_array.fill("\"AACAPwEAAgADAAQA\"").unwrap();
    assert_eq!(sub_array.stored(&element, &sub_array.order), hex("0000803f 0100 0200 0300 0400"));
    assert_eq!(sub_array.print(&element), "{x: 1.0, z: [1, 2, 3, 4]}");
    let packed = v2(Mode::Strict, r#"[["r","|u1"],["g","<u2"],["b","<f4"]]"#).unwrap();
    assert_eq!(places(&packed), (vec![0, 1, 3], 7));
    let element = packed.fill("\"AQIAAABAQA==\"").unwrap();
    assert_eq!(packed.stored(&element, &ByteOrder::Little), hex("01 0200 00004040"));
    assert_eq!(packed.print(&element), "{r: 1, g: 2, b: 3.0}");
    let mixed = v2(Mode::Strict, r#"[["a","<i2"],["b",">i2",[2]],["c","|u1"]]"#).unwrap();
    assert_eq!(mixed.order, ByteOrder::Mixed([false, true, true].into()));
    let element = mixed.fill("\"AQAAAgADBA==\"").unwrap();
    assert_eq!(mixed.print(&element), "{a: 1, b: [2, 3], c: 4}");
    assert_eq!(mixed.stored(&element, &mixed.order), hex("0100 0002 0003 04"));
    assert_eq!(rewritten(&mixed, Format::V2), r#"[["a","<i2"],["b",">i2",[2]],["c","|u1"]]"#);
    let nested = v2(Mode::Strict, r#"[["a",[["b","<i4"],["c",">i2"]],[2]],["d",">i2"]]"#).unwrap();
    assert_eq!(places(&nested), (vec![0, 12], 14));
    assert_eq!(nested.order, ByteOrder::Mixed([false, true, false, true, true].into()));
    assert_eq!(rewritten(&nested, Format::V2), r#"[["a",[["b","<i4"],["c",">i2"]],[2]],["d",">i2"]]"#);
    v2(Mode::Strict, r#"[["a",[["b","<i4"]],[2]]]"#).unwrap();
}

/// Tests V2-STRUCT-06, V2-STRUCT-09, V2-STRUCT-11, V2-STRUCT-14.
#[test]
fn padding_short_shapes_and_all_kinds_of_fields() {
    let padded = v2(Mode::Strict, r#"[["a","|u1"],["","|V7"],["b","<f8"],["","|V1"]]"#).unwrap();
    assert_eq!(places(&padded), (vec![0, 1, 8, 16], 17));
    assert_eq!(padded.print(&[0; 17]), "{a: 0, b: 0.0}");
    assert_eq!(rewritten(&padded, Format::V2), r#"[["a","|u1"],["","|V7"],["b","<f8"],["","|V1"]]"#);
    v2(Mode::Strict, r#"[["x","<f4",2]]"#).unwrap_err();
    let short = v2(Mode::Lenient, r#"[["x","<f4",2]]"#).unwrap();
    assert_eq!(short.warnings.len(), 1);
    assert_eq!(rewritten(&short, Format::V2), r#"[["x","<f4",[2]]]"#);
    let empty = v2(Mode::Lenient, "[]").unwrap();
    assert_eq!(empty.data_type.elements().size(), Some(0));
    for format in Format::ALL {
        let error = empty.data_type.document(format, &empty.order).unwrap_err();
        assert!(matches!(error, DataTypeError::NotInFormat { .. }));
    }
    let kinds = v2(Mode::Strict, r#"[["a","<M8[ns]"],["b","|S2"],["c","<U2"],["d","|b1"]]"#).unwrap();
    assert_eq!(places(&kinds), (vec![0, 8, 10, 18], 19));
    let Elements::Fixed { units: Units::Fields(units), .. } = kinds.data_type.elements() else {
        panic!("it has numbers of several sizes");
    };
    assert_eq!(
        units.iter().map(|unit| (unit.offset, unit.size)).collect::<Vec<_>>(),
        [(0, 8), (10, 4), (14, 4)]
    );
}

/// Tests V2-FILL-09, V2-FILL-10.
#[test]
fn fill_values_of_v2_are_base64_of_the_stored_element() {
    let packed = v2(Mode::Strict, r#"[["r","|u1"],["g","<u2"],["b","<f4"]]"#).unwrap();
    packed.check(&types::registry(), &["\"AQIAAABAQA==\"", "\"AAAAAAAAAA==\""]).unwrap();
    assert_eq!(packed.fill("\"AAAAAAAAAA==\"").unwrap(), [0; 7]);
    refuses(&packed, &["0", "[0,0]", "\"AQIAAABAQA\"", "null", "{\"r\":1,\"g\":2,\"b\":3}"]);
    let four = r#"[["a","<i4"]]"#;
    refuses(&v2(Mode::Strict, four).unwrap(), &["\"AQAAAAA=\"", "\"AQA=\""]);
    let lenient = v2(Mode::Lenient, four).unwrap();
    for fill in ["\"AQAAAAA=\"", "\"AQA=\""] {
        let (element, warnings) = lenient.fill_and_warnings(fill).unwrap();
        assert_eq!((lenient.print(&element), warnings.len()), ("{a: 1}".to_owned(), 1));
    }
    let big = v2(Mode::Strict, r#"[["a",">i4"],["b","<i2"]]"#).unwrap();
    big.check(&types::registry(), &["\"AAAAAQIA\""]).unwrap();
    let element = big.fill("\"AAAAAQIA\"").unwrap();
    assert_eq!(big.print(&element), "{a: 1, b: 2}");
    // In a document with another byte order, the same element has other bytes.
    for (order, fill) in [(ByteOrder::Little, "AQAAAAIA"), (ByteOrder::Big, "AAAAAQAC")] {
        for format in [Format::V2, Format::V3Draft] {
            let json = big.data_type.fill_value_json(&element, format, &order).unwrap();
            assert_eq!(json.as_str(), Some(fill));
        }
        let json = big.data_type.fill_value_json(&element, Format::V3, &order).unwrap();
        assert_eq!(json.to_string(), r#"{"a":1,"b":2}"#);
    }
}

/// Tests EX-STRUCT-01, EX-STRUCT-02, EX-STRUCT-03.
#[test]
fn struct_has_named_fields_of_fixed_size() {
    let point = r#"[{"name":"x","data_type":"float32"},{"name":"y","data_type":"float32"}]"#;
    let pair = v3(Mode::Strict, "struct", point).unwrap();
    assert_eq!(places(&pair), (vec![0, 4], 8));
    let three = r#"[{"name":"id","data_type":"int32"},{"name":"flags","data_type":"uint8"},
        {"name":"value","data_type":{"name":"float64"}}]"#;
    assert_eq!(places(&v3(Mode::Strict, "struct", three).unwrap()), (vec![0, 4, 5], 13));
    let nested = format!(
        r#"[{{"name":"point","data_type":{{"name":"struct","configuration":{{"fields":{point}}}}}}},
        {{"name":"value","data_type":"float64"}}]"#
    );
    let nested = v3(Mode::Strict, "struct", &nested).unwrap();
    assert_eq!(places(&nested), (vec![0, 8], 16));
    nested.check(&types::registry(), &[r#"{"point":{"x":1.0,"y":2.0},"value":3.14}"#]).unwrap();
    for wrong in [
        "[]",
        r#"[{"name":"x","data_type":"float32"},{"name":"x","data_type":"float32"}]"#,
        r#"[{"name":"","data_type":"float32"}]"#,
        r#"[{"name":"x","data_type":"float32","shape":[2]}]"#,
        r#"[{"name":"x"}]"#,
        r#"["float32"]"#,
        r#"[{"name":"x","data_type":"string"}]"#,
        r#"[{"name":"x","data_type":"bytes"}]"#,
        r#"{"x":"float32"}"#,
    ] {
        assert!(v3(Mode::Lenient, "struct", wrong).is_err(), "{wrong}");
    }
    subject(Format::V3, Mode::Lenient, "\"struct\"").unwrap_err();
}

/// Tests EX-STRUCT-05.
#[test]
fn a_fill_value_of_struct_has_a_member_for_each_field() {
    let fields = r#"[{"name":"x","data_type":"float32"},{"name":"y","data_type":"float32"}]"#;
    let point = v3(Mode::Strict, "struct", fields).unwrap();
    point.check(&types::registry(), &[r#"{"x":1.23,"y":4.56}"#]).unwrap();
    let element = point.fill(r#"{"y":4.56,"x":1.23}"#).unwrap();
    assert_eq!(element, [1.23f32.to_ne_bytes(), 4.56f32.to_ne_bytes()].concat());
    assert_eq!(point.json(&element).unwrap(), r#"{"x":1.23,"y":4.56}"#);
    let nested = format!(
        r#"[{{"name":"point","data_type":{{"name":"struct","configuration":{{"fields":{fields}}}}}}},
        {{"name":"value","data_type":"float64"}}]"#
    );
    let nested = v3(Mode::Strict, "struct", &nested).unwrap();
    assert_eq!(
        nested.print(&nested.fill(r#"{"point":{"x":1.0,"y":2.0},"value":3.14}"#).unwrap()),
        "{point: {x: 1.0, y: 2.0}, value: 3.14}"
    );
    refuses(&nested, &[r#"{"point":{"x":1.0},"value":3.14}"#, r#"{"point":1,"value":3.14}"#]);
    let wrong =
        [r#"{"x":1.23}"#, r#"{"x":1.23,"y":1,"z":1}"#, "0", "\"AAAAAAAAAAA=\"", "null", r#"{"x":"a","y":1}"#];
    refuses(&point, &wrong);
    refuses(&v3(Mode::Lenient, "struct", fields).unwrap(), &wrong);
}

/// Tests EX-STRUCT-06, EX-STRUCT-07, EX-STRUCT-09, EX-STRUCT-10.
#[test]
fn structured_is_read_with_pairs_and_base64_and_never_written() {
    let pairs = r#"[["x","float32"],["y","int16"]]"#;
    let old = v3(Mode::Strict, "structured", pairs).unwrap();
    assert_eq!(old.fill("\"AAAAAAAA\"").unwrap(), [0; 6]);
    assert_eq!(old.print(&old.fill("\"AACAPwIA\"").unwrap()), "{x: 1.0, y: 2}");
    assert_eq!(old.fill("\"AACAPwIA\"").unwrap(), old.fill(r#"{"x":1,"y":2}"#).unwrap());
    refuses(&old, &["\"AAAAAAA=\"", "\"AAAAAAAAAA==\"", "0"]);
    let mut big = v3(Mode::Strict, "structured", pairs).unwrap();
    big.order = ByteOrder::Big;
    assert_eq!(big.print(&big.fill("\"P4AAAAAC\"").unwrap()), "{x: 1.0, y: 2}");
    assert_eq!(
        rewritten(&old, Format::V3),
        r#"{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float32"},{"name":"y","data_type":"int16"}]}}"#
    );
    v3(Mode::Lenient, "structured", r#"[["x","float32",[2]]]"#).unwrap_err();
    v3(Mode::Strict, "struct", pairs).unwrap_err();
    assert_eq!(v3(Mode::Lenient, "struct", pairs).unwrap().warnings.len(), 2);
}

#[test]
fn errors_name_structures_that_v3_cannot_represent() {
    for (dtype, hint) in [(r#"[["x","<f4",[2]]]"#, "arrays"), (r#"[["x","<f4"],["","|V4"]]"#, "padding")] {
        let structure = v2(Mode::Strict, dtype).unwrap();
        let error = structure.data_type.document(Format::V3, &structure.order).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
}

/// Tests DX-DT-10, DX-DT-11.
#[test]
fn the_draft_also_lists_fields() {
    let person = draft(Mode::Strict, URI, r#"[["name","<U10"],["age","<i4"],["weight","<f4"]]"#).unwrap();
    assert_eq!(places(&person), (vec![0, 40, 44], 48));
    // Byte strings do not declare a byte order (DX-DT-09).
    let texts = draft(Mode::Strict, URI, r#"[["a","S3"],["b","|S3"]]"#).unwrap();
    assert_eq!(places(&texts), (vec![0, 3], 6));
    assert!(draft(Mode::Strict, URI, r#"[["a","S"]]"#).is_err());
    let named = draft(Mode::Strict, URI, r#"[["x","float32"],["z","int16",[2,2]]]"#).unwrap();
    assert_eq!(places(&named), (vec![0, 4], 12));
    named.check(&types::registry(), &["\"AACAPwEAAgADAAQA\""]).unwrap();
    assert_eq!(
        rewritten(&named, Format::V3Draft),
        format!(r#"{{"extension":"{URI}","type":[["x","float32"],["z","int16",[2,2]]],"fallback":["r96"]}}"#)
    );
    let mixed = draft(Mode::Strict, URI, r#"[["a",[["b",">i4"],["c","|u1"]]],["d","int16"]]"#).unwrap();
    assert_eq!(mixed.order, ByteOrder::Mixed([true, false].into()));
    mixed.check(&types::registry(), &["\"AAAAAQIDAA==\""]).unwrap();
    assert!(
        rewritten(&mixed, Format::V3Draft).contains(r#"[["a",[["b",">i4"],["c","uint8"]]],["d","int16"]]"#)
    );
    let object = mixed.fill(r#"{"a":{"b":1,"c":2},"d":3}"#).unwrap();
    assert_eq!(object, mixed.fill("\"AAAAAQIDAA==\"").unwrap());
    for wrong in
        [r#"[["r","uint8"],["r","uint8"]]"#, r#"[["r","f4"]]"#, r#""<i4""#, "5", r#"[["s","string"]]"#]
    {
        assert!(draft(Mode::Lenient, URI, wrong).is_err(), "{wrong}");
    }
    for name in ["\"struct\"", "\"structured\""] {
        subject(Format::V3Draft, Mode::Lenient, name).unwrap_err();
    }
}

/// Tests DX-A-18, DX-A-19.
#[test]
fn the_type_decides_in_the_first_generation_of_the_draft() {
    let uri = "TODO: structured array protocol URL";
    let fields = r#"[["x","<f4"],["y","|u1"]]"#;
    draft(Mode::Strict, uri, fields).unwrap_err();
    let structure = draft(Mode::Lenient, uri, fields).unwrap();
    assert_eq!(structure.warnings.len(), 1);
    assert_eq!(structure.fill("\"AAAAAAA=\"").unwrap(), [0; 5]);
    let raw = draft(Mode::Lenient, uri, r#"[["","|V3"]]"#).unwrap();
    assert!(raw.data_type.fields().is_none());
    assert_eq!(raw.data_type.name(), "V3");
}

#[test]
fn excessive_sizes_are_refused() {
    for dtype in [
        r#"[["x","<f4",[18446744073709551615]]]"#,
        r#"[["x","<f4",[4294967296,4294967296,4294967296]]]"#,
        r#"[["x","<i2",[2000000]]]"#,
        r#"[["x","|V60000000"],["y","|V60000000"]]"#,
        r#"[["x","|S0",[1000000000000]]]"#,
    ] {
        assert!(v2(Mode::Lenient, dtype).is_err(), "{dtype}");
    }
    let none = v2(Mode::Strict, r#"[["x","<f4",[0]],["y","|u1"]]"#).unwrap();
    assert_eq!(places(&none), (vec![0, 0], 1));
    assert_eq!(none.print(&[7]), "{x: [], y: 7}");
}

/// Tests V2-FILL-23.
#[test]
fn fields_that_are_objects_are_refused() {
    for dtype in [r#"[["a","|O"]]"#, r#"[["a",[["b","|O"]]]]"#] {
        assert!(v2(Mode::Lenient, dtype).is_err());
        assert!(Subject::new(&types::registry(), Format::V2, Mode::Lenient, dtype).is_err());
    }
}

#[test]
fn structures_with_equal_names_are_equal() {
    let name = |dtype: &str| v2(Mode::Strict, dtype).unwrap().data_type.name().into_owned();
    assert_eq!(name(r#"[["x","<f4"],["z",">i2",[2,3]]]"#), r#"struct{"x": float32, "z": int16[2, 3]}"#);
    assert_ne!(name(r#"[["x","<f4"]]"#), name(r#"[["y","<f4"]]"#));
    assert_eq!(name(r#"[["x","<f4"]]"#), name(r#"[["x",">f4"]]"#));
}

#[test]
fn errors_name_the_invalid_field() {
    let structure = v2(Mode::Strict, r#"[["a","|u1"],["b","<i2"]]"#).unwrap();
    structure.data_type.check(&[0; 3]).unwrap();
    structure.data_type.check(&[0; 6]).unwrap();
    structure.data_type.check(&[0; 2]).unwrap_err();
    let error = v2(Mode::Strict, r#"[["a","|u1"],["b","<q2"]]"#).unwrap_err().to_string();
    assert!(error.contains("field `b`"), "{error}");
}
