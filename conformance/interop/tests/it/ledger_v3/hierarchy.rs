//! Sections 1, 2, 4 and 14 of `v3-final.md`: nodes, names, consolidated metadata and store operations.

use std::sync::Arc;

use serde_json::json;
use zarr_interop::{CountingStore, warnings};
use zarr_kit::spec::store::{
    Capabilities, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
};
use zarr_kit::spec::{Key, NodePath, Object, Output, Prefix};
use zarr_kit::{ArrayBuilder, EntryKind, Error, Format, Hierarchy, Node, OpenOptions, Selection, open_store};

use super::support::Stored;
use super::{ar, gr, stored};

fn names(hierarchy: &Hierarchy, path: &str) -> Vec<String> {
    let children = hierarchy.children(hierarchy.path(path).unwrap()).unwrap();
    children.iter().map(|child| child.path.name().to_owned()).collect()
}

fn walked(hierarchy: &Hierarchy) -> Vec<String> {
    let nodes = hierarchy.walk(NodePath::root()).unwrap();
    nodes.iter().map(|node| node.path.to_string()).collect()
}

/// Tests V3-KEY-04.
#[test]
fn an_array_at_the_root_is_the_only_node() {
    let stored = stored(&json!({}));
    let hierarchy = stored.open();
    assert_eq!(hierarchy.array("/").unwrap().shape(), [4]);
    assert_eq!(walked(&hierarchy), ["/"]);
    let error = hierarchy.create_group("/a", Object::new()).unwrap_err().to_string();
    assert!(error.contains("/ is an array"), "{error}");
    assert!(hierarchy.create_array("/a", &ArrayBuilder::new([4], "int8")).is_err());
    assert!(hierarchy.children(NodePath::root()).is_err());
    assert_eq!(stored.keys(), ["zarr.json"]);
}

/// Tests V3-KEY-05, V3-KEY-06, V3-CONTRA-04.
#[test]
fn folders_without_documents_are_not_groups() {
    let stored = || {
        Stored::new()
            .json("zarr.json", &gr())
            .json("a/zarr.json", &gr())
            .json("c/d/zarr.json", &gr())
            .with("e/f/g", "")
            .json("h/i/.zgroup", &json!({"zarr_format": 2}))
            .json("h/j/zarr.json", &gr())
            .json("__k/l/zarr.json", &gr())
    };
    for (stored, found) in [(stored().strictly(), false), (stored(), true)] {
        let hierarchy = stored.open();
        let children: &[&str] = if found { &["a", "c"] } else { &["a"] };
        assert_eq!(names(&hierarchy, "/"), children);
        let nodes: &[&str] = if found { &["/", "/a", "/c", "/c/d"] } else { &["/", "/a"] };
        assert_eq!(walked(&hierarchy), nodes);
        for path in ["/c", "/e", "/e/f", "/h"] {
            assert_eq!(hierarchy.exists(path).unwrap(), found && path == "/c", "{path}");
            assert_eq!(hierarchy.group(path).is_ok(), found && path == "/c", "{path}");
        }
        assert!(hierarchy.group("/a").is_ok());
        // The node can be opened by its path.
        assert!(hierarchy.group("/c/d").is_ok());
        let warned: Vec<String> = warnings(&hierarchy);
        assert_eq!(warned.len(), usize::from(found), "{warned:?}");
        assert!(warned.iter().all(|warning| warning.contains("groups without `zarr.json`")), "{warned:?}");
    }
}

/// Writers of single arrays leave groups without documents, also at the root.
///
/// Tests V3-KEY-05.
#[test]
fn groups_without_documents_are_read_outside_of_strict_mode() {
    let stored = Stored::new().json("g/h/a/zarr.json", &ar(&json!({}))).with("g/h/a/c/0", [1; 8]);
    let hierarchy = stored.open();
    assert_eq!(walked(&hierarchy), ["/", "/g", "/g/h", "/g/h/a"]);
    let nodes = hierarchy.walk("/g").unwrap();
    let kinds: Vec<EntryKind> = nodes.iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [EntryKind::ImplicitGroup, EntryKind::ImplicitGroup, EntryKind::Array]);
    let group = hierarchy.group("/g").unwrap();
    assert!(group.is_implicit() && group.attributes().is_empty());
    assert_eq!(hierarchy.group("/g/h").unwrap().arrays().unwrap().len(), 1);
    assert_eq!(warnings(&hierarchy).len(), 1);
    assert!(hierarchy.array("/g/h/a").is_ok() && hierarchy.array("/g").is_err());
    assert_eq!(stored.keys().len(), 2, "reading changes nothing");
    let listed = Hierarchy::open_with_arrays(Arc::clone(&stored.store), &stored.context).unwrap();
    assert!(listed.0.is_implicit() && listed.1.is_empty());
    let error = stored.strictly().try_open().unwrap_err();
    assert!(matches!(error, Error::NoHierarchy(_)), "{error}");
}

#[test]
fn changes_write_the_documents_of_groups_without_one() {
    let array = || Stored::new().json("g/h/a/zarr.json", &ar(&json!({})));
    let stored = array();
    stored.open().set_attribute("/g/h", "x", 1).unwrap();
    assert_eq!(stored.keys(), ["g/h/a/zarr.json", "g/h/zarr.json", "g/zarr.json", "zarr.json"]);
    assert_eq!(stored.document("g/h/zarr.json")["attributes"], json!({"x": 1}));
    assert!(warnings(&stored.open()).is_empty() && stored.strictly().open().array("/g/h/a").is_ok());
    let created = array();
    created.open().create_group("/g", Object::new()).unwrap();
    assert_eq!(created.keys(), ["g/h/a/zarr.json", "g/zarr.json", "zarr.json"]);
    let consolidated = created;
    consolidated.open().consolidate("/").unwrap();
    assert_eq!(walked(&consolidated.open()), ["/", "/g", "/g/h", "/g/h/a"]);
    let erased = array();
    erased.open().erase("/g").unwrap();
    assert_eq!(erased.keys(), [""; 0]);
    let missing = array().open().set_attribute("/x", "x", 1).unwrap_err();
    assert!(matches!(missing, Error::NoNode(_)), "{missing}");
}

/// zarr-python 3 adds only existing documents to consolidated metadata, so groups without a document are missing.
#[test]
fn consolidated_metadata_may_lack_groups() {
    let mut root = gr();
    root["consolidated_metadata"] =
        json!({"kind": "inline", "must_understand": false, "metadata": {"g/h/a": ar(&json!({}))}});
    let stored = Stored::new().json("zarr.json", &root).json("g/h/a/zarr.json", &ar(&json!({})));
    let hierarchy = stored.open();
    assert!(hierarchy.is_consolidated());
    assert_eq!(walked(&hierarchy), ["/", "/g", "/g/h", "/g/h/a"]);
    assert_eq!(names(&hierarchy, "/g"), ["h"]);
    assert!(hierarchy.group("/g/h").unwrap().is_implicit() && hierarchy.exists("/g").unwrap());
    assert!(!hierarchy.exists("/x").unwrap());
    assert_eq!(warnings(&hierarchy).len(), 1);
    assert_eq!(walked(&stored.strictly().open()), ["/", "/g/h/a"]);
}

/// Tests V3-KEY-08.
#[test]
fn v3_takes_precedence_over_v2_with_a_warning() {
    let both = Stored::new().json("zarr.json", &gr()).json(".zgroup", &json!({"zarr_format": 2}));
    let hierarchy = both.open();
    assert_eq!(hierarchy.format(), Format::V3);
    assert_eq!(
        warnings(&hierarchy),
        ["there are also documents of v2; those of v3 are used unless v2 is requested"]
    );
    let array = stored(&json!({})).json(".zarray", &json!({"zarr_format": 2}));
    assert_eq!(array.open().format(), Format::V3);
    assert_eq!(array.array().shape(), [4]);
    let as_v2 =
        Hierarchy::open_with(Arc::clone(&both.store), &both.context, OpenOptions::new().format(Format::V2))
            .unwrap();
    assert_eq!(as_v2.format(), Format::V2);
    assert!(warnings(&Stored::new().json("zarr.json", &gr()).open()).is_empty());
}

/// Tests V3-NAME-06.
#[test]
fn unusual_names_are_created_with_a_warning() {
    let stored = Stored::new().json("zarr.json", &gr());
    let hierarchy = stored.open();
    hierarchy.create_group("/a-b_C.9", Object::new()).unwrap();
    assert!(warnings(&hierarchy).is_empty());
    hierarchy.create_group("/é", Object::new()).unwrap();
    assert_eq!(warnings(&hierarchy).len(), 1);
    assert!(warnings(&hierarchy)[0].contains("the name `é`"));
    assert_eq!(stored.keys(), ["a-b_C.9/zarr.json", "zarr.json", "é/zarr.json"]);
    assert!(stored.strictly().open().group("/é").is_ok());
}

/// Tests V3-NAME-03, V3-NAME-04, V3-NAME-11.
#[test]
fn a_document_with_an_invalid_node_name_is_listed_as_unreadable() {
    let stored = Stored::new()
        .json("zarr.json", &gr())
        .json("__x/zarr.json", &gr())
        .json("__x/inside/zarr.json", &gr())
        .json(".../zarr.json", &ar(&json!({})))
        .json("zarr.json.d/zarr.json", &gr());
    let hierarchy = stored.open();
    let expected =
        [("...", EntryKind::Unreadable), ("__x", EntryKind::Unreadable), ("zarr.json.d", EntryKind::Group)];
    let found = hierarchy.children(NodePath::root()).unwrap();
    let found: Vec<_> = found.iter().map(|child| (child.path.name(), child.kind)).collect();
    assert_eq!(found, expected);
    assert_eq!(walked(&hierarchy), ["/", "/...", "/__x", "/zarr.json.d"]);
    let reserved = NodePath::root().listed_child("__x");
    let Node::Unreadable(unreadable) = hierarchy.node(&reserved).unwrap() else {
        panic!("expected an unreadable node")
    };
    assert!(unreadable.error.to_string().contains("names that begin with `__` are reserved"));
    assert!(hierarchy.group(&reserved).is_err() && hierarchy.array(&reserved).is_err());
    // Consolidated metadata and lists of arrays warn about the nodes that they omit.
    assert!(hierarchy.group("/").unwrap().arrays().unwrap().is_empty());
    hierarchy.consolidate("/").unwrap();
    let told = warnings(&hierarchy).join("\n");
    for part in ["/... is left out: ", "/__x is left out of the consolidated metadata: "] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert_eq!(walked(&stored.open()), ["/", "/zarr.json.d"]);
}

/// Tests V3-NAME-01, V3-NAME-12.
#[test]
fn v3_node_names_may_contain_control_characters() {
    let stored = Stored::new()
        .json("zarr.json", &gr())
        .json("tab\tx/zarr.json", &ar(&json!({})))
        .json("\u{1b}[31m/zarr.json", &gr());
    let hierarchy = stored.open();
    assert_eq!(names(&hierarchy, "/"), ["\u{1b}[31m", "tab\tx"]);
    assert_eq!(hierarchy.array("/tab\tx").unwrap().shape(), [4]);
    let error = hierarchy.array("/\u{1b}[31m").unwrap_err().to_string();
    assert!(error.starts_with(r"/\u{1b}[31m is "), "{error}");
    hierarchy.create_group("/a\nerror: b", Object::new()).unwrap();
    assert!(stored.keys().contains(&"a\nerror: b/zarr.json".to_owned()));
    assert!(warnings(&hierarchy)[0].contains(r"the name `a\nerror: b`"));
}

/// Tests V3-STORE-07.
#[test]
fn children_are_prefixes_with_a_document() {
    let stored = Stored::new()
        .json("zarr.json", &gr())
        .json("a/zarr.json", &gr())
        .json("_b/zarr.json", &gr())
        .json("array/zarr.json", &ar(&json!({})))
        .with("array/c/0", [1; 8])
        .with("stray/file", b"x");
    let counting = Arc::new(CountingStore::new(Arc::clone(&stored.store)));
    let hierarchy = Hierarchy::open(Arc::clone(&counting) as _, &stored.context).unwrap();
    assert_eq!(names(&hierarchy, "/"), ["_b", "a", "array"]);
    drop(counting.take());
    hierarchy.children(NodePath::root()).unwrap();
    let calls = counting.take();
    // The second listing shows that no node is below `stray`, which does not have a document.
    assert_eq!((calls.get("list_dir"), calls.get("list"), calls.get("list_prefix")), (Some(&2), None, None));
    // An array does not have children, and chunks are not nodes.
    assert!(hierarchy.children(hierarchy.path("/array").unwrap()).is_err());
    assert_eq!(walked(&hierarchy), ["/", "/_b", "/a", "/array"]);
}

/// Tests V3-STORE-08.
#[test]
fn a_document_inside_an_array_is_not_a_node() {
    let stored = Stored::new()
        .json("zarr.json", &gr())
        .json("a/zarr.json", &gr())
        .json("a/b/zarr.json", &gr())
        .json("a/b/c/zarr.json", &ar(&json!({})))
        .with("a/b/c/c/0", [1; 8]);
    assert_eq!(walked(&stored.open()), ["/", "/a", "/a/b", "/a/b/c"]);
    stored.set("a/b/c/inner/zarr.json", gr().to_string());
    let hierarchy = stored.open();
    assert_eq!(walked(&hierarchy), ["/", "/a", "/a/b", "/a/b/c"]);
    assert!(warnings(&hierarchy).is_empty());
}

/// A store that ignores the case of letters in keys, like files on Windows and macOS.
#[derive(Debug)]
struct Folding(Arc<dyn Store>);

impl Folding {
    fn key(key: &Key) -> Key {
        Key::new(key.as_str().to_lowercase()).unwrap()
    }
}

impl Store for Folding {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.0.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.0.get(&Self::key(key), options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.0.set(&Self::key(key), value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.erase(&Self::key(key))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        // A file system that folds names lists a folder under any spelling of its name.
        let folded = Prefix::new(prefix.as_str().to_lowercase()).unwrap();
        let keys = self.0.list_prefix(&folded)?;
        let prefix = prefix.clone();
        Ok(Box::new(keys.map(move |key| Ok(prefix.key(folded.strip(key?.as_str()).unwrap()).unwrap()))))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.0.size(&Self::key(key))
    }
}

/// Tests V3-STORE-05.
#[test]
fn names_that_the_file_system_folds_or_rejects_are_errors_and_overwrite_nothing() {
    let stored = Stored::new();
    let folding: Arc<dyn Store> = Arc::new(Folding(Arc::clone(&stored.store)));
    let hierarchy = Hierarchy::create(folding, &stored.context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([4], "int32").chunks([2]);
    hierarchy.create_array("/image", &builder).unwrap();
    let before = stored.document("image/zarr.json");
    let error = hierarchy.create_array("/Image", &ArrayBuilder::new([9], "int8")).unwrap_err();
    assert_eq!(error.to_string(), "cannot create /Image: an array already exists");
    let error = hierarchy.create_group("/IMAGE/g", Object::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot create /IMAGE/g: /IMAGE is an array, and only groups have nodes below them"
    );
    assert_eq!(stored.document("image/zarr.json"), before);

    // A path that is too long: Windows limits the whole path to 260 characters, other systems limit each
    // name.
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(stored.context.registry(), folder.path().to_str().unwrap()).unwrap();
    let hierarchy = Hierarchy::create(store, &stored.context, Format::V3).unwrap();
    hierarchy.create_array("/image", &builder).unwrap();
    let long = "x".repeat(5000);
    let error = hierarchy.create_array(format!("/{long}"), &builder).unwrap_err();
    assert!(matches!(error, Error::Store(_)), "{error}");
    assert!(error.to_string().contains(&long), "{error}");
    assert_eq!(walked(&hierarchy), ["/", "/image"]);
}

/// Another writer may consolidate a group, or replace it by an array, after this handle has cached its state.
#[test]
fn creating_a_node_detects_changes_of_its_group_by_other_writers() {
    let folder = tempfile::tempdir().unwrap();
    for location in ["memory:", folder.path().to_str().unwrap()] {
        let stored = Stored::new();
        let store = open_store(stored.context.registry(), location).unwrap();
        let one = Hierarchy::create(Arc::clone(&store), &stored.context, Format::V3).unwrap();
        for path in ["/g/a", "/g/b"] {
            one.create_group(path, Object::new()).unwrap();
        }
        let other = Hierarchy::open(Arc::clone(&store), &stored.context).unwrap();
        other.consolidate("/").unwrap();
        one.create_group("/g/c", Object::new()).unwrap();
        let consolidated = Hierarchy::open(Arc::clone(&store), &stored.context).unwrap();
        assert_eq!(walked(&consolidated), ["/", "/g", "/g/a", "/g/b", "/g/c"]);

        let key = Key::new("g/zarr.json").unwrap();
        store.set(&key, ar(&json!({})).to_string().as_bytes().into()).unwrap();
        let error = one.create_group("/g/d", Object::new()).unwrap_err();
        assert!(error.to_string().contains("/g is an array"), "{error}");
        store.erase(&key).unwrap();
        one.create_group("/g/d", Object::new()).unwrap();
        assert!(store.size(&key).unwrap().is_some());
    }
}

/// Tests V3-STORE-06.
#[test]
fn missing_parent_groups_of_a_new_node_are_created() {
    let stored = Stored::new();
    let hierarchy = Hierarchy::create(Arc::clone(&stored.store), &stored.context, Format::V3).unwrap();
    hierarchy.create_array("/a/b/c", &ArrayBuilder::new([4], "int32").chunks([2])).unwrap();
    assert_eq!(stored.keys(), ["a/b/c/zarr.json", "a/b/zarr.json", "a/zarr.json", "zarr.json"]);
    for group in ["zarr.json", "a/zarr.json", "a/b/zarr.json"] {
        assert_eq!(stored.document(group)["node_type"], "group");
    }
    hierarchy.create_group("/a/d/e", Object::new()).unwrap();
    assert_eq!(walked(&stored.open()), ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/a/d/e"]);
}

/// Tests V3-STORE-09, V3-CONTRA-05.
#[test]
fn erasing_a_node_keeps_nodes_with_a_longer_name() {
    let stored = Stored::new()
        .json("zarr.json", &gr())
        .json("foo/zarr.json", &gr())
        .json("foo/a/zarr.json", &ar(&json!({})))
        .with("foo/a/c/0", [1; 8])
        .json("foobar/zarr.json", &ar(&json!({})))
        .with("foobar/c/0", [1; 8]);
    let hierarchy = stored.open();
    hierarchy.erase("/foo").unwrap();
    assert_eq!(stored.keys(), ["foobar/c/0", "foobar/zarr.json", "zarr.json"]);
    assert!(hierarchy.exists("/foobar").unwrap());
    assert!(!hierarchy.exists("/foo").unwrap());
    // Keys and prefixes never begin with a slash.
    for wrong in ["/zarr.json", "/foo/zarr.json"] {
        assert!(zarr_kit::spec::Key::new(wrong).is_err(), "{wrong}");
    }
    assert!(zarr_kit::spec::Prefix::new("/foo/").is_err());
    hierarchy.erase("/").unwrap();
    assert_eq!(stored.keys(), [""; 0]);
}

/// Tests V3-STORE-10.
#[test]
fn checking_whether_a_node_exists_takes_one_call() {
    let stored =
        Stored::new().json("zarr.json", &gr()).json("a/zarr.json", &gr()).json("c/d/zarr.json", &gr());
    let counting = Arc::new(CountingStore::new(Arc::clone(&stored.store)));
    let hierarchy = Hierarchy::open(Arc::clone(&counting) as _, &stored.context).unwrap();
    // Without a document, a listing shows whether there are nodes below the path, except in strict mode.
    for (path, there) in [("/a", true), ("/c/d", true), ("/", true)] {
        drop(counting.take());
        assert_eq!(hierarchy.exists(path).unwrap(), there, "{path}");
        let calls = counting.take();
        assert_eq!(
            calls.get("get").copied().unwrap_or_default() + calls.get("size").copied().unwrap_or_default(),
            1
        );
        assert!(calls.keys().all(|call| ["get", "get_many", "size"].contains(call)), "{calls:?}");
    }
}

/// Tests V3-STORE-12.
#[test]
fn resizing_erases_chunks_outside_and_writes_none() {
    let stored = stored(&json!({"fill_value": 9}));
    let mut array = stored.array();
    array.write_values::<i32>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    array.resize(&[2]).unwrap();
    assert_eq!(stored.keys(), ["c/0", "zarr.json"]);
    assert_eq!(stored.document("zarr.json")["shape"], json!([2]));
    array.resize(&[4]).unwrap();
    assert_eq!(stored.keys(), ["c/0", "zarr.json"]);
    assert_eq!(stored.array().read_values::<i32>(&Selection::All).unwrap(), [1, 2, 9, 9]);
}

/// Tests V3-GRP-07.
#[test]
fn consolidated_metadata_are_independent_of_the_documents() {
    let stored = Stored::new().json("zarr.json", &gr()).json("a/zarr.json", &gr());
    let stored = stored.json("a/b/zarr.json", &ar(&json!({})));
    let plain = walked(&stored.open());
    stored.open().consolidate("/").unwrap();
    let without = || {
        let options = OpenOptions::new().consolidated(false);
        Hierarchy::open_with(Arc::clone(&stored.store), &stored.context, options).unwrap()
    };
    assert_eq!(walked(&stored.open()), plain);
    assert_eq!(walked(&without()), plain);
    // Later changes by other writers are only visible without consolidated metadata.
    stored.set("a/new/zarr.json", gr().to_string());
    stored.set("a/b/zarr.json", ar(&json!({"shape": [6]})).to_string());
    assert_eq!(walked(&stored.open()), plain);
    assert!(stored.open().group("/a/new").is_err());
    assert_eq!(stored.open().array("/a/b").unwrap().shape(), [4]);
    assert_eq!(walked(&without()), ["/", "/a", "/a/b", "/a/new"]);
    assert_eq!(without().array("/a/b").unwrap().shape(), [6]);
}

/// Tests V3-GRP-08, V3-CONTRA-11, V3-GRP-04.
#[test]
fn changes_below_a_consolidated_group_update_its_consolidated_metadata() {
    let stored = Stored::new().json("zarr.json", &gr()).json("a/zarr.json", &gr());
    stored.open().consolidate("/").unwrap();
    let copy = || stored.document("zarr.json")["consolidated_metadata"].clone();
    assert_eq!(copy()["kind"], "inline");
    assert_eq!(copy()["must_understand"], false);
    let paths = || copy()["metadata"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(), ["a"]);
    stored.open().create_array("/a/b/c", &ArrayBuilder::new([4], "int32")).unwrap();
    assert_eq!(paths(), ["a", "a/b", "a/b/c"]);
    assert_eq!(stored.open().group("/a/b").unwrap().children().unwrap()[0].kind, EntryKind::Array);
    let mut attributes = Object::new();
    attributes.insert("x", 1);
    stored.open().set_attributes("/a/b", attributes).unwrap();
    assert_eq!(copy()["metadata"]["a/b"]["attributes"], json!({"x": 1}));
    stored.open().array("/a/b/c").unwrap().resize(&[9]).unwrap();
    assert_eq!(copy()["metadata"]["a/b/c"]["shape"], json!([9]));
    stored.open().erase("/a/b").unwrap();
    assert_eq!(paths(), ["a"]);
    // `consolidated_metadata` is the only member that is not an extension object; every other form of it is an error.
    let with = |consolidated| {
        let mut group = gr();
        group["consolidated_metadata"] = consolidated;
        Stored::new().json("zarr.json", &group).strictly()
    };
    assert!(with(copy()).open().group("/").is_ok());
    let other_kind = json!({"must_understand": false, "kind": "elsewhere", "metadata": {}});
    for wrong in [other_kind, json!([]), json!("inline"), json!({"name": "inline", "must_understand": false})]
    {
        assert!(with(wrong.clone()).open().group("/").is_err(), "{wrong}");
    }
}
