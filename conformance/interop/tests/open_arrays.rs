//! The cost of open arrays: memory for each, and store calls and allocations for each node of a listing.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_conformance::suite::{CountingAllocator, highest, requests};
use zarr_interop::CountingStore;
use zarr_kit::spec::{Key, NodePath};
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Maximum number of bytes that an open array may take.
const MOST_BYTES: usize = 4 << 10;

/// Returns a typical array document, different for each `number`.
fn document(number: usize) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [1000 + number, 1000, 1000], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [128, 128, 128]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0,
        "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": 5, "checksum": false}},
        ],
        "attributes": {"long_name": "something that was measured", "units": "m s-1"},
        "dimension_names": ["z", "y", "x"],
    })
}

/// Creates a store with `groups` groups of `arrays` arrays each, opened with one thread.
fn hierarchy(groups: usize, arrays: usize) -> (Arc<CountingStore>, Hierarchy) {
    let context = Context::linked().unwrap().with_one_thread();
    let store = open_store(context.registry(), "memory:").unwrap();
    let set = |key: String, document: &Value| {
        store.set(&Key::new(key).unwrap(), document.to_string().as_bytes().into()).unwrap();
    };
    let group = json!({"zarr_format": 3, "node_type": "group"});
    set("zarr.json".to_owned(), &group);
    for place in 0..groups {
        set(format!("g{place}/zarr.json"), &group);
        for number in 0..arrays {
            set(format!("g{place}/a{number}/zarr.json"), &document(place * arrays + number));
        }
    }
    let store = Arc::new(CountingStore::new(store));
    let hierarchy = Hierarchy::open(Arc::clone(&store) as _, &context).unwrap();
    (store, hierarchy)
}

fn bytes_per_array(work: impl Fn(&Array)) -> usize {
    const COUNT: usize = 1000;
    let (_, hierarchy) = hierarchy(1, COUNT);
    // Creates the state that a hierarchy creates only once.
    drop(hierarchy.array("/g0/a0").unwrap());
    let mut arrays = Vec::with_capacity(COUNT);
    let held = highest(|| {
        for number in 0..COUNT {
            let array = hierarchy.array(format!("/g0/a{number}")).unwrap();
            work(&array);
            arrays.push(array);
        }
    });
    assert_eq!(arrays.len(), COUNT);
    held.unwrap() / COUNT
}

#[test]
fn an_open_array_takes_less_than_4_kib() {
    let bytes = bytes_per_array(|_| {});
    assert!(bytes < MOST_BYTES, "{bytes} bytes for each array, expected less than {MOST_BYTES}");
}

/// A read also leaves little state for the next read: the buffers of workers are freed together with the chunks.
#[test]
fn reading_a_missing_chunk_adds_less_than_4_kib_to_an_open_array() {
    let selection = Selection::parse("0:2,0:2,0:2", &[1000, 1000, 1000]).unwrap();
    let opened = bytes_per_array(|_| {});
    let read = bytes_per_array(|array| drop(array.read(&selection).unwrap()));
    assert!(read - opened < MOST_BYTES, "{opened} bytes for each open array, {read} after a read");
}

/// Returns the store calls and allocations of `work` for a small hierarchy, one with four times the arrays
/// and one with four times the groups.
fn costs(work: impl Fn(&Hierarchy)) -> [[usize; 2]; 3] {
    [(4, 50), (4, 200), (16, 50)].map(|(groups, arrays)| {
        let (store, hierarchy) = hierarchy(groups, arrays);
        drop(store.take());
        let requests = requests(|| work(&hierarchy));
        // `get_many` is not counted, because each of its requests is already counted as `get`.
        let calls =
            store.take().into_iter().filter(|(name, _)| *name != "get_many").map(|(_, count)| count).sum();
        [calls, requests]
    })
}

fn is_linear(what: &str, costs: [[usize; 2]; 3]) {
    let [small, more_arrays, more_groups] = costs;
    for more in [more_arrays, more_groups] {
        for (place, kind) in ["store calls", "allocations"].into_iter().enumerate() {
            let small = small[place];
            let more = more[place];
            // A growing list allocates each time it doubles, which is less than once per node.
            assert!(more <= 4 * small + 16, "{what}: {small} {kind}, but {more} for four times the nodes");
        }
    }
    // One call for each array; a group is looked up, opened and listed.
    let groups = 1 + 4;
    let arrays = 4 * 50;
    assert!(small[0] <= arrays + 5 * groups, "{what}: {} store calls for {arrays} arrays", small[0]);
}

/// Tests V3-STORE-08.
#[test]
fn listing_takes_store_calls_and_allocations_in_proportion_to_the_number_of_nodes() {
    is_linear("walk", costs(|hierarchy| drop(hierarchy.walk(NodePath::root()).unwrap())));
}

#[test]
fn opening_arrays_takes_store_calls_and_allocations_in_proportion_to_their_number() {
    is_linear(
        "arrays",
        costs(|hierarchy| {
            for group in hierarchy.group("/").unwrap().groups().unwrap() {
                drop(group.arrays().unwrap());
            }
        }),
    );
}

/// Consolidated metadata are parsed when the hierarchy is opened, and not again whenever their group is opened.
#[test]
fn opening_a_consolidated_root_takes_the_same_allocations_for_any_number_of_nodes() {
    let of_root = |arrays| {
        let (_store, hierarchy) = hierarchy(1, arrays);
        hierarchy.consolidate("/").unwrap();
        let opened = Hierarchy::open(Arc::clone(hierarchy.store()), hierarchy.context()).unwrap();
        assert!(opened.is_consolidated());
        assert_eq!(opened.group("/g0").unwrap().arrays().unwrap().len(), arrays);
        requests(|| drop(opened.group("/").unwrap()))
    };
    assert_eq!(of_root(200), of_root(20));
}
