//! `cache`: the rules for stores, and the cached entries.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::{described, empty, filled, has_no_url, holds_every_rule, key, value};
use zarr_spec::store::cache::{ChunkCache, ChunkId, ReadStart};
use zarr_spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, ReadHints, Request, Store, StoreError,
    Version, get_value,
};
use zarr_spec::{ByteRange, Bytes, Key, Output, Prefix};
use zarr_transformer_cache::CacheStore;

#[test]
fn every_rule_for_stores_holds() {
    // With these limits, the cache holds all values, some, or none.
    for limit in [usize::MAX, 100_000, 900, 0] {
        for variant in 0..8 {
            let [versioned, decoded, missing] = [1, 2, 4].map(|bit| variant & bit != 0);
            let make = || -> Arc<dyn Store> {
                let store: Arc<dyn Store> =
                    if versioned { Arc::new(Versioned::new(empty())) } else { empty() };
                let cache = CacheStore::new(store, limit);
                let cache = if decoded { cache.with_decoded_chunks() } else { cache };
                Arc::new(if missing { cache.with_missing_keys() } else { cache })
            };
            let content =
                format!("{limit} bytes, versions {versioned}, decoded {decoded}, missing {missing}");
            holds_every_rule(&content, &make);
        }
    }
}

/// Counts reads and gives every value a version.
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
        self.store.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.store.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let got = self.store.get(key, options, to)?;
        // The value itself serves as the entity tag.
        let whole = get_value(&*self.store, key, usize::MAX)?;
        Ok(got.map(|got| GetResult::new(got.contents, got.size, whole.map(|whole| Version::new(&whole)))))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.store.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.store.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.store.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(key)
    }
}

fn part(store: &dyn Store, at: &str, range: ByteRange) -> Vec<u8> {
    let mut output = Output::at_most(100);
    let got = store.get(&key(at), range.into(), &mut output).unwrap().unwrap();
    match got.contents {
        Contents::Shared(bytes) => bytes.to_vec(),
        Contents::Written => output.into_written(),
    }
}

fn many(store: &dyn Store, pending: &[(&str, ByteRange)]) -> Vec<Option<Vec<u8>>> {
    let request = |(at, range): &(&str, _)| Request::new(key(at), *range, 100);
    let mut answers = vec![None; pending.len()];
    for (number, delivered) in store.get_many(pending.iter().map(request).collect(), 100) {
        answers[number] = delivered.unwrap().map(|fetched| fetched.bytes.to_vec());
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
fn cached_values_are_not_read_again() {
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
    assert!(store.get(&key("a"), ByteRange::Full.into(), &mut Output::at_most(9)).is_err());

    assert_eq!(part(&store, "d/b", ByteRange::Last(1)), b"2");
    assert_eq!(part(&store, "d/b", ByteRange::From(1)), b"2");
    assert_eq!(inside.reads(), 1);
    assert_eq!(part(&store, "d/b", ByteRange::Full), b"22");
    assert_eq!(inside.reads(), 1);
}

#[test]
fn a_batch_requests_only_uncached_values() {
    let (inside, store) = cached(10_000);
    let pending = [("a", MIDDLE), ("x", ByteRange::Full), ("d/b", ByteRange::Full)];
    let wanted = [Some(b"234".to_vec()), None, Some(b"22".to_vec())];
    assert_eq!(many(&store, &pending), wanted);
    assert_eq!(inside.reads(), 3);
    // A missing key may be added later, so it is requested again.
    assert_eq!(many(&store, &pending), wanted);
    assert_eq!(inside.reads(), 1);
    assert_eq!(
        many(&store, &[("a", ByteRange::Range { offset: 3, size: 2 }), ("d/b", ByteRange::Last(1))]),
        [Some(b"34".to_vec()), Some(b"2".to_vec())]
    );
    assert_eq!(inside.reads(), 0, "a cached part includes the size of its value");
}

/// All changes that affect `a`.
const CHANGES: [fn(&dyn Store); 5] = [
    |store| store.set(&key("a"), b"new".into()).unwrap(),
    |store| store.set_partial_values(&[(key("a"), 0, b"new")]).unwrap(),
    |store| store.erase(&key("a")).unwrap(),
    |store| store.erase_values(&[key("a")]).unwrap(),
    |store| store.erase_prefix(&Prefix::root()).unwrap(),
];

#[test]
fn own_changes_are_visible_immediately() {
    for change in CHANGES {
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
    inside.set(&key("a"), b"abcdefghij".into()).unwrap();
    assert_eq!(part(&store, "a", MIDDLE), b"234", "the change was not noticed");
    assert_eq!(part(&store, "a", ByteRange::Last(2)), b"ij");
    assert_eq!(part(&store, "a", MIDDLE), b"cde");
}

#[test]
fn the_limit_holds_and_recently_used_entries_stay() {
    let inside = Arc::new(Versioned::new(empty()));
    for number in 0..10 {
        inside.set(&key(&format!("k{number}")), (&[number; 1000]).into()).unwrap();
    }
    let limit = 5000;
    let store = CacheStore::new(Arc::<Versioned>::clone(&inside), limit);
    let mut destination = [0; 1000];
    let mut read = |number: u8| {
        let got =
            store.get(&key(&format!("k{number}")), ByteRange::Full.into(), &mut Output::to(&mut destination));
        assert_eq!(got.unwrap().unwrap().size, 1000);
        assert!(store.size_in_memory() <= limit);
        inside.reads()
    };
    for number in 0..10 {
        assert_eq!(read(number), 1);
        assert_eq!(read(0), 0);
    }
    assert_eq!(read(9), 0);
    assert_eq!(read(1), 1, "it was evicted");
    let nothing = CacheStore::new(inside, 999);
    drop(nothing.get(&key("k0"), ByteRange::Full.into(), &mut Output::at_most(1000)).unwrap());
    assert_eq!(nothing.size_in_memory(), 0);
}

/// Returns the id of a chunk.
fn chunk<'a>(key: &'a Key, number: u64, decoding: &'a Arc<str>) -> ChunkId<'a> {
    ChunkId::new(key, number, decoding)
}

#[test]
fn a_decoded_chunk_is_found_by_key_number_and_decoding() {
    let (_, cache) = cached(10_000);
    let cache = cache.with_decoded_chunks();
    let a = key("a");
    let d = key("d/b");
    let zstd: Arc<str> = "zstd".into();
    let gzip: Arc<str> = "gzip".into();
    let changes = cache.change_count(&a);
    let start = cache.begin_read();
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &zstd)), None);
    assert!(cache.insert_chunk(&chunk(&a, 0, &zstd), Bytes::from_static(b"zero"), changes, start));
    assert!(cache.insert_chunk(&chunk(&a, 7, &zstd), Bytes::from_static(b"seven"), changes, start));
    // An equal text in other memory is the same decoding.
    for decoding in [&zstd, &"zstd".into()] {
        assert_eq!(cache.get_chunk(&chunk(&a, 0, decoding)).as_deref(), Some(&b"zero"[..]));
        assert_eq!(cache.get_chunk(&chunk(&a, 7, decoding)).as_deref(), Some(&b"seven"[..]));
    }
    for other in [chunk(&a, 1, &zstd), chunk(&a, 0, &gzip), chunk(&d, 0, &zstd)] {
        assert_eq!(cache.get_chunk(&other), None);
    }
    // Only the last of two decodings of a chunk stays cached.
    assert!(cache.insert_chunk(&chunk(&a, 0, &gzip), Bytes::from_static(b"gzip"), changes, start));
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &gzip)).as_deref(), Some(&b"gzip"[..]));
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &zstd)), None);
    assert_eq!(cache.get_chunk(&chunk(&a, 7, &zstd)).as_deref(), Some(&b"seven"[..]));
}

#[test]
fn a_change_drops_decoded_chunks_and_those_that_are_being_fetched() {
    for change in CHANGES {
        let (_, cache) = cached(10_000);
        let cache = cache.with_decoded_chunks();
        let a = key("a");
        let d = key("d/b");
        let decoding: Arc<str> = "".into();
        let changes = cache.change_count(&a);
        let start = cache.begin_read();
        assert!(cache.insert_chunk(&chunk(&a, 0, &decoding), Bytes::from_static(b"old"), changes, start));
        assert!(cache.insert_chunk(
            &chunk(&d, 0, &decoding),
            Bytes::from_static(b"other"),
            cache.change_count(&d),
            start
        ));
        change(&cache);
        assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)), None);
        // Bytes that were fetched before the change are not cached, but later ones are.
        assert!(cache.insert_chunk(&chunk(&a, 0, &decoding), Bytes::from_static(b"old"), changes, start));
        assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)), None);
        assert!(cache.insert_chunk(
            &chunk(&a, 0, &decoding),
            Bytes::from_static(b"new"),
            cache.change_count(&a),
            start
        ));
        assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)).as_deref(), Some(&b"new"[..]));
    }
    let (_, cache) = cached(10_000);
    let a = key("a");
    let d = key("d/b");
    let decoding: Arc<str> = "".into();
    assert!(cache.insert_chunk(
        &chunk(&d, 0, &decoding),
        Bytes::from_static(b"other"),
        cache.change_count(&d),
        cache.begin_read()
    ));
    cache.set(&a, b"new".into()).unwrap();
    assert_eq!(cache.get_chunk(&chunk(&d, 0, &decoding)).as_deref(), Some(&b"other"[..]));
}

#[test]
fn another_state_of_a_value_drops_its_decoded_chunks() {
    let (inside, cache) = cached(10_000);
    let cache = cache.with_decoded_chunks();
    let a = key("a");
    let decoding: Arc<str> = "".into();
    assert_eq!(part(&cache, "a", ByteRange::Last(2)), b"89");
    let changes = cache.change_count(&a);
    assert!(cache.insert_chunk(
        &chunk(&a, 0, &decoding),
        Bytes::from_static(b"old"),
        changes,
        cache.begin_read()
    ));
    assert_eq!(part(&cache, "a", MIDDLE), b"234");
    assert!(cache.get_chunk(&chunk(&a, 0, &decoding)).is_some());
    inside.set(&a, b"abcdefghij".into()).unwrap();
    assert!(cache.get_chunk(&chunk(&a, 0, &decoding)).is_some(), "the change was not noticed");
    let got =
        cache.get(&a, GetOptions::uncached(ByteRange::From(5)), &mut Output::at_most(9)).unwrap().unwrap();
    assert_eq!(got.size, 10);
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)), None);
    assert!(cache.insert_chunk(
        &chunk(&a, 0, &decoding),
        Bytes::from_static(b"old"),
        changes,
        cache.begin_read()
    ));
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)), None, "it was fetched before");
}

#[test]
fn a_read_evicts_entries_of_other_reads_but_not_its_own() {
    let cache = CacheStore::new(empty(), 10_000).with_decoded_chunks();
    let keys: Vec<Key> = (0..9).map(|n| key(&format!("k{n}"))).collect();
    let decoding: Arc<str> = "".into();
    let insert_part = |number: usize, start: ReadStart| {
        let kept = cache.insert_chunk(
            &chunk(&keys[number], 0, &decoding),
            vec![0; 2000].into(),
            cache.change_count(&keys[number]),
            start,
        );
        assert!(cache.size_in_memory() <= 10_000);
        kept
    };
    let found = |number: usize| cache.get_chunk(&chunk(&keys[number], 0, &decoding)).is_some();
    let first = cache.begin_read();
    // Three chunks fit, including the index.
    assert_eq!([0, 1, 2, 3, 4].map(|number| insert_part(number, first)), [true, true, true, false, false]);
    assert_eq!([0, 1, 2, 3].map(found), [true, true, true, false]);
    // The next read uses chunk 1, and evicts the other chunks.
    let second = cache.begin_read();
    assert!(found(1));
    assert_eq!([5, 6, 7].map(|number| insert_part(number, second)), [true, true, false]);
    assert_eq!([0, 1, 2, 5, 6, 7].map(found), [false, true, false, true, true, false]);
    // Nothing is evicted for a chunk that can never fit.
    let huge = cache.insert_chunk(
        &chunk(&keys[8], 0, &decoding),
        vec![0; 10_000].into(),
        cache.change_count(&keys[8]),
        cache.begin_read(),
    );
    assert!(!huge);
    assert_eq!([1, 5, 6].map(found), [true; 3]);
    let has_room = |size| cache.has_capacity(&chunk(&keys[8], 0, &decoding), size, cache.begin_read());
    assert_eq!([2000, 10_000].map(has_room), [true, false]);
}

#[test]
fn decoded_chunks_and_encoded_parts_share_the_limit() {
    let inside = Arc::new(Versioned::new(empty()));
    for number in 0..9 {
        inside.set(&key(&format!("k{number}")), (&[number; 1000]).into()).unwrap();
    }
    let cache = CacheStore::new(Arc::<Versioned>::clone(&inside), 5000).with_decoded_chunks();
    let a = key("a");
    let decoding: Arc<str> = "".into();
    assert!(cache.insert_chunk(
        &chunk(&a, 0, &decoding),
        vec![1; 3000].into(),
        cache.change_count(&a),
        cache.begin_read()
    ));
    for number in 0..9 {
        drop(get_value(&cache, &key(&format!("k{number}")), 1000).unwrap());
        assert!(cache.size_in_memory() <= 5000);
    }
    assert_eq!(cache.get_chunk(&chunk(&a, 0, &decoding)), None, "it was evicted");
    assert!(cache.insert_chunk(
        &chunk(&a, 0, &decoding),
        vec![1; 4000].into(),
        cache.change_count(&a),
        cache.begin_read()
    ));
    assert!(cache.size_in_memory() <= 5000);
    inside.reads();
    drop(get_value(&cache, &key("k8"), 1000).unwrap());
    assert_eq!(inside.reads(), 1, "it was evicted");
}

#[test]
fn encoded_chunks_are_cached_only_without_decoded_chunks() {
    for (decodes, reads) in [(false, [1, 0, 0]), (true, [1, 1, 1])] {
        let (inside, cache) = cached(10_000);
        let cache = if decodes { cache.with_decoded_chunks() } else { cache };
        assert_eq!(cache.chunk_cache().is_some(), decodes);
        let once = |range| {
            let got = cache
                .get(&key("a"), GetOptions::uncached(range), &mut Output::at_most(100))
                .unwrap()
                .unwrap();
            assert_eq!(got.size, 10);
            inside.reads()
        };
        assert_eq!([once(ByteRange::Full), once(MIDDLE), once(ByteRange::Full)], reads);
        // With and without decoded chunks, the cache stores the bytes of reads that permit caching of encoded bytes.
        assert_eq!(part(&cache, "a", ByteRange::Full), b"0123456789");
        inside.reads();
        assert_eq!([once(ByteRange::Full), once(MIDDLE)], [0, 0]);
    }
}

#[test]
fn missing_keys_are_cached_on_request() {
    for remembers in [false, true] {
        let (inside, cache) = cached(10_000);
        let cache = if remembers { cache.with_missing_keys() } else { cache };
        let missing = || {
            assert_eq!(value(&cache, "x"), None);
            assert_eq!(many(&cache, &[("x", MIDDLE)]), [None]);
            assert_eq!(cache.size(&key("x")).unwrap(), None);
            inside.reads()
        };
        assert_eq!(missing(), if remembers { 1 } else { 2 });
        assert_eq!(missing(), if remembers { 0 } else { 2 });
        assert_eq!(cache.size_in_memory() > 0, remembers);
        // A cache of missing keys does not notice the changes of other programs.
        inside.set(&key("x"), b"others".into()).unwrap();
        assert_eq!(value(&cache, "x").is_none(), remembers);
        inside.erase(&key("x")).unwrap();
        // The cache notices changes that are made through it.
        cache.set(&key("x"), b"own".into()).unwrap();
        assert_eq!(value(&cache, "x").as_deref(), Some(&b"own"[..]));
        cache.erase(&key("x")).unwrap();
        assert_eq!((value(&cache, "x"), cache.size(&key("x")).unwrap()), (None, None));
        cache.set_partial_values(&[(key("x"), 0, b"part")]).unwrap();
        assert_eq!(cache.size(&key("x")).unwrap(), Some(4));
        cache.erase_prefix(&Prefix::root()).unwrap();
        assert_eq!(value(&cache, "a"), None);
    }
    let cache = CacheStore::new(empty(), 2000).with_missing_keys();
    for number in 0..100 {
        assert_eq!(value(&cache, &format!("missing/{number}")), None);
        assert!(cache.size_in_memory() <= 2000);
    }
}

#[test]
fn a_description_names_bytes_and_store() {
    let cache =
        |more: &str| described(&format!(r#"{{"type": "cache", {more}, "store": {{"type": "filled"}}}}"#));
    for (more, decodes) in [
        (r#""bytes": 1000"#, false),
        (r#""bytes": 1000, "chunks": "encoded""#, false),
        (r#""bytes": 1000, "chunks": "decoded", "missing": true"#, true),
    ] {
        let store = cache(more).unwrap();
        assert_eq!(value(&*store, "d/b").unwrap(), b"22");
        assert_eq!(store.chunk_cache().is_some(), decodes);
    }
    for wrong in [
        r#""missing": true"#,
        r#""bytes": 0"#,
        r#""bytes": -1"#,
        r#""bytes": 1000, "chunks": "both""#,
        r#""bytes": 1000, "missing": 1"#,
        r#""bytes": 1000, "x": 1"#,
    ] {
        assert!(cache(wrong).is_err(), "{wrong}");
    }
    assert!(described(r#"{"type": "cache", "bytes": 1000}"#).is_err());
    assert!(has_no_url("cache"));
}

#[test]
fn only_a_cache_of_decoded_chunks_may_contain_another_cache() {
    let cache = |chunks: &str, inside: &str| {
        format!(r#"{{"type": "cache", "bytes": 1000, "chunks": "{chunks}", "store": {inside}}}"#)
    };
    let filled = r#"{"type": "filled"}"#;
    let two = |outer, inner| described(&cache(outer, &cache(inner, filled)));
    let store = two("decoded", "encoded").unwrap();
    assert_eq!(value(&*store, "d/b").unwrap(), b"22");
    for (outer, inner, reason) in [
        ("encoded", "encoded", "use one cache with the `bytes` of both"),
        ("encoded", "decoded", r#"the cache with `"chunks": "decoded"` must be the outer one"#),
        ("decoded", "decoded", "use one cache with the `bytes` of both"),
    ] {
        let error = two(outer, inner).unwrap_err();
        assert!(error.starts_with("invalid cache around the cache of `minimal:`: "), "{error}");
        assert!(error.contains(reason), "{outer} around {inner}: {error}");
    }
}

/// The outer cache does not copy values that the inner one holds.
#[test]
fn encoded_values_stay_in_the_inner_cache() {
    let (inside, inner) = cached(10_000);
    let outer = CacheStore::new(Arc::new(inner), 10_000).with_decoded_chunks();
    for reads in [1, 0] {
        drop(outer.get(&key("a"), GetOptions::uncached(ByteRange::Full), &mut Output::at_most(10)).unwrap());
        assert_eq!(inside.reads(), reads);
    }
    assert_eq!(outer.size_in_memory(), 0);
}

/// A write-only store.
#[derive(Debug, serde::Deserialize)]
struct WriteOnly {}

#[zarr_spec::typetag::deserialize(name = "write-only")]
impl zarr_spec::store::StoreConfiguration for WriteOnly {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let capabilities = Capabilities::ALL.unreadable();
        Ok(Arc::new(MinimalStore::new(capabilities)))
    }
}

#[test]
fn a_store_that_cannot_be_read_cannot_be_cached() {
    let error = described(r#"{"type": "cache", "bytes": 9, "store": {"type": "write-only"}}"#).unwrap_err();
    assert_eq!(error, "`minimal:` is not readable, so it cannot be cached");
}
