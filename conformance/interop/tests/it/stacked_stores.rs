//! Hierarchies in stores that wrap other stores, as described in JSON.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use zarr_conformance::stores::around::{described, holds_every_rule};
use zarr_interop::{Calls, CountingStore};
use zarr_kit::spec::store::{
    Capabilities, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreConfiguration, StoreError,
    StorePlugin, get_value,
};
use zarr_kit::spec::{Invalid, Key, Output, Prefix, Registry, typetag};
use zarr_kit::{Array, ArrayBuilder, Context, Format, Hierarchy, Selection, json as value, open_store};

fn context() -> Context {
    Context::linked().unwrap()
}

fn open(description: &serde_json::Value) -> Result<Arc<dyn Store>, String> {
    open_store(context().registry(), &description.to_string()).map_err(|error| error.to_string())
}

fn folder(path: &Path) -> serde_json::Value {
    json!({"type": "filesystem", "path": path.to_str().unwrap()})
}

/// Wraps one store in another.
fn around(outer: &serde_json::Value, store: &serde_json::Value) -> serde_json::Value {
    let mut outer = outer.clone();
    outer["store"] = store.clone();
    outer
}

/// Returns the wrapping stores: both modes of the cache, and two other stores that forward writes.
fn kinds() -> [serde_json::Value; 4] {
    [
        json!({"type": "cache", "bytes": 5000, "missing": true}),
        json!({"type": "cache", "bytes": 5000, "chunks": "decoded"}),
        json!({"type": "prefix", "prefix": "in/here"}),
        json!({"type": "statistics"}),
    ]
}

/// Returns all orders of three of the four kinds.
fn orders() -> impl Iterator<Item = [usize; 3]> {
    let all = (0..64).map(|number| [number % 4, number / 4 % 4, number / 16]);
    all.filter(|[a, b, c]| a != b && b != c && a != c)
}

/// Wraps `inside` in stores of these kinds; the first kind is the innermost.
fn stacked(order: [usize; 3], inside: serde_json::Value) -> serde_json::Value {
    order.iter().fold(inside, |store, &at| around(&kinds()[at], &store))
}

/// Checks whether a cache of encoded values wraps a cache of decoded chunks.
fn is_refused(order: [usize; 3]) -> bool {
    let place = |kind| order.iter().position(|&at| at == kind);
    place(0).zip(place(1)).is_some_and(|(encoded, decoded)| encoded > decoded)
}

/// Shards of the draft and of v3 are written and read through stacks in every order.
#[test]
fn stores_can_be_stacked_in_any_valid_order() {
    let values: Vec<u32> = (0..64).collect();
    let sharding = value!({"extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
        "type": "indexed", "configuration": {"chunks_per_shard": [2, 2]}});
    let draft = ArrayBuilder::new([8, 8], "uint32").chunks([2, 2]).storage_transformer(sharding);
    let v3 = ArrayBuilder::new([8, 8], "uint32").chunks([2, 2]).shards([4, 4]);
    for (format, builder) in [(Format::V3Draft, draft), (Format::V3, v3)] {
        for order in orders() {
            let directory = tempfile::tempdir().unwrap();
            let stacked = stacked(order, folder(directory.path()));
            if is_refused(order) {
                let error = open(&stacked).unwrap_err();
                assert!(error.contains("invalid cache around the cache"), "{error}");
                continue;
            }
            let hierarchy = Hierarchy::create(open(&stacked).unwrap(), &context(), format).unwrap();
            let array = hierarchy.create_array("/a", &builder).unwrap();
            array.write_values::<u32>(&Selection::All, &values).unwrap();
            for _ in 0..2 {
                assert_eq!(array.read_values::<u32>(&Selection::All).unwrap(), values);
            }
            array.write_values::<u32>(&Selection::from(&[0..1, 0..1][..]), &[99]).unwrap();
            assert_eq!(array.read_values::<u32>(&Selection::All).unwrap()[..2], [99, 1]);
            let inner = if order.contains(&2) { "in/here" } else { "" };
            assert!(directory.path().join(inner).join("zarr.json").is_file());

            let plain = Hierarchy::open_location(directory.path().join(inner).to_str().unwrap(), &context());
            let plain = plain.unwrap().array("/a").unwrap();
            assert_eq!(plain.read_values::<u32>(&Selection::All).unwrap()[1..], values[1..]);

            // A read-only store prevents writes.
            let read_only = open(&around(&json!({"type": "read-only"}), &stacked)).unwrap();
            assert_eq!(read_only.capabilities(), Capabilities::ALL.read_only());
            assert!(read_only.set(&Key::new("k").unwrap(), b"v".into()).is_err());
            let read_only = Hierarchy::open(read_only, &context()).unwrap();
            assert!(read_only.read_only().is_some());
            assert_eq!(read_only.array("/a").unwrap().read_values::<u32>(&Selection::All).unwrap()[0], 99);
        }
    }
}

/// Tests D3-ST-08.
#[test]
fn stacks_of_three_stores_pass_every_rule_for_stores() {
    for order in orders().filter(|&order| !is_refused(order)) {
        let description = stacked(order, json!({"type": "memory"}));
        holds_every_rule(&description.to_string(), &|| open(&description).unwrap());
    }
}

/// Returns whether a wrapping store drops a capability of the store that it wraps, and so its conditional writes or its
/// locks.
fn drops_capabilities(outer: &serde_json::Value) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let unlocked =
        json!({"type": "filesystem", "path": directory.path().to_str().unwrap(), "locking": "none"});
    [json!({"type": "memory"}), folder(directory.path()), unlocked].iter().any(|inside| {
        let [store, wrapped] = [around(outer, inside), inside.clone()]
            .map(|description| described(&description.to_string()).unwrap());
        let locks = |store: &Arc<dyn Store>| store.lock(&Key::new("k").unwrap()).unwrap().is_some();
        store.capabilities() != wrapped.capabilities() || locks(&store) != locks(&wrapped)
    })
}

#[test]
fn wrapping_stores_pass_conditional_writes_and_locks_on() {
    for kind in kinds() {
        assert!(!drops_capabilities(&kind), "{kind}");
    }
    for order in orders().filter(|&order| !is_refused(order)) {
        let stacked = open(&stacked(order, json!({"type": "memory"}))).unwrap();
        assert_eq!(stacked.capabilities(), Capabilities::ALL_AND_CONDITIONAL, "{order:?}");
    }
    // A wrapping store with only the required methods has neither.
    assert!(drops_capabilities(&json!({"type": "opaque"})));
}

#[test]
fn the_error_of_an_invalid_stack_explains_the_reason() {
    let memory = json!({"type": "memory"});
    let cache = |bytes: u64| json!({"type": "cache", "bytes": bytes});
    let statistics = json!({"type": "statistics"});
    let read_only = json!({"type": "read-only"});
    let decoded = &kinds()[1];
    for (description, reason) in [
        (around(&json!({"type": "cache"}), &memory), "bytes"),
        (around(&cache(0), &memory), "expected at least 1"),
        (around(&json!({"type": "prefix", "prefix": "../x"}), &memory), "../x"),
        (around(&read_only, &around(&statistics, &json!({"type": "nothing"}))), "store `nothing` is unknown"),
        (around(&read_only, &json!(1)), "`type` is missing"),
        (read_only.clone(), "store"),
        // A store between the two caches does not change the result.
        (
            around(&cache(9), &around(&statistics, &around(&cache(9), &memory))),
            "one cache with the `bytes` of both",
        ),
        (around(&cache(9), &around(&read_only, &around(decoded, &memory))), "must be the outer one"),
        (around(decoded, &around(decoded, &memory)), "one cache with the `bytes` of both"),
        (
            around(&statistics, &around(&json!({"type": "opaque"}), &around(decoded, &memory))),
            "the stores around it (`statistics`, `opaque`) do not pass them on: `cache` must be the outer one",
        ),
    ] {
        let mut registry = Registry::linked().unwrap();
        registry.register_store(StorePlugin::new("opaque", &[], &no_url)).unwrap();
        let error = open_store(&registry, &description.to_string()).unwrap_err().to_string();
        assert!(error.contains(reason), "{description}: {error}");
        // These descriptions are valid: the cache is the outer store, or it caches encoded chunks.
        for inside in [
            around(decoded, &around(&json!({"type": "opaque"}), &memory)),
            around(&json!({"type": "opaque"}), &around(&cache(9), &memory)),
        ] {
            open_store(&registry, &inside.to_string()).unwrap();
        }
    }
}

fn no_url(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(Invalid::new(format!("`{url}` is described in JSON")).into())
}

/// A wrapping store that implements only the required methods.
#[derive(Debug, serde::Deserialize)]
struct OpaqueConfiguration {
    store: Box<dyn StoreConfiguration>,
}

#[typetag::deserialize(name = "opaque")]
impl StoreConfiguration for OpaqueConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(Opaque(self.store.open(given)?)))
    }
}

#[derive(Debug)]
struct Opaque(Arc<dyn Store>);

impl Store for Opaque {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.0.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.0.get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.0.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.0.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.0.size(key)
    }
}

thread_local! {
    static COUNTED: RefCell<Option<Arc<CountingStore>>> = const { RefCell::new(None) };
}

/// The configuration of a store: opening it returns the store in `COUNTED` of this thread.
#[derive(Debug, serde::Deserialize)]
struct Counted {}

#[typetag::deserialize(name = "counted")]
impl StoreConfiguration for Counted {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let store = COUNTED.with_borrow(Option::clone);
        Ok(store.ok_or_else(|| Invalid::new("`COUNTED` is empty"))?)
    }
}

/// A stack of stores between two counting stores, one inside and one outside.
struct Cached {
    inside: Arc<CountingStore>,
    outside: Arc<CountingStore>,
    context: Context,
}

impl Cached {
    fn new(cache: &serde_json::Value) -> Self {
        let inside = Arc::new(CountingStore::new(open(&json!({"type": "memory"})).unwrap()));
        COUNTED.set(Some(Arc::clone(&inside)));
        let store = described(&around(cache, &json!({"type": "counted"})).to_string()).unwrap();
        Self { inside, outside: Arc::new(CountingStore::new(store)), context: context() }
    }

    fn with_chunks(chunks: &str) -> Self {
        Self::new(&json!({"type": "cache", "bytes": 1_000_000, "chunks": chunks}))
    }

    fn create(&self, builder: &ArrayBuilder, values: &[u16]) -> Array {
        let store: Arc<dyn Store> = Arc::<CountingStore>::clone(&self.outside);
        let hierarchy = Hierarchy::create(store, &self.context, Format::V3).unwrap();
        let array = hierarchy.create_array("/a", builder).unwrap();
        array.write_values(&Selection::All, values).unwrap();
        self.array()
    }

    /// Opens another handle, which can use only the state in the stores.
    fn array(&self) -> Array {
        let store: Arc<dyn Store> = Arc::<CountingStore>::clone(&self.outside);
        let array = Hierarchy::open(store, &self.context).unwrap().array("/a").unwrap();
        self.calls();
        array
    }

    /// Returns the number of `get` calls to the inner store and to the outer one.
    fn calls(&self) -> (usize, usize) {
        let gets = |calls: &Calls| calls.get("get").copied().unwrap_or(0);
        (gets(&self.inside.take()), gets(&self.outside.take()))
    }
}

/// Returns layouts of 16 by 16 elements in separate chunks or shards of 8 by 8.
fn layouts() -> [(&'static str, ArrayBuilder); 5] {
    let array = || ArrayBuilder::new([16, 16], "uint16").uncompressed();
    let gzip = |builder: ArrayBuilder| builder.codec(("gzip", value!({"level": 1})));
    let inner = value!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 2], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }});
    let nested = value!({
        "chunk_shape": [4, 4], "codecs": [inner],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    [
        ("plain", array().chunks([8, 8])),
        ("compressed", gzip(array().chunks([8, 8]))),
        ("shards", array().chunks([4, 4]).shards([8, 8])),
        ("compressed in shards", gzip(array().chunks([2, 2]).shards([8, 8]))),
        ("shards in shards", array().chunks([8, 8]).codec(("sharding_indexed", nested))),
    ]
}

fn numbers() -> Vec<u16> {
    (1..=256).collect()
}

fn select(text: &str) -> Selection {
    Selection::parse(text, &[16, 16]).unwrap()
}

#[test]
fn cached_decoded_chunks_are_read_without_a_call() {
    for (layout, builder) in layouts() {
        let cached = Cached::with_chunks("decoded");
        let array = cached.create(&builder, &numbers());
        assert_eq!(array.read_values::<u16>(&Selection::All).unwrap(), numbers());
        let (inside, outside) = cached.calls();
        assert!(inside >= 4 && outside >= 4, "{layout}: {inside} and {outside} calls");
        for selection in [":,:", "3,:", ":,5", "2:9,7:12", "::3,::5"] {
            let found = array.read_values::<u16>(&select(selection)).unwrap();
            let plain = Cached::with_chunks("encoded").create(&builder, &numbers());
            assert_eq!(found, plain.read_values::<u16>(&select(selection)).unwrap());
            assert_eq!(cached.calls(), (0, 0), "{selection} of {layout}");
        }
        let many = array.read_many(&[select("0:3,0:3"), select("1:9,2")]).unwrap();
        assert_eq!(many[1].as_slice::<u16>().unwrap()[0], 16 + 2 + 1);
        let chunk = array.read_chunk(&[1, 1]).unwrap();
        assert_eq!(chunk.as_slice::<u16>().unwrap()[0], 8 * 16 + 8 + 1);
        let coordinates = Selection::Coordinates(vec![vec![15, 0, 15], vec![15, 0, 0]]);
        assert_eq!(array.read_values::<u16>(&coordinates).unwrap(), [256, 1, 241]);
        assert_eq!(cached.calls(), (0, 0), "{layout}");
    }
}

/// The second handle shares nothing that the first handle caches itself.
#[test]
fn a_second_handle_reads_only_from_the_cache() {
    for chunks in ["encoded", "decoded"] {
        for (layout, builder) in layouts() {
            let cached = Cached::with_chunks(chunks);
            let array = cached.create(&builder, &numbers());
            assert_eq!(array.read_values::<u16>(&select("0:10,0:10")).unwrap().len(), 100);
            assert!(cached.calls().0 > 0);
            let again = cached.array();
            assert_eq!(again.read_values::<u16>(&select("0:10,0:10")).unwrap().len(), 100);
            assert_eq!(cached.calls().0, 0, "{layout}, {chunks}");
            // The cached index of a shard also serves inner chunks that have not been read yet.
            if layout.contains("shards") {
                assert_eq!(again.read_values::<u16>(&select("14:,14:")).unwrap(), [239, 240, 255, 256]);
                let calls = if layout == "shards in shards" { 2 } else { 1 };
                assert_eq!(cached.calls().0, calls, "{layout}, {chunks}");
            }
        }
    }
}

#[test]
fn decoded_elements_of_variable_size_are_cached() {
    let cached = Cached::with_chunks("decoded");
    let builder = ArrayBuilder::new([6], "string").chunks([2]).shards([4]);
    let store: Arc<dyn Store> = Arc::<CountingStore>::clone(&cached.outside);
    let hierarchy = Hierarchy::create(store, &cached.context, Format::V3).unwrap();
    let array = hierarchy.create_array("/a", &builder).unwrap();
    let words = ["one", "", "three", "four", "five", "six and more"];
    array.write(&Selection::All, &zarr_conformance::items(&words)).unwrap();
    let array = cached.array();
    let read = |text: &str| array.read(Selection::parse(text, &[6]).unwrap()).unwrap().bytes().to_vec();
    assert_eq!(read(":"), zarr_conformance::items(&words));
    assert!(cached.calls().0 > 0);
    assert_eq!(read(":"), zarr_conformance::items(&words));
    assert_eq!(read("1::2"), zarr_conformance::items(&["", "four", "six and more"]));
    assert_eq!(cached.calls(), (0, 0));
}

#[test]
fn writes_through_any_handle_are_visible_to_all() {
    for chunks in ["encoded", "decoded"] {
        for (layout, builder) in layouts() {
            let cached = Cached::with_chunks(chunks);
            let reader = cached.create(&builder, &vec![0; 256]);
            // Nothing is stored yet; the cache must not remember this permanently.
            assert_eq!(reader.read_values::<u16>(&Selection::All).unwrap(), [0; 256]);
            let writer = cached.array();
            let mut wanted = [0u16; 256];
            for (at, new) in [(0usize, 7), (3, 8), (17, 9), (255, 10), (100, 11), (101, 12)] {
                let y = at as u64 / 16;
                let x = at as u64 % 16;
                writer.write_values(Selection::from(&[y..y + 1, x..x + 1][..]), &[new]).unwrap();
                wanted[at] = new;
                for array in [&reader, &writer] {
                    assert_eq!(
                        array.read_values::<u16>(&Selection::All).unwrap(),
                        wanted,
                        "{layout}, {chunks}"
                    );
                }
            }
            writer.erase_chunk(&[0, 0]).unwrap();
            let left = reader.read_values::<u16>(&Selection::All).unwrap();
            assert_eq!((left[0], left[255]), (0, 10), "{layout}, {chunks}");
        }
    }
}

#[test]
fn arrays_with_other_metadata_do_not_share_chunks() {
    let cached = Cached::with_chunks("decoded");
    let builder = ArrayBuilder::new([16, 16], "uint16").chunks([8, 8]).uncompressed();
    let first = cached.create(&builder, &numbers());
    assert_eq!(first.read_values::<u16>(&Selection::All).unwrap(), numbers());
    let key = Key::new("a/zarr.json").unwrap();
    let document = get_value(&*cached.inside, &key, 10_000).unwrap().unwrap();
    let document = String::from_utf8(document.to_vec()).unwrap();
    assert!(document.contains("little"), "{document}");
    cached.outside.set(&key, document.replace("little", "big").as_bytes().into()).unwrap();
    let second = cached.array();
    let swapped: Vec<u16> = numbers().iter().map(|number| number.swap_bytes()).collect();
    for _ in 0..2 {
        assert_eq!(second.read_values::<u16>(&Selection::All).unwrap(), swapped);
        assert_eq!(first.read_values::<u16>(&Selection::All).unwrap(), numbers());
    }
    // An array uses the cached chunks again if its document changed only in members that do not affect the elements.
    cached.outside.set(&key, document.as_bytes().into()).unwrap();
    assert_eq!(first.read_values::<u16>(&Selection::All).unwrap(), numbers());
    let mut third = cached.array();
    third.set_attribute("by", "someone").unwrap();
    let third = cached.array();
    assert_eq!(third.read_values::<u16>(&Selection::All).unwrap(), numbers());
    assert_eq!(cached.calls(), (0, 0));
}

/// A cache with space for a quarter of the array must retain about a quarter of it during repeated reads of
/// everything.
#[test]
fn repeated_reads_larger_than_the_cache_still_hit_it() {
    let cached = Cached::new(&json!({"type": "cache", "bytes": 70_000, "chunks": "decoded"}));
    let builder = ArrayBuilder::new([128, 1024], "uint16").chunks([4, 1024]).uncompressed();
    let builder = builder.codec(("gzip", value!({"level": 1})));
    let values: Vec<u16> = (0..=u16::MAX).chain(0..=u16::MAX).collect();
    let array = cached.create(&builder, &values);
    for round in 0..4 {
        assert!(array.read_values::<u16>(&Selection::All).unwrap() == values);
        let (inside, _) = cached.calls();
        if round == 0 {
            assert_eq!(inside, 32);
        } else {
            assert!((22..28).contains(&inside), "{inside} of 32 chunks in round {round}");
        }
    }
}

/// Writers replace whole shards; a reader sees each shard before or after the change.
#[test]
fn a_shard_is_read_in_one_state_during_a_write() {
    for (layout, builder) in layouts() {
        let cached = Cached::with_chunks("decoded");
        let writer = cached.create(&builder, &[1; 256]);
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let readers = [0, 1].map(|_| {
                scope.spawn(|| {
                    let array = cached.array();
                    while !is_done.load(Ordering::Relaxed) {
                        let chunk = array.read_values::<u16>(&select("0:8,0:8")).unwrap();
                        assert!(chunk.iter().all(|element| *element == chunk[0]), "{layout}: {chunk:?}");
                    }
                })
            });
            let all_selected = select("0:8,0:8");
            for round in 0..300 {
                writer.write_values(&all_selected, &[round % 7 + 1; 64]).unwrap();
                assert_eq!(writer.read_values::<u16>(&select("7,7")).unwrap(), [round % 7 + 1]);
            }
            is_done.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}
