//! Progress, cancellation, the limit on concurrent requests, and chunks in another store.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use zarr_interop::v3::{bytes, document, sharded};
use zarr_interop::{FarStore, key};
use zarr_kit::error::ErrorKind;
use zarr_kit::spec::store::{ReadHints, Store};
use zarr_kit::{Array, Context, Error, Hierarchy, Limits, Progress, Selection, open_store};

/// 64 chunks of 4 elements, in a store that counts requests.
struct Counted {
    store: Arc<FarStore>,
    array: Array,
}

const CHUNKS: u64 = 64;
const ELEMENTS: usize = 256;

const NEAR: ReadHints = ReadHints::MEMORY;
const FAR: ReadHints = ReadHints::new(16, 0);

impl Counted {
    fn new(hints: ReadHints, context: &Context) -> Self {
        Self::with_codecs(hints, context, &bytes(), 4)
    }

    fn with_codecs(hints: ReadHints, context: &Context, codecs: &serde_json::Value, chunk: u64) -> Self {
        let behind = open_store(context.registry(), "memory:").unwrap();
        let group = json!({"zarr_format": 3, "node_type": "group"}).to_string();
        behind.set(&key("zarr.json"), group.as_bytes().into()).unwrap();
        let array = document(&[ELEMENTS as u64], &[chunk], codecs).to_string();
        behind.set(&key("a/zarr.json"), array.as_bytes().into()).unwrap();
        let store = Arc::new(FarStore::new(behind, Duration::from_millis(1), hints));
        let opened: Arc<dyn Store> = Arc::<FarStore>::clone(&store);
        let array = Hierarchy::open(opened, context).unwrap().array("/a").unwrap();
        let _opening = store.take();
        Self { store, array }
    }

    fn filled(self) -> Self {
        self.array.write_values(.., &elements()).unwrap();
        let _writing = self.store.take();
        self
    }
}

fn elements() -> Vec<u16> {
    (1..=256).collect()
}

fn context() -> Context {
    Context::linked().unwrap()
}

fn counts(progress: &Progress) -> (u64, u64) {
    (progress.planned(), progress.done())
}

fn is_cancelled<T>(result: Result<T, Error>) -> bool {
    let error = result.err().unwrap();
    assert_eq!(error.to_string(), "the operation was cancelled");
    error.kind() == ErrorKind::Cancelled && matches!(error, Error::Cancelled)
}

#[test]
fn counts_the_chunks_of_reads_and_writes() {
    for hints in [NEAR, FAR] {
        let progress = Progress::new();
        let counted = Counted::new(hints, &context().with_progress(&progress));
        counted.array.write_values(.., &elements()).unwrap();
        assert_eq!(counts(&progress), (CHUNKS, CHUNKS));
        assert_eq!(&*counted.array.read_values::<u16>(4..12).unwrap(), &elements()[4..12]);
        assert_eq!(counts(&progress), (CHUNKS + 2, CHUNKS + 2));
        counted.array.erase_chunks(&[vec![1]]).unwrap();
        let both = [Selection::from(0..4), Selection::from(2..8)];
        counted.array.read_many(&both).unwrap();
        assert_eq!(counts(&progress), (CHUNKS + 5, CHUNKS + 5));
        counted.array.read_chunk(&[1]).unwrap();
        assert_eq!(counts(&progress), (CHUNKS + 6, CHUNKS + 6));
    }
}

#[test]
fn counts_the_shards_of_reads_and_writes() {
    for hints in [NEAR, FAR] {
        let progress = Progress::new();
        let codecs = sharded(&[4], &bytes());
        let counted = Counted::with_codecs(hints, &context().with_progress(&progress), &codecs, 32);
        counted.array.write_values(.., &elements()).unwrap();
        assert_eq!(counts(&progress), (8, 8));
        assert_eq!(&*counted.array.read_values::<u16>(30..70).unwrap(), &elements()[30..70]);
        assert_eq!(counts(&progress), (11, 11));
    }
}

#[test]
fn the_progress_of_a_handle_counts_only_its_operations() {
    let counted = Counted::new(NEAR, &context()).filled();
    let progress = Progress::new();
    let followed = counted.array.with_progress(&progress);
    counted.array.read(..).unwrap();
    assert_eq!(counts(&progress), (0, 0));
    followed.read(..).unwrap();
    assert_eq!(counts(&progress), (CHUNKS, CHUNKS));
    progress.cancel();
    assert!(is_cancelled(followed.read(..)));
    counted.array.read(..).unwrap();
}

#[test]
fn cancelled_operations_send_no_requests() {
    for hints in [NEAR, FAR] {
        let counted = Counted::new(hints, &context()).filled();
        let progress = Progress::new();
        let array = counted.array.with_progress(&progress);
        progress.cancel();
        assert!(is_cancelled(array.read(..)));
        assert!(is_cancelled(array.read_many(&[Selection::All])));
        assert!(is_cancelled(array.read_chunk(&[0])));
        assert!(is_cancelled(array.write_values(.., &elements())));
        assert!(is_cancelled(array.write_values(1..3, &[5u16, 6])));
        assert!(is_cancelled(array.erase_chunks(&[vec![0]])));
        assert!(is_cancelled(array.copy_encoded_chunks(&counted.array, &[vec![0]])));
        let trips = counted.store.take();
        assert_eq!((trips.alone, trips.begun, trips.written), (0, 0, 0), "{trips:?}");
    }
}

#[test]
fn a_cancelled_write_completes_the_chunks_that_it_has_started() {
    let progress = Progress::new();
    let counted = Counted::new(NEAR, &context().with_one_thread().with_progress(&progress));
    let cancelling = progress.clone();
    counted.store.spoil_set(move |number, _| {
        if number == 2 {
            cancelling.cancel();
        }
        Ok(())
    });
    assert!(is_cancelled(counted.array.write_values(.., &elements())));
    assert_eq!(counted.array.stored_chunks().unwrap(), [[0], [1], [2]]);
    assert_eq!(counts(&progress), (CHUNKS, 3));
}

#[test]
fn a_cancelled_read_of_a_remote_store_drops_its_other_requests() {
    let progress = Progress::new();
    let counted = Counted::new(FAR, &context()).filled();
    let cancelling = progress.clone();
    counted.store.spoil(move |_, _, response| {
        cancelling.cancel();
        // The reading thread has this time to notice the cancellation before the next 16 requests begin, also on a
        // busy machine.
        thread::sleep(Duration::from_millis(100));
        vec![response]
    });
    assert!(is_cancelled(counted.array.with_progress(&progress).read(..)));
    let trips = counted.store.take();
    assert!(trips.begun < ELEMENTS / 4, "{trips:?}");
}

#[test]
fn a_cancelled_write_to_a_remote_store_stores_only_chunks_that_it_has_started() {
    let progress = Progress::new();
    let counted = Counted::new(FAR, &context().with_progress(&progress));
    let cancelling = progress.clone();
    counted.store.spoil_set(move |_, _| {
        cancelling.cancel();
        Ok(())
    });
    assert!(is_cancelled(counted.array.write_values(.., &elements())));
    let trips = counted.store.take();
    assert!((1..ELEMENTS / 4).contains(&trips.written), "{trips:?}");
}

/// The limit is smaller than the concurrency that the store benefits from.
#[test]
fn requests_in_flight_do_not_exceed_the_limit_of_the_context() {
    let limits = Limits::new().with_requests(Some(3));
    let counted = Counted::new(FAR, &context().with_limits(limits));
    counted.array.write_values(.., &elements()).unwrap();
    let trips = counted.store.take();
    assert!(trips.written == 64 && trips.writes <= 3, "{trips:?}");
    for _ in 0..5 {
        assert_eq!(&*counted.array.read_values::<u16>(..).unwrap(), &elements()[..]);
    }
    let trips = counted.store.take();
    assert!(trips.begun == 5 * 64 && trips.in_flight <= 3, "{trips:?}");
    assert!(trips.batches.iter().all(|&requests| requests <= 3), "{trips:?}");
}

#[test]
fn operations_that_share_few_requests_all_complete() {
    for requests in [1, 2, 100] {
        let limits = Limits::new().with_requests(Some(requests)).with_memory(1 << 20);
        let counted = Counted::new(FAR, &context().with_limits(limits)).filled();
        thread::scope(|scope| {
            for number in 0..8u64 {
                let array = &counted.array;
                scope.spawn(move || match number % 2 {
                    0 => assert_eq!(&*array.read_values::<u16>(..).unwrap(), &elements()[..]),
                    _ => {
                        let start = usize::try_from(number * 32 + 1).unwrap();
                        let part = &elements()[start..start + 30];
                        array.write_values(number * 32 + 1..number * 32 + 31, part).unwrap();
                    }
                });
            }
        });
        assert_eq!(&*counted.array.read_values::<u16>(..).unwrap(), &elements()[..], "{requests}");
    }
}

/// A limit above the concurrency of the store does not affect a single operation.
#[test]
fn an_operation_with_enough_permits_sends_many_requests_in_one_call() {
    let limits = Limits::new().with_requests(Some(16));
    let counted = Counted::new(FAR, &context().with_limits(limits)).filled();
    counted.array.read(..).unwrap();
    assert_eq!(counted.store.take().batches, [64]);
}

/// The chunks stand for values that a program fetched itself.
#[test]
fn chunks_are_read_from_and_written_to_another_store() {
    let counted = Counted::new(FAR, &context()).filled();
    let own = open_store(context().registry(), "memory:").unwrap();
    for chunk in 0..CHUNKS / 2 {
        let bytes = counted.array.read_encoded_chunk(&[chunk]).unwrap().unwrap();
        own.set(&counted.array.chunk_key(&[chunk]).unwrap(), bytes.into()).unwrap();
    }
    let _fetching = counted.store.take();
    let array = counted.array.with_store(Arc::clone(&own)).unwrap();
    let mut expected = elements();
    expected[ELEMENTS / 2..].fill(0);
    assert_eq!(&*array.read_values::<u16>(..).unwrap(), &expected[..]);
    array.write_values(0..4, &[9u16; 4]).unwrap();
    let trips = counted.store.take();
    assert_eq!((trips.alone, trips.begun, trips.written), (0, 0, 0), "{trips:?}");
    assert_eq!(&*counted.array.read_values::<u16>(0..4).unwrap(), &elements()[..4]);
    assert_eq!(&*array.read_values::<u16>(0..4).unwrap(), &[9; 4]);
}
