//! Archives in other stores that are created and changed: commits, failures, several writers, and archives in archives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::holds_every_rule;
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Payload, Request, Store, StoreError, StoreResult, get_value,
};
use zarr_spec::{ByteRange, Bytes, Key, Prefix};
use zarr_store_zip::{LocalZipStore, StoredZipStore, ZipStore};

use super::{archive, deflated, key, keys, ramp, stored, value};

/// The key of the archive.
const ARCHIVE: &str = "d/a.zip";

const CONDITIONAL: Capabilities = Capabilities::ALL_AND_CONDITIONAL;

fn minimal(capabilities: Capabilities) -> Arc<MinimalStore> {
    Arc::new(MinimalStore::new(capabilities))
}

fn containing(archive: &[u8]) -> Arc<MinimalStore> {
    Arc::new(MinimalStore::with_values(CONDITIONAL, &[(ARCHIVE, archive)]))
}

fn open(store: &Arc<impl Store + 'static>) -> StoredZipStore {
    StoredZipStore::open(Arc::clone(store) as Arc<dyn Store>, key(ARCHIVE)).unwrap()
}

fn set(store: &dyn Store, at: &str, value: &[u8]) {
    store.set(&key(at), value.into()).unwrap();
}

fn bytes_of(store: &dyn Store) -> Option<Bytes> {
    get_value(store, &key(ARCHIVE), usize::MAX).unwrap()
}

/// Returns all values, as another program reads them.
fn read(store: &Arc<impl Store + 'static>) -> BTreeMap<String, Bytes> {
    let store = ZipStore::within(Arc::clone(store) as Arc<dyn Store>, key(ARCHIVE)).unwrap();
    keys(&store).into_iter().map(|at| (at.clone(), value(&store, &at).unwrap().unwrap())).collect()
}

fn expected(values: &[(&str, &[u8])]) -> BTreeMap<String, Bytes> {
    values.iter().map(|(at, value)| ((*at).to_owned(), Bytes::copy_from_slice(value))).collect()
}

/// Returns the message of an error about the archive.
fn refusal(result: StoreResult<()>) -> String {
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with("writing `minimal:d/a.zip`: "), "{message}");
    message
}

/// A store whose writes of archives fail.
#[derive(Debug)]
struct Failing {
    store: Arc<dyn Store>,
    how: AtomicU8,
}

/// Nothing is written.
const REFUSED: u8 = 1;

/// The value is written, but the response is lost.
const UNANSWERED: u8 = 2;

/// The value is written, the response is lost, and then the store cannot be reached.
const UNREACHABLE: u8 = 3;

impl Failing {
    fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, how: AtomicU8::new(0) })
    }

    fn fail(&self, how: u8) {
        self.how.store(how, Ordering::Relaxed);
    }

    fn failed<T>(operation: &'static str) -> StoreResult<T> {
        Err(StoreError::io(operation, "minimal:d/a.zip", "connection lost"))
    }
}

zarr_spec::delegate_store! {
    impl Store for Failing {
        forward(self.store): describe, get_many, size, cache, lock, set_partial_values, commit, array_document, remove, list;

        fn get(
            &self,
            key: &Key,
            options: zarr_spec::store::GetOptions,
            to: &mut zarr_spec::Output<'_>,
        ) -> StoreResult<Option<zarr_spec::store::GetResult>> {
            match self.how.load(Ordering::Relaxed) {
                UNREACHABLE => Self::failed("reading"),
                _ => self.store.get(key, options, to),
            }
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            match self.how.load(Ordering::Relaxed) {
                0 => self.store.set(key, value),
                REFUSED => Self::failed("writing"),
                _ => self.store.set(key, value).and_then(|()| Self::failed("writing")),
            }
        }

        fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
            match self.how.load(Ordering::Relaxed) {
                0 => self.store.set_if(key, value, condition),
                REFUSED => Self::failed("writing"),
                _ => self.store.set_if(key, value, condition).and_then(|_| Self::failed("writing")),
            }
        }
    }
}

#[test]
fn every_rule_for_stores_holds_for_an_archive_in_a_store() {
    holds_every_rule("an archive in a store", &|| Arc::new(open(&minimal(CONDITIONAL))));
    holds_every_rule("an archive in a store without conditions", &|| {
        Arc::new(open(&minimal(Capabilities::ALL)))
    });
    let empty = archive(&[], b"");
    holds_every_rule("an archive in a store that is read only", &|| {
        let inside = MinimalStore::with_values(Capabilities::READ_ONLY, &[(ARCHIVE, &empty)]);
        Arc::new(open(&Arc::new(inside)))
    });
    holds_every_rule("an archive in an archive", &|| Arc::new(open(&Arc::new(open(&minimal(CONDITIONAL))))));
    let folder = tempfile::tempdir().unwrap();
    let count = AtomicU8::new(0);
    holds_every_rule("an archive in a local archive", &|| {
        let number = count.fetch_add(1, Ordering::Relaxed).to_string();
        Arc::new(open(&Arc::new(LocalZipStore::open(folder.path().join(number)).unwrap())))
    });
}

#[test]
fn the_capabilities_are_those_of_the_store() {
    let can = |inside: Capabilities| {
        let empty = archive(&[], b"");
        open(&Arc::new(MinimalStore::with_values(inside, &[(ARCHIVE, &empty)]))).capabilities()
    };
    assert_eq!(can(CONDITIONAL), CONDITIONAL);
    assert_eq!(can(CONDITIONAL.unlistable().unerasable()), CONDITIONAL);
    assert_eq!(can(Capabilities::ALL), Capabilities::ALL);
    assert_eq!(can(Capabilities::READ_ONLY), Capabilities::READ_ONLY);
    let mut required = Capabilities::ALL;
    required.conditions_required = true;
    assert_eq!(can(required), required);
}

#[test]
fn a_commit_creates_an_archive_and_later_ones_add_to_it() {
    for inside in [minimal(CONDITIONAL), minimal(Capabilities::ALL)] {
        let store = open(&inside);
        assert_eq!(store.location(), "minimal:d/a.zip|zip:");
        set(&store, "zarr.json", b"{}");
        set(&store, "a/é", b"chunk");
        assert_eq!(value(&store, "a/é").unwrap().unwrap(), b"chunk"[..]);
        assert_eq!(bytes_of(&*inside), None, "before the commit, there is no archive");
        store.commit().unwrap();
        assert_eq!(read(&inside), expected(&[("a/é", b"chunk"), ("zarr.json", b"{}")]));

        set(&store, "b", &ramp(100_000));
        store.erase(&key("zarr.json")).unwrap();
        assert_eq!(read(&inside).len(), 2, "other programs read the old archive");
        assert_eq!(keys(&store), ["a/é", "b"]);
        store.commit().unwrap();
        assert_eq!(read(&inside), expected(&[("a/é", b"chunk"), ("b", &ramp(100_000))]));
        let before = bytes_of(&*inside);
        store.commit().unwrap();
        assert_eq!(bytes_of(&*inside), before, "without changes, a commit does nothing");
        assert_eq!((&*inside as &dyn Store).list().unwrap(), [key(ARCHIVE)]);
    }
}

#[test]
fn dropping_the_store_commits_and_a_store_without_changes_creates_nothing() {
    let inside = minimal(CONDITIONAL);
    let store = open(&inside);
    assert_eq!(keys(&store), [""; 0]);
    set(&store, "a", b"1");
    store.erase(&key("a")).unwrap();
    store.commit().unwrap();
    drop(store);
    assert_eq!(bytes_of(&*inside), None);
    set(&open(&inside), "a", b"1");
    assert_eq!(read(&inside), expected(&[("a", b"1")]));
}

#[test]
fn what_else_is_in_an_archive_stays() {
    let base = [
        stored("folder/", b""),
        stored("a", b"1"),
        deflated("b", &ramp(1000)),
        stored("../outside", b"x"),
        stored("a", b"one"),
        stored("c", b"3"),
    ];
    let inside = containing(&archive(&base, b"the comment"));
    let store = open(&inside);
    for number in 0..5_u8 {
        set(&store, "c", &[number]);
        set(&store, "new", &[number]);
    }
    store.commit().unwrap();
    let bytes = bytes_of(&*inside).unwrap();
    assert!(bytes.ends_with(b"the comment"));
    let count = |text: &[u8]| bytes.windows(text.len()).filter(|window| *window == text).count();
    assert_eq!((count(b"folder/"), count(b"../outside"), count(b"PK\x01\x02")), (2, 2, 6));
    let values = expected(&[("a", b"one"), ("b", &ramp(1000)), ("c", &[4]), ("new", &[4])]);
    assert_eq!(read(&inside), values);
    store.erase_prefix(&Prefix::root()).unwrap();
    store.commit().unwrap();
    assert_eq!(read(&inside), BTreeMap::new());
}

#[test]
fn an_archive_of_several_pieces_is_copied() {
    let large: Vec<u8> = (0..20 << 18_u32).flat_map(u32::to_le_bytes).collect();
    let inside = containing(&archive(&[stored("a", b"1"), stored("large", &large), stored("b", b"2")], b""));
    let store = open(&inside);
    set(&store, "c", b"3");
    store.commit().unwrap();
    let other = open(&inside);
    assert_eq!(keys(&other), ["a", "b", "c", "large"]);
    assert!(get_value(&other, &key("large"), usize::MAX).unwrap().unwrap() == large);
    // The next commit copies the archive from the temporary file.
    set(&store, "d", b"4");
    store.commit().unwrap();
    let other = open(&inside);
    assert_eq!(value(&other, "d").unwrap().unwrap(), b"4"[..]);
    assert!(get_value(&other, &key("large"), usize::MAX).unwrap().unwrap() == large);
}

#[test]
fn of_two_writers_the_second_one_gets_an_error() {
    for base in [None, Some(archive(&[stored("old", b"0")], b""))] {
        let inside = base.as_deref().map_or_else(|| minimal(CONDITIONAL), containing);
        let [first, second] = [(); 2].map(|()| open(&inside));
        set(&first, "a", b"first");
        set(&second, "a", b"second");
        set(&second, "b", b"second");
        first.commit().unwrap();
        let there = bytes_of(&*inside);
        let message = refusal(second.commit());
        assert!(message.contains("another program replaced the archive"), "{message}");
        assert!(message.contains("the changes of this program were not written"), "{message}");
        assert_eq!(bytes_of(&*inside), there);
        // The changes are gone, so that a later commit does not write them.
        second.commit().unwrap();
        assert!(refusal(second.set(&key("c"), b"x".into())).contains("replaced after it was opened"));
        drop((first, second));
        assert_eq!(bytes_of(&*inside), there);
        let third = open(&inside);
        set(&third, "b", b"third");
        third.commit().unwrap();
        let values = read(&inside);
        assert_eq!((&values["a"][..], &values["b"][..]), (&b"first"[..], &b"third"[..]));
    }
}

#[test]
fn an_archive_that_is_replaced_or_removed_is_not_changed() {
    for capabilities in [CONDITIONAL, Capabilities::ALL] {
        let base = archive(&[stored("a", b"1")], b"");
        let inside = Arc::new(MinimalStore::with_values(capabilities, &[(ARCHIVE, &base)]));
        let before = open(&inside);
        let during = open(&inside);
        set(&during, "b", b"2");
        let other = archive(&[stored("c", b"1")], b"");
        inside.set(&key(ARCHIVE), (&other).into()).unwrap();
        assert!(refusal(before.set(&key("b"), b"2".into())).contains("replaced after it was opened"));
        assert!(refusal(during.commit()).contains("were not written"));
        assert_eq!(bytes_of(&*inside).unwrap(), other);
        let removed = open(&inside);
        set(&removed, "b", b"2");
        inside.erase(&key(ARCHIVE)).unwrap();
        assert!(refusal(removed.commit()).contains("were not written"));
        assert_eq!(bytes_of(&*inside), None);
    }
}

#[test]
fn a_failed_write_leaves_the_old_archive_and_can_be_repeated() {
    let base = archive(&[stored("a", b"1")], b"");
    for capabilities in [CONDITIONAL, Capabilities::ALL] {
        let inside = Arc::new(MinimalStore::with_values(capabilities, &[(ARCHIVE, &base)]));
        let failing = Failing::new(Arc::<MinimalStore>::clone(&inside));
        let store = open(&failing);
        set(&store, "b", b"2");
        failing.fail(REFUSED);
        for _ in 0..2 {
            assert!(refusal(store.commit()).contains("connection lost"));
            assert_eq!(bytes_of(&*inside).unwrap(), base);
        }
        assert_eq!(value(&store, "b").unwrap().unwrap(), b"2"[..], "the changes are still there");
        failing.fail(0);
        set(&store, "b", b"22");
        set(&store, "c", b"3");
        store.commit().unwrap();
        assert_eq!(read(&inside), expected(&[("a", b"1"), ("b", b"22"), ("c", b"3")]));
        // A failure that was returned is not repeated when the store is dropped.
        set(&store, "d", b"4");
        failing.fail(REFUSED);
        refusal(store.commit());
        failing.fail(0);
        drop(store);
        assert_eq!(read(&inside).len(), 3);
    }
}

#[test]
fn a_write_whose_response_is_lost_is_not_taken_for_that_of_another_program() {
    for capabilities in [CONDITIONAL, Capabilities::ALL] {
        let base = archive(&[stored("a", b"1")], b"");
        let inside = Arc::new(MinimalStore::with_values(capabilities, &[(ARCHIVE, &base)]));
        let failing = Failing::new(Arc::<MinimalStore>::clone(&inside));
        let store = open(&failing);
        set(&store, "b", b"2");
        failing.fail(UNANSWERED);
        store.commit().unwrap();
        assert_eq!(read(&inside), expected(&[("a", b"1"), ("b", b"2")]));
        failing.fail(0);
        set(&store, "c", b"3");
        if capabilities == CONDITIONAL {
            // The store cannot find out whether this commit succeeded.
            failing.fail(UNREACHABLE);
            assert!(refusal(store.commit()).contains("connection lost"));
            assert_eq!(read(&inside).len(), 3);
            failing.fail(0);
        }
        set(&store, "d", b"4");
        store.commit().unwrap();
        assert_eq!(read(&inside), expected(&[("a", b"1"), ("b", b"2"), ("c", b"3"), ("d", b"4")]));
    }
}

#[test]
fn a_commit_of_an_inner_archive_commits_the_outer_one() {
    let inside = minimal(CONDITIONAL);
    let outer: Arc<dyn Store> = Arc::new(open(&inside));
    let inner = StoredZipStore::open(Arc::clone(&outer), key("i/inner.zip")).unwrap();
    assert_eq!(inner.location(), "minimal:d/a.zip|zip:i/inner.zip|zip:");
    set(&inner, "a", b"1");
    set(&*outer, "b", b"2");
    inner.commit().unwrap();
    set(&inner, "a", b"11");
    assert_eq!(read(&inside).into_keys().collect::<Vec<_>>(), ["b", "i/inner.zip"]);
    drop(outer);
    drop(inner);
    let outer = Arc::new(ZipStore::within(inside, key(ARCHIVE)).unwrap());
    let inner = ZipStore::within(outer, key("i/inner.zip")).unwrap();
    assert_eq!(value(&inner, "a").unwrap().unwrap(), b"11"[..]);
}

#[test]
fn requests_for_several_values_see_changes_and_survive_a_commit() {
    let values: Vec<Vec<u8>> = (0..6).map(|number| ramp(1000 + number)).collect();
    let entries: Vec<_> =
        values.iter().enumerate().map(|(number, value)| stored(number.to_string(), value)).collect();
    let inside = containing(&archive(&entries, b""));
    let store = open(&inside);
    set(&store, "1", b"changed");
    set(&store, "new", b"new");
    store.erase(&key("2")).unwrap();
    let request = |at: &str| Request::new(key(at), ByteRange::Full, 1 << 20);
    let asked = ["0", "1", "2", "new", "none", "5"];
    let mut responses = store.get_many(asked.map(request).to_vec(), 1 << 20);
    let first = responses.next().unwrap();
    store.commit().unwrap();
    let mut all: Vec<_> = std::iter::once(first).chain(responses).collect();
    all.sort_by_key(|(index, _)| *index);
    let found: Vec<_> =
        all.iter().map(|(_, it)| it.as_ref().unwrap().as_ref().map(|it| &it.bytes[..])).collect();
    let wanted: [Option<&[u8]>; 6] =
        [Some(&values[0]), Some(b"changed"), None, Some(b"new"), None, Some(&values[5])];
    assert_eq!(found, wanted);
    let again: Vec<_> = store.get_many(asked.map(request).to_vec(), 1 << 20).collect();
    assert_eq!(again.len(), 6);
}

/// A store that finds out with the first conditional write that its server ignores conditions.
#[derive(Debug)]
struct Ignoring {
    store: Arc<MinimalStore>,
    is_known: AtomicBool,
    asked: Mutex<Vec<Key>>,
}

zarr_spec::delegate_store! {
    impl Store for Ignoring {
        forward(self.store): location, read_hints, read, cache, set, lock, set_partial_values, commit, array_document, remove, list;

        fn capabilities(&self) -> Capabilities {
            if self.is_known.load(Ordering::Relaxed) { Capabilities::ALL } else { CONDITIONAL }
        }

        fn set_if(&self, key: &Key, _value: Payload<'_>, _condition: &Condition) -> StoreResult<ConditionalWrite> {
            self.is_known.store(true, Ordering::Relaxed);
            self.asked.lock().unwrap().push(key.clone());
            Err(StoreError::not_supported(self, "not conditional"))
        }
    }
}

#[test]
fn a_server_that_ignores_conditions_is_found_before_a_change() {
    let inside = minimal(Capabilities::ALL);
    let ignoring = Arc::new(Ignoring {
        store: Arc::clone(&inside),
        is_known: AtomicBool::new(false),
        asked: Mutex::default(),
    });
    let store = open(&ignoring);
    assert_eq!(store.capabilities(), CONDITIONAL);
    let refused = store.set_if(&key("a"), b"1".into(), &Condition::Missing);
    assert!(
        matches!(refused, Err(StoreError::NotSupported { quality: "not conditional", .. })),
        "{refused:?}"
    );
    assert_eq!(store.capabilities(), Capabilities::ALL);
    set(&store, "a", b"1");
    store.commit().unwrap();
    assert_eq!(read(&inside), expected(&[("a", b"1")]));
    assert!(!ignoring.asked.lock().unwrap().contains(&key(ARCHIVE)), "the archive is not a test");
}

#[test]
fn required_conditions_are_not_ignored() {
    let mut required = Capabilities::ALL;
    required.conditions_required = true;
    let inside = minimal(required);
    let store = open(&inside);
    assert!(refusal(store.set(&key("a"), b"1".into())).contains("conditional writes, which are required"));
    drop(store);
    assert_eq!(bytes_of(&*inside), None);
}

#[test]
fn a_missing_archive_in_a_store_that_is_read_only_is_an_error() {
    let inside = Arc::new(MinimalStore::new(Capabilities::READ_ONLY));
    let missing = StoredZipStore::open(inside, key(ARCHIVE)).unwrap_err();
    assert!(matches!(missing, StoreError::Invalid(_)));
    assert_eq!(missing.to_string(), "`minimal:d/a.zip` does not exist");
}

/// A store that forgets values, and notes the memory of the process while it gets one.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Weighing {
    store: MinimalStore,
    /// The sizes of values and the memory, in bytes.
    noted: Mutex<Vec<[usize; 2]>>,
}

#[cfg(target_os = "linux")]
zarr_spec::delegate_store! {
    impl Store for Weighing {
        forward(self.store): describe, read, cache, set, lock, set_partial_values, commit, array_document, remove, list;

        fn set_if(&self, _key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
            if *condition != Condition::Missing {
                return Ok(ConditionalWrite::Conflict);
            }
            assert!(value.starts_with(b"PK\x03\x04"));
            self.noted.lock().unwrap().push([value.len(), memory()]);
            Ok(ConditionalWrite::Done(None))
        }
    }
}

/// Returns the memory of this process in bytes, without pages of files.
#[cfg(target_os = "linux")]
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn an_archive_does_not_need_to_fit_in_memory() {
    const SIZE: usize = 512 << 20;
    let inside = Arc::new(Weighing { store: MinimalStore::new(CONDITIONAL), noted: Mutex::new(Vec::new()) });
    let store = open(&inside);
    let value = ramp(8 << 20);
    for number in 0..SIZE / value.len() {
        set(&store, &number.to_string(), &value);
    }
    store.commit().unwrap();
    let noted = inside.noted.lock().unwrap().clone();
    let [[size, taken]] = noted[..] else { panic!("{noted:?}") };
    // Other tests of this process take memory, too.
    assert!(size > SIZE && taken < SIZE / 2, "{taken} bytes for an archive of {size} bytes");
}
