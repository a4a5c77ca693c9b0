//! Rust types that elements are read as and written from.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]
#![expect(unsafe_code, reason = "implements the unsafe trait `Element` for a structure")]

use std::fmt::Debug;

use zarr_interop::created;
use zarr_kit::data_types::Time;
use zarr_kit::ndarray::Ix1;
use zarr_kit::spec::DataType;
use zarr_kit::{Array, ArrayBuilder, Element, ErrorKind, Format, ReadElement, bf16, json};

/// Writes the first two of three values, appends the third, and reads all of them.
#[track_caller]
fn are_kept<T>(data_type: impl Into<zarr_kit::spec::Value>, values: [T; 3]) -> Array
where
    T: ReadElement + Debug + PartialEq,
    Vec<T>: From<T::Values>,
{
    let mut array = created(Format::V3, &ArrayBuilder::new([2], data_type).chunks([2]));
    array.write_values(.., &values[..2]).unwrap();
    array.append_values(0, &values[2..]).unwrap();
    let read: Vec<T> = array.read_values::<T>(..).unwrap().into();
    assert_eq!(read, values);
    array
}

#[test]
fn numbers_booleans_text_and_bytes_round_trip() {
    are_kept("float64", [1.5f64, -0.0, f64::MAX]);
    are_kept("bfloat16", [1.5, -2.0, 1e30].map(bf16::from_f32));
    are_kept("bool", [true, false, true]);
    are_kept("string", ["", "é", "text"].map(str::to_owned));
    are_kept("variable_length_bytes", [vec![], vec![0], vec![255, 0]]);
    are_kept("r24", [[1u8, 2, 3], [4, 5, 6], [0; 3]]);
    let raw_bytes = json!({"name": "raw_bytes", "configuration": {"length_bytes": 3}});
    are_kept(raw_bytes, [[1u8, 2, 3], [4, 5, 6], [0; 3]]);
    let array = are_kept("string", ["a", "b", "c"].map(str::to_owned));
    array.write_values((1,), &["borrowed"]).unwrap();
    assert_eq!(array.read_values::<String>(1..2).unwrap(), ["borrowed"]);
    assert_eq!(array.read_values::<Vec<u8>>(1..2).unwrap(), [b"borrowed"]);
}

#[test]
fn optional_elements_are_options() {
    let int32 = json!({"name": "int32", "configuration": {}});
    let optional = json!({"name": "zarrs.optional", "configuration": int32});
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let codec = json!({"mask_codecs": [{"name": "packbits"}], "data_codecs": [little]});
    let builder = ArrayBuilder::new([2], optional).codec(("zarrs.optional", codec));
    let mut array = created(Format::V3, &builder);
    array.write_values(.., &[Some(5i32), None]).unwrap();
    array.append_values(0, &[None, Some(-1i32)]).unwrap();
    assert_eq!(array.read_values::<Option<i32>>(..).unwrap(), [Some(5), None, None, Some(-1)]);
    assert_eq!(array.read_values::<Option<u32>>(..).unwrap_err().kind(), ErrorKind::InvalidInput);
    let error = array.read_values::<i32>(..).unwrap_err().to_string();
    assert!(error.contains("cannot be read or written as `i32`"), "{error}");
    let never = created(Format::V3, &ArrayBuilder::new([1], "int32")).read_values::<Option<i32>>(..);
    assert_eq!(never.unwrap_err().to_string(), "elements of type int32 are never missing");
}

#[test]
fn a_wrong_type_is_an_error_before_anything_is_written() {
    let numbers = created(Format::V3, &ArrayBuilder::new([2], "int16"));
    let text = created(Format::V3, &ArrayBuilder::new([2], "string"));
    for error in [
        numbers.write_values(.., &[1u16, 2]).unwrap_err(),
        numbers.write_values(.., &[true, false]).unwrap_err(),
        numbers.write_values(.., &["a", "b"]).unwrap_err(),
        numbers.write_values(.., &[Some(1i16), None]).unwrap_err(),
        text.write_values(.., &[1u8, 2]).unwrap_err(),
        text.read_values::<bool>(..).unwrap_err(),
        text.read_values::<Option<String>>(..).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert_eq!(numbers.stored_chunks().unwrap().len() + text.stored_chunks().unwrap().len(), 0);
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Point {
    x: f32,
    y: i32,
}

// SAFETY: two numbers of four bytes have no padding, and any bytes are valid numbers.
unsafe impl Element for Point {
    fn fits(data_type: &dyn DataType) -> bool {
        let Some([x, y]) = data_type.fields() else { return false };
        (&*x.data_type.name(), x.offset, &*y.data_type.name(), y.offset) == ("float32", 0, "int32", 4)
    }
}

#[test]
fn a_structure_of_the_program_can_be_an_element() {
    let fields = json!([{"name": "x", "data_type": "float32"}, {"name": "y", "data_type": "int32"}]);
    let data_type = json!({"name": "struct", "configuration": {"fields": fields}});
    let point = |number: i32| Point { x: number as f32 / 2.0, y: number };
    let array = are_kept(data_type, [point(1), point(-7), point(3)]);
    assert_eq!(array.read_ndarray::<Point, Ix1>((1..,)).unwrap()[[1]], point(3));
    let pair = created(Format::V3, &ArrayBuilder::new([1], "complex64"));
    assert_eq!(pair.read_values::<Point>(..).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_time_type_provides_its_unit() {
    let array = are_kept("numpy.datetime64[10us]", [0i64, -1, 1 << 40]);
    let time = array.data_type().downcast_ref::<Time>().unwrap();
    assert_eq!((time.is_point(), time.unit(), time.scale()), (true, "us", 10));
    let number = created(Format::V3, &ArrayBuilder::new([1], "int64"));
    assert!(number.data_type().downcast_ref::<Time>().is_none());
}
