//! Reading selections one after another, while the next ones are being fetched.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use zarr_interop::v3::{document, sharded, zstd};
use zarr_interop::{FarStore, key};
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::{Array, Context, Error, Hierarchy, Limits, Progress, Selection, ThreadPool, open_store};

/// The time limit for requests that a thread should send.
const PATIENCE: Duration = Duration::from_secs(20);
const IN_FLIGHT: usize = 32;
const HINTS: ReadHints = ReadHints::new(IN_FLIGHT, 0);

/// An array of distinct elements, opened in a store in memory and in a store with latency.
struct Arrays {
    near: Array,
    far_store: Arc<FarStore>,
    far: Array,
}

impl Arrays {
    fn new(shape: &[u64], chunk: &[u64], codecs: &Value, context: &Context) -> Self {
        let store = open_store(context.registry(), "memory:").unwrap();
        let text = document(shape, chunk, codecs).to_string();
        store.set(&key("zarr.json"), text.as_bytes().into()).unwrap();
        let far_store = Arc::new(FarStore::new(Arc::clone(&store), Duration::from_millis(5), HINTS));
        let open = |store: Arc<dyn Store>| Hierarchy::open(store, context).unwrap().array("/").unwrap();
        let near = open(store);
        let count = shape.iter().product::<u64>();
        let elements: Vec<u16> = (0..count).map(|number| u16::try_from(number % 65_521).unwrap()).collect();
        near.write_values(&Selection::All, &elements).unwrap();
        let far = open(Arc::<FarStore>::clone(&far_store));
        let _opened = far_store.take();
        Self { near, far_store, far }
    }

    fn square(codecs: &Value) -> Self {
        Self::new(&[256, 256], &[32, 32], codecs, &Context::linked().unwrap())
    }
}

fn boxes(count: u64) -> impl Iterator<Item = [std::ops::Range<u64>; 2]> {
    (0..count).map(|number| {
        let row = number * 37 % 240;
        let column = number * 59 % 240;
        [row..row + 16, column..column + 16]
    })
}

#[test]
fn the_elements_are_those_of_single_reads_in_order() {
    for codecs in [zstd(), sharded(&[8, 8], &zstd())] {
        let arrays = Arrays::square(&codecs);
        for count in [0, 1, 2, 100] {
            let found: Vec<_> = arrays.far.read_ahead(boxes(count)).map(Result::unwrap).collect();
            assert_eq!(found.len() as u64, count);
            for (found, wanted) in found.iter().zip(boxes(count)) {
                let wanted = arrays.near.read(wanted).unwrap();
                assert!(found.bytes() == wanted.bytes() && found.shape() == wanted.shape());
            }
        }
    }
    let all: Vec<_> = Arrays::square(&zstd()).near.read_ahead([..]).collect();
    assert_eq!(all[0].as_ref().unwrap().count(), 256 * 256);
}

/// Batches have 1, 4, 16 and 64 selections, and then the rest.
#[test]
fn a_hundred_selections_take_few_round_trips() {
    let arrays = Arrays::square(&zstd());
    assert_eq!(arrays.far.read_ahead(boxes(100)).filter(Result::is_ok).count(), 100);
    let trips = arrays.far_store.take();
    assert_eq!((trips.batches.len(), trips.alone), (5, 0), "{trips:?}");
    assert_eq!(trips.in_flight, IN_FLIGHT, "requests of different selections overlap");
    // The largest batch requests each of the 64 chunks once.
    assert_eq!(trips.batches.iter().max(), Some(&64), "{trips:?}");
}

#[test]
fn the_next_selections_are_requested_while_the_caller_has_the_first() {
    let arrays = Arrays::square(&zstd());
    let mut ahead = arrays.far.read_ahead(boxes(100));
    assert_eq!(arrays.far_store.take().batches.len(), 0, "nothing is read before the first element is taken");
    assert!(ahead.next().unwrap().is_ok());
    let begun = Instant::now();
    let mut batches = 0;
    while batches < 2 && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
        batches += arrays.far_store.take().batches.len();
    }
    assert_eq!(batches, 2);
    // No further batch is read before the caller takes elements of the second one.
    thread::sleep(Duration::from_millis(50));
    assert_eq!(arrays.far_store.take().batches.len(), 0);
    assert_eq!(ahead.filter(Result::is_ok).count(), 99);
}

#[test]
fn batches_stay_within_a_part_of_the_memory_budget() {
    // A row has 16 KiB, so 8 rows are an eighth of the budget.
    let context = Context::linked().unwrap().with_limits(Limits::new().with_memory(1 << 20));
    let arrays = Arrays::new(&[64, 8192], &[1, 8192], &zstd(), &context);
    let rows = (0..64u64).map(|row| row..row + 1);
    assert_eq!(arrays.far.read_ahead(rows).filter(Result::is_ok).count(), 64);
    let trips = arrays.far_store.take();
    assert_eq!(trips.batches, [1, 4, 8, 8, 8, 8, 8, 8, 8, 3]);
    // A selection larger than an eighth of the budget is a separate batch.
    let halves = [0..32u64, 32..64];
    assert_eq!(arrays.far.read_ahead(halves).filter(Result::is_ok).count(), 2);
    assert_eq!(arrays.far_store.take().batches, [32, 32]);
}

#[test]
fn an_error_has_the_place_of_its_selection() {
    let arrays = Arrays::square(&zstd());
    arrays.near.hierarchy().store().set(&key("c/7/7"), b"no frame of zstd".into()).unwrap();
    let selections = (0..40u64).map(|number| match number {
        9 => [0..1, 0..300],
        23 => [250..256, 250..256],
        _ => [number..number + 1, 0..8],
    });
    for (number, found) in arrays.far.read_ahead(selections).enumerate() {
        match number {
            9 => assert!(matches!(found, Err(Error::Selection(_))), "{found:?}"),
            23 => assert!(matches!(found, Err(Error::Chunk(_))), "{found:?}"),
            _ => assert_eq!(found.unwrap().count(), 8, "{number}"),
        }
    }
}

#[test]
fn a_cancelled_iterator_returns_errors() {
    let progress = Progress::new();
    let arrays = Arrays::square(&zstd());
    let array = arrays.far.with_progress(&progress);
    let mut ahead = array.read_ahead(boxes(100));
    assert!(ahead.next().unwrap().is_ok());
    progress.cancel();
    // The batch that was being read may be complete, so the next four results may be elements.
    assert!(ahead.skip(4).all(|found| found.is_err()));
}

/// While the only thread of the pool waits for elements, it also does the work that the read hands to the pool.
#[test]
fn a_pool_of_one_thread_takes_the_elements_of_its_own_reads() {
    let pool = ThreadPool::new(1).unwrap();
    let context = Context::linked().unwrap().with_thread_pool(&pool);
    let arrays = Arrays::new(&[64, 1 << 16], &[1, 1 << 16], &zstd(), &context);
    let read = |count| arrays.far.read_ahead((0..count).map(|row| row..row + 1));
    assert_eq!(pool.install(|| read(64).filter(Result::is_ok).count()), 64);
    pool.install(|| {
        let mut dropped = read(64);
        assert!(dropped.next().unwrap().is_ok());
    });
}
