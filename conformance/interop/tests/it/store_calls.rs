//! The number of store calls of each operation.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use zarr_interop::documents::entry_point;
use zarr_interop::{Calls, CountingStore, FarStore};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::spec::{Key, Object};
use zarr_kit::{Array, ArrayBuilder, Context, Error, Format, Hierarchy, Selection, open_store};

struct Counted {
    store: Arc<CountingStore>,
    context: Context,
}

impl Counted {
    /// Creates a store with these documents.
    fn new(documents: &[(&str, serde_json::Value)]) -> Self {
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), "memory:").unwrap();
        for (key, document) in documents {
            store.set(&Key::new((*key).to_owned()).unwrap(), document.to_string().as_bytes().into()).unwrap();
        }
        Self { store: Arc::new(CountingStore::new(store)), context }
    }

    fn open(&self) -> Hierarchy {
        let store: Arc<dyn Store> = Arc::<CountingStore>::clone(&self.store);
        Hierarchy::open(store, &self.context).unwrap()
    }

    /// Returns the result of `work` and the calls that it makes.
    fn calls<T>(&self, work: impl FnOnce() -> T) -> (T, Calls) {
        let _before = self.store.take();
        let result = work();
        (result, self.store.take())
    }
}

fn total(calls: &Calls) -> usize {
    calls.iter().filter(|(name, _)| **name != "get_many").map(|(_, count)| count).sum()
}

fn v3_array(shape: &[u64], chunk: &[u64], codecs: &serde_json::Value) -> serde_json::Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    })
}

fn group() -> serde_json::Value {
    json!({"zarr_format": 3, "node_type": "group"})
}

fn v3(codecs: &serde_json::Value) -> Counted {
    let array = v3_array(&[8, 8], &[4, 4], codecs);
    Counted::new(&[
        ("zarr.json", group()),
        ("a/zarr.json", array),
        ("g/zarr.json", group()),
        ("g/x/zarr.json", group()),
    ])
}

fn sharded() -> serde_json::Value {
    let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 2], "codecs": [{"name": "bytes"}], "index_codecs": index,
    }}])
}

fn filled(counted: &Counted) -> Array {
    let array = counted.open().array("/a").unwrap();
    array.write_values::<u8>(&Selection::All, &(1..=64).collect::<Vec<_>>()).unwrap();
    counted.open().array("/a").unwrap()
}

fn read(array: &Array, selection: &str) {
    array.read(Selection::parse(selection, array.shape()).unwrap()).unwrap();
}

#[test]
fn detecting_a_hierarchy_takes_few_calls_and_opening_a_v3_node_one_more() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let (hierarchy, calls) = counted.calls(|| counted.open());
    // Reads `zarr.json`, and the three documents of v2 that may be next to it.
    assert!(total(&calls) <= 4, "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.array("/a").unwrap());
    assert_eq!(total(&calls), 1, "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.group("/g").unwrap());
    assert_eq!(total(&calls), 1, "{calls:?}");
}

/// Tests V3-STORE-10.
#[test]
fn checking_whether_a_v3_node_exists_takes_one_call() {
    let counted = v3(&json!([{"name": "bytes"}]));
    counted.store.set(&Key::new("h/x/zarr.json").unwrap(), group().to_string().as_bytes().into()).unwrap();
    let hierarchy = counted.open();
    for (path, there, wanted) in
        [("/a", true, 1), ("/g", true, 1), ("/g/x", true, 1), ("/none", false, 2), ("/h", true, 4)]
    {
        // Without a document, listings show whether there are nodes below the path, except in strict mode.
        let (found, calls) = counted.calls(|| hierarchy.exists(path).unwrap());
        assert_eq!((found, total(&calls)), (there, wanted), "{path}: {calls:?}");
    }
}

#[test]
fn checking_whether_a_draft_node_exists_takes_at_most_three_calls() {
    let array = json!({
        "shape": [3], "data_type": "int16", "chunk_memory_layout": "C", "fill_value": 7, "extensions": [],
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"}, "attributes": {}, "codecs": [],
    });
    let group = json!({"extensions": [], "attributes": {}});
    let counted = Counted::new(&[
        ("zarr.json", entry_point()),
        ("meta/a.array.json", array.clone()),
        ("meta/g.group.json", group),
        ("meta/i/a.array.json", array),
    ]);
    let hierarchy = counted.open();
    for (path, there, wanted) in [("/a", true, 1), ("/g", true, 2), ("/i", true, 3), ("/none", false, 3)] {
        let (found, calls) = counted.calls(|| hierarchy.exists(path).unwrap());
        assert_eq!((found, total(&calls)), (there, wanted), "{path}: {calls:?}");
    }
}

#[test]
fn reading_takes_one_call_for_each_chunk() {
    for codecs in [
        json!([{"name": "bytes"}]),
        json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]),
        json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}]),
    ] {
        let counted = v3(&codecs);
        let array = filled(&counted);
        for (selection, chunks) in
            [("0:4,0:4", 1), ("1,1", 1), ("3:5,3:5", 4), (":,:", 4), ("1:4,6", 1), ("0:0,:", 0)]
        {
            let (_, calls) = counted.calls(|| read(&array, selection));
            assert_eq!(
                (calls.get("get").copied().unwrap_or(0), total(&calls)),
                (chunks, chunks),
                "{selection} of {codecs}"
            );
        }
        let coordinates = Selection::Coordinates(vec![vec![0, 7, 1, 0], vec![0, 7, 1, 3]]);
        let (_, calls) = counted.calls(|| array.read(&coordinates).unwrap());
        assert_eq!(total(&calls), 2, "four elements in two chunks: {calls:?}");
    }
}

#[test]
fn reading_a_shard_fetches_its_index_once_and_its_inner_chunks() {
    let counted = v3(&sharded());
    let array = filled(&counted);
    let (_, calls) = counted.calls(|| read(&array, "0:2,0:2"));
    assert_eq!(total(&calls), 2, "index and one inner chunk: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, "2:4,2:4"));
    assert_eq!(total(&calls), 1, "one inner chunk, with the cached index: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, "0:4,0:4"));
    assert_eq!(total(&calls), 1, "four adjacent inner chunks: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, ":,:"));
    assert_eq!(total(&calls), 3 * 2 + 1, "three new shards: {calls:?}");
}

#[test]
fn writing_a_whole_chunk_reads_nothing_and_writing_a_part_reads_it_once() {
    for codecs in [json!([{"name": "bytes"}]), sharded()] {
        let counted = v3(&codecs);
        let array = counted.open().array("/a").unwrap();
        let (_, calls) = counted.calls(|| array.write(&Selection::All, &[1; 64]).unwrap());
        assert_eq!((calls.get("set"), total(&calls)), (Some(&4), 4), "{calls:?}");
        let part = Selection::parse("1,1", &[8, 8]).unwrap();
        let (_, calls) = counted.calls(|| array.write(&part, &[2]).unwrap());
        assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&1), Some(&1), 2), "{calls:?}");
        let (_, calls) = counted.calls(|| array.write(&Selection::All, &[0; 64]).unwrap());
        assert_eq!((calls.get("erase"), total(&calls)), (Some(&4), 4), "{calls:?}");
    }
}

/// Successive elements of the coordinate lists and masks are in different chunks.
#[test]
fn single_elements_fetch_and_store_each_chunk_once() {
    let gzip = json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]);
    let string = json!([{"name": "vlen-utf8"}]);
    // For a shard, the index is read too; two inner chunks of the first shard are not adjacent.
    for (codecs, reads) in [(gzip, 2), (string, 2), (sharded(), 2 + 1 + 2)] {
        let mut document = v3_array(&[8, 8], &[4, 4], &codecs);
        let is_variable = codecs[0]["name"] == "vlen-utf8";
        if is_variable {
            (document["data_type"], document["fill_value"]) = (json!("string"), json!(""));
        }
        let counted = Counted::new(&[("a/zarr.json", document), ("zarr.json", group())]);
        let array = counted.open().array("/a").unwrap();
        let write = |selection: &Selection, values: &[u8]| match is_variable {
            true => {
                let texts: Vec<_> = values.iter().map(u8::to_string).collect();
                array.write_values(selection, &texts).unwrap();
            }
            false => array.write_values(selection, values).unwrap(),
        };
        let read = |selection: &Selection| -> Vec<u8> {
            let elements = array.read(selection).unwrap();
            (0..elements.count())
                .map(|position| elements.print(position).unwrap().replace('"', "").parse().unwrap())
                .collect()
        };
        write(&Selection::All, &(1..=64).collect::<Vec<_>>());

        // Two chunks with three elements each; the first element occurs twice.
        let coordinates = Selection::Coordinates(vec![vec![0, 7, 1, 4, 1, 7, 0], vec![0, 7, 1, 4, 0, 6, 0]]);
        let (_, calls) = counted.calls(|| write(&coordinates, &[101, 102, 103, 104, 105, 106, 107]));
        assert_eq!(
            (calls.get("get"), calls.get("set"), total(&calls)),
            (Some(&2), Some(&2), 4),
            "{codecs}: {calls:?}"
        );
        let (values, calls) = counted.calls(|| read(&coordinates));
        assert_eq!(values, [107, 102, 103, 104, 105, 106, 107], "{codecs}");
        assert_eq!(total(&calls), reads, "{codecs}: {calls:?}");

        let mask = Selection::Mask((0..64).map(|position| position % 3 == 0).collect());
        let wanted = (0u8..64).filter(|position| position % 3 == 0).map(|position| match position {
            0 => 107,
            9 => 103,
            36 => 104,
            63 => 102,
            _ => position + 1,
        });
        assert_eq!(read(&mask), wanted.collect::<Vec<_>>(), "{codecs}");
        let (_, calls) = counted.calls(|| write(&mask, &[9; 22]));
        assert_eq!(
            (calls.get("get"), calls.get("set"), total(&calls)),
            (Some(&4), Some(&4), 8),
            "{codecs}: {calls:?}"
        );
        assert_eq!(read(&mask), [9; 22], "{codecs}");
    }
}

#[test]
fn nested_shards_are_read_by_their_indexes_and_selected_inner_chunks() {
    let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let nested = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [4, 4], "codecs": sharded(), "index_codecs": index, "index_location": "start",
    }}]);
    let counted =
        Counted::new(&[("a/zarr.json", v3_array(&[8, 8], &[8, 8], &nested)), ("zarr.json", group())]);
    let array = filled(&counted);
    let read = |selection: &str, values: &[u8], wanted: usize| {
        let selection = Selection::parse(selection, &[8, 8]).unwrap();
        let (found, calls) = counted.calls(|| array.read_values::<u8>(&selection).unwrap());
        assert_eq!((&found[..], total(&calls)), (values, wanted), "{selection}: {calls:?}");
    };
    read("1,5", &[14], 3);
    read("3,6", &[31], 1);
    // Adjacent inner chunks take one request, and so does a whole inner shard.
    read("0:2,0:4", &[1, 2, 3, 4, 9, 10, 11, 12], 1 + 1);
    read("4:8,0:4", &[33, 34, 35, 36, 41, 42, 43, 44, 49, 50, 51, 52, 57, 58, 59, 60], 1);
    // A write is visible whatever was cached before.
    array.write(Selection::parse("1,5", &[8, 8]).unwrap(), &[99]).unwrap();
    read("1,5", &[99], 3);
    read("1,6", &[15], 1);
}

#[test]
fn listing_children_takes_one_listing_and_one_call_for_each() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let hierarchy = counted.open();
    let root = hierarchy.path("/").unwrap();
    let (children, calls) = counted.calls(|| hierarchy.children(&root).unwrap());
    assert_eq!(children.len(), 2);
    assert_eq!(calls.get("list_dir"), Some(&1), "{calls:?}");
    // Reads the document of the group itself, to check that it is a group, and the documents of both children.
    assert!(calls.get("get").copied().unwrap_or(0) <= 3, "{calls:?}");
}

#[test]
fn listing_the_arrays_of_a_group_reads_each_document_once() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let group = counted.open().group("/").unwrap();
    let (arrays, calls) = counted.calls(|| group.arrays().unwrap());
    assert_eq!(arrays.len(), 1);
    // Reads the document of the group itself, and the documents of both children.
    assert_eq!((calls.get("list_dir"), total(&calls)), (Some(&1), 1 + 3), "{calls:?}");
}

#[test]
fn creating_an_array_checks_its_parent_group_and_its_own_path() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let hierarchy = counted.open();
    let builder = ArrayBuilder::new([8, 8], "uint8");
    let (_, calls) = counted.calls(|| hierarchy.create_array("/b", &builder).unwrap());
    // After the write, the groups above the array are read again, because another program may have consolidated one of
    // them.
    assert_eq!((calls.get("set"), total(&calls)), (Some(&1), 3 + 1), "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.create_array("/g/b", &builder).unwrap());
    assert_eq!((calls.get("set"), total(&calls)), (Some(&1), 5 + 1), "{calls:?}");
    // Only the folder of the new array is listed, to check that it has neither documents nor chunks.
    assert_eq!((calls.get("list_dir"), calls.get("list_prefix")), (Some(&1), None), "{calls:?}");
}

/// Creates a store with concurrent requests.
fn far() -> (Arc<CountingStore>, Context) {
    let context = Context::linked().unwrap();
    let memory = open_store(context.registry(), "memory:").unwrap();
    let hints = ReadHints::new(8, 0);
    let far = FarStore::new(memory, Duration::ZERO, hints);
    (Arc::new(CountingStore::new(Arc::new(far))), context)
}

fn listings(calls: &Calls) -> usize {
    calls.iter().filter(|(name, _)| name.starts_with("list")).map(|(_, count)| count).sum()
}

#[test]
fn arrays_in_a_new_far_hierarchy_are_created_without_a_listing() {
    for format in [Format::V2, Format::V3] {
        let (store, context) = far();
        let shared: Arc<dyn Store> = Arc::<CountingStore>::clone(&store);
        let hierarchy = Hierarchy::create(shared, &context, format).unwrap();
        let builder = ArrayBuilder::new([8, 8], "uint8");
        hierarchy.create_array("/first", &builder).unwrap();
        assert!(listings(&store.take()) <= 1, "{format}");
        hierarchy.create_array("/second", &builder).unwrap();
        hierarchy.create_group("/g", Object::new()).unwrap();
        hierarchy.create_array("/g/h/a", &builder).unwrap();
        let calls = store.take();
        assert_eq!(listings(&calls), 0, "{format}: {calls:?}");
        hierarchy.create_arrays([("/g/b", &builder), ("/c", &builder)]).unwrap();
        // In v2, a group at the path of a new array would have another document than the array, so each parent group is
        // listed to find such groups.
        let groups = if format == Format::V2 { 2 } else { 0 };
        assert_eq!(listings(&store.take()), groups, "{format}");
        // After an erasure, chunks may be left over, so each new array is checked.
        hierarchy.erase("/g/h/a").unwrap();
        let _erased = store.take();
        hierarchy.create_array("/g/h/a", &builder).unwrap();
        assert_eq!(listings(&store.take()), 1, "{format}");
    }
}

#[test]
fn creating_arrays_in_an_existing_far_hierarchy_takes_one_listing_for_each_group() {
    let (store, context) = far();
    let started: Arc<dyn Store> = Arc::<CountingStore>::clone(&store);
    Hierarchy::create(started, &context, Format::V3).unwrap().create_group("/", Object::new()).unwrap();
    let opened: Arc<dyn Store> = Arc::<CountingStore>::clone(&store);
    let hierarchy = Hierarchy::open(opened, &context).unwrap();
    let builder = ArrayBuilder::new([8, 8], "uint8");
    let _started = store.take();
    hierarchy.create_array("/a", &builder).unwrap();
    assert_eq!(listings(&store.take()), 1);
    hierarchy.create_arrays([("/b", &builder), ("/c", &builder), ("/d", &builder)]).unwrap();
    assert_eq!(listings(&store.take()), 1);
    // A new group is empty, and so is everything below it.
    hierarchy.create_group("/g", Object::new()).unwrap();
    let _created = store.take();
    hierarchy.create_array("/g/h/a", &builder).unwrap();
    hierarchy.create_arrays([("/g/b", &builder), ("/g/c", &builder)]).unwrap();
    assert_eq!(listings(&store.take()), 0);
}

#[test]
fn a_new_far_hierarchy_takes_one_listing_and_one_request_for_each_node() {
    let (store, context) = far();
    let shared: Arc<dyn Store> = Arc::<CountingStore>::clone(&store);
    let hierarchy = Hierarchy::create(shared, &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([8, 8], "uint8");
    let names: Vec<String> = (0..20).map(|number| format!("/a{number}")).collect();
    hierarchy.create_arrays(names.iter().map(|name| (name.as_str(), &builder))).unwrap();
    let calls = store.take();
    // The root and the arrays are written under the condition that they are missing, and nothing is read.
    assert_eq!(calls, Calls::from([("list_prefix", 1), ("set", 1 + 20)]));
}

#[test]
fn a_node_that_another_program_creates_meanwhile_is_in_the_way() {
    let (store, context) = far();
    let open = || Arc::<CountingStore>::clone(&store) as Arc<dyn Store>;
    let hierarchy = Hierarchy::create(open(), &context, Format::V3).unwrap();
    let builder = ArrayBuilder::new([8, 8], "uint8");
    // The other context does not share locks or cached groups.
    let other = Hierarchy::create(open(), &Context::linked().unwrap(), Format::V3).unwrap();
    let attributes = Object::from([("from", "other")]);
    other.create_array("/g/a", &builder.clone().attributes(attributes.clone())).unwrap();
    for path in ["/g/a", "/g", "/"] {
        let error = hierarchy.create_array(path, &builder).unwrap_err();
        assert!(matches!(error, Error::InTheWay { .. }), "{path}: {error}");
    }
    // The second array may have been created, because both are written at the same time.
    let error = hierarchy.create_arrays([("/g/a", &builder), ("/g/b", &builder)]).unwrap_err();
    assert!(matches!(error, Error::InTheWay { .. }), "{error}");
    hierarchy.create_array("/g/c", &builder).unwrap();
    let found = Hierarchy::open(open(), &context).unwrap().array("/g/a").unwrap();
    assert_eq!(found.attributes(), &attributes);
}

#[test]
fn appending_rows_lists_nothing_and_reads_no_whole_chunk() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let mut array = counted.open().array("/a").unwrap();
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 32]).unwrap());
    // Reads the document of the array, and the document of its parent group before and after the change. Writes two
    // chunks and the document of the array.
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&3), Some(&3), 6), "{calls:?}");
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 8]).unwrap());
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&3), Some(&3), 6), "{calls:?}");
    // Two chunks already contain rows.
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 8]).unwrap());
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&5), Some(&3), 8), "{calls:?}");
}

#[test]
fn growing_an_array_slightly_erases_chunks_without_a_listing() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let mut array = counted.open().array("/a").unwrap();
    let (_, calls) = counted.calls(|| array.resize(&[8, 12]).unwrap());
    // If no chunk crosses the old edge, only the documents are read.
    assert_eq!((listings(&calls), calls.get("get"), calls.get("set")), (0, Some(&3), Some(&1)), "{calls:?}");
    let (_, calls) = counted.calls(|| array.resize(&[8 << 12, 12]).unwrap());
    assert_eq!(listings(&calls), 1, "{calls:?}");
}
