//! `pcodec`: files written by numcodecs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_pcodec::Pcodec;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{
    BOOL, COMPLEX64, COMPLEX128, DATETIME, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, INT64, Number, TEXT,
    UINT8, UINT16, UINT32, UINT64,
};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/pcodec/1.0";
const ALIAS: &str = "https://codec.zarrs.dev/array_to_bytes/pcodec";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "pcodec"), (Format::V3, "numcodecs.pcodec"), (Format::V3Draft, URI)];

fn codec(format: Format, name: &str, configuration: &str, number: Number) -> Codec {
    let decoded = Representation::Array(array(&[1], number));
    create(format, name, configuration, Mode::Strict, &decoded).unwrap().codec
}

/// The numbers 0 to 5 of each type.
const RAMPS: &[(Number, &str, &str)] = &[
    (INT16, "000001000200030004000500", "70636f210300820104010805000000100000001c88c60200"),
    (
        INT32,
        "000000000100000002000000030000000400000005000000",
        "70636f2103008201040103050000001000000000001c0088c60200",
    ),
    (
        INT64,
        "000000000000000001000000000000000200000000000000030000000000000004000000000000000500000000000000",
        "70636f210300820104010405000000100000000000000000001c0088c60200",
    ),
    (UINT16, "000001000200030004000500", "70636f210300820104010705000000100000001888c60200"),
    (
        UINT32,
        "000000000100000002000000030000000400000005000000",
        "70636f210300820104010105000000100000000000180088c60200",
    ),
    (
        UINT64,
        "000000000000000001000000000000000200000000000000030000000000000004000000000000000500000000000000",
        "70636f21030082010401020500000010000000000000000000180088c60200",
    ),
    (
        FLOAT16,
        "0000003c0040004200440045",
        "70636f210300820104010905000000230000002030002f03a004020000023000044800",
    ),
    (
        FLOAT32,
        "000000000000803f0000004000004040000080400000a040",
        "70636f21030082010401050500000023000000000020600000c0df0ca0040200000000000800001800004000009000",
    ),
    (
        FLOAT64,
        "0000000000000000000000000000f03f0000000000000040000000000000084000000000000010400000000000001440",
        "70636f2103008201040106050000002300000000000000000020c0000000000000f0bf36a0040200000000000000000000\
         0000200000000000000c000000000000040000000000200100",
    ),
    // 1.5, NaN, -0.0, infinity, -1e300 and the smallest number.
    (
        FLOAT64,
        "000000000000f83f000000000000f87f0000000000000080000000000000f07f9c7500883ce437fe0100000000000000",
        "70636f2103008201040106050000005300c898e2ffddf006720040ffffffffffffff7f02000000000000e0ff0200000000\
         000000ff0f00000000000000fe3f00190d20000100",
    ),
];

/// Written by numcodecs 0.17.1 with pcodec 1.1.0.
///
/// Tests V2-CODEC-27.
#[test]
fn reads_and_writes_the_files_of_numcodecs() {
    for &(number, decoded, encoded) in RAMPS {
        let decoded = hex(decoded);
        let encoded = hex(encoded);
        let chunk = array(&[6], number);
        for (format, name) in NAMES.into_iter().chain([(Format::V3, ALIAS)]) {
            let codec = codec(format, name, "", number);
            assert_eq!(decode(&codec, &chunk, &encoded, decoded.len()).unwrap(), decoded);
            let ours = encode(&codec, &chunk, &decoded).unwrap();
            assert!(ours.starts_with(b"pco!"), "{ours:02x?}");
            assert_eq!(decode(&codec, &array(&[2, 3], number), &ours, decoded.len()).unwrap(), decoded);
            check_lossless(&codec, &chunk, &decoded).unwrap();
        }
        check_damaged(&codec(Format::V2, "pcodec", "", number), &chunk, &encoded, decoded.len(), 3000)
            .unwrap();
    }
    let empty = array(&[0], INT32);
    let codec = codec(Format::V2, "pcodec", "", INT32);
    assert_eq!(decode(&codec, &empty, &hex("70636f21030000040100"), 0).unwrap(), b"");
    check_lossless(&codec, &empty, b"").unwrap();
}

/// Written by numcodecs 0.17.1 with pcodec 1.1.0: the squares of 0 to 6 as `uint32`, in pages of 3 with
/// differences of order 2, and 0 to 19 modulo 5 as `int32` with a lookback window.
#[test]
fn parameters_affect_only_encoding() {
    let squares: Vec<u8> = (0..7_u32).flat_map(|i| (i * i).to_ne_bytes()).collect();
    let pages = concat!(
        r#"{"level":0,"mode_spec":"classic","delta_spec":"try_consecutive","delta_encoding_order":2,"#,
        r#""equal_pages_up_to":3}"#
    );
    let encoded = hex(
        "70636f210300c2010401010200001002010001000040000000000001000000010100001002000009000000070000000101\
         000010020000190000000b00000000",
    );
    let chunk = array(&[7], UINT32);
    let read = codec(Format::V2, "pcodec", "", UINT32);
    assert_eq!(decode(&read, &chunk, &encoded, 28).unwrap(), squares);
    let write = codec(Format::V2, "pcodec", pages, UINT32);
    let ours = encode(&write, &chunk, &squares).unwrap();
    assert_ne!(ours, encode(&read, &chunk, &squares).unwrap());
    assert_eq!(decode(&read, &chunk, &ours, 28).unwrap(), squares);
    check_damaged(&read, &chunk, &encoded, 28, 3000).unwrap();

    let remainders: Vec<u8> = (0..20_i32).flat_map(|i| (i % 5).to_ne_bytes()).collect();
    let encoded =
        hex("70636f210300040504010313000020044000200000006080000000000060000000008000400020001000de7b0f00");
    let chunk = array(&[20], INT32);
    let lookback = codec(Format::V2, "pcodec", r#"{"level":12,"delta_spec":"try_lookback"}"#, INT32);
    check_lossless(&lookback, &chunk, &remainders).unwrap();
    assert_eq!(decode(&lookback, &chunk, &encoded, 80).unwrap(), remainders);
    check_damaged(&lookback, &chunk, &encoded, 80, 3000).unwrap();
}

#[test]
fn a_wrong_count_of_numbers_is_corrupt() {
    let (_, _, encoded) = RAMPS[1];
    let encoded = hex(encoded);
    for (count, number) in [(5, INT32), (7, INT32), (0, INT32), (300, INT32), (6, UINT32), (6, INT64)] {
        let codec = codec(Format::V2, "pcodec", "", number);
        let error = decode(&codec, &array(&[count], number), &encoded, 1 << 20).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{count}: {error}");
    }
    let codec = codec(Format::V2, "pcodec", "", INT32);
    for end in 0..encoded.len() {
        let error = decode(&codec, &array(&[6], INT32), &encoded[..end], 24).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{end}: {error}");
    }
    let error = decode(&codec, &array(&[6], INT32), &encoded, 23).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    let chunk = array(&[6], INT32);
    let error = Pcodec::default().encode(&chunk, &[1; 24], &mut Output::at_most(10)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    let error = Pcodec::default().encode(&chunk, &[1; 23], &mut Output::at_most(100)).unwrap_err();
    assert!(matches!(error, CodecError::Encode(_)), "{error}");
}

#[test]
fn a_dictionary_larger_than_the_file_is_corrupt() {
    // A chunk of four `int32` whose mode has a dictionary. The first dictionary declares 2^25 - 1 numbers, the second
    // has three numbers in 12 bytes.
    let head = "70636f21 03 00 02 01 04 01 03 030000";
    let codec = codec(Format::V2, "pcodec", "", INT32);
    let error = |rest: &str| {
        let encoded = hex(&format!("{head}{rest}"));
        let error = decode(&codec, &array(&[4], INT32), &encoded, 16).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        error.to_string()
    };
    assert!(
        error("f4ffff1f 0000").contains("a dictionary of 33554431 numbers exceeds the remaining 10 bytes")
    );
    let fitting = error("34000000 010000000200000003000000");
    assert!(!fitting.contains("a dictionary of"), "{fitting}");
}

#[test]
fn only_numbers_of_16_to_64_bits_are_supported() {
    let not_numbers =
        [BOOL, UINT8, COMPLEX64, DATETIME, TEXT].map(|number| Representation::Array(array(&[2], number)));
    for decoded in not_numbers.into_iter().chain([Representation::Bytes(Size::Exact(4))]) {
        let error = create(Format::V2, "pcodec", "", Mode::Strict, &decoded).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    let huge = array(&[u64::MAX, 2], INT32);
    let error = Pcodec::default().decode(&huge, b"pco!", &mut Output::at_most(100)).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    let large = array(&[1 << 40], INT32);
    let error = Pcodec::default().decode(&large, b"pco!", &mut Output::at_most(100)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    assert_eq!(Pcodec::default().encoded_size(&array(&[3], INT32)).unwrap(), Size::Unknown);
}

#[test]
fn all_parameters_of_numcodecs_are_read_and_written() {
    let full = concat!(
        r#"{"level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to","#,
        r#""delta_encoding_order":null,"equal_pages_up_to":262144}"#
    );
    let decoded = Representation::Array(array(&[2], FLOAT64));
    for (format, name) in NAMES {
        for configuration in ["", "{}", full] {
            for (to, other) in NAMES {
                let translated = translate(format, name, configuration, &decoded, to).unwrap();
                assert_eq!(translated, (Some(other), full.to_owned()));
            }
        }
        for right in
            [r#"{"delta_spec":"none"}"#, r#"{"delta_spec":"no_op"}"#, r#"{"delta_encoding_order":7}"#]
        {
            create(format, name, right, Mode::Strict, &decoded).unwrap();
        }
        for wrong in [
            r#"{"level":13}"#,
            r#"{"level":-1}"#,
            r#"{"mode_spec":"x"}"#,
            r#"{"delta_spec":"x"}"#,
            r#"{"delta_spec":"try_consecutive"}"#,
            r#"{"delta_spec":"no_op","delta_encoding_order":1}"#,
            r#"{"delta_encoding_order":8}"#,
            r#"{"paging_spec":"exact"}"#,
            r#"{"equal_pages_up_to":0}"#,
            r#"{"equal_pages_up_to":16777217}"#,
            r#"{"x":1}"#,
        ] {
            let result = create(format, name, wrong, Mode::Strict, &decoded);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    assert!(URI.starts_with(zarr_spec::OWN_URI_BASE));
}

/// zarrs stores the parts of complex numbers, and times as integers, in the same form as real numbers.
#[test]
fn complex_numbers_and_times_are_read_with_a_warning_except_in_strict_mode() {
    for (of_zarrs, stored) in [
        (COMPLEX64, FLOAT32),
        (COMPLEX128, FLOAT64),
        (UINT32.named("complex_float16"), FLOAT16),
        (DATETIME, INT64),
    ] {
        let &(_, numbers, encoded) = RAMPS.iter().find(|(number, ..)| *number == stored).unwrap();
        let chunk = array(&[(numbers.len() / 2 / of_zarrs.size()) as u64], of_zarrs);
        let decoded = Representation::Array(chunk.clone());
        let created = create(Format::V3, "numcodecs.pcodec", "", Mode::Lenient, &decoded).unwrap();
        assert_eq!(created.warnings.len(), 1, "{:?}", created.warnings);
        assert_eq!(decode(&created.codec, &chunk, &hex(encoded), 100).unwrap(), hex(numbers));
        check_lossless(&created.codec, &chunk, &hex(numbers)).unwrap();
        let strict = create(Format::V3, "numcodecs.pcodec", "", Mode::Strict, &decoded);
        assert!(matches!(strict, Err(CodecError::Unsupported(_))), "{strict:?}");
    }
}
