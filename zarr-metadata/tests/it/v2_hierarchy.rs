//! Keys, groups, attributes and consolidated metadata of v2.

use zarr_metadata::v2::{self, KeyKind};
use zarr_metadata::{DocumentError, DocumentKind, parse_json};
use zarr_spec::{Format, Key, Mode, NodePath, Value};

use crate::support::{ZA, accepted, json, read, refused, tolerated, v2_array, v2_group, warned};

fn path(text: &str) -> NodePath {
    NodePath::parse(text, Format::V2).unwrap()
}

/// Tests V2-HIER-01, V2-HIER-06.
#[test]
fn keys_are_the_path_and_the_name_of_the_document() {
    let key = |key: Result<Key, _>| key.unwrap().to_string();
    assert_eq!(key(v2::array_key(&path("foo/bar"))), "foo/bar/.zarray");
    assert_eq!(key(v2::attributes_key(&path("foo/bar"))), "foo/bar/.zattrs");
    assert_eq!(key(v2::group_key(&path("foo/bar"))), "foo/bar/.zgroup");
    assert_eq!(v2::prefix(&path("foo/bar")).unwrap().key("0.0").unwrap().as_str(), "foo/bar/0.0");
    for root in ["", "/", "//"] {
        assert_eq!(key(v2::array_key(&path(root))), ".zarray", "without a leading slash");
        assert_eq!(key(v2::group_key(&path(root))), ".zgroup");
        assert_eq!(key(v2::consolidated_key(&path(root))), ".zmetadata");
        assert_eq!(v2::prefix(&path(root)).unwrap().as_str(), "");
    }
}

#[test]
fn documents_are_not_children() {
    let node = |key: &str| v2::node_of(&Key::new(key).unwrap());
    assert_eq!(node(".zgroup"), Some((path("/"), KeyKind::Group)));
    assert_eq!(node("foo/bar/.zarray"), Some((path("foo/bar"), KeyKind::Array)));
    assert_eq!(node("foo/.zattrs"), Some((path("foo"), KeyKind::Attributes)));
    for key in [".zmetadata", "foo/0.0", "foo/.zarray/0", "zarray"] {
        assert_eq!(node(key), None, "{key}");
    }
}

/// Tests V2-HIER-09, V2-HIER-10, V2-HIER-11, V2-CONTRA-01.
#[test]
fn a_group_document_contains_only_the_version() {
    let group = accepted(v2_group, &json(r#"{"zarr_format":2}"#));
    assert_eq!(v2::group_document(&group).unwrap(), json(r#"{"zarr_format":2}"#));
    refused(v2_group, &json("{}"), "`zarr_format`: is missing");
    for version in ["3", "\"2\""] {
        refused(v2_group, &json(&format!(r#"{{"zarr_format":{version}}}"#)), "`zarr_format`");
    }
    assert_eq!(tolerated(v2_group, &json(r#"{"zarr_format":2,"foo":1}"#), "`foo`"), group);
}

/// Tests V2-HIER-19, V2-HIER-20, V2-HIER-21, V2-HIER-22.
#[test]
fn attributes_are_an_object_in_a_separate_document() {
    let attributes = json(r#"{"foo":42,"bar":"apples","baz":[1,2,3,4],"deep":{"er":[null,{"a":null}]}}"#);
    let zarray = json(ZA);
    let zgroup = json(r#"{"zarr_format":2}"#);
    let parse = |attributes: Option<&Value>| {
        let (array, _) = read(Mode::Strict, |reading| v2::parse_array(&zarray, attributes, reading))?;
        let (group, _) = read(Mode::Strict, |reading| v2::parse_group(&zgroup, attributes, reading))?;
        assert_eq!(array.attributes, group.attributes);
        Ok::<_, DocumentError>(group.attributes)
    };
    assert_eq!(v2::attributes_document(&parse(Some(&attributes)).unwrap()), attributes);
    assert!(parse(None).unwrap().is_empty());
    assert!(parse(Some(&json("{}"))).unwrap().is_empty());
    assert_eq!(parse(Some(&json("[]"))).unwrap_err().member.as_deref(), Some("attributes"));
}

fn consolidated(mode: Mode, document: &Value) -> crate::support::Outcome<v2::Consolidated> {
    read(mode, |reading| v2::parse_consolidated(document, reading))
}

/// Tests V2-CONS-01, V2-CONS-02, V2-CONS-07.
#[test]
fn consolidated_metadata_maps_keys_to_documents() {
    let text = format!(
        r#"{{"metadata":{{".zgroup":{{"zarr_format":2}},"a/.zarray":{ZA},"a/.zattrs":{{"n":1}}}},
            "zarr_consolidated_format":1}}"#
    );
    let parsed = accepted(consolidated, &json(&text));
    let keys: Vec<_> = parsed.documents.keys().map(Key::as_str).collect();
    assert_eq!(keys, [".zgroup", "a/.zarray", "a/.zattrs"]);
    let array = &parsed.documents[&Key::new("a/.zarray").unwrap()];
    accepted(v2_array, array);
    assert_eq!(v2::consolidated_document(&parsed).unwrap(), json(&text));

    let foreign = br#"{"metadata":{"foo/bar/.zattrs":{"n":NaN}},"zarr_consolidated_format":1}"#;
    let kind = DocumentKind::V2Consolidated;
    let (foreign, _) = read(Mode::Lenient, |reading| parse_json(foreign, kind, reading)).unwrap();
    let attributes = &accepted(consolidated, &foreign).documents[&Key::new("foo/bar/.zattrs").unwrap()];
    assert_eq!(attributes.find_non_finite().as_deref(), Some("/n"));

    let others = text.replace("\".zgroup\":", "\".zmetadata\":{},\"a/0\":{},\"/x/.zgroup\":{},\".zgroup\":");
    assert_eq!(warned(consolidated, &json(&others), "`a/0`"), parsed);
    let mut parsed = parsed;
    parsed.documents.insert(Key::new("a/0").unwrap(), json("{}"));
    assert!(v2::consolidated_document(&parsed).is_err());

    let format = |value: &str| json(&format!(r#"{{"metadata":{{}},"zarr_consolidated_format":{value}}}"#));
    refused(consolidated, &format("2"), "`zarr_consolidated_format`: is 2");
    refused(consolidated, &json(r#"{"metadata":{}}"#), "`zarr_consolidated_format`: is missing");
    refused(consolidated, &json(r#"{"metadata":[],"zarr_consolidated_format":1}"#), "`metadata`");
}

/// Tests V2-CONS-06.
#[test]
fn consolidated_metadata_inside_groups_are_ignored() {
    let document = json(
        r#"{"zarr_consolidated_format":1,"metadata":{"g/.zgroup":{"zarr_format":2,
            "consolidated_metadata":{"metadata":{},"must_understand":false,"kind":"inline"}}}}"#,
    );
    let parsed = accepted(consolidated, &document);
    accepted(v2_group, &parsed.documents[&Key::new("g/.zgroup").unwrap()]);
}
