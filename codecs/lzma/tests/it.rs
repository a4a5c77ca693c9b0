//! `lzma`: streams written by other programs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_lzma::{Filter, Lzma, LzmaConfiguration};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::{array, hex, types};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const BYTES: Representation = Representation::Bytes(Size::Unknown);
const OWN: &str = "https://zarr-kit.example/spec/codecs/lzma/1.0";

fn plain() -> ArrayRepresentation {
    array(&[1], types::UINT8)
}

fn v2(configuration: &str) -> Codec {
    create(Format::V2, "lzma", configuration, Mode::Strict, &BYTES).unwrap().codec
}

fn assert_corrupt(codec: &Codec, encoded: &[u8], what: &str) {
    let result = decode(codec, &plain(), encoded, 1 << 20);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{what}: {result:?}");
}

const RAMP: &str = "000102030405";
const STEPS: &str = "0000000000000000010101010101010102020202020202020303030303030303";

/// Configuration, decoded and encoded bytes, written by numcodecs 0.17.1.
const STREAMS: &[(&str, &str, &str)] = &[
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":null}"#,
        "",
        "fd377a585a000004e6d6b446000000001cdf44211fb6f37d010000000004595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":null}"#,
        RAMP,
        "fd377a585a000004e6d6b4460200210116000000742fe5a30100050001020304 \
         0500000068d9b25088af5b7e00011e06c12fa41d1fb6f37d010000000004595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":null}"#,
        STEPS,
        "fd377a585a000004e6d6b4460200210116000000742fe5a3e0001f000c5d0000 \
         6a7ecb426596baf06a27b70017595f2ed9b160fb00012820493bb5461fb6f37d \
         010000000004595a",
    ),
    (
        r#"{"format":1,"check":0,"preset":0,"filters":null}"#,
        "",
        "fd377a585a000000ff12d941000000001cdf442106729e7a010000000000595a",
    ),
    (
        r#"{"format":1,"check":1,"preset":1,"filters":null}"#,
        "",
        "fd377a585a0000016922de36000000001cdf44219042990d010000000001595a",
    ),
    (
        r#"{"format":1,"check":1,"preset":1,"filters":null}"#,
        STEPS,
        "fd377a585a0000016922de360200210110000000a8708e86e0001f000c5d0000 \
         6a7ecb426596baf06a27b70083c71bbd00012420457400ea9042990d01000000 \
         0001595a",
    ),
    (
        r#"{"format":1,"check":10,"preset":9,"filters":null}"#,
        "",
        "fd377a585a00000ae1fb0ca1000000001cdf4421189b4b9a01000000000a595a",
    ),
    (
        r#"{"format":1,"check":10,"preset":9,"filters":null}"#,
        RAMP,
        "fd377a585a00000ae1fb0ca1020021011c00000010cf58cc0100050001020304 \
         0500000017e88db187afd62c16e5debf3e6527cd006bc012bc90b51a810cd80c \
         2d511f43000136066b81f940189b4b9a01000000000a595a",
    ),
    (
        r#"{"format":1,"check":10,"preset":9,"filters":null}"#,
        STEPS,
        "fd377a585a00000ae1fb0ca1020021011c00000010cf58cce0001f000c5d0000 \
         6a7ecb426596baf06a27b700727046ffeb12e83c02f270fc137e13ba0a281ed0 \
         97c0d03ce81644088cd7f73d00014020e6da91eb189b4b9a01000000000a595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#,
        RAMP,
        "fd377a585a000004e6d6b4460201030103210116978f71fc0100050001020304 \
         0400000068d9b25088af5b7e00011e06c12fa41d1fb6f37d010000000004595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#,
        STEPS,
        "fd377a585a000004e6d6b4460201030103210116978f71fce0001f000a5d0000 \
         6a7eca6ab99b27400000000017595f2ed9b160fb00012620c71636d81fb6f37d \
         010000000004595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":[{"id":4},{"id":33,"preset":6}]}"#,
        RAMP,
        "fd377a585a000004e6d6b44602010400210116000d86351f0100050001020304 \
         0500000068d9b25088af5b7e00011e06c12fa41d1fb6f37d010000000004595a",
    ),
    (
        r#"{"format":1,"check":-1,"preset":null,"filters":[{"id":4},{"id":33,"preset":6}]}"#,
        STEPS,
        "fd377a585a000004e6d6b44602010400210116000d86351fe0001f000c5d0000 \
         6a7ecb426596baf06a27b70017595f2ed9b160fb00012820493bb5461fb6f37d \
         010000000004595a",
    ),
    (
        r#"{"format":2,"check":-1,"preset":1,"filters":null}"#,
        "",
        "5d00001000ffffffffffffffff0083fffbffffc0000000",
    ),
    (
        r#"{"format":2,"check":-1,"preset":1,"filters":null}"#,
        RAMP,
        "5d00001000ffffffffffffffff00000052500a8508e9d99ffff8a0e000",
    ),
    (
        r#"{"format":2,"check":-1,"preset":1,"filters":null}"#,
        STEPS,
        "5d00001000ffffffffffffffff00006a7ecb426596bb201d1364ffeca08000",
    ),
    (r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":33,"preset":6}]}"#, "", "00"),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":33,"preset":6}]}"#,
        RAMP,
        "01000500010203040500",
    ),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":33,"preset":6}]}"#,
        STEPS,
        "e0001f000c5d00006a7ecb426596baf06a27b700",
    ),
    (r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#, "", "00"),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#,
        RAMP,
        "01000500010203040400",
    ),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#,
        STEPS,
        "e0001f000a5d00006a7eca6ab99b27400000",
    ),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":4611686018427387905,"preset":1}]}"#,
        "",
        "0083fffbffffc0000000",
    ),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":4611686018427387905,"preset":1}]}"#,
        RAMP,
        "00000052500a8508e9d99ffff8a0e000",
    ),
    (
        r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":4611686018427387905,"preset":1}]}"#,
        STEPS,
        "00006a7ecb426596bb201d1364ffeca08000",
    ),
];

/// Tests V2-CODEC-04.
#[test]
fn streams_of_other_programs_decode_and_raw_ones_need_filters() {
    for (configuration, decoded, encoded) in STREAMS {
        let codec = v2(configuration);
        let decoded = hex(decoded);
        assert_eq!(
            decode(&codec, &plain(), &hex(encoded), decoded.len()).unwrap(),
            decoded,
            "{configuration}"
        );
        assert_eq!(encode(&codec, &plain(), &decoded).unwrap(), hex(encoded), "{configuration}");
    }
    let ramp: Vec<u8> = (0..6i32).flat_map(i32::to_le_bytes).collect();
    assert!(encode(&v2(""), &plain(), &ramp).unwrap().starts_with(&hex("fd377a585a00")));
    assert!(encode(&v2(r#"{"format":2}"#), &plain(), &ramp).unwrap().starts_with(&hex("5d00")));
    for wrong in [r#"{"format":3}"#, r#"{"format":3,"preset":6}"#, r#"{"format":3,"filters":null}"#] {
        let result = create(Format::V2, "lzma", wrong, Mode::Lenient, &BYTES);
        assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
    }
}

#[test]
fn every_parameter_is_validated() {
    let wrong = [
        r#"{"format":0}"#,
        r#"{"format":4}"#,
        r#"{"check":2}"#,
        r#"{"check":-2}"#,
        r#"{"format":2,"check":4}"#,
        r#"{"format":3,"check":1,"filters":[{"id":33}]}"#,
        r#"{"preset":10}"#,
        r#"{"preset":-1}"#,
        r#"{"preset":64}"#,
        r#"{"preset":1,"filters":[{"id":33}]}"#,
        r#"{"filters":[]}"#,
        r#"{"filters":[{"id":3}]}"#,
        r#"{"filters":[{"id":33},{"id":3}]}"#,
        r#"{"filters":[{"id":33},{"id":33}]}"#,
        r#"{"filters":[{"id":3},{"id":3},{"id":3},{"id":3},{"id":33}]}"#,
        r#"{"filters":[{"id":4611686018427387905}]}"#,
        r#"{"format":2,"filters":[{"id":33}]}"#,
        r#"{"format":2,"filters":[{"id":3},{"id":4611686018427387905}]}"#,
        r#"{"filters":[{"id":12},{"id":33}]}"#,
        r#"{"filters":[{"id":3,"dist":0},{"id":33}]}"#,
        r#"{"filters":[{"id":3,"dist":257},{"id":33}]}"#,
        r#"{"filters":[{"id":3,"preset":1},{"id":33}]}"#,
        r#"{"filters":[{"id":4,"dist":1},{"id":33}]}"#,
        r#"{"filters":[{"id":33,"dist":1}]}"#,
        r#"{"filters":[{"id":33,"start_offset":16}]}"#,
        r#"{"filters":[{"id":33,"dict_size":4095}]}"#,
        r#"{"filters":[{"id":33,"dict_size":268435457}]}"#,
        r#"{"filters":[{"id":33,"lc":3,"lp":2}]}"#,
        r#"{"filters":[{"id":33,"lc":4294967295,"lp":1}]}"#,
        r#"{"filters":[{"id":33,"pb":5}]}"#,
        r#"{"filters":[{"id":33,"mode":0}]}"#,
        r#"{"filters":[{"id":33,"nice_len":1}]}"#,
        r#"{"filters":[{"id":33,"nice_len":274}]}"#,
        r#"{"filters":[{"id":33,"mf":5}]}"#,
        r#"{"filters":[{"id":33,"x":5}]}"#,
        r#"{"filters":[33]}"#,
    ];
    for configuration in wrong {
        for (format, name) in [(Format::V2, "lzma"), (Format::V3, "numcodecs.lzma"), (Format::V3Draft, OWN)] {
            let result = create(format, name, configuration, Mode::Lenient, &BYTES);
            assert!(
                matches!(result, Err(CodecError::InvalidConfiguration(_))),
                "{configuration}: {result:?}"
            );
        }
    }
}

#[test]
fn every_option_is_applied_and_round_trips() {
    let right = [
        "",
        r#"{"preset":2147483648}"#,
        r#"{"check":10,"preset":0}"#,
        r#"{"format":2}"#,
        r#"{"format":2,"filters":[{"id":4611686018427387905,"lc":0,"lp":2,"pb":0}]}"#,
        r#"{"format":3,"filters":[{"id":3,"dist":256},{"id":33,"dict_size":4096,"mf":3,"mode":1,"nice_len":4,"depth":7}]}"#,
        r#"{"format":3,"filters":[{"id":4,"start_offset":16},{"id":5},{"id":6},{"id":33,"preset":1}]}"#,
        r#"{"format":3,"filters":[{"id":7},{"id":8},{"id":9},{"id":4611686018427387905,"preset":1}]}"#,
        r#"{"filters":[{"id":10},{"id":11},{"id":33,"preset":1,"mf":20,"mode":2}]}"#,
    ];
    for configuration in right {
        for size in [0u64, 1, 100, 20_000] {
            let bytes: Vec<u8> = (0..size).map(|i| u8::try_from((i * i / 7) % 251).unwrap()).collect();
            check_lossless(&v2(configuration), &plain(), &bytes).unwrap();
        }
    }
}

#[test]
fn truncated_damaged_and_extended_streams_are_corrupt() {
    for (configuration, _, encoded) in STREAMS {
        let codec = v2(configuration);
        let encoded = hex(encoded);
        for size in 0..encoded.len() {
            assert_corrupt(&codec, &encoded[..size], "cut off");
        }
        assert_corrupt(&codec, &[&encoded[..], b"more"].concat(), "followed by other bytes");
    }
    let ramp = STREAMS.iter().find(|(_, decoded, _)| *decoded == RAMP).unwrap();
    let mut flipped = hex(ramp.2);
    flipped[28] ^= 1;
    assert_corrupt(&v2(ramp.0), &flipped, "a wrong byte under a checksum");
    let twice = [hex(ramp.2), hex(ramp.2)].concat();
    assert_eq!(decode(&v2(ramp.0), &plain(), &twice, 12).unwrap(), hex("000102030405 000102030405"));
}

#[test]
fn decoding_stops_at_the_limit_and_huge_dictionaries_are_refused() {
    for configuration in ["", r#"{"format":2}"#, r#"{"format":3,"filters":[{"id":33}]}"#] {
        let codec = v2(configuration);
        let zeros = encode(&codec, &plain(), &vec![0; 1 << 20]).unwrap();
        for limit in [0, 1, (1 << 20) - 1] {
            let result = decode(&codec, &plain(), &zeros, limit);
            assert!(matches!(result, Err(CodecError::TooLarge(_))), "{limit}: {result:?}");
        }
        assert_eq!(decode(&codec, &plain(), &zeros, 1 << 20).unwrap(), vec![0; 1 << 20]);
    }
    let mut short = [0; 8];
    let lzma = Lzma::new(&LzmaConfiguration::default()).unwrap();
    let result = lzma.encode(&[7; 100], &mut Output::to(&mut short));
    assert!(matches!(result, Err(CodecError::TooLarge(_))), "{result:?}");
    // An lzma file with a dictionary of 4 GiB - 1.
    let greedy = hex("5d ffffffff ffffffffffffffff 00000052500a8508e9d99ffff8a0e000");
    assert_corrupt(&v2(r#"{"format":2}"#), &greedy, "a huge dictionary");
}

#[test]
fn a_dictionary_above_64_mib_is_refused_with_the_limit() {
    // An empty lzma file of Python 3.11, with a dictionary of 64 MiB and then of 128 MiB.
    let allowed = hex("5d 00000004 ffffffffffffffff 0083fffbffffc0000000");
    assert_eq!(decode(&v2(r#"{"format":2}"#), &plain(), &allowed, 0).unwrap(), b"");
    let mut refused = allowed;
    refused[4] = 8;
    let error = decode(&v2(r#"{"format":2}"#), &plain(), &refused, 0).unwrap_err();
    assert!(error.to_string().contains("limit of 64 MiB"), "{error}");
    let filters = r#"{"format":3,"filters":[{"id":33,"dict_size":67108865}]}"#;
    let error = create(Format::V2, "lzma", filters, Mode::Strict, &BYTES).unwrap_err();
    assert!(error.to_string().contains("67108865") && error.to_string().contains("64 MiB"), "{error}");
}

#[test]
fn many_empty_streams_decode() {
    let empty = encode(&v2(""), &plain(), b"").unwrap();
    assert_eq!(decode(&v2(""), &plain(), &empty.repeat(100_000), 0).unwrap(), b"");
}

#[test]
fn damage_never_panics() {
    for (configuration, decoded, encoded) in STREAMS {
        if *decoded == STEPS {
            check_damaged(&v2(configuration), &plain(), &hex(encoded), 400, 500).unwrap();
        }
    }
}

/// GDAL 3.6.2 writes this configuration for `COMPRESS=LZMA`, `LZMA_DELTA=4`, `LZMA_PRESET=1`.
#[test]
fn the_delta_of_gdal_is_a_filter() {
    let old = "https://purl.org/zarr/spec/codec/lzma/1.0";
    let gdal = r#"{"preset":1,"delta":4}"#;
    let filters =
        r#"{"format":1,"check":0,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":1}]}"#;
    for (format, name) in [(Format::V2, "lzma"), (Format::V3Draft, old)] {
        let translated = translate(format, name, gdal, &BYTES, Format::V3).unwrap();
        assert_eq!(translated, (Some("numcodecs.lzma"), filters.to_owned()));
        let created = create(format, name, gdal, Mode::Lenient, &BYTES).unwrap();
        assert_eq!(created.warnings.len(), 1);
        assert!(create(format, name, gdal, Mode::Strict, &BYTES).is_err());
        check_lossless(&created.codec, &array(&[16], types::UINT8), b"0123456789abcdef").unwrap();
    }
    assert!(create(Format::V3, "numcodecs.lzma", gdal, Mode::Lenient, &BYTES).is_err());
}

#[test]
fn every_format_states_defaults() {
    let all = r#"{"format":1,"check":-1,"preset":null,"filters":null}"#;
    let to = |configuration, to| translate(Format::V2, "lzma", configuration, &BYTES, to).unwrap();
    assert_eq!(to("", Format::V2), (Some("lzma"), all.to_owned()));
    assert_eq!(to("", Format::V3), (Some("numcodecs.lzma"), all.to_owned()));
    let filters = r#"{"format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":4611686018427387905,"preset":1}]}"#;
    assert_eq!(to(filters, Format::V3Draft), (Some(OWN), filters.to_owned()));
    let old = "https://purl.org/zarr/spec/codec/lzma/1.0";
    let draft = translate(Format::V3Draft, old, all, &BYTES, Format::V3).unwrap();
    assert_eq!(draft, (Some("numcodecs.lzma"), all.to_owned()));
    assert!(OWN.starts_with(zarr_spec::OWN_URI_BASE));
    let by_hand = LzmaConfiguration {
        filters: Some(vec![Filter { id: 33, preset: Some(1), ..Filter::default() }]),
        ..LzmaConfiguration::default()
    };
    assert!(Lzma::new(&by_hand).is_ok());
}
