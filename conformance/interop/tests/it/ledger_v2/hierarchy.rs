//! Sections 8 and 10: nodes, attributes and consolidated metadata.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_interop::{CountingStore, warnings};
use zarr_kit::spec::Object;
use zarr_kit::{ArrayBuilder, EntryKind, Format, Hierarchy, Selection};

use super::support::{Stored, spec_value};
use super::za;

fn attributes(value: &Value) -> Object {
    spec_value(value).as_object().unwrap().clone()
}

/// Creates a new hierarchy of v2.
fn created(stored: &Stored) -> Hierarchy {
    Hierarchy::create(Arc::clone(&stored.store), &stored.context, Format::V2).unwrap()
}

fn names(hierarchy: &Hierarchy, path: &str) -> Vec<String> {
    let children = hierarchy.children(hierarchy.path(path).unwrap()).unwrap();
    children.iter().map(|child| child.path.name().to_owned()).collect()
}

/// Creates a group `foo` with a group `bar` and an array `baz`, and an array below `bar`.
fn tree() -> Stored {
    let group = json!({"zarr_format": 2});
    Stored::new()
        .json(".zgroup", &group)
        .json("foo/.zgroup", &group)
        .json("foo/.zattrs", &json!({"a": 1}))
        .json("foo/bar/.zgroup", &group)
        .json("foo/bar/deep/.zarray", &za(&json!({})))
        .json("foo/baz/.zarray", &za(&json!({})))
        .with("foo/baz/0", [1; 8])
}

/// Tests V2-HIER-08, V2-HIER-17, V2-HIER-23.
#[test]
fn members_of_a_group_are_direct_children_with_documents() {
    let stored = tree().with("foo/stray/file", b"x");
    let hierarchy = stored.open();
    assert!(hierarchy.group("foo/bar").is_ok());
    assert!(hierarchy.group("").is_ok());
    assert!(hierarchy.group("foo/stray").is_err());
    assert!(!hierarchy.exists("foo/stray").unwrap());
    assert_eq!(names(&hierarchy, "foo"), ["bar", "baz"]);
    let kinds: Vec<EntryKind> =
        hierarchy.group("foo").unwrap().children().unwrap().iter().map(|child| child.kind).collect();
    assert_eq!(kinds, [EntryKind::Group, EntryKind::Array]);
    let metadata = json!({"zarr_consolidated_format": 1, "metadata": {}});
    let stored = tree().json(".zattrs", &json!({"x": 1})).json("foo/.zmetadata", &metadata);
    assert_eq!(names(&stored.open(), ""), ["foo"]);
    assert_eq!(names(&stored.open(), "foo"), ["bar", "baz"]);
    assert_eq!(names(&stored.open(), "foo/bar"), ["deep"]);
}

/// Tests V2-STORE-01.
#[test]
fn v2_node_names_may_contain_control_characters() {
    let stored =
        tree().json("foo/tab\tx/.zarray", &za(&json!({}))).json("__x/.zgroup", &json!({"zarr_format": 2}));
    let hierarchy = stored.open();
    assert_eq!(names(&hierarchy, ""), ["__x", "foo"]);
    assert_eq!(names(&hierarchy, "foo"), ["bar", "baz", "tab\tx"]);
    assert_eq!(hierarchy.array("foo/tab\tx").unwrap().shape(), hierarchy.array("foo/baz").unwrap().shape());
}

/// Tests V2-HIER-24.
#[test]
fn keys_do_not_begin_with_a_slash() {
    let stored = Stored::new();
    let array =
        created(&stored).create_array("/foo/bar/", &ArrayBuilder::new([4], "int8").chunks([2])).unwrap();
    array.write_values::<i8>(&zarr_kit::Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(stored.keys(), [".zgroup", "foo/.zgroup", "foo/bar/.zarray", "foo/bar/0", "foo/bar/1"]);
    // Keys with a leading slash are refused, because a store could use them unchanged as names in an archive.
    for wrong in ["/foo/bar/0", "/.zgroup"] {
        assert!(zarr_kit::spec::Key::new(wrong).is_err(), "{wrong}");
    }
}

/// Tests V2-HIER-12, V2-HIER-13, V2-HIER-14.
#[test]
fn missing_parent_groups_are_created() {
    let stored = Stored::new();
    created(&stored).create_group("foo/bar", Object::new()).unwrap();
    assert_eq!(stored.keys(), [".zgroup", "foo/.zgroup", "foo/bar/.zgroup"]);
    assert_eq!(stored.document("foo/.zgroup"), json!({"zarr_format": 2}));
    let stored = Stored::new();
    let builder = ArrayBuilder::new([4], "int32").chunks([2]);
    created(&stored).create_array("foo/bar/baz", &builder).unwrap();
    assert_eq!(stored.keys(), [".zgroup", "foo/.zgroup", "foo/bar/.zgroup", "foo/bar/baz/.zarray"]);
    let stored = Stored::new();
    created(&stored).create_array("", &builder).unwrap();
    assert_eq!(stored.keys(), [".zarray"]);
    assert_eq!(stored.array().shape(), [4]);
}

/// Tests V2-HIER-15.
#[test]
fn nodes_cannot_be_created_below_an_array() {
    let stored = tree();
    let hierarchy = stored.open();
    let before = stored.keys();
    for path in ["foo/baz/b", "foo/baz/b/c"] {
        let error = hierarchy.create_group(path, Object::new()).unwrap_err().to_string();
        assert!(error.contains("/foo/baz is an array"), "{error}");
        assert!(hierarchy.create_array(path, &ArrayBuilder::new([4], "int32")).is_err());
    }
    assert_eq!(stored.keys(), before);
    hierarchy.create_group("foo/bar/b/c", Object::new()).unwrap();
}

/// Tests V2-HIER-16.
#[test]
fn creating_a_node_does_not_change_existing_groups() {
    let stored = tree();
    let attributes = stored.value("foo/.zattrs");
    // A group with a member that our writer would not produce.
    stored.set("foo/.zgroup", r#"{ "zarr_format": 2, "x": 1 }"#);
    let document = stored.value("foo/.zgroup");
    stored.open().create_array("foo/new/a", &ArrayBuilder::new([4], "int32")).unwrap();
    assert_eq!(stored.value("foo/.zattrs"), attributes);
    assert_eq!(stored.value("foo/.zgroup"), document);
    assert!(stored.has("foo/new/.zgroup"));
}

/// Tests V2-HIER-18.
#[test]
fn a_node_with_both_documents_is_an_array_with_a_warning() {
    let stored = tree().json("foo/baz/.zgroup", &json!({"zarr_format": 2}));
    let hierarchy = stored.open();
    assert_eq!(hierarchy.array("foo/baz").unwrap().shape(), [4]);
    let warning = "/foo/baz has both `.zarray` and `.zgroup`; it is read as an array";
    assert_eq!(warnings(&hierarchy), [warning]);
    let hierarchy = stored.open();
    let children = hierarchy.group("foo").unwrap().children().unwrap();
    assert_eq!(children[1].kind, EntryKind::Array);
    assert_eq!(warnings(&hierarchy), [warning]);
    assert!(hierarchy.group("foo/baz").is_err());
    let clean = tree().open();
    clean.array("foo/baz").unwrap();
    assert!(warnings(&clean).is_empty());
}

/// Tests V2-HIER-25.
#[test]
fn erasing_a_node_erases_only_keys_with_its_prefix() {
    let stored = tree().json("foobar/.zarray", &za(&json!({}))).with("foobar/0", [1; 8]);
    stored.open().erase("foo").unwrap();
    assert_eq!(stored.keys(), [".zgroup", "foobar/.zarray", "foobar/0"]);
    assert!(stored.open().erase("foo").is_err());
}

/// Creates the tree with consolidated metadata.
fn consolidated() -> Stored {
    let stored = tree();
    stored.open().consolidate("").unwrap();
    stored
}

/// Tests V2-CONS-03.
#[test]
fn consolidated_metadata_replace_reads_of_other_documents() {
    let stored = consolidated();
    let counting = Arc::new(CountingStore::new(Arc::clone(&stored.store)));
    let hierarchy = Hierarchy::open(Arc::clone(&counting) as _, &stored.context).unwrap();
    drop(counting.take());
    assert_eq!(names(&hierarchy, "foo"), ["bar", "baz"]);
    let array = hierarchy.array("foo/baz").unwrap();
    assert_eq!(hierarchy.group("foo").unwrap().attributes().len(), 1);
    assert_eq!(hierarchy.walk(hierarchy.path("").unwrap()).unwrap().len(), 5);
    assert!(counting.take().is_empty());
    // Consolidated metadata do not contain chunks.
    array.read(&Selection::All).unwrap();
    assert!(!counting.take().is_empty());
    // Without consolidated metadata, every document is read.
    let options = zarr_kit::OpenOptions::new().consolidated(false);
    let hierarchy = Hierarchy::open_with(Arc::clone(&counting) as _, &stored.context, options).unwrap();
    drop(counting.take());
    hierarchy.array("foo/baz").unwrap();
    assert!(!counting.take().is_empty());
}

/// Tests V2-CONS-04.
#[test]
fn consolidated_metadata_do_not_show_changes_of_other_writers() {
    let stored = consolidated();
    stored.set("foo/.zattrs", r#"{"a": 2}"#);
    stored.set("later/.zgroup", r#"{"zarr_format": 2}"#);
    let hierarchy = stored.open();
    assert_eq!(hierarchy.group("foo").unwrap().attributes(), &attributes(&json!({"a": 1})));
    assert!(!hierarchy.exists("later").unwrap());
    let options = zarr_kit::OpenOptions::new().consolidated(false);
    let fresh = Hierarchy::open_with(Arc::clone(&stored.store), &stored.context, options).unwrap();
    assert_eq!(fresh.group("foo").unwrap().attributes(), &attributes(&json!({"a": 2})));
    assert!(fresh.exists("later").unwrap());
}

/// Tests V2-CONS-05.
#[test]
fn writing_through_consolidated_metadata_updates_them() {
    let stored = consolidated();
    let hierarchy = stored.open();
    let array = hierarchy.array("foo/baz").unwrap();
    array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    assert_eq!(stored.value("foo/baz/1"), "03 00 00 00 04 00 00 00");
    hierarchy.set_attributes("foo", attributes(&json!({"b": 3}))).unwrap();
    assert_eq!(stored.document("foo/.zattrs"), json!({"b": 3}));
    assert_eq!(stored.document(".zmetadata")["metadata"]["foo/.zattrs"], json!({"b": 3}));
    assert_eq!(hierarchy.group("foo").unwrap().attributes(), &attributes(&json!({"b": 3})));
    assert_eq!(stored.open().group("foo").unwrap().attributes(), &attributes(&json!({"b": 3})));
}
