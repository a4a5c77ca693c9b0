//! `string`: documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_string as _;
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::{DataTypeError, Format, Mode, Reading, Registry};

const DRAFT: &str = r#"{"extension":"https://zarr-kit.example/spec/data-types/string/1.0","type":"string"}"#;

fn subject(format: Format, mode: Mode, json: &str) -> Result<Subject, DataTypeError> {
    Subject::new(&Registry::linked().unwrap(), format, mode, json)
}

/// Tests EX-TYPE-06.
#[test]
fn a_fill_value_of_v3_is_a_json_string() {
    let string = subject(Format::V3, Mode::Strict, "\"string\"").unwrap();
    string.check(&Registry::linked().unwrap(), &["\"\"", "\"foo\"", "\"h\u{e9}\\u0000\u{1f600}\""]).unwrap();
    assert_eq!(string.fill("\"foo\"").unwrap(), b"foo");
    assert_eq!(string.fill("\"\"").unwrap(), b"");
    assert_eq!(string.data_type.elements().size(), None);
    for wrong in ["0", "null", "[\"foo\"]", "true"] {
        assert!(matches!(string.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
}

/// Tests V2-FILL-22, V2-OBJ-01, V2-OBJ-11.
#[test]
fn v2_has_objects_with_a_codec_and_0_is_the_empty_text() {
    let registry = Registry::linked().unwrap();
    let string = subject(Format::V2, Mode::Strict, "\"|O\"").unwrap();
    string.check(&registry, &["0", "\"\"", "\"0\"", "\"text\""]).unwrap();
    assert_eq!(string.fill("0").unwrap(), b"");
    assert_eq!(string.fill("\"0\"").unwrap(), b"0");
    assert_eq!(string.json(b"").unwrap(), "\"\"");
    for wrong in ["1", "false", "[]"] {
        assert!(string.fill(wrong).is_err());
    }
    let document = string.data_type.document(Format::V2, &string.order).unwrap();
    assert_eq!((&*document.identifier, document.json.as_str()), ("O/vlen-utf8", Some("|O")));
    let labels =
        Subject::with_object_codec(&registry, Format::V2, Mode::Strict, "\"|O\"", Some("categorize"))
            .unwrap();
    assert_eq!(labels.data_type.name(), "string");
    subject(Format::V2, Mode::Lenient, "\"str\"").unwrap_err();
    for codec in [None, Some("pickle")] {
        Subject::with_object_codec(&registry, Format::V2, Mode::Lenient, "\"|O\"", codec).unwrap_err();
    }
}

/// Tests D3-DT-23.
#[test]
fn the_draft_has_text_only_as_an_extension() {
    let string = subject(Format::V3Draft, Mode::Strict, DRAFT).unwrap();
    string.check(&Registry::linked().unwrap(), &["\"\"", "\"foo\""]).unwrap();
    string.fill("0").unwrap_err();
    let lenient = subject(Format::V3Draft, Mode::Lenient, DRAFT).unwrap();
    assert_eq!(lenient.fill_and_warnings("0").unwrap().1.len(), 1);
    for wrong in ["\"string\"", "\"O/vlen-utf8\"", &DRAFT.replace("\"string\"}", "\"text\"}")] {
        subject(Format::V3Draft, Mode::Lenient, wrong).unwrap_err();
    }
}

/// Tests DX-DT-12.
#[test]
fn objects_are_read_only_from_the_first_generation_of_the_draft() {
    let json = [("extension", "TODO: object array protocol URL"), ("type", "|O")].into_iter().collect();
    DataTypeDocument::draft(&json, &Reading::new(Mode::Strict)).unwrap_err();
    let reading = Reading::new(Mode::Lenient);
    let document = DataTypeDocument::draft(&json, &reading).unwrap();
    assert_eq!(reading.take_warnings().len(), 1);
    let registry = Registry::linked().unwrap();
    registry.data_type(Format::V3Draft, &document, &reading).unwrap_err();
    let document = document.with_object_codec("vlen-utf8");
    let (data_type, _) = registry.data_type(Format::V3Draft, &document, &reading).unwrap();
    assert_eq!(data_type.name(), "string");
    subject(Format::V3Draft, Mode::Lenient, "\"|O\"").unwrap_err();
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    let string = subject(Format::V3, Mode::Strict, "\"string\"").unwrap();
    string.data_type.check(b"\xff").unwrap_err();
    string.json(b"\xff").unwrap_err();
    string.data_type.check("\u{1f600}".as_bytes()).unwrap();
    assert_eq!(string.print("a\u{1b}[0m\u{e9}".as_bytes()), "a\\u{1b}[0m\u{e9}");
    subject(Format::V3, Mode::Lenient, r#"{"name":"string","configuration":{"x":1}}"#).unwrap_err();
}
