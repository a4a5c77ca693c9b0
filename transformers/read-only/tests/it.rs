//! `read-only`: the rules for stores, and refused changes.

use std::sync::Arc;

use zarr_conformance::stores::around::{described, filled, has_no_url, holds_every_rule, key, value};
use zarr_spec::Prefix;
use zarr_spec::store::{Capabilities, Store, StoreError};
use zarr_transformer_read_only::ReadOnlyStore;

#[test]
fn every_rule_for_stores_holds() {
    holds_every_rule("read-only", &|| Arc::new(ReadOnlyStore::new(filled())));
}

#[test]
fn reads_work_and_changes_are_refused() {
    let inside = filled();
    let store = ReadOnlyStore::new(Arc::clone(&inside));
    let can = Capabilities::READ_ONLY;
    assert_eq!((store.capabilities(), store.location()), (can, inside.location()));
    assert_eq!(value(&store, "d/b").unwrap(), b"22");
    assert_eq!(store.size(&key("d/b")).unwrap(), Some(2));
    assert_eq!((&store as &dyn Store).list().unwrap(), inside.list().unwrap());
    assert_eq!(store.list_dir(&Prefix::root()).unwrap(), inside.list_dir(&Prefix::root()).unwrap());
    let quality = |result: Result<(), StoreError>| match result {
        Err(StoreError::NotSupported { quality, .. }) => quality,
        other => panic!("{other:?}"),
    };
    assert_eq!(quality(store.set(&key("a"), b"x".into())), "not writeable");
    assert_eq!(quality(store.set_partial_values(&[(key("a"), 0, b"x")])), "not writeable");
    assert_eq!(quality(store.erase(&key("a"))), "not erasable");
    assert_eq!(quality(store.erase_values(&[key("a")])), "not erasable");
    assert_eq!(quality(store.erase_prefix(&Prefix::root())), "not erasable");
    assert_eq!(value(&*inside, "a").unwrap(), b"0123456789");
    assert_eq!(inside.list().unwrap().len(), 2);
}

#[test]
fn a_description_contains_the_other_store() {
    let store = described(r#"{"type": "read-only", "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*store, "a").unwrap(), b"0123456789");
    assert!(!store.capabilities().writeable);
    // Nesting has no further effect.
    let twice =
        described(r#"{"type": "read-only", "store": {"type": "read-only", "store": {"type": "filled"}}}"#);
    assert_eq!(value(&*twice.unwrap(), "a").unwrap(), b"0123456789");
    for wrong in [
        r#"{"type": "read-only"}"#,
        r#"{"type": "read-only", "store": {"type": "nothing"}}"#,
        r#"{"type": "read-only", "store": {"type": "filled"}, "more": 1}"#,
    ] {
        assert!(described(wrong).is_err(), "{wrong}");
    }
    assert!(has_no_url("read-only"));
}
