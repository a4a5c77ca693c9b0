//! How stores are opened: by a path or a URL, or as JSON describes them.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::{Store, StoreError};
use crate::about::{About, says_what_it_is};
use crate::format::Invalid;
use crate::json::{self, Value};
use crate::plugin::{Origin, maker};
use crate::registry::Registry;

/// A store as a JSON description names it: `{"type": "memory"}`, nested ones included.
#[typetag::deserialize(tag = "type")]
pub trait StoreConfiguration: Debug + Send + Sync {
    /// Opens the store. `given` is an open one that the description calls `{"type": "given"}`: what is described around
    /// another store hands it on to that.
    ///
    /// # Errors
    ///
    /// When it cannot be reached or the description makes no sense.
    fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError>;

    /// Whether the store, apart from one that it is around, is a [`ChunkCache`](super::ChunkCache): of no use where
    /// nobody reaches it.
    fn keeps_chunks(&self) -> bool {
        false
    }
}

/// A store that is open already.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {}

const GIVEN: &str = "given";

#[typetag::deserialize(name = "given")]
impl StoreConfiguration for Given {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        let given = given.cloned();
        given.ok_or_else(|| Invalid::new("stores of type `given` are for programs, which give one").into())
    }
}

/// Opens a store from a path or URL.
pub type OpenStore = fn(&str) -> Result<Arc<dyn Store>, StoreError>;

maker! {
    /// Opens stores as [`OpenStore`] does.
    StoreOpener,
    OpenStore,
    dyn Fn(&str) -> Result<Arc<dyn Store>, StoreError> + Send + Sync
}

/// Opens a store from its description, in which `{"type": "given"}` is the store that comes with it.
pub type DescribeStore = fn(&Value, Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError>;

maker! {
    /// Opens stores as [`DescribeStore`] does.
    StoreDescriber,
    DescribeStore,
    dyn Fn(&Value, Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> + Send + Sync
}

/// A store that a program can open from a path or a URL, or from a description.
#[derive(Debug, Clone, Copy)]
pub struct StorePlugin {
    /// The `type` in a JSON description.
    pub name: &'static str,
    /// The URL schemes it answers to, without `:`; the empty one stands for a plain path.
    pub schemes: &'static [&'static str],
    /// Opens one from the whole URL or path.
    pub open: StoreOpener,
    /// Opens one from its description.
    pub describe: StoreDescriber,
    /// Returns whether a plain path is that of a file that this store opens, such as an archive. The path is opened as a URL
    /// with the first of `schemes`. The file need not exist: a name may be enough.
    pub recognizes: fn(&Path) -> bool,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl StorePlugin {
    /// A store that answers to `schemes`. Its crate has a [`StoreConfiguration`] of the same name.
    #[must_use]
    pub const fn new(name: &'static str, schemes: &'static [&'static str], open: OpenStore) -> Self {
        Self {
            name,
            schemes,
            open: StoreOpener::Linked(open),
            describe: StoreDescriber::Linked(open_linked),
            recognizes: |_| false,
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }

    /// A store that also opens plain paths of files for which `recognizes` returns true.
    #[must_use]
    pub const fn recognizing(self, recognizes: fn(&Path) -> bool) -> Self {
        Self { recognizes, ..self }
    }
}

says_what_it_is!(StorePlugin);

crate::inventory::collect!(StorePlugin);

/// A store whose crate is linked.
fn open_linked(description: &Value, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
    let configuration: Box<dyn StoreConfiguration> =
        json::from_value(description).map_err(|error| wrong(&error.to_string()))?;
    configuration.open(given)
}

/// Opens the store that `description` is of, with plugins of `registry`: first the one in its member `store`, if it is
/// around another. So linked stores may be around loaded ones, and the other way round.
///
/// # Errors
///
/// [`StoreError::Invalid`] for a type that `registry` does not have, and what the store says of its description.
pub fn open_described(registry: &Registry, description: &Value) -> Result<Arc<dyn Store>, StoreError> {
    let mut members = description.as_object().cloned().unwrap_or_default();
    let Some(name) = members.get("type").and_then(Value::as_str) else {
        return Err(wrong("`type` is missing or no string").into());
    };
    let Some(plugin) = registry.stores().iter().find(|plugin| plugin.name == name) else {
        return Err(wrong(&registry.unknown_store(name).to_string()).into());
    };
    let inside = members.get("store").filter(|inside| inside.as_object().is_some());
    let inside = inside.map(|inside| open_described(registry, inside)).transpose()?;
    if inside.is_some() {
        members.insert("store", crate::json!({"type": GIVEN}));
    }
    (plugin.describe)(&Value::Object(members), inside.as_ref())
}

fn wrong(reason: &str) -> Invalid {
    Invalid::new(format!("description of a store: {reason}"))
}
