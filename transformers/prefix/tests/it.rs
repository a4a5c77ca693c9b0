//! `prefix` against the rules for stores, and where its values are.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use std::sync::Arc;

use zarr_conformance::stores::{MinimalStore, check_store};
use zarr_spec::store::{
    Capabilities, Request, Store, StoreConfiguration, StoreError, StorePlugin, get_value,
};
use zarr_spec::{ByteRange, Key, Prefix, inventory, json, typetag};
use zarr_transformer_prefix::PrefixStore;

const VALUES: &[(&str, &[u8])] = &[("a/b/c", b"1"), ("a/b/d/e", b"22"), ("a/bc", b"333"), ("z", b"4")];

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

fn prefix(text: &str) -> Prefix {
    Prefix::new(text).unwrap()
}

/// In a store that holds other things besides.
#[test]
fn every_rule_for_stores_holds() {
    for root in ["", "x/", "a/b/c/"] {
        let inside = || {
            let store = minimal();
            if !root.is_empty() {
                store.set(&key("xx"), b"other").unwrap();
                store.set(&key("a/b/cc/d"), b"other").unwrap();
            }
            store
        };
        let verdicts = check_store(&|| Arc::new(PrefixStore::new(inside(), prefix(root))));
        assert!(verdicts.len() > 35, "{} rules", verdicts.len());
        for (rule, verdict) in verdicts {
            assert_eq!(verdict, Ok(()), "{rule} below `{root}`");
        }
    }
}

#[test]
fn keys_are_those_below_the_prefix() {
    let inside = filled();
    let store = PrefixStore::new(Arc::clone(&inside), prefix("a/b/"));
    assert_eq!(store.list().unwrap(), [key("c"), key("d/e")]);
    let directory = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!((directory.keys, directory.prefixes), (vec![key("c")], vec![prefix("d/")]));
    assert_eq!(value(&store, "d/e").unwrap(), b"22");
    assert_eq!(value(&store, "z"), None);
    let request = |at: &str| Request { key: key(at), range: ByteRange::Full, limit: 9 };
    let mut delivered: Vec<_> = store.get_many(vec![request("z"), request("c")], 9).collect();
    delivered.sort_by_key(|(number, _)| *number);
    assert_eq!(delivered[0].1.as_ref().unwrap(), &None);
    assert_eq!(delivered[1].1.as_ref().unwrap().as_deref(), Some(&b"1"[..]));

    store.set(&key("new"), b"5").unwrap();
    store.set_partial_values(&[(key("d/e"), 1, b"3")]).unwrap();
    assert_eq!(value(&*inside, "a/b/new").unwrap(), b"5");
    assert_eq!(value(&*inside, "a/b/d/e").unwrap(), b"23");
    assert_eq!(store.location(), "minimal:, below `a/b/`");
    store.erase_prefix(&Prefix::root()).unwrap();
    assert_eq!(inside.list().unwrap(), [key("a/bc"), key("z")]);
}

#[test]
fn a_description_names_the_prefix_and_the_store() {
    for written in ["a/b", "a/b/"] {
        let description =
            format!(r#"{{"type": "prefix", "prefix": "{written}", "store": {{"type": "filled"}}}}"#);
        assert_eq!(value(&*open(&description).unwrap(), "c").unwrap(), b"1");
    }
    let root = open(r#"{"type": "prefix", "prefix": "", "store": {"type": "filled"}}"#).unwrap();
    assert_eq!(value(&*root, "z").unwrap(), b"4");
    for wrong in ["/", "..", "a//b", "/a"] {
        let description =
            format!(r#"{{"type": "prefix", "prefix": "{wrong}", "store": {{"type": "filled"}}}}"#);
        assert!(open(&description).is_err(), "{wrong}");
    }
    assert!(open(r#"{"type": "prefix", "store": {"type": "filled"}}"#).is_err());
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "prefix").unwrap();
    assert!(plugin.schemes.is_empty());
    assert!((plugin.open)("prefix:x").unwrap_err().to_string().contains("JSON"));
}
