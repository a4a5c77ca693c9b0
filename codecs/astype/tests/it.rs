//! `astype`: elements written by numcodecs, and errors.

use std::sync::Arc;

use zarr_codec_astype::AsType;
use zarr_conformance::array;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    COMPLEX64, COMPLEX128, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, TEXT,
    UINT8, UINT16, UINT32, UINT64,
};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/astype/1.0";

fn name(format: Format) -> &'static str {
    match format {
        Format::V2 => "astype",
        Format::V3 => "numcodecs.astype",
        Format::V3Draft => URI,
    }
}

fn configuration(encode: &str, decode: &str) -> String {
    format!(r#"{{"encode_dtype":"{encode}","decode_dtype":"{decode}"}}"#)
}

/// Converts elements from stored byte order to native byte order.
fn native(stored: &str, dtype: &str) -> Vec<u8> {
    let (number, order) = Number::of_typestring(dtype);
    let unit = if dtype.contains('c') { number.size() / 2 } else { number.size() };
    zarr_conformance::native(stored, unit, &order)
}

/// `encode_dtype`, `decode_dtype`, elements, and their encoded and decoded form with numcodecs 0.17.1 and NumPy
/// 2.5.5.
const NUMCODECS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "<f4",
        "<i4",
        "0000000001000000ffffffff640000002c01000090eefeff",
        "000000000000803f000080bf0000c8420000964300b888c7",
        "0000000001000000ffffffff640000002c01000090eefeff",
    ),
    (
        "|i1",
        "<i4",
        "0000000001000000ffffffff640000002c01000090eefeff",
        "0001ff642c90",
        "0000000001000000ffffffff640000002c00000090ffffff",
    ),
    (
        "<u2",
        ">i4",
        "0000000000000001ffffffff000000640000012cfffeee90",
        "00000100ffff64002c0190ee",
        "00000000000000010000ffff000000640000012c0000ee90",
    ),
    (
        "<f2",
        "<i8",
        "00000000000000000100000000000000ffffffffffffffff64000000000000002c0100000000000090eefeffffffffff",
        "0000003c00bc4056b05c00fc",
        "00000000000000000100000000000000ffffffffffffffff64000000000000002c010000000000000000000000000080",
    ),
    ("<f4", "|b1", "00010100", "000000000000803f0000803f00000000", "00010100"),
    (
        "|b1",
        "<f8",
        "0000000000000000000000000000e03f00000000000000c0",
        "000101",
        "0000000000000000000000000000f03f000000000000f03f",
    ),
    (
        "<i4",
        "<f8",
        "666666666666fe3f666666666666febf0000000000408f40",
        "01000000ffffffffe8030000",
        "000000000000f03f000000000000f0bf0000000000408f40",
    ),
    (
        "<f4",
        "<c8",
        "0000803f00000040000060c000000000",
        "0000803f000060c0",
        "0000803f00000000000060c000000000",
    ),
    (
        "<c16",
        "<f4",
        "0000c03f000000c0",
        "000000000000f83f000000000000000000000000000000c00000000000000000",
        "0000c03f000000c0",
    ),
    (
        ">f4",
        "<f8",
        "9a9999999999b93f9c7500883ce4377e",
        "3dcccccd7f800000",
        "000000a09999b93f000000000000f07f",
    ),
];

/// Tests V2-CODEC-17.
#[test]
fn elements_are_cast_like_in_numcodecs() {
    for (to, from, decoded, encoded, again) in NUMCODECS {
        let decoded = native(decoded, from);
        let encoded = native(encoded, to);
        let again = native(again, from);
        let (number, order) = Number::of_typestring(from);
        let chunk = array(&[(decoded.len() / number.size()) as u64], number).with_byte_order(order);
        let side = Representation::Array(chunk.clone());
        let created = create(Format::V2, "astype", &configuration(to, from), Mode::Strict, &side).unwrap();
        assert!(created.warnings.is_empty());
        assert_eq!(encode(&created.codec, &chunk, &decoded).unwrap(), encoded, "{from} to {to}");
        assert_eq!(decode(&created.codec, &chunk, &encoded, 100).unwrap(), again, "{to} to {from}");
        check_damaged(&created.codec, &chunk, &encoded, again.len(), 50).unwrap();
        let Codec::ArrayToArray(codec) = created.codec else { panic!("array to array") };
        let after = codec.encoded(&chunk).unwrap();
        let (wanted, order) = Number::of_typestring(to);
        assert_eq!((after.data_type.elements().size(), after.byte_order), (Some(wanted.size()), order));
    }
    let texts = Representation::Array(array(&[4], TEXT));
    for (format, text) in Format::ALL.map(|format| (format, configuration("<f4", "<i4"))) {
        let result = create(format, name(format), &text, Mode::Lenient, &texts);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}

/// Casts small numbers, which all types can represent.
#[test]
fn numbers_that_both_types_can_represent_survive() {
    let reals = [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, FLOAT32, FLOAT64];
    let all = reals.into_iter().chain([COMPLEX64, COMPLEX128]);
    for to in all.clone() {
        for from in all.clone() {
            let small = AsType::new(&UINT8, Arc::new(from)).unwrap();
            let mut elements = Output::at_most(100);
            small.encode(&array(&[4], UINT8), &[0, 1, 2, 100], &mut elements).unwrap();
            let codec = Codec::ArrayToArray(Arc::new(AsType::new(&from, Arc::new(to)).unwrap()));
            check_lossless(&codec, &array(&[4], from), elements.written()).unwrap();
        }
    }
}

#[test]
fn the_fill_value_is_cast() {
    let chunk = array(&[2, 3], INT32).with_fill_value(FillValue::new((-7i32).to_ne_bytes()));
    let after = AsType::new(&INT32, Arc::new(FLOAT64)).unwrap().encoded(&chunk).unwrap();
    assert_eq!(after.fill_value.bytes(), (-7f64).to_ne_bytes());
    assert_eq!((after.shape, after.data_type.name().as_ref()), (vec![2, 3], "float64"));
}

#[test]
fn other_configurations_are_refused() {
    let decoded = Representation::Array(array(&[4], INT32));
    for wrong in [
        "",
        "{}",
        r#"{"encode_dtype":"<f4"}"#,
        r#"{"decode_dtype":"<i4"}"#,
        r#"{"encode_dtype":4,"decode_dtype":"<i4"}"#,
        r#"{"encode_dtype":"<f4","decode_dtype":"<i2"}"#,
        r#"{"encode_dtype":"<f3","decode_dtype":"<i4"}"#,
    ] {
        for format in Format::ALL {
            let result = create(format, name(format), wrong, Mode::Lenient, &decoded);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let big = create(Format::V2, "astype", &configuration("<f4", ">i4"), Mode::Lenient, &decoded);
    assert!(matches!(big, Err(CodecError::InvalidConfiguration(_))), "{big:?}");
    // Times in other units would need a conversion.
    let times = Representation::Array(array(&[4], DATETIME));
    for decoded in [times, Representation::Bytes(Size::Exact(16))] {
        let result = create(Format::V2, "astype", &configuration("<f4", "<M8[s]"), Mode::Lenient, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec = AsType::new(&FLOAT64, Arc::new(FLOAT32)).unwrap();
    let chunk = array(&[2], FLOAT64);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 15], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 16], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 8], &mut Output::at_most(15)), Err(CodecError::TooLarge(_))));
}

#[test]
fn configurations_are_translated_to_typestrings() {
    let chunk = array(&[2], INT32).with_byte_order(ByteOrder::Big);
    let big = Representation::Array(chunk);
    let both = configuration(">f4", ">i4");
    for to in Format::ALL {
        let wanted = if to == Format::V2 { both.clone() } else { configuration("<f4", "<i4") };
        assert_eq!(translate(Format::V2, "astype", &both, &big, to).unwrap(), (Some(name(to)), wanted));
    }
    let named = configuration("float32", "int32");
    assert_eq!(
        translate(Format::V3, "numcodecs.astype", &named, &big, Format::V2).unwrap(),
        (Some("astype"), configuration(">f4", ">i4"))
    );
}
