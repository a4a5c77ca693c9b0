//! `vlen-utf8`: bytes written by numcodecs, and errors.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_codec_vlen_utf8::VlenUtf8;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::create;
use zarr_conformance::types::{INT32, TEXT, VARIABLE_BYTES};
use zarr_conformance::{array, hex};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{ArrayRepresentation, Codec, CodecError, Format, Mode, Output, Representation, Size};

const URI: &str = "https://zarr-kit.example/spec/codecs/vlen-utf8/1.0";

fn chunk(count: usize) -> ArrayRepresentation {
    array(&[count as u64], TEXT)
}

fn texts(texts: &[&str]) -> Vec<u8> {
    zarr_conformance::items(texts)
}

fn codec(format: Format, configuration: &str) -> Codec {
    let name = if format == Format::V3Draft { URI } else { "vlen-utf8" };
    create(format, name, configuration, Mode::Strict, &Representation::Array(chunk(1))).unwrap().codec
}

fn assert_corrupt(count: usize, encoded: &[u8]) {
    for format in Format::ALL {
        let error = decode(&codec(format, ""), &chunk(count), encoded, 1 << 20).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt(_)), "{encoded:?}: {error}");
    }
}

/// Written by numcodecs 0.17.1.
#[test]
fn reads_and_writes_the_texts_of_numcodecs() {
    let word = "word word word word word word ";
    let cases: [(&[&str], &str); 3] = [
        (&[], "00000000"),
        (&[word], "010000001e000000776f726420776f726420776f726420776f726420776f726420776f726420"),
        (
            &["", "a", "é", "日本", "😀", word],
            "0600000000000000010000006102000000c3a906000000e697a5e69cac04000000f09f9880\
             1e000000776f726420776f726420776f726420776f726420776f726420776f726420",
        ),
    ];
    for (elements, encoded) in cases {
        for format in Format::ALL {
            let codec = codec(format, "{}");
            let chunk = chunk(elements.len());
            assert_eq!(encode(&codec, &chunk, &texts(elements)).unwrap(), hex(encoded));
            assert_eq!(decode(&codec, &chunk, &hex(encoded), 1 << 20).unwrap(), texts(elements));
            check_lossless(&codec, &chunk, &texts(elements)).unwrap();
            check_damaged(&codec, &chunk, &hex(encoded), 1 << 10, 2000).unwrap();
        }
    }
}

/// Tests V2-OBJ-02, V2-OBJ-03, V2-OBJ-04.
#[test]
fn the_count_matches_the_chunk_and_each_text_is_preceded_by_its_length() {
    let four = hex("04000000 03000000 666f6f 00000000 03000000 68c3a9 00000000");
    let codec = codec(Format::V2, "");
    assert_eq!(encode(&codec, &chunk(4), &texts(&["foo", "", "hé", ""])).unwrap(), four);
    assert_eq!(decode(&codec, &chunk(4), &four, 1 << 20).unwrap(), texts(&["foo", "", "hé", ""]));
    let box_of_four = array(&[2, 2], TEXT);
    assert_eq!(decode(&codec, &box_of_four, &four, 1 << 20).unwrap(), texts(&["foo", "", "hé", ""]));
    for end in 0..four.len() {
        assert_corrupt(4, &four[..end]);
    }
    assert_corrupt(1, &hex("01000000 04000000 666f6f"));
    assert_corrupt(1, &hex("01000000 ffffffff 666f6f"));
    assert_corrupt(1, &hex("01000000 02000000 68c3"));
    assert_corrupt(1, &hex("01000000 01000000 ff"));
    // Each text is half a character, but together they are UTF-8.
    assert_corrupt(2, &hex("02000000 01000000 c3 01000000 a9"));

    assert_eq!(decode(&codec, &chunk(1), &hex("01000000 00000000"), 100).unwrap(), texts(&[""]));
    assert_eq!(encode(&codec, &chunk(0), &texts(&[])).unwrap(), hex("00000000"));
    assert_corrupt(0, &[]);
    assert_corrupt(1, &[]);

    let two = hex("02000000 01000000 61 00000000");
    assert_eq!(decode(&codec, &chunk(2), &two, 100).unwrap(), texts(&["a", ""]));
    assert_corrupt(1, &two);
    assert_corrupt(3, &two);
    assert_corrupt(0, &two);
}

/// Tests EX-CODEC-19.
#[test]
fn v3_has_the_form_of_v2() {
    let encoded = hex("02000000 01000000 78 02000000 6869");
    for configuration in ["", "{}"] {
        let codec = codec(Format::V3, configuration);
        assert_eq!(encode(&codec, &chunk(2), &texts(&["x", "hi"])).unwrap(), encoded);
        assert_eq!(decode(&codec, &chunk(2), &encoded, 100).unwrap(), texts(&["x", "hi"]));
    }
    assert_corrupt(3, &encoded);
    assert_corrupt(2, &hex("02000000 01000000 78 03000000 6869"));
    assert_corrupt(2, &hex("02000000 01000000 78 02000000 68ff"));
    assert_corrupt(2, &hex("02000000 01000000 78 02000000 6869 00"));
    let strict = |configuration, number| {
        let decoded = Representation::Array(array(&[2], number));
        create(Format::V3, "vlen-utf8", configuration, Mode::Strict, &decoded).unwrap_err()
    };
    assert!(matches!(strict(r#"{"level":1}"#, TEXT), CodecError::InvalidConfiguration(_)));
    assert!(matches!(strict("", VARIABLE_BYTES), CodecError::Unsupported(_)));
    assert!(matches!(strict("", INT32), CodecError::Unsupported(_)));
}

#[test]
fn other_data_types_and_chunks_that_cannot_be_addressed_are_refused() {
    let bytes = Representation::Bytes(Size::Exact(4));
    let error = create(Format::V3, "vlen-utf8", "", Mode::Strict, &bytes).unwrap_err();
    assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    assert_eq!(VlenUtf8.encoded_size(&chunk(1)).unwrap(), Size::Unknown);
    for shape in [[u64::MAX, 1], [u64::MAX, u64::MAX], [1 << 62, 1]] {
        let huge = array(&shape, TEXT);
        let error = VlenUtf8.decode(&huge, &hex("ffffffff"), &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    let many = array(&[u64::from(u32::MAX)], TEXT);
    let error = VlenUtf8.decode(&many, &hex("ffffffff 00000000"), &mut Output::at_most(100)).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{error}");
}

#[test]
fn invalid_elements_are_not_encoded() {
    let offsets = |offsets: &[u64], payload: &str| {
        let offsets: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_ne_bytes()).collect();
        [&offsets[..], payload.as_bytes()].concat()
    };
    for wrong in [
        vec![],
        offsets(&[0, 1], "a"),
        offsets(&[1, 1, 1], "a"),
        offsets(&[0, 1, 0], "a"),
        offsets(&[0, 1, 2], "a"),
        offsets(&[0, 0, 0], "a"),
        offsets(&[0, u64::MAX, 1], "a"),
        offsets(&[0, 1, 2], "é"),
    ] {
        let error = encode(&codec(Format::V3, ""), &chunk(2), &wrong).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{wrong:?}: {error}");
    }
    let error = VlenUtf8.encode(&chunk(1), &texts(&["abc"]), &mut Output::at_most(10)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
}

/// `vlen-utf8` and `vlen-bytes` have the same form, and zarrs writes `string` and `bytes` with each of them.
#[test]
fn data_type_bytes_is_read_with_a_warning_except_in_strict_mode() {
    let chunk = array(&[1], VARIABLE_BYTES);
    let decoded = Representation::Array(chunk.clone());
    let created = create(Format::V3, "vlen-utf8", "", Mode::Lenient, &decoded).unwrap();
    assert_eq!(created.warnings, ["it encodes data type `string`, not `bytes`"]);
    let element = decode(&created.codec, &chunk, &hex("01000000 01000000 61"), 100).unwrap();
    assert_eq!(element, zarr_conformance::items(&["a"]));
    let result = decode(&created.codec, &chunk, &hex("01000000 01000000 ff"), 100);
    assert!(result.is_ok(), "{result:?}");
    for (format, mode) in [(Format::V3, Mode::Strict), (Format::V2, Mode::Lenient)] {
        let result = create(format, "vlen-utf8", "", mode, &decoded);
        assert!(matches!(result, Err(CodecError::Unsupported(_))), "{result:?}");
    }
}
