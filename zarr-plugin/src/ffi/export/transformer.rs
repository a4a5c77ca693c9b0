//! Storage transformers of this library for its host.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_spec::{Prefix, Value, json};

use super::data_type::linked;
use super::store::hand_over;
use super::{destroy, held};
use crate::abi::{self, Buf, Creation, StorageTransformerVtable, StoreHandle, Str};
use crate::ffi::creation::with_creation;
use crate::ffi::import::store::owned;
use crate::ffi::{Failure, borrowed_items, borrowed_text, put};

/// The functions of a storage transformer of this library. `this` is an `Arc<dyn WrappingTransformer>`, `context` a
/// [`StorageTransformerPlugin`].
pub(crate) static STORAGE_TRANSFORMERS: StorageTransformerVtable = StorageTransformerVtable {
    struct_size: size_of::<StorageTransformerVtable>(),
    create: Some(create_transformer),
    destroy: Some(destroy::<Arc<dyn WrappingTransformer>>),
    wrap: Some(wrap),
};

callbacks! {
    fn create_transformer(
        context: *const c_void,
        creation: *const Creation,
        shape: *const u64,
        rank: usize,
        this: *mut *mut c_void,
        shard_json: *mut Buf,
    ) {
        let plugin = &*context.cast::<StorageTransformerPlugin>();
        let shape = borrowed_items(shape, rank);
        let made = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation, shape)?))?;
        match made {
            StorageTransformer::Wrap(transformer) => {
                this.write(Box::into_raw(Box::new(transformer)).cast());
            }
            // The host adds the codecs, which do not have a document.
            StorageTransformer::Shard(shard)
                if shard.index_codecs.links().iter().all(|link| link.document.is_none()) =>
            {
                let chunks: Value = shard.chunks_per_shard.iter().copied().collect();
                put(shard_json, json!({"chunks_per_shard": chunks}).to_string().into_bytes());
            }
            StorageTransformer::Shard(_) => {
                let what = "the ABI supports only the index of the draft, which has no codecs";
                return Err(Failure::new(abi::UNSUPPORTED, what));
            }
        }
        Ok(())
    }

    fn wrap(this: *const c_void, next: *const StoreHandle, array: Str, wrapped: *mut StoreHandle) {
        // This library owns `next` as soon as `wrap` is called, so the store is taken before anything can fail.
        let next = owned(&next.read(), "the host".into())?;
        let array =
            Prefix::new(borrowed_text(array)?).map_err(|error| Failure::broken(error.to_string()))?;
        wrapped.write(hand_over(held::<Arc<dyn WrappingTransformer>>(this).wrap(next, &array)));
        Ok(())
    }
}
