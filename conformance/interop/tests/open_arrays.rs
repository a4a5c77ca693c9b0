//! What open arrays cost: memory for each, store calls and allocations for each node of a listing.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;

use serde_json::{Value, json};
use zarr_conformance::suite::{CountingAllocator, highest, requests};
use zarr_interop::CountingStore;
use zarr_kit::spec::{Key, NodePath};
use zarr_kit::{Array, Context, Hierarchy, Selection, open_store};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Bytes that an open array may take.
const MOST_BYTES: usize = 4 << 10;

/// The document of an array like those of most hierarchies, no two of them alike.
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

/// A store of so many arrays in each of so many groups, opened on one thread.
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
    // What a hierarchy keeps once is made.
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
    assert!(bytes < MOST_BYTES, "{bytes} bytes for each array, and {MOST_BYTES} are enough");
}

/// What is kept for the next read is small, too: buffers of workers go with the chunks they are for.
#[test]
fn an_array_that_was_asked_for_a_chunk_that_is_not_stored_takes_less_than_4_kib_more() {
    let selection = Selection::parse("0:2,0:2,0:2", &[1000, 1000, 1000]).unwrap();
    let opened = bytes_per_array(|_| {});
    let read = bytes_per_array(|array| drop(array.read(&selection).unwrap()));
    assert!(read - opened < MOST_BYTES, "{opened} bytes for each array, and {read} once it was read from");
}

/// Store calls and allocations of `work` for small hierarchies and ones with four times their arrays, or groups.
fn costs(work: impl Fn(&Hierarchy)) -> [[usize; 2]; 3] {
    [(4, 50), (4, 200), (16, 50)].map(|(groups, arrays)| {
        let (store, hierarchy) = hierarchy(groups, arrays);
        drop(store.take());
        let requests = requests(|| work(&hierarchy));
        // The values of a batch are counted one by one.
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
            // Lists that grow ask for memory as often as they double, which is less than for every node.
            assert!(more <= 4 * small + 16, "{what}: {small} {kind}, and {more} for four times the nodes");
        }
    }
    // Each array once; a group is looked for, opened and listed.
    let groups = 1 + 4;
    let arrays = 4 * 50;
    assert!(small[0] <= arrays + 5 * groups, "{what}: {} store calls for {arrays} arrays", small[0]);
}

/// Tests V3-STORE-08.
#[test]
fn listing_nodes_takes_store_calls_and_allocations_in_proportion_to_their_number() {
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
