//! `msgpack2`: bytes written by numcodecs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_msgpack2::Msgpack2;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::hex;
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{INT32, JSON, TEXT};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/msgpack2/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "msgpack2"), (Format::V3, "numcodecs.msgpack2"), (Format::V3Draft, URI)];

fn chunk(shape: &[u64]) -> ArrayRepresentation {
    ArrayRepresentation::new(shape.to_vec(), Arc::new(JSON), FillValue::new(*b"null"))
}

/// Returns the decoded form: offsets, followed by the texts.
fn items(items: &[&str]) -> Vec<u8> {
    let mut end = 0;
    let ends = items.iter().map(|item| {
        end += item.len() as u64;
        end
    });
    let offsets: Vec<u8> = std::iter::once(0).chain(ends).flat_map(u64::to_ne_bytes).collect();
    [offsets, items.concat().into_bytes()].concat()
}

fn codec(configuration: &str) -> Codec {
    let array = Representation::Array(chunk(&[1]));
    create(Format::V2, "msgpack2", configuration, Mode::Strict, &array).unwrap().codec
}

fn assert_corrupt(shape: &[u64], encoded: &str) {
    let error = decode(&codec(""), &chunk(shape), &hex(encoded), 1 << 20).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{encoded}: {error}");
}

/// Written by numcodecs 0.17.1 with msgpack 1.2.4.
///
/// Tests V2-OBJ-09.
#[test]
fn items_are_nested_lists_followed_by_a_typestring_and_the_shape() {
    let object = "{\"b\":1.5,\"a\":[true,false,\"\u{e9}\u{1f600}\u{7f}\\n\\\"\\\\\"]}";
    let mixed =
        ["\"foo\"", "1", "null", object, "-1", "9223372036854775808", "1e300", "NaN", "-Infinity", "\"\""];
    let forty = format!("\"{}\"", "x".repeat(40));
    let many = format!("\"{}\"", "y".repeat(300));
    let list = format!("[{}]", (0..20).map(|i| i.to_string()).collect::<Vec<_>>().join(","));
    let map = format!("{{{}}}", (0..20).map(|i| format!("\"{i}\":{i}")).collect::<Vec<_>>().join(","));
    let long = [
        &*forty,
        &*list,
        &*map,
        "300",
        "70000",
        "5000000000",
        "-33",
        "-200",
        "-40000",
        "-3000000000",
        &*many,
    ];
    let cases: [(&[u64], &[&str], &str); 8] = [
        (&[2], &["\"foo\"", "1"], "94a3666f6f01a27c4f9102"),
        (&[2, 2], &["\"foo\"", "\"b\"", "\"c\"", "\"d\""], "9492a3666f6fa16292a163a164a27c4f920202"),
        (&[0], &[], "92a27c4f9100"),
        (&[0, 2], &[], "92a27c4f920002"),
        (&[2, 0], &[], "949090a27c4f920200"),
        (&[2, 1], &["[1]", "[2]"], "94919101919102a27c4f920201"),
        (
            &[10],
            &mixed,
            "9ca3666f6f01c082a162cb3ff8000000000000a16193c3c2aac3a9f09f98807f0a225cffcf8000000000000000\
             cb7e37e43c8800759ccb7ff8000000000000cbfff0000000000000a0a27c4f910a",
        ),
        (
            &[11],
            &long,
            &format!(
                "9dd928{}dc0014000102030405060708090a0b0c0d0e0f10111213de0014a13000a13101a13202a13303a13404a13505\
                 a13606a13707a13808a13909a231300aa231310ba231320ca231330da231340ea231350fa2313610a2313711a2313812\
                 a2313913cd012cce00011170cf000000012a05f200d0dfd1ff38d2ffff63c0d3ffffffff4d2fa200da012c{}a27c4f910b",
                "78".repeat(40),
                "79".repeat(300)
            ),
        ),
    ];
    for (shape, texts, encoded) in cases {
        for (format, name) in NAMES {
            let chunk = chunk(shape);
            let array = Representation::Array(chunk.clone());
            let codec = create(format, name, "", Mode::Strict, &array).unwrap().codec;
            assert_eq!(encode(&codec, &chunk, &items(texts)).unwrap(), hex(encoded));
            assert_eq!(decode(&codec, &chunk, &hex(encoded), 1 << 20).unwrap(), items(texts));
            check_lossless(&codec, &chunk, &items(texts)).unwrap();
            check_damaged(&codec, &chunk, &hex(encoded), 1 << 10, 2000).unwrap();
        }
    }
}

#[test]
fn other_values_are_corrupt() {
    for (shape, other) in [
        (&[0][..], ""),
        (&[0], "90"),
        (&[0], "91a27c4f"),
        (&[0], "c0"),
        (&[1], "9301a27c4f91"),
        (&[1], "9301a27c4f9102"),
        (&[1], "9301a27c4f910100"),
        (&[1], "9301a33c69349101"),
        (&[2], "9301a27c4f9102"),
        (&[1], "dd7fffffff01a27c4f9101"),
        (&[1], "93a2fffea27c4f9101"),
        (&[1], "93db7fffffff61a27c4f9101"),
        // Binary data of numcodecs 0.17.1 for `bytes`; an extension; a map of numbers; the unused byte.
        (&[1], "93c4026162a27c4f9101"),
        (&[1], "93d40100a27c4f9101"),
        (&[1], "93810102a27c4f9101"),
        (&[1], "93c1a27c4f9101"),
    ] {
        assert_corrupt(shape, other);
    }
    let deep = format!("93{}c0a27c4f9101", "91".repeat(129));
    assert_corrupt(&[1], &deep);
    let deep = format!("93{}c0a27c4f9101", "91".repeat(100));
    decode(&codec(""), &chunk(&[1]), &hex(&deep), 1 << 10).unwrap();
    assert_corrupt(&[1], &"91".repeat(1 << 20));
    assert_corrupt(&[1], &"ddffffffff".repeat(1 << 10));
}

/// Written by numcodecs 0.17.1, the first two with `use_single_float`, the last with `use_bin_type` false.
#[test]
fn parameters_affect_only_encoding() {
    let single = codec(r#"{"use_single_float":true}"#);
    let texts = items(&["\"foo\"", "1", "null", "{\"b\":1.5}"]);
    let encoded = hex("96a3666f6f01c081a162ca3fc00000a27c4f9104");
    assert_eq!(encode(&single, &chunk(&[4]), &texts).unwrap(), encoded);
    assert_eq!(decode(&codec(""), &chunk(&[4]), &encoded, 100).unwrap(), texts);
    let error = encode(&single, &chunk(&[1]), &items(&["1e300"])).unwrap_err();
    assert!(matches!(error, CodecError::Encode(_)), "{error}");
    let forty = format!("\"{}\"", "x".repeat(40));
    let encoded = hex(&format!("93da0028{}a27c4f9101", "78".repeat(40)));
    let old = codec(r#"{"use_bin_type":false}"#);
    assert_eq!(encode(&old, &chunk(&[1]), &items(&[&forty])).unwrap(), encoded);
    assert_eq!(decode(&codec(""), &chunk(&[1]), &encoded, 100).unwrap(), items(&[&forty]));
    for number in ["18446744073709551616", "-9223372036854775809", "1e999"] {
        let error = encode(&codec(""), &chunk(&[1]), &items(&[number])).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{number}: {error}");
    }
    for infinite in ["Infinity", "-Infinity", "NaN"] {
        check_lossless(&single, &chunk(&[1]), &items(&[infinite])).unwrap();
    }
}

#[test]
fn all_parameters_of_numcodecs_are_read_and_written() {
    let full = r#"{"raw":false,"use_single_float":false,"use_bin_type":true}"#;
    let array = Representation::Array(chunk(&[1]));
    for (format, name) in NAMES {
        for configuration in ["", "{}", full] {
            for (to, other) in NAMES {
                let translated = translate(format, name, configuration, &array, to).unwrap();
                assert_eq!(translated, (Some(other), full.to_owned()));
            }
        }
        for wrong in [r#"{"raw":1}"#, r#"{"level":1}"#, "[]"] {
            let result = create(format, name, wrong, Mode::Strict, &array);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    assert!(URI.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn other_data_types_and_small_limits_are_refused() {
    for decoded in [
        Representation::Bytes(Size::Exact(4)),
        Representation::Array(zarr_conformance::array(&[2], INT32)),
        Representation::Array(zarr_conformance::array(&[2], TEXT)),
    ] {
        let error = create(Format::V2, "msgpack2", "", Mode::Strict, &decoded).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    assert_eq!(Msgpack2::default().encoded_size(&chunk(&[3])).unwrap(), Size::Unknown);
    for room in 0..7 {
        let mut output = Output::at_most(room);
        let error = Msgpack2::default().encode(&chunk(&[1]), &items(&["1"]), &mut output).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge(_)), "{room}: {error}");
    }
}
