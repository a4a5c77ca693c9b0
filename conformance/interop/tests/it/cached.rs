//! Reads through a cache of decoded chunks: how often the store is asked, and what comes of it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

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

/// As a file system says.
const MANNER: ReadHints = ReadHints::new(0, 64 << 10);

thread_local! {
    /// What the description `slow` opens.
    static SLOW: RefCell<Option<Arc<FarStore>>> = const { RefCell::new(None) };
}

#[derive(Debug, Deserialize)]
struct SlowConfiguration {}

#[typetag::deserialize(name = "slow")]
impl StoreConfiguration for SlowConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let slow = SLOW.with_borrow(|slow| slow.as_ref().map(Arc::clone));
        Ok(slow.ok_or_else(|| Invalid::new("there is no slow store"))?)
    }
}

/// One array of `uint16`, plain and through a cache.
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
                Err(Invalid::new("it has no URL").into())
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
        let slow = Arc::new(FarStore::new(store, delay, MANNER));
        SLOW.set(Some(Arc::clone(&slow)));
        let cache = json!({"type": "cache", "bytes": bytes, "chunks": "decoded", "store": {"type": "slow"}});
        let store = open_store(context.registry(), &cache.to_string()).unwrap();
        let array = Hierarchy::open(store, &context).unwrap().array("/a").unwrap();
        let _opened = slow.take();
        Self { slow, plain, array }
    }

    /// The same elements as without a cache, and how often the store was asked.
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

/// So many boxes of `length` in each dimension.
fn boxes(shape: &[u64], length: u64, count: usize) -> Vec<Selection> {
    let mut random = Random::new(11);
    let mut along = |&all: &u64| {
        let start = random.below(all - length + 1);
        DimensionSelection::Range { start, stop: start + length, step: 1 }
    };
    (0..count).map(|_| Selection::Orthogonal(shape.iter().map(&mut along).collect())).collect()
}

/// Boxes lie to chunks as those of 32³ do to inner chunks of 64³ in shards of 256³.
#[test]
fn a_random_box_in_a_shard_is_one_store_call_at_most_while_chunks_and_indexes_are_kept() {
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
    assert!(calls <= 8 * 64 - 8 && calls <= boxes.len(), "{calls}: no inner chunk is fetched twice");
    assert_eq!(boxes.iter().map(|wanted| cached.read(wanted)).sum::<usize>(), 0, "all of it is kept");
}

/// Chunks are as large as it takes for several threads to decode them.
#[test]
fn each_chunk_is_fetched_once_however_boxes_touch_it() {
    for (chunk, codecs, calls) in [
        ([64; 3], v3::zstd(), 8),
        ([64; 3], json!([{"name": "bytes", "configuration": {"endian": "big"}}]), 8),
        // Inner chunks that lie together are fetched at once.
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
fn several_threads_that_want_one_chunk_fetch_and_decode_it_once() {
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
fn a_chunk_that_cannot_be_decoded_keeps_nobody_waiting() {
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

/// Boxes larger than the cache are read by several threads while others read and evict the same chunks.
#[test]
fn readers_that_take_each_others_room_get_what_is_stored() {
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
