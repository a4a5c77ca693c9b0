//! Hierarchies and arrays of the Zarr formats, in any store, with whatever plugins a program links.
//!
//! A read goes from plan (geometry alone) over locate (keys, ranges of shards) to execution (store, computed codecs)
//! and the one copy that moves elements to where they belong. Writing is the same road backwards.
//!
//! The engine blocks: a caller who is `async` runs it with `spawn_blocking` or its like.

mod array;
mod attributes;
mod budget;
mod builder;
mod context;
pub mod convert;
mod copy;
mod element;
mod elements;
mod error;
mod flight;
mod grid;
mod group;
mod hierarchy;
mod location;
mod locks;
mod memory;
mod needs;
mod per_dimension;
mod pipeline;
mod plan;
mod read;
mod resolve;
mod selection;
mod shape;
mod shard;
mod slabs;
mod values;
mod variable;
mod write;

pub use array::Array;
pub use builder::{ArrayBuilder, DimensionName, Order};
pub use context::{ArrayOptions, Context, FallbackPolicy, Limits, UndefinedFill};
pub use element::Element;
pub use elements::{ElementArray, ReadElement, WriteElement};
pub use error::{Error, ErrorKind, Problem};
pub use group::Group;
pub use hierarchy::{
    AsNodePath, Erasure, Hierarchy, Kind, Node, NodeEntry, OpenOptions, Unreadable, Warning,
};
pub use location::{open_store, readable_location, recognizing};
pub use memory::{Memory, OutOfMemory};
pub use resolve::UsedFallback;
pub use selection::{DimensionSelection, Selection, SelectionEntry, SelectionExpression};
pub use values::Values;

pub use half::{bf16, f16};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use num_complex::Complex;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub use zarr_plugin::host as plugins;
