//! `zarrs.gdeflate`: streams of the library that zarrs calls, round trips, limits and damage.

use zarr_codec_gdeflate as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn made(level: i32) -> Result<Codec, CodecError> {
    let configuration = format!(r#"{{"level": {level}}}"#);
    create(Format::V3, "zarrs.gdeflate", &configuration, Mode::Strict, &BYTES).map(|created| created.codec)
}

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

/// Returns bytes without repetitions.
fn noise(size: u32) -> Vec<u8> {
    (0..size).map(|i| (i.wrapping_mul(0x9e37_79b1).rotate_left(7) ^ (i << 3)).to_be_bytes()[1]).collect()
}

/// Returns numbers with a pattern.
fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| (i / 3 + i % 5).to_le_bytes()).collect()
}

/// Written by gdeflate-sys 0.4.1 in the form of zarrs 0.23.14; those that begin with `ours` are of this crate, and that
/// library decodes them. Names with the level, and hexadecimal digits.
const STREAMS: &str = include_str!("streams.tsv");

fn stream(name: &str) -> Vec<u8> {
    let row = STREAMS.lines().find_map(|row| row.strip_prefix(name)?.strip_prefix('\t'));
    hex(row.unwrap_or_else(|| panic!("there is no stream `{name}`")))
}

fn text() -> Vec<u8> {
    "a text with a few words, and a few words with a text".repeat(40).into_bytes()
}

#[test]
fn streams_of_the_library_that_zarrs_calls_decode() {
    for (name, expected) in [
        ("text-9", text()),
        ("numbers-0", numbers(50)),
        ("numbers-1", numbers(600)),
        ("numbers-6", numbers(600)),
        ("numbers-12", numbers(600)),
        ("zeros-5", vec![0; 70_000]),
    ] {
        assert!(decode(&made(6).unwrap(), &plain(), &stream(name), 1 << 20).unwrap() == expected, "{name}");
        check_damaged(&made(6).unwrap(), &plain(), &stream(name), expected.len() + 10, 1000).unwrap();
    }
}

/// The library has decoded these bytes, so the encoder must not change without another comparison.
#[test]
fn streams_are_those_that_the_library_has_decoded() {
    assert_eq!(encode(&made(9).unwrap(), &plain(), &text()).unwrap(), stream("ours-text-9"));
    assert_eq!(encode(&made(6).unwrap(), &plain(), &numbers(600)).unwrap(), stream("ours-numbers-6"));
}

#[test]
fn chunks_of_every_kind_round_trip() {
    let inputs = [
        Vec::new(),
        vec![7],
        vec![0; 3],
        vec![9; 70_000],
        noise(1),
        noise(33),
        noise(20_000),
        noise(65_537),
        numbers(100),
        numbers(20_000),
        [noise(300), noise(300), vec![1; 40_000], noise(300)].concat(),
        (0..=255).collect(),
        "a text with a few words, and a few words with a text".repeat(40).into_bytes(),
    ];
    for level in [0, 1, 4, 6, 12] {
        let codec = made(level).unwrap();
        for input in &inputs {
            check_lossless(&codec, &plain(), input).unwrap();
        }
    }
}

#[test]
fn repetitions_become_small_and_noise_does_not_grow_much() {
    let size = |level, input: &[u8]| encode(&made(level).unwrap(), &plain(), input).unwrap().len();
    assert!(size(1, &[0; 65_536]) < 700);
    assert!(size(9, &numbers(16_000)) < 16_000, "{}", size(9, &numbers(16_000)));
    assert!(size(9, &numbers(16_000)) <= size(1, &numbers(16_000)));
    assert!(size(6, &noise(65_536)) < 65_536 + 400);
    assert_eq!(size(0, &[0; 10_000]), size(0, &noise(10_000)));
}

#[test]
fn sizes_are_checked_before_pages_are_decoded() {
    let codec = made(6).unwrap();
    let encoded = encode(&codec, &plain(), &numbers(20_000)).unwrap();
    let limited = decode(&codec, &plain(), &encoded, 79_999);
    assert!(matches!(limited, Err(CodecError::TooLarge(_))), "{limited:?}");
    let corrupt = |encoded: &[u8], what: &str| {
        let result = decode(&codec, &plain(), encoded, 1 << 20);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
    };
    corrupt(&[], "no header");
    corrupt(&encoded[..12], "half a header");
    corrupt(&encoded[..encoded.len() - 400], "a short page");
    corrupt(&[&encoded[..], &[0]].concat(), "a byte after the last page");
    let mut changed = encoded.clone();
    changed[8] = 3;
    corrupt(&changed, "a wrong number of pages");
    changed[8..16].fill(0xff);
    corrupt(&changed, "a huge number of pages");
    let mut changed = encoded;
    changed[16..24].fill(0xff);
    corrupt(&changed, "a huge page");
}

#[test]
fn damage_never_panics() {
    for (level, input) in [(0, noise(300)), (1, numbers(300)), (9, numbers(3000)), (9, vec![3; 2000])] {
        let codec = made(level).unwrap();
        let encoded = encode(&codec, &plain(), &input).unwrap();
        check_damaged(&codec, &plain(), &encoded, input.len() + 100, 3000).unwrap();
    }
}

#[test]
fn other_levels_are_refused() {
    for level in [-1, 13, 300] {
        let result = made(level);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{level}: {result:?}");
    }
}
