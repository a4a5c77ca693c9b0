//! `zlib`: streams written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_zlib::Zlib;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec as _;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/zlib/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v2(configuration: &str) -> Codec {
    create(Format::V2, "zlib", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&v2(""), &plain(), encoded, limit)
}

/// Written by numcodecs 0.17.1 at levels -1, 0, 1 and 9.
const STREAMS: &[(&str, &str)] = &[
    ("789c030000000001", ""),
    ("7801010600f9ff00010203040500290010", "000102030405"),
    ("7801636064626661050000290010", "000102030405"),
    (
        "78da6360800046286082026628000001f80031",
        "0000000000000000010101010101010102020202020202020303030303030303",
    ),
];

/// Tests V2-CODEC-01.
#[test]
fn streams_of_other_programs_decode_and_trailing_bytes_are_ignored() {
    for (encoded, wanted) in STREAMS {
        assert_eq!(decoded(&hex(encoded), 32).unwrap(), hex(wanted));
        let followed = [hex(encoded), b"more".to_vec()].concat();
        assert_eq!(decoded(&followed, 32).unwrap(), hex(wanted));
    }
    let ramp: Vec<u8> = (0..6i32).flat_map(i32::to_le_bytes).collect();
    let printed = hex("7801636060606004 6226206606621620 6605620000a40010");
    assert_eq!(decoded(&printed, 24).unwrap(), ramp);
    assert_eq!(encode(&v2(""), &plain(), &ramp).unwrap()[..2], [0x78, 0x01]);
}

#[test]
fn invalid_streams_are_corrupt_and_long_ones_too_large() {
    let good = hex(STREAMS[2].0);
    for size in 0..good.len() {
        assert!(matches!(decoded(&good[..size], 6), Err(CodecError::Corrupt(_))), "{size} bytes");
    }
    for place in [0, 1, good.len() - 1] {
        let mut flipped = good.clone();
        flipped[place] ^= 1;
        assert!(matches!(decoded(&flipped, 6), Err(CodecError::Corrupt(_))), "byte {place}");
    }
    assert!(matches!(decoded(&good, 5), Err(CodecError::TooLarge(_))));
    let zeros = encode(&v2(""), &plain(), &vec![0; 1 << 20]).unwrap();
    assert!(matches!(decoded(&zeros, (1 << 20) - 1), Err(CodecError::TooLarge(_))));
}

/// 20 MiB of zeros compress by a factor of 1000, more than the decoder guesses from the size of the stream.
#[test]
fn a_stream_may_be_far_smaller_than_its_content() {
    let zeros = vec![0; 20 << 20];
    let encoded = encode(&v2(""), &plain(), &zeros).unwrap();
    assert!(decoded(&encoded, zeros.len()).unwrap() == zeros);
    assert!(decoded(&encoded, usize::MAX).unwrap() == zeros);
    let mut destination = vec![1; zeros.len() + 1];
    let mut output = Output::to(&mut destination);
    Zlib::new(1).unwrap().decode(&encoded, &mut output).unwrap();
    assert!(output.written() == zeros);
}

/// Tests V2-PIPE-05, V2-PIPE-07.
#[test]
fn the_level_is_minus_one_to_nine_and_has_a_default() {
    for level in -1..=9 {
        v2(&format!(r#"{{"level":{level}}}"#));
    }
    for wrong in [r#"{"level":10}"#, r#"{"level":-2}"#, r#"{"level":1.0}"#, r#"{"level":"1"}"#] {
        for (format, name) in [(Format::V2, "zlib"), (Format::V3, "numcodecs.zlib"), (Format::V3Draft, OWN)] {
            let result = create(format, name, wrong, Mode::Lenient, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    let unknown = r#"{"level":1,"x":2}"#;
    assert!(create(Format::V2, "zlib", unknown, Mode::Strict, &BYTES).is_err());
    assert_eq!(create(Format::V2, "zlib", unknown, Mode::Lenient, &BYTES).unwrap().warnings.len(), 1);
    let bytes = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3];
    let default = encode(&v2(""), &plain(), &bytes).unwrap();
    assert_eq!(default, encode(&v2(r#"{"level":1}"#), &plain(), &bytes).unwrap());
    assert!(matches!(Zlib::new(10), Err(CodecError::InvalidConfiguration(_))));
}

#[test]
fn names_of_other_programs_are_read_and_defaults_are_written() {
    let to_v3 =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap();
    let written = |level: i32| (Some("numcodecs.zlib"), format!(r#"{{"level":{level}}}"#));
    assert_eq!(to_v3(Format::V2, "zlib", ""), written(1));
    assert_eq!(to_v3(Format::V2, "zlib", r#"{"level":-1}"#), written(-1));
    assert_eq!(
        to_v3(Format::V3, "https://codec.zarrs.dev/bytes_to_bytes/zlib", r#"{"level":3}"#),
        written(3)
    );
    assert_eq!(
        to_v3(Format::V3Draft, "https://purl.org/zarr/spec/codec/zlib/1.0", r#"{"level":3}"#),
        written(3)
    );
    let draft = translate(Format::V2, "zlib", r#"{"level":5}"#, &BYTES, Format::V3Draft).unwrap();
    assert_eq!(draft, (Some(OWN), r#"{"level":5}"#.to_owned()));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for level in [-1, 0, 1, 9] {
        let codec = v2(&format!(r#"{{"level":{level}}}"#));
        for size in [0u64, 1, 100, 70_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&codec, &plain(), &bytes).unwrap();
        }
        let encoded = encode(&codec, &plain(), &[3; 300]).unwrap();
        check_damaged(&codec, &plain(), &encoded, 400, 3000).unwrap();
    }
}

#[test]
fn streams_of_imagecodecs_without_the_header_of_zlib_are_refused() {
    for (name, configuration, part) in [
        ("imagecodecs_deflate", r#"{"raw": true}"#, "`raw` is true"),
        ("imagecodecs_isal", r#"{"raw": true}"#, "`raw` is true"),
        ("imagecodecs_isal", r#"{"gzip": true}"#, "`gzip` is true"),
        ("imagecodecs_zopfli", r#"{"format": 0}"#, "`format` is 0"),
        ("imagecodecs_zopfli", r#"{"format": 2}"#, "`format` is 2"),
    ] {
        let error = create(Format::V2, name, configuration, Mode::Strict, &BYTES).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("header of zlib"), "{error}");
    }
    for configuration in ["{}", r#"{"level": 15, "format": 1, "blocksplitting": true}"#] {
        assert!(create(Format::V2, "imagecodecs_zopfli", configuration, Mode::Strict, &BYTES).is_ok());
    }
}
