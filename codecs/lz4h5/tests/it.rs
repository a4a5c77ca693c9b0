//! `lz4h5`: bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_lz4h5 as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(configuration: &str) -> Codec {
    create(Format::V3, "imagecodecs_lz4h5", configuration, Mode::Strict, &BYTES).unwrap().codec
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
    (
        "",
        [
            "0000000000000001000000010000000107",
            "000000000000000c0000000c0000000c000102030405060708090a0b",
            "000000000000006400000064000000121f000100143f010203030021500203010203",
        ],
    ),
    (
        r#"{"level": 9, "blocksize": 16}"#,
        [
            "0000000000000001000000100000000107",
            "000000000000000c000000100000000c000102030405060708090a0b",
            "0000000000000064000000100000000a160001005000000000000000000a160001005000000000000000000d130001008001020301020301020000000c3403010203005002030102030000000c3401020303005003010203010000000c3402030103005001020301020000000403010203",
        ],
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
            (Format::V2, "imagecodecs_lz4h5"),
            (Format::V3, "imagecodecs_lz4h5"),
            (Format::V3, "numcodecs.imagecodecs_lz4h5"),
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
fn damaged_blocks_are_corrupt() {
    for (_, encoded) in WRITTEN {
        let encoded = hex(encoded[2]);
        for size in 0..encoded.len() {
            assert_corrupt("", &encoded[..size], "truncated");
        }
        assert_corrupt("", &[&encoded[..], &[0]].concat(), "bytes after the last block");
    }
    assert_corrupt("", &hex("0000000000000001 00000000 00000001 07"), "blocks of 0 bytes");
    assert_corrupt("", &hex("0000000000000002 00000002 00000003 100700"), "a block of another size");
    let huge = hex("7fffffffffffffff 40000000 00000001 07");
    assert!(matches!(decoded("", &huge, 1 << 20), Err(CodecError::TooLarge(_))));
    assert!(matches!(decoded("", &huge, usize::MAX), Err(CodecError::Corrupt(_))));
}

#[test]
fn the_size_of_a_block_is_checked() {
    for wrong in [r#"{"blocksize": 0}"#, r#"{"blocksize": 1073741825}"#, r#"{"blocksize": -1}"#] {
        let result = create(Format::V2, "imagecodecs_lz4h5", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    assert_eq!(decoded("", &hex("0000000000000000 00000001"), 0).unwrap(), b"");
    let incompressible = encode(&codec(r#"{"blocksize": 4}"#), &plain(), &[1, 2, 3, 4, 5]).unwrap();
    assert_eq!(incompressible, hex("0000000000000005 00000004 00000004 01020304 00000001 05"));
}
