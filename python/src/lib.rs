//! The extension module `zarr_kit._engine`: the engine of this workspace for Python.
//!
//! The module has three classes: a hierarchy, an array, and the elements that a read returns. Everything that is about
//! NumPy (data types, indexing, broadcasting) is Python code in `zarr_kit/`, which calls these classes with selections
//! that are already resolved. All work is done without the global interpreter lock.

mod array;
mod context;
mod creation;
mod data_type;
mod elements;
mod failure;
mod hierarchy;
mod json;
mod selection;

use pyo3::prelude::*;

/// The engine behind `zarr_kit`. Its classes may change without notice.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::array::ArrayHandle;
    #[pymodule_export]
    use crate::elements::ElementBuffer;
    #[pymodule_export]
    use crate::hierarchy::HierarchyHandle;
}
