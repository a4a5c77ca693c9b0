//! `scale_offset`: numbers encoded by zarr-python, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_scale_offset::ScaleOffset;
use zarr_conformance::array;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BFLOAT16, BOOL, COMPLEX64, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, TEXT,
    UINT8, UINT16, UINT32, UINT64,
};
use zarr_plugin_kit::numbers::{Element, bf16, f16};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/scale-offset/1.0";

fn created(configuration: &str, number: Number) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(array(&[2], number));
    Ok(create(Format::V3, "scale_offset", configuration, Mode::Strict, &decoded)?.codec)
}

/// Returns the bytes of elements in native order.
fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(elements)];
    elements.iter().zip(bytes.chunks_mut(size_of::<T>())).for_each(|(element, bytes)| element.write(bytes));
    bytes
}

fn encoded<T: Element>(configuration: &str, number: Number, decoded: &[T]) -> Result<Vec<u8>, CodecError> {
    let chunk = array(&[decoded.len() as u64], number);
    encode(&created(configuration, number).unwrap(), &chunk, &bytes(decoded))
}

fn decoded<T: Element>(configuration: &str, number: Number, encoded: &[T]) -> Result<Vec<u8>, CodecError> {
    let chunk = array(&[encoded.len() as u64], number);
    decode(&created(configuration, number).unwrap(), &chunk, &bytes(encoded), 100)
}

/// Tests EX-CODEC-10.
#[test]
fn numbers_are_shifted_and_scaled_in_their_type() {
    let shifted = r#"{"offset":1000}"#;
    assert_eq!(encoded(shifted, UINT16, &[1255u16, 1000]).unwrap(), bytes(&[255u16, 0]));
    assert_eq!(decoded(shifted, UINT16, &[255u16, 0]).unwrap(), bytes(&[1255u16, 1000]));
    let both = r#"{"offset":5,"scale":0.1}"#;
    assert_eq!(encoded(both, FLOAT32, &[7f32, 5.0]).unwrap(), bytes(&[(7f32 - 5.0) * 0.1, 0.0]));
    for nothing in ["", "{}", r#"{"offset":0}"#, r#"{"scale":1}"#] {
        assert_eq!(encoded(nothing, INT8, &[i8::MIN, i8::MAX]).unwrap(), bytes(&[i8::MIN, i8::MAX]));
        assert_eq!(encoded(nothing, FLOAT16, &[f16::MAX]).unwrap(), bytes(&[f16::MAX]));
    }

    assert!(matches!(created(r#"{"offset":1,"shift":2}"#, INT8), Err(CodecError::InvalidConfiguration(_))));
    let refused = |result| matches!(result, Err(CodecError::Encode(_)));
    assert!(refused(encoded(shifted, UINT16, &[999u16])));
    assert!(refused(encoded(r#"{"scale":2}"#, INT8, &[64i8])));
    // The product would fit again, but the difference does not.
    assert!(refused(encoded(r#"{"offset":-100,"scale":-1}"#, INT8, &[28i8])));
    assert!(refused(encoded(r#"{"scale":10}"#, FLOAT32, &[1e38f32])));
    assert!(refused(encoded(r#"{"scale":2}"#, UINT64, &[u64::MAX])));
    let corrupt = |result| matches!(result, Err(CodecError::Corrupt(_)));
    assert!(corrupt(decoded(r#"{"scale":2}"#, INT8, &[3i8])));
    assert!(corrupt(decoded(r#"{"scale":-1}"#, INT8, &[i8::MIN])));
    assert!(corrupt(decoded(shifted, UINT16, &[u16::MAX])));
    assert!(corrupt(decoded(r#"{"scale":0.1}"#, FLOAT16, &[f16::MAX])));
}

/// Tests EX-CODEC-11.
#[test]
fn the_fill_value_is_also_encoded() {
    let after = |fill_value: FillValue, configuration, number| {
        let Codec::ArrayToArray(codec) = created(configuration, number).unwrap() else {
            panic!("array to array")
        };
        codec.encoded(&array(&[2], number).with_fill_value(fill_value))
    };
    let configuration = r#"{"offset":-10,"scale":0.1}"#;
    let zero = after(FillValue::new(0f64.to_ne_bytes()), configuration, FLOAT64).unwrap();
    assert_eq!(zero.fill_value.bytes(), 1f64.to_ne_bytes());
    assert_eq!(zero.data_type.name(), "float64");
    let nan = after(FillValue::new(f64::NAN.to_ne_bytes()), configuration, FLOAT64).unwrap();
    assert!(f64::read(nan.fill_value.bytes()).is_nan());
    let lost = after(FillValue::new([0]), r#"{"offset":1}"#, UINT8);
    assert!(matches!(lost, Err(CodecError::Unsupported(_))), "{lost:?}");
}

/// Compares with zarr-python 3.4.2 for `[0.1, -7.25, 1000]` in each float type, and for integers.
#[test]
fn numbers_match_those_of_zarr_python() {
    let configuration = r#"{"offset":1.5,"scale":0.3}"#;
    let of = |bits: [u16; 3]| bits.map(f16::from_bits);
    let from = of([0x2e66, 0xc740, 0x63d0]);
    let to = of([0xb6b9, 0xc140, 0x5cae]);
    assert_eq!(encoded(configuration, FLOAT16, &from).unwrap(), bytes(&to));
    assert_eq!(decoded(configuration, FLOAT16, &to).unwrap(), bytes(&of([0x2e60, 0xc740, 0x63cf])));
    let of = |bits: [u32; 3]| bits.map(f32::from_bits);
    let from = of([0x3dcccccd, 0xc0e80000, 0x447a0000]);
    let to = of([0xbed70a3e, 0xc0280000, 0x4395c667]);
    assert_eq!(encoded(configuration, FLOAT32, &from).unwrap(), bytes(&to));
    assert_eq!(
        decoded(configuration, FLOAT32, &to).unwrap(),
        bytes(&of([0x3dccccd0, 0xc0e80000, 0x447a0000]))
    );
    let of = |bits: [u64; 3]| bits.map(f64::from_bits);
    let from = of([0x3fb999999999999a, 0xc01d000000000000, 0x408f400000000000]);
    let to = of([0xbfdae147ae147ae1, 0xc005000000000000, 0x4072b8cccccccccd]);
    assert_eq!(encoded(configuration, FLOAT64, &from).unwrap(), bytes(&to));
    assert_eq!(
        decoded(configuration, FLOAT64, &to).unwrap(),
        bytes(&of([0x3fb99999999999a0, 0xc01d000000000000, 0x408f400000000001]))
    );
    let integers = r#"{"offset":-7,"scale":3}"#;
    assert_eq!(encoded(integers, INT32, &[-5i32, 0, 13]).unwrap(), bytes(&[6, 21, 60i32]));
}

/// Compares `bfloat16` with ml_dtypes 0.6.0.
#[test]
fn narrow_numbers_are_shifted_and_scaled_in_their_type() {
    let of = |bits: [u16; 3]| bits.map(bf16::from_bits);
    let from = of([0x3dcd, 0xc0e8, 0x447a]);
    let to = of([0xbed7, 0xc028, 0x4396]);
    let configuration = r#"{"offset":1.5,"scale":0.3}"#;
    assert_eq!(encoded(configuration, BFLOAT16, &from).unwrap(), bytes(&to));
    assert_eq!(decoded(configuration, BFLOAT16, &to).unwrap(), bytes(&of([0x3dd0, 0xc0e8, 0x4479])));
    assert_eq!(encoded("{}", BFLOAT16, &from).unwrap(), bytes(&from));
    assert!(matches!(encoded(r#"{"scale":10}"#, BFLOAT16, &[bf16::MAX]), Err(CodecError::Encode(_))));

    const INT4: Number = INT8.narrow(4).named("int4");
    const UINT2: Number = UINT8.narrow(2).named("uint2");
    let shifted = r#"{"offset":-2,"scale":2}"#;
    assert_eq!(encoded(shifted, INT4, &[-6i8, -2, 1]).unwrap(), bytes(&[-8i8, 0, 6]));
    assert_eq!(decoded(shifted, INT4, &[-8i8, 0, 6]).unwrap(), bytes(&[-6i8, -2, 1]));
    assert_eq!(encoded(r#"{"offset":1}"#, UINT2, &[1u8, 3]).unwrap(), bytes(&[0u8, 2]));
    let error = encoded(shifted, INT4, &[2i8]).unwrap_err().to_string();
    assert!(error.contains("(2 - -2) * 2 cannot be represented as int4"), "{error}");
    // The difference does not fit, although the product would.
    assert!(encoded(r#"{"offset":-4,"scale":-1}"#, INT4, &[4i8]).is_err());
    assert!(encoded(r#"{"offset":1}"#, UINT2, &[0u8]).is_err());
    assert!(matches!(decoded(r#"{"offset":2}"#, UINT2, &[2u8]), Err(CodecError::Corrupt(_))));
    assert!(matches!(decoded(r#"{"scale":-1}"#, INT4, &[-8i8]), Err(CodecError::Corrupt(_))));
    for (wrong, number) in [(r#"{"offset":8}"#, INT4), (r#"{"scale":-1}"#, UINT2)] {
        assert!(matches!(created(wrong, number), Err(CodecError::InvalidConfiguration(_))), "{wrong}");
    }
}

#[test]
fn infinities_and_nan_do_not_change() {
    let values = [f32::INFINITY, f32::NEG_INFINITY];
    assert_eq!(encoded(r#"{"offset":5,"scale":0.5}"#, FLOAT32, &values).unwrap(), bytes(&values));
    let nan = decoded(r#"{"offset":5,"scale":0.5}"#, FLOAT32, &[f32::NAN]).unwrap();
    assert!(f32::read(&nan).is_nan());
}

#[test]
fn integers_round_trip() {
    for number in [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64] {
        let codec = created(r#"{"offset":3,"scale":2}"#, number).unwrap();
        let small = created("", number).unwrap();
        let mut elements = vec![0; 4 * number.size()];
        let lowest = if cfg!(target_endian = "big") { number.size() - 1 } else { 0 };
        for (element, value) in elements.chunks_mut(number.size()).zip([3, 4, 50, 66]) {
            element[lowest] = value;
        }
        check_lossless(&codec, &array(&[4], number), &elements).unwrap();
        check_damaged(&codec, &array(&[4], number), &elements, elements.len(), 100).unwrap();
        check_lossless(&small, &array(&[2, 2], number), &elements).unwrap();
    }
}

#[test]
fn other_configurations_and_types_are_refused() {
    for wrong in [
        r#"{"scale":0}"#,
        r#"{"scale":"NaN"}"#,
        r#"{"offset":"Infinity"}"#,
        r#"{"offset":"x"}"#,
        r#"{"scale":[1]}"#,
    ] {
        let result = created(wrong, FLOAT32);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    for wrong in [r#"{"scale":0.5}"#, r#"{"offset":256}"#, r#"{"offset":-1}"#] {
        let result = created(wrong, UINT8);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    for number in [BOOL, COMPLEX64, DATETIME, TEXT] {
        let result = created("", number);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
    let decoded = Representation::Bytes(Size::Exact(16));
    let result = create(Format::V3, "scale_offset", "", Mode::Strict, &decoded);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    let short = ScaleOffset::new(Arc::new(INT32), Some(FillValue::zero(2)), None);
    assert!(matches!(short, Err(CodecError::InvalidConfiguration(_))), "{short:?}");
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec = ScaleOffset::new(Arc::new(INT32), None, None).unwrap();
    let chunk = array(&[2], INT32);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 7], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 9], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 8], &mut Output::at_most(7)), Err(CodecError::TooLarge(_))));
}

#[test]
fn v2_does_not_have_the_codec() {
    let decoded = Representation::Array(array(&[2], FLOAT32));
    let text = r#"{"offset":5,"scale":0.1}"#;
    let to = |format| translate(Format::V3, "scale_offset", text, &decoded, format).unwrap();
    assert_eq!(to(Format::V3Draft), (Some(URI), text.to_owned()));
    assert_eq!(to(Format::V2).0, None);
}
