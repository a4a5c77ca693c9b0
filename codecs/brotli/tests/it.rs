//! `brotli`: bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_brotli as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(configuration: &str) -> Codec {
    create(Format::V3, "imagecodecs_brotli", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(configuration: &str, encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&codec(configuration), &plain(), encoded, limit)
}

fn assert_corrupt(configuration: &str, encoded: &[u8], what: &str) {
    let result = decoded(configuration, encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

/// The configuration, and bytes written by imagecodecs 2026.10.10 for each of [`inputs`].
const WRITTEN: &[(&str, [&str; 3])] = &[
    ("", ["0b00800703", "8b0580000102030405060708090a0b03", "1b630000a4010204069433dfd481081e1b"]),
    (
        r#"{"level": 11, "mode": "FONT", "lgwin": 10}"#,
        ["0b00800703", "8b0580000102030405060708090a0b03", "1b630000a4010204069433dfd481081e1b"],
    ),
];

/// Returns a byte, bytes without repetitions, and two repetitions.
fn inputs() -> [Vec<u8>; 3] {
    [vec![7], (0..12).collect(), [[0; 40].to_vec(), [1, 2, 3].repeat(20)].concat()]
}

#[test]
fn bytes_of_imagecodecs_decode_under_every_name() {
    for (configuration, encoded) in WRITTEN {
        for (encoded, input) in encoded.iter().zip(inputs()) {
            assert_eq!(decoded(configuration, &hex(encoded), input.len()).unwrap(), input);
            check_lossless(&codec(configuration), &plain(), &input).unwrap();
        }
        for (format, name) in [
            (Format::V2, "imagecodecs_brotli"),
            (Format::V3, "imagecodecs_brotli"),
            (Format::V3, "numcodecs.imagecodecs_brotli"),
        ] {
            let named = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
            assert_eq!(decode(&named, &plain(), &hex(encoded[1]), 12).unwrap(), inputs()[1], "{name}");
        }
    }
}

#[test]
fn a_chunk_that_is_too_large_is_refused() {
    for (configuration, encoded) in WRITTEN {
        for (encoded, input) in encoded.iter().zip(inputs()) {
            let result = decoded(configuration, &hex(encoded), input.len() - 1);
            assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
        }
    }
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for (configuration, _) in WRITTEN {
        let codec = codec(configuration);
        for size in [0u64, 1, 3, 12, 100, 8191, 70_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&codec, &plain(), &bytes).unwrap();
            check_lossless(&codec, &plain(), &vec![3; bytes.len()]).unwrap();
        }
        for bytes in [vec![3; 300], (0..=255).collect()] {
            let encoded = encode(&codec, &plain(), &bytes).unwrap();
            check_damaged(&codec, &plain(), &encoded, 400, 5000).unwrap();
        }
    }
}

#[test]
fn damaged_streams_are_corrupt() {
    let encoded = hex(WRITTEN[0].1[2]);
    for size in 0..encoded.len() {
        assert_corrupt("", &encoded[..size], "truncated");
    }
    assert_corrupt("", &[&encoded[..], &[0]].concat(), "bytes after the stream");
    assert_eq!(decoded("", &hex("06"), 0).unwrap(), b"");
}

/// Decoding refuses a stream whose first byte announces a window of 2^30 bytes. RFC 7932 does not have such windows.
#[test]
fn large_windows_are_corrupt() {
    assert_corrupt("", &hex("111e 0b00800703"), "a large window");
}

#[test]
fn parameters_of_the_compressor_are_checked() {
    for wrong in
        [r#"{"level": 12}"#, r#"{"level": -1}"#, r#"{"lgwin": 9}"#, r#"{"lgwin": 25}"#, r#"{"mode": "x"}"#]
    {
        let result = create(Format::V2, "imagecodecs_brotli", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
}
