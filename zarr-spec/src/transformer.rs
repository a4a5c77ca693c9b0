//! Storage transformers: stores that stand between an array and its store.

use std::fmt::Debug;
use std::sync::Arc;

use crate::format::Invalid;
use crate::key::Prefix;
use crate::plugin::{Creation, Identifiers, Origin};
use crate::store::Store;

/// Wraps the store of one array.
///
/// It keeps no state of its own: all of it goes to the next stage. Keys outside of `array` pass untouched.
/// Source: "Storage transformers" in the draft and in the Zarr v3 core specification.
pub trait StorageTransformer: Debug + Send + Sync {
    /// The store that the array uses instead of `next`. `array` is what the keys of its chunks begin with.
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store>;
}

/// Makes a storage transformer for an array of a shape, in elements per dimension.
pub type CreateStorageTransformer = fn(&Creation<'_>, &[u64]) -> Result<Arc<dyn StorageTransformer>, Invalid>;

/// A storage transformer that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct StorageTransformerPlugin {
    /// Its names.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: CreateStorageTransformer,
    /// The crate it comes from.
    pub origin: Origin,
}

impl StorageTransformerPlugin {
    /// A storage transformer of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateStorageTransformer) -> Self {
        Self { identifiers, create, origin: Origin::UNKNOWN }
    }

    /// With the crate it comes from; [`crate::register!`] fills it in.
    #[must_use]
    pub const fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

crate::inventory::collect!(StorageTransformerPlugin);
