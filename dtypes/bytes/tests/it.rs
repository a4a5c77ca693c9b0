//! `bytes`: documents and fill values.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use zarr_conformance::data_types::Subject;
use zarr_dtype_bytes as _;
use zarr_spec::{DataTypeError, Format, Mode, Registry};

const DRAFT: &str = r#"{"extension":"https://zarr-kit.example/spec/data-types/bytes/1.0","type":"bytes"}"#;

fn subject(format: Format, json: &str) -> Result<Subject, DataTypeError> {
    Subject::with_object_codec(&Registry::linked().unwrap(), format, Mode::Strict, json, Some("vlen-bytes"))
}

/// Tests EX-TYPE-07.
#[test]
fn a_fill_value_of_v3_is_a_list_or_base64() {
    let bytes = subject(Format::V3, "\"bytes\"").unwrap();
    bytes.check(&Registry::linked().unwrap(), &["[1,2,3]", "\"AQID\"", "\"\"", "[]", "[255]"]).unwrap();
    assert_eq!(bytes.fill("[1,2,3]").unwrap(), [1, 2, 3]);
    assert_eq!(bytes.fill("\"AQID\"").unwrap(), [1, 2, 3]);
    assert_eq!(bytes.fill("\"\"").unwrap(), bytes.fill("[]").unwrap());
    for wrong in ["[256]", "[-1]", "[1.0]", "256", "\"AQI\"", "\"a b!\"", "\"-_-_\"", "null", "0"] {
        assert!(matches!(bytes.fill(wrong), Err(DataTypeError::FillValue(_))), "{wrong}");
    }
    assert_eq!(bytes.print(&[0xab, 1]), "ab01");
}

/// Tests EX-TYPE-08.
#[test]
fn aliases_are_read_and_not_written() {
    for alias in ["variable_length_bytes", "binary", "bytes"] {
        let bytes = subject(Format::V3, &format!("\"{alias}\"")).unwrap();
        let document = bytes.data_type.document(Format::V3, &bytes.order).unwrap();
        assert_eq!(document.json.as_str(), Some("bytes"));
        subject(Format::V3Draft, &format!("\"{alias}\"")).unwrap_err();
    }
    subject(Format::V3, r#"{"name":"bytes","configuration":{"length":1}}"#).unwrap_err();
}

#[test]
fn v2_has_objects_with_a_codec() {
    let bytes = subject(Format::V2, "\"|O\"").unwrap();
    bytes.check(&Registry::linked().unwrap(), &["0", "\"\"", "\"YWJj\""]).unwrap();
    assert_eq!(bytes.fill("0").unwrap(), b"");
    assert_eq!(bytes.fill("\"YWJj\"").unwrap(), b"abc");
    for wrong in ["1", "[1]", "\"ab!\""] {
        bytes.fill(wrong).unwrap_err();
    }
}

#[test]
fn the_draft_has_bytes_only_as_an_extension() {
    let bytes = subject(Format::V3Draft, DRAFT).unwrap();
    bytes.check(&Registry::linked().unwrap(), &["\"YWJj\"", "[0,255]"]).unwrap();
    bytes.fill("0").unwrap_err();
    subject(Format::V3Draft, &DRAFT.replace("\"bytes\"}", "5}")).unwrap_err();
}
