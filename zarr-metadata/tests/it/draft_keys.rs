//! Keys of the draft, in both generations.

use zarr_metadata::NodeKind;
use zarr_metadata::draft::{self, EntryPoint, Keys};
use zarr_spec::{Format, Key, NodePath};

fn path(text: &str) -> NodePath {
    NodePath::parse(text, Format::V3Draft).unwrap()
}

fn keys() -> Keys {
    Keys::new(&EntryPoint::new())
}

fn older() -> Keys {
    Keys::new(&EntryPoint::missing())
}

#[track_caller]
fn assert_documents(keys: &Keys, text: &str, array: &str, group: &str) {
    let path = path(text);
    assert_eq!(keys.array(&path).unwrap().as_str(), array);
    assert_eq!(keys.group(&path).unwrap().as_str(), group);
    assert_eq!(node(keys, array), Some((path.clone(), NodeKind::Array)));
    assert_eq!(node(keys, group), Some((path, NodeKind::Group)));
}

fn node(keys: &Keys, key: &str) -> Option<(NodePath, NodeKind)> {
    keys.node_of(&Key::new(key).unwrap())
}

/// Tests D3-KEY-01.
#[test]
fn the_entry_point_has_a_separate_key() {
    assert_eq!(draft::ENTRY_POINT, "zarr.json");
    assert_eq!(node(&keys(), "zarr.json"), None);
    assert_eq!(node(&keys(), "meta/zarr.json"), None);
}

/// Tests D3-KEY-02, D3-KEY-03, D3-KEY-04, D3-KEY-05, D3-CONTRA-24.
#[test]
fn documents_are_below_meta() {
    assert_documents(&keys(), "/", "meta/array.json", "meta/group.json");
    assert_documents(&keys(), "/foo", "meta/foo.array.json", "meta/foo.group.json");
    assert_documents(&keys(), "/foo/bar", "meta/foo/bar.array.json", "meta/foo/bar.group.json");
    assert_documents(&keys(), "/foo/baz", "meta/foo/baz.array.json", "meta/foo/baz.group.json");
    for other in ["meta/.group.json", "meta.group.json", "meta/.array.json", "meta/foo/group.json", "data/c0"]
    {
        assert_eq!(node(&keys(), other), None, "{other}");
    }
    assert_eq!(node(&keys(), "meta/root.group.json"), Some((path("/root"), NodeKind::Group)));
}

/// Tests D3-KEY-06, D3-KEY-07, D3-KEY-08, D3-CONTRA-14.
#[test]
fn chunks_are_below_data() {
    let chunk =
        |path: &NodePath, chunk: &str| keys().data_prefix(path).unwrap().key(chunk).unwrap().to_string();
    assert_eq!(chunk(&path("/foo/baz"), "c0/0"), "data/foo/baz/c0/0");
    assert_eq!(chunk(&path("/foo/baz"), "c1/0"), "data/foo/baz/c1/0");
    assert_eq!(chunk(&path("/foo/baz"), "c1.0"), "data/foo/baz/c1.0");
    assert_eq!(chunk(&path("/"), "c1/0"), "data/c1/0");
    assert_eq!(chunk(&path("/"), "c"), "data/c");
    assert_eq!(keys().data_prefix(&path("/")).unwrap().as_str(), "data/");
    assert_eq!(keys().children_prefix(&path("/")).unwrap().as_str(), "meta/");
    assert_eq!(keys().children_prefix(&path("/foo")).unwrap().as_str(), "meta/foo/");
}

/// Tests D3-KEY-09, D3-KEY-10.
#[test]
fn keys_are_mapped_back_to_nodes() {
    assert_eq!(node(&keys(), "meta/foo/bar.group.json"), Some((path("/foo/bar"), NodeKind::Group)));
    assert_eq!(node(&keys(), "meta/group.json"), Some((path("/"), NodeKind::Group)));
    assert_eq!(node(&keys(), "meta/array.json"), Some((path("/"), NodeKind::Array)));
}

/// Tests D3-KEY-11.
#[test]
fn names_may_contain_the_suffixes_of_keys() {
    assert_eq!(node(&keys(), "meta/a.array.group.json"), Some((path("/a.array"), NodeKind::Group)));
    assert_eq!(node(&keys(), "meta/x.group.group.json"), Some((path("/x.group"), NodeKind::Group)));
    assert_eq!(keys().group(&path("/a.array")).unwrap().as_str(), "meta/a.array.group.json");
}

/// Tests D3-KEY-12.
#[test]
fn another_suffix_replaces_json() {
    let keys = |suffix: &str| {
        let mut entry_point = EntryPoint::new();
        entry_point.key_suffix = suffix.to_owned();
        Keys::new(&entry_point)
    };
    assert_documents(&keys(".zmeta"), "/", "meta/array.zmeta", "meta/group.zmeta");
    assert_documents(&keys(".zmeta"), "/foo", "meta/foo.array.zmeta", "meta/foo.group.zmeta");
    assert_documents(&keys(""), "/foo", "meta/foo.array", "meta/foo.group");
    assert_eq!(node(&keys(".zmeta"), "meta/foo.array.json"), None);
}

/// Tests D3-KEY-13.
#[test]
fn all_keys_are_ascii() {
    let keys = keys();
    for text in ["/", "/A-b_c.9/x", "/__x/.hidden"] {
        let path = path(text);
        let prefixes = [keys.data_prefix(&path).unwrap(), keys.children_prefix(&path).unwrap()];
        let documents = [keys.array(&path).unwrap(), keys.group(&path).unwrap()];
        let texts = documents.iter().map(Key::as_str).chain(prefixes.iter().map(|prefix| prefix.as_str()));
        for text in texts {
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b)), "{text}");
        }
    }
    let foreign = NodePath::parse("/é", Format::V3).unwrap();
    assert!(keys.array(&foreign).is_err());
    assert!(keys.data_prefix(&foreign).is_err());
}

/// Tests DX-A-04, DX-A-05, DX-A-06, DX-GEN-07.
#[test]
fn generation_a_has_root_in_all_keys() {
    assert_documents(&older(), "/", "meta/root.array.json", "meta/root.group.json");
    assert_documents(&older(), "/foo/baz", "meta/root/foo/baz.array.json", "meta/root/foo/baz.group.json");
    assert_eq!(node(&older(), "meta/root/root.group.json"), Some((path("/root"), NodeKind::Group)));
    for other in
        ["meta/root/.array.json", "meta/foo/baz.array.json", "meta/group.json", "meta/rootfoo.group.json"]
    {
        assert_eq!(node(&older(), other), None, "{other}");
    }
    let data = |text: &str| older().data_prefix(&path(text)).unwrap().to_string();
    assert_eq!(data("/"), "data/root/");
    let chunk = |text: &str, chunk| older().data_prefix(&path(text)).unwrap().key(chunk).unwrap().to_string();
    assert_eq!(chunk("/", "c1"), "data/root/c1");
    assert_eq!(chunk("/foo/baz", "c0/0"), "data/root/foo/baz/c0/0");
    assert_eq!(node(&older(), "meta/root.group.json"), Some((path("/"), NodeKind::Group)));
    assert_eq!(node(&keys(), "meta/root.group.json"), Some((path("/root"), NodeKind::Group)));
    assert_eq!(data("/a"), "data/root/a/");
    assert_eq!(older().children_prefix(&path("/")).unwrap().as_str(), "meta/root/");
    assert_eq!(older().children_prefix(&path("/foo")).unwrap().as_str(), "meta/root/foo/");
}
