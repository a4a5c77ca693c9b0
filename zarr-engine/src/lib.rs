//! Hierarchies and arrays of the Zarr formats, in any store, with the plugins that a program links.
//!
//! A read plans which chunks hold the selected elements, fetches and decodes them, and places the elements in the output.
//! A write gathers the elements of each chunk, encodes and stores them. `ARCHITECTURE.md` follows both through the code.
//!
//! The engine blocks: asynchronous callers use `spawn_blocking` or its equivalent.
//!
//! Most tests of this crate are in `conformance/interop/tests/it`, because they need codecs and stores, which the engine
//! does not depend on.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "ndarray")]
pub extern crate ndarray;

mod array;
mod attributes;
mod budget;
mod builder;
mod byte_order;
mod context;
mod conversions;
pub mod convert;
mod copied_box;
mod copy;
mod element;
mod elements;
pub mod error;
mod flight;
mod grid;
mod group;
mod hierarchy;
mod location;
mod locks;
mod memory;
mod needs;
mod parallel;
mod per_dimension;
mod pipeline;
mod plan;
mod progress;
mod reader;
mod request_limit;
mod resolve;
mod scratch;
mod selection;
mod shape;
mod slabs;
mod stored;
mod threads;
mod unpoisoned;
mod values;
mod variable;
mod writer;

pub use array::{Array, ChunkSource, ReadAhead};
pub use builder::{ArrayBuilder, DimensionName, Order};
pub use context::{ArrayOptions, Context, FallbackPolicy, Limits, UndefinedFill};
pub use element::Element;
pub use elements::{ElementArray, ReadElement, WriteElement};
pub use error::{Error, ErrorKind, Problem};
pub use group::Group;
pub use hierarchy::{
    AsNodePath, EntryKind, Erasure, Hierarchy, Node, NodeEntry, OpenOptions, Unreadable, Warning,
};
pub use location::{open_store, readable_location, recognizing};
pub use memory::{Memory, OutOfMemory};
pub use progress::Progress;
pub use reader::StridedMemory;
pub use resolve::UsedFallback;
pub use selection::{DimensionSelection, IntoSelection, Selection, SelectionEntry, SelectionExpression};
pub use threads::ThreadPool;
pub use values::Values;

pub use half::{bf16, f16};
#[cfg(feature = "num-complex")]
pub use num_complex::Complex;
#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub use zarr_plugin::host as plugins;
