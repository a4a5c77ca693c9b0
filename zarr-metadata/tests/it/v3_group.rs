//! Group documents of final v3.

use zarr_metadata::{GroupMetadata, v3};
use zarr_spec::{Format, Object};

use crate::support::{AR, GR, accepted, json, refused, tolerated, v3_group, v3_node, warned, with, without};

/// Tests V3-GRP-01, V3-GRP-02.
#[test]
fn a_group_specifies_version_and_kind() {
    let group = accepted(v3_group, &json(GR));
    assert_eq!(group, GroupMetadata::new(Format::V3, Object::new()));
    assert_eq!(
        v3::group_document(&group).unwrap(),
        json(r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#)
    );
    for member in ["zarr_format", "node_type"] {
        refused(v3_node, &without(GR, member), &format!("`{member}`: is missing"));
    }
    refused(v3_node, &with(GR, &[("zarr_format", "2")]), "`zarr_format`");
    refused(v3_node, &with(GR, &[("node_type", "\"Group\"")]), "`node_type`");
    let document = with(GR, &[("attributes", r#"{"spam":"ham","eggs":42}"#)]);
    assert_eq!(v3::group_document(&accepted(v3_group, &document)).unwrap(), document);
    refused(v3_node, &with(GR, &[("attributes", "[]")]), "`attributes`");
}

/// Tests V3-GRP-03.
#[test]
fn ignorable_members_of_groups_are_preserved() {
    let document = with(GR, &[("attributes", "{}"), ("foo", r#"{"must_understand":false}"#)]);
    assert_eq!(v3::group_document(&accepted(v3_group, &document)).unwrap(), document);
    refused(v3_node, &with(GR, &[("foo", "1")]), "`foo`: unknown member");
}

fn consolidated(metadata: &str) -> String {
    format!(r#"{{"must_understand":false,"kind":"inline","metadata":{metadata}}}"#)
}

/// Tests V3-GRP-04, V3-GRP-05.
#[test]
fn consolidated_metadata_maps_paths_to_documents() {
    let nodes = format!(r#"{{"a":{GR},"a/b":{GR},"c":{AR}}}"#);
    let document = with(GR, &[("attributes", "{}"), ("consolidated_metadata", &consolidated(&nodes))]);
    let group = accepted(v3_group, &document);
    let nodes = group.consolidated.as_ref().unwrap();
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["a", "a/b", "c"]);
    accepted(v3_node, nodes.get("c").unwrap());
    assert_eq!(v3::group_document(&group).unwrap(), document);

    let member = |value: &str| with(GR, &[("consolidated_metadata", value)]);
    let other_kind = consolidated("{}").replace("inline", "else");
    refused(v3_node, &member(&other_kind), "`consolidated_metadata.kind`");
    refused(v3_node, &member("[]"), "`consolidated_metadata`: is an array");
    let must = consolidated("{}").replace("false", "true");
    refused(v3_node, &member(&must), "`consolidated_metadata.must_understand`");
    refused(v3_node, &member(r#"{"must_understand":false,"kind":"inline"}"#), "metadata");
    for path in ["a/zarr.json", "/a", "a/", ""] {
        let nodes = format!(r#"{{"{path}":{GR},"b":{GR}}}"#);
        let member = member(&consolidated(&nodes));
        tolerated(v3_node, &member, "is not the path of a node");
        let group = tolerated(v3_group, &member, &format!("consolidated_metadata.metadata.{path}`"));
        assert_eq!(group.consolidated.unwrap().keys().collect::<Vec<_>>(), ["b"]);
    }
    refused(v3_node, &member(&consolidated(r#"{"a":5}"#)), "`consolidated_metadata.metadata.a`");
}

/// Tests V3-GRP-06.
#[test]
fn empty_consolidated_metadata_inside_groups_are_accepted() {
    let inner = with(GR, &[("consolidated_metadata", &consolidated("{}"))]);
    let inner = String::from_utf8(zarr_json::to_vec(&inner).unwrap()).unwrap();
    let outer = with(GR, &[("consolidated_metadata", &consolidated(&format!(r#"{{"a":{inner}}}"#)))]);
    let group = accepted(v3_group, &outer);
    let child = accepted(v3_group, group.consolidated.unwrap().get("a").unwrap());
    assert_eq!(child.consolidated, Some(Object::new()));
    let group = tolerated(v3_group, &with(GR, &[("consolidated_metadata", "null")]), "is null");
    assert_eq!(group.consolidated, None);
}

/// zarr-python lists nodes whose names begin with `__`, but the specification reserves these names (V3-NAME-11).
#[test]
fn reserved_names_in_consolidated_metadata_are_ignored() {
    let nodes = format!(r#"{{"__x":{GR},"a":{GR}}}"#);
    let group = warned(v3_group, &with(GR, &[("consolidated_metadata", &consolidated(&nodes))]), "__x");
    assert_eq!(group.consolidated.unwrap().keys().collect::<Vec<_>>(), ["a"]);
}
