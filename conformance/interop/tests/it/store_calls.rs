//! How often the store is asked.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use zarr_interop::documents::entry_point;
use zarr_interop::{Calls, CountingStore, FarStore};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::spec::{Key, Object};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, open_store};

struct Counted {
    store: Arc<CountingStore>,
    context: Context,
}

impl Counted {
    /// A store with these documents.
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

    /// What `work` gives, and the calls that it makes.
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
fn a_hierarchy_is_detected_with_few_calls_and_a_node_of_v3_is_one_more() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let (hierarchy, calls) = counted.calls(|| counted.open());
    // `zarr.json`, and the three documents of v2 that might be beside it.
    assert!(total(&calls) <= 4, "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.array("/a").unwrap());
    assert_eq!(total(&calls), 1, "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.group("/g").unwrap());
    assert_eq!(total(&calls), 1, "{calls:?}");
}

/// Tests V3-STORE-10.
#[test]
fn whether_a_node_of_v3_exists_is_one_call() {
    let counted = v3(&json!([{"name": "bytes"}]));
    counted.store.set(&Key::new("h/x/zarr.json").unwrap(), group().to_string().as_bytes().into()).unwrap();
    let hierarchy = counted.open();
    for (path, there) in [("/a", true), ("/g", true), ("/g/x", true), ("/none", false), ("/h", false)] {
        let (found, calls) = counted.calls(|| hierarchy.exists(path).unwrap());
        assert_eq!((found, total(&calls)), (there, 1), "{path}: {calls:?}");
    }
}

#[test]
fn whether_a_node_of_the_draft_exists_is_at_most_three_calls() {
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
fn a_chunk_is_one_call_and_so_is_each_further_one() {
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
fn a_shard_is_its_index_and_its_inner_chunks_and_the_index_is_kept() {
    let counted = v3(&sharded());
    let array = filled(&counted);
    let (_, calls) = counted.calls(|| read(&array, "0:2,0:2"));
    assert_eq!(total(&calls), 2, "index and one inner chunk: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, "2:4,2:4"));
    assert_eq!(total(&calls), 1, "one inner chunk, with the index that was kept: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, "0:4,0:4"));
    assert_eq!(total(&calls), 1, "four inner chunks that are neighbours: {calls:?}");
    let (_, calls) = counted.calls(|| read(&array, ":,:"));
    assert_eq!(total(&calls), 3 * 2 + 1, "three shards that are new: {calls:?}");
}

#[test]
fn writing_a_whole_chunk_reads_nothing_and_a_part_reads_it_once() {
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

/// In the order in which they are asked for, neighbours of a coordinate list or a mask are in other chunks.
#[test]
fn single_elements_fetch_and_store_each_chunk_once() {
    let gzip = json!([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}]);
    let string = json!([{"name": "vlen-utf8"}]);
    // Of a shard, also the index is read; two inner chunks of the first one do not lie together.
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

        // Two chunks, three times each; the first element comes once more.
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
fn of_shards_in_a_shard_only_indexes_and_what_is_wanted_are_read() {
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
    // Neighbours are one request, and so is all of an inner shard.
    read("0:2,0:4", &[1, 2, 3, 4, 9, 10, 11, 12], 1 + 1);
    read("4:8,0:4", &[33, 34, 35, 36, 41, 42, 43, 44, 49, 50, 51, 52, 57, 58, 59, 60], 1);
    // What is written to one of them is seen, whatever was kept of them.
    array.write(Selection::parse("1,5", &[8, 8]).unwrap(), &[99]).unwrap();
    read("1,5", &[99], 3);
    read("1,6", &[15], 1);
}

#[test]
fn children_are_one_listing_and_one_call_for_each() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let hierarchy = counted.open();
    let root = hierarchy.path("/").unwrap();
    let (children, calls) = counted.calls(|| hierarchy.children(&root).unwrap());
    assert_eq!(children.len(), 2);
    assert_eq!(calls.get("list_dir"), Some(&1), "{calls:?}");
    // The document of the group itself, to know that it is one, and those of both children.
    assert!(calls.get("get").copied().unwrap_or(0) <= 3, "{calls:?}");
}

#[test]
fn arrays_of_a_group_are_opened_from_the_documents_of_its_listing() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let group = counted.open().group("/").unwrap();
    let (arrays, calls) = counted.calls(|| group.arrays().unwrap());
    assert_eq!(arrays.len(), 1);
    // The document of the group itself, and those of both children.
    assert_eq!((calls.get("list_dir"), total(&calls)), (Some(&1), 1 + 3), "{calls:?}");
}

#[test]
fn creating_an_array_reads_the_document_above_and_looks_for_its_own() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let hierarchy = counted.open();
    let builder = ArrayBuilder::new([8, 8], "uint8");
    let (_, calls) = counted.calls(|| hierarchy.create_array("/b", &builder).unwrap());
    assert_eq!((calls.get("set"), total(&calls)), (Some(&1), 2 + 1), "{calls:?}");
    let (_, calls) = counted.calls(|| hierarchy.create_array("/g/b", &builder).unwrap());
    assert_eq!((calls.get("set"), total(&calls)), (Some(&1), 3 + 1), "{calls:?}");
    // Below it, nothing is listed but its own folder, which tells that there is neither a document nor a chunk.
    assert_eq!((calls.get("list_dir"), calls.get("list_prefix")), (Some(&1), None), "{calls:?}");
}

/// A store that keeps requests in flight.
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
fn arrays_in_a_far_hierarchy_that_was_started_here_are_created_without_a_listing() {
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
        hierarchy.create_arrays([("/g/b", &builder), ("/c", &builder)]).unwrap();
        let calls = store.take();
        assert_eq!(listings(&calls), 0, "{format}: {calls:?}");
        // Once chunks may be left somewhere, each array is looked for.
        hierarchy.erase("/g/h/a").unwrap();
        let _erased = store.take();
        hierarchy.create_array("/g/h/a", &builder).unwrap();
        assert_eq!(listings(&store.take()), 1, "{format}");
    }
}

#[test]
fn arrays_in_a_far_hierarchy_that_is_there_take_one_listing_for_each_group_at_most() {
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
fn rows_are_appended_without_a_listing_and_a_whole_chunk_is_not_read() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let mut array = counted.open().array("/a").unwrap();
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 32]).unwrap());
    // The document of the array and that of the group above it; two chunks and the document.
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&2), Some(&3), 5), "{calls:?}");
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 8]).unwrap());
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&2), Some(&3), 5), "{calls:?}");
    // Two chunks have rows already.
    let (_, calls) = counted.calls(|| array.append_values(0, &[1u8; 8]).unwrap());
    assert_eq!((calls.get("get"), calls.get("set"), total(&calls)), (Some(&4), Some(&3), 7), "{calls:?}");
}

#[test]
fn few_chunks_are_erased_by_their_names_where_an_array_grows() {
    let counted = v3(&json!([{"name": "bytes"}]));
    let mut array = counted.open().array("/a").unwrap();
    let (_, calls) = counted.calls(|| array.resize(&[8, 12]).unwrap());
    // Without a border inside of chunks, the documents are all that is read.
    assert_eq!((listings(&calls), calls.get("get"), calls.get("set")), (0, Some(&2), Some(&1)), "{calls:?}");
    let (_, calls) = counted.calls(|| array.resize(&[8 << 12, 12]).unwrap());
    assert_eq!(listings(&calls), 1, "{calls:?}");
}
