//! `quantize`: elements written by numcodecs, and errors.

use std::sync::Arc;

use zarr_codec_quantize::Quantize;
use zarr_conformance::codecs::{check_damaged, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{BOOL, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT32, Number, TEXT};
use zarr_conformance::{array, native};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/quantize/1.0";

fn name(format: Format) -> &'static str {
    match format {
        Format::V2 => "quantize",
        Format::V3 => "numcodecs.quantize",
        Format::V3Draft => URI,
    }
}

fn configuration(digits: &str, dtype: &str, astype: &str) -> String {
    let astype = if astype.is_empty() { String::new() } else { format!(r#","astype":"{astype}""#) };
    format!(r#"{{"digits":{digits},"dtype":"{dtype}"{astype}}}"#)
}

/// `digits`, `dtype`, `astype`, the elements `[0.0, 1.234, -5.678, 123.456, 1e6, -0.04, 0.03125, inf]`, and
/// their encoded and decoded form with numcodecs 0.17.1.
const NUMCODECS: &[(&str, &str, &str, &str, &str, &str)] = &[
    (
        "1",
        "<f8",
        "",
        "00000000000000005839b4c876bef33f83c0caa145b616c077be9f1a2fdd5e400000000080842e417b14ae47e17aa4bf\
         000000000000a03f000000000000f07f",
        "0000000000000000000000000000f43f0000000000c016c00000000000dc5e400000000080842e41000000000000b0bf\
         0000000000000000000000000000f07f",
        "0000000000000000000000000000f43f0000000000c016c00000000000dc5e400000000080842e41000000000000b0bf\
         0000000000000000000000000000f07f",
    ),
    (
        "3",
        "<f4",
        "",
        "00000000b6f39d3f2db2b5c079e9f642002474490ad723bd0000003d0000807f",
        "0000000000009e3f00b0b5c080e9f64200247449000024bd0000003d0000807f",
        "0000000000009e3f00b0b5c080e9f64200247449000024bd0000003d0000807f",
    ),
    (
        "1",
        "<f2",
        "",
        "0000f03caec5b757007c1fa90028007c",
        "0000003db0c5b757007c00ac0000007c",
        "0000003db0c5b757007c00ac0000007c",
    ),
    (
        "3",
        ">f8",
        "<f4",
        "00000000000000003ff3be76c8b43958c016b645a1cac083405edd2f1a9fbe77412e848000000000bfa47ae147ae147b\
         3fa00000000000007ff0000000000000",
        "0000000000009e3f00b0b5c080e9f64200247449000024bd0000003d0000807f",
        "00000000000000003ff3c00000000000c016b60000000000405edd3000000000412e848000000000bfa4800000000000\
         3fa00000000000007ff0000000000000",
    ),
    (
        "2",
        "<f4",
        "<f8",
        "00000000b6f39d3f2db2b5c079e9f642002474490ad723bd0000003d0000807f",
        "00000000000000000000000000c0f33f0000000000b816c00000000000dd5e400000000080842e41000000000000a4bf\
         000000000000a03f000000000000f07f",
        "0000000000009e3f00c0b5c000e8f64200247449000020bd0000003d0000807f",
    ),
    (
        "0",
        "<f4",
        "",
        "00000000b6f39d3f2db2b5c079e9f642002474490ad723bd0000003d0000807f",
        "000000000000803f0000c0c00000f6420024744900000080000000000000807f",
        "000000000000803f0000c0c00000f6420024744900000080000000000000807f",
    ),
    (
        "-2",
        "<f8",
        "",
        "00000000000000005839b4c876bef33f83c0caa145b616c077be9f1a2fdd5e400000000080842e417b14ae47e17aa4bf\
         000000000000a03f000000000000f07f",
        "00000000000000000000000000000000000000000000008000000000000060400000000080842e410000000000000080\
         0000000000000000000000000000f07f",
        "00000000000000000000000000000000000000000000008000000000000060400000000080842e410000000000000080\
         0000000000000000000000000000f07f",
    ),
    (
        "1",
        "<f8",
        "<f2",
        "00000000000000005839b4c876bef33f83c0caa145b616c077be9f1a2fdd5e400000000080842e417b14ae47e17aa4bf\
         000000000000a03f000000000000f07f",
        "0000003db0c5b757007c00ac0000007c",
        "0000000000000000000000000000f43f0000000000c016c00000000000dc5e40000000000000f07f000000000000b0bf\
         0000000000000000000000000000f07f",
    ),
];

#[test]
fn elements_are_rounded_like_in_numcodecs() {
    for (digits, dtype, astype, decoded, encoded, again) in NUMCODECS {
        let (from, order) = Number::of_typestring(dtype);
        let (to, encoded_order) =
            if astype.is_empty() { (from, order.clone()) } else { Number::of_typestring(astype) };
        let chunk = array(&[8], from).with_byte_order(order.clone());
        let side = Representation::Array(chunk.clone());
        let text = configuration(digits, dtype, astype);
        let created = create(Format::V2, "quantize", &text, Mode::Strict, &side).unwrap();
        assert!(created.warnings.is_empty());
        let decoded = native(decoded, from.size(), &order);
        let encoded = native(encoded, to.size(), &encoded_order);
        assert_eq!(encode(&created.codec, &chunk, &decoded).unwrap(), encoded, "{digits} {dtype} {astype}");
        let decoded = decode(&created.codec, &chunk, &encoded, 64).unwrap();
        assert_eq!(decoded, native(again, from.size(), &order), "{digits} {dtype} {astype}");
        check_damaged(&created.codec, &chunk, &encoded, decoded.len(), 50).unwrap();
        let Codec::ArrayToArray(codec) = created.codec else { panic!("array to array") };
        let after = codec.encoded(&chunk).unwrap();
        assert_eq!((after.data_type.elements().size(), after.byte_order), (Some(to.size()), encoded_order));
    }
}

/// Tests V2-CODEC-14.
#[test]
fn digits_become_powers_of_two() {
    let rounded = |digits, value: f64| {
        let codec = Quantize::new(digits, &FLOAT64, Arc::new(FLOAT64)).unwrap();
        let mut output = Output::at_most(8);
        codec.encode(&array(&[1], FLOAT64), &value.to_ne_bytes(), &mut output).unwrap();
        f64::from_ne_bytes(output.written().try_into().unwrap())
    };
    assert_eq!((rounded(1, 1.234), rounded(1, -5.678)), (1.25, -5.6875));
    assert_eq!((rounded(2, 0.004), rounded(2, 0.0039)), (1.0 / 128.0, 0.0));
    assert_eq!((rounded(3, 0.0005), rounded(3, 0.0004)), (1.0 / 1024.0, 0.0));
    assert!(rounded(3, f64::NAN).is_nan());
    for (dtype, astype, number) in
        [("<i4", "", INT32), ("<c8", "", COMPLEX64), ("<f4", "<i4", FLOAT32), ("<b1", "", BOOL)]
    {
        let decoded = Representation::Array(array(&[4], number));
        let result =
            create(Format::V2, "quantize", &configuration("1", dtype, astype), Mode::Lenient, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{dtype} {astype}: {result:?}");
    }
}

#[test]
fn digits_that_the_type_cannot_scale_by_are_refused() {
    for (number, largest) in [(FLOAT16, 4), (FLOAT32, 38), (FLOAT64, 307)] {
        for (digits, ok) in [(largest, true), (largest + 1, false), (i32::MAX, false), (i32::MIN, false)] {
            let result = Quantize::new(digits, &number, Arc::new(number));
            assert_eq!(result.is_ok(), ok, "{digits} {number:?}");
        }
    }
}

#[test]
fn the_fill_value_is_rounded_and_cast() {
    let chunk = array(&[2, 3], FLOAT64).with_fill_value(FillValue::new(1.234f64.to_ne_bytes()));
    let after = Quantize::new(1, &FLOAT64, Arc::new(FLOAT32)).unwrap().encoded(&chunk).unwrap();
    assert_eq!(after.fill_value.bytes(), 1.25f32.to_ne_bytes());
    assert_eq!((after.shape, after.data_type.name().as_ref()), (vec![2, 3], "float32"));
}

#[test]
fn other_configurations_are_refused() {
    let decoded = Representation::Array(array(&[4], FLOAT32));
    for wrong in [
        "",
        "{}",
        r#"{"digits":1}"#,
        r#"{"dtype":"<f4"}"#,
        r#"{"digits":1.5,"dtype":"<f4"}"#,
        r#"{"digits":1,"dtype":"<f8"}"#,
        r#"{"digits":1,"dtype":"<f4","astype":"float"}"#,
        r#"{"digits":39,"dtype":"<f4"}"#,
    ] {
        for format in Format::ALL {
            let result = create(format, name(format), wrong, Mode::Lenient, &decoded);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let big = create(Format::V2, "quantize", &configuration("1", ">f4", ""), Mode::Lenient, &decoded);
    assert!(matches!(big, Err(CodecError::InvalidConfiguration(_))), "{big:?}");
    for decoded in [Representation::Bytes(Size::Exact(16)), Representation::Array(array(&[4], TEXT))] {
        let result = create(Format::V2, "quantize", &configuration("1", "<f4", ""), Mode::Lenient, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}

#[test]
fn chunks_of_another_size_are_refused() {
    let codec = Quantize::new(1, &FLOAT64, Arc::new(FLOAT32)).unwrap();
    let chunk = array(&[2], FLOAT64);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.encode(&chunk, &[0; 15], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 16], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 8], &mut Output::at_most(15)), Err(CodecError::TooLarge(_))));
}

#[test]
fn configurations_are_translated_to_typestrings() {
    let chunk = array(&[2], FLOAT64).with_byte_order(ByteOrder::Big);
    let big = Representation::Array(chunk);
    let both = configuration("2", ">f8", "<f4");
    for (to, wanted) in [
        (Format::V2, both.clone()),
        (Format::V3, configuration("2", "<f8", "<f4")),
        (Format::V3Draft, configuration("2", "<f8", "<f4")),
    ] {
        assert_eq!(translate(Format::V2, "quantize", &both, &big, to).unwrap(), (Some(name(to)), wanted));
    }
    let named = configuration("2", "float64", "");
    assert_eq!(
        translate(Format::V3, "numcodecs.quantize", &named, &big, Format::V2).unwrap(),
        (Some("quantize"), configuration("2", ">f8", ""))
    );
}
