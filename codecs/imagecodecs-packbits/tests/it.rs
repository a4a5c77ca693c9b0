//! `imagecodecs_packbits`: the example of a specification, bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_imagecodecs_packbits as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec() -> Codec {
    create(Format::V3, "imagecodecs_packbits", "", Mode::Strict, &BYTES).unwrap().codec
}

fn decoded(encoded: &str, limit: usize) -> Result<Vec<u8>, CodecError> {
    decode(&codec(), &plain(), &hex(encoded), limit)
}

/// The example of Technical Note 1023 of Apple, to which TIFF 6.0 refers.
#[test]
fn the_example_of_apple_is_read_and_written() {
    let bytes = hex("aaaaaa80002aaaaaaaaa80002a22aaaaaaaaaaaaaaaaaaaa");
    let packed = "feaa0280002afdaa0380002a22f7aa";
    assert_eq!(decoded(packed, 24).unwrap(), bytes);
    assert_eq!(encode(&codec(), &plain(), &bytes).unwrap(), hex(packed));
}

/// Written by imagecodecs 2026.10.10, in `conformance/formats/wild`.
#[test]
fn bytes_of_imagecodecs_decode_under_every_name() {
    let chunk = include_bytes!("../../../conformance/formats/wild/imagecodecs/v2.zarr/bytes/packbits/0.0");
    let elements = hex(
        "0000010004000900100019002400310040005100640079009000a900c4001a0039005a007d00a20002002b0056008300b2001c004f\
         008400bb002d006800a500",
    );
    for (format, name, configuration) in [
        (Format::V2, "imagecodecs_packbits", ""),
        (Format::V2, "imagecodecs_packbits", r#"{"axis": null}"#),
        (Format::V3, "imagecodecs_packbits", ""),
        (Format::V3, "numcodecs.imagecodecs_packbits", ""),
    ] {
        let codec = create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec;
        assert_eq!(decode(&codec, &plain(), chunk, 64).unwrap(), elements);
    }
}

#[test]
fn bytes_without_meaning_are_skipped() {
    assert_eq!(decoded("80 80 00 07 80 ff 08 80", 3).unwrap(), hex("070808"));
    assert_eq!(decoded("", 0).unwrap(), hex(""));
}

#[test]
fn a_chunk_that_is_too_large_is_refused() {
    for (encoded, size) in [("81 07", 128), ("01 0708", 2)] {
        assert_eq!(decoded(encoded, size).unwrap().len(), size);
        let result = decoded(encoded, size - 1);
        assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
    }
}

#[test]
fn the_round_trip_is_exact_and_damage_never_panics() {
    for size in [0u64, 1, 2, 3, 127, 128, 129, 256, 70_000] {
        for divisor in [1, 2, 3, 5, 130] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i / divisor) % 251).unwrap()).collect();
            check_lossless(&codec(), &plain(), &bytes).unwrap();
            let limit = bytes.len() + bytes.len().div_ceil(128);
            assert!(encode(&codec(), &plain(), &bytes).unwrap().len() <= limit);
        }
    }
    let bytes: Vec<u8> = (0..=255).flat_map(|byte: u8| vec![byte; usize::from(byte % 5)]).collect();
    let encoded = encode(&codec(), &plain(), &bytes).unwrap();
    check_damaged(&codec(), &plain(), &encoded, 2000, 5000).unwrap();
}

#[test]
fn truncated_streams_are_corrupt() {
    for encoded in ["02 0708", "00", "ff", "7f"] {
        let result = decoded(encoded, 1 << 20);
        assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    }
}
