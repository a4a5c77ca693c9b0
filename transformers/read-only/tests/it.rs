//! `read-only` against the rules for stores, and what it lets through.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::sync::Arc;

use zarr_conformance::stores::{MinimalStore, check_store};
use zarr_spec::store::{Capabilities, Store, StoreConfiguration, StoreError, StorePlugin, get_value};
use zarr_spec::{Key, Prefix, inventory, json, typetag};
use zarr_transformer_read_only::ReadOnlyStore;

const VALUES: &[(&str, &[u8])] = &[("a", b"1"), ("d/b", b"22")];

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
    let verdicts = check_store(&|| Arc::new(ReadOnlyStore::new(filled())));
    assert!(verdicts.len() > 35, "{} rules", verdicts.len());
    for (rule, verdict) in verdicts {
        assert_eq!(verdict, Ok(()), "{rule}");
    }
}

#[test]
fn everything_is_read_and_nothing_is_changed() {
    let inside = filled();
    let store = ReadOnlyStore::new(Arc::clone(&inside));
    let can = Capabilities { writeable: false, erasable: false, ..Capabilities::ALL };
    assert_eq!((store.capabilities(), store.location()), (can, inside.location()));
    assert_eq!(value(&store, "d/b").unwrap(), b"22");
    assert_eq!(store.size(&key("d/b")).unwrap(), Some(2));
    assert_eq!(store.list().unwrap(), inside.list().unwrap());
    assert_eq!(store.list_dir(&Prefix::root()).unwrap(), inside.list_dir(&Prefix::root()).unwrap());
    let quality = |result: Result<(), StoreError>| match result {
        Err(StoreError::NotSupported { quality, .. }) => quality,
        other => panic!("{other:?}"),
    };
    assert_eq!(quality(store.set(&key("a"), b"x")), "not writeable");
    assert_eq!(quality(store.set_partial_values(&[(key("a"), 0, b"x")])), "not writeable");
    assert_eq!(quality(store.erase(&key("a"))), "not erasable");
    assert_eq!(quality(store.erase_values(&[key("a")])), "not erasable");
    assert_eq!(quality(store.erase_prefix(&Prefix::root())), "not erasable");
    assert_eq!(value(&*inside, "a").unwrap(), b"1");
    assert_eq!(inside.list().unwrap().len(), 2);
}

#[test]
fn a_description_names_the_store_around_which_it_is() {
    let store = open(r#"{"type": "read-only", "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*store, "a").unwrap(), b"1");
    assert!(!store.capabilities().writeable);
    let nested =
        open(r#"{"type": "read-only", "store": {"type": "read-only", "store": {"type": "filled"}}}"#);
    assert_eq!(value(&*nested.unwrap(), "a").unwrap(), b"1");
    for wrong in [
        r#"{"type": "read-only"}"#,
        r#"{"type": "read-only", "store": {"type": "nothing"}}"#,
        r#"{"type": "read-only", "store": {"type": "filled"}, "more": 1}"#,
    ] {
        assert!(open(wrong).is_err(), "{wrong}");
    }
    let plugin =
        inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "read-only").unwrap();
    assert!(plugin.schemes.is_empty());
    assert!((plugin.open)("read-only:x").unwrap_err().to_string().contains("JSON"));
}
