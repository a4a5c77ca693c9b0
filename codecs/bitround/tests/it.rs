//! `bitround`: elements written by numcodecs or printed in the extension registry, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_bitround::BitRound;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BFLOAT16, BOOL, COMPLEX64, COMPLEX128, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64,
    Number, RAW3, TEXT, UINT8, UINT16, UINT32, UINT64,
};
use zarr_conformance::{array, hex, native};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/bitround/1.0";

fn name(format: Format) -> &'static str {
    if format == Format::V3Draft { URI } else { "bitround" }
}

fn keepbits(keepbits: u32) -> String {
    format!(r#"{{"keepbits":{keepbits}}}"#)
}

fn new(bits: u32, number: Number) -> Codec {
    Codec::ArrayToArray(Arc::new(BitRound::new(bits, Arc::new(number)).unwrap()))
}

/// Returns the encoded elements and checks that decoding does not change them.
fn rounded(bits: u32, number: Number, elements: &[u8]) -> Vec<u8> {
    let chunk = array(&[(elements.len() / number.size()) as u64], number);
    let codec = new(bits, number);
    let encoded = encode(&codec, &chunk, elements).unwrap();
    assert_eq!(decode(&codec, &chunk, &encoded, elements.len()).unwrap(), encoded);
    check_lossless(&codec, &chunk, &encoded).unwrap();
    check_damaged(&codec, &chunk, &encoded, elements.len(), 50).unwrap();
    encoded
}

macro_rules! assert_rounds {
    ($type:ty, $number:expr, $bits:expr, $decoded:expr => $encoded:expr) => {{
        let bytes =
            |elements: &[$type]| elements.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(rounded($bits, $number, &bytes(&$decoded)), bytes(&$encoded));
    }};
}

/// `keepbits`, data type, `[0.1, 1.2, 12.3, 123.4, 1234.5, 3.4e38, nan, inf, -inf, -0.0, -7.7]`, and the output
/// of numcodecs 0.17.1.
const NUMCODECS: &[(u32, Number, &str, &str)] = &[
    (
        0,
        FLOAT32,
        "cdcccc3d9a99993fcdcc4441cdccf64200509a449ec97f7f0000c07f0000807f000080ff000000806666f6c0",
        "0000003e0000803f0000804100000043000080440000807f000000800000807f000080ff00000080000000c1",
    ),
    (
        3,
        FLOAT16,
        "662ecd3c264ab657d264007c007e007c00fc0080b3c7",
        "802e003d004a80570065007c007e007c00fc008080c7",
    ),
    (
        3,
        FLOAT32,
        "cdcccc3d9a99993fcdcc4441cdccf64200509a449ec97f7f0000c07f0000807f000080ff000000806666f6c0",
        "0000d03d0000a03f000040410000f0420000a0440000807f0000c07f0000807f000080ff000000800000f0c0",
    ),
    (
        7,
        FLOAT32,
        "cdcccc3d9a99993fcdcc4441cdccf64200509a449ec97f7f0000c07f0000807f000080ff000000806666f6c0",
        "0000cd3d00009a3f000045410000f74200009a440000807f0000c07f0000807f000080ff000000800000f6c0",
    ),
    (
        7,
        FLOAT64,
        "9a9999999999b93f333333333333f33f9a999999999928409a99999999d95e4000000000004a9340addf8cc733f9ef47\
         000000000000f87f000000000000f07f000000000000f0ff0000000000000080cdcccccccccc1ec0",
        "0000000000a0b93f000000000040f33f0000000000a028400000000000e05e400000000000409340000000000000f047\
         000000000000f87f000000000000f07f000000000000f0ff00000000000000800000000000c01ec0",
    ),
    (
        10,
        FLOAT16,
        "662ecd3c264ab657d264007c007e007c00fc0080b3c7",
        "662ecd3c264ab657d264007c007e007c00fc0080b3c7",
    ),
    (23, FLOAT32, "cdcccc3d9a99993f", "cdcccc3d9a99993f"),
    (52, FLOAT64, "9a9999999999b93f333333333333f33f", "9a9999999999b93f333333333333f33f"),
];

/// numcodecs rounds NaN to -0.0 if no mantissa bit is left to distinguish it from infinity. Here it stays NaN.
#[test]
fn floats_are_rounded_like_in_numcodecs() {
    for (bits, number, decoded, encoded) in NUMCODECS {
        let decoded = native(decoded, number.size(), &ByteOrder::Little);
        let mut encoded = native(encoded, number.size(), &ByteOrder::Little);
        if *bits == 0 {
            encoded[24..28].copy_from_slice(&decoded[24..28]);
        }
        assert_eq!(rounded(*bits, *number, &decoded), encoded, "{bits} {number:?}");
    }
}

/// The expected elements are the upper halves of the `float32` that numcodecs 0.17.1 writes for the same numbers.
#[test]
fn bfloat16_has_seven_bits_of_mantissa() {
    let decoded = [0x3dcdu16, 0xc0e8, 0x447a, 0x7f78, 0x0001, 0x4049];
    assert_rounds!(u16, BFLOAT16, 1, decoded => [0x3dc0u16, 0xc100, 0x4480, 0x7f80, 0x0000, 0x4040]);
    assert_rounds!(u16, BFLOAT16, 3, decoded => [0x3dd0u16, 0xc0e0, 0x4480, 0x7f80, 0x0000, 0x4050]);
    assert_rounds!(u16, BFLOAT16, 7, decoded => decoded);
    let special = [0x7f80u16, 0xff80, 0x7fc1, 0x8000];
    assert_rounds!(u16, BFLOAT16, 2, special => special);
    for wrong in [BitRound::new(8, Arc::new(BFLOAT16)), BitRound::new(2, Arc::new(INT8.narrow(4)))] {
        assert!(wrong.is_err(), "{wrong:?}");
    }
    let decoded = Representation::Array(array(&[2], BFLOAT16));
    let warnings = |name| create(Format::V3, name, &keepbits(3), Mode::Lenient, &decoded).unwrap().warnings;
    assert!(warnings("bitround").is_empty());
    assert_eq!(
        warnings("numcodecs.bitround"),
        ["`numcodecs.bitround` of numcodecs does not support `bfloat16`"]
    );
}

/// Tests V2-CODEC-19.
#[test]
fn v2_rounds_half_to_even_and_supports_floats() {
    let creating = |bits, number, mode| {
        create(Format::V2, "bitround", &keepbits(bits), mode, &Representation::Array(array(&[4], number)))
    };
    let codec = creating(3, FLOAT32, Mode::Strict).unwrap().codec;
    let bytes = |values: [f32; 4]| values.map(f32::to_ne_bytes).concat();
    let encoded = encode(&codec, &array(&[4], FLOAT32), &bytes([0.1, 1.2, 12.3, 123.4])).unwrap();
    assert_eq!(encoded, bytes([0.101_562_5, 1.25, 12.0, 120.0]));
    for (number, largest) in [(FLOAT16, 10), (FLOAT32, 23), (FLOAT64, 52)] {
        assert!(creating(0, number, Mode::Strict).is_ok());
        assert!(creating(largest, number, Mode::Strict).is_ok());
        let error = creating(largest + 1, number, Mode::Lenient).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{error}");
    }
    for number in [INT32, COMPLEX64, DATETIME] {
        assert!(matches!(creating(3, number, Mode::Strict), Err(CodecError::InvalidConfiguration(_))));
        assert_eq!(creating(3, number, Mode::Lenient).unwrap().warnings.len(), 1);
    }
}

/// Tests EX-CODEC-03, EX-CODEC-04.
#[test]
fn matches_the_samples_of_the_registry() {
    // Both chunks of `codecs/bitround/sample_data` in the extension registry.
    let floats = [0.0, 0.1, 1.2, 12.3, 123.4, 1234.5f32, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let encoded = "00000000 0000d03d 0000a03f 00004041 0000f042 0000a044 0000c07f 0000807f 000080ff";
    assert_eq!(
        rounded(3, FLOAT32, &floats.map(f32::to_ne_bytes).concat()),
        native(encoded, 4, &ByteOrder::Little)
    );
    let integers = [0, 1, 10, 11, 100, 123, 200, 208, 209, 255];
    assert_eq!(rounded(3, UINT8, &integers), hex("00010a0c6080c0c0e0e0"));

    for format in Format::ALL {
        for (name, bits, number, ok) in [
            (name(format), 1, FLOAT32, true),
            (name(format), 23, FLOAT32, true),
            (name(format), 24, FLOAT32, false),
            (name(format), 11, FLOAT16, false),
            (name(format), 24, COMPLEX64, false),
            (name(format), 53, COMPLEX128, false),
            (name(format), 0, FLOAT32, format == Format::V2),
            (name(format), 0, UINT8, false),
        ] {
            let decoded = Representation::Array(array(&[2], number));
            let created = create(format, name, &keepbits(bits), Mode::Lenient, &decoded);
            assert_eq!(created.is_ok(), ok, "{format} {bits} {number:?}");
        }
    }
    let floats = Representation::Array(array(&[2], FLOAT32));
    for alias in ["numcodecs.bitround", "https://codec.zarrs.dev/array_to_array/bitround"] {
        assert!(create(Format::V3, alias, &keepbits(3), Mode::Lenient, &floats).is_ok());
    }
    assert!(create(Format::V3, "numcodecs.bitround", &keepbits(0), Mode::Strict, &floats).is_ok());
    let integers = Representation::Array(array(&[2], UINT8));
    let created = create(Format::V3, "numcodecs.bitround", &keepbits(3), Mode::Lenient, &integers).unwrap();
    assert_eq!(created.warnings.len(), 1);
}

#[test]
fn the_magnitude_of_integers_is_rounded_and_never_overflows() {
    assert_rounds!(i8, INT8, 3, [127, -127, -128, -11, 11, -1, 0] => [112, -128, -128, -12, 12, -1, 0]);
    assert_rounds!(i16, INT16, 1, [i16::MAX, 3, -3, 6, -5] => [1 << 14, 4, -4, 8, -4]);
    assert_rounds!(i32, INT32, 8, [0x1234_5678, -0x1234_5678] => [0x1240_0000, -0x1240_0000]);
    assert_rounds!(i64, INT64, 1, [i64::MIN, i64::MAX, 1] => [i64::MIN, 1 << 62, 1]);
    assert_rounds!(u16, UINT16, 16, [u16::MAX, 1234] => [u16::MAX, 1234]);
    assert_rounds!(u32, UINT32, 99, [u32::MAX, 1234] => [u32::MAX, 1234]);
    assert_rounds!(u64, UINT64, 2, [u64::MAX, 5, 7, 0] => [3 << 62, 4, 8, 0]);
    // Times are rounded as integers; "not a time" is the smallest of them.
    assert_rounds!(i64, DATETIME, 3, [i64::MIN, 1_700_000_000] => [i64::MIN, 1_610_612_736]);
}

#[test]
fn both_parts_of_complex_numbers_are_rounded() {
    assert_rounds!(f32, COMPLEX64, 3, [0.1f32, 1.2, f32::NEG_INFINITY, 123.4]
        => [0.101_562_5f32, 1.25, f32::NEG_INFINITY, 120.0]);
    assert_rounds!(f64, COMPLEX128, 1, [1.2f64, -5.0] => [1.0f64, -4.0]);
}

#[test]
fn the_fill_value_is_rounded_and_nothing_else_changes() {
    let chunk = array(&[3, 2], FLOAT64)
        .with_fill_value(FillValue::new(1.2f64.to_ne_bytes()))
        .with_byte_order(zarr_spec::ByteOrder::Big);
    let after = BitRound::new(3, Arc::new(FLOAT64)).unwrap().encoded(&chunk).unwrap();
    assert_eq!(after.fill_value.bytes(), 1.25f64.to_ne_bytes());
    assert_eq!((after.shape, after.byte_order), (chunk.shape, chunk.byte_order));
    assert_eq!(after.data_type.name(), "float64");
}

#[test]
fn invalid_configurations_types_and_positions_are_refused() {
    let floats = Representation::Array(array(&[4], FLOAT32));
    for wrong in ["", "{}", r#"{"keepbits":-1}"#, r#"{"keepbits":1.5}"#, r#"{"keepbits":"3"}"#] {
        for format in Format::ALL {
            let result = create(format, name(format), wrong, Mode::Lenient, &floats);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let others = [BOOL, RAW3, TEXT].map(|number| Representation::Array(array(&[4], number)));
    for decoded in others.into_iter().chain([Representation::Bytes(Size::Exact(16))]) {
        let result = create(Format::V3, "bitround", &keepbits(3), Mode::Lenient, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec = BitRound::new(3, Arc::new(FLOAT32)).unwrap();
    let chunk = array(&[4], FLOAT32);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 15], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 17], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 16], &mut Output::at_most(15)), Err(CodecError::TooLarge(_))));
    let other = array(&[4], INT32);
    assert!(matches!(codec.encode(&other, &[0; 16], &mut output), Err(CodecError::Unsupported(_))));
}

#[test]
fn configurations_that_a_format_lacks_are_not_translated() {
    let floats = Representation::Array(array(&[4], FLOAT32));
    for format in Format::ALL {
        let translated = translate(Format::V3, "bitround", &keepbits(7), &floats, format).unwrap();
        let written = if format == Format::V3 { "numcodecs.bitround" } else { name(format) };
        assert_eq!(translated, (Some(written), keepbits(7)));
    }
    let zero = |to| translate(Format::V2, "bitround", &keepbits(0), &floats, to);
    assert!(zero(Format::V2).is_ok() && zero(Format::V3).is_ok());
    assert!(matches!(zero(Format::V3Draft), Err(CodecError::Unsupported(_))));
    let integers = Representation::Array(array(&[4], INT32));
    let to_v2 = translate(Format::V3, "bitround", &keepbits(7), &integers, Format::V2);
    assert!(matches!(to_v2, Err(CodecError::Unsupported(_))));
}

/// The parts of complex numbers of two bytes each are rounded like real numbers.
#[test]
fn both_parts_of_complex_halves_are_rounded() {
    for (name, part) in [("complex_float16", FLOAT16), ("complex_bfloat16", BFLOAT16)] {
        let real = array(&[4], part);
        let complex = array(&[2], UINT32.named(name));
        let bytes = hex("0100 ff3b 5634 0080");
        let of = |array: &ArrayRepresentation| {
            let decoded = Representation::Array(array.clone());
            let made = create(Format::V3, "bitround", r#"{"keepbits": 3}"#, Mode::Strict, &decoded).unwrap();
            assert_eq!(made.warnings, [""; 0]);
            encode(&made.codec, array, &bytes).unwrap()
        };
        assert_eq!(of(&complex), of(&real), "{name}");
        assert_ne!(of(&complex), bytes, "{name}");
    }
}
