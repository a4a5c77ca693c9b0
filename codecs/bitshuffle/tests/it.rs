//! `bitshuffle`: bytes written by imagecodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_bitshuffle::{Bitshuffle, BitshuffleElements};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::types::{INT16, Number, TEXT, UINT8, UINT32};
use zarr_conformance::{array, hex};
use zarr_spec::{Codec, CodecError, Format, Mode, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);

fn by_bytes(format: Format, configuration: &str) -> Codec {
    let name =
        if format == Format::V2 { "imagecodecs_bitshuffle" } else { "numcodecs.imagecodecs_bitshuffle" };
    create(format, name, configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn by_elements(configuration: &str, number: Number) -> Codec {
    let decoded = Representation::Array(array(&[8], number));
    create(Format::V3, "imagecodecs_bitshuffle", configuration, Mode::Strict, &decoded).unwrap().codec
}

/// Returns the first multiples of 77.
fn multiples(count: i16) -> Vec<u8> {
    (0..count).flat_map(|number| (number * 77).to_le_bytes()).collect()
}

/// Counts of elements, and what imagecodecs 2026.10.10 writes for them with elements of 2 bytes.
const WRITTEN: &[(i16, &str)] = &[
    (20, "aaaacccc5a5ac639945218634a296cb2703c803f00c000000000000000000000d0041d056a05b705"),
    (16, "aaaacccc5a5ac639945218634a296cb2703c803f00c000000000000000000000"),
    (5, "00004d009a00e7003401"),
];

/// Counts of elements of 2 bytes, and what imagecodecs writes for their bytes with elements of one byte.
const WRITTEN_AS_BYTES: &[(i16, &str)] = &[
    (20, "446ee44eec50d0fa5a50441144b1ee14504105141041041145400105145044104104115014044541"),
    (5, "44504414104044503401"),
];

#[test]
fn bytes_of_imagecodecs_decode_under_every_name() {
    for &(count, encoded) in WRITTEN {
        let chunk = array(&[u64::try_from(count).unwrap()], INT16);
        let bytes = multiples(count);
        for codec in [
            by_bytes(Format::V2, r#"{"itemsize": 2, "blocksize": 0}"#),
            by_bytes(Format::V3, r#"{"itemsize": 2}"#),
            by_elements("", INT16),
        ] {
            assert_eq!(encode(&codec, &chunk, &bytes).unwrap(), hex(encoded));
            assert_eq!(decode(&codec, &chunk, &hex(encoded), bytes.len()).unwrap(), bytes);
            check_lossless(&codec, &chunk, &bytes).unwrap();
            check_damaged(&codec, &chunk, &hex(encoded), 400, 500).unwrap();
        }
    }
}

#[test]
fn elements_have_one_byte_by_default() {
    for &(count, encoded) in WRITTEN_AS_BYTES {
        let codec = by_bytes(Format::V2, "");
        assert_eq!(encode(&codec, &array(&[1], UINT8), &multiples(count)).unwrap(), hex(encoded));
    }
}

/// By default, a block has 8192 bytes, which are 2048 elements of 4 bytes.
#[test]
fn blocks_are_independent() {
    let numbers: Vec<u8> =
        (0..5000u32).flat_map(|number| number.wrapping_mul(77_777).to_le_bytes()).collect();
    let chunk = array(&[5000], UINT32);
    let whole = encode(&by_elements("", UINT32), &chunk, &numbers).unwrap();
    for (first, last) in [(0, 2048), (2048, 4096), (4096, 5000)] {
        let part = &numbers[first * 4..last * 4];
        let block = array(&[(last - first) as u64], UINT32);
        assert_eq!(encode(&by_elements("", UINT32), &block, part).unwrap(), whole[first * 4..last * 4]);
    }
    let same = encode(&by_elements(r#"{"blocksize": 2048}"#, UINT32), &chunk, &numbers).unwrap();
    assert_eq!(same, whole);
    let small = by_elements(r#"{"blocksize": 16}"#, UINT32);
    assert_ne!(encode(&small, &chunk, &numbers).unwrap(), whole);
    check_lossless(&small, &chunk, &numbers).unwrap();
}

#[test]
fn wrong_sizes_are_refused() {
    assert!(matches!(Bitshuffle::new(0, 0), Err(CodecError::InvalidConfiguration(_))));
    assert!(matches!(Bitshuffle::new(2, 12), Err(CodecError::InvalidConfiguration(_))));
    assert!(matches!(BitshuffleElements::new(&TEXT, 0), Err(CodecError::Unsupported(_))));
    let codec = by_bytes(Format::V2, r#"{"itemsize": 4}"#);
    let chunk = array(&[7], UINT8);
    assert!(matches!(encode(&codec, &chunk, &[0; 7]), Err(CodecError::Encode(_))));
    assert!(matches!(decode(&codec, &chunk, &[0; 7], 7), Err(CodecError::Corrupt(_))));
    let elements = by_elements("", INT16);
    let chunk = array(&[4], INT16);
    assert!(matches!(encode(&elements, &chunk, &[0; 6]), Err(CodecError::Encode(_))));
    assert!(matches!(decode(&elements, &chunk, &[0; 6], 8), Err(CodecError::Corrupt(_))));
    assert!(matches!(decode(&elements, &array(&[4], UINT8), &[0; 4], 8), Err(CodecError::Unsupported(_))));
}
