//! `cache` against the rules for stores, and what it keeps.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_conformance::stores::{MinimalStore, check_store};
use zarr_spec::store::{
    Capabilities, Contents, Got, Manner, Request, Store, StoreConfiguration, StoreError, StorePlugin,
    Version, get_value,
};
use zarr_spec::{ByteRange, Key, Output, Prefix, inventory, json, typetag};
use zarr_transformer_cache::CacheStore;

const VALUES: &[(&str, &[u8])] = &[("a", b"0123456789"), ("d/b", b"22")];

/// A store for descriptions to be around.
#[derive(Debug, serde::Deserialize)]
struct Filled {}

#[typetag::deserialize(name = "filled")]
impl StoreConfiguration for Filled {
    fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(filled())
    }
}

fn filled() -> Arc<dyn Store> {
    Arc::new(MinimalStore::with_values(Capabilities::ALL, VALUES))
}

fn minimal() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL))
}

fn open(description: &str) -> Result<Arc<dyn Store>, String> {
    let value = json::parse(description.as_bytes(), &json::ParseOptions::default()).unwrap().value;
    let description: Box<dyn StoreConfiguration> =
        json::from_value(&value).map_err(|error| error.to_string())?;
    description.open().map_err(|error| error.to_string())
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn value(store: &dyn Store, at: &str) -> Option<Vec<u8>> {
    get_value(store, &key(at), 100).unwrap().map(Vec::from)
}

#[test]
fn every_rule_for_stores_holds() {
    // Everything fits, a part of it does, nothing does.
    for limit in [usize::MAX, 100_000, 600, 0] {
        for versioned in [false, true] {
            let make = || -> Arc<dyn Store> {
                let store: Arc<dyn Store> =
                    if versioned { Arc::new(Versioned::new(minimal())) } else { minimal() };
                Arc::new(CacheStore::new(store, limit))
            };
            let verdicts = check_store(&make);
            assert!(verdicts.len() > 35, "{} rules", verdicts.len());
            for (rule, verdict) in verdicts {
                assert_eq!(verdict, Ok(()), "{rule} with {limit} bytes");
            }
        }
    }
}

/// Counts what is read, and gives every value a version.
#[derive(Debug)]
struct Versioned {
    store: Arc<dyn Store>,
    reads: AtomicU64,
}

impl Versioned {
    fn new(store: Arc<dyn Store>) -> Self {
        Self { store, reads: AtomicU64::new(0) }
    }

    fn reads(&self) -> u64 {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

impl Store for Versioned {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn manner(&self) -> Manner {
        self.store.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let got = self.store.get(key, range, to)?;
        // As good as an etag of the value.
        let whole = get_value(&*self.store, key, usize::MAX)?;
        Ok(got.map(|got| Got { version: whole.map(|whole| Version::new(whole.to_vec())), ..got }))
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.store.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.store.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.store.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(key)
    }
}

fn part(store: &dyn Store, at: &str, range: ByteRange) -> Vec<u8> {
    let mut output = Output::at_most(100);
    let got = store.get(&key(at), range, &mut output).unwrap().unwrap();
    match got.contents {
        Contents::Shared(bytes) => bytes.to_vec(),
        Contents::Written => output.into_written(),
    }
}

fn many(store: &dyn Store, asked: &[(&str, ByteRange)]) -> Vec<Option<Vec<u8>>> {
    let request = |(at, range): &(&str, _)| Request { key: key(at), range: *range, limit: 100 };
    let mut answers = vec![None; asked.len()];
    for (number, delivered) in store.get_many(asked.iter().map(request).collect(), 100) {
        answers[number] = delivered.unwrap().map(Vec::from);
    }
    answers
}

const MIDDLE: ByteRange = ByteRange::Range { offset: 2, size: 3 };

fn cached(limit: usize) -> (Arc<Versioned>, CacheStore) {
    let inside = Arc::new(Versioned::new(filled()));
    let store = CacheStore::new(Arc::<Versioned>::clone(&inside), limit);
    (inside, store)
}

#[test]
fn what_was_read_is_not_read_again() {
    let (inside, store) = cached(10_000);
    assert_eq!(part(&store, "a", ByteRange::Full), b"0123456789");
    assert_eq!(inside.reads(), 1);
    for _ in 0..2 {
        assert_eq!(part(&store, "a", ByteRange::Full), b"0123456789");
        assert_eq!(part(&store, "a", MIDDLE), b"234");
        assert_eq!(part(&store, "a", ByteRange::Last(2)), b"89");
        assert_eq!(part(&store, "a", ByteRange::From(8)), b"89");
        assert_eq!(many(&store, &[("a", MIDDLE), ("a", ByteRange::Full)])[0].as_deref(), Some(&b"234"[..]));
    }
    assert_eq!(inside.reads(), 0);
    assert!(store.get(&key("a"), ByteRange::Full, &mut Output::at_most(9)).is_err());

    assert_eq!(part(&store, "d/b", ByteRange::Last(1)), b"2");
    assert_eq!(part(&store, "d/b", ByteRange::From(1)), b"2");
    assert_eq!(inside.reads(), 1);
    assert_eq!(part(&store, "d/b", ByteRange::Full), b"22");
    assert_eq!(inside.reads(), 1);
}

#[test]
fn only_what_is_not_kept_is_asked_for_in_a_batch() {
    let (inside, store) = cached(10_000);
    let asked = [("a", MIDDLE), ("x", ByteRange::Full), ("d/b", ByteRange::Full)];
    let wanted = [Some(b"234".to_vec()), None, Some(b"22".to_vec())];
    assert_eq!(many(&store, &asked), wanted);
    assert_eq!(inside.reads(), 3);
    // What is missing may come to be.
    assert_eq!(many(&store, &asked), wanted);
    assert_eq!(inside.reads(), 1);
    assert_eq!(
        many(&store, &[("a", ByteRange::Range { offset: 3, size: 2 }), ("d/b", ByteRange::Last(1))]),
        [Some(b"34".to_vec()), Some(b"2".to_vec())]
    );
    assert_eq!(inside.reads(), 1, "the end of a value is only found when its size is known");
}

#[test]
fn own_changes_are_seen_at_once() {
    let changes: [fn(&dyn Store); 5] = [
        |store| store.set(&key("a"), b"new").unwrap(),
        |store| store.set_partial_values(&[(key("a"), 0, b"new")]).unwrap(),
        |store| store.erase(&key("a")).unwrap(),
        |store| store.erase_values(&[key("a")]).unwrap(),
        |store| store.erase_prefix(&Prefix::root()).unwrap(),
    ];
    for change in changes {
        let (inside, store) = cached(10_000);
        drop(part(&store, "a", ByteRange::Full));
        drop(many(&store, &[("a", MIDDLE)]));
        change(&store);
        assert_eq!(value(&store, "a"), value(&*inside, "a"));
        assert_ne!(value(&store, "a").as_deref(), Some(&b"0123456789"[..]));
    }
}

#[test]
fn parts_of_another_version_are_forgotten() {
    let (inside, store) = cached(10_000);
    assert_eq!(part(&store, "a", MIDDLE), b"234");
    inside.set(&key("a"), b"abcdefghij").unwrap();
    assert_eq!(part(&store, "a", MIDDLE), b"234", "nobody told");
    assert_eq!(part(&store, "a", ByteRange::Last(2)), b"ij");
    assert_eq!(part(&store, "a", MIDDLE), b"cde");
}

#[test]
fn the_bound_holds_and_what_was_used_last_stays() {
    let inside = Arc::new(Versioned::new(minimal()));
    for number in 0..10 {
        inside.set(&key(&format!("k{number}")), &[number; 1000]).unwrap();
    }
    let limit = 5000;
    let store = CacheStore::new(Arc::<Versioned>::clone(&inside), limit);
    let mut destination = [0; 1000];
    let mut read = |number: u8| {
        let got = store.get(&key(&format!("k{number}")), ByteRange::Full, &mut Output::to(&mut destination));
        assert_eq!(got.unwrap().unwrap().size, 1000);
        assert!(store.size_in_memory() <= limit);
        inside.reads()
    };
    for number in 0..10 {
        assert_eq!(read(number), 1);
        assert_eq!(read(0), 0);
    }
    assert_eq!(read(9), 0);
    assert_eq!(read(1), 1, "it made way");
    let nothing = CacheStore::new(inside, 999);
    drop(nothing.get(&key("k0"), ByteRange::Full, &mut Output::at_most(1000)).unwrap());
    assert_eq!(nothing.size_in_memory(), 0);
}

#[test]
fn a_description_names_bytes_and_store() {
    let store = open(r#"{"type": "cache", "bytes": 1000, "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*store, "d/b").unwrap(), b"22");
    for wrong in [
        r#"{"type": "cache", "store": {"type": "filled"}}"#,
        r#"{"type": "cache", "bytes": 0, "store": {"type": "filled"}}"#,
        r#"{"type": "cache", "bytes": -1, "store": {"type": "filled"}}"#,
        r#"{"type": "cache", "bytes": 1000}"#,
        r#"{"type": "cache", "bytes": 1000, "store": {"type": "filled"}, "x": 1}"#,
    ] {
        assert!(open(wrong).is_err(), "{wrong}");
    }
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "cache").unwrap();
    assert!(plugin.schemes.is_empty());
    assert!((plugin.open)("cache:x").unwrap_err().to_string().contains("JSON"));
}
