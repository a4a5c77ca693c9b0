//! Storage transformers, which are placed between an array and its store.

use std::fmt::Debug;
use std::sync::Arc;

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::chain::CodecChain;
use crate::host::registry::ExtensionPoint;
use crate::key::Prefix;
use crate::plugin::{Plugin, PluginKind};
use crate::store::Store;

/// The effect of a storage transformer on the chunks of one array.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "the engine handles every kind")]
pub enum StorageTransformer {
    /// Changes the keys or the stored form of chunks.
    Wrap(Arc<dyn WrappingTransformer>),
    /// Stores several chunks in one value, which an engine reads and writes in parts.
    Shard(ShardingTransformer),
}

/// Several chunks of an array in one value, with an index at its end.
///
/// The key of a shard is the chunk key of its position in the grid of shards.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShardingTransformer {
    /// The number of chunks of a shard per dimension, each at least 1.
    pub chunks_per_shard: Vec<u64>,
    /// The codecs of the index, like [`crate::codec::Shard::index_codecs`].
    pub index_codecs: CodecChain,
}

impl ShardingTransformer {
    /// Creates shards with these numbers of chunks per dimension and these codecs of the index.
    #[must_use]
    pub const fn new(chunks_per_shard: Vec<u64>, index_codecs: CodecChain) -> Self {
        Self { chunks_per_shard, index_codecs }
    }
}

/// Wraps the store of one array.
///
/// A transformer does not have state: all data goes to the next stage. Keys outside of `array` are passed on
/// unchanged. Source: "Storage transformers" in the draft and in the Zarr v3 core specification.
pub trait WrappingTransformer: Debug + Send + Sync {
    /// Returns the store that the array uses instead of `next`. `array` is the prefix of its chunk keys.
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store>;
}

/// A storage transformer that a program knows. It is created for the shape of an array, in elements per dimension.
pub type StorageTransformerPlugin = Plugin<StorageTransformer>;

impl PluginKind for StorageTransformer {
    type Create = dyn Fn(&Creation<'_>, &[u64]) -> Result<StorageTransformer, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::StorageTransformer;
}

inventory::collect!(StorageTransformerPlugin);
