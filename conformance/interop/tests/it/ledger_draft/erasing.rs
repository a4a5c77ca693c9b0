//! Erasing nodes and shrinking arrays: the keys that remain.

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Error, Selection};

use super::support::{array_document, context, draft, get, get_json, keys, open, set};

/// Creates a hierarchy with these arrays of one chunk each, and these groups.
fn nodes(arrays: &[&str], groups: &[&str]) -> Arc<dyn Store> {
    let store = draft(&[]);
    for array in arrays {
        set(&*store, &format!("meta/{array}.array.json"), array_document(json!({})).to_string().as_bytes());
        set(&*store, &format!("data/{array}/c0"), &[1; 8]);
    }
    for group in groups {
        set(&*store, &format!("meta/{group}.group.json"), br#"{"attributes":{}}"#);
    }
    store
}

/// Tests D3-OP-13.
#[test]
fn erasing_an_array_removes_its_document_and_its_chunks() {
    let store = nodes(&["foo", "foobar"], &[]);
    open(&store, &context()).erase("/foo").unwrap();
    assert_eq!(keys(&*store), ["data/foobar/c0", "meta/foobar.array.json", "zarr.json"]);
    assert!(matches!(open(&store, &context()).erase("/foo"), Err(Error::NoNode(_))));
}

/// Tests D3-OP-14, D3-OP-15.
#[test]
fn erasing_a_group_removes_only_what_is_below_it() {
    for (groups, is_implicit) in [(&["foobar"][..], true), (&["foo", "foo/b", "foobar"], false)] {
        let store = nodes(&["foo/a", "foobar/a"], groups);
        let hierarchy = open(&store, &context());
        assert_eq!(hierarchy.group("/foo").unwrap().is_implicit(), is_implicit);
        hierarchy.erase("/foo").unwrap();
        let rest = ["data/foobar/a/c0", "meta/foobar.group.json", "meta/foobar/a.array.json", "zarr.json"];
        assert_eq!(keys(&*store), rest);
        assert!(!hierarchy.exists("/foo").unwrap());
    }
}

/// Tests D3-OP-16.
#[test]
fn erasing_the_root_keeps_the_entry_point() {
    for groups in [&[][..], &["group", "a"]] {
        let store = nodes(&["a/b", "c"], groups);
        set(&*store, "data/c0/0", &[1]);
        open(&store, &context()).erase("/").unwrap();
        assert_eq!(keys(&*store), ["zarr.json"]);
        assert!(open(&store, &context()).group("/").unwrap().is_implicit());
    }
}

/// Tests D3-OP-19.
#[test]
fn an_implicit_group_disappears_with_its_last_child_unless_it_is_made_explicit() {
    let store = nodes(&["a/b/c"], &[]);
    let hierarchy = open(&store, &context());
    hierarchy.erase("/a/b/c").unwrap();
    assert!(!hierarchy.exists("/a/b").unwrap() && !hierarchy.exists("/a").unwrap());
    assert_eq!(keys(&*store), ["zarr.json"]);

    let store = nodes(&["a/b/c"], &[]);
    let hierarchy = open(&store, &context());
    hierarchy.erase_keeping_parent("/a/b/c").unwrap();
    assert_eq!(keys(&*store), ["meta/a/b.group.json", "zarr.json"]);
    assert_eq!(get_json(&*store, "meta/a/b.group.json"), json!({"attributes": {}}));
    assert!(hierarchy.exists("/a").unwrap());
}

fn read(array: &Array) -> Vec<u8> {
    array.read_values::<u8>(&Selection::All).unwrap().into_vec()
}

/// Tests D3-OP-22.
#[test]
fn resizing_changes_the_document_and_erases_chunks_outside() {
    let document = array_document(json!({"shape": [5], "data_type": "uint8", "fill_value": 99}));
    let store = draft(&[("meta/a.array.json", document.clone())]);
    let mut array = open(&store, &context()).array("/a").unwrap();
    array.write_values::<u8>(&Selection::All, &[1, 2, 3, 4, 5]).unwrap();
    assert_eq!(get(&*store, "data/a/c2").unwrap(), [5, 99]);

    array.resize(&[3]).unwrap();
    assert_eq!(read(&array), [1, 2, 3]);
    assert_eq!(keys(&*store), ["data/a/c0", "data/a/c1", "meta/a.array.json", "zarr.json"]);
    assert_eq!(get(&*store, "data/a/c1").unwrap(), [3, 4], "a chunk at the edge keeps its bytes");
    let mut wanted: Value = document;
    wanted["shape"] = json!([3]);
    assert_eq!(get_json(&*store, "meta/a.array.json"), wanted);

    array.resize(&[5]).unwrap();
    // New elements of an array hold the fill value.
    assert_eq!(read(&array), [1, 2, 3, 99, 99]);
    assert_eq!(read(&open(&store, &context()).array("/a").unwrap()), [1, 2, 3, 99, 99]);
    assert!(matches!(array.resize(&[5, 1]), Err(Error::Selection(_))));
}
