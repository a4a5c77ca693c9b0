//! `json2`: text written by numcodecs.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_codec_json2::Json2;
use zarr_conformance::codecs::{check_damaged, check_lossless, decode, encode};
use zarr_conformance::linked::{create, translate};
use zarr_conformance::types::{INT32, JSON, TEXT};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, FillValue, Format, Mode, Output, Representation, Size,
};

const URI: &str = "https://zarr-kit.example/spec/codecs/json2/1.0";
const NAMES: [(Format, &str); 3] =
    [(Format::V2, "json2"), (Format::V3, "numcodecs.json2"), (Format::V3Draft, URI)];

fn chunk(shape: &[u64]) -> ArrayRepresentation {
    ArrayRepresentation::new(shape.to_vec(), Arc::new(JSON), FillValue::new(*b"null"))
}

/// Returns the decoded form: offsets, followed by the texts.
fn items(items: &[&str]) -> Vec<u8> {
    let mut end = 0;
    let ends = items.iter().map(|item| {
        end += item.len() as u64;
        end
    });
    let offsets: Vec<u8> = std::iter::once(0).chain(ends).flat_map(u64::to_ne_bytes).collect();
    [offsets, items.concat().into_bytes()].concat()
}

fn codec(configuration: &str) -> Codec {
    let array = Representation::Array(chunk(&[1]));
    create(Format::V2, "json2", configuration, Mode::Strict, &array).unwrap().codec
}

fn decoded(shape: &[u64], encoded: &str) -> Result<Vec<u8>, CodecError> {
    decode(&codec(""), &chunk(shape), encoded.as_bytes(), 1 << 20)
}

fn assert_corrupt(shape: &[u64], encoded: &str) {
    let error = decoded(shape, encoded).unwrap_err();
    assert!(matches!(error, CodecError::Corrupt(_)), "{encoded}: {error}");
}

/// Written by numcodecs 0.17.1, except `1e300`, which it writes as `1e+300`.
const MIXED: [&str; 10] = [
    "\"foo\"",
    "1",
    "null",
    "{\"a\":[true,false,\"\u{e9}\u{1f600}\u{7f}\\n\\\"\\\\\"],\"b\":1.5}",
    "-1",
    "9223372036854775808",
    "1e300",
    "NaN",
    "-Infinity",
    "\"\"",
];

/// Tests V2-OBJ-07.
#[test]
fn items_are_nested_lists_followed_by_a_typestring_and_the_shape() {
    let cases: [(&[u64], &[&str], &str); 9] = [
        (&[4], &["\"foo\"", "1", "null", "{\"b\":1.5}"], r#"["foo",1,null,{"b":1.5},"|O",[4]]"#),
        (&[2, 2], &["\"foo\"", "\"b\"", "\"c\"", "\"d\""], r#"[["foo","b"],["c","d"],"|O",[2,2]]"#),
        (&[0], &[], r#"["|O",[0]]"#),
        (&[0, 2], &[], r#"["|O",[0,2]]"#),
        (&[2, 0], &[], r#"[[],[],"|O",[2,0]]"#),
        (&[], &["5"], r#"[5,"|O",[]]"#),
        (&[1], &["[1,2]"], r#"[[1,2],"|O",[1]]"#),
        (&[2, 1], &["[1]", "[2]"], r#"[[[1]],[[2]],"|O",[2,1]]"#),
        (
            &[10],
            &MIXED,
            r#"["foo",1,null,{"a":[true,false,"\u00e9\ud83d\ude00\u007f\n\"\\"],"b":1.5},-1,9223372036854775808,1e300,NaN,-Infinity,"","|O",[10]]"#,
        ),
    ];
    for (shape, texts, encoded) in cases {
        for (format, name) in NAMES {
            let chunk = chunk(shape);
            let array = Representation::Array(chunk.clone());
            let codec = create(format, name, "", Mode::Strict, &array).unwrap().codec;
            assert_eq!(encode(&codec, &chunk, &items(texts)).unwrap(), encoded.as_bytes());
            assert_eq!(decode(&codec, &chunk, encoded.as_bytes(), 1 << 20).unwrap(), items(texts));
            check_lossless(&codec, &chunk, &items(texts)).unwrap();
            check_damaged(&codec, &chunk, encoded.as_bytes(), 1 << 10, 2000).unwrap();
        }
    }
    assert_eq!(decoded(&[1], r#"[1e+300,"|O",[1]]"#).unwrap(), items(&["1e+300"]));
    for fewer in ["[]", "[\"|O\"]", "[[0]]", "{}", "null", "1", ""] {
        assert_corrupt(&[0], fewer);
        assert_corrupt(&[1], fewer);
    }
    for (shape, other) in [
        (&[2][..], r#"[1,"|O",[1]]"#),
        (&[1], r#"[1,"|O",[2]]"#),
        (&[2], r#"[1,"|O",[2]]"#),
        (&[1], r#"[1,2,"|O",[1]]"#),
        (&[1], r#"[1,"<i4",[1]]"#),
        (&[1], r#"[1,"|O",["1"]]"#),
        (&[1], r#"[1,"|O",1]"#),
        (&[1, 1], r#"[1,"|O",[1,1]]"#),
        (&[1, 2], r#"[[1],"|O",[1,2]]"#),
        (&[], r#"["|O",[]]"#),
        (&[], r#"[1,2,"|O",[]]"#),
        (&[1], "[1,\"|O\",[1]]]"),
        (&[1], "[\"\\ud83d\",\"|O\",[1]]"),
    ] {
        assert_corrupt(shape, other);
    }
}

/// Written by numcodecs 0.17.1 with an indent of 2 and unsorted, and with an indent of 0.
#[test]
fn text_can_be_indented_and_unsorted() {
    let unsorted = MIXED.map(|item| match item.strip_prefix("{\"a\":") {
        Some(rest) => format!("{{\"b\":1.5,\"a\":{}}}", rest.strip_suffix(",\"b\":1.5}").unwrap()),
        None => item.to_owned(),
    });
    let unsorted = unsorted.each_ref().map(String::as_str);
    let configuration = r#"{"ensure_ascii":false,"sort_keys":false,"indent":2}"#;
    let wanted = "[\n  \"foo\", \n  1, \n  null, \n  {\n    \"b\": 1.5, \n    \"a\": [\n      true, \n      false, \n      \
        \"\u{e9}\u{1f600}\u{7f}\\n\\\"\\\\\"\n    ]\n  }, \n  -1, \n  9223372036854775808, \n  1e300, \n  NaN, \n  \
        -Infinity, \n  \"\", \n  \"|O\", \n  [\n    10\n  ]\n]";
    let encoded = encode(&codec(configuration), &chunk(&[10]), &items(&unsorted)).unwrap();
    assert_eq!(String::from_utf8(encoded.clone()).unwrap(), wanted);
    assert_eq!(decode(&codec(""), &chunk(&[10]), &encoded, 1 << 20).unwrap(), items(&unsorted));

    let configuration = r#"{"indent":0,"separators":[",",":"]}"#;
    let wanted = "[\n[\n\"foo\",\n\"b\"\n],\n[\n\"c\",\n\"d\"\n],\n\"|O\",\n[\n2,\n2\n]\n]";
    let texts = items(&["\"foo\"", "\"b\"", "\"c\"", "\"d\""]);
    assert_eq!(encode(&codec(configuration), &chunk(&[2, 2]), &texts).unwrap(), wanted.as_bytes());
    let empty = encode(&codec(r#"{"indent":2}"#), &chunk(&[2, 0]), &items(&[])).unwrap();
    assert_eq!(empty, b"[\n  [], \n  [], \n  \"|O\", \n  [\n    2, \n    0\n  ]\n]");
}

/// Tests V2-OBJ-08.
#[test]
fn all_parameters_of_numcodecs_are_read_and_written() {
    let full = concat!(
        r#"{"encoding":"utf-8","skipkeys":false,"ensure_ascii":true,"check_circular":true,"allow_nan":true,"#,
        r#""indent":null,"separators":[",",":"],"sort_keys":true,"strict":true}"#
    );
    let array = Representation::Array(chunk(&[1]));
    for (format, name) in NAMES {
        for configuration in ["", "{}", full] {
            create(format, name, configuration, Mode::Strict, &array).unwrap();
            for (to, other) in NAMES {
                let translated = translate(format, name, configuration, &array, to).unwrap();
                assert_eq!(translated, (Some(other), full.to_owned()));
            }
        }
        for wrong in [
            r#"{"encoding":"utf-16"}"#,
            r#"{"separators":[";",":"]}"#,
            r#"{"separators":[","]}"#,
            r#"{"separators":[",",":","x"]}"#,
            r#"{"indent":-1}"#,
            r#"{"indent":65}"#,
            r#"{"level":1}"#,
            "[]",
        ] {
            let result = create(format, name, wrong, Mode::Strict, &array);
            assert!(matches!(result, Err(CodecError::InvalidConfiguration(_))), "{wrong}: {result:?}");
        }
    }
    assert!(URI.starts_with(zarr_spec::OWN_URI_BASE));
    // NaN is always read, but only written if the parameter allows it.
    let strict = codec(r#"{"allow_nan":false}"#);
    let nan = r#"[[1,NaN],"|O",[1]]"#;
    assert_eq!(decode(&strict, &chunk(&[1]), nan.as_bytes(), 100).unwrap(), items(&["[1,NaN]"]));
    assert_eq!(encode(&codec(""), &chunk(&[1]), &items(&["[1,NaN]"])).unwrap(), nan.as_bytes());
    let error = encode(&strict, &chunk(&[1]), &items(&["[1,NaN]"])).unwrap_err();
    assert!(matches!(&error, CodecError::Encode(_)) && error.to_string().contains("/0/1"), "{error}");
}

#[test]
fn other_data_types_and_chunks_that_cannot_be_addressed_are_refused() {
    for decoded in [
        Representation::Bytes(Size::Exact(4)),
        Representation::Array(zarr_conformance::array(&[2], INT32)),
        Representation::Array(zarr_conformance::array(&[2], TEXT)),
        Representation::Array(chunk(&[1; 400])),
    ] {
        let error = create(Format::V2, "json2", "", Mode::Strict, &decoded).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
    assert_eq!(Json2::default().encoded_size(&chunk(&[3])).unwrap(), Size::Unknown);
    for shape in [&[u64::MAX, 2][..], &[1 << 40, 1 << 20, 0], &[u64::MAX]] {
        let error = Json2::default().encode(&chunk(shape), &[0; 8], &mut Output::at_most(100)).unwrap_err();
        assert!(matches!(error, CodecError::Unsupported(_)), "{error}");
    }
}

#[test]
fn elements_that_are_not_items_are_not_encoded() {
    let deep = [vec![b'['; 129], vec![b']'; 129]].concat();
    let deep = String::from_utf8(deep).unwrap();
    for wrong in [
        vec![],
        items(&["1", "2"])[..24].to_vec(),
        items(&["1", ""]),
        items(&["{", "1"]),
        items(&[&deep, "1"]),
    ] {
        let error = encode(&codec(""), &chunk(&[2]), &wrong).unwrap_err();
        assert!(matches!(error, CodecError::Encode(_)), "{error}");
    }
    let error =
        Json2::default().encode(&chunk(&[1]), &items(&["123"]), &mut Output::at_most(10)).unwrap_err();
    assert!(matches!(error, CodecError::TooLarge(_)), "{error}");
    // An item of the maximum depth.
    check_lossless(&codec(""), &chunk(&[1]), &items(&[&deep[1..257]])).unwrap();
}
