//! `lz4f`: bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_lz4f as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(configuration: &str) -> Codec {
    create(Format::V3, "imagecodecs_lz4f", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(configuration: &str, encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&codec(configuration), &plain(), encoded, limit)
}

fn assert_corrupt(encoded: &[u8], what: &str) {
    let result = decoded("", encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

const CHECKED: &str =
    r#"{"blocksizeid": 5, "blockchecksum": true, "contentchecksum": true, "contentsize": true}"#;

/// The bytes that imagecodecs compressed.
const INPUT: &str = "e2e9f0f7fe050c131a21282f363d444b525960676e757c83";

/// The configuration, and the frame of [`INPUT`] by imagecodecs 2026.10.10.
const WRITTEN: &[(&str, &str)] = &[
    ("", "04224d18684018000000000000004f18000080e2e9f0f7fe050c131a21282f363d444b525960676e757c8300000000"),
    (
        CHECKED,
        "04224d187c4018000000000000000c18000080e2e9f0f7fe050c131a21282f363d444b525960676e757c83fcc73df200000000fcc73df2",
    ),
];

#[test]
fn bytes_of_imagecodecs_decode_under_every_name() {
    let input = hex(INPUT);
    for (configuration, encoded) in WRITTEN {
        for (format, name) in [
            (Format::V2, "imagecodecs_lz4f"),
            (Format::V3, "imagecodecs_lz4f"),
            (Format::V3, "numcodecs.imagecodecs_lz4f"),
        ] {
            let named = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
            assert_eq!(decode(&named, &plain(), &hex(encoded), input.len()).unwrap(), input, "{name}");
        }
    }
}

#[test]
fn a_chunk_that_is_too_large_is_refused() {
    for (configuration, encoded) in WRITTEN {
        let result = decoded(configuration, &hex(encoded), hex(INPUT).len() - 1);
        assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
    }
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for configuration in ["", CHECKED] {
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
fn damaged_frames_are_corrupt() {
    for (_, encoded) in WRITTEN {
        let encoded = hex(encoded);
        for size in 0..encoded.len() {
            assert_corrupt(&encoded[..size], "truncated");
        }
        assert_corrupt(&[&encoded[..], &[0]].concat(), "bytes after the frame");
    }
    let mut changed = hex(WRITTEN[1].1);
    changed[20] ^= 1;
    assert_corrupt(&changed, "another element, although the checksums are the old ones");
    assert_corrupt(&hex("02214c18 01000000 10 07"), "a legacy frame");
}

#[test]
fn the_size_of_a_block_is_checked() {
    for wrong in [r#"{"blocksizeid": 1}"#, r#"{"blocksizeid": 8}"#, r#"{"blocksizeid": -1}"#] {
        let result = create(Format::V2, "imagecodecs_lz4f", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
}
