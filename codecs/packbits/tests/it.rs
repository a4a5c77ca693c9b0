//! `packbits`: bytes written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_packbits::{PackBits, PackBooleans, PaddingEncoding};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, COMPLEX128, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number,
    RAW3, TEXT, UINT8, UINT16, UINT32, UINT64,
};
use zarr_conformance::{array, hex};
use zarr_spec::codec::{ArrayToArrayCodec, ArrayToBytesCodec};
use zarr_spec::{Codec, CodecError, Format, Mode, Output, Representation, Size};

const INT2: Number = INT8.named("int2");
const INT4: Number = INT8.named("int4");
const UINT4: Number = UINT8.named("uint4");
const FLOAT6: Number = UINT8.named("float6_e2m3fn");
const COMPLEX_FLOAT4: Number = UINT16.named("complex_float4_e2m1fn");
const BFLOAT16: Number = FLOAT16.named("bfloat16");

/// Returns the bytes of booleans; `1` is true.
fn booleans(text: &str) -> Vec<u8> {
    text.bytes().map(|digit| u8::from(digit == b'1')).collect()
}

fn new(number: Number, padding: PaddingEncoding, bits: (Option<u32>, Option<u32>)) -> Codec {
    Codec::ArrayToBytes(Arc::new(PackBits::new(&number, padding, bits.0, bits.1).unwrap()))
}

fn created(format: Format, identifier: &str, configuration: &str, number: Number) -> Codec {
    let decoded = Representation::Array(array(&[4], number));
    create(format, identifier, configuration, Mode::Strict, &decoded).unwrap().codec
}

/// Checks both directions.
fn assert_packs(codec: &Codec, number: Number, elements: &[u8], encoded: &str) {
    let chunk = array(&[(elements.len() / number.size()) as u64], number);
    assert_eq!(encode(codec, &chunk, elements).unwrap(), hex(encoded));
    check_lossless(codec, &chunk, elements).unwrap();
    check_damaged(codec, &chunk, &hex(encoded), elements.len(), 200).unwrap();
    if let Codec::ArrayToBytes(codec) = codec {
        assert_eq!(codec.encoded_size(&chunk).unwrap(), Size::Exact(hex(encoded).len() as u64));
    }
}

/// Booleans, and the output of numcodecs 0.17.1.
const NUMCODECS: &[(&str, &str)] = &[
    ("1001111101", "069f40"),
    ("11111111", "00ff"),
    ("", "00"),
    ("1", "0780"),
    ("000000001", "070080"),
    ("0111", "0470"),
];

/// Tests V2-CODEC-15, EX-SEEN-02.
#[test]
fn booleans_are_packed_like_in_numcodecs() {
    let uri = "https://zarr-kit.example/spec/codecs/numcodecs.packbits/1.0";
    for (format, identifier) in [
        (Format::V2, "packbits"),
        (Format::V3, "numcodecs.packbits"),
        (Format::V3Draft, uri),
        (Format::V3Draft, "packbits"),
    ] {
        let codec = created(format, identifier, "", BOOL);
        for (decoded, encoded) in NUMCODECS {
            assert_packs(&codec, BOOL, &booleans(decoded), encoded);
            // The encoded array has data type `uint8`, so that the chain stores it with a `bytes` codec.
            let Codec::ArrayToArray(codec) = &codec else { panic!("array to array") };
            let after = codec.encoded(&array(&[decoded.len() as u64], BOOL)).unwrap();
            assert_eq!(
                (after.shape, after.data_type.name().as_ref()),
                (vec![hex(encoded).len() as u64], "uint8")
            );
        }
        for number in [UINT8, INT32, TEXT] {
            let decoded = Representation::Array(array(&[4], number));
            let result = create(format, identifier, "", Mode::Lenient, &decoded);
            assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
        }
    }
}

#[test]
fn a_wrong_number_of_packed_booleans_is_corrupt() {
    let codec = PackBooleans::new(Arc::new(UINT8)).unwrap();
    let decode = |encoded: &str| {
        let mut decoded = Output::at_most(10);
        codec.decode(&array(&[5, 2], BOOL), &hex(encoded), &mut decoded)?;
        Ok::<_, CodecError>(decoded.into_written())
    };
    assert_eq!(decode("069f40").unwrap(), booleans("1001111101"));
    // Decoding ignores unused bits.
    assert_eq!(decode("069f7f").unwrap(), booleans("1001111101"));
    for corrupt in ["", "06", "069f", "069f4000", "059f40", "009f40", "ff9f40"] {
        assert!(matches!(decode(corrupt), Err(CodecError::Corrupt(_))), "{corrupt}");
    }
    let mut output = Output::at_most(100);
    let chunk = array(&[5, 2], BOOL);
    assert!(matches!(codec.encode(&chunk, &[0; 9], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(
        codec.decode(&chunk, &[6, 0, 0], &mut Output::at_most(9)),
        Err(CodecError::TooLarge(_))
    ));
    assert!(PackBooleans::new(Arc::new(INT8)).is_err());
}

/// Tests EX-CODEC-15.
#[test]
fn the_padding_is_optional_in_the_registry() {
    let ten = booleans("1001111101");
    let booleans_with = |configuration| created(Format::V3, "packbits", configuration, BOOL);
    assert_packs(&booleans_with(""), BOOL, &ten, "f902");
    assert_packs(&booleans_with(r#"{"padding_encoding":"none","last_bit":null}"#), BOOL, &ten, "f902");
    assert_packs(&booleans_with(r#"{"padding_encoding":"first_byte"}"#), BOOL, &ten, "06f902");
    assert_packs(&booleans_with(r#"{"padding_encoding":"last_byte","first_bit":0}"#), BOOL, &ten, "f90206");
    assert_packs(&new(INT4, PaddingEncoding::None, (None, None)), INT4, &[1, 2], "21");
    assert_packs(&new(BOOL, PaddingEncoding::FirstByte, (None, None)), BOOL, &[], "00");
    assert_packs(&new(BOOL, PaddingEncoding::None, (None, None)), BOOL, &[], "");

    for wrong in [
        r#"{"padding_encoding":"both"}"#,
        r#"{"padding_encoding":null}"#,
        r#"{"first_bit":3,"last_bit":2}"#,
        r#"{"last_bit":8}"#,
        r#"{"first_bit":8}"#,
        r#"{"first_bit":-1}"#,
        r#"{"last_bit":4294967295}"#,
        r#"{"bits":1}"#,
    ] {
        let decoded = Representation::Array(array(&[4], UINT8));
        let result = create(Format::V3, "packbits", wrong, Mode::Lenient, &decoded);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    let codec = booleans_with(r#"{"padding_encoding":"first_byte"}"#);
    for corrupt in ["", "06f9", "06f90200", "05f902", "f90206"] {
        let result = decode(&codec, &array(&[10], BOOL), &hex(corrupt), 10);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{corrupt}: {result:?}");
    }
}

/// Tests EX-CODEC-16.
#[test]
fn the_two_codecs_have_opposite_bit_orders() {
    let ten = booleans("1001111101");
    let of_registry = created(Format::V3, "packbits", r#"{"padding_encoding":"first_byte"}"#, BOOL);
    let of_numcodecs = created(Format::V3, "numcodecs.packbits", "", BOOL);
    assert_packs(&of_registry, BOOL, &ten, "06f902");
    assert_packs(&of_numcodecs, BOOL, &ten, "069f40");
    let chunk = array(&[10], BOOL);
    assert_ne!(decode(&of_registry, &chunk, &hex("069f40"), 10).unwrap(), ten);
    assert_ne!(decode(&of_numcodecs, &chunk, &hex("06f902"), 10).unwrap(), ten);
    // Neither codec is translated to the other.
    let decoded = Representation::Array(chunk);
    let name = |format, identifier, to| translate(format, identifier, "", &decoded, to).unwrap().0;
    assert_eq!(name(Format::V2, "packbits", Format::V3), Some("numcodecs.packbits"));
    assert_eq!(name(Format::V3, "numcodecs.packbits", Format::V2), Some("packbits"));
    assert_eq!(name(Format::V3, "packbits", Format::V2), None);
}

/// Tests EX-CODEC-17.
#[test]
fn signs_are_restored_and_other_bits_become_zero() {
    let last_three = (None, Some(3));
    assert_packs(&new(INT8, PaddingEncoding::None, last_three), INT8, &[0xff, 7, 0xf8], "7f08");
    assert_packs(&new(UINT8, PaddingEncoding::None, last_three), UINT8, &[15, 7, 8], "7f08");
    let shifted = (Some(4), Some(7));
    assert_packs(&new(INT8, PaddingEncoding::None, shifted), INT8, &[0xf0, 0x70, 0x80], "7f08");
    let middle = new(INT16, PaddingEncoding::None, (Some(4), Some(7)));
    let elements = [-16i16, 0x70, -128].map(i16::to_ne_bytes).concat();
    assert_packs(&middle, INT16, &elements, "7f08");
    // Encoding loses the bits that it does not pack.
    let chunk = array(&[1], INT16);
    let encoded = encode(&middle, &chunk, &0x1234i16.to_ne_bytes()).unwrap();
    assert_eq!(decode(&middle, &chunk, &encoded, 2).unwrap(), 0x30i16.to_ne_bytes());

    // The upper halves of both parts of a complex number: sign, exponent and seven bits of the mantissa.
    let upper = new(COMPLEX64, PaddingEncoding::LastByte, (Some(16), None));
    assert_packs(&upper, COMPLEX64, &[1f32, -2.0].map(f32::to_ne_bytes).concat(), "803f00c000");
    let error = PackBits::new(&COMPLEX64, PaddingEncoding::None, None, Some(32)).unwrap_err();
    assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{error}");
}

/// Tests EX-CODEC-18.
#[test]
fn every_type_has_the_registered_number_of_bits() {
    let packed = |number: Number, elements: &[u8], encoded: &str| {
        assert_packs(&new(number, PaddingEncoding::None, (None, None)), number, elements, encoded);
    };
    packed(BOOL, &[1; 9], "ff01");
    packed(INT2, &[1, 0xfe, 0xff], "39");
    packed(INT2.named("uint2"), &[1, 2, 3], "39");
    packed(INT4, &[1, 0xff, 7, 0xf8, 0], "f18700");
    packed(UINT4, &[1, 15, 7, 8, 0], "f18700");
    packed(UINT8.named("float4_e2m1fn"), &[1, 15], "f1");
    packed(FLOAT6, &[0x3f, 0, 1, 0x20], "3f1080");
    packed(COMPLEX_FLOAT4, &[1, 2, 3, 4], "2143");
    packed(UINT16.named("complex_float6_e3m2fn"), &[0x3f, 1], "7f00");
    packed(BFLOAT16, &0x3f80u16.to_ne_bytes(), "803f");
    packed(UINT32.named("complex_bfloat16"), &[0x3f80u16, 0x4000].map(u16::to_ne_bytes).concat(), "803f0040");
    packed(INT32, &(-2i32).to_ne_bytes(), "feffffff");
    packed(UINT32, &0x0102_0304u32.to_ne_bytes(), "04030201");
    packed(INT64, &i64::MIN.to_ne_bytes(), "0000000000000080");
    packed(UINT64, &u64::MAX.to_ne_bytes(), "ffffffffffffffff");
    packed(FLOAT32, &1.5f32.to_ne_bytes(), "0000c03f");
    packed(FLOAT64, &1.5f64.to_ne_bytes(), "000000000000f83f");
    packed(COMPLEX128, &[1.5f64, 0.0].map(f64::to_ne_bytes).concat(), "000000000000f83f0000000000000000");
    for number in [RAW3, TEXT, DATETIME] {
        let error = PackBits::new(&number, PaddingEncoding::None, None, None).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
}

/// Compares the decoded elements for all ranges of bits with elements that this test masks.
#[test]
fn all_ranges_of_bits_can_be_packed() {
    let elements: Vec<u64> = (0..40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let bytes =
        |elements: &[u64]| elements.iter().flat_map(|element| element.to_ne_bytes()).collect::<Vec<_>>();
    let chunk = array(&[8, 5], UINT64);
    for first in 0..64 {
        for last in first..64 {
            let codec = new(UINT64, PaddingEncoding::FirstByte, (Some(first), Some(last)));
            let mask = (u64::MAX >> (63 - last)) & (u64::MAX << first);
            let kept: Vec<u64> = elements.iter().map(|element| element & mask).collect();
            let encoded = encode(&codec, &chunk, &bytes(&elements)).unwrap();
            assert_eq!(encoded.len(), 1 + (40 * (last - first + 1) as usize).div_ceil(8));
            assert_eq!(decode(&codec, &chunk, &encoded, 320).unwrap(), bytes(&kept), "{first} to {last}");
        }
    }
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec = PackBits::new(&INT16, PaddingEncoding::None, None, Some(3)).unwrap();
    let chunk = array(&[4], INT16);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 7], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.encode(&chunk, &[0; 8], &mut Output::at_most(1)), Err(CodecError::TooLarge(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 3], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 2], &mut Output::at_most(7)), Err(CodecError::TooLarge(_))));
    let other = codec.decode(&array(&[4], UINT16), &[0; 2], &mut output);
    assert!(matches!(other, Err(CodecError::Unsupported(_))));
    let huge = codec.encoded_size(&array(&[u64::MAX / 4, 2], INT16));
    assert!(matches!(huge, Err(CodecError::Unsupported(_))));
    let bytes = Representation::Bytes(Size::Exact(16));
    for (format, name) in [(Format::V2, "packbits"), (Format::V3, "packbits")] {
        let result = create(format, name, "", Mode::Lenient, &bytes);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}
