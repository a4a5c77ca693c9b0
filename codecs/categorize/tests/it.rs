//! `categorize`: numbers written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_categorize::Categorize;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode, encoded_side};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{FLOAT32, INT8, TEXT, TEXT3, UINT8, VARIABLE_BYTES};
use zarr_conformance::{array, hex, items};
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{ByteOrder, Codec, CodecError, FillValue, Format, Mode, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/categorize/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "categorize"), (Format::V3, "numcodecs.categorize"), (Format::V3Draft, URI)];
const LABELS: &str = r#"{"labels":["female","male"],"dtype":"|O"}"#;

fn codec(configuration: &str) -> Codec {
    let decoded = Representation::Array(array(&[3], TEXT));
    create(Format::V2, "categorize", configuration, Mode::Strict, &decoded).unwrap().codec
}

/// Written by numcodecs 0.17.1.
///
/// Tests V2-CODEC-16.
#[test]
fn labels_become_positions_and_other_text_becomes_empty() {
    let chunk = array(&[3], TEXT);
    let before = items(&["male", "female", "x"]);
    let after = items(&["male", "female", ""]);
    for (format, name) in NAMES {
        let decoded = Representation::Array(chunk.clone());
        let codec = create(format, name, LABELS, Mode::Strict, &decoded).unwrap().codec;
        assert_eq!(encode(&codec, &chunk, &before).unwrap(), hex("020100"));
        assert_eq!(decode(&codec, &chunk, &hex("020100"), 1 << 10).unwrap(), after);
        assert_eq!(decode(&codec, &chunk, &hex("03ff02"), 1 << 10).unwrap(), items(&["", "", "male"]));
        check_lossless(&codec, &chunk, &after).unwrap();
        check_damaged(&codec, &chunk, &hex("020100"), 1 << 10, 500).unwrap();
        let error = decode(&codec, &chunk, &hex("0201"), 1 << 10).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        let side = encoded_side(&codec, &chunk);
        assert_eq!((&*side.data_type.name(), side.fill_value.bytes()), ("uint8", &[0][..]));
    }
    let filled = chunk.with_fill_value(FillValue::new(*b"male"));
    assert_eq!(encoded_side(&codec(LABELS), &filled).fill_value.bytes(), [2]);
}

/// Written by numcodecs 0.17.1.
#[test]
fn numbers_have_the_configured_type() {
    let chunk = array(&[4], TEXT);
    let before = items(&["male", "female", "x", "\u{e9}"]);
    for (astype, order, encoded) in [
        ("<i2", ByteOrder::Little, "0200010000000300"),
        (">i4", ByteOrder::Big, "02000000010000000000000003000000"),
        ("|u1", ByteOrder::Little, "02010003"),
    ] {
        let codec = codec(&format!(r#"{{"labels":["female","male","é"],"dtype":"|O","astype":"{astype}"}}"#));
        // Elements are in native byte order; the next codec stores them.
        assert_eq!(encode(&codec, &chunk, &before).unwrap(), hex(encoded));
        assert_eq!(encoded_side(&codec, &chunk).byte_order, order);
        check_lossless(&codec, &chunk, &items(&["male", "female", "", "\u{e9}"])).unwrap();
    }
    // For a repeated label, the last position counts.
    let twice = codec(r#"{"labels":["a","b","a"],"dtype":"|O"}"#);
    let chunk = array(&[4], TEXT);
    assert_eq!(encode(&twice, &chunk, &items(&["a", "b", "a", "c"])).unwrap(), hex("03020300"));
    assert_eq!(decode(&twice, &chunk, &hex("01020304"), 100).unwrap(), items(&["a", "b", "a", ""]));
}

/// Written by numcodecs 0.17.1.
#[test]
fn labels_are_truncated_to_text_of_fixed_length() {
    let chunk = array(&[3], TEXT3);
    let characters = |words: &[&str]| -> Vec<u8> {
        let padded = words.iter().flat_map(|word| word.chars().chain(std::iter::repeat('\0')).take(3));
        padded.flat_map(|character| u32::from(character).to_ne_bytes()).collect()
    };
    let configuration = r#"{"labels":["female","male","fe"],"dtype":"<U3"}"#;
    let decoded = Representation::Array(chunk.clone());
    let codec = create(Format::V2, "categorize", configuration, Mode::Strict, &decoded).unwrap().codec;
    assert_eq!(encode(&codec, &chunk, &characters(&["fem", "mal", "fe"])).unwrap(), hex("000003"));
    assert_eq!(decode(&codec, &chunk, &hex("000003"), 36).unwrap(), characters(&["", "", "fe"]));
    assert_eq!(decode(&codec, &chunk, &hex("010203"), 36).unwrap(), characters(&["fem", "mal", "fe"]));
    check_lossless(&codec, &chunk, &characters(&["fe", "", "fe"])).unwrap();
    let error = encode(&codec, &chunk, &[0; 35]).unwrap_err();
    assert!(matches!(error, CodecError::Encode(_)), "{error}");
    for other in [">U3", "|O", "<i4"] {
        let configuration = configuration.replace("<U3", other);
        let error = create(Format::V2, "categorize", &configuration, Mode::Lenient, &decoded).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{other}: {error}");
    }
}

#[test]
fn other_configurations_are_refused() {
    let text = Representation::Array(array(&[3], TEXT));
    let full = r#"{"labels":["female","male"],"dtype":"|O","astype":"<i2"}"#;
    for (format, name) in NAMES {
        for (to, other) in NAMES {
            assert_eq!(translate(format, name, full, &text, to).unwrap(), (Some(other), full.to_owned()));
        }
        for wrong in [
            "",
            r#"{"labels":["a"]}"#,
            r#"{"dtype":"|O"}"#,
            r#"{"labels":[1],"dtype":"|O"}"#,
            r#"{"labels":["a"],"dtype":"<U3"}"#,
            r#"{"labels":["a"],"dtype":"O"}"#,
            r#"{"labels":["a"],"dtype":"|O","x":1}"#,
        ] {
            let result = create(format, name, wrong, Mode::Strict, &text);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
        let float = r#"{"labels":["a"],"dtype":"|O","astype":"<f4"}"#;
        let result = create(format, name, float, Mode::Strict, &text);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
        for decoded in [
            Representation::Bytes(Size::Exact(3)),
            Representation::Array(array(&[3], VARIABLE_BYTES)),
            Representation::Array(array(&[3], UINT8)),
        ] {
            let result = create(format, name, LABELS, Mode::Strict, &decoded);
            assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
        }
    }
    let lenient = r#"{"labels":["a"],"dtype":"object"}"#;
    assert_eq!(create(Format::V2, "categorize", lenient, Mode::Lenient, &text).unwrap().warnings.len(), 1);
    assert!(URI.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn more_labels_than_the_type_has_values_are_refused() {
    let labels = |count: usize| (0..count).map(|label| label.to_string()).collect::<Vec<_>>();
    Categorize::new(labels(127), &TEXT, Arc::new(INT8)).unwrap();
    Categorize::new(labels(255), &TEXT, Arc::new(UINT8)).unwrap();
    for (count, number) in [(128, INT8), (256, UINT8)] {
        let error = Categorize::new(labels(count), &TEXT, Arc::new(number)).unwrap_err();
        assert!(matches!(error, CodecError::InvalidConfiguration(_)), "{error}");
    }
    let error = Categorize::new(labels(1), &TEXT, Arc::new(FLOAT32)).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    let codec = Categorize::new(labels(2), &TEXT, Arc::new(UINT8)).unwrap();
    let huge = array(&[u64::MAX], TEXT);
    let error = codec.decode(&huge, b"", &mut zarr_spec::Output::at_most(10)).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
}
