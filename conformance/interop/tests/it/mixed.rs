//! Folders that hold two formats, and invalid consolidated metadata: nothing is lost, and no change is
//! partially applied.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fmt::Debug;
use std::sync::Arc;

use zarr_interop::{key, memory, warnings};
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::spec::{Key, Object};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Mode, OpenOptions, Selection};

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;

fn context() -> Context {
    Context::linked().unwrap()
}

fn set(store: &Arc<dyn Store>, at: &str, text: &str) {
    store.set(&key(at), text.as_bytes().into()).unwrap();
}

/// Returns all keys and values.
fn contents(store: &Arc<dyn Store>) -> Vec<(String, Vec<u8>)> {
    let value = |key: &Key| get_value(&**store, key, 1 << 20).unwrap().unwrap().to_vec();
    store.list().unwrap().iter().map(|key| (key.to_string(), value(key))).collect()
}

fn message<T: Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// Writes an array of four elements in the hierarchy of `format` in the store, which may hold other
/// hierarchies.
fn write(store: &Arc<dyn Store>, format: Format, path: &str) {
    let beside = match format {
        Format::V2 => ".zgroup",
        Format::V3 | Format::V3Draft => "zarr.json",
    };
    if store.size(&key(beside)).unwrap().is_none() {
        let alone = Hierarchy::create(memory(), &context(), format).unwrap();
        if format != Format::V3Draft {
            alone.create_group("", Object::new()).unwrap();
        }
        for (at, value) in contents(alone.store()) {
            store.set(&key(&at), (&value).into()).unwrap();
        }
    }
    let hierarchy = open(store, format);
    let array = hierarchy.create_array(path, &ArrayBuilder::new([4], "int16").chunks([2])).unwrap();
    array.write_values::<i16>(&Selection::All, &[1, 2, 3, 4]).unwrap();
}

fn open(store: &Arc<dyn Store>, format: Format) -> Hierarchy {
    Hierarchy::open_with(Arc::clone(store), &context(), OpenOptions::new().format(format)).unwrap()
}

#[test]
fn erasing_a_node_keeps_the_other_format_in_its_folder() {
    for (erased, other, document) in [
        (Format::V3, Format::V2, "S/x/.zarray"),
        (Format::V2, Format::V3, "S/x/zarr.json"),
        (Format::V2, Format::V3Draft, "meta/S/x.array.json"),
    ] {
        let store = memory();
        write(&store, erased, "/S/a");
        write(&store, erased, "/alone");
        write(&store, other, "/S/x");
        if other == Format::V3Draft {
            // Groups of v2 with the names of the draft's two folders.
            write(&store, erased, "/meta/a");
        }
        let before = contents(&store);
        assert!(before.iter().any(|(key, _)| key == document), "{before:?}");
        let group = if other == Format::V3Draft { "/meta" } else { "/S" };
        for path in [group, "/"] {
            let error = message(open(&store, erased).erase(path));
            let names_it = error.contains(&format!("document of {other}"));
            assert!(names_it && error.contains("nothing was erased"), "{error}");
            assert_eq!(contents(&store), before);
        }
        // A node that does not share its folder can be erased.
        open(&store, erased).erase("/alone").unwrap();
        assert!(!open(&store, erased).exists("/alone").unwrap());
        let array = open(&store, other).array("/S/x").unwrap();
        assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3, 4]);
        // A node that exists only in the other format cannot be erased.
        assert!(matches!(open(&store, erased).erase("/S/x"), Err(Error::NoNode(_))));
    }
}

#[test]
fn erasing_from_the_draft_keeps_nodes_of_v2_named_data() {
    let store = memory();
    write(&store, Format::V3Draft, "/g/a");
    write(&store, Format::V2, "/data/g/a");
    let before = contents(&store);
    for path in ["/g/a", "/g", "/"] {
        let error = message(open(&store, Format::V3Draft).erase(path));
        assert!(error.contains("document of v2") && error.contains("nothing was erased"), "{error}");
        // The failed erasure does not create a document for the parent group either.
        message(open(&store, Format::V3Draft).erase_keeping_parent(path));
        assert_eq!(contents(&store), before);
    }
}

#[test]
fn one_format_is_erased_from_the_folders_of_another() {
    for (erased, other) in [
        (Format::V3, Format::V2),
        (Format::V2, Format::V3),
        (Format::V2, Format::V3Draft),
        (Format::V3Draft, Format::V2),
    ] {
        let store = memory();
        write(&store, other, "/S/x");
        write(&store, other, "/S/a");
        if other == Format::V2 {
            // Writes to the folder where the draft stores its chunks.
            write(&store, other, "/data/S/a");
        }
        let wanted = contents(&store);
        for path in ["/S/a", "/S/b/c", "/alone"] {
            write(&store, erased, path);
        }
        let hierarchy = open(&store, erased);
        let mut attributes = Object::new();
        attributes.insert("n", 1);
        hierarchy.set_attributes("/S/a", attributes).unwrap();
        if erased == Format::V2 {
            hierarchy.consolidate("/").unwrap();
        }
        hierarchy.erase_keeping_other_formats("/S/a").unwrap();
        assert!(!hierarchy.exists("/S/a").unwrap() && hierarchy.array("/S/b/c").is_ok(), "{erased}");
        assert!(matches!(hierarchy.erase_keeping_other_formats("/S/a"), Err(Error::NoNode(_))));
        hierarchy.erase_keeping_other_formats("/S").unwrap();
        assert!(open(&store, erased).array("/alone").is_ok(), "{erased}");
        open(&store, erased).erase_keeping_other_formats("/alone").unwrap();
        if !(erased == Format::V3Draft || other == Format::V3Draft) {
            open(&store, erased).erase_keeping_other_formats("/").unwrap();
        }
        let mut left = contents(&store);
        // Ignores root documents of the erased format. If one of the formats is the draft, the root is not erased.
        left.retain(|(key, _)| {
            wanted.iter().any(|(there, _)| there == key)
                || !["zarr.json", ".zgroup", ".zmetadata"].contains(&key.as_str())
        });
        assert_eq!(left, wanted, "{erased} next to {other}");
        for path in ["/S/x", "/S/a"] {
            let array = open(&store, other).array(path).unwrap();
            assert_eq!(array.read_values::<i16>(&Selection::All).unwrap(), [1, 2, 3, 4]);
        }
    }
}

#[test]
fn one_format_is_not_erased_if_chunks_may_belong_to_both() {
    let store = memory();
    write(&store, Format::V2, "/S/a");
    write(&store, Format::V2, "/S/b");
    write(&store, Format::V3, "/S/x");
    let keys = ArrayBuilder::new([4], "int16").chunks([2]).chunk_key_encoding("v2").uncompressed();
    open(&store, Format::V3).create_array("/S/b", &keys).unwrap();
    let before = contents(&store);
    for format in [Format::V2, Format::V3] {
        for path in ["/S/b", "/S", "/"] {
            let error = message(open(&store, format).erase_keeping_other_formats(path));
            assert!(error.contains("`S/b/0` is a chunk of both `S/b/"), "{error}");
            assert!(error.contains("nothing was erased"), "{error}");
        }
        assert_eq!(contents(&store), before);
    }
    // Nodes that do not share a chunk with the other format can be erased.
    open(&store, Format::V2).erase_keeping_other_formats("/S/a").unwrap();
    // An array of the other format may have chunks in folders below its own folder.
    set(&store, "S/.zarray", &ZARRAY.replace('N', "[4,4]").replace('S', "/"));
    let nested = ArrayBuilder::new([4], "int16").chunks([2]).chunk_key_encoding("v2").uncompressed();
    let array = open(&store, Format::V3).create_array("/S/0", &nested).unwrap();
    array.write_values::<i16>(&Selection::All, &[1, 2, 3, 4]).unwrap();
    let error = message(open(&store, Format::V3).erase_keeping_other_formats("/S/0"));
    assert!(error.contains("`S/0/0` is a chunk of both `S/0/zarr.json` and `S/.zarray`"), "{error}");
    // An unreadable document does not reveal which chunks belong to it.
    set(&store, "S/.zarray", "{");
    let error = message(open(&store, Format::V3).erase_keeping_other_formats("/S/x"));
    assert!(error.contains("`S/.zarray` does not determine which chunks belong to it"), "{error}");
    assert!(open(&store, Format::V3).array("/S/x").is_ok());
}

const ZARRAY: &str = r#"{"zarr_format":2,"shape":N,"chunks":N,"dtype":"<i2","compressor":null,"fill_value":0,"order":"C",
    "filters":null,"dimension_separator":"S"}"#;

/// Creates a root with the consolidated metadata `copied`.
fn consolidated(copied: &str) -> Arc<dyn Store> {
    let store = memory();
    let root = GROUP.replace(
        "{}}",
        &format!(
            r#"{{}},"consolidated_metadata":{{"kind":"inline","must_understand":false,"metadata":{copied}}}}}"#
        ),
    );
    set(&store, "zarr.json", &root);
    set(&store, "a/zarr.json", GROUP);
    store
}

#[test]
fn only_the_invalid_path_of_consolidated_metadata_is_ignored() {
    let store = consolidated(&format!(r#"{{"a":{GROUP},"a//b":{GROUP}}}"#));
    // This group is missing from the consolidated metadata. A reader that finds the group ignores the consolidated
    // metadata.
    set(&store, "later/zarr.json", GROUP);
    let hierarchy = open(&store, Format::V3);
    let named = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("a//b"));
    assert!(named(&warnings(&hierarchy)), "{:?}", warnings(&hierarchy));
    assert!(hierarchy.group("/a").is_ok() && hierarchy.group("/").is_ok());
    assert!(matches!(hierarchy.group("/later"), Err(Error::NoNode(_))));
    hierarchy.create_array("/n", &ArrayBuilder::new([4], "int16")).unwrap();
    let again = open(&store, Format::V3);
    assert!(again.array("/n").is_ok());
    assert!(!named(&warnings(&again)), "{:?}", warnings(&again));
}

#[test]
fn nothing_is_written_if_consolidated_metadata_cannot_be_updated() {
    let store = consolidated(&format!(r#"{{"a":{GROUP},"a//b":{GROUP}}}"#));
    set(&store, "a/x/zarr.json", GROUP);
    let before = contents(&store);
    let builder = ArrayBuilder::new([4], "int16");
    for (context, copied) in [
        (context().with_mode(Mode::Strict), format!(r#"{{"a":{GROUP},"a//b":{GROUP}}}"#)),
        (context(), r#"{"a":5}"#.to_owned()),
        (context(), "[]".to_owned()),
    ] {
        let root = get_value(&*consolidated(&copied), &key("zarr.json"), 1 << 20).unwrap().unwrap();
        store.set(&key("zarr.json"), (&root).into()).unwrap();
        let before: Vec<_> = before
            .iter()
            .map(|(at, value)| (at.clone(), if at == "zarr.json" { root.to_vec() } else { value.clone() }))
            .collect();
        let options = OpenOptions::new().format(Format::V3).consolidated(false);
        let hierarchy = Hierarchy::open_with(Arc::clone(&store), &context, options).unwrap();
        let mut attributes = Object::new();
        attributes.insert("x", 1);
        let errors = [
            message(hierarchy.create_array("/n", &builder)),
            message(hierarchy.create_array("/a/x/n", &builder)),
            message(hierarchy.set_attributes("/a", attributes)),
            message(hierarchy.erase("/a/x")),
            message(hierarchy.consolidate("/a")),
        ];
        for error in errors {
            assert!(error.contains("document `zarr.json`: `consolidated_metadata"), "{error}");
        }
        assert_eq!(contents(&store), before, "{copied}");
    }
}

#[test]
fn creating_a_draft_again_requires_the_same_encoding() {
    let context = context();
    for (encoding, other) in [("json", "cbor"), ("cbor", "json")] {
        let store = memory();
        let same = Hierarchy::draft_entry_point(context.registry(), encoding).unwrap();
        let create = |point| Hierarchy::create_draft(Arc::clone(&store), &context, point);
        create(&same).unwrap().create_group("/a", Object::new()).unwrap();
        let before = contents(&store);
        let again = create(&same).unwrap();
        assert!(again.group("/a").is_ok());
        assert_eq!(contents(&store), before);
        again.create_group("/b", Object::new()).unwrap();
        assert!(again.exists("/b").unwrap());

        let error = message(create(&Hierarchy::draft_entry_point(context.registry(), other).unwrap()));
        assert!(error.contains("already holds a hierarchy of v3-draft"), "{error}");
        assert!(error.contains(&same.metadata_encoding.identifier), "{error}");
    }
}

#[test]
fn descriptions_do_not_contain_parentheses() {
    let entry_points = [
        (
            "https://purl.org/zarr/spec/core/3.0",
            r#"{"type":"json","metadata_key_suffix":".json"}"#,
            "v3-draft",
        ),
        (
            "https://purl.org/zarr/spec/core/3.1",
            r#"{"type":"json","metadata_key_suffix":".json"}"#,
            "v3-draft, version 3.1",
        ),
        (
            "https://purl.org/zarr/spec/protocol/core/3.0",
            r#""https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json""#,
            "v3-draft, generation A",
        ),
    ];
    for (version, encoding, wanted) in entry_points {
        let store = memory();
        let document =
            format!(r#"{{"zarr_format":"{version}","metadata_encoding":{encoding},"extensions":[]}}"#);
        set(&store, "zarr.json", &document);
        let description = open(&store, Format::V3Draft).description();
        assert!(description.starts_with(wanted), "{description}");
        assert!(!description.contains(['(', ')']), "{description}");
    }
}
