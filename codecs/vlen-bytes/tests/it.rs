//! `vlen-bytes`: bytes written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_vlen_bytes::VlenBytes;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::types::{RAW3, TEXT, VARIABLE_BYTES};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/vlen-bytes/1.0";

fn chunk(count: usize) -> ArrayRepresentation {
    array(&[count as u64], VARIABLE_BYTES)
}

fn items(items: &[&[u8]]) -> Vec<u8> {
    zarr_conformance::items(items)
}

fn codec(format: Format) -> Codec {
    let name = if format == Format::V3Draft { URI } else { "vlen-bytes" };
    create(format, name, "", Mode::Strict, &Representation::Array(chunk(1))).unwrap().codec
}

fn assert_corrupt(count: usize, encoded: &[u8]) {
    for format in Format::ALL {
        let error = decode(&codec(format), &chunk(count), encoded, 1 << 20).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{encoded:?}: {error}");
    }
}

/// Written by numcodecs 0.17.1.
#[test]
fn reads_and_writes_the_bytes_of_numcodecs() {
    let word = b"word word word word word word \0\xff";
    let cases: [(&[&[u8]], &str); 3] = [
        (&[], "00000000"),
        (&[word], "0100000020000000776f726420776f726420776f726420776f726420776f726420776f72642000ff"),
        (
            &[
                b"\0\xff",
                b"a\0\xff",
                b"\xc3\xa9\0\xff",
                b"\xe6\x97\xa5\xe6\x9c\xac\0\xff",
                b"\xf0\x9f\x98\x80\0\xff",
                word,
            ],
            "060000000200000000ff030000006100ff04000000c3a900ff08000000e697a5e69cac00ff06000000f09f988000ff\
             20000000776f726420776f726420776f726420776f726420776f726420776f72642000ff",
        ),
    ];
    for (elements, encoded) in cases {
        for format in Format::ALL {
            let codec = codec(format);
            let chunk = chunk(elements.len());
            assert_eq!(encode(&codec, &chunk, &items(elements)).unwrap(), hex(encoded));
            assert_eq!(decode(&codec, &chunk, &hex(encoded), 1 << 20).unwrap(), items(elements));
            check_lossless(&codec, &chunk, &items(elements)).unwrap();
            check_damaged(&codec, &chunk, &hex(encoded), 1 << 10, 2000).unwrap();
        }
    }
}

/// Tests V2-OBJ-05, EX-CODEC-20.
#[test]
fn each_element_is_preceded_by_its_length() {
    let three = hex("03000000 03000000 666f6f 00000000 01000000 ff");
    let elements: [&[u8]; 3] = [b"foo", b"", b"\xff"];
    for format in [Format::V2, Format::V3] {
        assert_eq!(encode(&codec(format), &chunk(3), &items(&elements)).unwrap(), three);
        assert_eq!(decode(&codec(format), &chunk(3), &three, 1 << 20).unwrap(), items(&elements));
    }
    for end in 0..three.len() {
        assert_corrupt(3, &three[..end]);
    }
    assert_corrupt(2, &three);
    assert_corrupt(4, &three);
    assert_corrupt(3, &[&three[..], &[0]].concat());
    assert_corrupt(1, &hex("01000000 04000000 666f6f"));
    assert_corrupt(1, &hex("01000000 ffffffff 666f6f"));
    assert_corrupt(0, &[]);
    let strict = |configuration, number| {
        let decoded = Representation::Array(array(&[2], number));
        create(Format::V3, "vlen-bytes", configuration, Mode::Strict, &decoded).unwrap_err()
    };
    assert!(matches!(strict(r#"{"level":1}"#, VARIABLE_BYTES), CodecError::InvalidConfiguration(_)));
    assert!(matches!(strict("", TEXT), CodecError::Unsupported(_)));
    assert!(matches!(strict("", RAW3), CodecError::Unsupported(_)));
}

#[test]
fn other_data_types_and_chunks_that_cannot_be_addressed_are_refused() {
    let bytes = Representation::Bytes(Size::Exact(4));
    let error = create(Format::V3, "vlen-bytes", "", Mode::Strict, &bytes).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    assert_eq!(VlenBytes.encoded_size(&chunk(1)).unwrap(), Size::Unknown);
    for shape in [[u64::MAX, 1], [u64::MAX, u64::MAX], [1 << 62, 1]] {
        let huge = array(&shape, VARIABLE_BYTES);
        let error = VlenBytes.decode(&huge, &hex("ffffffff"), &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    let many = array(&[u64::from(u32::MAX)], VARIABLE_BYTES);
    let error = VlenBytes.decode(&many, &hex("ffffffff 00000000"), &mut Output::at_most(100)).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

#[test]
fn invalid_elements_are_not_encoded() {
    let offsets = |offsets: &[u64], payload: &[u8]| {
        let offsets: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
        [&offsets[..], payload].concat()
    };
    for wrong in [
        vec![],
        offsets(&[0, 1], b"a"),
        offsets(&[1, 1, 1], b"a"),
        offsets(&[0, 1, 0], b"a"),
        offsets(&[0, 1, 2], b"a"),
        offsets(&[0, 0, 0], b"a"),
        offsets(&[0, u64::MAX, 1], b"a"),
    ] {
        let error = encode(&codec(Format::V3), &chunk(2), &wrong).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{wrong:?}: {error}");
    }
    let error = VlenBytes.encode(&chunk(1), &items(&[b"abc"]), &mut Output::at_most(10)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
}

/// `vlen-bytes` and `vlen-utf8` have the same form, and zarrs writes `bytes` and `string` with each of them.
#[test]
fn data_type_string_is_read_with_a_warning_except_in_strict_mode() {
    let chunk = array(&[1], TEXT);
    let decoded = Representation::Array(chunk.clone());
    let created = create(Format::V3, "vlen-bytes", "", Mode::Lenient, &decoded).unwrap();
    assert_eq!(created.warnings, ["it encodes data type `bytes`, not `string`"]);
    let element = decode(&created.codec, &chunk, &hex("01000000 01000000 61"), 100).unwrap();
    assert_eq!(element, zarr_conformance::items(&["a"]));
    let result = decode(&created.codec, &chunk, &hex("01000000 01000000 ff"), 100);
    assert!(matches!(result, Err(CodecError::Corrupt(_))), "{result:?}");
    for (format, mode) in [(Format::V3, Mode::Strict), (Format::V2, Mode::Lenient)] {
        let result = create(format, "vlen-bytes", "", mode, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}
