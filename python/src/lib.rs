//! The extension module `zarr_kit._engine`: the engine of this workspace for Python.
//!
//! The module has four classes: a hierarchy, an array, the elements that a read returns, and the progress of calls. The
//! code for NumPy (data types, indexing, broadcasting) is written in Python, in `zarr_kit/`. It calls these classes with
//! resolved selections. The global interpreter lock is released during all work.

mod array;
mod context;
mod creation;
mod data_type;
mod elements;
mod failure;
mod hierarchy;
mod json;
mod progress;
mod selection;

use pyo3::prelude::*;

/// The engine of `zarr_kit`. Its classes may change without notice.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::array::ArrayHandle;
    #[pymodule_export]
    use crate::elements::ElementBuffer;
    #[pymodule_export]
    use crate::hierarchy::HierarchyHandle;
    #[pymodule_export]
    use crate::progress::ProgressHandle;
}
