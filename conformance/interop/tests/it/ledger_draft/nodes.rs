//! Nodes, implicit groups and their discovery.

use std::sync::Arc;

use serde_json::json;
use zarr_conformance::stores::MinimalStore;
use zarr_interop::{CountingStore, warnings};
use zarr_kit::spec::store::{
    Capabilities, ChunkCache, Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload,
    Request, Responses, Store, StoreError, StoreLock, Version,
};
use zarr_kit::spec::{Key, Object, Output, Prefix};
use zarr_kit::{ArrayBuilder, Context, EntryKind, Error, Format, Hierarchy, Mode, Selection};

use super::support::{
    array_document, children, context, draft, entry_point, get, get_json, keys, memory, message, named,
    object, open, set, set_json, walk,
};

/// A store with keys in lower case, like a file system that folds the case of names.
#[derive(Debug)]
struct Folding(Arc<dyn Store>);

fn folded(key: &Key) -> Key {
    Key::new(key.as_str().to_ascii_lowercase()).unwrap()
}

zarr_kit::spec::delegate_store! {
    impl Store for Folding {
        forward(self.0): capabilities, read_hints, commit, array_document;

        fn location(&self) -> String {
            "folding:".to_owned()
        }

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> Result<Option<GetResult>, StoreError> {
            self.0.get(&folded(key), options, to)
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            let requests = requests.into_iter().map(|request| {
                let key = folded(&request.key);
                request.with_key(key)
            });
            self.0.get_many(requests.collect(), budget)
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
            self.0.set(&folded(key), value)
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> Result<ConditionalWrite, StoreError> {
            self.0.set_if(&folded(key), value, condition)
        }

        fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
            self.0.erase_if(&folded(key), version)
        }

        fn lock(&self, key: &Key) -> Result<Option<StoreLock>, StoreError> {
            self.0.lock(&folded(key))
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
            let values: Vec<_> =
                values.iter().map(|(key, offset, value)| (folded(key), *offset, *value)).collect();
            self.0.set_partial_values(&values)
        }

        fn erase(&self, key: &Key) -> Result<(), StoreError> {
            self.0.erase(&folded(key))
        }

        fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
            keys.iter().try_for_each(|key| self.erase(key))
        }

        fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
            self.0.erase_prefix(&Prefix::new(prefix.as_str().to_ascii_lowercase()).unwrap())
        }

        fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
            self.0.list_prefix(&Prefix::new(prefix.as_str().to_ascii_lowercase()).unwrap())
        }

        fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
            self.0.list_dir(&Prefix::new(prefix.as_str().to_ascii_lowercase()).unwrap())
        }

        fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
            self.0.size(&folded(key))
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            false
        }
    }
}

fn small_array() -> ArrayBuilder {
    ArrayBuilder::new([4], "uint8").chunks([2]).uncompressed()
}

/// Tests D3-PATH-01, D3-PATH-02.
#[test]
fn a_hierarchy_is_a_tree_of_groups_with_arrays_as_leaves() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_array("/a", &small_array()).unwrap();
    let group = hierarchy.create_group("/b", Object::new()).unwrap();
    group.create_array("c", &small_array()).unwrap();
    let tree = [
        ("/", EntryKind::ImplicitGroup),
        ("/a", EntryKind::Array),
        ("/b", EntryKind::Group),
        ("/b/c", EntryKind::Array),
    ];
    assert_eq!(walk(&hierarchy, "/"), named(tree));

    let below = "cannot create /a/x: /a is an array, and only groups have nodes below them";
    assert_eq!(message(hierarchy.create_array("/a/x", &small_array())), below);
    assert!(matches!(hierarchy.create_group("/a/x/y", Object::new()), Err(Error::InTheWay { .. })));
    let before = keys(&**hierarchy.store());
    assert_eq!(
        message(hierarchy.create_array("/a", &small_array())),
        "cannot create /a: an array already exists"
    );
    assert_eq!(
        message(hierarchy.create_group("/b", Object::new())),
        "cannot create /b: a group already exists"
    );
    assert_eq!(keys(&**hierarchy.store()), before);
}

/// Tests D3-PATH-09.
#[test]
fn names_that_differ_in_case_are_two_nodes_or_an_error() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_group("/foo", object(&json!({"case": "lower"}))).unwrap();
    hierarchy.create_group("/FOO", object(&json!({"case": "upper"}))).unwrap();
    for (path, case) in [("/foo", "lower"), ("/FOO", "upper")] {
        let group = hierarchy.group(path).unwrap();
        assert_eq!(group.attributes().get("case").unwrap().as_str(), Some(case));
    }
    assert_eq!(children(&hierarchy, "/"), named([("/FOO", EntryKind::Group), ("/foo", EntryKind::Group)]));

    let store = memory();
    let folding: Arc<dyn Store> = Arc::new(Folding(Arc::clone(&store)));
    let hierarchy = Hierarchy::create(folding, &context(), Format::V3Draft).unwrap();
    hierarchy.create_group("/foo", object(&json!({"case": "lower"}))).unwrap();
    let there = "cannot create /FOO: a group already exists";
    assert_eq!(message(hierarchy.create_group("/FOO", Object::new())), there);
    assert_eq!(get_json(&*store, "meta/foo.group.json"), json!({"attributes": {"case": "lower"}}));
}

/// Tests D3-PATH-11, D3-OP-10.
#[test]
fn nothing_is_discovered_below_an_array() {
    let store = draft(&[
        ("meta/arr.array.json", array_document(json!({}))),
        ("meta/arr/x.group.json", json!({"attributes": {}})),
    ]);
    let hierarchy = open(&store, &context());
    let path = hierarchy.path("/arr").unwrap();
    assert_eq!(message(hierarchy.children(&path)), "/arr is an array, not a group");
    assert_eq!(children(&hierarchy, "/"), named([("/arr", EntryKind::Array)]));
    assert_eq!(warnings(&hierarchy), ["there are keys below /arr, which is an array"]);
    let nodes = walk(&hierarchy, "/");
    assert_eq!(nodes, named([("/", EntryKind::ImplicitGroup), ("/arr", EntryKind::Array)]));
    let orphan = "/arr/x is below /arr, which is an array; it is ignored".to_owned();
    assert!(warnings(&hierarchy).contains(&orphan), "{:?}", warnings(&hierarchy));
}

/// Tests D3-GRP-06, D3-GRP-08, D3-OP-20.
#[test]
fn a_group_needs_a_document_only_for_attributes() {
    let store = draft(&[("meta/foo/bar.array.json", array_document(json!({})))]);
    let before = keys(&*store);
    let hierarchy = open(&store, &context());
    let mut group = hierarchy.group("/foo").unwrap();
    assert!(group.is_implicit());
    assert!(group.attributes().is_empty());
    assert!(hierarchy.exists("/foo").unwrap());
    assert_eq!(children(&hierarchy, "/foo"), named([("/foo/bar", EntryKind::Array)]));
    walk(&hierarchy, "/");
    assert_eq!(keys(&*store), before, "reading an implicit group does not change it");

    group.set_attributes(object(&json!({"spam": "ham"}))).unwrap();
    assert!(!group.is_implicit());
    assert_eq!(get_json(&*store, "meta/foo.group.json"), json!({"attributes": {"spam": "ham"}}));
    assert!(!hierarchy.group("/foo").unwrap().is_implicit());
    assert_eq!(children(&hierarchy, "/"), named([("/foo", EntryKind::Group)]));
}

/// Tests D3-OP-01, D3-OP-02, D3-OP-03.
#[test]
fn creating_a_node_writes_one_document() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_group("/foo/bar", Object::new()).unwrap();
    assert_eq!(keys(&**hierarchy.store()), ["meta/foo/bar.group.json", "zarr.json"]);
    let implied =
        [("/", EntryKind::ImplicitGroup), ("/foo", EntryKind::ImplicitGroup), ("/foo/bar", EntryKind::Group)];
    assert_eq!(walk(&hierarchy, "/"), named(implied));
    assert!(hierarchy.exists("/").unwrap() && hierarchy.exists("/foo").unwrap());

    hierarchy.create_array("/foo/baz", &small_array()).unwrap();
    let documents = ["meta/foo/bar.group.json", "meta/foo/baz.array.json", "zarr.json"];
    assert_eq!(keys(&**hierarchy.store()), documents);
}

/// Tests D3-OP-04.
#[test]
fn a_node_with_two_documents_is_an_array() {
    let store = draft(&[
        ("meta/a.array.json", array_document(json!({}))),
        ("meta/a.group.json", json!({"attributes": {}})),
    ]);
    let both = "/a has documents of both an array and a group; it is read as an array";
    let hierarchy = open(&store, &context());
    assert_eq!(hierarchy.array("/a").unwrap().shape(), [4]);
    assert_eq!(warnings(&hierarchy), [both]);
    let hierarchy = open(&store, &context());
    assert_eq!(children(&hierarchy, "/"), named([("/a", EntryKind::Array)]));
    assert_eq!(warnings(&hierarchy), [both]);
    assert_eq!(message(hierarchy.group("/a")), "/a is an array, not a group");

    let hierarchy = open(&draft(&[("meta/a.array.json", array_document(json!({})))]), &context());
    let there = "cannot create /a: an array already exists";
    assert_eq!(message(hierarchy.create_group("/a", Object::new())), there);
    assert_eq!(keys(&**hierarchy.store()), ["meta/a.array.json", "zarr.json"]);
}

/// Tests D3-OP-05, D3-OP-06, D3-CONTRA-16.
#[test]
fn chunks_have_keys_below_data_in_the_order_of_the_dimensions() {
    let document = array_document(json!({
        "shape": [4, 6],
        "data_type": "uint8",
        "chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "separator": "/"},
        "fill_value": 9,
    }));
    let store = draft(&[("meta/foo/baz.array.json", document)]);
    let array = open(&store, &context()).array("/foo/baz").unwrap();
    let chunk = [2u64..4, 0..3];
    array.write_values::<u8>(&Selection::from(&chunk[..]), &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(get(&*store, "data/foo/baz/c1/0").unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(array.chunk_key(&[1, 0]).unwrap().as_str(), "data/foo/baz/c1/0");
    assert_eq!(array.read_chunk(&[1, 0]).unwrap().bytes(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(array.read_chunk(&[0, 1]).unwrap().bytes(), [9; 6], "a missing chunk");
    for outside in [&[2, 0][..], &[0, 2], &[0], &[0, 0, 0]] {
        assert!(
            matches!(array.write_encoded_chunk(outside, &[0; 6]), Err(Error::Selection(_))),
            "{outside:?}"
        );
        assert!(matches!(array.read_chunk(outside), Err(Error::Selection(_))), "{outside:?}");
    }
    assert_eq!(keys(&*store), ["data/foo/baz/c1/0", "meta/foo/baz.array.json", "zarr.json"]);
}

/// Tests D3-OP-07, D3-OP-09, D3-CONTRA-13.
#[test]
fn children_come_from_one_listing() {
    let group = json!({"attributes": {}});
    let store = draft(&[
        ("meta/foo/bar.group.json", group.clone()),
        ("meta/foo/bar/deeper.group.json", group),
        ("meta/foo/baz/qux.array.json", array_document(json!({}))),
    ]);
    for other in ["meta/foo/README", "meta/foo/x.array", "meta/foo/.group.json"] {
        set(&*store, other, b"something else");
    }
    let hierarchy = open(&store, &context());
    let wanted = [("/foo/bar", EntryKind::Group), ("/foo/baz", EntryKind::ImplicitGroup)];
    assert_eq!(children(&hierarchy, "/foo"), named(wanted));
    assert_eq!(children(&hierarchy, "/foo/baz"), named([("/foo/baz/qux", EntryKind::Array)]));
    assert_eq!(hierarchy.array("/foo/baz/qux").unwrap().shape(), [4]);
    assert!(matches!(hierarchy.array("/foo/bar/baz/qux"), Err(Error::NoNode(_))));
}

/// Tests D3-OP-08, D3-OP-12.
#[test]
fn the_root_is_not_a_child_of_itself() {
    let group = json!({"attributes": {}});
    let store = draft(&[("meta/group.json", group), ("meta/a.array.json", array_document(json!({})))]);
    let hierarchy = open(&store, &context());
    assert_eq!(children(&hierarchy, "/"), named([("/a", EntryKind::Array)]));
    assert_eq!(walk(&hierarchy, "/"), named([("/", EntryKind::Group), ("/a", EntryKind::Array)]));

    let store = draft(&[("meta/a/b/c.array.json", array_document(json!({})))]);
    let hierarchy = open(&store, &context());
    let implicit = EntryKind::ImplicitGroup;
    let nodes = [("/", implicit), ("/a", implicit), ("/a/b", implicit), ("/a/b/c", EntryKind::Array)];
    assert_eq!(walk(&hierarchy, "/"), named(nodes));
    assert_eq!(walk(&hierarchy, "/a/b"), named([("/a/b", implicit), ("/a/b/c", EntryKind::Array)]));
}

/// Tests D3-OP-11.
#[test]
fn nodes_of_an_unlistable_store_are_opened_by_path() {
    let capabilities = Capabilities::READ_ONLY.unlistable();
    let entry_point = entry_point().to_string();
    let document = array_document(json!({})).to_string();
    let values: [(&str, &[u8]); 3] = [
        ("zarr.json", entry_point.as_bytes()),
        ("meta/a.array.json", document.as_bytes()),
        ("data/a/c0", &[1, 0, 0, 0, 2, 0, 0, 0]),
    ];
    let store: Arc<dyn Store> = Arc::new(MinimalStore::with_values(capabilities, &values));
    let hierarchy = open(&store, &context());
    let array = hierarchy.array("/a").unwrap();
    assert_eq!(array.read_values::<i32>(&Selection::All).unwrap(), [1, 2, 0, 0]);
    assert_eq!(walk(&hierarchy, "/a"), named([("/a", EntryKind::Array)]));
    let root = hierarchy.path("/").unwrap();
    for error in
        [message(hierarchy.children(&root)), message(hierarchy.walk(&root)), message(array.stored_chunks())]
    {
        assert!(error.contains("not listable"), "{error}");
    }
    assert!(message(hierarchy.exists("/b")).contains("not listable"));
    assert!(message(array.write_values::<i32>(&Selection::All, &[0; 4])).contains("not writeable"));
}

/// Tests D3-OP-17, D3-OP-18.
#[test]
fn checking_existence_takes_one_call_for_each_possible_kind_of_node() {
    let store = draft(&[
        ("meta/a.array.json", array_document(json!({}))),
        ("meta/g.group.json", json!({"attributes": {}})),
        ("meta/i/x.group.json", json!({"attributes": {}})),
    ]);
    let counting = Arc::new(CountingStore::new(store));
    let hierarchy = Hierarchy::open(Arc::<CountingStore>::clone(&counting), &context()).unwrap();
    let listed = children(&hierarchy, "/");
    drop(counting.take());
    for (path, exists, calls) in [("/a", true, 1), ("/g", true, 2), ("/i", true, 3), ("/none", false, 3)] {
        assert_eq!(hierarchy.exists(path).unwrap(), exists, "{path}");
        let counted = counting.take();
        assert_eq!(counted.values().sum::<usize>(), calls, "{path}: {counted:?}");
        assert_eq!(listed.iter().any(|(child, _)| child == path), exists, "{path}");
    }
}

/// Tests D3-OP-21, D3-CONTRA-15.
#[test]
fn only_an_entry_point_is_an_empty_hierarchy() {
    let store = draft(&[]);
    let hierarchy = open(&store, &context());
    assert!(!hierarchy.exists("/").unwrap());
    let root = hierarchy.group("/").unwrap();
    assert!(root.is_implicit() && root.attributes().is_empty());
    assert!(root.children().unwrap().is_empty());
    assert!(matches!(hierarchy.array("/"), Err(Error::WrongKind { .. })));
    assert_eq!(keys(&*store), ["zarr.json"]);
    set_json(&*store, "meta/group.json", &json!({"attributes": {}}));
    assert!(hierarchy.exists("/").unwrap());
    assert!(!hierarchy.group("/").unwrap().is_implicit());
}

/// Tests D3-META-01, D3-ARR-01.
#[test]
fn a_hierarchy_needs_an_entry_point_and_an_array_needs_a_document() {
    let store = draft(&[("meta/bar.array.json", array_document(json!({})))]);
    set(&*store, "data/foo/c0", &[0; 8]);
    let hierarchy = open(&store, &context());
    assert_eq!(hierarchy.array("/bar").unwrap().shape(), [4]);
    assert!(matches!(hierarchy.array("/foo"), Err(Error::NoNode(_))));
    assert!(!hierarchy.exists("/foo").unwrap());
    assert_eq!(children(&hierarchy, "/"), named([("/bar", EntryKind::Array)]));

    let store = memory();
    set_json(&*store, "meta/root/a.group.json", &json!({"attributes": {}}));
    let in_mode = |mode| Hierarchy::open(Arc::clone(&store), &context().with_mode(mode));
    for mode in [Mode::Strict, Mode::Lenient] {
        assert!(matches!(in_mode(mode), Err(Error::NoHierarchy { .. })), "{mode:?}");
    }
    assert_eq!(children(&in_mode(Mode::Compatibility).unwrap(), "/"), named([("/a", EntryKind::Group)]));
}

/// Tests D3-VER-01.
#[test]
fn a_newer_minor_version_is_read_and_written() {
    let mut newer = entry_point();
    newer["zarr_format"] = json!("https://purl.org/zarr/spec/core/3.4");
    newer["new_thing"] = json!({});
    let store = draft(&[("zarr.json", newer.clone()), ("meta/a.array.json", array_document(json!({})))]);
    let hierarchy = open(&store, &context());
    let mut array = hierarchy.array("/a").unwrap();
    array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    array.set_attribute("unit", "K").unwrap();
    assert_eq!(get(&*store, "data/a/c1").unwrap(), [3, 0, 0, 0, 4, 0, 0, 0]);
    let again = open(&store, &context()).array("/a").unwrap();
    assert_eq!(again.read_values::<i32>(&Selection::All).unwrap(), [1, 2, 3, 4]);
    assert_eq!(again.attributes().get("unit").unwrap().as_str(), Some("K"));
    assert_eq!(get_json(&*store, "zarr.json"), newer, "the entry point is unchanged");

    newer["zarr_format"] = json!("https://purl.org/zarr/spec/core/4.0");
    set_json(&*store, "zarr.json", &newer);
    let context: Context = context().with_mode(Mode::Compatibility);
    assert!(message(Hierarchy::open(store, &context)).contains("version 4.0"));
}
