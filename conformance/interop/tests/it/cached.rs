//! Reads through a cache of decoded chunks: the number of store calls, and the elements.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::cell::RefCell;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use zarr_interop::{FarStore, Random, key, v3};
use zarr_kit::spec::store::{ReadHints, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_kit::spec::{Invalid, Registry, typetag};
use zarr_kit::{Array, Context, DimensionSelection, Hierarchy, Selection, open_store};

/// The read hints of the filesystem store.
const HINTS: ReadHints = ReadHints::new(0, 64 << 10);

thread_local! {
    /// The store that the description `slow` opens.
    static SLOW: RefCell<Option<Arc<FarStore>>> = const { RefCell::new(None) };
}

#[derive(Debug, Deserialize)]
struct SlowConfiguration {}

#[typetag::deserialize(name = "slow")]
impl StoreConfiguration for SlowConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let slow = SLOW.with_borrow(|slow| slow.as_ref().map(Arc::clone));
        Ok(slow.ok_or_else(|| Invalid::new("no slow store is set"))?)
    }
}

/// An array of `uint16`, opened directly and through a cache.
struct Cached {
    slow: Arc<FarStore>,
    plain: Array,
    array: Array,
}

impl Cached {
    fn new(shape: &[u64], chunk: &[u64], codecs: &Value, bytes: usize, delay: Duration) -> Self {
        let mut registry = Registry::linked().unwrap();
        registry
            .register_store(StorePlugin::new("slow", &[], &|_: &str| {
                Err(Invalid::new("the store does not have a URL").into())
            }))
            .unwrap();
        let context = Context::new(registry);
        let store = open_store(context.registry(), "memory:").unwrap();
        let mut document = v3::document(shape, chunk, codecs);
        document["fill_value"] = json!(5);
        let group = json!({"zarr_format": 3, "node_type": "group"});
        for (name, document) in [("zarr.json", group), ("a/zarr.json", document)] {
            store.set(&key(name), document.to_string().as_bytes().into()).unwrap();
        }
        let plain = Hierarchy::open(Arc::clone(&store), &context).unwrap().array("/a").unwrap();
        let count = shape.iter().product::<u64>();
        let elements: Vec<u16> = (0..count).map(|number| u16::try_from(number % 65_521).unwrap()).collect();
        plain.write_values(&Selection::All, &elements).unwrap();
        let slow = Arc::new(FarStore::new(store, delay, HINTS));
        SLOW.set(Some(Arc::clone(&slow)));
        let cache = json!({"type": "cache", "bytes": bytes, "chunks": "decoded", "store": {"type": "slow"}});
        let store = open_store(context.registry(), &cache.to_string()).unwrap();
        let array = Hierarchy::open(store, &context).unwrap().array("/a").unwrap();
        let _opened = slow.take();
        Self { slow, plain, array }
    }

    /// Checks that the cached array returns the same elements, and returns the number of store calls.
    fn read(&self, selection: &Selection) -> usize {
        let _before = self.slow.take();
        let found = self.array.read(selection).unwrap();
        let calls = self.slow.take().alone;
        assert!(found.bytes() == self.plain.read(selection).unwrap().bytes(), "{selection:?}");
        calls
    }
}

fn sharded(inner: &[u64]) -> Value {
    v3::sharded(inner, &v3::zstd())
}

/// Returns `count` random boxes with `length` elements along each dimension.
fn boxes(shape: &[u64], length: u64, count: usize) -> Vec<Selection> {
    let mut random = Random::new(11);
    let mut along = |&all: &u64| {
        let start = random.below(all - length + 1);
        DimensionSelection::Range { start, stop: start + length, step: 1 }
    };
    (0..count).map(|_| Selection::Orthogonal(shape.iter().map(&mut along).collect())).collect()
}

/// The sizes are in proportion to boxes of 32³ in inner chunks of 64³ in shards of 256³.
#[test]
fn a_random_box_in_a_shard_takes_at_most_one_store_call_while_the_cache_holds_all() {
    let shape = [128; 3];
    let cached = Cached::new(&shape, &[64; 3], &sharded(&[16; 3]), 1 << 26, Duration::ZERO);
    let single = |at: &[u64; 3]| {
        Selection::Orthogonal(
            at.map(|start| DimensionSelection::Range { start, stop: start + 1, step: 1 }).into(),
        )
    };
    for shard in 0..8 {
        assert_eq!(cached.read(&single(&[shard >> 2, shard >> 1 & 1, shard & 1].map(|place| place * 64))), 2);
    }
    let boxes = boxes(&shape, 8, 1000);
    let calls: usize = boxes.iter().map(|wanted| cached.read(wanted)).sum();
    assert!(calls <= 8 * 64 - 8 && calls <= boxes.len(), "{calls} calls: an inner chunk was fetched twice");
    assert_eq!(boxes.iter().map(|wanted| cached.read(wanted)).sum::<usize>(), 0, "everything is cached");
}

/// The chunks are large enough that several threads decode them.
#[test]
fn each_chunk_is_fetched_once_for_overlapping_boxes() {
    for (chunk, codecs, calls) in [
        ([64; 3], v3::zstd(), 8),
        ([64; 3], json!([{"name": "bytes", "configuration": {"endian": "big"}}]), 8),
        // Adjacent inner chunks are fetched in one call.
        ([128; 3], sharded(&[64; 3]), 9),
    ] {
        let cached = Cached::new(&[128; 3], &chunk, &codecs, 1 << 26, Duration::ZERO);
        let boxes = boxes(&[128; 3], 20, 60);
        let total: usize = boxes.iter().map(|wanted| cached.read(wanted)).sum();
        assert!(total <= calls, "{total} of {codecs}");
        assert_eq!(cached.read(&Selection::All), 0, "{codecs}");
        let plane = DimensionSelection::Range { start: 9, stop: 10, step: 1 };
        let all = DimensionSelection::Range { start: 0, stop: 128, step: 1 };
        assert_eq!(cached.read(&Selection::Orthogonal(vec![all.clone(), all, plane])), 0, "{codecs}");
    }
}

#[test]
fn several_threads_that_read_one_chunk_fetch_and_decode_it_once() {
    for codecs in [v3::zstd(), v3::bytes()] {
        let cached = Cached::new(&[40, 40], &[40, 40], &codecs, 1 << 20, Duration::from_millis(30));
        let together = Barrier::new(4);
        let wanted = cached.plain.read(&Selection::All).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    together.wait();
                    assert!(cached.array.read(&Selection::All).unwrap().bytes() == wanted.bytes());
                });
            }
        });
        assert_eq!(cached.slow.take().alone, 1, "{codecs}");
    }
}

#[test]
fn threads_that_wait_for_a_damaged_chunk_return_an_error() {
    let cached = Cached::new(&[40, 40], &[40, 40], &v3::zstd(), 1 << 20, Duration::from_millis(5));
    cached.plain.write_encoded_chunk(&[0, 0], b"no frame").unwrap();
    let together = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                together.wait();
                assert!(cached.array.read(&Selection::All).is_err());
            });
        }
    });
}

/// Several threads read boxes larger than the cache while others read and evict the same chunks.
#[test]
fn readers_that_evict_each_others_chunks_return_the_stored_elements() {
    for (chunk, codecs) in [([32; 3], v3::zstd()), ([64; 3], sharded(&[32; 3]))] {
        let cached = Cached::new(&[128; 3], &chunk, &codecs, 1 << 20, Duration::ZERO);
        let boxes = boxes(&[128; 3], 50, 24);
        thread::scope(|scope| {
            for part in boxes.chunks(8) {
                let array = &cached.array;
                let plain = &cached.plain;
                scope.spawn(move || {
                    for wanted in part {
                        let found = array.read(wanted).unwrap();
                        assert!(found.bytes() == plain.read(wanted).unwrap().bytes(), "{wanted:?}");
                    }
                });
            }
        });
    }
}
