//! `memory`: the rules for stores, sharing of bytes, and listings during changes.

use std::sync::Arc;

use zarr_conformance::stores::{check_rules, rule_names};
use zarr_spec::store::{Contents, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_spec::{ByteRange, Bytes, Key, Output, Prefix, inventory};
use zarr_store_memory::MemoryStore;

fn holds(rules: &[&str]) {
    assert_eq!(check_rules(&|| Arc::new(MemoryStore::new()), rules), Ok(()));
}

/// Tests V3-STORE-03.
#[test]
fn every_rule_for_stores_holds() {
    holds(&rule_names().collect::<Vec<_>>());
}

zarr_conformance::test_rules! { holds;
    /// Tests V2-STORE-01, V2-STORE-02, V2-STORE-03, V3-STORE-01, V3-STORE-11.
    #[test]
    fn keys_of_all_formats_are_stored();

    /// Tests D3-STORE-04, D3-STORE-05, D3-STORE-06, D3-STORE-08, D3-STORE-16.
    #[test]
    fn values_of_any_bytes_are_set();

    /// Tests D3-STORE-10, D3-STORE-11, D3-STORE-12, D3-STORE-13, D3-STORE-14.
    #[test]
    fn values_and_parts_of_them_are_read();

    /// Tests D3-STORE-17, D3-STORE-18, D3-STORE-19, D3-STORE-20, D3-STORE-21.
    #[test]
    fn values_are_changed_and_erased();

    /// Tests D3-STORE-22, D3-STORE-23, D3-STORE-25, D3-STORE-26, D3-STORE-27.
    #[test]
    fn prefixes_are_erased_and_listed();

    /// Tests D3-STORE-28, D3-STORE-29, D3-STORE-30, D3-STORE-32.
    #[test]
    fn directories_are_listed();
}

#[test]
fn reads_share_the_stored_bytes() {
    let store = MemoryStore::new();
    let key = Key::new("k").unwrap();
    let value = Bytes::from(vec![7; 1000]);
    store.set(&key, value.clone().into()).unwrap();
    let part = |range| match store.get(&key, range, &mut Output::at_most(1000)).unwrap().unwrap().contents {
        Contents::Shared(bytes) => bytes,
        Contents::Written => panic!("the bytes were copied"),
    };
    assert_eq!(part(ByteRange::Full.into()).as_ptr(), value.as_ptr());
    assert_eq!(part(ByteRange::From(10).into()).as_ptr(), value[10..].as_ptr());
    // Bytes that were read earlier do not change.
    let before = part(ByteRange::Last(2).into());
    store.set(&key, b"new".into()).unwrap();
    assert_eq!((before.as_ref(), part(ByteRange::Full.into()).as_ref()), (&[7, 7][..], &b"new"[..]));
}

#[test]
fn a_key_may_be_a_prefix_of_others() {
    let store = MemoryStore::new();
    for key in ["a", "a/b", "a/b/c", "a!", "a0"] {
        store.set(&Key::new(key).unwrap(), key.as_bytes().into()).unwrap();
    }
    let directory = store.list_dir(&Prefix::root()).unwrap();
    assert_eq!(directory.keys.iter().map(Key::as_str).collect::<Vec<_>>(), ["a", "a!", "a0"]);
    assert_eq!(directory.prefixes, [Prefix::new("a/").unwrap()]);
}

#[test]
fn a_failed_partial_write_changes_nothing() {
    let store = MemoryStore::new();
    let [a, b] = ["a", "b"].map(|key| Key::new(key).unwrap());
    let result = store.set_partial_values(&[(a.clone(), 0, b"x"), (b, u64::MAX, b"x")]);
    assert!(matches!(result, Err(StoreError::TooLarge { .. })), "{result:?}");
    assert_eq!((&store as &dyn Store).list().unwrap(), []);
    // No machine can allocate 2^62 bytes of zeros.
    assert!(store.set_partial_values(&[(a, 1 << 62, b"x")]).is_err());
}

#[test]
fn a_description_and_a_url_open_a_new_store() {
    let open = |description: &str| -> Result<Arc<dyn Store>, String> {
        let value =
            zarr_json::parse(description.as_bytes(), &zarr_json::ParseOptions::default()).unwrap().value;
        let description: Box<dyn StoreConfiguration> =
            zarr_json::from_value(&value).map_err(|error| error.to_string())?;
        description.open(None).map_err(|error| error.to_string())
    };
    let store = open(r#"{"type": "memory"}"#).unwrap();
    store.set(&Key::new("k").unwrap(), b"v".into()).unwrap();
    assert_eq!(open(r#"{"type": "memory"}"#).unwrap().list().unwrap(), []);
    assert!(open(r#"{"type": "memory", "path": "x"}"#).unwrap_err().contains("path"));

    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == "memory").unwrap();
    assert_eq!((plugin.schemes, plugin.origin.package), (&["memory"][..], "zarr-store-memory"));
    assert_eq!((plugin.open)("memory:").unwrap().location(), "memory:");
    assert!((plugin.open)("memory://").is_ok());
    let error = (plugin.open)("memory://name").unwrap_err().to_string();
    assert!(error.contains("`memory://name`"), "{error}");
}

#[test]
fn a_listing_continues_while_its_keys_are_erased() {
    let store = MemoryStore::new();
    for number in 0..2500 {
        store.set(&Key::new(format!("d/{number}")).unwrap(), b"".into()).unwrap();
    }
    store.set(&Key::new("e").unwrap(), b"".into()).unwrap();
    let below = Prefix::new("d/").unwrap();
    let mut count = 0;
    for key in store.list_prefix(&below).unwrap() {
        store.erase(&key.unwrap()).unwrap();
        count += 1;
    }
    assert_eq!(count, 2500);
    assert_eq!((&store as &dyn Store).list().unwrap(), [Key::new("e").unwrap()]);
    assert_eq!((&store as &dyn Store).any_key(&below).unwrap(), None);
}
