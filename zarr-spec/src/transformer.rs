//! Storage transformers: what stands between an array and its store.

use std::fmt::Debug;
use std::sync::Arc;

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::chain::CodecChain;
use crate::host::registry::ExtensionPoint;
use crate::key::Prefix;
use crate::plugin::{Kind, Plugin};
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

/// A storage transformer that a program knows. It is created for the shape of an array, in elements per dimension.
pub type StorageTransformerPlugin = Plugin<StorageTransformer>;

impl Kind for StorageTransformer {
    type Create = dyn Fn(&Creation<'_>, &[u64]) -> Result<StorageTransformer, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::StorageTransformer;
}

inventory::collect!(StorageTransformerPlugin);
