//! S3 with the `object_store` crate, through the adapter for the blocking API of zarrs. According to its documentation,
//! the asynchronous API is slower.

use std::io;
use std::sync::{Arc, OnceLock};

use object_store::aws::AmazonS3Builder;
use object_store::prefix::PrefixStore;
use rayon::prelude::*;
use tokio::runtime::{Handle, Runtime};
use zarr_peers::{Failure, Far};
use zarrs::array::Array;
use zarrs::storage::storage_adapter::async_to_sync::{AsyncToSyncBlockOn, AsyncToSyncStorageAdapter};
use zarrs::storage::{ListableStorageTraits, ReadableWritableListableStorage, StorePrefix};
use zarrs_object_store::AsyncObjectStore;

use crate::StoredArray;

struct BlockOn(Handle);

impl AsyncToSyncBlockOn for BlockOn {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

pub(crate) fn store(far: &Far) -> Result<ReadableWritableListableStorage, Failure> {
    // A client requires a provider of cryptography even without encryption. An error means that one is already
    // installed, and is ignored.
    let _there = rustls::crypto::ring::default_provider().install_default();
    let bucket = AmazonS3Builder::new()
        .with_bucket_name(&far.bucket)
        .with_endpoint(&far.endpoint)
        .with_region("us-east-1")
        .with_allow_http(true)
        .with_skip_signature(true)
        .build()?;
    let below = AsyncObjectStore::new(PrefixStore::new(bucket, far.prefix.as_str()));
    Ok(Arc::new(AsyncToSyncStorageAdapter::new(Arc::new(below), BlockOn(runtime()?.handle().clone()))))
}

/// Returns the runtime of all stores, with one thread per processor.
fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    RUNTIME.get_or_init(Runtime::new).as_ref().map_err(|error| error.to_string().into())
}

/// Opens the arrays of the root on many threads. `child_arrays` of zarrs opens one after another.
pub(crate) fn child_arrays(store: &ReadableWritableListableStorage) -> Result<Vec<StoredArray>, Failure> {
    let children = store.list_dir(&StorePrefix::root())?;
    let open = |prefix: &StorePrefix| {
        let path = format!("/{}", prefix.as_str().trim_end_matches('/'));
        Ok(Array::open(Arc::clone(store), &path)?)
    };
    children.prefixes().par_iter().map(open).collect()
}
