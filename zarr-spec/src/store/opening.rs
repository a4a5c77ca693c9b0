//! How stores are opened: by a path or a URL, or as JSON describes them.

use std::fmt::{self, Debug};
use std::path::Path;
use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use zarr_json::Value;

use super::{Store, StoreError};
use crate::about::{About, Example};
use crate::format::Invalid;
use crate::host::registry::Registry;
use crate::plugin::Origin;

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

/// The store that a description names as a member, for a store around another one.
///
/// Its generic code is small: the description becomes a [`Value`] first, and everything else is compiled once, here. A
/// `Box<dyn StoreConfiguration>` in a configuration takes 8 seconds to compile.
#[derive(Debug)]
pub struct DescribedStore(Box<dyn StoreConfiguration>);

impl DescribedStore {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// If its type is unknown or a member is wrong.
    pub fn parse(description: &Value) -> Result<Self, Invalid> {
        zarr_json::from_value(description).map(Self).map_err(|error| Invalid::new(error.to_string()))
    }

    /// Opens the store, as [`StoreConfiguration::open`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        self.0.open(given)
    }
}

impl<'de> Deserialize<'de> for DescribedStore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
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
pub type OpenStore = dyn Fn(&str) -> Result<Arc<dyn Store>, StoreError> + Send + Sync;

/// Opens a store from its description, in which `{"type": "given"}` is the store that comes with it.
pub type DescribeStore =
    dyn Fn(&Value, Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> + Send + Sync;

/// A store that a program can open from a path or a URL, or from a description.
#[derive(Clone, Copy)]
pub struct StorePlugin {
    /// The `type` in a JSON description.
    pub name: &'static str,
    /// The URL schemes it answers to, without `:`; the empty one stands for a plain path.
    pub schemes: &'static [&'static str],
    /// Opens one from the whole URL or path.
    pub open: &'static OpenStore,
    /// Opens one from its description. `None`: by the [`StoreConfiguration`] of the same name, which is linked.
    pub describe: Option<&'static DescribeStore>,
    /// Returns whether a plain path is that of a file that this store opens, such as an archive. The path is opened as a
    /// URL with the first of `schemes`. The file need not exist: a name may be enough.
    pub recognizes: fn(&Path) -> bool,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl StorePlugin {
    /// A store that answers to `schemes`. Its crate has a [`StoreConfiguration`] of the same name.
    #[must_use]
    pub const fn new(name: &'static str, schemes: &'static [&'static str], open: &'static OpenStore) -> Self {
        Self {
            name,
            schemes,
            open,
            describe: None,
            recognizes: |_| false,
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }

    /// Opens a store from its description.
    ///
    /// # Errors
    ///
    /// The error of the store.
    pub fn describe(
        &self,
        description: &Value,
        given: Option<&Arc<dyn Store>>,
    ) -> Result<Arc<dyn Store>, StoreError> {
        self.describe.unwrap_or(&open_linked)(description, given)
    }

    /// Adds one sentence on what the plugin does, and examples of its use.
    #[must_use]
    pub const fn about(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { about: self.about.described(summary, examples), ..self }
    }

    /// Adds the struct that descriptions are read into. Their schema follows from it.
    #[must_use]
    pub const fn configuration<T: DeserializeOwned>(self) -> Self {
        Self { about: self.about.with_configurations::<T>(), ..self }
    }

    /// Adds the crate that the plugin comes from. [`register!`](crate::register) calls it.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// A store that also opens plain paths of files for which `recognizes` returns true.
    #[must_use]
    pub const fn recognizing(self, recognizes: fn(&Path) -> bool) -> Self {
        Self { recognizes, ..self }
    }
}

impl fmt::Debug for StorePlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("StorePlugin");
        debug.field("name", &self.name).field("origin", &self.origin).finish_non_exhaustive()
    }
}

crate::inventory::collect!(StorePlugin);

/// A store whose crate is linked.
fn open_linked(description: &Value, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
    DescribedStore::parse(description).map_err(|error| wrong(&error.to_string()))?.open(given)
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
    plugin.describe(&Value::Object(members), inside.as_ref())
}

fn wrong(reason: &str) -> Invalid {
    Invalid::new(format!("description of a store: {reason}"))
}
