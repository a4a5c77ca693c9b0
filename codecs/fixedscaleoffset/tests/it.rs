//! `fixedscaleoffset`: elements written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_fixedscaleoffset::{FixedScaleOffset, Parameter};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode, encoded_side};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, UINT8, UINT16,
    UINT32, UINT64,
};
use zarr_conformance::{array, hex, native};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/fixedscaleoffset/1.0";

fn name(format: Format) -> &'static str {
    match format {
        Format::V2 => "fixedscaleoffset",
        Format::V3 => "numcodecs.fixedscaleoffset",
        Format::V3Draft => URI,
    }
}

fn configuration(offset: &str, scale: &str, dtype: &str, astype: &str) -> String {
    let astype = if astype.is_empty() { String::new() } else { format!(r#","astype":"{astype}""#) };
    format!(r#"{{"offset":{offset},"scale":{scale},"dtype":"{dtype}"{astype}}}"#)
}

fn chunk(count: usize, number: Number, byte_order: ByteOrder) -> ArrayRepresentation {
    array(&[count as u64], number).with_byte_order(byte_order)
}

fn new(dtype: Number, astype: Number, offset: Parameter, scale: Parameter) -> Codec {
    Codec::ArrayToArray(Arc::new(FixedScaleOffset::new(&dtype, Arc::new(astype), offset, scale).unwrap()))
}

/// `offset`, `scale`, `dtype`, `astype`, elements, and their encoded and decoded form with numcodecs 0.17.1.
const NUMCODECS: &[(&str, &str, &str, &str, &str, &str, &str)] = &[
    ("1000", "10", "<f8", "|u1", "0000000000408f40", "00", "0000000000408f40"),
    (
        "1000",
        "10",
        "<f8",
        "|u1",
        "0000000000408f407b14ae47e1408f400000000000428f4033333333334f8f400000000000448f4000000000004c8f40",
        "00010213050f",
        "0000000000408f40cdcccccccc408f409a99999999418f4033333333334f8f400000000000448f4000000000004c8f40",
    ),
    ("0", "100", "<f8", "<i2", "0000000000408f40", "a086", "ec51b81e856b73c0"),
    (
        "0",
        "100",
        "<f8",
        "<i2",
        "0000000000408f407b14ae47e1408f400000000000428f4033333333334f8f400000000000448f4000000000004c8f40",
        "a086ab86b9865e87d2863687",
        "ec51b81e856b73c0f6285c8fc26973c0ec51b81e856773c085eb51b81e4d73c0ec51b81e856373c0ec51b81e855373c0",
    ),
    ("-1.5", "8", "<f4", "<i4", "00007a44", "4c1f0000", "00007a44"),
    (
        "-1.5",
        "8",
        "<f4",
        "<i4",
        "00007a440a077a4400107a449a797a4400207a4400607a44",
        "4c1f00004d1f00004e1f00005b1f0000501f0000581f0000",
        "00007a4400087a4400107a4400787a4400207a4400607a44",
    ),
    ("0", "1", ">f8", "<i2", "408f400000000000", "e803", "408f400000000000"),
    (
        "0",
        "1",
        ">f8",
        "<i2",
        "408f400000000000408f40e147ae147b408f420000000000408f4f3333333333408f440000000000408f4c0000000000",
        "e803e803e803ea03e803ea03",
        "408f400000000000408f400000000000408f400000000000408f500000000000408f400000000000408f500000000000",
    ),
    ("5", "0.5", "<f8", "<f4", "0000000000408f40", "0000f943", "0000000000488f40"),
    (
        "5",
        "0.5",
        "<f8",
        "<f4",
        "0000000000408f407b14ae47e1408f400000000000428f4033333333334f8f400000000000448f4000000000004c8f40",
        "0000f9430000f9430000f9430000f9430000f9430000f943",
        "0000000000488f400000000000488f400000000000488f400000000000488f400000000000488f400000000000488f40",
    ),
    ("100", "2", "<i4", "<i2", "e8030000", "0807", "e8030000"),
    (
        "100",
        "2",
        "<i4",
        "<i2",
        "e8030000e8030000e8030000e9030000e8030000e9030000",
        "0807080708070a0708070a07",
        "e8030000e8030000e8030000e9030000e8030000e9030000",
    ),
    // The remaining rows were written by numcodecs 0.16.6 with NumPy 2.4.6.
    (
        "0.1",
        "3",
        "<f4",
        "<f4",
        "6666a63f20bcbe4cca545540",
        "00008040180d8f4d00002041",
        "7877b73f20bcbe4cbbbb5b40",
    ),
    ("0.1", "3.3", "<f2", "<f2", "333d4056ab42", "0044285d8049", "3f3d4256dd42"),
    ("0.1", "3.3", "<f2", "<i2", "333d4056ab42", "04004a010b00", "403d4256de42"),
    (
        "3",
        "7",
        "<i8",
        "<f4",
        "01000000000000000000000000010000f9ffffffffffffff",
        "000060c10000e05400008cc2",
        "01000000000000000000000000010000f9ffffffffffffff",
    ),
    ("10", "0.5", "|u1", "<i2", "050aff", "7e0000007a00", "060afe"),
    (
        "0.25",
        "10",
        "<f8",
        "<i4",
        "000000a2941a6d42000000000000f87f0000000000000ac0",
        "0000008000000080ddffffff",
        "9a9919999999a9c19a9919999999a9c10000000000000ac0",
    ),
];

#[test]
fn elements_are_scaled_like_in_numcodecs() {
    for (offset, scale, dtype, astype, from, encoded, decoded) in NUMCODECS {
        let (from_type, order) = Number::of_typestring(dtype);
        let chunk = chunk(hex(from).len() / from_type.size(), from_type, order.clone());
        let configuration = configuration(offset, scale, dtype, astype);
        let side = Representation::Array(chunk.clone());
        let codec =
            create(Format::V2, "fixedscaleoffset", &configuration, Mode::Strict, &side).unwrap().codec;
        let after = encoded_side(&codec, &chunk);
        let size = after.data_type.elements().size().unwrap();
        let element = |stored: &str| native(stored, from_type.size(), &order);
        let bytes = native(encoded, size, &after.byte_order);
        assert_eq!(encode(&codec, &chunk, &element(from)).unwrap(), bytes, "{configuration}");
        assert_eq!(decode(&codec, &chunk, &bytes, 1000).unwrap(), element(decoded), "{configuration}");
        check_damaged(&codec, &chunk, &bytes, element(decoded).len(), 200).unwrap();
    }
}

/// Tests V2-CODEC-13.
#[test]
fn values_are_rounded_half_to_even_and_wrap_around() {
    let doubles = |values: &[f64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let chunk4 = chunk(4, FLOAT64, ByteOrder::Little);
    let side = Representation::Array(chunk4.clone());
    let configured = configuration("1000", "10", "<f8", "|u1");
    let codec = create(Format::V2, "fixedscaleoffset", &configured, Mode::Strict, &side).unwrap().codec;
    let encoded = encode(&codec, &chunk4, &doubles(&[1000.0, 1000.11, 1000.25, 1001.9])).unwrap();
    assert_eq!(encoded, [0x00, 0x01, 0x02, 0x13]);
    let decoded = decode(&codec, &chunk4, &encoded, 32).unwrap();
    assert_eq!(decoded, doubles(&[1000.0, 1000.1, 1000.2, 1001.9]));

    let one = new(FLOAT64, UINT8, Parameter::Whole(0), Parameter::Whole(1));
    let encoded = encode(&one, &chunk4, &doubles(&[0.5, 1.5, 2.5, -1.0])).unwrap();
    assert_eq!(encoded, [0, 2, 2, 255]);
    let encoded = encode(&one, &chunk4, &doubles(&[256.0, 300.0, -300.0, 65535.0])).unwrap();
    assert_eq!(encoded, [0, 44, 212, 255]);
}

/// Tests EX-CODEC-12.
#[test]
fn final_v3_and_its_alias_scale_alike() {
    let chunk = array(&[4], FLOAT32);
    let decoded = [0f32, 1.0, 2.0, 3.0].map(f32::to_ne_bytes).concat();
    let alias = "https://codec.zarrs.dev/array_to_array/fixedscaleoffset";
    for (format, name) in [
        (Format::V3, "numcodecs.fixedscaleoffset"),
        (Format::V3, alias),
        (Format::V3Draft, URI),
        (Format::V2, "fixedscaleoffset"),
    ] {
        let configuration = configuration("0", "2", "<f4", "|u1");
        let side = Representation::Array(chunk.clone());
        let codec = create(format, name, &configuration, Mode::Strict, &side).unwrap().codec;
        assert_eq!(encode(&codec, &chunk, &decoded).unwrap(), [0, 2, 4, 6]);
        assert_eq!(decode(&codec, &chunk, &[0, 2, 4, 6], 16).unwrap(), decoded);
        check_lossless(&codec, &chunk, &decoded).unwrap();
    }
    let side = Representation::Array(chunk);
    for dtype in ["float32", ">f4"] {
        let configuration = configuration("0", "2", dtype, "uint8");
        assert!(create(Format::V3, name(Format::V3), &configuration, Mode::Strict, &side).is_ok());
    }
    let named = configuration("0", "2", "float32", "uint8");
    let in_v2 = |mode| create(Format::V2, "fixedscaleoffset", &named, mode, &side);
    assert!(matches!(in_v2(Mode::Strict), Err(CodecError::InvalidConfiguration(_))));
    assert_eq!(in_v2(Mode::Lenient).unwrap().warnings.len(), 2);
}

#[test]
fn integer_arithmetic_wraps_around_in_the_type_of_the_elements() {
    let chunk = array(&[3], UINT8);
    let codec = new(UINT8, INT16, Parameter::Whole(10), Parameter::Whole(1));
    let encoded = [251i16, 0, 245].map(i16::to_ne_bytes).concat();
    assert_eq!(encode(&codec, &chunk, &[5, 10, 255]).unwrap(), encoded);
    assert_eq!(decode(&codec, &chunk, &encoded, 3).unwrap(), [5, 10, 255]);
    // A parameter that is not an integer converts the elements to floats.
    let codec = new(UINT8, INT16, Parameter::Real(10.0), Parameter::Whole(1));
    let encoded = [-5i16, 0, 245].map(i16::to_ne_bytes).concat();
    assert_eq!(encode(&codec, &chunk, &[5, 10, 255]).unwrap(), encoded);
    let codec = new(UINT8, INT16, Parameter::Whole(10), Parameter::Real(0.5));
    let encoded = [126i16, 0, 122].map(i16::to_ne_bytes).concat();
    assert_eq!(encode(&codec, &chunk, &[5, 10, 255]).unwrap(), encoded);
}

#[test]
fn values_that_are_not_finite_become_integers_like_on_most_machines() {
    let chunk = array(&[3], FLOAT64);
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(f64::to_ne_bytes).concat();
    let encoded = |astype: Number| {
        encode(&new(FLOAT64, astype, Parameter::Whole(0), Parameter::Whole(1)), &chunk, &odd).unwrap()
    };
    for small in [INT8, INT16, UINT8, UINT16, UINT32] {
        assert!(encoded(small).iter().all(|&byte| byte == 0));
    }
    assert_eq!(encoded(INT32), [i32::MIN; 3].map(i32::to_ne_bytes).concat());
    assert_eq!(encoded(INT64), [i64::MIN; 3].map(i64::to_ne_bytes).concat());
    assert_eq!(encoded(UINT64)[..8], (1u64 << 63).to_ne_bytes());
    assert_eq!(encoded(FLOAT64)[8..], odd[8..]);
}

#[test]
fn every_pair_of_types_preserves_small_integers() {
    let all = [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, FLOAT32, FLOAT64];
    let elements = |number: Number| -> Vec<u8> {
        let small = 1..=40u8;
        small
            .flat_map(|value| match (number.size(), [FLOAT16, FLOAT32, FLOAT64].contains(&number)) {
                (1, _) => vec![value],
                (2, false) => u16::from(value).to_ne_bytes().to_vec(),
                (4, false) => u32::from(value).to_ne_bytes().to_vec(),
                (_, false) => u64::from(value).to_ne_bytes().to_vec(),
                (2, true) => zarr_plugin_kit::numbers::f16::from(value).to_ne_bytes().to_vec(),
                (4, true) => f32::from(value).to_ne_bytes().to_vec(),
                (_, true) => f64::from(value).to_ne_bytes().to_vec(),
            })
            .collect()
    };
    let chunk = |number| array(&[40], number);
    for dtype in all {
        for astype in all {
            for (offset, scale) in
                [(Parameter::Whole(1), Parameter::Whole(3)), (Parameter::Real(0.5), Parameter::Real(2.0))]
            {
                let codec = new(dtype, astype, offset, scale);
                check_lossless(&codec, &chunk(dtype), &elements(dtype))
                    .unwrap_or_else(|wrong| panic!("{dtype:?} to {astype:?}, {offset:?} {scale:?}: {wrong}"));
            }
            let unchanged = new(dtype, astype, Parameter::Whole(0), Parameter::Whole(1));
            assert_eq!(encode(&unchanged, &chunk(dtype), &elements(dtype)).unwrap(), elements(astype));
            assert_eq!(decode(&unchanged, &chunk(dtype), &elements(astype), 400).unwrap(), elements(dtype));
        }
    }
}

#[test]
fn the_encoded_side_has_the_other_type_and_order_and_the_encoded_fill_value() {
    let big = chunk(3, FLOAT64, ByteOrder::Big).with_fill_value(FillValue::new(1001.0f64.to_ne_bytes()));
    let side = Representation::Array(big.clone());
    let after = |format, astype| {
        let configuration = configuration("1000", "10", ">f8", astype);
        encoded_side(&create(format, name(format), &configuration, Mode::Strict, &side).unwrap().codec, &big)
    };
    let small = after(Format::V2, "<i2");
    assert_eq!((small.data_type.name().as_ref(), &small.byte_order), ("int16", &ByteOrder::Little));
    assert_eq!(small.fill_value.bytes(), 10i16.to_ne_bytes());
    assert_eq!(small.shape, [3]);
    assert_eq!(after(Format::V2, "").byte_order, ByteOrder::Big);
    assert_eq!(after(Format::V3, "<i2").byte_order, ByteOrder::Big);
    let without = big.with_fill_value(FillValue::new([0; 3]));
    let codec = FixedScaleOffset::new(&FLOAT64, Arc::new(INT16), Parameter::Whole(0), Parameter::Whole(1));
    assert!(matches!(codec.unwrap().encoded(&without), Err(CodecError::Unsupported(_))));
}

#[test]
fn a_dtype_other_than_the_type_of_the_chunk_is_refused() {
    let creating = |dtype: &str, astype: &str, number, order| {
        let decoded = Representation::Array(chunk(4, number, order));
        let configuration = configuration("0", "1", dtype, astype);
        create(Format::V2, "fixedscaleoffset", &configuration, Mode::Lenient, &decoded)
    };
    for (dtype, number) in [("<f4", FLOAT64), ("<i4", FLOAT32), ("<u4", INT32)] {
        let error = creating(dtype, "", number, ByteOrder::Little).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{dtype}: {error}");
        assert!(error.to_string().contains("but the chunk holds"), "{error}");
    }
    let error = creating(">f8", "", FLOAT64, ByteOrder::Little).unwrap_err();
    assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{error}");
    assert!(
        error.to_string().contains("big endian") && error.to_string().contains("little endian"),
        "{error}"
    );
    for (dtype, astype, number) in [
        ("|b1", "", BOOL),
        ("<c8", "", COMPLEX64),
        ("<M8[s]", "", DATETIME),
        ("<f8", "|b1", FLOAT64),
        ("<f8", "<c8", FLOAT64),
    ] {
        let error = creating(dtype, astype, number, ByteOrder::Little).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{dtype} {astype}: {error}");
    }
}

#[test]
fn other_configurations_are_refused() {
    let decoded = Representation::Array(array(&[4], FLOAT64));
    for wrong in [
        "",
        "{}",
        r#"{"scale":1,"dtype":"<f8"}"#,
        r#"{"offset":0,"dtype":"<f8"}"#,
        r#"{"offset":0,"scale":1}"#,
        r#"{"offset":"0","scale":1,"dtype":"<f8"}"#,
        r#"{"offset":0,"scale":0,"dtype":"<f8"}"#,
        r#"{"offset":0,"scale":-0.0,"dtype":"<f8"}"#,
        r#"{"offset":1e400,"scale":1,"dtype":"<f8"}"#,
        r#"{"offset":0,"scale":1,"dtype":"<f3"}"#,
        r#"{"offset":0,"scale":1,"dtype":"<f8","astype":"float65"}"#,
    ] {
        for format in Format::ALL {
            let result = create(format, name(format), wrong, Mode::Lenient, &decoded);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let bytes = Representation::Bytes(Size::Exact(32));
    let fine = configuration("0", "1", "<f8", "");
    let error = create(Format::V2, "fixedscaleoffset", &fine, Mode::Strict, &bytes).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec =
        FixedScaleOffset::new(&FLOAT64, Arc::new(INT16), Parameter::Whole(0), Parameter::Whole(1)).unwrap();
    let chunk = array(&[4], FLOAT64);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 31], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 7], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 8], &mut Output::at_most(31)), Err(CodecError::TooLarge(_))));
    assert!(matches!(
        codec.encode(&array(&[4], FLOAT32), &[0; 16], &mut output),
        Err(CodecError::Unsupported(_))
    ));
    let huge = array(&[u64::MAX / 8, 2], FLOAT64);
    assert!(matches!(codec.decode(&huge, &[0; 8], &mut output), Err(CodecError::Unsupported(_))));
    codec.decode(&array(&[0], FLOAT64), &[], &mut output).unwrap();
    assert!(output.written().is_empty());
}

#[test]
fn configurations_are_translated_to_typestrings_with_unchanged_numbers() {
    let big = Representation::Array(chunk(4, FLOAT64, ByteOrder::Big));
    let v2 = configuration("-1.50", "8", ">f8", "<i4");
    assert_eq!(
        translate(Format::V2, "fixedscaleoffset", &v2, &big, Format::V3).unwrap(),
        (Some("numcodecs.fixedscaleoffset"), configuration("-1.50", "8", "<f8", "<i4"))
    );
    let named = configuration("0", "8", "float64", "");
    assert_eq!(
        translate(Format::V3, name(Format::V3), &named, &big, Format::V2).unwrap(),
        (Some("fixedscaleoffset"), configuration("0", "8", ">f8", ""))
    );
}
