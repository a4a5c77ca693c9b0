//! `cast_value`: numbers cast by another program, examples of the registry, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_cast_value::{CastValue, OutOfRange, Rounding};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BFLOAT16, BOOL, COMPLEX64, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Number, TEXT,
    UINT8, UINT16, UINT32, UINT64,
};
use zarr_conformance::{array, native};
use zarr_plugin_kit::numbers::Element;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/cast-value/1.0";

const ROUNDINGS: [Rounding; 5] = [
    Rounding::NearestEven,
    Rounding::TowardsZero,
    Rounding::TowardsPositive,
    Rounding::TowardsNegative,
    Rounding::NearestAway,
];

fn created(configuration: &str, chunk: &ArrayRepresentation) -> Result<Codec, CodecError> {
    let decoded = Representation::Array(chunk.clone());
    Ok(create(Format::V3, "cast_value", configuration, Mode::Strict, &decoded)?.codec)
}

/// Returns the bytes of elements in native order.
fn bytes<T: Element>(elements: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(elements)];
    elements.iter().zip(bytes.chunks_mut(size_of::<T>())).for_each(|(element, bytes)| element.write(bytes));
    bytes
}

fn cast<T: Element>(
    types: (Number, Number),
    rounding: Rounding,
    out_of_range: Option<OutOfRange>,
    decoded: &[T],
) -> Result<Vec<u8>, CodecError> {
    let (from, to) = types;
    let codec = CastValue::new(&from, Arc::new(to), rounding, out_of_range).unwrap();
    encode(&Codec::ArrayToArray(Arc::new(codec)), &array(&[decoded.len() as u64], from), &bytes(decoded))
}

/// Compares with the output of cast-value-rs 0.5.1 for each of `ROUNDINGS`.
fn assert_casts<T: Element>(
    types: (Number, Number),
    out_of_range: Option<OutOfRange>,
    decoded: &[T],
    encoded: [&str; 5],
) {
    for (rounding, encoded) in ROUNDINGS.into_iter().zip(encoded) {
        let wanted = native(encoded, types.1.size(), &ByteOrder::Little);
        assert_eq!(cast(types, rounding, out_of_range, decoded).unwrap(), wanted, "{rounding:?} {types:?}");
    }
}

#[test]
fn floats_become_integers_like_in_another_program() {
    let decoded = [0.0, -0.0, 0.5, 1.5, -1.5, -2.5, 127.5, 300.25, -1e10];
    assert_casts(
        (FLOAT64, INT8),
        Some(OutOfRange::Clamp),
        &decoded,
        [
            "00000002fefe7f7f80",
            "00000001fffe7f7f80",
            "00000102fffe7f7f80",
            "00000001fefd7f7f80",
            "00000102fefd7f7f80",
        ],
    );
    assert_casts(
        (FLOAT64, INT8),
        Some(OutOfRange::Wrap),
        &decoded,
        [
            "00000002fefe802c00",
            "00000001fffe7f2c00",
            "00000102fffe802d00",
            "00000001fefd7f2c00",
            "00000102fefd802c00",
        ],
    );
    let large = [1e30, -1e30, (1u128 << 100) as f64 + (1u64 << 60) as f64, -4.7e18, 1.9e19];
    let wrapped = cast((FLOAT64, UINT64), Rounding::NearestEven, Some(OutOfRange::Wrap), &large).unwrap();
    let wanted = "00000000000075460000000000008bb900000000000000100000aad3e63ec6be00006c6c558fad07";
    assert_eq!(wrapped, native(wanted, 8, &ByteOrder::Little));
}

#[test]
fn numbers_become_floats_like_in_another_program() {
    let clamp = Some(OutOfRange::Clamp);
    let decoded = [0.1, -0.1, 1.0 / 3.0, 65519.99, 65520.0, 1e-8, -6e-8, 3.5e38, -1e300, 16_777_217.0];
    assert_casts(
        (FLOAT64, FLOAT32),
        clamp,
        &decoded,
        [
            "cdcccc3dcdccccbdabaaaa3efdef7f4700f07f4777cc2b3259d980b30000807f000080ff0000804b",
            "cccccc3dccccccbdaaaaaa3efdef7f4700f07f4777cc2b3259d980b30000807f000080ff0000804b",
            "cdcccc3dccccccbdabaaaa3efeef7f4700f07f4778cc2b3259d980b30000807f000080ff0100804b",
            "cccccc3dcdccccbdaaaaaa3efdef7f4700f07f4777cc2b325ad980b30000807f000080ff0000804b",
            "cdcccc3dcdccccbdabaaaa3efdef7f4700f07f4777cc2b3259d980b30000807f000080ff0100804b",
        ],
    );
    assert_casts(
        (FLOAT64, FLOAT16),
        clamp,
        &decoded,
        [
            "662e66ae5535ff7b007c00000180007c00fc007c",
            "662e66ae5535ff7bff7b00000180007c00fc007c",
            "672e66ae5635007c007c01000180007c00fc007c",
            "662e67ae5535ff7bff7b00000280007c00fc007c",
            "662e66ae5535ff7b007c00000180007c00fc007c",
        ],
    );
    let decoded = [(1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN, 16_777_217, 33_554_435, 5];
    assert_casts(
        (INT64, FLOAT32),
        None,
        &decoded,
        [
            "0000005a000000da0000005f000000df0000804b0100004c0000a040",
            "0000005a000000daffffff5e000000df0000804b0000004c0000a040",
            "0100005a000000da0000005f000000df0100804b0100004c0000a040",
            "0000005a010000daffffff5e000000df0000804b0000004c0000a040",
            "0000005a000000da0000005f000000df0100804b0100004c0000a040",
        ],
    );
    let integers = [u64::MAX, 1 << 63];
    let doubles = cast((UINT64, FLOAT64), Rounding::NearestEven, None, &integers).unwrap();
    assert_eq!(doubles, native("000000000000f043000000000000e043", 8, &ByteOrder::Little));
}

/// Casts the smallest floats, which have the fewest significant bits.
#[test]
fn the_smallest_floats_survive() {
    let small = [f64::from_bits(1), -f64::from_bits(3), f64::MIN_POSITIVE, f64::MAX, -0.0];
    for rounding in ROUNDINGS {
        assert_eq!(cast((FLOAT64, FLOAT64), rounding, None, &small).unwrap(), bytes(&small), "{rounding:?}");
        let single = [f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX].map(f64::from);
        let wanted = bytes(&[f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX]);
        assert_eq!(cast((FLOAT64, FLOAT32), rounding, None, &single).unwrap(), wanted, "{rounding:?}");
    }
    let tiny = cast((FLOAT64, FLOAT32), Rounding::TowardsPositive, None, &[f64::from_bits(1)]).unwrap();
    assert_eq!(tiny, bytes(&[f32::from_bits(1)]));
}

/// Compares casts to `bfloat16` with ml_dtypes 0.6.0, and other casts with the rules of the registry.
#[test]
fn narrow_types_follow_the_same_rules() {
    let decoded =
        [0.1, -7.25, 1000.0, 3e38, 1e-40, 1.003_906_25, 1.011_718_75, -0.0, f64::NAN, f64::INFINITY];
    let encoded = [0x3dcdu16, 0xc0e8, 0x447a, 0x7f62, 0x0001, 0x3f80, 0x3f82, 0x8000, 0x7fc0, 0x7f80];
    let nearest = |types, elements: &[f64]| cast(types, Rounding::NearestEven, None, elements);
    assert_eq!(nearest((FLOAT64, BFLOAT16), &decoded).unwrap(), bytes(&encoded));
    let whole = [257i64, 259, -65535, (1 << 40) + 1, 3];
    let wanted = bytes(&[0x4380u16, 0x4382, 0xc780, 0x5380, 0x4040]);
    assert_eq!(cast((INT64, BFLOAT16), Rounding::NearestEven, None, &whole).unwrap(), wanted);
    let up = cast((INT64, BFLOAT16), Rounding::TowardsPositive, None, &whole[..1]).unwrap();
    assert_eq!(up, bytes(&[0x4381u16]));
    assert!(nearest((FLOAT64, BFLOAT16), &[3.4e38]).is_err());
    let clamped = cast((FLOAT64, BFLOAT16), Rounding::NearestEven, Some(OutOfRange::Clamp), &[-3.4e38]);
    assert_eq!(clamped.unwrap(), bytes(&[0xff80u16]));
    let back = cast((BFLOAT16, INT8), Rounding::NearestEven, None, &[0xc0e8u16]).unwrap();
    assert_eq!(back, bytes(&[-7i8]));

    const INT4: Number = INT8.narrow(4).named("int4");
    const UINT2: Number = UINT8.narrow(2).named("uint2");
    let all =
        |to, out_of_range, elements: &[i64]| cast((INT64, to), Rounding::NearestEven, out_of_range, elements);
    assert_eq!(all(INT4, None, &[-8, 7]).unwrap(), bytes(&[-8i8, 7]));
    for wrong in [-9, 8, 16] {
        assert!(matches!(all(INT4, None, &[wrong]), Err(CodecError::Encode(_))), "{wrong}");
    }
    let clamp = Some(OutOfRange::Clamp);
    let wrap = Some(OutOfRange::Wrap);
    assert_eq!(all(INT4, clamp, &[-100, 8, 5]).unwrap(), bytes(&[-8i8, 7, 5]));
    assert_eq!(all(INT4, wrap, &[8, -9, 16, 23]).unwrap(), bytes(&[-8i8, 7, 0, 7]));
    assert_eq!(all(UINT2, wrap, &[4, -1, 7, 2]).unwrap(), bytes(&[0u8, 3, 3, 2]));
    assert_eq!(all(UINT2, clamp, &[4, -1]).unwrap(), bytes(&[3u8, 0]));
    assert_eq!(nearest((FLOAT64, UINT2), &[2.5, 2.6]).unwrap(), bytes(&[2u8, 3]));
    // Decoding fails for a stored value that does not fit into the narrow type `int4`.
    let codec = CastValue::new(&INT4, Arc::new(INT16), Rounding::NearestEven, None).unwrap();
    let codec = Codec::ArrayToArray(Arc::new(codec));
    let chunk = array(&[1], INT4);
    assert_eq!(decode(&codec, &chunk, &(-8i16).to_ne_bytes(), 1).unwrap(), bytes(&[-8i8]));
    assert!(matches!(decode(&codec, &chunk, &8i16.to_ne_bytes(), 1), Err(CodecError::Corrupt(_))));
}

/// Tests EX-CODEC-05, EX-CODEC-07.
#[test]
fn values_out_of_range_are_refused_clamped_or_wrapped() {
    let configured = |data_type: &str, rest: &str, number: Number| {
        created(&format!(r#"{{"data_type":"{data_type}"{rest}}}"#), &array(&[1], number))
    };
    let of_128 = |rest| encode(&configured("int8", rest, FLOAT64)?, &array(&[1], FLOAT64), &bytes(&[128.0]));
    assert!(matches!(of_128(""), Err(CodecError::Encode(_))));
    assert_eq!(of_128(r#","out_of_range":"clamp""#).unwrap(), [127]);
    assert_eq!(of_128(r#","out_of_range":"wrap""#).unwrap(), [128]);
    let wrapped =
        cast((INT32, INT16), Rounding::NearestEven, Some(OutOfRange::Wrap), &[32768, -32769, 32769]);
    assert_eq!(wrapped.unwrap(), bytes(&[-32768i16, 32767, -32767]));

    for rounding in ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"] {
        assert!(configured("int8", &format!(r#","rounding":"{rounding}""#), FLOAT64).is_ok());
    }
    for wrong in [
        r#","rounding":"up""#,
        r#","out_of_range":"error""#,
        r#","out_of_range":"saturate""#,
        r#","scalar_map":{"both":[]}"#,
        r#","scalar_map":{"encode":[[1]]}"#,
        r#","scalar_map":{"encode":[[1,2,3]]}"#,
        r#","scalar_map":{"encode":[["x",2]]}"#,
        r#","scalar_map":{"decode":[[1000,2]]}"#,
        r#","note":1"#,
    ] {
        let result = configured("int8", wrong, FLOAT64);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    let without = created("{}", &array(&[1], FLOAT64));
    assert!(matches!(without, Err(CodecError::InvalidConfiguration(_))), "{without:?}");
    for number in [BOOL, COMPLEX64, DATETIME, TEXT, INT8.named("bool")] {
        let result = configured("bool", "", number);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }

    let float = |rest| configured("float32", rest, FLOAT64);
    let wrap = float(r#","out_of_range":"wrap""#);
    assert!(matches!(wrap, Err(CodecError::InvalidConfiguration(_))), "{wrap:?}");
    let large = bytes(&[1e39, -1e300, 2.0]);
    let chunk = array(&[3], FLOAT64);
    assert!(matches!(encode(&float("").unwrap(), &chunk, &large), Err(CodecError::Encode(_))));
    let clamped = encode(&float(r#","out_of_range":"clamp""#).unwrap(), &chunk, &large).unwrap();
    assert_eq!(clamped, bytes(&[f32::INFINITY, f32::NEG_INFINITY, 2.0]));
}

/// Tests EX-CODEC-06, EX-CODEC-09.
#[test]
fn the_first_matching_rule_applies() {
    let chunk = array(&[5], FLOAT64);
    let decoded = bytes(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0, 258.7]);
    let with_map = |map: &str| {
        let rest = r#""rounding":"towards-zero","out_of_range":"wrap""#;
        created(&format!(r#"{{"data_type":"uint8",{rest},"scalar_map":{map}}}"#), &chunk).unwrap()
    };
    // The example of the registry, with both spellings of infinity. The first of two pairs counts.
    for infinity in ["+Infinity", "Infinity"] {
        let map = format!(r#"{{"encode":[["NaN",9],["{infinity}",7],["-Infinity",8],["NaN",1],[2,200]]}}"#);
        assert_eq!(encode(&with_map(&map), &chunk, &decoded).unwrap(), [9, 7, 8, 200, 2]);
    }
    // A map for the other direction has no effect.
    for map in ["{}", r#"{"encode":[["NaN",9]]}"#, r#"{"decode":[[9,"NaN"]]}"#] {
        assert!(matches!(encode(&with_map(map), &chunk, &decoded), Err(CodecError::Encode(_))), "{map}");
    }
    for out_of_range in [None, Some(OutOfRange::Clamp), Some(OutOfRange::Wrap)] {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let result = cast((FLOAT64, INT64), Rounding::NearestEven, out_of_range, &[value]);
            assert!(matches!(result, Err(CodecError::Encode(_))), "{value} {out_of_range:?}");
        }
    }
    let kept =
        cast((FLOAT64, FLOAT32), Rounding::NearestEven, None, &[f64::INFINITY, -0.0, f64::NAN]).unwrap();
    assert_eq!(kept[..8], bytes(&[f32::INFINITY, -0.0]));
    assert!(f32::read(&kept[8..]).is_nan());
}

/// Tests EX-CODEC-08.
#[test]
fn the_fill_value_is_cast_and_must_survive_the_round_trip() {
    let chunk =
        |fill_value: f64| array(&[4], FLOAT64).with_fill_value(FillValue::new(fill_value.to_ne_bytes()));
    let encoded = |fill_value, rest: &str| {
        let codec = created(&format!(r#"{{"data_type":"uint8"{rest}}}"#), &chunk(fill_value)).unwrap();
        let Codec::ArrayToArray(codec) = codec else { panic!("array to array") };
        codec.encoded(&chunk(fill_value))
    };
    let both = r#","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}"#;
    let after = encoded(f64::NAN, both).unwrap();
    assert_eq!((after.fill_value.bytes(), after.data_type.name().as_ref()), (&[0][..], "uint8"));
    assert_eq!(encoded(3.0, "").unwrap().fill_value.bytes(), [3]);
    for (fill_value, rest) in [
        (f64::NAN, ""),
        (f64::NAN, r#","scalar_map":{"encode":[["NaN",0]]}"#),
        (0.0, both),
        (0.5, ""),
        (256.0, ""),
        (256.0, r#","out_of_range":"clamp""#),
    ] {
        let result = encoded(fill_value, rest);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{fill_value} {rest}: {result:?}");
    }
}

#[test]
fn numbers_that_both_types_can_represent_survive() {
    let all = [INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, FLOAT32, FLOAT64];
    for to in all {
        for from in all {
            let elements = cast((UINT8, from), Rounding::TowardsZero, None, &[0u8, 1, 2, 100]).unwrap();
            let codec = CastValue::new(&from, Arc::new(to), Rounding::NearestEven, None).unwrap();
            check_lossless(&Codec::ArrayToArray(Arc::new(codec)), &array(&[4], from), &elements).unwrap();
        }
    }
}

#[test]
fn encoded_numbers_that_no_rule_decodes_are_corrupt() {
    let codec = CastValue::new(&UINT8, Arc::new(INT16), Rounding::NearestEven, None).unwrap();
    let chunk = array(&[2], UINT8);
    let mut output = Output::at_most(100);
    assert!(matches!(codec.decode(&chunk, &bytes(&[1i16, -1]), &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 3], &mut output), Err(CodecError::Corrupt(_))));
    assert!(matches!(codec.encode(&chunk, &[0; 3], &mut output), Err(CodecError::Encode(_))));
    assert!(matches!(codec.decode(&chunk, &[0; 4], &mut Output::at_most(1)), Err(CodecError::TooLarge(_))));
    check_damaged(&Codec::ArrayToArray(Arc::new(codec)), &chunk, &[0; 4], 2, 200).unwrap();
    let decoded = Representation::Bytes(Size::Exact(16));
    let result = create(Format::V3, "cast_value", r#"{"data_type":"int8"}"#, Mode::Strict, &decoded);
    assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    let pair = FillValue::new([0]);
    let codec = CastValue::new(&UINT8, Arc::new(INT16), Rounding::NearestEven, None).unwrap();
    assert!(codec.with_scalar_map(&[(pair.clone(), pair)], &[]).is_err());
    let decoded = decode(&created(r#"{"data_type":"int16"}"#, &chunk).unwrap(), &chunk, &[0; 4], 2);
    assert_eq!(decoded.unwrap(), [0, 0]);
}

#[test]
fn members_of_an_earlier_edition_are_tolerated_but_not_written() {
    let decoded = Representation::Array(array(&[1], FLOAT64));
    let early = r#"{"data_type":"int8","out_of_range":"error","rounding":"towards-zero"}"#;
    assert_eq!(create(Format::V3, "cast_value", early, Mode::Lenient, &decoded).unwrap().warnings.len(), 1);
    assert_eq!(
        translate(Format::V3, "cast_value", early, &decoded, Format::V3Draft).unwrap(),
        (Some(URI), r#"{"data_type":"int8","rounding":"towards-zero"}"#.to_owned())
    );
    let wrap = r#"{"data_type":"int8","out_of_range":"wrap"}"#;
    assert_eq!(
        translate(Format::V3Draft, URI, wrap, &decoded, Format::V3).unwrap(),
        (Some("cast_value"), wrap.to_owned())
    );
    assert_eq!(translate(Format::V3, "cast_value", wrap, &decoded, Format::V2).unwrap().0, None);
}
