//! The messages of the engine.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect_file;
use zarr_kit::spec::Key;
use zarr_kit::spec::store::{Store, get_value};
use zarr_kit::stores::{FilesystemStore, MemoryStore, ReadOnlyStore};
use zarr_kit::{ArrayBuilder, Context, Error, Format, Hierarchy, Limits, Progress, Selection, open_store};

use super::Messages;

/// A v3 array of int16 with one codec.
const ARRAY: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [6, 4], "data_type": "int16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 5}}]}"#;
const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

/// Returns the name of the variant. A new variant does not have a name until it has an example below.
fn variant(error: &Error) -> &'static str {
    match error {
        Error::Store(_) => "Store",
        Error::NoHierarchy(_) => "NoHierarchy",
        Error::Document(_) => "Document",
        Error::NoNode(_) => "NoNode",
        Error::WrongKind(_) => "WrongKind",
        Error::InTheWay(_) => "InTheWay",
        Error::OtherFormat(_) => "OtherFormat",
        Error::NotUnderstood(_) => "NotUnderstood",
        Error::Chunk(_) => "Chunk",
        Error::OverBudget(_) => "OverBudget",
        Error::UndefinedFillValue(_) => "UndefinedFillValue",
        Error::Selection(_) => "Selection",
        Error::Elements(_) => "Elements",
        Error::NotSupported(_) => "NotSupported",
        Error::NotInFormat(_) => "NotInFormat",
        Error::Invalid(_) => "Invalid",
        Error::MissingPlugins(_) => "MissingPlugins",
        Error::DataType(_) => "DataType",
        Error::Cancelled => "Cancelled",
        other => panic!("no example of {other:?}"),
    }
}

/// The number of variants, except `Memory`, which needs a system without free memory, and `ChunkKey`, which needs a
/// chunk key encoding that fails.
const VARIANTS: usize = 19;

fn context() -> Context {
    Context::linked().unwrap()
}

/// Returns a store with a root group and these documents or chunks.
fn store(values: &[(&str, &[u8])]) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    for (key, value) in [("zarr.json", GROUP.as_bytes())].iter().chain(values) {
        store.set(&Key::new(*key).unwrap(), (*value).into()).unwrap();
    }
    store
}

fn hierarchy(values: &[(&str, &[u8])]) -> Hierarchy {
    Hierarchy::open(store(values), &context()).unwrap()
}

fn with_array(document: &str) -> Hierarchy {
    hierarchy(&[("a/zarr.json", document.as_bytes())])
}

#[test]
fn messages_of_the_engine_are_in_the_snapshot() {
    let mut messages = Messages::new(|error| error.downcast_ref().map(variant));
    of_hierarchies(&mut messages);
    of_documents(&mut messages);
    of_elements(&mut messages);
    of_new_arrays(&mut messages);
    assert_eq!(messages.kinds.len(), VARIANTS, "{:?}", messages.kinds);
    expect_file!["../snapshots/zarr-engine.txt"].assert_eq(&messages.text);
}

fn of_hierarchies(messages: &mut Messages) {
    let empty = Arc::new(MemoryStore::new());
    messages.add("opening an empty store", Hierarchy::open(Arc::clone(&empty) as _, &context()));
    messages
        .add("opening a store of an unknown scheme", open_store(context().registry(), "tape://drive/a.zarr"));
    messages.add(
        "opening a folder that does not exist",
        open_store(context().registry(), "file:///nowhere/at/all.zarr")
            .and_then(|store| Hierarchy::open(store, &context())),
    );
    let hierarchy = with_array(ARRAY);
    messages.add("opening a node that does not exist", hierarchy.array("/b"));
    messages.add("opening an array as a group", hierarchy.group("/a"));
    messages.add("opening a group as an array", hierarchy.array("/"));
    let builder = ArrayBuilder::new([4], "int8");
    messages.add("creating an array where one is", hierarchy.create_array("/a", &builder));
    messages.add("creating an array below an array", hierarchy.create_array("/a/b", &builder));
    messages.add("opening a path with an empty name", hierarchy.array("/a//b"));
    let both = self::hierarchy(&[("a/zarr.json", GROUP.as_bytes()), ("a/.zgroup", br#"{"zarr_format": 2}"#)]);
    messages.add("erasing a node next to a node of another format", both.erase("/a"));
    let read_only = ReadOnlyStore::new(store(&[("a/zarr.json", ARRAY.as_bytes())]));
    let read_only = Hierarchy::open(Arc::new(read_only), &context()).unwrap();
    messages.add("creating an array in a read-only store", read_only.create_array("/b", &builder));
    let array = read_only.array("/a").unwrap();
    messages.add("writing to a read-only store", array.write_values(&Selection::All, &[1_i16; 24]));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors.zarr");
    let local = Arc::new(FilesystemStore::open(folder).unwrap());
    let local = Hierarchy::create(local, &context(), Format::V2).unwrap();
    messages.add("creating a name that the store reserves", local.create_array("/.zarr-tmp-a", &builder));
}

fn of_documents(messages: &mut Messages) {
    for (what, from, to) in [
        ("a document with a syntax error", "\"zarr_format\": 3,", "\"zarr_format\": 3,,"),
        ("a document without a shape", "\"shape\": [6, 4],", ""),
        ("a document with an unknown member", "\"shape\"", "\"colour\": \"red\", \"shape\""),
        ("a document of a later format", "\"zarr_format\": 3", "\"zarr_format\": 4"),
        ("an unknown codec", "\"gzip\"", "\"gzipp\""),
        ("an unknown data type", "int16", "int17"),
        ("a configuration out of range", "\"level\": 5", "\"level\": 11"),
        ("a configuration with an unknown member", "\"level\": 5", "\"levels\": 5"),
        ("a fill value out of range", "\"fill_value\": 7", "\"fill_value\": 70000"),
        ("chunks of another rank", "[3, 4]", "[3, 4, 1]"),
        (
            "an unknown storage transformer",
            "\"fill_value\": 7",
            "\"fill_value\": 7, \"storage_transformers\": [{\"name\": \"mirror\"}]",
        ),
    ] {
        let changed = ARRAY.replacen(from, to, 1);
        assert_ne!(changed, ARRAY, "{what}");
        messages.add(what, with_array(&changed).array("/a"));
    }
    let store = Arc::new(MemoryStore::new());
    let draft = Hierarchy::create(Arc::clone(&store) as _, &context(), Format::V3Draft).unwrap();
    draft.create_array("/a", &ArrayBuilder::new([2], "int8").fill_value(5)).unwrap();
    let key = Key::new("meta/a.array.json").unwrap();
    let document = String::from_utf8(get_value(&*store, &key, 10_000).unwrap().unwrap().to_vec()).unwrap();
    let without = document.replace("\"fill_value\": 5", "\"fill_value\": null");
    assert_ne!(without, document);
    store.set(&key, without.as_bytes().into()).unwrap();
    let array = Hierarchy::open(store, &context()).unwrap().array("/a").unwrap();
    messages.add("a missing chunk of an array without a fill value", array.read(&Selection::All));
}

fn of_elements(messages: &mut Messages) {
    let array = with_array(ARRAY).array("/a").unwrap();
    messages.add("an index outside of the array", Selection::parse("6,0", array.shape()));
    messages.add("a selection with too many dimensions", array.read([0..1, 0..1, 0..1]));
    messages.add("a range outside of the array", array.read([0..7, 0..1]));
    messages.add("a malformed selection", Selection::parse("0:x", array.shape()));
    messages.add("reading as another type", array.read_values::<f32>(&Selection::All));
    messages.add("writing too few elements", array.write_values(&Selection::All, &[1_i16, 2]));
    let damaged = hierarchy(&[("a/zarr.json", ARRAY.as_bytes()), ("a/c/1/0", b"not gzip")]);
    messages.add("a damaged chunk", damaged.array("/a").unwrap().read(&Selection::All));
    let with_wrong_checksum =
        [31_u8, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1, 2, 0, 253, 255, 65, 66, 120, 247, 76, 48, 2, 0, 0, 0];
    let changed = hierarchy(&[("a/zarr.json", ARRAY.as_bytes()), ("a/c/0/0", &with_wrong_checksum)]);
    messages.add("a chunk with a wrong checksum", changed.array("/a").unwrap().read(&Selection::All));
    let little = context().with_limits(Limits::new().with_memory(16));
    let values: &[(&str, &[u8])] = &[("a/zarr.json", ARRAY.as_bytes()), ("a/c/0/0", b"x")];
    let small = Hierarchy::open(store(values), &little).unwrap();
    messages.add("a chunk that exceeds the memory budget", small.array("/a").unwrap().read(&Selection::All));
    let progress = Progress::new();
    progress.cancel();
    let cancelled = damaged.array("/a").unwrap().with_progress(&progress);
    messages.add("a cancelled read", cancelled.read(&Selection::All));
}

fn of_new_arrays(messages: &mut Messages) {
    let v3 = with_array(ARRAY);
    let create = |builder: &ArrayBuilder| v3.create_array("/new", builder);
    let builder = || ArrayBuilder::new([6, 4], "int16");
    messages.add("creating with chunks of another rank", create(&builder().chunks([3])));
    messages.add("creating with chunks of no elements", create(&builder().chunks([0, 4])));
    messages
        .add("creating with shards that are not multiples", create(&builder().chunks([3, 4]).shards([4, 4])));
    messages.add("creating with an unknown codec", create(&builder().codec("zstdd")));
    messages.add("creating with an unknown data type", create(&ArrayBuilder::new([6], "integer16")));
    messages.add("creating with a fill value of another type", create(&builder().fill_value("red")));
    messages.add("creating with a fill value out of range", create(&builder().fill_value(40_000)));
    messages.add("creating with too few dimension names", create(&builder().dimension_names(["x"])));
    let v2 = Hierarchy::create(Arc::new(MemoryStore::new()), &context(), Format::V2).unwrap();
    messages.add("creating shards in v2", v2.create_array("/a", &builder().chunks([3, 4]).shards([6, 4])));
    messages.add("creating a name that v3 reserves", v3.create_array("/__a", &builder()));
    messages.add("resizing to another rank", v3.array("/a").unwrap().resize(&[6]));
}
