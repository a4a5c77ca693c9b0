//! `blosc`: buffers written by numcodecs or printed in the specifications, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

#[path = "it/allocations.rs"]
mod allocations;
#[path = "it/chains.rs"]
mod chains;
#[path = "it/ranges.rs"]
mod ranges;
#[path = "it/snappy.rs"]
mod snappy;

use zarr_codec_blosc::{Blosc, Compressor, Shuffle};
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{COMPLEX128, FLOAT64, INT16, INT32, Number, UINT8};
use zarr_conformance::{array, hex};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{Codec, CodecError, Format, Mode, Output, Reading, Registry, Representation, Size};

const DRAFT: &str = "https://purl.org/zarr/spec/codecs/blosc/1.0";

/// Returns the representation of a one-dimensional array.
fn elements(count: u64, number: Number) -> Representation {
    Representation::Array(array(&[count], number))
}

fn codec(format: Format, configuration: &str, decoded: &Representation) -> Codec {
    let name = if format == Format::V3Draft { DRAFT } else { "blosc" };
    create(format, name, configuration, Mode::Strict, decoded).unwrap().codec
}

fn encoded(format: Format, configuration: &str, number: Number, decoded: &[u8]) -> Vec<u8> {
    let chunk = array(&[(decoded.len() / number.size()) as u64], number);
    encode(&codec(format, configuration, &Representation::Array(chunk.clone())), &chunk, decoded).unwrap()
}

fn assert_misconfigured(format: Format, name: &str, configuration: &str, mode: Mode) {
    let result = create(format, name, configuration, mode, &elements(4, INT32));
    assert!(
        matches!(result, Err(CodecError::InvalidConfiguration(_))),
        "{format} {configuration}: {result:?}"
    );
}

fn v3(members: &[(&str, &str)]) -> String {
    let usual = [
        ("cname", r#""lz4""#),
        ("clevel", "5"),
        ("shuffle", r#""shuffle""#),
        ("typesize", "4"),
        ("blocksize", "0"),
    ];
    let replaced = |name: &str| members.iter().find(|member| member.0 == name).map(|member| member.1);
    let members: Vec<String> = usual
        .iter()
        .map(|&(name, value)| (name, replaced(name).unwrap_or(value)))
        .filter(|member| !member.1.is_empty())
        .map(|(name, value)| format!(r#""{name}":{value}"#))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Returns eight copies of each of 0, 1, 2 and 3 as `<i4`.
fn steps() -> Vec<u8> {
    (0..4i32).flat_map(|step| [step; 8]).flat_map(i32::to_le_bytes).collect()
}

/// Returns a chunk that every compressor makes smaller.
fn ramp<const N: usize>(to_bytes: fn(u32) -> [u8; N]) -> Vec<u8> {
    (0..4000).flat_map(to_bytes).collect()
}

/// `cname`, `clevel`, `shuffle`, `blocksize`, and the output of numcodecs 0.17.1 for [`steps`].
const NUMCODECS: &[(&str, u8, i8, u32, &str)] = &[
    (
        "blosclz",
        5,
        0,
        0,
        "02011004800000008000000035000000140000001d0000002300000000e01303010100e01503010200e01503010300e01303010000",
    ),
    (
        "blosclz",
        5,
        1,
        0,
        "02011104800000008000000034000000140000001c00000028000000000000000001a0000002a0000003a0000000e05400010000",
    ),
    ("blosclz", 5, 2, 0, "0201140480000000800000002800000014000000100000002800ff00ff0000ffff00e06c00010000"),
    (
        "lz4",
        5,
        0,
        0,
        "02013004800000008000000032000000140000001a0000001f0001000c1f0104000c1f0204000c1f03040007500003000000",
    ),
    (
        "lz4",
        5,
        1,
        0,
        "02013104800000008000000035000000140000001d00000013000100130101001302010013030100031f000f020041500000000000",
    ),
    (
        "lz4",
        5,
        2,
        0,
        "0201340480000000800000002f0000001400000017000000df00ff00ff0000ffff000000000005005b500000000000",
    ),
    (
        "lz4",
        5,
        -1,
        0,
        "02013104800000008000000035000000140000001d00000013000100130101001302010013030100031f000f020041500000000000",
    ),
    (
        "lz4hc",
        5,
        0,
        0,
        "02013004800000008000000032000000140000001a0000001f0001000c1f0104000c1f0204000c1f03040007500003000000",
    ),
    (
        "lz4hc",
        5,
        1,
        0,
        "02013104800000008000000033000000140000001b000000130001001301010013020100130301001f00010047500000000000",
    ),
    (
        "lz4hc",
        5,
        2,
        0,
        "0201340480000000800000002b00000014000000130000009f00ff00ff0000ffff0001005f500000000000",
    ),
    (
        "zlib",
        5,
        0,
        0,
        "0201700480000000800000002c0000001400000014000000785e6360c00f1809602602989900060007e00031",
    ),
    (
        "zlib",
        5,
        1,
        0,
        "0201710480000000800000002e0000001400000016000000785e636080004628608202662860a031000014580031",
    ),
    (
        "zlib",
        5,
        2,
        0,
        "0201740480000000800000002b0000001400000013000000785e63f8cff09f81e13f100f0c0000eda003fd",
    ),
    (
        "zstd",
        5,
        0,
        0,
        "02019004800000008000000032000000140000001a00000028b52ffd20808d00002800000102030400a011d0dcae61226803",
    ),
    (
        "zstd",
        5,
        1,
        0,
        "02019104800000008000000032000000140000001a00000028b52ffd20808d0000300000010203000510003c255f66590c58",
    ),
    (
        "zstd",
        5,
        2,
        0,
        "02019404800000008000000030000000140000001800000028b52ffd20807d00004800ff00ff0000ffff000100340547",
    ),
    (
        "lz4",
        9,
        1,
        0,
        "02013104800000008000000035000000140000001d00000013000100130101001302010013030100031f000f020041500000000000",
    ),
    (
        "lz4",
        5,
        1,
        256,
        "02013104800000008000000035000000140000001d00000013000100130101001302010013030100031f000f020041500000000000",
    ),
];

/// Tests V2-CODEC-08, V3-BLOSC-08.
#[test]
fn decodes_buffers_of_numcodecs_by_their_header() {
    let number = array(&[32], INT32);
    let other = codec(Format::V3, &v3(&[("cname", r#""snappy""#), ("typesize", "2")]), &elements(32, INT32));
    for (cname, clevel, shuffle, blocksize, buffer) in NUMCODECS {
        let configuration =
            format!(r#"{{"cname":"{cname}","clevel":{clevel},"shuffle":{shuffle},"blocksize":{blocksize}}}"#);
        let same = codec(Format::V2, &configuration, &elements(32, INT32));
        for codec in [&same, &other] {
            assert_eq!(decode(codec, &number, &hex(buffer), 128).unwrap(), steps(), "{configuration}");
        }
        let flags = encode(&same, &number, &steps()).unwrap()[2];
        assert_eq!(flags, hex(buffer)[2], "{configuration}");
        check_damaged(&same, &number, &hex(buffer), 128, 2000).unwrap();
    }
    let wrong_format = hex(NUMCODECS[0].4)
        .iter()
        .enumerate()
        .map(|(at, &byte)| if at == 2 { 0xb0 } else { byte })
        .collect::<Vec<_>>();
    let error = decode(&other, &number, &wrong_format, 128).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

/// Tests V3-BLOSC-01, V3-BLOSC-02, V3-BLOSC-03, V3-BLOSC-04, V3-BLOSC-05.
#[test]
fn final_v3_names_shuffles_and_stores_the_element_size() {
    let chunk = array(&[4000], INT32);
    let decoded = ramp(u32::to_ne_bytes);
    for cname in [r#""lz4""#, r#""lz4hc""#, r#""blosclz""#, r#""zstd""#, r#""snappy""#, r#""zlib""#] {
        for shuffle in [r#""noshuffle""#, r#""shuffle""#, r#""bitshuffle""#] {
            for clevel in ["0", "1", "9"] {
                let configuration = v3(&[("cname", cname), ("clevel", clevel), ("shuffle", shuffle)]);
                let codec = codec(Format::V3, &configuration, &elements(4000, INT32));
                check_lossless(&codec, &chunk, &decoded)
                    .unwrap_or_else(|wrong| panic!("{configuration}: {wrong}"));
            }
        }
    }
    for wrong in [
        [("cname", r#""gzip""#)],
        [("cname", "")],
        [("cname", r#""LZ4""#)],
        [("cname", "null")],
        [("clevel", "10")],
        [("clevel", "-1")],
        [("clevel", "5.5")],
        [("clevel", "")],
        [("shuffle", "1")],
        [("shuffle", "-1")],
        [("shuffle", r#""auto""#)],
        [("shuffle", "")],
        [("typesize", "0")],
        [("typesize", "-4")],
        [("typesize", "null")],
        [("blocksize", "-1")],
        [("blocksize", "1.5")],
    ] {
        assert_misconfigured(Format::V3, "blosc", &v3(&wrong), Mode::Lenient);
    }
    assert_misconfigured(Format::V3, "blosc", &v3(&[]).replacen('{', r#"{"x":1,"#, 1), Mode::Lenient);

    let without = v3(&[("typesize", "")]);
    assert_misconfigured(Format::V3, "blosc", &without, Mode::Strict);
    let created = create(Format::V3, "blosc", &without, Mode::Lenient, &elements(2, FLOAT64)).unwrap();
    assert_eq!(created.warnings.len(), 1);
    assert_eq!(encode(&created.codec, &array(&[2], FLOAT64), &[0; 16]).unwrap()[3], 8);
    let not_shuffled = v3(&[("typesize", ""), ("shuffle", r#""noshuffle""#)]);
    let created = create(Format::V3, "blosc", &not_shuffled, Mode::Strict, &elements(2, FLOAT64)).unwrap();
    assert!(created.warnings.is_empty());
}

/// Tests V3-BLOSC-07.
#[test]
fn the_value_is_one_buffer_whose_header_declares_its_size() {
    let buffer = hex("02013304 08000000 08000000 18000000 00000001 00000002");
    let chunk = array(&[2], INT32);
    let codec = codec(Format::V3, &v3(&[]), &elements(2, INT32));
    assert_eq!(encode(&codec, &chunk, &hex("00000001 00000002")).unwrap(), buffer);
    assert_eq!(decode(&codec, &chunk, &buffer, 8).unwrap(), hex("00000001 00000002"));
    let longer = [&buffer[..], &[0]].concat();
    for wrong in [&longer[..], &buffer[..23], &buffer[..16], &buffer[..15], &[]] {
        let error = decode(&codec, &chunk, wrong, 8).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
    }
    for (at, byte) in [(0, 3), (0, 1), (2, 0xb3), (2, 0x3b), (3, 0), (4, 7), (7, 0x80), (8, 0), (12, 25)] {
        let mut wrong = buffer.clone();
        wrong[at] = byte;
        let error = decode(&codec, &chunk, &wrong, 8).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "byte {at} as {byte}: {error}");
    }
}

/// Uses several blocks, split and unsplit, with a shorter last one and both compressed and stored streams.
#[test]
fn damage_never_panics_and_is_reported() {
    let chunk = array(&[1500], UINT8);
    let noise = |place: u32| (place.wrapping_mul(2_654_435_761) >> 19).to_le_bytes()[0];
    let decoded: Vec<u8> = (0..1500).map(|place| if place % 4 == 0 { noise(place) } else { 7 }).collect();
    for compressor in [Compressor::Lz4, Compressor::Zstd, Compressor::Zlib, Compressor::BloscLz] {
        for (shuffle, typesize) in [(Shuffle::Byte, 2), (Shuffle::Bit, 4), (Shuffle::Byte, 20)] {
            let blosc = Blosc::new(compressor, 5, shuffle, typesize, 640).unwrap();
            let codec = Codec::BytesToBytes(std::sync::Arc::new(blosc));
            check_lossless(&codec, &chunk, &decoded).unwrap();
            let encoded = encode(&codec, &chunk, &decoded).unwrap();
            check_damaged(&codec, &chunk, &encoded, 1500, 3000)
                .unwrap_or_else(|wrong| panic!("{compressor:?} {shuffle:?} {typesize}: {wrong}"));
        }
    }
}

/// Tests V2-CODEC-30.
#[test]
fn errors_of_undecodable_buffers_name_the_inner_format() {
    let chunk = array(&[32], INT32);
    let codec = codec(Format::V2, "", &elements(32, INT32));
    for (flags, name) in [("10", "blosclz"), ("30", "lz4"), ("50", "snappy"), ("70", "zlib"), ("90", "zstd")]
    {
        let nonsense =
            hex(&format!("0201{flags}04 80000000 80000000 20000000 14000000 08000000 ffffffff ffffffff"));
        let error = decode(&codec, &chunk, &nonsense, 128).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
        assert!(error.to_string().ends_with(&format!("inner format is {name}")), "{error}");
    }
}

/// Decoding refuses a buffer of 24 bytes whose header declares 1 GiB.
#[test]
fn a_buffer_that_declares_too_many_bytes_is_refused_before_allocation() {
    let bomb = hex("02013304 00000040 00000040 18000000 00000001 00000002");
    let codec = codec(Format::V3, &v3(&[]), &elements(2, INT32));
    let error = decode(&codec, &array(&[2], INT32), &bomb, 8).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
}

/// Tests V2-CODEC-07, V2-CODEC-10.
#[test]
fn v2_takes_the_element_size_from_the_array() {
    let a: Vec<u8> = (0..6i32).flat_map(i32::to_le_bytes).collect();
    let buffer = [&hex("02013304 18000000 18000000 28000000")[..], &a].concat();
    for configuration in ["", "{}", r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#] {
        assert_eq!(encoded(Format::V2, configuration, INT32, &a), buffer);
    }
    for (number, size) in [(UINT8, 1), (INT16, 2), (FLOAT64, 8), (COMPLEX128, 16)] {
        assert_eq!(encoded(Format::V2, "", number, &[0; 16])[3], size);
    }
    let bytes = codec(Format::V2, "", &Representation::Bytes(Size::Exact(24)));
    assert_eq!(encode(&bytes, &array(&[24], UINT8), &a).unwrap()[3], 1);
    for (typesize, written) in [(255, 255), (256, 1), (0, 1)] {
        let blosc = Blosc::new(Compressor::Lz4, 5, Shuffle::Byte, typesize, 0).unwrap();
        let mut output = Output::at_most(1000);
        blosc.encode(&[1; 512], &mut output).unwrap();
        assert_eq!(output.written()[3], written);
    }
    for wrong in [
        r#"{"cname":"gzip"}"#,
        r#"{"clevel":10}"#,
        r#"{"shuffle":3}"#,
        r#"{"shuffle":-2}"#,
        r#"{"shuffle":"shuffle"}"#,
        r#"{"shuffle":true}"#,
        r#"{"shuffle":null}"#,
        r#"{"blocksize":-1}"#,
    ] {
        assert_misconfigured(Format::V2, "blosc", wrong, Mode::Lenient);
        assert_misconfigured(Format::V3, "numcodecs.blosc", wrong, Mode::Lenient);
    }
    let alias = create(Format::V3, "numcodecs.blosc", r#"{"shuffle":1}"#, Mode::Strict, &elements(6, INT32));
    assert_eq!(encode(&alias.unwrap().codec, &array(&[6], INT32), &a).unwrap(), buffer);
}

/// Tests V2-CODEC-09.
#[test]
fn automatic_shuffle_shuffles_bits_of_single_bytes_and_stays_automatic_in_v2() {
    let automatic = r#"{"shuffle":-1}"#;
    assert_eq!(encoded(Format::V2, automatic, UINT8, &[0; 4000])[2], 0x24);
    assert_eq!(encoded(Format::V2, automatic, INT32, &ramp(u32::to_le_bytes))[2], 0x21);
    let (name, written) = translate(Format::V2, "blosc", automatic, &elements(1, UINT8), Format::V2).unwrap();
    assert_eq!(name, Some("blosc"));
    assert_eq!(written, r#"{"cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}"#);
}

/// Tests DX-BLOSC-01, DX-BLOSC-02, DX-BLOSC-03, DX-BLOSC-04, DX-BLOSC-05.
#[test]
fn the_draft_numbers_shuffles() {
    let accepted = |members: &str| create(Format::V3Draft, DRAFT, members, Mode::Strict, &elements(1, INT16));
    for cname in ["lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib"] {
        for shuffle in [-1, 0, 1, 2] {
            let members = format!(r#"{{"cname":"{cname}","clevel":1,"shuffle":{shuffle},"blocksize":0}}"#);
            check_lossless(&accepted(&members).unwrap().codec, &array(&[2], INT16), &[1, 2, 3, 4]).unwrap();
        }
    }
    let stored = encoded(Format::V3Draft, r#"{"cname":"lz4","clevel":0}"#, INT16, &[7; 100]);
    assert_eq!((stored.len(), stored[2] & 2), (116, 2));
    for wrong in [
        r#"{"cname":"gzip"}"#,
        r#"{"clevel":10}"#,
        r#"{"shuffle":"shuffle"}"#,
        r#"{"shuffle":3}"#,
        r#"{"shuffle":true}"#,
        r#"{"blocksize":-1}"#,
    ] {
        assert_misconfigured(Format::V3Draft, DRAFT, wrong, Mode::Strict);
    }
    // Documents of the draft may also contain the names of final v3, or options of GDAL 3.6: names, or a number as
    // text.
    let names =
        [("noshuffle", 0), ("shuffle", 1), ("bitshuffle", 2), ("NONE", 0), ("BYTE", 1), ("BIT", 2), ("2", 2)];
    for (name, number) in names {
        let members = format!(r#"{{"cname":"zstd","clevel":1,"shuffle":"{name}","blocksize":0}}"#);
        let created = create(Format::V3Draft, DRAFT, &members, Mode::Lenient, &elements(1, INT16)).unwrap();
        assert_eq!(created.warnings.len(), 1);
        let (uri, written) =
            translate(Format::V3Draft, DRAFT, &members, &elements(1, INT16), Format::V3Draft).unwrap();
        assert_eq!(uri, Some(DRAFT));
        let expected = format!(r#"{{"cname":"zstd","clevel":1,"shuffle":{number},"blocksize":0}}"#);
        assert_eq!(written, expected);
    }
    assert_misconfigured(Format::V3Draft, DRAFT, r#"{"shuffle":"auto"}"#, Mode::Lenient);
}

/// Tests DX-BLOSC-06, DX-BLOSC-08.
#[test]
fn the_draft_takes_the_element_size_from_the_array() {
    let usual = r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#;
    let buffer = hex("02 01 33 02 02000000 02000000 12000000 01 02");
    assert_eq!(encoded(Format::V3Draft, usual, INT16, &[1, 2]), buffer);
    let overridden = r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0,"typesize":4}"#;
    assert_eq!(encoded(Format::V3Draft, overridden, INT16, &[1, 2])[3], 4);
    let zstd = codec(Format::V3Draft, r#"{"cname":"zstd"}"#, &elements(1, INT16));
    assert_eq!(decode(&zstd, &array(&[1], INT16), &buffer, 2).unwrap(), [1, 2]);
}

/// Tests DX-URI-02.
#[test]
fn older_uris_of_the_draft_select_the_codec() {
    let registry = Registry::linked().unwrap();
    for uri in [DRAFT, "https://purl.org/zarr/spec/codec/blosc/1.0", "https://purl.org/zarr/spec/codec/blosc"]
    {
        let plugin = registry.codecs().find(Format::V3Draft, uri, &Reading::new(Mode::Strict)).unwrap();
        assert_eq!(plugin.identifiers.in_format(Format::V3Draft), Some(DRAFT));
    }
}

/// Tests DX-MAP-06, V3-BLOSC-06.
#[test]
fn configurations_are_translated_with_the_shuffle_resolved() {
    let from = |format, name, members: &str, number, to| {
        translate(format, name, members, &elements(9, number), to).unwrap()
    };
    for (format, name) in [(Format::V2, "blosc"), (Format::V3Draft, DRAFT)] {
        for (shuffle, number, word, typesize) in [
            (0, INT32, "noshuffle", 4),
            (1, INT32, "shuffle", 4),
            (2, INT16, "bitshuffle", 2),
            (-1, UINT8, "bitshuffle", 1),
            (-1, FLOAT64, "shuffle", 8),
        ] {
            let members = format!(r#"{{"cname":"zstd","clevel":3,"shuffle":{shuffle},"blocksize":0}}"#);
            let expected = format!(
                r#"{{"cname":"zstd","clevel":3,"shuffle":"{word}","blocksize":0,"typesize":{typesize}}}"#
            );
            assert_eq!(from(format, name, &members, number, Format::V3), (Some("blosc"), expected.clone()));
            let decoded: Vec<u8> = (0..144).collect();
            let before = encoded(format, &members, number, &decoded);
            assert_eq!(encoded(Format::V3, &expected, number, &decoded), before);
            let resolved = members.replace("-1", if word == "shuffle" { "1" } else { "2" });
            let back = from(Format::V3, "blosc", &expected, number, format).1;
            assert_eq!(back, resolved);
        }
    }
}

#[test]
fn an_empty_chunk_is_only_a_header() {
    let codec = codec(Format::V2, "", &elements(0, INT32));
    let empty = array(&[0], INT32);
    let encoded = encode(&codec, &empty, &[]).unwrap();
    assert_eq!(encoded.len(), 16);
    assert_eq!(decode(&codec, &empty, &encoded, 0).unwrap(), []);
}

#[test]
fn the_encoded_size_is_bounded() {
    let blosc = Blosc::new(Compressor::Zstd, 5, Shuffle::Byte, 4, 0).unwrap();
    assert_eq!(blosc.encoded_size(Size::Exact(100)), Size::AtMost(116));
    assert_eq!(blosc.encoded_size(Size::Unknown), Size::Unknown);
    assert_eq!(blosc.encoded_size(Size::Exact(u64::MAX)), Size::Unknown);
    let noise: Vec<u8> =
        (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let mut room = [0; 1016];
    blosc.encode(&noise, &mut Output::to(&mut room)).unwrap();
    let error = blosc.encode(&noise, &mut Output::to(&mut room[..100])).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    assert!(matches!(
        Blosc::new(Compressor::Lz4, 10, Shuffle::None, 1, 0),
        Err(CodecError::InvalidConfiguration(_))
    ));
}

/// imagecodecs stores names of compressors in upper or lower case, or their numbers.
#[test]
fn the_configuration_of_imagecodecs_has_names_or_numbers() {
    let decoded: Vec<u8> = (0..64).collect();
    let chunk = elements(32, INT16);
    let inner = |configuration: &str| {
        let codec =
            create(Format::V2, "imagecodecs_blosc", configuration, Mode::Strict, &chunk).unwrap().codec;
        let encoded = encode(&codec, &array(&[32], INT16), &decoded).unwrap();
        // The kind of shuffle and the inner format, and the size of an element.
        (encoded[2] & 0b1110_0101, encoded[3])
    };
    let lz4 = inner(r#"{"compressor": "LZ4", "shuffle": "bitshuffle"}"#);
    assert_eq!(lz4, inner(r#"{"compressor": 1, "shuffle": 2}"#));
    assert_eq!(lz4, inner(r#"{"compressor": "lz4", "shuffle": "BITSHUFFLE", "typesize": 2}"#));
    assert_ne!(lz4, inner("{}"));
    assert_eq!(inner("{}"), inner(r#"{"compressor": "zstd", "shuffle": "shuffle", "level": 1}"#));
    for (wrong, part) in [
        (r#"{"compressor": "lzma"}"#, "`compressor` is \"lzma\"; expected one of `blosclz`, `lz4`"),
        (r#"{"compressor": 6}"#, "`compressor` is 6"),
        (r#"{"shuffle": "SHUFFLED"}"#, "`shuffle` is \"SHUFFLED\"; expected one of `noshuffle`"),
        (r#"{"level": 10}"#, "10; expected 0 to 9"),
    ] {
        let error = create(Format::V2, "imagecodecs_blosc", wrong, Mode::Strict, &chunk).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
