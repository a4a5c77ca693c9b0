//! Reading elements from a remote store: the number of requests and round trips, and the handling of failures.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use zarr_interop::v3::{bytes, document, sharded, zstd};
use zarr_interop::{FarStore, Random, Trips, key};
use zarr_kit::spec::store::{ReadHints, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_kit::spec::{ByteRange, Invalid, LimitExceeded, Output, Registry, typetag};
use zarr_kit::{Array, Context, Error, Hierarchy, Limits, Selection, open_store};

const DELAY: Duration = Duration::from_millis(5);

const IN_FLIGHT: usize = 32;
const HINTS: ReadHints = ReadHints::new(IN_FLIGHT, 0);

/// Maximum number of bytes that a read has in flight.
const BUDGET: usize = 64 << 20;

/// One array, opened in a near store, and in a far store that wraps the near one.
struct Twice {
    store: Arc<dyn Store>,
    far: Arc<FarStore>,
    near_array: Array,
    array: Array,
}

impl Twice {
    fn new(shape: &[u64], chunk: &[u64], codecs: &Value) -> Self {
        Self::of(&document(shape, chunk, codecs), HINTS, &Context::linked().unwrap())
    }

    fn of(document: &Value, hints: ReadHints, context: &Context) -> Self {
        let store = open_store(context.registry(), "memory:").unwrap();
        store.set(&key("a/zarr.json"), document.to_string().as_bytes().into()).unwrap();
        let group = json!({"zarr_format": 3, "node_type": "group"});
        store.set(&key("zarr.json"), group.to_string().as_bytes().into()).unwrap();
        let far = Arc::new(FarStore::new(Arc::clone(&store), DELAY, hints));
        let open = |store: Arc<dyn Store>| Hierarchy::open(store, context).unwrap().array("/a").unwrap();
        let array = open(Arc::<FarStore>::clone(&far));
        let _opened = far.take();
        Self { near_array: open(Arc::clone(&store)), store, far, array }
    }

    /// Fills the array with distinct elements, so that all chunks are stored.
    fn filled(self) -> Self {
        let count = self.near_array.shape().iter().product::<u64>();
        let elements: Vec<u16> =
            (0..count).map(|number| u16::try_from(number % 65_521).unwrap() | 1).collect();
        self.near_array.write_values(&Selection::All, &elements).unwrap();
        self
    }

    fn select(&self, selection: &str) -> Selection {
        Selection::parse(selection, self.array.shape()).unwrap()
    }

    /// Checks that both arrays return the same elements, and returns the requests.
    fn read(&self, selection: &Selection) -> Trips {
        let near = self.near_array.read(selection).unwrap();
        let _before = self.far.take();
        let far = self.array.read(selection).unwrap();
        let trips = self.far.take();
        assert!(near.bytes() == far.bytes(), "{selection:?}");
        assert!(trips.in_flight <= IN_FLIGHT && trips.bytes <= BUDGET, "{trips:?}");
        trips
    }

    /// Returns the number of requests in each batch.
    fn batches(&self, selection: &Selection) -> Vec<usize> {
        let trips = self.read(selection);
        assert_eq!((trips.alone, trips.begun), (0, trips.batches.iter().sum()), "{trips:?}");
        trips.batches
    }

    /// Returns the error of reading everything.
    fn error(&self) -> Error {
        self.array.read(&Selection::All).unwrap_err()
    }
}

#[test]
fn all_selected_chunks_are_read_in_one_round_trip() {
    for codecs in [bytes(), zstd()] {
        let twice = Twice::new(&[512, 512], &[32, 16], &codecs).filled();
        let trips = twice.read(&Selection::All);
        assert_eq!((trips.batches.as_slice(), trips.alone), (&[512][..], 0));
        assert_eq!(trips.in_flight, IN_FLIGHT);
        assert_eq!(twice.batches(&twice.select("10:200,7:100")), [7 * 7]);
        assert_eq!(twice.batches(&twice.select("511,511")), [1]);
        assert_eq!(
            twice.batches(&Selection::Coordinates(vec![vec![0, 511, 1, 0], vec![0, 511, 1, 17]])),
            [3]
        );
        // A missing chunk takes one request, too.
        twice.store.erase(&key("a/c/0/0")).unwrap();
        assert_eq!(twice.batches(&Selection::All), [512]);
    }
}

#[test]
fn one_thread_has_the_same_number_of_requests_in_flight() {
    let context = Context::linked().unwrap().with_one_thread();
    let twice = Twice::of(&document(&[512, 512], &[32, 32], &zstd()), HINTS, &context).filled();
    let trips = twice.read(&Selection::All);
    assert_eq!((trips.batches, trips.alone, trips.in_flight), (vec![256], 0, IN_FLIGHT));
}

#[test]
fn the_number_of_bytes_in_flight_is_bounded() {
    // 72 chunks of 2 MiB: more than twice the budget.
    let twice = Twice::new(&[72, 1 << 20], &[1, 1 << 20], &bytes()).filled();
    let trips = twice.read(&Selection::All);
    assert_eq!((trips.batches, trips.begun), (vec![72], 72));
    assert_eq!(trips.bytes, BUDGET, "the budget is used completely");
}

#[test]
fn shards_take_two_round_trips_and_one_with_cached_indexes() {
    let twice = Twice::new(&[64, 512], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
    // Adjacent requests are coalesced: the selected inner chunks of each of the eight shards form one range.
    let most = twice.select("0:48,:");
    assert_eq!(twice.batches(&most), [8, 8]);
    assert_eq!(twice.batches(&most), [8]);
    assert_eq!(twice.batches(&Selection::All), [8]);
    // A row of inner chunks in each of two shards.
    assert_eq!(twice.batches(&twice.select("0:16,0:128")), [2]);
    // The bytes between two distant inner chunks are not read.
    assert_eq!(twice.batches(&Selection::Coordinates(vec![vec![0, 40], vec![0, 0]])), [2]);
    assert_eq!(twice.batches(&Selection::Coordinates(vec![vec![0, 63], vec![0, 511]])), [2]);
}

#[test]
fn small_shards_that_are_read_completely_take_one_round_trip() {
    let twice = Twice::new(&[60, 512], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
    assert_eq!(twice.batches(&Selection::All), [8]);
    // The indexes of these shards are cached.
    assert_eq!(twice.batches(&twice.select("0:16,0:128")), [2]);
    // Some superfluous bytes cost less than another round trip.
    for (coalesce_gap, batches) in [(0, vec![8, 8]), (8192 / 4 + 1024, vec![8])] {
        let document = document(&[64, 512], &[64, 64], &sharded(&[16, 16], &zstd()));
        let hints = ReadHints::new(HINTS.max_concurrency, coalesce_gap);
        let twice = Twice::of(&document, hints, &Context::linked().unwrap()).filled();
        assert_eq!(twice.batches(&twice.select("0:48,:")), batches);
    }
    // A shard that exceeds the expected size is not fetched whole: its index is fetched, then its inner chunks.
    let twice = Twice::new(&[64, 512], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
    twice.far.spoil(|_, batch, (number, answer)| match (batch, number) {
        (0, 3) => {
            let source = LimitExceeded { limit: 7 };
            vec![(number, Err(StoreError::TooLarge { key: "a/c/0/3".to_owned(), source }))]
        }
        _ => vec![(number, answer)],
    });
    assert_eq!(twice.batches(&Selection::All), [8, 1, 1]);
}

#[test]
fn the_measured_speed_decides_whether_a_large_shard_takes_one_request() {
    let document = document(&[1024, 2048], &[1024, 1024], &sharded(&[256, 256], &zstd()));
    let context = Context::linked().unwrap();
    // The expected size of a shard is half of its 2 MiB. A shard is fetched whole if the expected size arrives in the
    // time of four round trips.
    for (measured, batches) in [(None, 1), (Some(257 << 10), 1), (Some(250 << 10), 2)] {
        let hints = HINTS.with_bytes_per_round_trip(measured);
        let twice = Twice::of(&document, hints, &context).filled();
        assert_eq!(twice.batches(&Selection::All).len(), batches, "{measured:?}");
        // Without a cache, bytes that are not selected are not fetched.
        let twice = Twice::of(&document, hints, &context).filled();
        assert_eq!(twice.batches(&twice.select("0:9,0:9")), [1, 1]);
    }
    let twice =
        Twice::of(&document, HINTS, &context.with_limits(Limits::new().with_memory(6 << 20))).filled();
    assert_eq!(twice.batches(&Selection::All).len(), 2, "a small part of the memory budget");
}

#[test]
fn a_shard_of_which_nearly_everything_is_needed_takes_one_request() {
    for (selections, batches) in [(&["0:48,:", "48:64,0:48"][..], vec![1]), (&["0:48,:"], vec![1, 1])] {
        let twice = Twice::new(&[64, 64], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
        let selections: Vec<_> = selections.iter().map(|selection| twice.select(selection)).collect();
        let far = twice.array.read_many(&selections).unwrap();
        assert_eq!(twice.far.take().batches, batches);
        let near = twice.near_array.read_many(&selections).unwrap();
        assert!(near.iter().zip(&far).all(|(near, far)| near.bytes() == far.bytes()));
    }
}

#[test]
fn missing_shards_and_inner_chunks_read_as_the_fill_value() {
    let twice = Twice::new(&[64, 512], &[64, 64], &sharded(&[16, 16], &zstd()));
    assert_eq!(twice.batches(&Selection::All), [8]);
    twice.near_array.write_values(twice.select("0:16,0:16"), &[7u16; 256]).unwrap();
    twice.near_array.write_values(twice.select("17,500"), &[8u16]).unwrap();
    assert_eq!(twice.batches(&twice.select("0:30,:")), [8, 2]);
    assert_eq!(twice.batches(&twice.select("20:60,20:60")), [1], "a cached index may be outdated");
    assert_eq!(
        twice.batches(&Selection::All),
        [8],
        "with two cached indexes, inner chunks are fetched immediately"
    );
}

#[test]
fn many_boxes_share_their_round_trips_and_each_chunk_is_fetched_once() {
    for (codecs, batches) in [(zstd(), 1), (sharded(&[8, 8], &zstd()), 2)] {
        let twice = Twice::new(&[256, 256], &[32, 32], &codecs).filled();
        let mut random = Random::new(7);
        let mut below = |most: u64| random.below(most);
        let selections: Vec<_> = (0..200)
            .map(|_| {
                let row = below(240);
                let column = below(240);
                twice.select(&format!("{row}:{},{column}:{}", row + 16, column + 16))
            })
            .collect();
        let far = twice.array.read_many(&selections).unwrap();
        let trips = twice.far.take();
        assert_eq!((trips.batches.len(), trips.batches[0], trips.alone), (batches, 64, 0), "{trips:?}");
        let near = twice.near_array.read_many(&selections).unwrap();
        assert!(near.iter().zip(&far).all(|(near, far)| near.bytes() == far.bytes()));
    }
}

#[test]
fn ranges_are_coalesced_across_small_gaps() {
    let document = document(&[64, 64], &[64, 64], &sharded(&[16, 16], &bytes()));
    for (coalesce_gap, requests) in [(0, 4), (3 * 512, 1)] {
        let hints = ReadHints::new(4, coalesce_gap);
        let twice = Twice::of(&document, hints, &Context::linked().unwrap()).filled();
        assert_eq!(twice.batches(&twice.select("0:64,0:16")), [1, requests]);
    }
}

#[test]
fn nested_shards_read_the_same_from_a_far_store() {
    let twice = Twice::new(&[128, 128], &[64, 64], &sharded(&[32, 32], &sharded(&[8, 8], &zstd()))).filled();
    assert_eq!(twice.batches(&Selection::All), [4, 4], "inner shards are read completely");
    for selection in ["3:90,5:70", "0:8,0:8", "127,127", "0:128:3,1"] {
        twice.read(&twice.select(selection));
    }
}

#[test]
fn parts_of_nested_shards_take_three_round_trips_and_one_with_cached_indexes() {
    let twice = Twice::new(&[128, 128], &[64, 64], &sharded(&[32, 32], &sharded(&[8, 8], &zstd()))).filled();
    let column = twice.select("0:128,0");
    // Three batches: the indexes of two shards, then the indexes of two inner shards of each, then four inner chunks
    // of each inner shard.
    assert_eq!(twice.batches(&column), [2, 4, 16]);
    assert_eq!(twice.batches(&column), [16]);
}

#[test]
fn texts_read_the_same_from_a_far_store() {
    let mut document = document(&[60, 10], &[7, 3], &json!([{"name": "vlen-utf8"}]));
    (document["data_type"], document["fill_value"]) = (json!("string"), json!("none"));
    let twice = Twice::of(&document, HINTS, &Context::linked().unwrap());
    let texts: Vec<_> = (0..300).map(|number| format!("text {number}")).collect();
    twice.near_array.write_values(twice.select("0:30,:"), &texts).unwrap();
    assert_eq!(twice.batches(&Selection::All), [9 * 4]);
    assert_eq!(twice.batches(&twice.select("5:50:4,2:9")), [8 * 3]);
}

thread_local! {
    /// The store that the description `far` opens.
    static FAR: RefCell<Option<Arc<FarStore>>> = const { RefCell::new(None) };
}

#[derive(Debug, Deserialize)]
struct FarConfiguration {}

#[typetag::deserialize(name = "far")]
impl StoreConfiguration for FarConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let far = FAR.with_borrow(|far| far.as_ref().map(Arc::clone));
        Ok(far.ok_or_else(|| Invalid::new("no far store is set"))?)
    }
}

/// Opens the array through a cache of `bytes` bytes of decoded chunks. The cache wraps the far store.
fn cached(twice: &Twice, bytes: usize) -> Array {
    FAR.set(Some(Arc::clone(&twice.far)));
    let cache = json!({"type": "cache", "bytes": bytes, "chunks": "decoded", "store": {"type": "far"}});
    let mut registry = Registry::linked().unwrap();
    registry
        .register_store(StorePlugin::new("far", &[], &|_: &str| {
            Err(Invalid::new("the store does not have a URL").into())
        }))
        .unwrap();
    let context = Context::new(registry);
    let store = open_store(context.registry(), &cache.to_string()).unwrap();
    Hierarchy::open(store, &context).unwrap().array("/a").unwrap()
}

#[test]
fn a_cache_holds_the_whole_shard_if_a_few_round_trips_fetch_it() {
    let document = document(&[256, 256], &[256, 256], &sharded(&[16, 16], &zstd()));
    let boxes = ["0:20,0:20", "100:120,3:9", "250:256,0:256", "0:256,77"];
    // The expected size of the shard is half of its 128 KiB. If the shard is not fetched whole, its index takes one
    // round trip, and each box takes another one.
    for (measured, most, trips) in [
        (Some(17 << 10), 1 << 26, 1),
        (Some(4 << 10), 1 << 26, 5),
        (None, 1 << 26, 5),
        (Some(17 << 10), 40 << 10, 5),
    ] {
        let twice =
            Twice::of(&document, HINTS.with_bytes_per_round_trip(measured), &Context::linked().unwrap());
        let twice = twice.filled();
        let array = cached(&twice, most);
        let _opened = twice.far.take();
        let mut batches = 0;
        for selection in boxes {
            let selection = twice.select(selection);
            let found = array.read(&selection).unwrap();
            assert!(found.bytes() == twice.near_array.read(&selection).unwrap().bytes());
            batches += twice.far.take().batches.len();
        }
        assert_eq!(batches, trips, "{measured:?}, {most} bytes of cache");
        // The cache notices the new value, because it was written through the cache.
        array.write_values(twice.select("0:2,0:2"), &[9u16; 4]).unwrap();
        let found = array.read(&Selection::All).unwrap();
        assert!(found.bytes() == twice.near_array.read(&Selection::All).unwrap().bytes());
    }
}

#[test]
fn a_shard_whose_index_is_cached_is_fetched_whole_once() {
    let document = document(&[256, 256], &[256, 256], &sharded(&[16, 16], &zstd()));
    let twice = Twice::of(&document, HINTS, &Context::linked().unwrap()).filled();
    let array = cached(&twice, 1 << 26);
    let read = |selection: &str| {
        let selection = twice.select(selection);
        let _before = twice.far.take();
        let found = array.read(&selection).unwrap();
        assert!(found.bytes() == twice.near_array.read(&selection).unwrap().bytes());
        twice.far.take().batches
    };
    assert_eq!(read("0:20,0:20"), [1, 2]);
    twice.far.learn(HINTS.with_bytes_per_round_trip(Some(1 << 20)));
    assert_eq!(read("100:120,3:9"), [1]);
    assert_eq!(read("0:256,77"), Vec::<usize>::new());
    // Another program writes to the shard, then the shard is written through the cache. The next read fetches the shard
    // again.
    twice.near_array.write_values(twice.select("200:256,:"), &[5u16; 56 * 256]).unwrap();
    array.write_values(twice.select("0,0"), &[9u16]).unwrap();
    read("200:230,200:230");
}

/// The chunk cache of a store that wraps the far store is consulted first.
#[test]
fn cached_decoded_chunks_are_not_fetched_again() {
    for (codecs, batches) in [(zstd(), vec![64]), (sharded(&[16, 16], &zstd()), vec![64])] {
        let twice = Twice::new(&[256, 256], &[32, 32], &codecs).filled();
        let array = cached(&twice, 1 << 26);
        let wanted = twice.near_array.read(&Selection::All).unwrap();
        let _opened = twice.far.take();
        for batches in [batches, vec![]] {
            let found = array.read(&Selection::All).unwrap();
            assert!(found.bytes() == wanted.bytes());
            assert_eq!(twice.far.take().batches, batches);
        }
        // Only the chunk that was written through the cache is fetched again.
        array.write_values(twice.select("40,40"), &[9u16]).unwrap();
        let _written = twice.far.take();
        assert!(
            array.read(&Selection::All).unwrap().bytes()
                == twice.near_array.read(&Selection::All).unwrap().bytes()
        );
        let trips = twice.far.take();
        assert!(trips.begun <= 2, "{trips:?}");
    }
}

#[test]
fn the_error_of_a_damaged_chunk_names_it_and_ends_the_read_early() {
    let twice = Twice::new(&[2048, 512], &[16, 16], &zstd()).filled();
    twice.store.set(&key("a/c/0/3"), b"no frame of zstd".into()).unwrap();
    let error = twice.error();
    assert!(matches!(&error, Error::Chunk(error) if error.index == [0, 3]), "{error}");
    let trips = twice.far.take();
    assert!(trips.begun < trips.batches[0] / 4, "{trips:?}");

    let shards = Twice::new(&[64, 128], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
    let shard = key("a/c/0/1");
    let mut output = Output::at_most(1 << 20);
    let got = shards.store.get(&shard, ByteRange::Full.into(), &mut output).unwrap().unwrap();
    let mut value = got.into_bytes(output).to_vec();
    *value.last_mut().unwrap() ^= 1;
    shards.store.set(&shard, (&value).into()).unwrap();
    let error = shards.error();
    assert!(matches!(&error, Error::Chunk(error) if error.index == [0, 1]), "{error}");
}

#[test]
fn the_error_of_a_failed_request_names_the_key() {
    for codecs in [zstd(), sharded(&[8, 8], &zstd())] {
        for failing in 0..2 {
            let twice = Twice::new(&[512, 512], &[16, 16], &codecs).filled();
            twice.far.spoil(move |_, batch, (number, answer)| match batch == failing && number == 77 {
                true => {
                    let source = "connection lost";
                    let place = "a/c/2/13".to_owned();
                    vec![(number, Err(StoreError::io("reading", place, source)))]
                }
                false => vec![(number, answer)],
            });
            match twice.array.read(&Selection::All) {
                Err(error) => assert_eq!(error.to_string(), "reading `a/c/2/13`: connection lost"),
                Ok(_) => assert_eq!((twice.far.take().batches.len(), failing), (1, 1), "there is one batch"),
            }
        }
    }
}

#[test]
fn missing_and_duplicate_responses_are_errors() {
    let twice = Twice::new(&[512, 512], &[16, 16], &zstd()).filled();
    twice.far.spoil(|_, _, (number, answer)| if number == 500 { vec![] } else { vec![(number, answer)] });
    assert_eq!(twice.error().to_string(), "reading `a/`: no response to request 500 of 1024");
    twice.far.spoil(|_, _, (number, answer)| match answer {
        Ok(fetched) if number == 500 => vec![(number, Ok(fetched.clone())), (number, Ok(fetched))],
        answer => vec![(number, answer)],
    });
    let wanted = "reading `a/`: an unexpected response to request 500 of 1024";
    assert_eq!(twice.error().to_string(), wanted);
    twice.far.spoil(|_, _, (number, answer)| vec![(number + 1, answer)]);
    assert!(
        twice.error().to_string().contains("an unexpected response")
            || twice.error().to_string().contains("chunk")
    );
}

/// The shard is replaced between the requests for its index and its inner chunks; the result must not mix
/// both states.
#[test]
fn a_shard_that_changes_between_the_round_trips_is_read_again() {
    let twice = Twice::new(&[64, 256], &[64, 64], &sharded(&[16, 16], &zstd())).filled();
    let other = Twice::new(&[64, 256], &[64, 64], &sharded(&[16, 16], &zstd()));
    other.near_array.write_values(&Selection::All, &vec![9u16; 64 * 256]).unwrap();
    let mut output = Output::at_most(1 << 20);
    let got = other.store.get(&key("a/c/0/2"), ByteRange::Full.into(), &mut output).unwrap().unwrap();
    let value = got.into_bytes(output);
    // Selects only a part, because a small shard that is read completely takes one request.
    let selection = twice.select("0:48,:");
    let before = twice.near_array.read_values::<u16>(&selection).unwrap();
    twice.far.spoil(move |inside, batch, (number, answer)| {
        if batch == 0 && number == 3 {
            inside.store.set(&key("a/c/0/2"), (&value).into()).unwrap();
        }
        vec![(number, answer)]
    });
    let found = twice.array.read_values::<u16>(&selection).unwrap();
    let trips = twice.far.take();
    assert_eq!(&trips.batches[..2], [4, 4]);
    for (number, (found, before)) in found.iter().zip(&before).enumerate() {
        let is_replaced = (128..192).contains(&(number % 256));
        assert_eq!(*found, if is_replaced { 9 } else { *before }, "element {number}");
    }
}
