//! `ndarray`: documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_vlen_ndarray as _;
use zarr_spec::{DataTypeError, Format, Mode, Registry};

fn registry() -> Registry {
    let mut registry = zarr_conformance::registry();
    Registry::linked().unwrap().data_types().iter().for_each(|plugin| registry.register(*plugin).unwrap());
    registry
}

fn subject(format: Format, json: &str) -> Result<Subject, DataTypeError> {
    Subject::with_object_codec(&registry(), format, Mode::Strict, json, Some("vlen-array"))
}

fn of(dtype: &str, shape: &str) -> Result<Subject, DataTypeError> {
    let configuration = format!(r#"{{"dtype": "{dtype}", "shape": {shape}}}"#);
    subject(Format::V3, &format!(r#"{{"name": "ndarray", "configuration": {configuration}}}"#))
}

/// The texts are those of `NDArray.to_json_scalar` of zarr-vlen-ndarray 0.2.0.
///
/// Tests EX-TYPE-14.
#[test]
fn a_fill_value_of_v3_is_the_bytes_of_an_element_as_base64() {
    let numbers = of("int16", "[null]").unwrap();
    numbers.check(&registry(), &[r#""""#, r#""AQA=""#, r#""AQACAP3/""#]).unwrap();
    assert_eq!(numbers.fill(r#""AQACAA==""#).unwrap(), [1_i16.to_ne_bytes(), 2_i16.to_ne_bytes()].concat());
    // The stand-ins for numbers print their bytes.
    assert_eq!(numbers.print(&[1, 0, 2, 0, 0xfd, 0xff]), "[0100, 0200, fdff]");
    assert_eq!(numbers.print(&[1]), "(1 bytes are not whole items of 2 bytes)");
    for wrong in ["0", "null", "[]", "[1]", r#""AQ==""#, r#""AQA""#, r#""?""#, "{}"] {
        assert!(matches!(numbers.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
}

#[test]
fn items_have_the_lengths_of_the_shape() {
    let pairs = of("uint8", "[null, 2, 3]").unwrap();
    pairs.check(&registry(), &[r#""""#, r#""AQIDBAUG""#]).unwrap();
    assert_eq!(pairs.fill(r#""AQIDBAUG""#).unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(pairs.print(&[1, 2, 3, 4, 5, 6]), "[[[01, 02, 03], [04, 05, 06]]]");
    assert_eq!(pairs.print(&[]), "[]");
    assert_eq!(pairs.data_type.name(), "vlen-ndarray[uint8, 2, 3]");
    assert!(matches!(pairs.fill(r#""AQID""#), Err(DataTypeError::FillValue(_))));
    assert!(pairs.data_type.check(&[0; 6]).is_ok() && pairs.data_type.check(&[0; 5]).is_err());
    assert!(pairs.data_type.document(Format::V2, &pairs.order).is_err());
}

/// Tests EX-TYPE-14.
#[test]
fn each_name_of_the_proposal_is_written_again() {
    for document in [
        r#"{"name":"ndarray","configuration":{"dtype":"int16","shape":[null,2]}}"#,
        r#"{"name":"vlen-ndarray","configuration":{"dtype":"int16","inner_shape":[2]}}"#,
    ] {
        let pairs = subject(Format::V3, document).unwrap();
        assert_eq!(pairs.data_type.name(), "vlen-ndarray[int16, 2]");
        assert_eq!(pairs.data_type.document(Format::V3, &pairs.order).unwrap().json.to_string(), document);
    }
    for (name, configuration) in [
        ("ndarray", r#"{"dtype": "int16", "inner_shape": [2]}"#),
        ("vlen-ndarray", r#"{"dtype": "int16", "shape": [null, 2]}"#),
        ("vlen-ndarray", r#"{"dtype": "int16"}"#),
        ("vlen-ndarray", r#"{"dtype": "int16", "inner_shape": [null]}"#),
    ] {
        let document = format!(r#"{{"name": "{name}", "configuration": {configuration}}}"#);
        assert!(subject(Format::V3, &document).is_err(), "{document}");
    }
}

/// Tests V2-OBJ-12.
#[test]
fn v2_has_objects_with_a_codec() {
    let numbers = subject(Format::V2, "\"|O\"").unwrap();
    numbers.check(&registry(), &["0"]).unwrap();
    assert_eq!(numbers.fill("0").unwrap(), b"");
    assert_eq!(numbers.data_type.name(), "vlen-ndarray[int32]");
    for wrong in ["1", "[7]", "\"\""] {
        assert!(matches!(numbers.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
    let json = numbers.data_type.fill_value_json(&[1, 0, 0, 0], Format::V2, &numbers.order);
    assert!(matches!(json, Err(DataTypeError::FillValue(_))), "{json:?}");
    let document = numbers.data_type.document(Format::V2, &numbers.order).unwrap();
    assert_eq!(document.type_name.unwrap().as_str(), Some("<i4"));
}

/// Tests EX-TYPE-14.
#[test]
fn other_types_and_shapes_are_refused() {
    for (dtype, shape) in [
        ("string", "[null]"),
        ("r16", "[null]"),
        ("nope", "[null]"),
        ("int8", "[null, 0]"),
        ("int8", "[null, -1]"),
        ("int8", "[null, 2.0]"),
        ("int8", "[null, null]"),
        ("int8", "[2, null]"),
        ("int8", "[3, 2]"),
        ("int8", "[]"),
        ("int8", "2"),
    ] {
        assert!(of(dtype, shape).is_err(), "{dtype} {shape}");
    }
    let error = of("int8", "[3, 2]").unwrap_err().to_string();
    assert!(error.contains("`shape` is [3,2]; expected `null`"), "{error}");
    assert!(of("int8", "[null, 1000000000, 1000000000, 1000000000]").is_err());
    assert!(of("int8", &format!("[null{}]", ", 1".repeat(33))).is_err());
    assert!(of("int8", &format!("[null{}]", ", 1".repeat(32))).is_ok());
}
