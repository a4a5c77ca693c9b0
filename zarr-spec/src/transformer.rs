//! Storage transformers: what stands between an array and its store.

use std::fmt::Debug;
use std::sync::Arc;

use crate::about::{About, says_what_it_is};
use crate::chain::CodecChain;
use crate::format::Invalid;
use crate::key::Prefix;
use crate::plugin::{Creation, Identifiers, Origin, maker};
use crate::store::Store;

/// What a storage transformer does with the chunks of one array.
#[derive(Debug, Clone)]
pub enum StorageTransformer {
    /// Hands them on under other keys or in another form.
    Wrap(Arc<dyn WrappingTransformer>),
    /// Puts several of them into one value, a form that an engine reads and writes in parts.
    Shard(ShardingTransformer),
}

/// Chunks of an array side by side in one value, with an index at its end.
///
/// The value of a shard has the key that its own position in the grid of shards gives, in the form of chunk keys.
#[derive(Debug, Clone)]
pub struct ShardingTransformer {
    /// Chunks of a shard per dimension, each at least 1.
    pub chunks_per_shard: Vec<u64>,
    /// What encodes the index, as [`crate::codec::Shard::index_codecs`].
    pub index_codecs: CodecChain,
}

/// Wraps the store of one array.
///
/// It keeps no state of its own: all of it goes to the next stage. Keys outside of `array` pass untouched.
/// Source: "Storage transformers" in the draft and in the Zarr v3 core specification.
pub trait WrappingTransformer: Debug + Send + Sync {
    /// The store that the array uses instead of `next`. `array` is what the keys of its chunks begin with.
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store>;
}

/// Makes a storage transformer for an array of a shape, in elements per dimension.
pub type CreateStorageTransformer = fn(&Creation<'_>, &[u64]) -> Result<StorageTransformer, Invalid>;

maker! {
    /// Makes transformers as [`CreateStorageTransformer`] does.
    StorageTransformerMaker,
    CreateStorageTransformer,
    dyn Fn(&Creation<'_>, &[u64]) -> Result<StorageTransformer, Invalid> + Send + Sync
}

/// A storage transformer that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct StorageTransformerPlugin {
    /// Its names.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: StorageTransformerMaker,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl StorageTransformerPlugin {
    /// A storage transformer of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateStorageTransformer) -> Self {
        Self {
            identifiers,
            create: StorageTransformerMaker::Linked(create),
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }
}

says_what_it_is!(StorageTransformerPlugin);

crate::inventory::collect!(StorageTransformerPlugin);
