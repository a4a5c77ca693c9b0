//! The intermediate array of a copy in two passes. It has chunks, but no document, so no reader finds it.

use std::sync::Arc;

use zarr_kit::spec::store::{Store, StoreError};
use zarr_kit::spec::{ByteOrder, Prefix};
use zarr_kit::stores::PrefixStore;
use zarr_kit::{Array, ArrayBuilder, Format, Hierarchy, open_store};

use crate::failure::Failure;

/// The folder of intermediate arrays in the destination. Names that begin with `__` are reserved in v3.
const FOLDER: &str = "__zarrctl/copy/";

/// Uncompressed chunks in the store of the copy.
pub(crate) struct Intermediate {
    array: Array,
    store: Arc<dyn Store>,
    prefix: Prefix,
}

impl Intermediate {
    /// Returns whether the elements of `from` can be stored in an intermediate array next to `to`.
    pub(crate) fn is_possible(from: &Array, to: &Array) -> bool {
        let has_document = from.data_type().document(Format::V3, &ByteOrder::Little).is_ok();
        has_document && to.hierarchy().store().capabilities().listable
    }

    /// Prepares the array, and removes its chunks of an earlier attempt.
    pub(crate) fn prepare(from: &Array, to: &Array, chunks: &[u64]) -> Result<Self, Failure> {
        let fault = |error: StoreError| Failure::Fault(error.into());
        let store = Arc::clone(to.hierarchy().store());
        let folder = format!("{FOLDER}{}/", to.path().relative());
        let prefix = Prefix::new(folder.replace("//", "/")).map_err(|error| Failure::Fault(error.into()))?;
        store.erase_prefix(&prefix).map_err(fault)?;
        let below = Arc::new(PrefixStore::new(Arc::clone(&store), prefix.clone()));
        let array = described(from, to, chunks)?.with_store(below)?;
        Ok(Self { array, store, prefix })
    }

    pub(crate) fn array(&self) -> &Array {
        &self.array
    }

    /// Removes all chunks.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        self.store.erase_prefix(&self.prefix).map_err(|error| Failure::Fault(error.into()))
    }
}

/// Creates the intermediate array in a hierarchy in memory, so that only its chunks are in the store of the copy.
fn described(from: &Array, to: &Array, chunks: &[u64]) -> Result<Array, Failure> {
    let context = to.hierarchy().context();
    let registry = context.registry();
    let hierarchy = Hierarchy::create(open_store(registry, "memory:")?, context, Format::V3)?;
    let fault = |error: zarr_kit::spec::DataTypeError| Failure::Fault(error.into());
    let order = ByteOrder::Little;
    let data_type = from.data_type();
    let document = data_type.document(Format::V3, &order).map_err(fault)?;
    let fill = data_type.fill_value_json(from.fill_value().bytes(), Format::V3, &order).map_err(fault)?;
    let builder =
        ArrayBuilder::new(from.shape(), document.json).chunks(chunks).fill_value(fill).uncompressed();
    Ok(hierarchy.prepare_array("/copy", builder.metadata(Format::V3, registry)?)?)
}
