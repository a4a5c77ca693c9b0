//! Parsing documents from bytes.

use zarr_json::Limits;
use zarr_metadata::{DocumentKind, parse_json};
use zarr_spec::{Mode, Reading, Value};

use crate::support::{MODES, Outcome, read};

const KINDS: [DocumentKind; 4] =
    [DocumentKind::V2, DocumentKind::V2Attributes, DocumentKind::V2Consolidated, DocumentKind::V3];

fn parse(kind: DocumentKind, mode: Mode, bytes: &[u8]) -> Outcome<Value> {
    read(mode, |reading| parse_json(bytes, kind, reading))
}

#[track_caller]
fn refused(kind: DocumentKind, bytes: &[u8]) {
    for mode in MODES {
        assert!(parse(kind, mode, bytes).is_err(), "{mode:?}: {bytes:?}");
    }
}

/// Checks for an error in strict mode and a warning in the others.
#[track_caller]
fn tolerated(kind: DocumentKind, bytes: &[u8], word: &str) -> Value {
    assert!(parse(kind, Mode::Strict, bytes).unwrap_err().to_string().contains(word));
    let (value, warnings) = parse(kind, Mode::Lenient, bytes).unwrap();
    assert!(matches!(warnings.as_slice(), [warning] if warning.contains(word)), "{warnings:?}");
    value
}

/// Tests D3-DOC-02, D3-GRP-07, V3-KEY-09, D3-CONTRA-05.
#[test]
fn invalid_json_is_an_error() {
    assert!(
        parse(DocumentKind::V3, Mode::Strict, b"{\"attributes\":{\"spam\":\"ham\",\"eggs\":42}}").is_ok()
    );
    crate::support::refused(crate::support::v3_node, &crate::support::json("[]"), "not an object");
    for kind in KINDS {
        refused(kind, b"{\"a\":1,}");
        refused(kind, b"{\"attributes\":{\"spam\":\"ham\",\"eggs\":42,}}");
        refused(kind, b"{\"a\":1 // one\n}");
        refused(kind, b"{\"a\":/* one */1}");
        refused(kind, b"\xff\xfe{\0}\0");
        refused(kind, b"{\0}\0");
        refused(kind, b"{\"a\":\"\xff\"}");
    }
}

/// Tests D3-DOC-04.
#[test]
fn a_document_is_one_object() {
    use crate::support::{draft_array, draft_group, entry_point, json, refused, v3_node};
    for text in ["[]", "\"x\"", "null"] {
        refused(entry_point, &json(text), "not an object");
        refused(draft_array, &json(text), "not an object");
        refused(draft_group, &json(text), "not an object");
        refused(v3_node, &json(text), "not an object");
    }
    for kind in KINDS {
        assert!(parse(kind, Mode::Strict, b" {} ").is_ok());
        super::text::refused(kind, b"");
        super::text::refused(kind, b"{}{}");
    }
}

/// Tests D3-DOC-06.
#[test]
fn the_last_duplicate_member_is_used_except_in_strict_mode() {
    let value = tolerated(DocumentKind::V3, b"{\"shape\":[1],\"shape\":[2]}", "/shape occurs twice");
    assert_eq!(value, crate::support::json("{\"shape\":[2]}"));
}

/// Tests V2-ARR-21.
#[test]
fn duplicate_members_of_a_zarray_are_errors_in_every_mode() {
    assert!(parse(DocumentKind::V2, Mode::Strict, crate::support::ZA.as_bytes()).is_ok());
    refused(DocumentKind::V2, b"{\"shape\":[1],\"shape\":[2]}");
    refused(DocumentKind::V2, b"{\"shape\":[1],}");
    refused(DocumentKind::V2, b"{\"shape\":[1] /* one */}");
}

/// Tests D3-DOC-07.
#[test]
fn bare_non_finite_tokens_are_allowed_only_in_attributes() {
    let document = b"{\"attributes\":{\"a\":NaN,\"b\":[-Infinity,Infinity]}}";
    tolerated(DocumentKind::V3, document, "NaN");
    refused(DocumentKind::V3, b"{\"fill_value\":NaN,\"attributes\":{}}");
    refused(DocumentKind::V3, b"{\"extensions\":[{\"attributes\":NaN}]}");
    let nested = b"{\"consolidated_metadata\":{\"metadata\":{\"a\":{\"attributes\":{\"a\":NaN}}}}}";
    tolerated(DocumentKind::V3, nested, "NaN");
    refused(DocumentKind::V3, b"{\"consolidated_metadata\":{\"metadata\":{\"a\":{\"fill_value\":NaN}}}}");
    let value = parse(DocumentKind::V3, Mode::Lenient, document).unwrap().0;
    assert!(zarr_json::to_vec(&value).is_err(), "they are never written");
}

/// Tests V2-ARR-22.
#[test]
fn bare_non_finite_tokens_are_allowed_in_zattrs_and_consolidated_metadata() {
    tolerated(DocumentKind::V2Attributes, b"{\"n\":NaN}", "NaN");
    tolerated(DocumentKind::V2Consolidated, b"{\"metadata\":{\"foo/bar/.zattrs\":{\"n\":NaN}}}", "NaN");
    tolerated(DocumentKind::V2Consolidated, b"{\"metadata\":{\".zattrs\":{\"n\":Infinity}}}", "Infinity");
    refused(DocumentKind::V2Consolidated, b"{\"metadata\":{\".zarray\":{\"fill_value\":NaN}}}");
    refused(DocumentKind::V2Consolidated, b"{\"other\":NaN}");
    refused(DocumentKind::V2, b"{\"fill_value\":NaN}");
    let value = parse(DocumentKind::V2Attributes, Mode::Lenient, b"{\"n\":NaN}").unwrap().0;
    assert!(zarr_json::to_vec(&value).is_err(), "they are never written");
}

/// Tests D3-DOC-08.
#[test]
fn a_byte_order_mark_is_ignored() {
    for kind in KINDS {
        for mode in MODES {
            let (value, _) = parse(kind, mode, b"\xef\xbb\xbf{\"a\":1}").unwrap();
            assert_eq!(value, crate::support::json("{\"a\":1}"));
            assert_eq!(zarr_json::to_vec(&value).unwrap(), b"{\"a\":1}");
        }
    }
}

#[test]
fn the_size_of_documents_is_limited() {
    let padded = |size: usize| {
        let mut document = b"{}".to_vec();
        document.resize(size, b' ');
        document
    };
    let read = |document: &[u8], limit| {
        let reading = Reading::new(Mode::Strict).with_document_size(limit);
        parse_json(document, DocumentKind::V3, &reading)
    };
    assert!(read(&padded(10), 10).is_ok());
    assert!(read(&padded(11), 10).unwrap_err().to_string().contains("11 bytes"));
    let default = Limits::default().bytes;
    assert_eq!(Reading::default().document_size(), default);
    assert!(read(&padded(default + 1), default).is_err());
    assert!(read(&padded(default + 1), default + 1).is_ok());
}
