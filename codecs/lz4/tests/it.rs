//! `lz4`: blocks written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_lz4::Lz4;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/lz4/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v2() -> Codec {
    create(Format::V2, "lz4", "", Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(encoded: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&v2(), &plain(), encoded, limit)
}

fn assert_corrupt(encoded: &[u8], what: &str) {
    let result = decoded(encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

/// Written by numcodecs 0.17.1.
const BLOCKS: &[(&str, &str)] = &[
    ("0000000000", ""),
    ("010000001007", "07"),
    ("0600000060000102030405", "000102030405"),
    (
        "20000000130001001301010013020100800303030303030303",
        "0000000000000000010101010101010102020202020202020303030303030303",
    ),
    ("0c000000c0d81f8b7603be86d00a55fb48", "d81f8b7603be86d00a55fb48"),
];

/// Tests V2-CODEC-06.
#[test]
fn blocks_of_other_programs_decode_and_wrong_sizes_do_not() {
    for (encoded, wanted) in BLOCKS {
        let wanted = hex(wanted);
        assert_eq!(decoded(&hex(encoded), wanted.len()).unwrap(), wanted);
        let again = encode(&v2(), &plain(), &wanted).unwrap();
        assert_eq!(again[..4], hex(encoded)[..4]);
    }
    assert_eq!(encode(&v2(), &plain(), b"").unwrap(), hex("00000000 00"));
    let ramp: Vec<u8> = (0..6i32).flat_map(i32::to_le_bytes).collect();
    let encoded = encode(&v2(), &plain(), &ramp).unwrap();
    assert_eq!(encoded[..4], hex("18000000"));
    assert_eq!(decoded(&encoded, 24).unwrap(), ramp);
    for size in [5u8, 7] {
        let mut lying = hex(BLOCKS[2].0);
        lying[0] = size;
        assert_corrupt(&lying, "a size that is not that of the block");
    }
    // The start of LZ4's frame format is read as a size.
    assert!(matches!(decoded(b"\x04\x22\x4d\x18\x60\x40\x82", 1 << 20), Err(CodecError::TooLarge(_))));
}

#[test]
fn truncated_blocks_are_corrupt() {
    for (encoded, _) in BLOCKS {
        let encoded = hex(encoded);
        for size in 0..encoded.len() {
            assert_corrupt(&encoded[..size], "cut off");
        }
    }
}

#[test]
fn the_size_is_checked_before_allocation() {
    let huge = hex("ffffffff 10 07");
    assert!(matches!(decoded(&huge, 1 << 20), Err(CodecError::TooLarge(_))));
    assert!(matches!(decoded(&huge, usize::MAX), Err(CodecError::Corrupt(_))));
    assert!(matches!(decoded(&hex(BLOCKS[2].0), 5), Err(CodecError::TooLarge(_))));
    let mut short = [0; 8];
    let result = Lz4::new().encode(&[7; 100], &mut Output::to(&mut short));
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
}

#[test]
fn acceleration_is_preserved_but_has_no_effect() {
    let to_v3 =
        |format, name, configuration| translate(format, name, configuration, &BYTES, Format::V3).unwrap();
    let written = |text: &str| (Some("numcodecs.lz4"), text.to_owned());
    assert_eq!(to_v3(Format::V2, "lz4", ""), written(r#"{"acceleration":1}"#));
    assert_eq!(to_v3(Format::V3, "numcodecs.lz4", "{}"), written(r#"{"acceleration":1}"#));
    let ten = r#"{"acceleration":10}"#;
    let old = "https://purl.org/zarr/spec/codec/lz4/1.0";
    assert_eq!(to_v3(Format::V3Draft, old, ten), written(ten));
    let draft = translate(Format::V2, "lz4", ten, &BYTES, Format::V3Draft).unwrap();
    assert_eq!(draft, (Some(OWN), ten.to_owned()));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
    for wrong in [r#"{"acceleration":"1"}"#, r#"{"acceleration":1.5}"#] {
        let result = create(Format::V2, "lz4", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for size in [0u64, 1, 12, 13, 100, 70_000, 300_000] {
        let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
        check_lossless(&v2(), &plain(), &bytes).unwrap();
        let encoded = encode(&v2(), &plain(), &bytes).unwrap();
        let Size::AtMost(bound) = Lz4::new().encoded_size(Size::Exact(size)) else { panic!("no bound") };
        assert!(encoded.len() as u64 <= bound);
    }
    for bytes in [vec![3; 300], (0..=255).collect()] {
        let encoded = encode(&v2(), &plain(), &bytes).unwrap();
        check_damaged(&v2(), &plain(), &encoded, 400, 5000).unwrap();
    }
}
