//! `vlen-ndarray`: documents and fill values.

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

fn of(dtype: &str, inner_shape: &str) -> Result<Subject, DataTypeError> {
    let configuration = format!(r#"{{"dtype": "{dtype}", "inner_shape": {inner_shape}}}"#);
    subject(Format::V3, &format!(r#"{{"name": "vlen-ndarray", "configuration": {configuration}}}"#))
}

#[test]
fn a_fill_value_of_v3_is_a_list_of_items() {
    let numbers = of("int16", "[]").unwrap();
    numbers.check(&registry(), &["[]", "[1]", "[1, 2, -3]"]).unwrap();
    assert_eq!(numbers.fill("[1, 2]").unwrap(), [1_i16.to_ne_bytes(), 2_i16.to_ne_bytes()].concat());
    // The stand-ins for numbers print their bytes.
    assert_eq!(numbers.print(&[1, 0, 2, 0, 0xfd, 0xff]), "[0100, 0200, fdff]");
    assert_eq!(numbers.print(&[1]), "(1 bytes are not whole items of 2 bytes)");
    for wrong in ["0", "null", "[null]", "[[1]]", "[1.5]", "[40000]", "\"\"", "{}"] {
        assert!(matches!(numbers.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
}

#[test]
fn items_have_the_inner_shape() {
    let pairs = of("uint8", "[2, 3]").unwrap();
    pairs.check(&registry(), &["[]", "[[[1, 2, 3], [4, 5, 6]]]"]).unwrap();
    assert_eq!(pairs.fill("[[[1, 2, 3], [4, 5, 6]]]").unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(pairs.print(&[1, 2, 3, 4, 5, 6]), "[[[01, 02, 03], [04, 05, 06]]]");
    assert_eq!(pairs.print(&[]), "[]");
    assert_eq!(pairs.data_type.name(), "vlen-ndarray[uint8, 2, 3]");
    for wrong in ["[1]", "[[1, 2, 3]]", "[[[1, 2], [3, 4]]]", "[[[1, 2, 3]]]"] {
        assert!(matches!(pairs.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
    assert!(pairs.data_type.check(&[0; 6]).is_ok() && pairs.data_type.check(&[0; 5]).is_err());
    assert!(pairs.data_type.document(Format::V2, &pairs.order).is_err());
}

/// Tests V2-OBJ-12.
#[test]
fn v2_has_objects_with_a_codec() {
    let numbers = subject(Format::V2, "\"|O\"").unwrap();
    numbers.check(&registry(), &["0"]).unwrap();
    assert_eq!(numbers.fill("0").unwrap(), b"");
    assert_eq!(numbers.fill("[7]").unwrap(), 7_i32.to_ne_bytes());
    assert_eq!(numbers.data_type.name(), "vlen-ndarray[int32]");
    numbers.fill("1").unwrap_err();
    let json = numbers.data_type.fill_value_json(&[1, 0, 0, 0], Format::V2, &numbers.order);
    assert!(matches!(json, Err(DataTypeError::FillValue(_))), "{json:?}");
    let document = numbers.data_type.document(Format::V2, &numbers.order).unwrap();
    assert_eq!(document.type_name.unwrap().as_str(), Some("<i4"));
}

#[test]
fn other_types_and_shapes_are_refused() {
    for (dtype, inner_shape) in
        [("string", "[]"), ("nope", "[]"), ("int8", "[0]"), ("int8", "[-1]"), ("int8", "2")]
    {
        assert!(of(dtype, inner_shape).is_err(), "{dtype} {inner_shape}");
    }
    assert!(of("int8", "[1000000000, 1000000000, 1000000000]").is_err());
    assert!(of("int8", &format!("[{}1]", "1, ".repeat(32))).is_err());
    assert!(of("int8", &format!("[{}1]", "1, ".repeat(31))).is_ok());
}
