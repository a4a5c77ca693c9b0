//! `prefix`: the rules for stores, and the keys in the other store.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::sync::Arc;

use zarr_conformance::stores::MinimalStore;
use zarr_conformance::stores::around::{described, empty, has_no_url, holds_every_rule, key, value};
use zarr_spec::store::{Capabilities, Request, Store};
use zarr_spec::{ByteRange, Prefix};
use zarr_transformer_prefix::PrefixStore;

const VALUES: &[(&str, &[u8])] = &[("a/b/c", b"1"), ("a/b/d/e", b"22"), ("a/bc", b"333"), ("z", b"4")];

fn prefix(text: &str) -> Prefix {
    Prefix::new(text).unwrap()
}

/// The rules hold although the other store contains keys outside of the prefix.
#[test]
fn every_rule_for_stores_holds() {
    for root in ["", "x/", "a/b/c/"] {
        let inside = || {
            let store = empty();
            if !root.is_empty() {
                store.set(&key("xx"), b"other".into()).unwrap();
                store.set(&key("a/b/cc/d"), b"other".into()).unwrap();
            }
            store
        };
        holds_every_rule(root, &|| Arc::new(PrefixStore::new(inside(), prefix(root))));
    }
}

#[test]
fn only_keys_below_the_prefix_are_visible() {
    let inside: Arc<dyn Store> = Arc::new(MinimalStore::with_values(Capabilities::ALL, VALUES));
    let store = PrefixStore::new(Arc::clone(&inside), prefix("a/b/"));
    assert_eq!((&store as &dyn Store).list().unwrap(), [key("c"), key("d/e")]);
    let directory = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((directory.keys, directory.prefixes), (vec![key("c")], vec![prefix("d/")]));
    assert_eq!(value(&store, "d/e").unwrap(), b"22");
    assert_eq!(value(&store, "z"), None);
    let request = |at: &str| Request::new(key(at), ByteRange::Full, 9);
    let mut delivered: Vec<_> = store.get_many(vec![request("z"), request("c")], 9).collect();
    delivered.sort_by_key(|(number, _)| *number);
    assert_eq!(delivered[0].1.as_ref().unwrap(), &None);
    assert_eq!(delivered[1].1.as_ref().unwrap().as_ref().map(|fetched| &fetched.bytes[..]), Some(&b"1"[..]));

    store.set(&key("new"), b"5".into()).unwrap();
    store.set_partial_values(&[(key("d/e"), 1, b"3")]).unwrap();
    assert_eq!(value(&*inside, "a/b/new").unwrap(), b"5");
    assert_eq!(value(&*inside, "a/b/d/e").unwrap(), b"23");
    assert_eq!(store.location(), "minimal:, below `a/b/`");
    store.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!(inside.list().unwrap(), [key("a/bc"), key("z")]);
}

#[test]
fn a_description_names_the_prefix_and_the_store() {
    let below = |prefix: &str| {
        described(&format!(r#"{{"type": "prefix", "prefix": "{prefix}", "store": {{"type": "filled"}}}}"#))
    };
    for written in ["d", "d/"] {
        assert_eq!(value(&*below(written).unwrap(), "b").unwrap(), b"22");
    }
    assert_eq!(value(&*below("").unwrap(), "d/b").unwrap(), b"22");
    for wrong in ["/", "..", "a//b", "/a"] {
        assert!(below(wrong).is_err(), "{wrong}");
    }
    assert!(described(r#"{"type": "prefix", "store": {"type": "filled"}}"#).is_err());
    assert!(has_no_url("prefix"));
}
