//! Documents in the form that zarr-python 2.18 writes with its experimental version 3.

use zarr_spec::Value;
use zarr_spec::extension::ExtensionDocument;

use crate::support::{ARR, accepted, draft_array, json, older_array, refused, tolerated, with, without};

/// The array document in the ledger of requirements.
const OLDER: &str = r#"{"attributes":{"x":1},"chunk_grid":{"chunk_shape":[2,2],"separator":"/","type":"regular"},
    "chunk_memory_layout":"C","compressor":{"codec":"https://purl.org/zarr/spec/codec/gzip/1.0",
    "configuration":{"level":1}},"data_type":"<i2","extensions":[],"fill_value":0,"shape":[3,4]}"#;

/// Tests DX-A-09, DX-URI-07.
#[test]
fn the_document_of_the_ledger_opens() {
    let array = accepted(older_array, &json(OLDER));
    assert_eq!(array.shape, [3, 4]);
    assert_eq!(array.attributes, *json(r#"{"x":1}"#).as_object().unwrap());
    let gzip = ExtensionDocument::new("https://purl.org/zarr/spec/codec/gzip/1.0", json(r#"{"level":1}"#));
    assert_eq!(array.codecs, [gzip]);
    assert!(accepted(older_array, &without(OLDER, "compressor")).codecs.is_empty());
    refused(draft_array, &json(OLDER), "`compressor`");
    let newer = r#"{"type":"https://purl.org/zarr/spec/codec/gzip/1.0"}"#;
    refused(older_array, &with(OLDER, &[("compressor", newer)]), "`compressor.codec`");
}

/// Tests DX-A-10.
#[test]
fn an_additional_separator_must_agree() {
    let grid = r#"{"chunk_shape":[2,2],"separator":".","type":"regular"}"#;
    let document = |extra: &str| with(OLDER, &[("chunk_grid", grid), ("dimension_separator", extra)]);
    let array = accepted(older_array, &document("\".\""));
    assert_eq!(array.chunk_key_encoding, ExtensionDocument::new("default", json(r#"{"separator":"."}"#)));
    refused(older_array, &document("\"/\""), "`dimension_separator`");
}

/// Tests DX-A-11, DX-A-12.
#[test]
fn unknown_members_are_errors_and_missing_extensions_are_empty() {
    refused(older_array, &with(OLDER, &[("codecs", "[]")]), "`codecs`: unknown member");
    refused(older_array, &with(OLDER, &[("foo", "1")]), "`foo`: unknown member");
    assert!(accepted(older_array, &without(OLDER, "extensions")).extensions.is_empty());
    let array = tolerated(older_array, &without(OLDER, "attributes"), "`attributes`: is missing");
    assert!(array.attributes.is_empty());
}

/// Tests DX-A-14.
#[test]
fn filters_are_read_from_the_attributes() {
    let attributes = r#"{"filters":[{"astype":"<i4","dtype":"<i4","id":"delta"}],"x":1}"#;
    let array = accepted(older_array, &with(OLDER, &[("attributes", attributes)]));
    let delta = ExtensionDocument::new("delta", json(r#"{"astype":"<i4","dtype":"<i4"}"#));
    assert_eq!(array.codecs[0], delta);
    assert_eq!(array.codecs[1].identifier, "https://purl.org/zarr/spec/codec/gzip/1.0");
    assert_eq!(array.attributes.keys().collect::<Vec<_>>(), ["x"]);
    refused(
        older_array,
        &with(OLDER, &[("attributes", r#"{"filters":[{}]}"#)]),
        "`attributes.filters[0].id`",
    );

    let array = accepted(draft_array, &with(ARR, &[("attributes", attributes)]));
    assert!(array.codecs.is_empty());
    assert!(array.attributes.contains("filters"));
}

#[test]
fn an_undefined_fill_value_is_accepted() {
    let array = accepted(older_array, &with(OLDER, &[("fill_value", "null")]));
    assert!(array.fill_value.is_null());
}

/// The object codec is the first of the filters in the attributes (DX-A-18).
#[test]
fn the_first_hidden_filter_determines_the_type_of_objects() {
    let data_type = r#"{"extension":"TODO: object array protocol URL","type":"|O","fallback":null}"#;
    let attributes = r#"{"filters":[{"id":"vlen-utf8"}]}"#;
    let document = with(OLDER, &[("data_type", data_type), ("attributes", attributes)]);
    let array = tolerated(older_array, &document, "URI");
    assert_eq!(array.data_type.identifier, "O/vlen-utf8");
    assert_eq!(array.codecs[0], ExtensionDocument::new("vlen-utf8", Value::Object(Default::default())));
}
