//! Data types of fixed length: elements, documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_conformance::hex;
use zarr_dtype_fixed_length as _;
use zarr_spec::{ByteOrder, DataTypeError, Format, Mode, Registry};

const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/string/1.0";

fn subject(format: Format, mode: Mode, json: &str) -> Result<Subject, DataTypeError> {
    Subject::new(&Registry::linked().unwrap(), format, mode, json)
}

fn v2(mode: Mode, dtype: &str) -> Subject {
    subject(Format::V2, mode, &format!("\"{dtype}\"")).unwrap()
}

fn v3(name: &str, length: &str) -> Result<Subject, DataTypeError> {
    let json = format!(r#"{{"name":"{name}","configuration":{{"length_bytes":{length}}}}}"#);
    subject(Format::V3, Mode::Strict, &json)
}

fn draft(mode: Mode, uri: &str, type_name: &str) -> Result<Subject, DataTypeError> {
    subject(Format::V3Draft, mode, &format!(r#"{{"extension":"{uri}","type":{type_name},"fallback":null}}"#))
}

fn refuses(subject: &Subject, fills: &[&str]) {
    for fill in fills {
        let result = subject.fill(fill);
        assert!(matches!(result, Err(DataTypeError::FillValue(_))), "{fill}: {result:?}");
    }
}

/// Returns the bytes of a fill value in the byte order of the type, and the number of warnings.
fn stored(subject: &Subject, fill: &str) -> (Vec<u8>, usize) {
    let (element, warnings) = subject.fill_and_warnings(fill).unwrap();
    (subject.stored(&element, &subject.order), warnings.len())
}

/// Tests V2-DT-18, V2-DT-20, V2-DT-21.
#[test]
fn elements_of_v2_are_padded_with_zeros() {
    assert_eq!(stored(&v2(Mode::Strict, "|S3"), "\"eA==\"").0, hex("780000"));
    let text = v2(Mode::Strict, "<U3");
    assert_eq!(text.data_type.elements().size(), Some(12));
    assert_eq!(stored(&text, "\"yz\"").0, hex("79000000 7a000000 00000000"));
    assert_eq!(stored(&v2(Mode::Strict, ">U2"), "\"x\"").0, hex("00000078 00000000"));
    let raw = v2(Mode::Lenient, "|V3");
    assert_eq!(stored(&raw, "\"ZGU=\""), (hex("646500"), 1));
    assert_eq!(v2(Mode::Strict, ">U2").order, ByteOrder::Big);
}

/// Tests V2-DT-22.
#[test]
fn only_v2_allows_empty_elements() {
    for dtype in ["|S0", "<U0", "|V0"] {
        let empty = v2(Mode::Strict, dtype);
        assert_eq!(empty.data_type.elements().size(), Some(0));
        empty.check(&Registry::linked().unwrap(), &["\"\""]).unwrap();
        for format in [Format::V3, Format::V3Draft] {
            let error = empty.data_type.document(format, &empty.order).unwrap_err();
            assert!(matches!(error, DataTypeError::NotInFormat { .. }));
        }
    }
}

/// Tests V2-FILL-06, V2-FILL-07, V2-FILL-08.
#[test]
fn fill_values_of_bytes_are_base64() {
    let bytes = v2(Mode::Lenient, "|S3");
    bytes.check(&Registry::linked().unwrap(), &["\"YWI=\"", "\"\"", "\"YWJj\""]).unwrap();
    assert_eq!(stored(&bytes, "\"YWI=\""), (b"ab\0".to_vec(), 0));
    assert_eq!(stored(&bytes, "\"YWIA\""), (b"ab\0".to_vec(), 0));
    assert_eq!(stored(&bytes, "\"YWJjZGVm\""), (b"abc".to_vec(), 1));
    assert_eq!(stored(&bytes, "\"\""), (b"\0\0\0".to_vec(), 0));
    assert_eq!(stored(&bytes, "0"), (b"\0\0\0".to_vec(), 1));
    assert_eq!(bytes.json(b"ab\0").unwrap(), "\"YWI=\"");
    let strict = v2(Mode::Strict, "|S3");
    refuses(&strict, &["\"_-_-\"", "\"ab!\"", "0", "\"YWI\"", "\"YWJjZGVm\"", "null"]);
    refuses(&bytes, &["\"_-_-\"", "\"ab!\"", "1"]);
}

/// Tests V2-FILL-11, V2-FILL-12, V2-FILL-13, V2-DT-19, V2-CONTRA-02.
#[test]
fn fill_values_of_raw_bytes_and_text() {
    let raw = v2(Mode::Lenient, "|V3");
    raw.check(&Registry::linked().unwrap(), &["\"YWJj\"", "\"\""]).unwrap();
    assert_eq!(stored(&raw, "\"YWJj\""), (b"abc".to_vec(), 0));
    assert_eq!(stored(&raw, "\"\""), (vec![0; 3], 0));
    assert_eq!(stored(&raw, "0"), (vec![0; 3], 1));
    refuses(&v2(Mode::Strict, "|V3"), &["0", "\"YQ==\"", "\"YWJjZA==\"", "[1,2,3]"]);
    let text = v2(Mode::Lenient, "<U3");
    text.check(&Registry::linked().unwrap(), &["\"a\u{e9}\"", "\"\"", "\"\u{1f600}\""]).unwrap();
    assert_eq!(text.json(&text.fill("\"a\u{e9}\"").unwrap()).unwrap(), "\"a\u{e9}\"");
    let (cut, warnings) = text.fill_and_warnings("\"abcdef\"").unwrap();
    assert_eq!((cut, warnings.len()), (text.fill("\"abc\"").unwrap(), 1));
    assert_eq!(stored(&text, "0"), (vec![0; 12], 1));
    refuses(&text, &["5", "true", "1.5"]);
    refuses(&v2(Mode::Strict, "<U3"), &["\"abcdef\"", "0"]);
    assert_eq!(v2(Mode::Strict, "|S3").print(b"a\xff\0"), "a\\xff");
}

/// Tests EX-TYPE-09, EX-TYPE-10.
#[test]
fn text_of_v3_has_code_points_of_four_bytes() {
    let text = v3("fixed_length_utf32", "12").unwrap();
    text.check(&Registry::linked().unwrap(), &["\"foo\"", "\"\"", "\"Hi\""]).unwrap();
    let element = text.fill("\"Hi\"").unwrap();
    assert_eq!(text.stored(&element, &ByteOrder::Little), hex("48000000 69000000 00000000"));
    assert_eq!(text.stored(&element, &ByteOrder::Big), hex("00000048 00000069 00000000"));
    assert_eq!(
        v2(Mode::Strict, "<U12").data_type.name(),
        v3("fixed_length_utf32", "48").unwrap().data_type.name()
    );
    text.fill("\"ab\u{1f600}\"").unwrap();
    assert_eq!(text.fill("\"abc\\u0000\"").unwrap(), text.fill("\"abc\"").unwrap());
    refuses(&text, &["\"abcd\"", "0", "null", "[97]"]);
    for length in ["0", "6", "-4", "4.0", "\"4\"", "99999999999999999999", "4294967296"] {
        v3("fixed_length_utf32", length).unwrap_err();
    }
    subject(Format::V3, Mode::Lenient, "\"fixed_length_utf32\"").unwrap_err();
    for surrogate in [0xd800u32, 0xdfff, 0x11_0000, u32::MAX] {
        let mut bad = element.clone();
        bad[..4].copy_from_slice(&surrogate.to_ne_bytes());
        text.data_type.check(&bad).unwrap_err();
        text.data_type.check(&[&element[..], &bad].concat()).unwrap_err();
        text.json(&bad).unwrap_err();
        assert_eq!(text.print(&bad).len(), 24);
    }
}

/// Tests EX-TYPE-11, EX-TYPE-12.
#[test]
fn zarr_pythons_names_are_read_and_written() {
    let bytes = v3("null_terminated_bytes", "3").unwrap();
    bytes.check(&Registry::linked().unwrap(), &["\"YWI=\"", "\"\""]).unwrap();
    assert_eq!(bytes.fill("\"YWI=\"").unwrap(), b"ab\0");
    refuses(&bytes, &["\"YWJjZA==\"", "0", "\"a\""]);
    let raw = v3("raw_bytes", "3").unwrap();
    raw.check(&Registry::linked().unwrap(), &["\"YWJj\""]).unwrap();
    assert_eq!(raw.fill("\"YWJj\"").unwrap(), b"abc");
    refuses(&raw, &["\"YWI=\"", "\"\"", "[97,98,99]"]);
    let json = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;
    let lenient = subject(Format::V3, Mode::Lenient, json).unwrap();
    assert_eq!(lenient.fill_and_warnings("[97,98,99]").unwrap().1.len(), 1);
    for name in ["null_terminated_bytes", "raw_bytes"] {
        v3(name, "0").unwrap_err();
        subject(Format::V3, Mode::Lenient, &format!(r#"{{"name":"{name}","configuration":{{"x":3}}}}"#))
            .unwrap_err();
    }
}

/// Tests DX-DT-08, DX-DT-09.
#[test]
fn the_draft_has_bytes_and_text_in_one_extension() {
    let bytes = draft(Mode::Strict, URI, "\"S4\"").unwrap();
    assert_eq!(bytes.fill("\"YQ==\"").unwrap(), hex("61000000"));
    assert_eq!(bytes.fill("\"ZWZnaA==\"").unwrap(), b"efgh");
    bytes.check(&Registry::linked().unwrap(), &["\"YQ==\""]).unwrap();
    for (type_name, name, order) in [
        ("\"S3\"", "null_terminated_bytes[3]", ByteOrder::Little),
        ("\"|S3\"", "null_terminated_bytes[3]", ByteOrder::Little),
        ("\"<U3\"", "fixed_length_utf32[12]", ByteOrder::Little),
        ("\">U3\"", "fixed_length_utf32[12]", ByteOrder::Big),
    ] {
        let created = draft(Mode::Strict, URI, type_name).unwrap();
        assert_eq!((&*created.data_type.name(), &created.order), (name, &order));
        created.check(&Registry::linked().unwrap(), &["\"\""]).unwrap();
    }
    for wrong in
        ["\"S\"", "\"S0\"", "\"U3\"", "\"<U0\"", "\"|U3\"", "\"<S3\"", "\"V3\"", "5", "\"Sx\"", "\"<f8\""]
    {
        draft(Mode::Lenient, URI, wrong).unwrap_err();
    }
    for name in ["S", "U", "V", "fixed_length_utf32", "raw_bytes"] {
        subject(Format::V3Draft, Mode::Lenient, &format!("\"{name}\"")).unwrap_err();
    }
}

/// Tests DX-DT-13, D3-DTX-06.
#[test]
fn the_draft_is_written_with_raw_bits_as_fallback() {
    for (dtype, json) in [
        ("|S3", format!(r#"{{"extension":"{URI}","type":"S3","fallback":["r24"]}}"#)),
        ("<U3", format!(r#"{{"extension":"{URI}","type":"<U3","fallback":["r96"]}}"#)),
        ("|V3", "\"r24\"".to_owned()),
    ] {
        let created = v2(Mode::Strict, dtype);
        let document = created.data_type.document(Format::V3Draft, &created.order).unwrap();
        assert_eq!(document.json.to_string(), json);
    }
    let raw = v2(Mode::Strict, "|V3");
    assert_eq!(
        raw.data_type.fill_value_json(&[0, 1, 0xff], Format::V3Draft, &raw.order).unwrap().as_str(),
        Some("0x0001ff")
    );
}

#[test]
fn pseudo_uris_of_the_first_generation_are_tolerated() {
    for (uri, type_name, name) in [
        ("TODO: bytestring array protocol URL", "\"|S3\"", "null_terminated_bytes[3]"),
        ("TODO: unicode array protocol URL", "\"<U2\"", "fixed_length_utf32[8]"),
    ] {
        draft(Mode::Strict, uri, type_name).unwrap_err();
        let created = draft(Mode::Lenient, uri, type_name).unwrap();
        assert_eq!(created.data_type.name(), name);
        assert_eq!(created.warnings.len(), 1);
    }
}

#[test]
fn excessive_sizes_are_refused() {
    for dtype in
        ["|S99999999999", "<U18446744073709551615", "<U4611686018427387904", "|V99999999999999999999999"]
    {
        subject(Format::V2, Mode::Lenient, &format!("\"{dtype}\"")).unwrap_err();
    }
    v3("raw_bytes", "18446744073709551615").unwrap_err();
}
