//! `lzw`: bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_lzw as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(configuration: &str) -> Codec {
    create(Format::V3, "imagecodecs_lzw", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(configuration: &str, encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&codec(configuration), &plain(), encoded, limit)
}

fn assert_corrupt(configuration: &str, encoded: &[u8], what: &str) {
    let result = decoded(configuration, encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

/// The configuration, and bytes written by imagecodecs 2026.10.10 for each of [`inputs`].
const WRITTEN: &[(&str, [&str; 3])] = &[(
    "",
    [
        "8001e020",
        "800000202018100a0603820120a05c04",
        "800020503824160d0784410020201c2e1b0c87446211387c5625168a45e350c808",
    ],
)];

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
            (Format::V2, "imagecodecs_lzw"),
            (Format::V3, "imagecodecs_lzw"),
            (Format::V3, "numcodecs.imagecodecs_lzw"),
        ] {
            let named = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
            assert_eq!(decode(&named, &plain(), &hex(encoded[1]), 12).unwrap(), inputs()[1], "{name}");
        }
    }
}

/// The sizes and CRC32C checksums of the streams that imagecodecs 2026.10.10 writes for numbers without a pattern. The
/// codes get longer in both, up to 12 bits in the second one.
#[test]
fn long_streams_equal_those_of_imagecodecs() {
    for (count, size, checksum) in [(256, 291, 4_229_926_883), (3840, 5265, 4_127_805_410)] {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
            state.to_le_bytes()[2]
        };
        let bytes: Vec<u8> = (0..count).map(|_| next()).collect();
        let stream = encode(&codec(""), &plain(), &bytes).unwrap();
        assert_eq!((stream.len(), crc32c::crc32c(&stream)), (size, checksum));
        assert_eq!(decoded("", &stream, count).unwrap(), bytes);
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
    let padded = [&encoded[..], &[0]].concat();
    assert_eq!(decoded("", &padded, 100).unwrap(), inputs()[2]);
    assert_corrupt("", &hex("ffff"), "a code that is not defined");
    assert_eq!(decoded("", &hex("804040"), 0).unwrap(), b"");
}
