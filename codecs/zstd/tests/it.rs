//! `zstd`: frames written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::ops::Range;

use zarr_codec_zstd::Zstd;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::suite::{CountingAllocator, highest};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/zstd/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v3(configuration: &str) -> Codec {
    create(Format::V3, "zstd", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&v3(r#"{"level":1}"#), &plain(), encoded, limit)
}

fn assert_corrupt(encoded: &[u8], what: &str) {
    let result = decoded(encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

const RAMP: &str = "000102030405";
const STEPS: &str = "0000000000000000010101010101010102020202020202020303030303030303";

/// Written by numcodecs 0.17.1 at levels -5, 0 and 22, with and without checksum.
const FRAMES: &[(&str, &str)] = &[
    ("28b52ffd2000010000", ""),
    ("28b52ffd240001000099e9d851", ""),
    ("28b52ffd2006310000000102030405", RAMP),
    ("28b52ffd2406310000000102030405230495bf", RAMP),
    ("28b52ffd2020950000580001020303030303030303035401020440", STEPS),
    ("28b52ffd2020a500006000000102030303030303030303100059f21db0", STEPS),
    ("28b52ffd2420850000020203821110ffffaaaa555500000100023dff7b", STEPS),
];

/// A frame of RFC 8878 without a content size, with one raw block.
const UNSIZED: &str = "28b52ffd 00 58 19 0000 616263";
const SKIPPABLE: &str = "502a4d18 02000000 abcd";

/// Tests EX-CODEC-01, V2-CODEC-05.
#[test]
fn frames_of_other_programs_decode_and_a_wrong_checksum_does_not() {
    for (encoded, wanted) in FRAMES {
        let wanted = hex(wanted);
        assert_eq!(decoded(&hex(encoded), wanted.len()).unwrap(), wanted);
    }
    let printed = hex("28b52ffd2408410000 01000000 02000000 3a18e41e");
    let checked = v3(r#"{"level":3,"checksum":true}"#);
    assert_eq!(decode(&checked, &plain(), &printed, 8).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(encode(&checked, &plain(), &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap(), printed);
    let unchecked = encode(&v3(r#"{"level":3}"#), &plain(), &[1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    assert_eq!(unchecked.len() + 4, printed.len());
    for place in printed.len() - 4..printed.len() {
        let mut flipped = printed.clone();
        flipped[place] ^= 0x10;
        assert_corrupt(&flipped, "a wrong checksum");
    }
    let frames = [hex(FRAMES[2].0), hex(SKIPPABLE), hex(UNSIZED), hex(FRAMES[3].0)].concat();
    assert_eq!(decoded(&frames, 15).unwrap(), hex("000102030405 616263 000102030405"));
    assert_eq!(decoded(&hex(SKIPPABLE), 15).unwrap(), b"");
    for wrong in
        ["", "{}", r#"{"level":23}"#, r#"{"level":-131073}"#, r#"{"level":1,"x":1}"#, r#"{"level":1.0}"#]
    {
        let result = create(Format::V3, "zstd", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
    for right in
        [r#"{"level":-131072}"#, r#"{"level":22,"checksum":false}"#, r#"{"level":1,"checksum":true}"#]
    {
        v3(right);
    }
    assert!(matches!(Zstd::new(23, false), Err(CodecError::InvalidConfiguration(_))));
}

/// Tests EX-CODEC-02, EX-SEEN-01.
#[test]
fn parameters_have_defaults_where_numcodecs_has_them() {
    let to_v3 =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap();
    let written = |text: &str| (Some("zstd"), text.to_owned());
    assert_eq!(to_v3(Format::V2, "zstd", ""), written(r#"{"level":0,"checksum":false}"#));
    assert_eq!(to_v3(Format::V3, "numcodecs.zstd", "{}"), written(r#"{"level":0,"checksum":false}"#));
    assert_eq!(to_v3(Format::V3, "zstd", r#"{"level":0}"#), written(r#"{"level":0,"checksum":false}"#));
    assert_eq!(
        to_v3(Format::V2, "zstd", r#"{"level":5,"checksum":true}"#),
        written(r#"{"level":5,"checksum":true}"#)
    );
    let old = "https://purl.org/zarr/spec/codec/zstd/1.0";
    assert_eq!(to_v3(Format::V3Draft, old, r#"{"level":3}"#), written(r#"{"level":3,"checksum":false}"#));
    let from_v3 = |format| translate(Format::V3, "zstd", r#"{"level":3}"#, &BYTES, format).unwrap();
    // tensorstore refuses the member in v2, whatever its value.
    assert_eq!(from_v3(Format::V2), written(r#"{"level":3}"#));
    assert_eq!(from_v3(Format::V3Draft), (Some(OWN), r#"{"level":3,"checksum":false}"#.to_owned()));
    let v2 = create(Format::V2, "zstd", r#"{"level":30}"#, Mode::Lenient, &BYTES).unwrap();
    assert_eq!(v2.warnings.len(), 1);
    assert!(create(Format::V2, "zstd", r#"{"level":30}"#, Mode::Strict, &BYTES).is_err());
    assert!(create(Format::V3Draft, OWN, "", Mode::Lenient, &BYTES).is_err());
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
}

#[test]
fn a_frame_that_declares_more_than_the_limit_is_not_allocated() {
    // The content size field has eight bytes: 2^60, 2^64 - 3 (close to special values of the library) and 2^62.
    for size in [1u64 << 60, u64::MAX - 2, 1 << 62] {
        let mut frame = hex("28b52ffd e0");
        frame.extend(size.to_le_bytes());
        frame.extend(hex("19 0000 616263"));
        let limited = decoded(&frame, 1 << 20);
        assert!(matches!(limited, Err(CodecError::TooLarge(_) | CodecError::Corrupt(_))), "{limited:?}");
        let unlimited = decoded(&frame, usize::MAX);
        assert!(matches!(unlimited, Err(CodecError::Corrupt(_))), "{unlimited:?}");
    }
}

#[test]
fn decoding_stops_at_the_limit_with_and_without_a_content_size() {
    let sized = encode(&v3(r#"{"level":1}"#), &plain(), &vec![0; 1 << 20]).unwrap();
    for limit in [0, 1, (1 << 20) - 1] {
        assert!(matches!(decoded(&sized, limit), Err(CodecError::TooLarge(_))), "{limit}");
    }
    for limit in [0, 1, 2] {
        assert!(matches!(decoded(&hex(UNSIZED), limit), Err(CodecError::TooLarge(_))), "{limit}");
    }
    for limit in [3, 4, 1 << 20] {
        assert_eq!(decoded(&hex(UNSIZED), limit).unwrap(), b"abc");
    }
    // Eight run-length blocks of 128 KiB, in a frame without a content size.
    let mut bomb = hex("28b52ffd 00 58");
    for block in 0..8 {
        let run_length = 1u32 << 1;
        let last = u32::from(block == 7);
        let header = (1 << 17) << 3 | run_length | last;
        bomb.extend(&header.to_le_bytes()[..3]);
        bomb.push(7);
    }
    assert_eq!(decoded(&bomb, 1 << 20).unwrap(), vec![7; 1 << 20]);
    assert!(matches!(decoded(&bomb, (1 << 20) - 1), Err(CodecError::TooLarge(_))));
}

/// Returns a frame without a content size, with an encoded window size of RFC 8878 and the given blocks.
fn unsized_frame(window: &str, blocks: &[u8]) -> Vec<u8> {
    [&hex("28b52ffd 00")[..], &hex(window), blocks].concat()
}

/// Decoding accepts a frame with a window of 128 MiB if its blocks are small: `zstd -22 --ultra --long=27` and streams
/// of level 22 declare such a window for any content.
#[test]
fn a_frame_with_a_window_of_128_mib_decodes_if_its_blocks_are_small() {
    let frame = unsized_frame("88", &hex("19 0000 616263"));
    assert_eq!(decoded(&frame, 3).unwrap(), b"abc");
    assert_eq!(decoded(&frame, usize::MAX).unwrap(), b"abc");
    assert!(matches!(decoded(&frame, 2), Err(CodecError::TooLarge(_))));
    let noise: Vec<u8> = (0u32..300_000).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let mut blocks = Vec::new();
    for (number, block) in noise.chunks(1 << 17).enumerate() {
        let is_last = u32::from(number == 2);
        blocks.extend(&(u32::try_from(block.len()).unwrap() << 3 | is_last).to_le_bytes()[..3]);
        blocks.extend(block);
    }
    assert!(decoded(&unsized_frame("88", &blocks), usize::MAX).unwrap() == noise);
}

/// Decoding refuses 64 KiB of blocks that declare 2 GiB, before it notices that the first block is invalid.
#[test]
fn a_window_above_64_mib_is_refused_if_blocks_may_be_large() {
    // A compressed block of two bytes.
    let blocks = hex("140000 ffff").repeat(1 << 14);
    let last = hex("150000 ffff");
    let frame = unsized_frame("88", &[blocks, last].concat());
    let mut result = Ok(Vec::new());
    let taken = highest(|| result = decoded(&frame, 4 << 30)).unwrap();
    let message = result.unwrap_err().to_string();
    assert!(message.contains("the limit of 64 MiB"), "{message}");
    assert!(taken < 1 << 20, "{taken}");
}

#[test]
fn memory_follows_the_decoded_bytes_of_an_implausible_frame() {
    // A frame that declares 2 GiB, in 16384 invalid blocks of two bytes.
    let blocks = hex("140000 ffff").repeat(1 << 14);
    let frame = [hex("28b52ffd 80 70 00000080"), blocks, hex("150000 ffff")].concat();
    let mut result = Ok(Vec::new());
    let taken = highest(|| result = decoded(&frame, 4 << 30)).unwrap();
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    assert!(taken < 1 << 20, "{taken}");
}

#[test]
fn bytes_that_are_not_frames_are_corrupt() {
    assert_corrupt(b"", "nothing");
    assert_corrupt(b"no frame at all", "text");
    for (encoded, _) in FRAMES {
        let frame = hex(encoded);
        for size in 0..frame.len() {
            assert_corrupt(&frame[..size], "cut off");
        }
        assert_corrupt(&[&frame[..], b"x"].concat(), "a byte that is not a frame");
    }
    let unsized_frame = hex(UNSIZED);
    for size in 0..unsized_frame.len() {
        assert_corrupt(&unsized_frame[..size], "cut off");
    }
}

#[test]
fn the_encoded_size_has_a_bound_and_one_byte_less_than_needed_is_too_large() {
    let Codec::BytesToBytes(codec) = v3(r#"{"level":1}"#) else { panic!("of another kind") };
    let noise: Vec<u8> = (0u32..5000).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let encoded = encode(&v3(r#"{"level":1}"#), &plain(), &noise).unwrap();
    let Size::AtMost(bound) = codec.encoded_size(Size::Exact(5000)) else { panic!("without a bound") };
    assert!(encoded.len() as u64 <= bound);
    assert_eq!(codec.encoded_size(Size::Unknown), Size::Unknown);
    assert_eq!(codec.encoded_size(Size::Exact(u64::MAX)), Size::Unknown);
    let mut exact = vec![0; encoded.len()];
    codec.encode(&noise, &mut Output::to(&mut exact)).unwrap();
    assert_eq!(exact, encoded);
    let mut short = vec![0; encoded.len() - 1];
    let result = codec.encode(&noise, &mut Output::to(&mut short));
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    let configurations =
        [r#"{"level":-7}"#, r#"{"level":0}"#, r#"{"level":1,"checksum":true}"#, r#"{"level":9}"#];
    for configuration in configurations {
        for size in [0u64, 1, 100, 300_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&v3(configuration), &plain(), &bytes).unwrap();
        }
        let encoded = encode(&v3(configuration), &plain(), &[3; 300]).unwrap();
        check_damaged(&v3(configuration), &plain(), &encoded, 400, 3000).unwrap();
        check_damaged(&v3(configuration), &plain(), &hex(UNSIZED), 400, 3000).unwrap();
    }
}

#[test]
fn decoding_appends_to_the_output() {
    let codec = Zstd::new(1, false).unwrap();
    for frame in [UNSIZED, "28b52ffd2003190000616263"] {
        let mut decoded = Output::at_most(8);
        decoded.put(b"head ").unwrap();
        codec.decode(&hex(frame), &mut decoded).unwrap();
        assert_eq!(decoded.written(), b"head abc");
    }
}

/// Decodes a range into a buffer of other bytes and returns the whole buffer.
fn decoded_range(encoded: &[u8], size: usize, range: Range<usize>) -> Result<Vec<u8>, CodecError> {
    let mut memory = vec![0xa5; size];
    let mut decoded = Output::to(&mut memory);
    Zstd::new(1, false)?.decode_range(encoded, range, &mut decoded)?;
    assert_eq!(decoded.remaining(), 0);
    Ok(memory)
}

/// Returns bytes that cannot be compressed, so the frame contains them unchanged.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..size).map(|_| next()).collect()
}

#[test]
fn a_frame_is_decoded_up_to_the_end_of_a_range() {
    let random = noise(300_000);
    let size = 900_000;
    let bytes: Vec<u8> = random.iter().flat_map(|byte| [byte & 3, byte & 15, 7]).collect();
    for level in [-7, 3, 19] {
        let mut encoded = Output::at_most(1 << 20);
        Zstd::new(level, false).unwrap().encode(&bytes, &mut encoded).unwrap();
        for range in [0..0, 0..1, 5..131_072, 131_071..131_073, 400_000..700_000] {
            let decoded = decoded_range(encoded.written(), size, range.clone()).unwrap();
            assert_eq!(decoded[range.clone()], bytes[range.clone()]);
            assert!(decoded[range.end..].iter().all(|&byte| byte == 0xa5), "{range:?} at level {level}");
        }
        let decoded = decoded_range(encoded.written(), size, 1..899_999).unwrap();
        assert_eq!(decoded[1..899_999], bytes[1..899_999]);
    }
}

#[test]
fn damage_after_a_range_is_found_if_there_is_a_checksum() {
    let bytes = noise(300_000);
    for checksum in [false, true] {
        let mut encoded = Output::at_most(1 << 20);
        Zstd::new(1, checksum).unwrap().encode(&bytes, &mut encoded).unwrap();
        let mut damaged = encoded.into_written();
        let last = damaged.len() - 10;
        damaged[last] ^= 1;
        match decoded_range(&damaged, bytes.len(), 10..1000) {
            Ok(decoded) => assert!(!checksum && decoded[10..1000] == bytes[10..1000]),
            Err(error) => assert!(checksum && matches!(error, CodecError::Corrupt(_)), "{error:?}"),
        }
        // Decoding always notices a truncated frame and an invalid range.
        let cut = &damaged[..last];
        assert!(matches!(decoded_range(cut, bytes.len(), 10..1000), Err(CodecError::Corrupt(_))));
        let result = decoded_range(&damaged[..], bytes.len(), 10..300_001);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    }
}

#[test]
fn frames_without_a_size_and_several_frames_are_decoded_completely() {
    let two = format!("{UNSIZED} {UNSIZED}");
    for (frames, wanted) in [(UNSIZED, &b"abc"[..]), (&two, b"abcabc")] {
        assert_eq!(decoded_range(&hex(frames), wanted.len(), 0..1).unwrap(), wanted);
    }
    let result = decoded_range(&hex(UNSIZED), 3, 2..4);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
}

#[test]
fn the_schema_accepts_exactly_the_valid_levels() {
    let registry = zarr_spec::Registry::linked().unwrap();
    let reading = zarr_spec::Reading::new(Mode::Strict);
    let plugin = registry.codecs().find(Format::V3, "zstd", &reading).unwrap();
    let schema = plugin.about.configuration_schema(Format::V3).unwrap().to_string();
    assert!(schema.contains(r#""minimum":-131072,"maximum":22"#), "{schema}");
}
