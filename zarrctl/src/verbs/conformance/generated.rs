//! Writes generated hierarchies.

use std::path::Path;

use zarr_conformance::formats::{FormatName, Generated};
use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, Order, Selection, open_store};

use crate::failure::Failure;

/// Writes a generated hierarchy to a folder, without the missing chunks.
pub(super) fn write(generated: &Generated, context: &Context, folder: &Path) -> Result<(), Failure> {
    let format = match generated.example.format {
        FormatName::V2 => Format::V2,
        FormatName::Draft => Format::V3Draft,
        FormatName::V3 => Format::V3,
    };
    let order = if generated.is_column_major { Order::F } else { Order::C };
    let mut builder = ArrayBuilder::new(generated.shape.clone(), generated.data_type.as_str())
        .chunks(generated.chunk_shape.clone())
        .fill_value(generated.fill_value.clone())
        .order(order)
        .separator(generated.separator)
        .uncompressed();
    if let Some(shape) = &generated.shard_shape {
        builder = builder.shards(shape.clone());
    }
    for (name, configuration) in &generated.codecs {
        builder = builder.codec((*name, configuration.clone()));
    }
    let store = open_store(context.registry(), &folder.to_string_lossy())?;
    let array =
        Hierarchy::create(store, context, format)?.create_array(&generated.example.array, &builder)?;
    for cell in &generated.cells {
        array.write(Selection::from(cell.ranges.as_slice()), &cell.elements)?;
    }
    Ok(())
}
