//! Stores of libraries: functions that they omit, and errors.

use std::sync::Arc;

use zarr_plugin::host::Policy;
use zarr_spec::store::{Capabilities, IoKind, Request, Store, StoreError, get_value, open_described};
use zarr_spec::{ByteRange, Key, Output, Prefix, Registry, Value, json};

use crate::built::{Installed, Manifest, compiled};

pub(crate) const STORE_C: Manifest<'static> = Manifest {
    name: "store-c",
    version: "1.2.0",
    major: 2,
    path: "libplugin.so",
    provides: "[[provides]]\nkind = 'store'\nname = 'two'\naliases = ['two:']\n",
};

/// Returns a registry with only `tests/plugins/store.c`.
fn registry(macros: &[&str]) -> Registry {
    let installed = Installed::new(&compiled("store.c", macros, &[]), &STORE_C);
    let loader = installed.loader(Policy::Any);
    loader.open(&loader.candidates()[0]).unwrap();
    let mut registry = Registry::empty();
    assert_eq!(loader.register(&mut registry), []);
    registry
}

fn two(macros: &[&str]) -> Arc<dyn Store> {
    open_described(&registry(macros), &json!({"type": "two"})).unwrap()
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn keys(keys: &[Key]) -> Vec<&str> {
    keys.iter().map(Key::as_str).collect()
}

#[test]
fn a_store_in_c_is_read_and_listed_without_optional_functions() {
    let store = two(&[]);
    assert_eq!(store.location(), "two:");
    let can = Capabilities::READ_ONLY;
    assert_eq!((store.capabilities(), store.read_hints().max_concurrency), (can, 2));
    assert!(store.chunk_cache().is_none() && store.caches_values());
    for (range, part) in [
        (ByteRange::Full, "0123456789"),
        (ByteRange::From(8), "89"),
        (ByteRange::From(11), ""),
        (ByteRange::Range { offset: 2, size: 3 }, "234"),
        (ByteRange::Range { offset: 8, size: 30 }, "89"),
        (ByteRange::Last(4), "6789"),
        (ByteRange::Last(40), "0123456789"),
    ] {
        // Appends to existing output.
        let mut output = Output::at_most(13);
        output.put(b"___").unwrap();
        let got = store.get(&key("a"), range.into(), &mut output).unwrap().unwrap();
        assert_eq!(
            (got.size, got.version, output.written()),
            (10, None, [b"___", part.as_bytes()].concat().as_slice())
        );
    }
    assert_eq!(store.get(&key("b"), ByteRange::Full.into(), &mut Output::at_most(9)).unwrap(), None);
    assert_eq!((store.size(&key("d/b")).unwrap(), store.size(&key("d")).unwrap()), (Some(2), None));
    assert_eq!(keys(&store.list().unwrap()), ["a", "d/b"]);
    assert_eq!(keys(&store.list_sorted(&Prefix::new("d/").unwrap()).unwrap()), ["d/b"]);
    let root = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((keys(&root.keys), root.prefixes), (vec!["a"], vec![Prefix::new("d/").unwrap()]));
    let requests = ["d/b", "x", "a"].map(|at| Request::new(key(at), ByteRange::Full, 10)).to_vec();
    let fetched: Vec<_> = store.get_many(requests, 100).map(|(number, got)| (number, got.unwrap())).collect();
    let bytes: Vec<_> =
        fetched.iter().map(|(number, got)| (*number, got.as_ref().map(|got| &got.bytes[..]))).collect();
    assert_eq!(bytes, [(0, Some(&b"22"[..])), (1, None), (2, Some(b"0123456789"))]);
}

#[test]
fn unsupported_operations_of_a_store_are_not_called() {
    let store = two(&[]);
    let not = |error: &StoreError, what| matches!(error, StoreError::NotSupported { quality, .. } if *quality == what);
    assert!(not(&store.set(&key("a"), b"1".into()).unwrap_err(), "not writeable"));
    assert!(not(&store.set_partial_values(&[(key("a"), 0, b"1")]).unwrap_err(), "not writeable"));
    assert!(not(&store.erase(&key("a")).unwrap_err(), "not erasable"));
    assert!(not(&store.erase_prefix(&Prefix::root()).unwrap_err(), "not erasable"));
}

#[test]
fn a_loaded_store_is_opened_by_its_scheme_and_returns_errors() {
    let registry = registry(&[]);
    let plugin = &registry.stores()[0];
    assert_eq!((plugin.name, plugin.schemes), ("two", &["two"][..]));
    assert_eq!(plugin.about.summary, "Two values that never change.");
    assert_eq!((plugin.open)("two:").unwrap().size(&key("a")).unwrap(), Some(10));
    let error = (plugin.open)("two:three").unwrap_err();
    assert!(matches!(error, StoreError::Io { operation: "opening", .. }));
    assert_eq!(error.to_string(), "opening `two:three`: plugin store-c 1.2.0: there is no such store");
    // The plugin owns the inner store and releases it.
    let inside = json!({"type": "two", "store": {"type": "two"}});
    let error = open_described(&registry, &inside).unwrap_err();
    assert!(matches!(error, StoreError::Invalid(_)));
    assert_eq!(error.to_string(), "plugin store-c 1.2.0: two values do not wrap another store");
    let unknown: Value = json!({"type": "three"});
    let error = open_described(&registry, &unknown).unwrap_err().to_string();
    assert_eq!(error, "description of a store: store `three` is unknown");
}

#[test]
fn an_untrusted_store_is_named_with_its_plugin() {
    let installed = Installed::new(&compiled("store.c", &[], &[]), &STORE_C);
    let mut registry = Registry::empty();
    assert_eq!(installed.loader(Policy::Pinned).register(&mut registry).len(), 1);
    let error = open_described(&registry, &json!({"type": "two"})).unwrap_err().to_string();
    let part = "store `two` is in plugin store-c 1.2.0";
    assert!(error.contains(part) && error.contains("`zarrctl plugins trust store-c`"), "{error}");
    assert!(registry.unknown_store("two:").to_string().contains("`two:` is in plugin store-c 1.2.0"));
}

#[test]
fn errors_of_a_store_name_its_plugin() {
    let error = get_value(&*two(&["FAILS=ZARR_IO"]), &key("a"), 10).unwrap_err();
    assert!(matches!(error, StoreError::Io { operation: "reading", kind: IoKind::Other, .. }));
    assert_eq!(error.to_string(), "reading `a`: plugin store-c 1.2.0: the disk is on fire");
    let error = get_value(&*two(&[]), &key("a"), 9).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { source, .. } if source.limit == 9), "{error}");
    let error = get_value(&*two(&["FAILS=ZARR_INVALID_KEY"]), &key("a"), 10).unwrap_err();
    assert!(matches!(error, StoreError::Key(_)));
    assert_eq!(error.to_string(), "`a` cannot be a key: plugin store-c 1.2.0: the disk is on fire");
}

#[test]
fn the_status_of_a_store_determines_the_kind_of_error() {
    for (status, expected) in [
        ("ZARR_IO_NOT_PERMITTED", IoKind::NotPermitted),
        ("ZARR_IO_THROTTLED", IoKind::Throttled),
        ("ZARR_IO_TIMED_OUT", IoKind::TimedOut),
        ("ZARR_IO_UNREACHABLE", IoKind::Unreachable),
        ("ZARR_IO_DAMAGED", IoKind::Damaged),
        // Statuses of later versions.
        ("31", IoKind::Other),
        ("32", IoKind::Other),
    ] {
        let error = get_value(&*two(&[&format!("FAILS={status}")]), &key("a"), 10).unwrap_err();
        assert!(matches!(error, StoreError::Io { kind, .. } if kind == expected), "{status}: {error:?}");
    }
}

#[test]
fn a_listing_fetches_keys_as_they_are_taken() {
    let store = two(&["LISTING_FAILS"]);
    let mut keys = store.list_prefix(&Prefix::root()).unwrap();
    assert_eq!(keys.next().unwrap().unwrap(), key("d/b"));
    let error = keys.next().unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Io { operation: "listing", kind: IoKind::Throttled, .. }));
    assert!(keys.next().is_none());
    let nothing = Prefix::new("x/").unwrap();
    assert_eq!(two(&[]).any_key(&nothing).unwrap(), None);
    let error = two(&["NEVER_STOPS"]).list().unwrap_err();
    assert_eq!(error.to_string(), "`a` cannot be a key: the store added it after it was asked to stop");
}

/// Each request is delivered once, whatever number the store returns.
#[test]
fn an_incomplete_batch_ends_with_errors() {
    for (macros, first) in [(&["BATCHES"][..], Ok(None)), (&["BATCHES", "ENDS_EARLY"], Err(()))] {
        let store = two(macros);
        let requests = vec![Request::new(key("a"), ByteRange::Full, 10); 3];
        let mut fetched: Vec<_> = store.get_many(requests, 100).collect();
        fetched.sort_by_key(|(number, _)| *number);
        assert_eq!(fetched.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(fetched[0].1.as_ref().ok(), first.as_ref().ok());
        for (_, got) in &fetched[1..] {
            let error = got.as_ref().unwrap_err().to_string();
            assert!(error.starts_with("reading `a`: plugin store-c 1.2.0: it delivered request"), "{error}");
        }
        // Taking only one response ends the batch.
        assert!(store.get_many(vec![Request::new(key("a"), ByteRange::Full, 10); 3], 1).next().is_some());
    }
}
