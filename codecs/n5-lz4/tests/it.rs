//! `n5.lz4`: streams that lz4-java wrote, and damaged ones.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_n5_lz4 as _;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::{array, hex, types};
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Representation, Size};

/// "hello" and 22 times "abc", by `LZ4BlockOutputStream` of lz4-java 1.8.0.
const WRITTEN: [(&str, usize, &str); 2] = [
    (
        "hello",
        1,
        "4c5a34426c6f636b160500000005000000e3bf410a68656c6c6f4c5a34426c6f636b16000000000000000000000000",
    ),
    (
        "abc",
        22,
        "4c5a34426c6f636b260d00000042000000647a9a073f61626303002750626361\
         62634c5a34426c6f636b16000000000000000000000000",
    ),
];

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn codec(configuration: &str) -> Codec {
    let bytes = Representation::Bytes(Size::Unknown);
    create(Format::V3, "n5.lz4", configuration, Mode::Strict, &bytes).unwrap().codec
}

#[test]
fn streams_of_lz4_java_decode_and_new_ones_have_their_form() {
    let codec = codec(r#"{"blockSize": 65536}"#);
    for (text, repeats, written) in WRITTEN {
        let decoded = text.repeat(repeats).into_bytes();
        let written = hex(&written.replace(' ', ""));
        assert_eq!(decode(&codec, &plain(), &written, decoded.len()).unwrap(), decoded, "{text}");
        let encoded = encode(&codec, &plain(), &decoded).unwrap();
        assert_eq!(encoded[..9], written[..9], "{text}");
        // The decompressed size and the checksum do not depend on the compressor.
        assert_eq!(encoded[13..21], written[13..21], "{text}");
        assert!(encoded.ends_with(&written[written.len() - 21..]), "{text}");
        let without_end = decode(&codec, &plain(), &written[..written.len() - 21], decoded.len());
        assert!(matches!(without_end, Err(CodecError::Corrupt(_))), "{text}: {without_end:?}");
        check_damaged(&codec, &plain(), &written, 400, 5000).unwrap();
    }
}

#[test]
fn every_size_round_trips_in_blocks() {
    let numbers: Vec<u8> = (0_u32..2000).flat_map(|number| (number / 3 % 251).to_le_bytes()).collect();
    for configuration in [r#"{"blockSize": 64}"#, r#"{"blockSize": 1000}"#, ""] {
        for size in [0, 1, 15, 16, 17, 63, 64, 65, 999, 1000, 1001, 8000] {
            check_lossless(&codec(configuration), &plain(), &numbers[..size]).unwrap();
        }
    }
}

#[test]
fn damaged_streams_are_errors() {
    let codec = codec("");
    let whole = hex(WRITTEN[0].2);
    for (at, value, reason) in [
        (0, b'X', "header of a block"),
        (8, 0x36, "header of a block"),
        (9, 4, "header of a block"),
        (13, 6, "header of a block"),
        (17, 0, "checksum"),
        (21, b'j', "checksum"),
        (46, 1, "last block"),
    ] {
        let mut damaged = whole.clone();
        damaged[at] = value;
        match decode(&codec, &plain(), &damaged, 100) {
            Err(error @ CodecError::Corrupt(_)) => {
                assert!(
                    error.to_string().contains(reason) || format!("{error:?}").contains(reason),
                    "{error:?}"
                );
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    assert!(matches!(decode(&codec, &plain(), &whole[..24], 100), Err(CodecError::Corrupt(_))));
    for block_size in ["63", "33554433", "-1"] {
        let configuration = format!(r#"{{"blockSize": {block_size}}}"#);
        let bytes = Representation::Bytes(Size::Unknown);
        assert!(create(Format::V3, "n5.lz4", &configuration, Mode::Strict, &bytes).is_err());
    }
}
