//! Opening stores by path, URL or JSON description.

use std::fmt::{self, Debug};
use std::path::Path;
use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use zarr_json::Value;

use super::{Store, StoreResult};
use crate::about::{About, Example};
use crate::format::Invalid;
use crate::host::registry::Registry;
use crate::key::Key;
use crate::plugin::Origin;

/// A store in a JSON description, such as `{"type": "memory"}`, including nested stores.
#[typetag::deserialize(tag = "type")]
pub trait StoreConfiguration: Debug + Send + Sync {
    /// Opens the store. `given` is an open store, which the description refers to as `{"type": "given"}`; a
    /// wrapper passes it on to its inner store.
    ///
    /// # Errors
    ///
    /// If the store cannot be reached, or the description is invalid.
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>>;

    /// Returns whether the store itself, not an inner one, has a [`ChunkCache`](super::ChunkCache). The engine refuses
    /// a description in which another store hides this cache.
    fn caches_chunks(&self) -> bool {
        false
    }
}

/// The description of an inner store, as a member of the configuration of a wrapper.
///
/// Its generic code is small: the description becomes a [`Value`] first, and everything else is compiled only
/// here. A `Box<dyn StoreConfiguration>` in a configuration takes 8 seconds to compile.
#[derive(Debug)]
pub struct DescribedStore(Box<dyn StoreConfiguration>);

impl DescribedStore {
    /// Parses a description.
    ///
    /// # Errors
    ///
    /// If its type is unknown or a member is wrong.
    pub fn parse(description: &Value) -> Result<Self, Invalid> {
        zarr_json::from_value(description).map(Self).map_err(|error| Invalid::new(error.to_string()))
    }

    /// Opens the store like [`StoreConfiguration::open`].
    ///
    /// # Errors
    ///
    /// Those of [`StoreConfiguration::open`].
    pub fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        self.0.open(given)
    }
}

impl<'de> Deserialize<'de> for DescribedStore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A store that is already open.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {}

const GIVEN: &str = "given";

#[typetag::deserialize(name = "given")]
impl StoreConfiguration for Given {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let given = given.cloned();
        given.ok_or_else(|| {
            Invalid::new("stores of type `given` are available only to programs that provide one").into()
        })
    }
}

/// Opens a store from a path or URL.
pub type OpenStore = dyn Fn(&str) -> StoreResult<Arc<dyn Store>> + Send + Sync;

/// Opens a store from its description, in which `{"type": "given"}` refers to the second argument.
pub type DescribeStore = dyn Fn(&Value, Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> + Send + Sync;

/// Opens stores at locations: paths, URLs, pipelines and descriptions.
pub trait Locations {
    /// Opens the store at `location`.
    ///
    /// # Errors
    ///
    /// If no store opens the location, and the error of the store.
    fn open(&self, location: &str) -> StoreResult<Arc<dyn Store>>;

    /// Opens the store that contains the file at `location`, and returns it with the key of the file.
    ///
    /// # Errors
    ///
    /// If the location does not end with the name of a file, and those of [`Locations::open`].
    fn open_file(&self, location: &str) -> StoreResult<(Arc<dyn Store>, Key)>;
}

/// A step of a URL pipeline: the store reads what the steps before it locate, such as an archive.
///
/// For example, `s3://bucket/a.zip|zip:` is a step with the input `s3://bucket/a.zip`, and so is
/// `zip:s3://bucket/a.zip`.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The location before the step, without a trailing `/`.
    pub input: &'a str,
    /// The path that `input` means, if it is a path without a scheme or a local `file:` URL; otherwise `None`.
    pub path: Option<&'a Path>,
    /// The decoded options after `?` in the step, such as `a=1` in `|zip:?a=1`.
    pub options: &'a [(String, String)],
    /// Opens other locations, including the input as a folder.
    pub locations: &'a dyn Locations,
}

impl<'a> Step<'a> {
    /// Creates a step without options.
    #[must_use]
    pub const fn new(input: &'a str, path: Option<&'a Path>, locations: &'a dyn Locations) -> Self {
        Self { input, path, options: &[], locations }
    }

    /// Adds options.
    #[must_use]
    pub const fn with_options(self, options: &'a [(String, String)]) -> Self {
        Self { options, ..self }
    }
}

impl Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("input", &self.input)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Opens a store that is a step of a URL pipeline.
pub type OpenStep = dyn Fn(&Step<'_>) -> StoreResult<Arc<dyn Store>> + Send + Sync;

/// A store that a program can open from a path or a URL, or from a description.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct StorePlugin {
    /// The `type` in a JSON description.
    pub name: &'static str,
    /// The URL schemes without `:`; an empty one means plain paths.
    pub schemes: &'static [&'static str],
    /// Opens a store from a URL or a path.
    pub open: &'static OpenStore,
    /// Opens a store as a step of a URL pipeline, and as a URL of one of `schemes`; `None` if it cannot be a step.
    pub step: Option<&'static OpenStep>,
    /// Opens a store from its description. `None` uses the linked [`StoreConfiguration`] of the same name.
    pub describe: Option<&'static DescribeStore>,
    /// Returns whether this store opens the file at a plain path, such as an archive. The path is then opened
    /// as a URL with the first of `schemes`. The file does not need to exist, since a name may be sufficient.
    pub recognizes: fn(&Path) -> bool,
    /// The description of the plugin.
    pub about: About,
    /// The crate that provides the plugin.
    pub origin: Origin,
}

impl StorePlugin {
    /// Creates a plugin for `schemes`. Its crate must have a [`StoreConfiguration`] of the same name.
    #[must_use]
    pub const fn new(name: &'static str, schemes: &'static [&'static str], open: &'static OpenStore) -> Self {
        Self {
            name,
            schemes,
            open,
            step: None,
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
    ) -> StoreResult<Arc<dyn Store>> {
        self.describe.unwrap_or(&open_linked)(description, given)
    }

    /// Makes the plugin a step of URL pipelines.
    #[must_use]
    pub const fn step(self, step: &'static OpenStep) -> Self {
        Self { step: Some(step), ..self }
    }

    /// Adds one sentence about the purpose of the plugin, and examples of its use.
    #[must_use]
    pub const fn about(self, summary: &'static str, examples: &'static [Example]) -> Self {
        Self { about: self.about.described(summary, examples), ..self }
    }

    /// Adds the struct into which descriptions are parsed. Their schema is derived from it.
    #[must_use]
    pub const fn configuration<T: DeserializeOwned>(self) -> Self {
        Self { about: self.about.with_configurations::<T>(), ..self }
    }

    /// Adds the crate that provides the plugin. [`register!`](crate::register) calls it.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Adds a function that recognizes plain paths of files that this store opens.
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

/// Opens a store whose crate is linked.
fn open_linked(description: &Value, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
    DescribedStore::parse(description).map_err(|error| wrong(&error.to_string()))?.open(given)
}

/// Opens the store in `description` with plugins of `registry`. An inner store in the member `store` is opened
/// first, so that linked and loaded stores can contain each other.
///
/// # Errors
///
/// [`StoreError::Invalid`](crate::store::StoreError::Invalid) for an unknown type, and the error of the store.
pub fn open_described(registry: &Registry, description: &Value) -> StoreResult<Arc<dyn Store>> {
    let mut members = description.as_object().cloned().unwrap_or_default();
    let Some(name) = members.get("type").and_then(Value::as_str) else {
        return Err(wrong("`type` is missing or not a string").into());
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
