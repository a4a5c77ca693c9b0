//! Hierarchies of the draft with documents in encodings other than JSON, and hierarchies that list their own
//! nodes for stores that cannot list.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::stores::MinimalStore;
use zarr_interop::{memory, warnings};
use zarr_kit::metadata::NodeMetadata;
use zarr_kit::metadata::draft::EntryPoint;
use zarr_kit::spec::extension::ExtensionDocument;
use zarr_kit::spec::store::{Capabilities, Store, get_value};
use zarr_kit::spec::{Key, Object, Value};
use zarr_kit::{ArrayBuilder, Context, EntryKind, Format, Hierarchy, Mode, Selection, json};

const NODE_INDEX: &str = "https://zarr-kit.example/spec/extensions/node-index/1.0";

fn context() -> Context {
    Context::linked().unwrap().with_mode(Mode::Strict)
}

fn unlisted() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL.unlistable()))
}

fn value(text: &str) -> Value {
    json::parse(text.as_bytes(), &json::ParseOptions::default()).unwrap().value
}

fn object(text: &str) -> Object {
    value(text).as_object().unwrap().clone()
}

fn get(store: &dyn Store, key: &str) -> Vec<u8> {
    get_value(store, &Key::new(key).unwrap(), 1 << 20).unwrap().unwrap().into()
}

fn keys(store: &dyn Store) -> Vec<String> {
    store.list().unwrap().iter().map(ToString::to_string).collect()
}

/// Numbers of every kind, with the members in an unusual order.
const ATTRIBUTES: &str = r#"{"z": 9007199254740993, "a": [18446744073709551616, -0.0, 1e400, 1.50, 1E5],
    "nested": {"": null, "µ": "\u0000😀", "yes": true, "no": false, "empty": [{}, []]}, "big":
    340282366920938463463374607431768211457}"#;

/// Types and fill values of every kind.
const ARRAYS: &[(&str, &str)] = &[
    ("bool", "true"),
    ("int8", "-128"),
    ("int64", "-9223372036854775808"),
    ("uint64", "18446744073709551615"),
    ("float32", "\"NaN\""),
    ("float64", "\"0x7ff8000000000001\""),
    ("float64", "\"-Infinity\""),
    ("float64", "0.1"),
    ("uint16", "7"),
];

/// Creates groups with and without documents, and all the arrays; writes numbers to the last array.
fn fill(hierarchy: &Hierarchy) {
    hierarchy.create_group("/", object(ATTRIBUTES)).unwrap();
    hierarchy.create_group("/g", object("{}")).unwrap();
    for (number, (data_type, fill_value)) in ARRAYS.iter().enumerate() {
        let builder = ArrayBuilder::new([3, 5], *data_type)
            .chunks([2, 2])
            .fill_value(value(fill_value))
            .attributes(object(ATTRIBUTES));
        hierarchy.create_array(format!("/g/implicit/a{number}"), &builder).unwrap();
    }
    let numbers: Vec<u16> = (0..15).collect();
    let array = hierarchy.array(format!("/g/implicit/a{}", ARRAYS.len() - 1)).unwrap();
    array.write_values::<u16>(&Selection::All, &numbers).unwrap();
}

/// Returns every node and its metadata, with members in their order.
fn documents(hierarchy: &Hierarchy) -> Vec<(String, EntryKind, String)> {
    let nodes = hierarchy.walk(hierarchy.path("/").unwrap()).unwrap();
    let mut documents: Vec<_> = nodes
        .into_iter()
        .map(|node| {
            let path = node.path.to_string();
            let metadata = hierarchy.metadata(&path).unwrap();
            (path, node.kind, format!("{metadata:?}"))
        })
        .collect();
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    documents
}

/// Copies the documents and the values of all arrays to a new hierarchy.
fn converted(source: &Hierarchy, encoding: &str) -> Hierarchy {
    let entry_point = Hierarchy::draft_entry_point(context().registry(), encoding).unwrap();
    let target = Hierarchy::create_draft(memory(), &context(), &entry_point).unwrap();
    for node in source.walk(source.path("/").unwrap()).unwrap() {
        let path = node.path.to_string();
        match source.metadata(&path).unwrap() {
            NodeMetadata::Group(group) if node.kind == EntryKind::Group => {
                target.create_group(&path, group.attributes).unwrap();
            }
            NodeMetadata::Group(_) => {}
            NodeMetadata::Array(metadata) => {
                let array = target.prepare_array(&path, *metadata).unwrap();
                target.publish_array(&array).unwrap();
                let original = source.array(&path).unwrap();
                for index in original.stored_chunks().unwrap() {
                    let chunk = original.read_encoded_chunk(&index).unwrap().unwrap();
                    array.write_encoded_chunk(&index, &chunk).unwrap();
                }
            }
        }
    }
    target
}

/// Tests D3-DOC-03, D3-META-12, D3-META-13, D3-KEY-01.
#[test]
fn a_hierarchy_in_any_encoding_is_converted_without_loss() {
    let in_json = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    fill(&in_json);
    for name in ["cbor", "msgpack"] {
        let entry_point = Hierarchy::draft_entry_point(context().registry(), name).unwrap();
        let created = Hierarchy::create_draft(memory(), &context(), &entry_point).unwrap();
        fill(&created);
        let suffix = format!(".{name}");
        for key in keys(&**created.store()) {
            let wanted = if key == "zarr.json" || key.starts_with("data/") { "" } else { &suffix };
            assert!(key.ends_with(wanted), "{key}");
        }
        assert!(keys(&**created.store()).contains(&format!("meta/g/implicit/a0.array.{name}")));
        let uri = format!("https://zarr-kit.example/spec/metadata-encodings/{name}/1.0");
        assert_eq!(
            value(std::str::from_utf8(&get(&**created.store(), "zarr.json")).unwrap())
                .as_object()
                .unwrap()
                .get("metadata_encoding"),
            Some(&value(&format!(
                r#"{{"extension": "{uri}", "type": "{name}", "metadata_key_suffix": "{suffix}"}}"#
            )))
        );

        // A new handle detects the encoding from the entry point.
        let opened = Hierarchy::open(Arc::clone(created.store()), &context()).unwrap();
        assert_eq!(documents(&opened), documents(&in_json));
        assert_eq!(warnings(&opened), Vec::<String>::new());
        let numbers = opened.array(format!("/g/implicit/a{}", ARRAYS.len() - 1)).unwrap();
        let wanted: Vec<u16> = (0..15).collect();
        assert_eq!(numbers.read_values::<u16>(&Selection::All).unwrap(), wanted);

        // A conversion to JSON gives the bytes of the hierarchy that was created in JSON. A conversion back gives the
        // original bytes.
        let to_json = converted(&opened, "json");
        let back = converted(&to_json, name);
        for (one, other) in [(&to_json, &in_json), (&back, &opened)] {
            assert_eq!(keys(&**one.store()), keys(&**other.store()));
            for key in keys(&**one.store()) {
                assert_eq!(get(&**one.store(), &key), get(&**other.store(), &key), "{key}");
            }
        }

        // The attributes of an existing group can be replaced, and the group can be erased.
        opened.set_attributes("/g", object(ATTRIBUTES)).unwrap();
        assert_eq!(*opened.group("/g").unwrap().attributes(), object(ATTRIBUTES));
        opened.erase("/g").unwrap();
        assert_eq!(documents(&opened).len(), 1);
    }
}

/// Tests D3-META-12, D3-META-13.
#[test]
fn an_unknown_or_incomplete_encoding_is_an_error() {
    let uri = "https://zarr-kit.example/spec/metadata-encodings/cbor/1.0";
    let open = |encoding: &str| {
        let store = memory();
        let document = format!(
            r#"{{"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": {encoding},
                 "extensions": []}}"#
        );
        store.set(&Key::new("zarr.json").unwrap(), document.as_bytes().into()).unwrap();
        Hierarchy::open(store, &context()).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(
        open(&format!(r#"{{"extension": "{uri}", "type": "cbor", "metadata_key_suffix": ".cbor"}}"#)),
        Ok(())
    );
    for wrong in [
        format!(r#"{{"extension": "{uri}", "type": "cbor"}}"#),
        format!(r#"{{"extension": "{uri}", "metadata_key_suffix": ".cbor"}}"#),
        format!(r#"{{"extension": "{uri}", "type": 1, "metadata_key_suffix": ".cbor"}}"#),
        r#"{"type": "cbor", "metadata_key_suffix": ".cbor"}"#.to_owned(),
        r#"{"extension": "https://e.org/enc/1", "type": "cbor", "metadata_key_suffix": ".cbor"}"#.to_owned(),
    ] {
        assert!(open(&wrong).unwrap_err().contains("metadata_encoding"), "{wrong}");
    }
}

#[test]
fn the_error_of_a_damaged_document_names_it() {
    for name in ["cbor", "msgpack"] {
        let entry_point = Hierarchy::draft_entry_point(context().registry(), name).unwrap();
        let hierarchy = Hierarchy::create_draft(memory(), &context(), &entry_point).unwrap();
        hierarchy.create_array("/a", &ArrayBuilder::new([1], "int8")).unwrap();
        let key = format!("meta/a.array.{name}");
        let whole = get(&**hierarchy.store(), &key);
        for end in 0..whole.len() {
            hierarchy.store().set(&Key::new(key.as_str()).unwrap(), (&whole[..end]).into()).unwrap();
            let error = hierarchy.array("/a").unwrap_err().to_string();
            assert!(error.contains(&key), "{error}");
        }
    }
}

/// Returns the entry point of a hierarchy that lists its nodes, with documents in `encoding`.
fn indexed(encoding: &str) -> EntryPoint {
    let index = ExtensionDocument::new(NODE_INDEX, Value::Null).with_must_understand(false);
    Hierarchy::draft_entry_point(context().registry(), encoding).unwrap().with_extensions(vec![index])
}

#[test]
fn a_node_index_makes_hierarchies_in_unlistable_stores_explorable() {
    for encoding in ["json", "cbor"] {
        let listed = Hierarchy::create_draft(memory(), &context(), &indexed(encoding)).unwrap();
        let unlisted = Hierarchy::create_draft(unlisted(), &context(), &indexed(encoding)).unwrap();
        for hierarchy in [&listed, &unlisted] {
            let root = hierarchy.path("/").unwrap();
            assert_eq!(hierarchy.children(&root).unwrap(), []);
            fill(hierarchy);
        }
        assert_eq!(documents(&unlisted), documents(&listed));
        let index = format!("node-index.{encoding}");
        assert_eq!(get(&**unlisted.store(), &index), get(&**listed.store(), &index));

        // Nodes that existed before opening are found, too.
        let opened = Hierarchy::open(Arc::clone(unlisted.store()), &context()).unwrap();
        for path in ["/", "/g", "/g/implicit"] {
            let path = opened.path(path).unwrap();
            assert_eq!(opened.children(&path).unwrap(), listed.children(&path).unwrap());
            assert_eq!(opened.walk(&path).unwrap(), listed.walk(&path).unwrap());
        }
        assert!(opened.group("/g/implicit").unwrap().is_implicit());
        assert!(!opened.exists("/g/nothing").unwrap());
        assert!(opened.children(opened.path("/g/implicit/a0").unwrap()).is_err());

        // An implicit group becomes explicit, and nodes are erased.
        opened.set_attributes("/g/implicit", Object::new()).unwrap();
        assert!(!opened.group("/g/implicit").unwrap().is_implicit());
        listed.erase("/g/implicit/a0").unwrap();
        let text = String::from_utf8_lossy(&get(&**listed.store(), &index)).into_owned();
        assert!(!text.contains("/g/implicit/a0") && text.contains("/g/implicit/a1"), "{text}");
        listed.erase("/g").unwrap();
        let text = String::from_utf8_lossy(&get(&**listed.store(), &index)).into_owned();
        assert!(!text.contains("/g") && text.contains("group"), "{text}");
    }
}

#[test]
fn the_node_index_is_a_plain_document() {
    let hierarchy = Hierarchy::create_draft(unlisted(), &context(), &indexed("json")).unwrap();
    hierarchy.create_group("/g", Object::new()).unwrap();
    hierarchy.create_array("/g/a", &ArrayBuilder::new([1], "int8")).unwrap();
    let document = get(&**hierarchy.store(), "node-index.json");
    assert_eq!(
        value(std::str::from_utf8(&document).unwrap()),
        value(r#"{"nodes": {"/g": "group", "/g/a": "array"}}"#)
    );
    let set = |text: &str| {
        hierarchy.store().set(&Key::new("node-index.json").unwrap(), text.as_bytes().into()).unwrap();
        let root = hierarchy.path("/").unwrap();
        hierarchy.walk(&root).map(|nodes| nodes.len()).map_err(|error| error.to_string())
    };
    assert_eq!(set(r#"{"nodes": {"/x/y": "array"}}"#), Ok(3));
    for wrong in [
        "[]",
        "{",
        "{}",
        r#"{"nodes": []}"#,
        r#"{"nodes": {"/x": "folder"}}"#,
        r#"{"nodes": {"x//y": "array"}}"#,
        r#"{"nodes": {}, "more": 1}"#,
    ] {
        assert!(set(wrong).unwrap_err().contains("node-index.json"), "{wrong}");
    }
}

#[test]
fn without_a_node_index_an_unlistable_store_cannot_be_explored() {
    let hierarchy = Hierarchy::create(unlisted(), &context(), Format::V3Draft).unwrap();
    hierarchy.create_group("/g", Object::new()).unwrap();
    let error = hierarchy.children(hierarchy.path("/").unwrap()).unwrap_err().to_string();
    assert!(error.contains("not listable"), "{error}");
    assert!(hierarchy.group("/g").is_ok());
}

#[test]
fn an_extension_of_an_array_provides_the_dimension_names() {
    let hierarchy = Hierarchy::create(memory(), &context(), Format::V3Draft).unwrap();
    let extension = |must_understand: bool, names: &str| {
        value(&format!(
            r#"{{"extension": "https://zarr-kit.example/spec/extensions/dimension-names/1.0",
                 "must_understand": {must_understand}, "configuration": {{"names": {names}}}}}"#
        ))
    };
    for (path, must_understand) in [("/a", false), ("/b", true)] {
        let builder =
            ArrayBuilder::new([2, 3], "int8").extension(extension(must_understand, r#"["y", null]"#));
        hierarchy.create_array(path, &builder).unwrap();
        let array = hierarchy.array(path).unwrap();
        assert_eq!(array.dimension_names(), Some(&[Some("y".to_owned()), None][..]));
    }
    let wrong = ArrayBuilder::new([2, 3], "int8").extension(extension(false, r#"["y"]"#));
    assert!(hierarchy.create_array("/c", &wrong).unwrap_err().to_string().contains("`names`"));
}
