//! The memory budget of a context: operations that fit use little memory, and the others return an error.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use serde_json::{Value, json};
use zarr_interop::v3::{bytes, document, sharded, zstd};
use zarr_interop::{FarStore, key};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::{Array, Context, Error, Hierarchy, Limits, Selection, ThreadPool, open_store};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Creates a context with a pool of four threads and a budget of `memory` bytes.
fn context(memory: u64) -> Context {
    let pool = ThreadPool::new(4).unwrap();
    let limits = Limits::new().with_memory(memory);
    Context::linked().unwrap().with_thread_pool(&pool).with_limits(limits)
}

fn store_of(document: &Value) -> Arc<dyn Store> {
    let store = open_store(Context::linked().unwrap().registry(), "memory:").unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group"});
    store.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
    store.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
    store
}

fn open(store: &Arc<dyn Store>, context: &Context) -> Array {
    Hierarchy::open(Arc::clone(store), context).unwrap().array("/a").unwrap()
}

fn far(store: &Arc<dyn Store>) -> Arc<FarStore> {
    let hints = ReadHints::new(16, 0);
    Arc::new(FarStore::new(Arc::clone(store), Duration::from_millis(1), hints))
}

fn elements(array: &Array) -> Vec<u16> {
    let count = array.shape().iter().product::<u64>();
    (0..count).map(|number| u16::try_from(number % 65_521).unwrap() | 1).collect()
}

fn part(array: &Array) -> Selection {
    Selection::parse("3:-5,7:-9", array.shape()).unwrap()
}

#[test]
fn the_error_of_a_chunk_over_the_budget_names_the_limit_to_raise() {
    // One chunk of 128 KiB; a partial read decodes it to a buffer.
    let store = store_of(&document(&[256, 256], &[256, 256], &zstd()));
    let large = open(&store, &context(MIB));
    large.write_values(&Selection::All, &elements(&large)).unwrap();
    let small = open(&store, &context(100 * KIB));
    let written = vec![1u16; 248 * 240];
    let failures = [
        small.read(part(&small)).map(drop),
        small.write_values(part(&small), &written),
        small.write_values(&Selection::All, &elements(&small)),
    ];
    for failure in failures {
        let error = failure.unwrap_err();
        assert!(
            matches!(&error, Error::OverBudget(over) if over.budget == 102_400 && over.needed >= Some(131_072)),
            "{error:?}"
        );
        let message = error.to_string();
        for named in [
            "chunk [0, 0] of /a (key `a/c/0/0`) needs ",
            " bytes of memory, more than the memory budget for chunks, 102400 bytes: raise it with",
            "`Limits::memory` or `zarrctl --memory`",
        ] {
            assert!(message.contains(named), "{message}");
        }
    }
    assert!(large.read_values::<u16>(&Selection::All).unwrap() == elements(&large), "nothing has changed");
    // A chunk that is decoded directly to the output needs memory only for its encoded value.
    let encoded = large.chunk_size(&[0, 0]).unwrap().unwrap();
    let tight = open(&store, &context(200 * KIB));
    assert!(encoded < 200 * KIB && tight.read_values::<u16>(&Selection::All).unwrap() == elements(&large));
}

#[test]
fn an_array_with_chunks_over_the_budget_can_be_opened_and_its_missing_chunks_read() {
    let store = store_of(&document(&[1 << 20, 1 << 20], &[1 << 20, 1 << 20], &zstd()));
    let array = open(&store, &context(MIB));
    let one = Selection::parse("5,5", array.shape()).unwrap();
    assert_eq!(array.read_values::<u16>(&one).unwrap(), [0]);
    assert!(matches!(array.write_values(&one, &[1u16]).unwrap_err(), Error::OverBudget { .. }));
}

#[test]
fn parts_of_missing_chunks_of_any_fixed_size_can_be_read() {
    let bytes_alone = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let checked = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    for codecs in [bytes_alone, checked] {
        for length in [700u64, 1 << 20] {
            let store = store_of(&document(&[length, 1000], &[length, 1000], &codecs));
            let far: Arc<dyn Store> = far(&store);
            for array in [open(&store, &context(MIB)), open(&far, &context(MIB))] {
                let points = Selection::Coordinates(vec![vec![1, 600, 7], vec![999, 0, 5]]);
                assert_eq!(array.read_values::<u16>(&points).unwrap(), [0; 3]);
                let parts =
                    ["5:7,3:5", "600:602,9"].map(|part| Selection::parse(part, array.shape()).unwrap());
                for read in array.read_many(&parts).unwrap() {
                    assert!(read.bytes().iter().all(|byte| *byte == 0));
                }
            }
        }
    }
}

#[test]
fn stored_chunks_of_a_fixed_size_over_the_budget_are_an_error() {
    let checked = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let store = store_of(&document(&[700, 1000], &[700, 1000], &checked));
    let large = open(&store, &context(1 << 30));
    large.write_values(&Selection::All, &elements(&large)).unwrap();
    let small = open(&store, &context(MIB));
    let points = Selection::Coordinates(vec![vec![1, 600, 7], vec![999, 0, 5]]);
    let error = small.read(&points).unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error:?}");
}

#[test]
fn strings_larger_than_estimated_are_read_with_more_memory() {
    // 40 MiB of strings in one chunk, more than the initial reservation for a chunk of unknown size.
    let codecs =
        json!([{"name": "vlen-utf8"}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]);
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [40], "data_type": "string", "fill_value": "",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [40]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    });
    let store = store_of(&document);
    let strings: Vec<String> = (0..40).map(|number| format!("{number}").repeat(1 << 19)).collect();
    open(&store, &context(1 << 30)).write_values(&Selection::All, &strings).unwrap();
    let read = open(&store, &context(1 << 28)).read(&Selection::All).unwrap();
    assert!(read.strings().unwrap().into_iter().eq(&strings));
    let error = open(&store, &context(32 * MIB)).read(&Selection::All).unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error:?}");
}

/// Reads and writes an array from many threads at the same time, including threads of the pool, in a near and
/// a far store.
fn used_by_many_threads(document: &Value, memory: u64) {
    let store = store_of(document);
    let filled = open(&store, &context(1 << 30));
    let expected = elements(&filled);
    filled.write_values(&Selection::All, &expected).unwrap();
    let part_of_all = filled.read_values::<u16>(&part(&filled)).unwrap();
    let context = context(memory);
    let pool = ThreadPool::new(4).unwrap();
    let near = open(&store, &context);
    let far = open(&(far(&store) as Arc<dyn Store>), &context);
    let work = |turn: usize| {
        let array = if turn.is_multiple_of(2) { &near } else { &far };
        // Writes do not change the elements.
        match turn / 2 % 4 {
            0 => assert!(array.read_values::<u16>(&Selection::All).unwrap() == expected),
            1 => assert!(array.read_values::<u16>(&part(array)).unwrap() == part_of_all),
            2 => array.write_values(&Selection::All, &expected).unwrap(),
            _ => array.write_values(part(array), &part_of_all).unwrap(),
        }
    };
    thread::scope(|scope| {
        for first in 0..4 {
            let work = &work;
            scope.spawn(move || (first..first + 8).for_each(work));
        }
        scope.spawn(|| pool.install(|| (0..16).into_par_iter().for_each(work)));
    });
    assert!(filled.read_values::<u16>(&Selection::All).unwrap() == expected);
}

#[test]
fn many_threads_with_a_budget_for_one_or_two_chunks_do_not_deadlock() {
    // 16 chunks of 128 KiB.
    used_by_many_threads(&document(&[1024, 1024], &[256, 256], &zstd()), MIB);
    used_by_many_threads(&document(&[1024, 1024], &[256, 256], &bytes()), MIB);
}

#[test]
fn many_threads_with_a_budget_for_one_shard_do_not_deadlock() {
    // 2 shards of 2 MiB: several threads encode the inner chunks of each.
    used_by_many_threads(&document(&[2048, 1024], &[1024, 1024], &sharded(&[128, 128], &zstd())), 13 * MIB);
    // Nested shards.
    let nested = sharded(&[256, 256], &sharded(&[64, 64], &zstd()));
    used_by_many_threads(&document(&[1024, 1024], &[512, 512], &nested), 6 * MIB);
}

#[test]
fn concurrent_appends_with_a_budget_for_few_chunks_do_not_deadlock() {
    // Chunks of 32 KiB; most appends change one of them partially.
    let near = store_of(&document(&[0, 256], &[64, 256], &zstd()));
    let behind = store_of(&document(&[0, 256], &[64, 256], &zstd()));
    let far = far(&behind) as Arc<dyn Store>;
    for store in [near, far] {
        let context = context(400 * KIB);
        let pool = ThreadPool::new(3).unwrap();
        let append = |_: usize| {
            let mut array = open(&store, &context);
            array.append_values(0, &vec![7u16; 40 * 256]).unwrap();
            assert!(array.read_values::<u16>(&Selection::All).unwrap().iter().all(|&element| element == 7));
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..3).for_each(append));
            }
            scope.spawn(|| pool.install(|| (0..6).into_par_iter().for_each(append)));
        });
        let array = open(&store, &context);
        assert_eq!(array.shape(), [15 * 40, 256]);
        assert!(array.read_values::<u16>(&Selection::All).unwrap() == [7; 15 * 40 * 256]);
    }
}

#[test]
fn reads_from_a_far_store_stay_within_the_budget() {
    // 48 chunks of 1 MiB; the budget has space for eight.
    let store = store_of(&document(&[48, 1 << 19], &[1, 1 << 19], &bytes()));
    let filled = open(&store, &context(1 << 30));
    let expected = elements(&filled);
    filled.write_values(&Selection::All, &expected).unwrap();
    let far = far(&store);
    let array = open(&(Arc::clone(&far) as Arc<dyn Store>), &context(8 * MIB));
    let _opened = far.take();
    assert!(array.read_values::<u16>(&Selection::All).unwrap() == expected);
    let trips = far.take();
    assert!(trips.begun == 48 && trips.bytes as u64 <= 8 * MIB, "{trips:?}");
    // The budget covers all calls together.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(array.read_values::<u16>(&Selection::All).unwrap() == expected));
        }
    });
    let trips = far.take();
    assert!(trips.begun == 4 * 48 && trips.bytes as u64 <= 8 * MIB, "{trips:?}");
}

#[test]
fn writes_to_a_far_store_stay_within_the_budget() {
    let store = store_of(&document(&[48, 1 << 19], &[1, 1 << 19], &bytes()));
    let far = far(&store);
    let array = open(&(Arc::clone(&far) as Arc<dyn Store>), &context(8 * MIB));
    let expected = elements(&array);
    let _opened = far.take();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| array.write_values(&Selection::All, &expected).unwrap());
        }
    });
    let trips = far.take();
    assert!(trips.written == 3 * 48 && trips.bytes_written as u64 <= 8 * MIB, "{trips:?}");
    assert!(open(&store, &context(1 << 30)).read_values::<u16>(&Selection::All).unwrap() == expected);
}

#[test]
fn copying_encoded_chunks_stays_within_the_budget() {
    let document = document(&[48, 1 << 19], &[1, 1 << 19], &bytes());
    let stores = [store_of(&document), store_of(&document)];
    let filled = open(&stores[0], &context(1 << 30));
    filled.write_values(&Selection::All, &elements(&filled)).unwrap();
    let small = context(3 * MIB);
    let far = far(&stores[1]);
    let from = open(&stores[0], &small);
    let to = open(&(Arc::clone(&far) as Arc<dyn Store>), &small);
    let _opened = far.take();
    to.copy_encoded_chunks(&from, &from.stored_chunks().unwrap()).unwrap();
    let trips = far.take();
    assert!(trips.written == 48 && trips.bytes_written as u64 <= 3 * MIB, "{trips:?}");
    let copied = open(&stores[1], &context(1 << 30));
    assert!(copied.read_values::<u16>(&Selection::All).unwrap() == elements(&filled));
    let tiny = open(&stores[0], &context(MIB / 2));
    let error = to.copy_encoded_chunks(&tiny, &[vec![0, 0]]).unwrap_err();
    assert!(matches!(error, Error::OverBudget { .. }), "{error:?}");
}
