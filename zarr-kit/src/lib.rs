//! Reads and writes Zarr v2, the v3 draft and v3.
//!
//! This crate has no logic of its own: it gathers the engine and the plugins that its features choose. See the README
//! for the table of plugins.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, open_store};
//!
//! let context = Context::linked()?;
//! let store = open_store(context.registry(), "memory:")?;
//! let hierarchy = Hierarchy::create(store, &context, Format::V3)?;
//! let array = hierarchy.create_array("/image", &ArrayBuilder::new([4, 6], "uint16").chunks([2, 3]))?;
//! array.write_values::<u16>(.., &(0..24).collect::<Vec<_>>())?;
//! assert_eq!(array.read_values::<u16>((1, 2..5))?, [8, 9, 10]);
//! # Ok(())
//! # }
//! ```

mod catalogue;
mod plugins;

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub use zarr_engine::plugins as loaded;
pub use zarr_engine::{
    Array, ArrayBuilder, ArrayOptions, AsNodePath, Context, DimensionName, DimensionSelection, Element,
    ElementArray, Erasure, Error, FallbackPolicy, Group, Hierarchy, Kind, Limits, Memory, Node, NodeEntry,
    OpenOptions, Order, OutOfMemory, Problem, Selection, SelectionEntry, SelectionExpression, UndefinedFill,
    Unreadable, UsedFallback, Values, Warning, convert, open_store, readable_location, recognizing,
};
pub use zarr_json::{self as json, json};
pub use zarr_metadata as metadata;
pub use zarr_spec as spec;
pub use zarr_spec::{Format, Mode, NodePath, Registry};
#[cfg(feature = "store-filesystem")]
pub use zarr_store_filesystem::FilesystemStore;
#[cfg(feature = "store-zip")]
pub use zarr_store_zip::{Packed, ZipStore, pack};
#[cfg(feature = "transformer-prefix")]
pub use zarr_transformer_prefix::PrefixStore;

pub use catalogue::CATALOGUE;
