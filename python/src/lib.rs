//! The extension module `zarr_kit._engine`: the engine of this workspace for Python.
//!
//! The module has classes for a hierarchy, an array, the elements and strings that a read returns, and the progress of
//! calls. A coder of single chunks, chunks in files, single codecs and data types are for zarr-python. Functions run
//! the command line, copy hierarchies, and add codecs of Python packages. The code for NumPy (data types, indexing,
//! broadcasting) is written in Python, in `zarr_kit/`. This code calls the classes with resolved selections. The global
//! interpreter lock is released during all work.

mod archive;
mod array;
mod calls;
mod chunk_changes;
mod chunk_files;
mod chunk_value;
mod codec;
mod coder;
mod context;
mod copying;
mod creation;
mod credentials;
mod data_type;
mod elements;
mod failure;
mod hierarchy;
mod image_codec;
mod images;
mod json;
mod numcodecs;
mod progress;
mod selection;
mod strided;
mod strings;
mod zarrctl_script;

use pyo3::prelude::*;

/// The engine of `zarr_kit`. Its classes may change without notice.
//
// `gil_used = false`: the module does not need the global interpreter lock. All classes are frozen, so their fields
// change only through `Mutex`, atomics and the locks of the engine, which other threads use while the lock is released
// anyway. The shared context is in a `Mutex`, and memory that threads reuse is thread-local. Strings of NumPy are read
// and written under the lock of their allocator. As in NumPy, elements that one thread reads while another one writes
// them are a mixture.
#[pymodule(gil_used = false)]
mod _engine {
    #[pymodule_export]
    use crate::archive::{diff, digest, repair, verify};
    #[pymodule_export]
    use crate::array::ArrayHandle;
    #[pymodule_export]
    use crate::chunk_changes::ChunkFiles;
    #[pymodule_export]
    use crate::codec::{CodecHandle, codec_names, data_type_names};
    #[pymodule_export]
    use crate::coder::ChunkCoder;
    #[pymodule_export]
    use crate::copying::copy;
    #[pymodule_export]
    use crate::data_type::DataTypeHandle;
    #[pymodule_export]
    use crate::elements::ElementBuffer;
    #[pymodule_export]
    use crate::hierarchy::HierarchyHandle;
    #[pymodule_export]
    use crate::image_codec::{decode_image, encode_image};
    #[pymodule_export]
    use crate::numcodecs::add_codec;
    #[pymodule_export]
    use crate::progress::ProgressHandle;
    #[pymodule_export]
    use crate::strings::StringBuffer;
    #[pymodule_export]
    use crate::zarrctl_script::run_zarrctl;
}
