//! How often the store is asked.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;

use serde_json::json;
use zarr_interop::documents::entry_point;
use zarr_interop::{Calls, CountingStore};
use zarr_kit::spec::Key;
use zarr_kit::spec::store::Store;
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

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
            store.set(&Key::new((*key).to_owned()).unwrap(), document.to_string().as_bytes()).unwrap();
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
    array.read(&Selection::parse(selection, array.shape()).unwrap()).unwrap();
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
    counted.store.set(&Key::new("h/x/zarr.json").unwrap(), group().to_string().as_bytes()).unwrap();
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
