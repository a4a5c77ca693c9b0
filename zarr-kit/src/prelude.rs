//! The names that most programs use: `use zarr_kit::prelude::*;`

pub use crate::{
    Array, ArrayBuilder, ArraySubset, Context, Element, Format, Group, Hierarchy, Node, NodePath, Selection,
    json, open_store,
};
