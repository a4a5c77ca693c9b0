//! `gzip`: streams written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_gzip::Gzip;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const DRAFT: &str = "https://purl.org/zarr/spec/codecs/gzip/1.0";
const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(format: Format, name: &str, configuration: &str) -> Codec {
    create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn v3(level: u32) -> Codec {
    codec(Format::V3, "gzip", &format!(r#"{{"level":{level}}}"#))
}

fn decoded(encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&v3(5), &plain(), encoded, limit)
}

fn assert_corrupt(encoded: &[u8], what: &str) {
    let result = decoded(encoded, 1 << 16);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    encode(&v3(1), &plain(), bytes).unwrap()
}

/// The first was written by `printf abc | gzip -n`, GNU gzip 1.12; the others by numcodecs 0.17.1 at levels -1, 0, 1
/// and 9.
const STREAMS: &[(&str, &str)] = &[
    ("1f8b08000000000000034b4c4a0600c241243503000000", "616263"),
    ("1f8b08006388006b00ff03000000000000000000", ""),
    ("1f8b08006388006b00ff63606462666105004acfeb3006000000", "000102030405"),
    ("1f8b08006388006b00ff010600f9ff0001020304054acfeb3006000000", "000102030405"),
    (
        "1f8b08006388006b04ff6360800046286082026628000083c71bbd20000000",
        "0000000000000000010101010101010102020202020202020303030303030303",
    ),
    (
        "1f8b08006388006b02ff6360800046286082026628000083c71bbd20000000",
        "0000000000000000010101010101010102020202020202020303030303030303",
    ),
];

/// Tests V3-GZIP-02, DX-GZIP-03, DX-GZIP-04, DX-GZIP-05, DX-GZIP-06.
#[test]
fn streams_of_other_programs_decode_and_invalid_ones_do_not() {
    for (encoded, wanted) in STREAMS {
        let wanted = hex(wanted);
        for name in [DRAFT, "https://purl.org/zarr/spec/codec/gzip/1.0"] {
            let codec = codec(Format::V3Draft, name, r#"{"level":1}"#);
            assert_eq!(decode(&codec, &plain(), &hex(encoded), wanted.len()).unwrap(), wanted);
        }
    }
    let [ab, cd] = [gz(b"ab"), gz(b"cd")];
    assert_eq!(ab[..3], [0x1f, 0x8b, 8]);
    assert_eq!(decoded(&[&ab[..], &cd].concat(), 4).unwrap(), b"abcd");
    assert_corrupt(&[&ab[..], b"xx"].concat(), "bytes that are not a member");
    assert_corrupt(&hex("789c636064626661050000290010"), "a zlib container");
    assert_corrupt(&hex("63606462666105 00"), "raw deflate");
    for place in ab.len() - 8..ab.len() {
        let mut flipped = ab.clone();
        flipped[place] ^= 1;
        assert_corrupt(&flipped, "a flipped bit in the trailer");
    }
    for size in 0..ab.len() {
        assert_corrupt(&ab[..size], "cut off");
    }
}

/// Tests V3-GZIP-03.
#[test]
fn equal_chunks_are_encoded_equally_without_a_time() {
    let once = gz(b"equal input");
    assert_eq!(once, gz(b"equal input"));
    assert_eq!(once[4..8], [0; 4]);
}

/// Tests V3-GZIP-01.
#[test]
fn v3_requires_a_level_from_0_to_9() {
    for level in [0, 9] {
        v3(level);
    }
    let rejected = ["", "{}", r#"{"level":10}"#, r#"{"level":-1}"#, r#"{"level":1.0}"#, r#"{"level":"1"}"#];
    for configuration in rejected.into_iter().chain([r#"{"level":null}"#, r#"{"level":1,"x":2}"#]) {
        let result = create(Format::V3, "gzip", configuration, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{configuration}: {result:?}");
    }
    assert!(matches!(Gzip::new(10), Err(CodecError::InvalidConfiguration(_))));
}

/// Tests DX-GZIP-01, DX-GZIP-02.
#[test]
fn the_draft_reads_a_missing_level_with_a_warning() {
    for (configuration, warnings) in [(r#"{"level":0}"#, 0), (r#"{"level":9}"#, 0), ("", 1), ("{}", 1)] {
        let created = create(Format::V3Draft, DRAFT, configuration, Mode::Lenient, &BYTES).unwrap();
        assert_eq!(created.warnings.len(), warnings, "{configuration}");
        let strict = create(Format::V3Draft, DRAFT, configuration, Mode::Strict, &BYTES);
        assert_eq!(strict.is_ok(), warnings == 0, "{configuration}");
    }
    for level in ["10", "-1", "1.5", "\"1\""] {
        let configuration = format!(r#"{{"level":{level}}}"#);
        let result = create(Format::V3Draft, DRAFT, &configuration, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{configuration}: {result:?}");
    }
}

/// Tests V2-CODEC-02, DX-URI-01.
#[test]
fn v2_has_defaults_and_reads_every_spelling_of_the_name() {
    let level =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap().1;
    assert_eq!(level(Format::V2, "gzip", ""), r#"{"level":1}"#);
    assert_eq!(level(Format::V2, "gzip", r#"{"level":-1}"#), r#"{"level":6}"#);
    assert_eq!(level(Format::V3, "numcodecs.gzip", r#"{"level":9}"#), r#"{"level":9}"#);
    assert_eq!(level(Format::V3, "numcodecs.gzip", "{}"), r#"{"level":1}"#);
    for uri in [DRAFT, "https://purl.org/zarr/spec/codec/gzip/1.0", "https://purl.org/zarr/spec/codec/gzip"] {
        assert_eq!(level(Format::V3Draft, uri, r#"{"level":4}"#), r#"{"level":4}"#);
    }
    for level in ["-2", "10"] {
        let configuration = format!(r#"{{"level":{level}}}"#);
        assert!(create(Format::V2, "gzip", &configuration, Mode::Lenient, &BYTES).is_err());
    }
    let v2 = codec(Format::V2, "gzip", "");
    assert_eq!(encode(&v2, &plain(), b"abc").unwrap()[..3], [0x1f, 0x8b, 8]);
    let two = [gz(b"a"), gz(b"bc")].concat();
    assert_eq!(decode(&v2, &plain(), &two, 3).unwrap(), b"abc");
    let mut corrupt = gz(b"abc");
    let checksum = corrupt.len() - 8;
    corrupt[checksum] ^= 1;
    assert!(matches!(decode(&v2, &plain(), &corrupt, 3), Err(CodecError::Corrupt(_))));
}

/// The optional fields of RFC 1952: extra bytes, a name, a comment, and a checksum of the header, calculated by
/// `zlib.crc32` of Python.
#[test]
fn headers_with_optional_fields_are_skipped() {
    let member = hex("1f8b081e000000000003 0200 6162 6e00 6300 df01 4b4c4a0600c241243503000000");
    let checksum = {
        let mut checksum = flate2::Crc::new();
        checksum.update(&member[..18]);
        checksum.sum().to_le_bytes()
    };
    let mut right = member.clone();
    right[18..20].copy_from_slice(&checksum[..2]);
    assert_eq!(decoded(&right, 3).unwrap(), b"abc");
    let mut wrong = right.clone();
    wrong[18] ^= 1;
    assert_corrupt(&wrong, "a wrong checksum of the header");
    let mut reserved = hex(STREAMS[0].0);
    reserved[3] = 0x20;
    assert_corrupt(&reserved, "a reserved flag");
    for size in 0..20 {
        assert_corrupt(&right[..size], "a truncated header");
    }
}

#[test]
fn decoding_stops_at_the_limit() {
    let zeros = gz(&vec![0; 1 << 20]);
    for limit in [0, 1, 1000, (1 << 20) - 1] {
        assert!(matches!(decoded(&zeros, limit), Err(CodecError::TooLarge(_))), "{limit}");
    }
    assert_eq!(decoded(&zeros, 1 << 20).unwrap(), vec![0; 1 << 20]);
    let Codec::BytesToBytes(codec) = v3(0) else { panic!("of another kind") };
    let mut destination = [0; 20];
    let result = codec.encode(&[7; 100], &mut Output::to(&mut destination));
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for level in [0, 1, 6, 9] {
        for size in [0u64, 1, 100, 70_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&v3(level), &plain(), &bytes).unwrap();
        }
        let encoded = encode(&v3(level), &plain(), &[3; 300]).unwrap();
        check_damaged(&v3(level), &plain(), &encoded, 400, 3000).unwrap();
    }
}

/// Decoding must not rely on the trailer of the file: it contains the size of only the last member, and may be wrong.
#[test]
fn members_of_any_size_follow_each_other() {
    let parts = [vec![1; 100_000], vec![2; 3], Vec::new(), vec![3; 70_000], vec![4; 5]];
    let whole = parts.concat();
    for count in 1..=parts.len() {
        let members: Vec<u8> = parts[..count].iter().flat_map(|part| gz(part)).collect();
        let size = parts[..count].iter().map(Vec::len).sum();
        assert!(decoded(&members, size).unwrap() == whole[..size]);
        assert!(decoded(&members, usize::MAX).unwrap() == whole[..size]);
        assert!(matches!(decoded(&members, size - 1), Err(CodecError::TooLarge(_))));
        let mut destination = vec![0; size + 1];
        let mut output = Output::to(&mut destination);
        Gzip::new(5).unwrap().decode(&members, &mut output).unwrap();
        assert!(output.written() == &whole[..size]);
    }
    for lie in [0, 4, 6, 1 << 20, u32::MAX] {
        let mut member = gz(b"abcde");
        let end = member.len() - 4;
        member[end..].copy_from_slice(&lie.to_le_bytes());
        let result = decoded(&member, usize::MAX);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{lie}: {result:?}");
    }
}

#[test]
fn decoding_appends_to_the_output() {
    let codec = Gzip::new(5).unwrap();
    let mut decoded = Output::at_most(8);
    decoded.put(b"head ").unwrap();
    codec.decode(&gz(b"abc"), &mut decoded).unwrap();
    assert_eq!(decoded.written(), b"head abc");
}
