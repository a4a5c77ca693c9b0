//! Helpers for testing stores that wrap other stores: a wrapped store with values, and stores opened from
//! descriptions.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{Capabilities, Store, StoreConfiguration, StoreError, StorePlugin, get_value};
use zarr_spec::{Key, inventory, typetag};

use super::{MinimalStore, check_store};

/// The values of the store `{"type": "filled"}`.
pub const VALUES: &[(&str, &[u8])] = &[("a", b"0123456789"), ("d/b", b"22")];

/// A store that descriptions can wrap.
#[derive(Debug, Deserialize)]
struct Filled {}

#[typetag::deserialize(name = "filled")]
impl StoreConfiguration for Filled {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(filled())
    }
}

/// Returns a store with [`VALUES`].
#[must_use]
pub fn filled() -> Arc<dyn Store> {
    Arc::new(MinimalStore::with_values(Capabilities::ALL, VALUES))
}

/// Returns a store without values.
#[must_use]
pub fn empty() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL))
}

/// Opens the store that a JSON description specifies.
///
/// # Errors
///
/// The message, if the description is invalid or the store cannot be opened.
pub fn described(description: &str) -> Result<Arc<dyn Store>, String> {
    let parsed = zarr_json::parse(description.as_bytes(), &zarr_json::ParseOptions::default());
    let value = parsed.map_err(|error| error.to_string())?.value;
    let description: Box<dyn StoreConfiguration> =
        zarr_json::from_value(&value).map_err(|error| error.to_string())?;
    description.open(None).map_err(|error| error.to_string())
}

/// Returns the key `text`.
///
/// # Panics
///
/// If the text is not a valid key.
#[must_use]
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

/// Returns the value of a key; at most 100 bytes.
///
/// # Panics
///
/// If the value cannot be read.
#[must_use]
#[expect(clippy::expect_used, reason = "a test fails where it panics")]
pub fn value(store: &dyn Store, at: &str) -> Option<Vec<u8>> {
    get_value(store, &key(at), 100).expect("a value").map(Vec::from)
}

/// Checks a store against every rule. `make` returns a new store without values.
///
/// # Panics
///
/// If the store breaks a rule. The message has the rule and `what`.
pub fn holds_every_rule(what: &str, make: &dyn Fn() -> Arc<dyn Store>) {
    let verdicts = check_store(make);
    assert!(verdicts.len() > 35, "{} rules", verdicts.len());
    for (rule, verdict) in verdicts {
        assert_eq!(verdict, Ok(()), "{rule}, of {what}");
    }
}

/// Checks that the store called `name` has no URL scheme and that opening a URL fails with an error that mentions
/// JSON.
#[must_use]
pub fn has_no_url(name: &str) -> bool {
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == name);
    plugin.is_some_and(|plugin| {
        let error =
            (plugin.open)(&format!("{name}:x")).map_or_else(|error| error.to_string(), |_| String::new());
        plugin.schemes.is_empty() && error.contains("JSON")
    })
}
