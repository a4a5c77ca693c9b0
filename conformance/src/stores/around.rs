//! For tests of stores that are around other stores: what they are around, and how they are described.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{Capabilities, Store, StoreConfiguration, StoreError, StorePlugin, get_value};
use zarr_spec::{Key, inventory, typetag};

use super::{MinimalStore, check_store};

/// What the store `{"type": "filled"}` holds.
pub const VALUES: &[(&str, &[u8])] = &[("a", b"0123456789"), ("d/b", b"22")];

/// A store for descriptions to be around.
#[derive(Debug, Deserialize)]
struct Filled {}

#[typetag::deserialize(name = "filled")]
impl StoreConfiguration for Filled {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(filled())
    }
}

/// A store with [`VALUES`].
#[must_use]
pub fn filled() -> Arc<dyn Store> {
    Arc::new(MinimalStore::with_values(Capabilities::ALL, VALUES))
}

/// A store without values.
#[must_use]
pub fn empty() -> Arc<dyn Store> {
    Arc::new(MinimalStore::new(Capabilities::ALL))
}

/// Opens the store that JSON describes.
///
/// # Errors
///
/// The message, if the description or what it describes is refused.
pub fn described(description: &str) -> Result<Arc<dyn Store>, String> {
    let parsed = zarr_json::parse(description.as_bytes(), &zarr_json::ParseOptions::default());
    let value = parsed.map_err(|error| error.to_string())?.value;
    let description: Box<dyn StoreConfiguration> =
        zarr_json::from_value(&value).map_err(|error| error.to_string())?;
    description.open(None).map_err(|error| error.to_string())
}

/// A key.
///
/// # Panics
///
/// If the text is none.
#[must_use]
#[expect(clippy::expect_used, reason = "the text is part of a test")]
pub fn key(text: &str) -> Key {
    Key::new(text).expect("a key")
}

/// The value of a key; at most 100 bytes.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
#[expect(clippy::expect_used, reason = "a test fails where it panics")]
pub fn value(store: &dyn Store, at: &str) -> Option<Vec<u8>> {
    get_value(store, &key(at), 100).expect("a value").map(Vec::from)
}

/// Holds a store that `make` returns, a new one each time, to every rule.
///
/// # Panics
///
/// With the first rule that it breaks, and `what` it is.
pub fn holds_every_rule(what: &str, make: &dyn Fn() -> Arc<dyn Store>) {
    let verdicts = check_store(make);
    assert!(verdicts.len() > 35, "{} rules", verdicts.len());
    for (rule, verdict) in verdicts {
        assert_eq!(verdict, Ok(()), "{rule}, of {what}");
    }
}

/// Whether the store called `name` can only be described, and says so of a URL.
#[must_use]
pub fn has_no_url(name: &str) -> bool {
    let plugin = inventory::iter::<StorePlugin>.into_iter().find(|plugin| plugin.name == name);
    plugin.is_some_and(|plugin| {
        let error =
            (plugin.open)(&format!("{name}:x")).map_or_else(|error| error.to_string(), |_| String::new());
        plugin.schemes.is_empty() && error.contains("JSON")
    })
}
