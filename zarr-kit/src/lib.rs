//! Reads and writes Zarr v2, the v3 draft and v3.
//!
//! This crate re-exports the engine and links the plugins that its features select.
//! `docs/library.md` is a guide with examples, and `docs/extensions.md` lists all plugins and features.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use zarr_kit::prelude::*;
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

#![cfg_attr(docsrs, feature(doc_cfg))]

mod catalogue;
pub mod codecs;
pub mod data_types;
mod plugins;
pub mod prelude;
pub mod stores;

#[cfg(feature = "archive")]
pub use zarr_archive as archive;
#[cfg(feature = "complex")]
pub use zarr_engine::Complex;
#[cfg(feature = "ndarray")]
pub use zarr_engine::ndarray;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub use zarr_engine::plugins as loaded;
pub use zarr_engine::{
    Array, ArrayBuilder, ArrayOptions, AsNodePath, ChunkSource, Context, DimensionName, DimensionSelection,
    Element, ElementArray, EntryKind, Erasure, Error, ErrorKind, FallbackPolicy, Group, Hierarchy,
    IntoSelection, Limits, Memory, Node, NodeEntry, OpenOptions, Order, OutOfMemory, Problem, Progress,
    ReadAhead, ReadElement, Selection, SelectionEntry, SelectionExpression, StridedMemory, ThreadPool,
    UndefinedFill, Unreadable, UsedFallback, Values, Warning, WriteElement, convert, error, open_store,
    readable_location, recognizing,
};
pub use zarr_engine::{bf16, f16};
pub use zarr_json::{self as json, json};
pub use zarr_metadata as metadata;
pub use zarr_spec as spec;
pub use zarr_spec::{ArraySubset, Bytes, Format, Mode, NodePath, Registry};

pub use catalogue::CATALOGUE;

/// Runs the examples of the guide as tests.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../docs/library.md")]
struct LibraryGuide;
