//! `overlay`: the rules for stores, erased values, and markers.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::{described, empty, filled, holds_every_rule, key, value};
use zarr_spec::store::{Capabilities, Request, Store};
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
