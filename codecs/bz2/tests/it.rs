//! `bz2`: streams of other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_bz2::Bz2;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/bz2/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v2(configuration: &str) -> Codec {
    create(Format::V2, "bz2", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&v2(""), &plain(), encoded, limit)
}

fn assert_corrupt(encoded: &[u8], what: &str) {
    let result = decoded(encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

const RAMP: &str = "425a6831314159265359601ab39200000040007e00200021800c03272ee2ee48a70a120c03567240";

/// Written by numcodecs 0.17.1 at levels 1 and 9.
const STREAMS: &[(&str, &str)] = &[
    ("425a683117724538509000000000", ""),
    ("425a683917724538509000000000", ""),
    (RAMP, "000102030405"),
    (
        "425a68393141592653590b9f6f0100000040007c00200030cd00cd47a253a9f464570bb9229c284805cfb78080",
        "0000000000000000010101010101010102020202020202020303030303030303",
    ),
];

/// Tests V2-CODEC-03.
#[test]
fn streams_of_other_programs_decode_and_levels_go_from_1_to_9() {
    for (encoded, wanted) in STREAMS {
        let wanted = hex(wanted);
        assert_eq!(decoded(&hex(encoded), wanted.len()).unwrap(), wanted);
    }
    let ramp = hex("000102030405");
    assert_eq!(encode(&v2(""), &plain(), &ramp).unwrap(), hex(RAMP));
    assert_eq!(encode(&v2(""), &plain(), &ramp).unwrap()[..4], *b"BZh1");
    assert_eq!(encode(&v2(r#"{"level":9}"#), &plain(), b"").unwrap()[..4], *b"BZh9");
    for wrong in [r#"{"level":0}"#, r#"{"level":10}"#, r#"{"level":-1}"#, r#"{"level":1.0}"#] {
        for (format, name) in [(Format::V2, "bz2"), (Format::V3, "numcodecs.bz2"), (Format::V3Draft, OWN)] {
            let result = create(format, name, wrong, Mode::Lenient, &BYTES);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    assert!(matches!(Bz2::new(0), Err(CodecError::InvalidConfiguration(_))));
}

#[test]
fn several_streams_decode_and_other_trailing_bytes_are_corrupt() {
    let two = [hex(RAMP), hex(RAMP)].concat();
    assert_eq!(decoded(&two, 12).unwrap(), hex("000102030405 000102030405"));
    assert_corrupt(&[hex(RAMP), b"more".to_vec()].concat(), "bytes that are not a stream");
    for size in 0..hex(RAMP).len() {
        assert_corrupt(&hex(RAMP)[..size], "cut off");
    }
    let mut flipped = hex(RAMP);
    let last = flipped.len() - 2;
    flipped[last] ^= 0x10;
    assert_corrupt(&flipped, "a wrong checksum");
}

#[test]
fn decoding_stops_at_the_limit() {
    let zeros = encode(&v2(""), &plain(), &vec![0; 1 << 20]).unwrap();
    for limit in [0, 1, (1 << 20) - 1] {
        assert!(matches!(decoded(&zeros, limit), Err(CodecError::TooLarge(_))), "{limit}");
    }
    assert_eq!(decoded(&zeros, 1 << 20).unwrap(), vec![0; 1 << 20]);
    let mut short = [0; 8];
    let result = Bz2::new(1).unwrap().encode(&[7; 100], &mut Output::to(&mut short));
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

#[test]
fn names_of_other_programs_are_read_and_defaults_are_written() {
    let to_v3 =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap();
    let written = |level: u32| (Some("numcodecs.bz2"), format!(r#"{{"level":{level}}}"#));
    assert_eq!(to_v3(Format::V2, "bz2", ""), written(1));
    assert_eq!(to_v3(Format::V3, "numcodecs.bz2", "{}"), written(1));
    assert_eq!(to_v3(Format::V3, "https://codec.zarrs.dev/bytes_to_bytes/bz2", r#"{"level":3}"#), written(3));
    assert_eq!(
        to_v3(Format::V3Draft, "https://purl.org/zarr/spec/codec/bz2/1.0", r#"{"level":3}"#),
        written(3)
    );
    let draft = translate(Format::V2, "bz2", r#"{"level":5}"#, &BYTES, Format::V3Draft).unwrap();
    assert_eq!(draft, (Some(OWN), r#"{"level":5}"#.to_owned()));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for level in [1, 9] {
        let codec = v2(&format!(r#"{{"level":{level}}}"#));
        for size in [0u64, 1, 100, 150_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&codec, &plain(), &bytes).unwrap();
        }
    }
    for bytes in [vec![3; 300], (0..=255).collect()] {
        let encoded = encode(&v2(""), &plain(), &bytes).unwrap();
        check_damaged(&v2(""), &plain(), &encoded, 400, 2000).unwrap();
    }
}

/// The library would clear 3.6 MB for each stream. The codec bypasses it for empty streams, and lowers the level for
/// small ones.
#[test]
fn a_million_streams_with_little_or_no_content_decode() {
    let (empty, _) = STREAMS[1];
    let codec = v2(r#"{"level":9}"#);
    let single = encode(&codec, &plain(), b"a").unwrap();
    assert_eq!(decoded(&hex(empty).repeat(1 << 20), 0).unwrap(), b"");
    assert_eq!(decoded(&single.repeat(1 << 12), 1 << 12).unwrap(), vec![b'a'; 1 << 12]);
    let both = [hex(empty), single].concat().repeat(100);
    assert_eq!(decoded(&both, 100).unwrap(), [b'a'; 100]);
    assert_corrupt(&[hex(empty), hex(empty)[..13].to_vec()].concat(), "cut off");
}

#[test]
fn a_stream_of_a_high_level_with_too_many_bytes_is_too_large() {
    let codec = v2(r#"{"level":9}"#);
    let ramp: Vec<u8> = (0..500_000u64).map(|i| (i * i / 7 % 251).to_le_bytes()[0]).collect();
    let encoded = encode(&codec, &plain(), &ramp).unwrap();
    for limit in [0, 1, 100_000, 499_999] {
        assert!(matches!(decoded(&encoded, limit), Err(CodecError::TooLarge(_))), "{limit}");
    }
    assert_eq!(decoded(&encoded, 500_000).unwrap(), ramp);
}
