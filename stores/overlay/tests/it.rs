//! `overlay`: the rules for stores, erased values, markers, and changes that end early.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::{described, empty, filled, holds_every_rule, key, value};
use zarr_spec::store::{Capabilities, Payload, Request, Store, StoreError, StoreResult};
use zarr_spec::{ByteRange, Key, Prefix};
use zarr_store_overlay::OverlayStore;

fn prefix(text: &str) -> Prefix {
    Prefix::new(text).unwrap()
}

/// Returns an overlay of `upper` over `lower`.
fn overlay(upper: &Arc<dyn Store>, lower: &Arc<dyn Store>) -> OverlayStore {
    OverlayStore::new(Arc::clone(upper), Arc::clone(lower)).unwrap()
}

fn keys(store: &dyn Store) -> Vec<Key> {
    store.list().unwrap()
}

#[test]
fn every_rule_for_stores_holds() {
    holds_every_rule("an overlay", &|| Arc::new(overlay(&empty(), &empty())));
    // The values of the lower store are hidden.
    holds_every_rule("an erased overlay", &|| {
        let store = overlay(&empty(), &filled());
        store.erase_prefix(&Prefix::root()).unwrap();
        Arc::new(store)
    });
}

#[test]
fn changes_are_in_the_upper_store_only() {
    let upper = empty();
    let lower = filled();
    let before = keys(&*lower);
    let store = overlay(&upper, &lower);
    store.set(&key("a"), b"new".into()).unwrap();
    store.set(&key("d/c"), b"3".into()).unwrap();
    store.set_partial_values(&[(key("d/b"), 1, b"9")]).unwrap();
    assert_eq!(
        (value(&store, "a").unwrap(), value(&store, "d/b").unwrap()),
        (b"new".to_vec(), b"29".to_vec())
    );
    assert_eq!(keys(&store), [key("a"), key("d/b"), key("d/c")]);
    assert_eq!((keys(&*lower), value(&*lower, "a").unwrap()), (before, b"0123456789".to_vec()));
    let listed = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((listed.keys, listed.prefixes), (vec![key("a")], vec![prefix("d/")]));
    assert_eq!(store.location(), "minimal:|overlay:?changes=minimal:");
}

#[test]
fn erased_values_stay_hidden_until_they_are_set() {
    let upper = empty();
    let lower = filled();
    let store = overlay(&upper, &lower);
    store.erase(&key("a")).unwrap();
    store.erase(&key("nothing")).unwrap();
    assert_eq!((value(&store, "a"), store.size(&key("a")).unwrap()), (None, None));
    assert_eq!(keys(&store), [key("d/b")]);
    assert_eq!(keys(&*upper), [key(".zarr-overlay/k.a")]);
    store.erase_prefix(&prefix("d/")).unwrap();
    assert_eq!((keys(&store), store.list_dir(&Prefix::root()).unwrap().prefixes), (vec![], vec![]));
    // Markers are read when the store is opened again.
    let again = overlay(&upper, &lower);
    assert_eq!(keys(&again), []);
    again.set(&key("d/b"), b"back".into()).unwrap();
    again.set(&key("a"), b"back".into()).unwrap();
    assert_eq!((value(&again, "d/b").unwrap(), keys(&again)), (b"back".to_vec(), vec![key("a"), key("d/b")]));
    again.erase(&key("a")).unwrap();
    again.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!(keys(&overlay(&upper, &lower)), []);
    assert_eq!(keys(&*lower).len(), 2);
}

#[test]
fn many_requests_take_each_value_from_its_store() {
    let store = overlay(&empty(), &filled());
    store.set(&key("new"), b"1".into()).unwrap();
    store.erase(&key("d/b")).unwrap();
    let names = ["a", "d/b", "none", "new", ".zarr-overlay/d.d/k.b", "a"];
    let requests = names.map(|name| Request::new(key(name), ByteRange::Full, 10)).to_vec();
    let mut responses: Vec<_> = store.get_many(requests, 1).collect();
    responses.sort_by_key(|(index, _)| *index);
    let bytes = responses.iter().map(|(index, found)| {
        (*index, found.as_ref().unwrap().as_ref().map(|response| response.bytes.to_vec()))
    });
    let a = Some(b"0123456789".to_vec());
    let expected = [(0, a.clone()), (1, None), (2, None), (3, Some(b"1".to_vec())), (4, None), (5, a)];
    assert_eq!(bytes.collect::<Vec<_>>(), expected);
}

#[test]
fn markers_are_not_values() {
    let upper = empty();
    let store = overlay(&upper, &filled());
    store.erase(&key("a")).unwrap();
    let marker = key(".zarr-overlay/k.a");
    assert_eq!((value(&store, marker.as_str()), store.size(&marker).unwrap()), (None, None));
    let refused = store.set(&marker, b"".into()).unwrap_err().to_string();
    assert!(refused.contains("reserves its prefix"), "{refused}");
    store.erase(&marker).unwrap();
    store.erase_prefix(&prefix(".zarr-overlay/")).unwrap();
    assert_eq!(value(&store, "a"), None);
    upper.set(&key(".zarr-overlay/x"), b"".into()).unwrap();
    let error = OverlayStore::new(upper, filled()).unwrap_err().to_string();
    assert!(error.contains("is not a marker of an overlay"), "{error}");
    let read_only = Arc::new(MinimalStore::new(Capabilities::READ_ONLY));
    assert!(OverlayStore::new(read_only, filled()).unwrap_err().to_string().contains("cannot hold changes"));
}

#[test]
fn a_description_has_both_stores() {
    let store =
        described(r#"{"type": "overlay", "store": {"type": "filled"}, "base": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*store, "a").unwrap(), b"0123456789");
    let error = described(r#"{"type": "overlay", "store": {"type": "filled"}}"#).unwrap_err();
    assert!(error.contains("base"), "{error}");
}

/// A store that refuses changes after a number of them, as a full disk or a process that ends does.
#[derive(Debug)]
struct Limited {
    inner: Arc<dyn Store>,
    left: AtomicUsize,
}

impl Limited {
    fn of(inner: &Arc<dyn Store>, changes: usize) -> Arc<dyn Store> {
        Arc::new(Self { inner: Arc::clone(inner), left: AtomicUsize::new(changes) })
    }

    fn change(&self, key: &str) -> StoreResult<()> {
        let counted =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        counted.map(drop).map_err(|_| StoreError::io("writing", key.to_owned(), "no space left"))
    }
}

zarr_spec::delegate_store! {
    impl Store for Limited {
        forward(self.inner): describe, read, cache, set_if, lock, set_partial_values, commit, array_document;
        forward(self.inner): erase_if, erase_values, list;

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            self.change(key.as_str())?;
            self.inner.set(key, value)
        }

        fn erase(&self, key: &Key) -> StoreResult<()> {
            self.change(key.as_str())?;
            self.inner.erase(key)
        }

        fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
            self.change(prefix.as_str())?;
            self.inner.erase_prefix(prefix)
        }
    }
}

#[test]
fn a_full_store_of_changes_is_an_error_and_hides_nothing() {
    let upper = empty();
    let lower = filled();
    let store = overlay(&Limited::of(&upper, 1), &lower);
    store.set(&key("a"), b"new".into()).unwrap();
    for error in [
        store.set(&key("d/b"), b"new".into()),
        store.set(&key("c"), b"new".into()),
        store.erase(&key("d/b")),
        store.erase_prefix(&prefix("d/")),
        store.erase_prefix(&Prefix::root()),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("writing `") && error.ends_with("no space left"), "{error}");
    }
    // The overlay that failed and one that is opened again agree.
    for store in [&store, &overlay(&upper, &lower)] {
        assert_eq!(value(store, "a").unwrap(), b"new");
        assert_eq!(value(store, "d/b"), value(&*lower, "d/b"));
        assert_eq!(keys(store), [key("a"), key("d/b")]);
    }
    assert_eq!(keys(&*upper), [key("a")]);
}

/// A process that ends between the two steps of an erasure leaves the old state or the new one, never the value of the
/// store below in place of a newer one.
#[test]
fn an_erasure_that_ends_early_is_done_or_not() {
    for (is_prefix, changes) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let upper = empty();
        let lower = filled();
        overlay(&upper, &lower).set(&key("d/b"), b"new".into()).unwrap();
        let ending = overlay(&Limited::of(&upper, changes), &lower);
        let erased = if is_prefix { ending.erase_prefix(&prefix("d/")) } else { ending.erase(&key("d/b")) };
        assert!(erased.is_err(), "{is_prefix}, {changes}");
        drop(ending);
        let again = overlay(&upper, &lower);
        assert_eq!(value(&again, "d/b").unwrap(), b"new", "{is_prefix}, {changes}");
        assert_eq!(keys(&again), [key("a"), key("d/b")]);
        again.erase(&key("d/b")).unwrap();
        assert_eq!(value(&overlay(&upper, &lower), "d/b"), None);
        assert_eq!(value(&*lower, "d/b").map(|value| value.len()), Some(2));
    }
}

/// Two overlays over the same stores, as of two processes: values are shared, and erasures when one is opened again.
#[test]
fn a_second_writer_sees_values_and_after_opening_again_erasures() {
    let upper = empty();
    let lower = filled();
    let [one, two] = [overlay(&upper, &lower), overlay(&upper, &lower)];
    one.set(&key("c"), b"1".into()).unwrap();
    two.set(&key("a"), b"2".into()).unwrap();
    for store in [&one, &two] {
        assert_eq!((value(store, "c").unwrap(), value(store, "a").unwrap()), (b"1".to_vec(), b"2".to_vec()));
    }
    one.erase(&key("d/b")).unwrap();
    assert_eq!((value(&one, "d/b"), value(&two, "d/b").is_some()), (None, true));
    assert_eq!(value(&overlay(&upper, &lower), "d/b"), None);
    // The later value is not hidden by the older marker.
    two.set(&key("d/b"), b"3".into()).unwrap();
    for store in [&one, &two, &overlay(&upper, &lower)] {
        assert_eq!(value(store, "d/b").unwrap(), b"3");
        assert_eq!(keys(store), [key("a"), key("c"), key("d/b")]);
    }
}
