//! The intermediate array of a copy in two passes. It has chunks, but no document, so no reader finds it.

use std::sync::Arc;

use zarr_engine::{Array, ArrayBuilder, Hierarchy};
use zarr_spec::store::Store;
use zarr_spec::{ByteOrder, Format, Prefix};

use super::below::Below;
use super::error::CopyError;
use crate::shelf::Shelf;

/// The folder of intermediate arrays in the folder of a plan.
const FOLDER: &str = "between";

/// Returns whether the elements of `from` can be stored in an intermediate array in `store`.
pub(crate) fn is_possible(from: &Array, store: &dyn Store) -> bool {
    let has_document = from.data_type().document(Format::V3, &ByteOrder::Little).is_ok();
    has_document && store.capabilities().listable
}

/// Returns the intermediate array between `from` and `to`, with uncompressed chunks below the folder `plan` in the
/// store of `to`.
pub(crate) fn between(from: &Array, to: &Array, chunks: &[u64], plan: &Prefix) -> Result<Array, CopyError> {
    let folder = format!("{plan}{FOLDER}/{}/", to.path().relative()).replace("//", "/");
    let store = Arc::clone(to.hierarchy().store());
    let below = Below::new(store, Prefix::new(folder)?);
    Ok(in_memory(from, to, chunks)?.with_store(Arc::new(below))?)
}

/// Returns an uncompressed array with the shape of `to` and the data type of `from`, in memory.
pub(crate) fn in_memory(from: &Array, to: &Array, chunks: &[u64]) -> Result<Array, CopyError> {
    let context = to.hierarchy().context();
    let registry = context.registry();
    let hierarchy = Hierarchy::create(Arc::new(Shelf::default()), context, Format::V3)?;
    let order = ByteOrder::Little;
    let data_type = from.data_type();
    let document = data_type.document(Format::V3, &order)?;
    let fill = data_type.fill_value_json(from.fill_value().bytes(), Format::V3, &order)?;
    let builder = ArrayBuilder::new(to.shape(), document.json).chunks(chunks).fill_value(fill).uncompressed();
    Ok(hierarchy.prepare_array("/copy", builder.metadata(Format::V3, registry)?)?)
}
