//! `zarr-kit.json`: documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_json as _;
use zarr_spec::{DataTypeError, Format, Mode, Registry};

const DRAFT: &str = r#"{"extension":"https://zarr-kit.example/spec/data-types/json/1.0","type":"json"}"#;
const ITEMS: [&str; 8] =
    ["null", "true", "0", "-1.50", "1e300", "\"a\u{e9}\\n\"", "[]", r#"{"b":[1,{"a":null}],"c":""}"#];

fn subject(format: Format, mode: Mode, json: &str, codec: Option<&str>) -> Result<Subject, DataTypeError> {
    Subject::with_object_codec(&Registry::linked().unwrap(), format, mode, json, codec)
}

#[test]
fn any_json_is_a_fill_value_in_every_format() {
    for (format, json, codec) in [
        (Format::V2, "\"|O\"", Some("json2")),
        (Format::V2, "\"|O\"", Some("msgpack2")),
        (Format::V3, "\"zarr-kit.json\"", None),
        (Format::V3Draft, DRAFT, None),
    ] {
        let json = subject(format, Mode::Strict, json, codec).unwrap();
        json.check(&Registry::linked().unwrap(), &ITEMS).unwrap();
        for item in ITEMS {
            assert_eq!(json.fill(item).unwrap(), item.as_bytes());
            assert_eq!(json.json(item.as_bytes()).unwrap(), item);
        }
        assert_eq!(json.fill(" { \"a\" : [ 1 ] } ").unwrap(), br#"{"a":[1]}"#);
        assert_eq!(json.data_type.default_fill_value().bytes(), b"null");
        assert_eq!(json.data_type.name(), "zarr-kit.json");
        assert_eq!(json.data_type.elements().size(), None);
    }
}

#[test]
fn invalid_documents_are_refused() {
    for codec in [None, Some("vlen-utf8")] {
        subject(Format::V2, Mode::Lenient, "\"|O\"", codec).unwrap_err();
    }
    for wrong in ["\"zarr-kit.json\"", "\"O/json2\"", &DRAFT.replace("\"json\"}", "\"text\"}")] {
        subject(Format::V3Draft, Mode::Lenient, wrong, None).unwrap_err();
    }
    for wrong in [r#"{"name":"zarr-kit.json","configuration":{"x":1}}"#, "\"O/json2\"", "\"json\""] {
        subject(Format::V3, Mode::Lenient, wrong, None).unwrap_err();
    }
    let document = subject(Format::V2, Mode::Strict, "\"|O\"", Some("msgpack2")).unwrap();
    let document = document.data_type.document(Format::V2, &document.order).unwrap();
    assert_eq!((&*document.identifier, document.json.as_str()), ("O/json2", Some("|O")));
}

#[test]
fn bytes_that_are_not_json_are_refused() {
    let json = subject(Format::V3, Mode::Strict, "\"zarr-kit.json\"", None).unwrap();
    let deep = [vec![b'['; 129], vec![b']'; 129]].concat();
    for wrong in [&b""[..], b"{", b"1 2", b"nul", b"\xff", b"\"a", &deep] {
        json.data_type.check(wrong).unwrap_err();
        json.json(wrong).unwrap_err();
    }
    for item in ITEMS.map(str::as_bytes).into_iter().chain([&b"NaN"[..], b"[-Infinity]", &deep[1..257]]) {
        json.data_type.check(item).unwrap();
    }
    let error = json.json(b"[1,NaN]").unwrap_err().to_string();
    assert!(error.contains("/1"), "{error}");
    assert_eq!(json.print("\"a\u{7f}\u{9b}\u{e9}\"".as_bytes()), "\"a\\u007f\\u009b\u{e9}\"");
}
