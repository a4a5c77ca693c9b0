//! `delta`: elements written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_delta::Delta;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode, encoded_side};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, COMPLEX128, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number,
    RAW3, TEXT, UINT8, UINT16, UINT32, UINT64,
};
use zarr_conformance::{array, hex, native};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/delta/1.0";

fn name(format: Format) -> &'static str {
    match format {
        Format::V2 => "delta",
        Format::V3 => "numcodecs.delta",
        Format::V3Draft => URI,
    }
}

fn configuration(dtype: &str, astype: &str) -> String {
    match astype {
        "" => format!(r#"{{"dtype":"{dtype}"}}"#),
        _ => format!(r#"{{"dtype":"{dtype}","astype":"{astype}"}}"#),
    }
}

fn chunk(count: usize, number: Number, byte_order: ByteOrder) -> ArrayRepresentation {
    array(&[count as u64], number).with_byte_order(byte_order)
}

fn v2(dtype: &str, astype: &str, chunk: &ArrayRepresentation) -> Codec {
    let decoded = Representation::Array(chunk.clone());
    let created = create(Format::V2, "delta", &configuration(dtype, astype), Mode::Strict, &decoded).unwrap();
    assert!(created.warnings.is_empty());
    created.codec
}

/// Checks both directions with stored elements.
fn assert_encodes(dtype: &str, astype: &str, decoded: &str, encoded: &str) {
    let (from, order) = Number::of_typestring(dtype);
    let chunk = chunk(hex(decoded).len() / from.size(), from, order.clone());
    let codec = v2(dtype, astype, &chunk);
    let after = encoded_side(&codec, &chunk);
    let size = after.data_type.elements().size().unwrap();
    let elements = native(decoded, from.size(), &order);
    let differences = native(encoded, size, &after.byte_order);
    assert_eq!(encode(&codec, &chunk, &elements).unwrap(), differences, "{dtype} {astype}");
    assert_eq!(decode(&codec, &chunk, &differences, elements.len()).unwrap(), elements, "{dtype} {astype}");
    check_lossless(&codec, &chunk, &elements).unwrap();
    check_damaged(&codec, &chunk, &differences, elements.len(), 200).unwrap();
}

/// `dtype`, `astype`, elements, and the output of numcodecs 0.17.1.
const NUMCODECS: &[(&str, &str, &str, &str)] = &[
    ("<i4", "", "07000000", "07000000"),
    (
        "<i4",
        "",
        "000000000100000002000000030000000400000005000000",
        "000000000100000001000000010000000100000001000000",
    ),
    (
        "<i4",
        "",
        "d81f8b7603be86d00a55fb485d8de6ca48426944bd9c34e72eedc60e1f83088172a552e1299ca246d3c5e3c32c030613",
        "d81f8b762b9efb59079774785338eb81ebb48279755acba271509227f195417253224a60b7f64f65aa29417d593d224f",
    ),
    ("<i4", "<i2", "07000000", "0700"),
    ("<i4", "<i2", "000000000100000002000000030000000400000005000000", "000001000100010001000100"),
    ("<i4", "<i8", "07000000", "0700000000000000"),
    (
        "<i4",
        "<i8",
        "000000000100000002000000030000000400000005000000",
        "000000000000000001000000000000000100000000000000010000000000000001000000000000000100000000000000",
    ),
    (">i4", "<i2", "00000007", "0700"),
    (">i4", "<i2", "000000000000000100000002000000030000000400000005", "000001000100010001000100"),
    ("<f8", "<f4", "0000000000001c40", "0000e040"),
    (
        "<f8",
        "<f4",
        "0000000000000000000000000000f03f0000000000000040000000000000084000000000000010400000000000001440",
        "000000000000803f0000803f0000803f0000803f0000803f",
    ),
    ("<u2", "|u1", "0700", "07"),
    ("<u2", "|u1", "000001000200030004000500", "000101010101"),
];

#[test]
fn differences_match_those_of_numcodecs() {
    for (dtype, astype, decoded, encoded) in NUMCODECS {
        assert_encodes(dtype, astype, decoded, encoded);
    }
}

/// `dtype`, `astype`, elements, and their encoded and decoded form with numcodecs 0.16.6 and NumPy 2.4.6.
const ROUNDED: &[(&str, &str, &str, &str, &str)] = &[
    (
        "<f4",
        "<f4",
        "cdcccc3d3333333f20bcbe4c33335340",
        "cdcccc3d9999193f20bcbe4c20bcbecc",
        "cdcccc3d3333333f20bcbe4c00000000",
    ),
    ("<f2", "<f2", "662e9a39d0639a42", "662ecd38cf63c9e3", "662e9a39d0630043"),
    (
        "<f8",
        "<f4",
        "9a9999999999b93f666666666666e63f0000000084d797416666666666660a40",
        "cdcccc3d9a99193f20bcbe4c20bcbecc",
        "000000a09999b93f000000746666e63fcecccc0284d79741000000706666e63f",
    ),
    (
        "<f8",
        "<i4",
        "000000000000f83f9a99999999990dc0000000a2941a6d42",
        "01000000fbffffff00000080",
        "000000000000f03f00000000000010c0000080000000e0c1",
    ),
    (
        "<c8",
        "<c8",
        "0000803f00000040cdcccc3dcdcc4c3e0000000000004040",
        "0000803f00000040666666bf6666e6bfcdccccbd33333340",
        "0000803f00000040d0cccc3dd0cc4c3e0000c03200004040",
    ),
];

#[test]
fn rounding_matches_that_of_numcodecs() {
    for (dtype, astype, from, encoded, decoded) in ROUNDED {
        let (from_type, order) = Number::of_typestring(dtype);
        let chunk = chunk(hex(from).len() / from_type.size(), from_type, order.clone());
        let codec = v2(dtype, astype, &chunk);
        let from_unit = unit(dtype);
        let unit = unit(astype);
        let differences = native(encoded, unit, &order);
        let elements = |stored: &str| native(stored, from_unit, &order);
        assert_eq!(encode(&codec, &chunk, &elements(from)).unwrap(), differences, "{dtype} {astype}");
        let again = decode(&codec, &chunk, &differences, 1000).unwrap();
        assert_eq!(again, elements(decoded), "{dtype} {astype}");
    }
}

/// Returns the size of the unit that byte order applies to.
fn unit(dtype: &str) -> usize {
    let size = Number::of_typestring(dtype).0.size();
    if dtype.contains('c') { size / 2 } else { size }
}

/// Tests V2-CODEC-12.
#[test]
fn the_first_element_is_followed_by_wrapping_differences() {
    assert_encodes("<i4", "", "64000000 66000000 65000000 6e000000", "64000000 02000000 ffffffff 09000000");
    assert_encodes("<i4", "<i2", "64000000 66000000 65000000 6e000000", "6400 0200 ffff 0900");
    assert_encodes("|u1", "", "01 ff 00 02", "01 fe 01 02");
    assert_encodes("|b1", "", "01 01 00 00 01 00", "01 00 01 00 01 01");

    let times = [0i64, 86400, i64::MIN, 5].map(i64::to_ne_bytes).concat();
    let chunk = chunk(4, DATETIME, ByteOrder::Little);
    let codec = v2("<M8[s]", "", &chunk);
    let differences =
        [0i64, 86400, i64::MIN.wrapping_sub(86400), i64::MIN + 5].map(i64::to_ne_bytes).concat();
    assert_eq!(encode(&codec, &chunk, &times).unwrap(), differences);
    assert_eq!(encoded_side(&codec, &chunk).data_type.name(), "numpy.datetime64[s]");
    check_lossless(&codec, &chunk, &times).unwrap();
}

/// Tests EX-SEEN-03.
#[test]
fn final_v3_names_types_by_typestring_or_name() {
    let decoded = [0i32, 1, 2, 3].map(i32::to_ne_bytes).concat();
    let encoded = [0i32, 1, 1, 1].map(i32::to_ne_bytes).concat();
    let chunk = chunk(4, INT32, ByteOrder::Little);
    for dtype in ["<i4", "int32", ">i4"] {
        for format in [Format::V3, Format::V3Draft] {
            let decoded_side = Representation::Array(chunk.clone());
            let created =
                create(format, name(format), &configuration(dtype, ""), Mode::Strict, &decoded_side).unwrap();
            assert_eq!(encode(&created.codec, &chunk, &decoded).unwrap(), encoded);
            assert_eq!(decode(&created.codec, &chunk, &encoded, 16).unwrap(), decoded);
            assert_eq!(encoded_side(&created.codec, &chunk).byte_order, ByteOrder::Little);
        }
    }
    let decoded_side = Representation::Array(chunk);
    let in_v2 = |mode| create(Format::V2, "delta", &configuration("int32", ""), mode, &decoded_side);
    assert!(matches!(in_v2(Mode::Strict), Err(CodecError::InvalidConfiguration(_))));
    assert_eq!(in_v2(Mode::Lenient).unwrap().warnings.len(), 1);
}

#[test]
fn every_number_type_round_trips() {
    let bytes: Vec<u8> =
        (0..480u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11).to_ne_bytes()[0]).collect();
    for number in [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64] {
        let chunk = array(&[(bytes.len() / number.size()) as u64], number);
        let delta = Delta::new(&number, Arc::new(number)).unwrap();
        check_lossless(&Codec::ArrayToArray(Arc::new(delta)), &chunk, &bytes).unwrap();
        // The differences can also be stored as the widest type.
        let delta = Delta::new(&number, Arc::new(UINT64)).unwrap();
        check_lossless(&Codec::ArrayToArray(Arc::new(delta)), &chunk, &bytes).unwrap();
    }
    // Integral numbers, so that differences and sums are exact.
    let whole: Vec<f32> = (0..60u16).map(|i| f32::from(i * 7 % 31) - 11.0).collect();
    let singles = whole.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
    let doubles = whole.iter().flat_map(|value| f64::from(*value).to_ne_bytes()).collect::<Vec<_>>();
    let halves = whole
        .iter()
        .flat_map(|value| zarr_plugin_kit::numbers::f16::from_f32(*value).to_ne_bytes())
        .collect::<Vec<_>>();
    for (number, bytes, also) in [
        (FLOAT16, &halves, FLOAT64),
        (FLOAT32, &singles, FLOAT16),
        (FLOAT64, &doubles, INT8),
        (COMPLEX64, &singles, COMPLEX128),
        (COMPLEX128, &doubles, COMPLEX64),
    ] {
        let chunk = array(&[(bytes.len() / number.size()) as u64], number);
        for astype in [number, also] {
            let delta = Delta::new(&number, Arc::new(astype)).unwrap();
            check_lossless(&Codec::ArrayToArray(Arc::new(delta)), &chunk, bytes).unwrap();
        }
    }
    let negative_zero = (-0.0f64).to_ne_bytes();
    let delta = Delta::new(&FLOAT64, Arc::new(FLOAT64)).unwrap();
    check_lossless(&Codec::ArrayToArray(Arc::new(delta)), &array(&[1], FLOAT64), &negative_zero).unwrap();
}

/// The codec calculates the differences of real parts and of imaginary parts separately.
#[test]
fn complex_differences_are_by_part() {
    let chunk = array(&[3], COMPLEX64);
    let parts = |parts: [f32; 6]| parts.map(f32::to_ne_bytes).concat();
    let codec = Codec::ArrayToArray(Arc::new(Delta::new(&COMPLEX64, Arc::new(COMPLEX64)).unwrap()));
    let encoded = encode(&codec, &chunk, &parts([1.0, 10.0, 3.0, 5.0, 3.5, 5.25])).unwrap();
    assert_eq!(encoded, parts([1.0, 10.0, 2.0, -5.0, 0.5, 0.25]));
}

#[test]
fn the_encoded_side_has_the_other_type_and_order_and_the_cast_fill_value() {
    let big = chunk(3, INT32, ByteOrder::Big).with_fill_value(FillValue::new((-7i32).to_ne_bytes()));
    let after = encoded_side(&v2(">i4", "<i2", &big), &big);
    assert_eq!((after.data_type.name().as_ref(), &after.byte_order), ("int16", &ByteOrder::Little));
    assert_eq!(after.fill_value.bytes(), (-7i16).to_ne_bytes());
    assert_eq!(after.shape, [3]);
    let same = encoded_side(&v2(">i4", "", &big), &big);
    assert_eq!((same.data_type.name().as_ref(), &same.byte_order), ("int32", &ByteOrder::Big));
}

#[test]
fn a_dtype_other_than_the_type_of_the_chunk_is_refused() {
    let creating = |dtype: &str, astype: &str, number, order, mode| {
        let decoded = Representation::Array(chunk(4, number, order));
        create(Format::V2, "delta", &configuration(dtype, astype), mode, &decoded)
    };
    for (dtype, number) in
        [("<i2", INT32), ("<u4", INT32), ("<f4", INT32), ("|u1", BOOL), ("<M8[s]", FLOAT64)]
    {
        let error = creating(dtype, "", number, ByteOrder::Little, Mode::Lenient).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{dtype}: {error}");
        assert!(error.to_string().contains("but the chunk holds"), "{error}");
    }
    let error = creating(">i4", "", INT32, ByteOrder::Little, Mode::Lenient).unwrap_err();
    assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{error}");
    assert!(
        error.to_string().contains("big endian") && error.to_string().contains("little endian"),
        "{error}"
    );
    assert!(creating(">i4", "", INT32, ByteOrder::Big, Mode::Strict).is_ok());

    // A chunk of times may have an integer as its `dtype`, but a chunk of integers cannot have a time as its `dtype`.
    assert!(creating("<i8", "", DATETIME, ByteOrder::Little, Mode::Strict).unwrap().warnings.is_empty());
    let times = |mode| creating("<M8[s]", "", INT64, ByteOrder::Little, mode);
    assert!(matches!(times(Mode::Strict), Err(CodecError::InvalidConfiguration(_))));
    assert_eq!(times(Mode::Lenient).unwrap().warnings.len(), 1);

    for number in [RAW3, TEXT] {
        let error = creating("<i4", "", number, ByteOrder::Little, Mode::Lenient).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    for (dtype, astype, number) in [("|b1", "|u1", BOOL), ("<c8", "<f4", COMPLEX64), ("|u1", "|b1", UINT8)] {
        let error = creating(dtype, astype, number, ByteOrder::Little, Mode::Lenient).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{dtype} {astype}: {error}");
    }
}

#[test]
fn other_configurations_are_refused() {
    let decoded = Representation::Array(array(&[4], INT32));
    for wrong in [
        "",
        "{}",
        r#"{"dtype":4}"#,
        r#"{"dtype":"<i3"}"#,
        r#"{"dtype":"int33"}"#,
        r#"{"dtype":"<i4","astype":"x"}"#,
    ] {
        for format in Format::ALL {
            let result = create(format, name(format), wrong, Mode::Lenient, &decoded);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let bytes = Representation::Bytes(Size::Exact(16));
    let error = create(Format::V2, "delta", &configuration("<i4", ""), Mode::Strict, &bytes).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
}

#[test]
fn chunks_of_another_size_are_refused() {
    let delta = Delta::new(&INT32, Arc::new(INT16)).unwrap();
    let chunk = array(&[4], INT32);
    let mut output = Output::at_most(100);
    assert!(matches!(delta.encode(&chunk, &[0; 15], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(delta.decode(&chunk, &[0; 16], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(delta.decode(&chunk, &[0; 8], &mut Output::at_most(15)), Err(CodecError::TooLarge(_))));
    assert!(matches!(
        delta.encode(&array(&[4], INT64), &[0; 32], &mut output),
        Err(CodecError::Unsupported(_))
    ));
    let huge = array(&[u64::MAX / 4, 2], INT32);
    assert!(matches!(delta.decode(&huge, &[0; 8], &mut output), Err(CodecError::Unsupported(_))));
    delta.decode(&array(&[0], INT32), &[], &mut output).unwrap();
    assert!(output.written().is_empty());
}

#[test]
fn configurations_are_translated_to_typestrings() {
    let big = Representation::Array(chunk(4, INT32, ByteOrder::Big));
    let both = configuration(">i4", "<i2");
    assert_eq!(
        translate(Format::V2, "delta", &both, &big, Format::V3).unwrap(),
        (Some("numcodecs.delta"), configuration("<i4", "<i2"))
    );
    assert_eq!(
        translate(Format::V3, "numcodecs.delta", &configuration("int32", ""), &big, Format::V2).unwrap(),
        (Some("delta"), configuration(">i4", ""))
    );
    assert_eq!(
        translate(Format::V2, "delta", &both, &big, Format::V2).unwrap(),
        (Some("delta"), both.clone())
    );
    assert_eq!(translate(Format::V2, "delta", &both, &big, Format::V3Draft).unwrap().0, Some(URI));
}

#[test]
fn times_are_translated_to_integers() {
    for (order, typestring, count) in
        [(ByteOrder::Little, "<M8[s]", "<i8"), (ByteOrder::Big, ">M8[s]", ">i8")]
    {
        let times = Representation::Array(chunk(4, DATETIME, order));
        for (dtype, astype) in [(typestring, ""), (count, ""), (count, count)] {
            let translated = |format| {
                translate(Format::V2, "delta", &configuration(dtype, astype), &times, format).unwrap()
            };
            let wanted = |count: &str| match astype {
                "" => configuration(count, ""),
                _ => configuration(count, count),
            };
            assert_eq!(translated(Format::V3), (Some("numcodecs.delta"), wanted("<i8")), "{dtype}");
            assert_eq!(translated(Format::V3Draft), (Some(URI), wanted("<i8")), "{dtype}");
            assert_eq!(translated(Format::V2), (Some("delta"), wanted(count)), "{dtype}");
        }
    }
}
