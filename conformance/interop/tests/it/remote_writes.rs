//! Writing to a remote store: the number of values in flight and their memory, equality with a near store,
//! and the handling of failures.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use serde_json::{Value, json};
use zarr_interop::v3::{bytes, document, sharded};
use zarr_interop::{FarStore, Trips, key};
use zarr_kit::spec::store::{ReadHints, Store, StoreError};
use zarr_kit::spec::{Key, Prefix};
use zarr_kit::{Array, Context, Hierarchy, Selection, ThreadPool, open_store};

const DELAY: Duration = Duration::from_millis(2);
const IN_FLIGHT: usize = 32;
const HINTS: ReadHints = ReadHints::new(IN_FLIGHT, 0);

/// The minimum number of values in flight. It is below the limit, because some chunks wait for the lock of another
/// chunk.
const MANY: usize = IN_FLIGHT - 8;

/// Maximum number of bytes that a write has in flight.
const BUDGET: usize = 64 << 20;

/// One array in a far store, and an equal one in a near store.
struct Twice {
    behind: Arc<dyn Store>,
    far: Arc<FarStore>,
    array: Array,
    near: Array,
}

impl Twice {
    fn new(shape: &[u64], chunk: &[u64], codecs: &Value) -> Self {
        Self::of(&document(shape, chunk, codecs), HINTS, &context())
    }

    fn of(document: &Value, hints: ReadHints, context: &Context) -> Self {
        let stores = [(); 2].map(|()| open_store(context.registry(), "memory:").unwrap());
        for store in &stores {
            store.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
            let group = json!({"zarr_format": 3, "node_type": "group"});
            store.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
        }
        let [behind, near] = stores;
        let far = Arc::new(FarStore::new(Arc::clone(&behind), DELAY, hints));
        let open = |store: Arc<dyn Store>| Hierarchy::open(store, context).unwrap().array("/a").unwrap();
        let array = open(Arc::<FarStore>::clone(&far));
        let _opened = far.take();
        Self { behind, far, array, near: open(near) }
    }

    /// Writes to both arrays and compares all values of both stores.
    fn write(&self, selection: &str, elements: &[u16]) -> Trips {
        let selection = Selection::parse(selection, self.array.shape()).unwrap();
        self.near.write_values(&selection, elements).unwrap();
        let _before = self.far.take();
        self.array.write_values(&selection, elements).unwrap();
        let trips = self.far.take();
        self.compare();
        assert!(trips.writes <= IN_FLIGHT && trips.bytes_written <= BUDGET, "{trips:?}");
        trips
    }

    /// Fills the arrays with distinct elements, so that all chunks are stored.
    fn filled(self) -> Self {
        self.write("", &elements(self.array.shape().iter().product()));
        self
    }

    fn compare(&self) {
        let near = self.near.hierarchy().store();
        let keys = near.list().unwrap();
        assert_eq!(keys, self.behind.list().unwrap());
        for key in &keys {
            assert!(value(&**near, key) == value(&*self.behind, key), "{key}");
        }
    }
}

fn value(store: &dyn Store, key: &Key) -> Vec<u8> {
    zarr_kit::spec::store::get_value(store, key, usize::MAX).unwrap().unwrap().to_vec()
}

fn context() -> Context {
    Context::linked().unwrap()
}

fn elements(count: u64) -> Vec<u16> {
    (0..count).map(|number| u16::try_from(number * 7919 % 65_521).unwrap() | 1).collect()
}

fn zstd() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "big"}},
           {"name": "zstd", "configuration": {"level": 1, "checksum": false}}])
}

fn cut(key: &Key) -> StoreError {
    let source = "connection lost";
    StoreError::io("writing", key.to_string(), source)
}

#[test]
fn writes_keep_the_hinted_number_of_chunks_in_flight() {
    for codecs in [bytes(), zstd(), sharded(&[16, 8], &zstd())] {
        let twice = Twice::new(&[512, 512], &[32, 16], &codecs);
        twice.far.gather(MANY);
        let trips = twice.write("", &elements(512 * 512));
        assert_eq!((trips.written, trips.alone), (512, 0), "nothing is read");
        assert!(trips.writes >= MANY, "{trips:?}");
        // Only chunks that are partially covered are read first.
        twice.far.gather(MANY);
        let trips = twice.write("10:200,8:112", &elements(190 * 104));
        assert_eq!((trips.written, trips.alone), (7 * 7, 7 * 7 - 5 * 6));
        assert!(trips.writes >= MANY, "{trips:?}");
        // Writes every second element of all chunks.
        let trips = twice.write("0:512:2,0:512:2", &elements(256 * 256));
        assert_eq!((trips.written, trips.alone), (512, 512));
        assert!(trips.alone_at_once > 2 && trips.writes > 2, "{trips:?}");
    }
}

#[test]
fn one_thread_has_the_same_number_of_writes_in_flight() {
    let document = document(&[512, 512], &[32, 32], &zstd());
    let twice = Twice::of(&document, HINTS, &context().with_one_thread());
    twice.far.gather(MANY);
    let trips = twice.write("", &elements(512 * 512));
    assert_eq!(trips.written, 256);
    assert!(trips.writes >= MANY, "{trips:?}");
}

#[test]
fn without_concurrency_in_the_hints_each_thread_has_one_write_in_flight() {
    let document = document(&[256, 256], &[32, 32], &zstd());
    let hints = ReadHints::new(1, 0);
    for (context, most) in [(context().with_one_thread(), 1), (context(), context().thread_count())] {
        let twice = Twice::of(&document, hints, &context);
        let trips = twice.write("", &elements(256 * 256));
        assert_eq!(trips.written, 64);
        assert!(trips.writes <= most, "{trips:?}");
    }
}

#[test]
fn the_number_of_bytes_in_flight_of_writes_is_bounded() {
    // 24 chunks of 4 MiB: one and a half times the budget.
    let twice = Twice::new(&[24, 1 << 21], &[1, 1 << 21], &bytes());
    twice.far.gather(12);
    let trips = twice.write("", &elements(24 << 21));
    assert!(trips.written == 24 && trips.writes >= 12 && trips.writes <= 16, "{trips:?}");
    // If values are small, more of them are in flight.
    let twice = Twice::new(&[24, 1 << 21], &[1, 1 << 21], &zstd());
    twice.far.gather(18);
    let trips = twice.write("", &vec![7; 24 << 21]);
    assert!(trips.written == 24 && trips.writes >= 18, "{trips:?}");
}

#[test]
fn few_shards_are_encoded_on_all_threads_and_written_concurrently() {
    let twice = Twice::new(&[64, 1536], &[64, 512], &sharded(&[16, 16], &zstd()));
    twice.far.gather(2);
    assert!(twice.write("", &elements(64 * 1536)).writes >= 2);
    let trips = twice.write("0:40,100:1300", &elements(40 * 1200));
    assert_eq!((trips.written, trips.alone), (3, 3));
    // These shards are large enough to be encoded by several threads.
    let shards = sharded(&[256, 256], &sharded(&[64, 64], &zstd()));
    let twice = Twice::new(&[1024, 1536], &[1024, 512], &shards).filled();
    twice.far.gather(2);
    assert!(twice.write("", &elements(1024 * 1536)).writes >= 2);
    twice.write("1:1000:3,5", &elements(333));
}

#[test]
fn chunks_of_fill_values_are_erased_concurrently() {
    for codecs in [zstd(), sharded(&[8, 8], &zstd())] {
        let twice = Twice::new(&[256, 256], &[16, 16], &codecs).filled();
        let trips = twice.write("", &vec![0; 256 * 256]);
        assert_eq!((trips.written, trips.alone), (0, 256));
        assert!(trips.alone_at_once > 2, "{trips:?}");
        assert!(twice.array.stored_chunks().unwrap().is_empty());
    }
}

#[test]
fn texts_and_arrays_without_dimensions_are_written_the_same_to_a_far_store() {
    let mut texts = document(&[60, 10], &[7, 3], &json!([{"name": "vlen-utf8"}]));
    (texts["data_type"], texts["fill_value"]) = (json!("string"), json!("none"));
    let twice = Twice::of(&texts, HINTS, &context());
    let all: Vec<_> = (0..600).map(|number| format!("text {number}")).collect();
    for array in [&twice.near, &twice.array] {
        array.write_values(&Selection::All, &all).unwrap();
        array.write_values(Selection::parse("5:50:4,2:9", array.shape()).unwrap(), &all[..84]).unwrap();
    }
    twice.compare();
    let twice = Twice::of(&document(&[], &[], &zstd()), HINTS, &context());
    assert_eq!(twice.write("", &[7]).written, 1);
}

#[test]
fn no_write_starts_after_a_failed_one() {
    for codecs in [zstd(), sharded(&[8, 8], &zstd())] {
        for (failing, selection, written) in [(0, "", 32), (100, "", 132), (40, "0:512:2,0:512:2", 72)] {
            let twice = Twice::new(&[512, 512], &[16, 16], &codecs);
            twice.far.spoil_set(move |number, key| {
                // Delays later writes, so that they end after the failure is known.
                thread::sleep(Duration::from_millis(if number > failing { 100 } else { 0 }));
                if number == failing { Err(cut(key)) } else { Ok(()) }
            });
            let selection = Selection::parse(selection, &[512, 512]).unwrap();
            let count = selection.shape(&[512, 512]).unwrap().iter().product();
            let error = twice.array.write_values(&selection, &elements(count)).unwrap_err().to_string();
            assert!(error.starts_with("writing `a/c/") && error.ends_with("connection lost"), "{error}");
            let trips = twice.far.take();
            // The writes that were in flight are completed, and no further writes begin.
            assert!(trips.written <= written + IN_FLIGHT, "{trips:?}");
            assert_eq!(twice.near_count(), trips.written - 1, "{trips:?}");
        }
    }
}

impl Twice {
    /// Returns the number of stored chunks.
    fn near_count(&self) -> usize {
        self.behind.list_sorted(&Prefix::new("a/c/").unwrap()).unwrap().len()
    }
}

#[test]
fn the_error_of_a_damaged_chunk_names_it_and_its_value_remains() {
    let twice = Twice::new(&[512, 512], &[16, 16], &zstd()).filled();
    twice.behind.set(&key("a/c/3/5"), b"no frame of zstd".into()).unwrap();
    let selection = Selection::parse("0:512:2", &[512, 512]).unwrap();
    let error = twice.array.write_values(&selection, &elements(256 * 512)).unwrap_err();
    assert!(matches!(&error, zarr_kit::Error::Chunk(error) if error.index == [3, 5]), "{error}");
    assert_eq!(value(&*twice.behind, &key("a/c/3/5")), b"no frame of zstd");
}

#[test]
fn a_panic_of_the_store_propagates_to_the_caller() {
    let twice = Twice::new(&[512, 512], &[16, 16], &zstd());
    twice.far.spoil_set(|number, _| if number == 50 { panic!("number 50") } else { Ok(()) });
    let write = || twice.array.write_values(&Selection::All, &elements(512 * 512));
    let panic = panic::catch_unwind(AssertUnwindSafe(write)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"number 50"));
    // All locks were released, so further writes succeed.
    twice.far.spoil_set(|_, _| Ok(()));
    twice.filled();
}

#[test]
fn concurrent_writes_to_parts_of_one_chunk_lose_nothing() {
    for codecs in [zstd(), sharded(&[8, 8], &zstd())] {
        let twice = Twice::new(&[64, 64], &[16, 16], &codecs);
        let all = elements(64 * 64);
        thread::scope(|scope| {
            for column in 0..16u64 {
                let array = twice.array.clone();
                let all = &all;
                scope.spawn(move || {
                    let selection = Selection::parse(&format!(":,{column}::16"), &[64, 64]).unwrap();
                    let part = all.iter().zip(0u64..).filter(|(_, place)| place % 16 == column);
                    let part: Vec<u16> = part.map(|(element, _)| *element).collect();
                    array.write_values(&selection, &part).unwrap();
                });
            }
        });
        twice.near.write_values(&Selection::All, &all).unwrap();
        assert_eq!(twice.array.read_values::<u16>(&Selection::All).unwrap(), all);
    }
}

/// All threads of a pool write at the same time, and none of them waits for another one.
#[test]
fn all_threads_of_a_pool_can_write_at_the_same_time() {
    for threads in [1, 2] {
        let pool = ThreadPool::new(threads).unwrap();
        let context = context().with_thread_pool(&pool);
        let shards = sharded(&[128, 128], &zstd());
        let arrays: Vec<_> = (0..4)
            .map(|number| {
                let codecs = if number == 0 { zstd() } else { shards.clone() };
                Twice::of(&document(&[512, 1024], &[512, 512], &codecs), HINTS, &context)
            })
            .collect();
        let all = elements(512 * 1024);
        pool.install(|| {
            arrays.par_iter().for_each(|twice| {
                twice.array.write_values(&Selection::All, &all).unwrap();
                let selection = Selection::parse("7:300,3:900", &[512, 1024]).unwrap();
                twice.array.write_values(&selection, &all[..293 * 897]).unwrap();
            });
        });
        for twice in &arrays {
            twice.near.write_values(&Selection::All, &all).unwrap();
            let selection = Selection::parse("7:300,3:900", &[512, 1024]).unwrap();
            twice.near.write_values(&selection, &all[..293 * 897]).unwrap();
            twice.compare();
        }
    }
}

#[test]
fn chunks_outside_a_new_shape_are_erased_in_bulk() {
    let mut twice = Twice::new(&[512, 512], &[8, 8], &bytes()).filled();
    twice.array.resize(&[100, 512]).unwrap();
    let trips = twice.far.take();
    assert_eq!(twice.near_count(), 13 * 64);
    // Locking, reading and writing the document, a listing, and at most one batch of concurrent requests.
    assert!(trips.alone <= 3 + IN_FLIGHT, "{trips:?}");
    twice.array.erase_chunks(&twice.array.stored_chunks().unwrap()).unwrap();
    let trips = twice.far.take();
    assert_eq!((twice.near_count(), trips.written), (0, 0));
    assert!(trips.alone <= 1 + IN_FLIGHT, "{trips:?}");
    let error = twice.array.erase_chunks(&[vec![0, 0], vec![13, 0]]).unwrap_err();
    assert!(error.to_string().contains("13"), "{error}");
}

#[test]
fn copies_of_encoded_chunks_keep_the_hinted_number_in_flight() {
    let from = Twice::new(&[512, 512], &[16, 16], &zstd()).filled();
    for near in [false, true] {
        let to = Twice::new(&[512, 512], &[16, 16], &zstd());
        let source = if near { &from.near } else { &from.array };
        let stored = source.stored_chunks().unwrap();
        to.far.gather(MANY);
        to.array.copy_encoded_chunks(source, &stored).unwrap();
        let trips = to.far.take();
        assert!(trips.written == 1024 && trips.writes >= MANY, "{trips:?}");
        to.near.copy_encoded_chunks(&from.array, &stored).unwrap();
        to.compare();
        assert_eq!(
            to.array.read(&Selection::All).unwrap().bytes(),
            source.read(&Selection::All).unwrap().bytes()
        );
    }
    // Missing chunks are not copied, and an index outside the grid is an error.
    let to = Twice::new(&[512, 512], &[16, 16], &zstd());
    from.behind.erase(&key("a/c/0/1")).unwrap();
    to.array.copy_encoded_chunks(&from.array, &[vec![0, 1], vec![0, 2]]).unwrap();
    assert_eq!(to.array.stored_chunks().unwrap(), [[0, 2]]);
    let error = to.array.copy_encoded_chunks(&from.array, &[vec![32, 1]]).unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}

#[test]
fn encoded_chunks_are_copied_from_other_positions() {
    let from = Twice::new(&[512, 512], &[16, 16], &zstd()).filled();
    let to = Twice::new(&[64, 512], &[16, 16], &zstd());
    let indices: Vec<Vec<u64>> =
        (0..4).flat_map(|row| (0..30).map(move |column| vec![row, column])).collect();
    for target in [&to.array, &to.near] {
        target.copy_encoded_chunks_from(&from.array, &[3, 2], &indices).unwrap();
    }
    to.compare();
    let part = |rows: std::ops::Range<u64>, columns: std::ops::Range<u64>| [rows, columns];
    let copied = to.near.read(part(0..64, 0..480)).unwrap();
    let expected = from.array.read(part(48..112, 32..512)).unwrap();
    assert_eq!(copied.bytes(), expected.bytes());
    // The chunk of the source must exist as well.
    let error = to.near.copy_encoded_chunks_from(&from.array, &[30, 2], &indices).unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}

#[test]
fn the_number_of_bytes_in_flight_of_copies_is_bounded() {
    let from = Twice::new(&[24, 1 << 21], &[1, 1 << 21], &bytes()).filled();
    let to = Twice::new(&[24, 1 << 21], &[1, 1 << 21], &bytes());
    to.far.gather(12);
    let stored = from.array.stored_chunks().unwrap();
    let _before = from.far.take();
    to.array.copy_encoded_chunks(&from.array, &stored).unwrap();
    let read = from.far.take();
    let written = to.far.take();
    assert!(read.alone == 24 && read.alone_at_once <= 16, "{read:?}");
    assert!(written.written == 24 && written.writes >= 12 && written.bytes_written <= BUDGET, "{written:?}");
}
