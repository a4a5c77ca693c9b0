//! Storage transformers of a loaded library.

use std::sync::Arc;

use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::host::chain::ChainCreation;
use zarr_spec::store::{Capabilities, GetOptions, GetResult, Keys, Payload, Store, StoreError, StoreResult};
use zarr_spec::transformer::{ShardingTransformer, StorageTransformer, WrappingTransformer};
use zarr_spec::{ArrayRepresentation, CodecChain, Creation, FillValue, Format, Invalid, Key, Output, Prefix};

use super::store::owned;
use super::{Imported, invalid, lengths};
use crate::abi::{self, StorageTransformerVtable, StoreHandle};
use crate::ffi::export::store::hand_over;
use crate::ffi::{EMPTY, Failure, Instance, lend, parse, take};

impl Imported<StorageTransformerVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        shape: &[u64],
    ) -> Result<StorageTransformer, Invalid> {
        self.made(creation, shape).map_err(|failure| invalid(&self.origin, &failure))
    }

    fn made(&self, creation: &Creation<'_>, shape: &[u64]) -> Result<StorageTransformer, Failure> {
        let mut this = std::ptr::null_mut();
        let mut json = EMPTY;
        let called = call_item!(self, creation, create(shape.as_ptr(), shape.len(), &mut this, &mut json));
        // SAFETY: the call filled `json` and created `this`, which this side owns.
        let (json, instance) = unsafe {
            let json = take(&mut json);
            called?;
            (json?, Instance::new(self.vtable, this, self.vtable.destroy))
        };
        if json.is_empty() {
            let origin = self.origin.clone();
            return Ok(StorageTransformer::Wrap(Arc::new(LoadedTransformer { instance, origin })));
        }
        let json = parse(&json)?;
        let chunks = json.as_object().and_then(|members| lengths(members.get("chunks_per_shard")?));
        let chunks = chunks.filter(|chunks| chunks.len() == shape.len() && !chunks.contains(&0));
        let chunks_per_shard = chunks.ok_or_else(|| {
            Failure::broken(format!("it returned the invalid description {json} of shards"))
        })?;
        let index_codecs = index_codecs(creation, &chunks_per_shard)?;
        Ok(StorageTransformer::Shard(ShardingTransformer::new(chunks_per_shard, index_codecs)))
    }
}

/// Returns the codecs of a shard index of the draft: `uint64`, little endian. Both numbers of a missing chunk have all
/// bits set.
fn index_codecs(creation: &Creation<'_>, chunks_per_shard: &[u64]) -> Result<CodecChain, Failure> {
    let &Creation { registry, reading, .. } = creation;
    let (data_type, _) = registry.data_type(Format::V3, &DataTypeDocument::named("uint64"), reading)?;
    let index = ArrayRepresentation::new(
        chunks_per_shard.iter().copied().chain([2]).collect(),
        data_type,
        FillValue::new([0xff; 8]),
    );
    let draft = ChainCreation::new(Format::V3Draft, registry, reading);
    CodecChain::create(&draft, None, &[], &index)
        .map_err(|error| Failure::new(abi::UNSUPPORTED, error.to_string()))
}

/// A storage transformer of a library.
#[derive(Debug)]
struct LoadedTransformer {
    instance: Instance<StorageTransformerVtable>,
    origin: Arc<str>,
}

impl LoadedTransformer {
    fn wrapped(&self, next: Arc<dyn Store>, array: &Prefix) -> Result<Arc<dyn Store>, Failure> {
        let mut wrapped = StoreHandle { vtable: std::ptr::null(), this: std::ptr::null_mut() };
        // The library owns the store as soon as `wrap` is called, also if the call fails.
        call!(self.instance, wrap(&hand_over(next), lend(array.as_str().as_bytes()), &mut wrapped))?;
        // SAFETY: the library passes the ownership.
        unsafe { owned(&wrapped, self.origin.clone()) }
    }
}

impl WrappingTransformer for LoadedTransformer {
    /// Wraps the store. A failure becomes a store whose operations all fail.
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store> {
        let location = next.location();
        match self.wrapped(next, array) {
            Ok(store) => store,
            Err(failure) => {
                Arc::new(FailingStore { location, message: invalid(&self.origin, &failure).to_string() })
            }
        }
    }
}

/// Replaces a store that could not be wrapped.
#[derive(Debug)]
struct FailingStore {
    location: String,
    message: String,
}

impl FailingStore {
    fn fail<T>(&self, operation: &'static str, place: &str) -> StoreResult<T> {
        Err(StoreError::io(operation, place, self.message.clone()))
    }
}

impl Store for FailingStore {
    fn location(&self) -> String {
        self.location.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn get(&self, key: &Key, _options: GetOptions, _to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        self.fail("reading", key.as_str())
    }

    fn set(&self, key: &Key, _value: Payload<'_>) -> StoreResult<()> {
        self.fail("writing", key.as_str())
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.fail("erasing", key.as_str())
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        self.fail("listing", prefix.as_str())
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        self.fail("reading", key.as_str())
    }
}
