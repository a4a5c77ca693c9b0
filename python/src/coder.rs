//! Decoding and encoding of chunks that zarr-python stores.
//!
//! The codec pipeline in `zarr_kit/_pipeline.py` describes one chunk as an array that consists of this chunk only.

use std::process;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rayon::prelude::*;
use zarr_kit::spec::store::{Store, StoreError};
use zarr_kit::spec::{Key, Representation};
use zarr_kit::{
    Array, DimensionSelection, ElementArray, Error, Format, Hierarchy, OpenOptions, Selection, ThreadPool,
    open_store,
};

use crate::calls::detached;
use crate::chunk_changes::{ChunkFiles, open_folder};
use crate::chunk_files::{Batch, CallerMemory, Chunks, FilePart, PartError};
use crate::chunk_value::ChunkValue;
use crate::context::{ContextOptions, check_process, context, thread_pool};
use crate::creation::format_named;
use crate::data_type::description;
use crate::elements::{ElementBuffer, variable_elements};
use crate::failure::{exception, exception_at, raise};
use crate::strided::View;
use crate::strings::{StringArray, StringBuffer};

/// Decodes and encodes chunks of one shape, without access to their store. Results and failures of single chunks are in
/// the returned lists, in the order of the arguments.
#[pyclass(frozen, name = "ChunkCoder", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ChunkCoder {
    /// An array of many chunks, which follow each other along the first dimension.
    array: Array,
    /// The shape of a chunk.
    shape: Vec<u64>,
    is_sharded: bool,
    pool: ThreadPool,
    process: u32,
}

/// The data type, the shape and the fill value of an array.
type Encoded<'py> = (Bound<'py, PyDict>, Vec<u64>, Bound<'py, PyBytes>);

/// A part of a chunk and the memory for its elements.
struct Placement {
    value: Arc<ChunkValue>,
    view: View,
    /// The first element and the end per dimension.
    ranges: Vec<(u64, u64)>,
}

/// The elements of a chunk.
enum Decoded {
    View(View),
    /// The offsets and the payload of elements of a variable size.
    Elements(Vec<u8>),
}

impl Decoded {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.is_instance_of::<PyList>() || StringArray::of(object)?.is_some() {
            true => Ok(Self::Elements(variable_elements(object, false)?)),
            false => Ok(Self::View(View::source(object)?)),
        }
    }
}

#[pymethods]
impl ChunkCoder {
    /// Opens the metadata document of an array whose chunks follow each other along the first dimension.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        document: &str,
        format: &str,
        write_empty_chunks: bool,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let format = format_named(format)?;
        let options = ContextOptions { is_strict: false, stores_empty_chunks: write_empty_chunks, threads };
        let context = context(options)?;
        let pool = thread_pool(threads)?;
        let opened = detached(py, || {
            let store = open_store(context.registry(), "memory:")?;
            store.set(&document_key(format)?, document.as_bytes().into())?;
            let hierarchy = Hierarchy::open_with(store, &context, OpenOptions::new().format(format))?;
            let array = hierarchy.array("/")?;
            let is_sharded = array.inner_chunk_shape()?.is_some();
            let shape = array.chunk_grid().largest_chunk();
            Ok(Self { array, shape, is_sharded, pool, process: process::id() })
        })?;
        opened.map_err(|error| exception(&error))
    }

    /// Returns the data type as a dictionary.
    #[getter]
    fn data_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        description(py, &**self.array.data_type())
    }

    /// Returns the array that the first codec produces: its data type as a dictionary, its shape, and the bytes of its
    /// fill value. Returns `None` if the first codec produces bytes.
    fn first_encoded<'py>(&self, py: Python<'py>) -> PyResult<Option<Encoded<'py>>> {
        let links = self.array.codecs().links();
        let Some(Representation::Array(encoded)) = links.get(1).map(|link| &link.decoded) else {
            return Ok(None);
        };
        let data_type = description(py, &*encoded.data_type)?;
        Ok(Some((data_type, encoded.shape.clone(), PyBytes::new(py, encoded.fill_value.bytes()))))
    }

    /// Returns whether parts of a chunk can be decoded.
    #[getter]
    fn is_sharded(&self) -> bool {
        self.is_sharded
    }

    /// Decodes whole chunks. A value is a path or bytes. A result is a buffer, a list of elements of a variable size,
    /// `None` for a missing value, or an exception.
    fn decode<'py>(&self, py: Python<'py>, values: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let values = values.iter().map(ChunkValue::new).collect::<PyResult<Vec<_>>>()?;
        let decoded: Vec<_> = detached(py, || {
            self.pool.install(|| values.par_iter().map(|value| self.decode_value(value)).collect())
        })?;
        let list = PyList::empty(py);
        for result in decoded {
            match result {
                Ok(None) => list.append(py.None())?,
                Ok(Some(elements)) => list.append(elements_for_python(py, elements)?)?,
                Err(error) => list.append(exception(&error).into_value(py))?,
            }
        }
        Ok(list)
    }

    /// Decodes parts of chunks into `views`, which have the size of the parts. A result is whether the value exists, or
    /// an exception. The views of missing values do not change.
    fn decode_into<'py>(
        &self,
        py: Python<'py>,
        values: Vec<Bound<'py, PyAny>>,
        views: Vec<Bound<'py, PyAny>>,
        ranges: Vec<Vec<(u64, u64)>>,
    ) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let mut placements = Vec::with_capacity(values.len());
        for (position, ranges) in ranges.into_iter().enumerate() {
            let (Some(value), Some(view)) = (values.get(position), views.get(position)) else {
                return Err(raise("InvalidInputError", "there are more ranges than values or views"));
            };
            let value = Arc::new(ChunkValue::new(value)?);
            placements.push(Placement { value, view: View::destination(view)?, ranges });
        }
        let placed: Vec<_> = detached(py, || {
            self.pool.install(|| placements.into_par_iter().map(|placement| self.place(&placement)).collect())
        })?;
        let list = PyList::empty(py);
        for result in placed {
            match result {
                Ok(exists) => list.append(exists)?,
                Err(error) => list.append(error.into_value(py))?,
            }
        }
        Ok(list)
    }

    /// Returns whether [`ChunkCoder::read_parts`] reads elements of this type. It does not if one element may have
    /// several stored forms.
    #[getter]
    fn reads_parts(&self) -> bool {
        let data_type = self.array.data_type();
        data_type.elements().size().is_some() && !data_type.settles()
    }

    /// Reads parts of files in `folder` into `memory`, in the form that zarr-python uses; see [`Batch`]. A result is
    /// whether the file exists, or `None` if the part is not a box and was not read.
    fn read_parts<'py>(
        &self,
        folder: &str,
        batch: &Bound<'py, PyList>,
        memory: CallerMemory<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let py = batch.py();
        let files = open_folder(&self.array, folder)?;
        let view = View::destination(&memory.memory)?;
        let mut results: Vec<Option<bool>> = vec![None; batch.len()];
        let parts = Batch { items: batch, memory: &memory, view: &view };
        parts.each_group(&self.shape, |parts: Vec<FilePart>| {
            let read = detached(py, || self.chunks().read(&files, &parts, &view))?;
            for (position, exists) in read.map_err(|error| part_exception(batch, &error))? {
                if let Some(result) = results.get_mut(position) {
                    *result = Some(exists);
                }
            }
            Ok(())
        })?;
        PyList::new(py, results)
    }

    /// Writes parts of `memory` to files in `folder`, or erases files whose chunks hold only the fill value. The
    /// arguments are those of [`ChunkCoder::read_parts`]. A result is true, or `None` if the part was not written
    /// because it is not a box or the folder does not accept the file.
    fn write_parts<'py>(
        &self,
        folder: &str,
        batch: &Bound<'py, PyList>,
        memory: CallerMemory<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let py = batch.py();
        let files = open_folder(&self.array, folder)?;
        let view = View::source(&memory.memory)?;
        let mut results: Vec<Option<bool>> = vec![None; batch.len()];
        let parts = Batch { items: batch, memory: &memory, view: &view };
        let chunks = self.chunks();
        let source = chunks.source(&memory, &view).map_err(|error| exception(&error))?;
        parts.each_group(&self.shape, |parts: Vec<FilePart>| {
            let write = |part: &FilePart| chunks.write(&*files, part, &view, source);
            let written: Vec<_> =
                detached(py, || self.pool.install(|| parts.par_iter().map(write).collect()))?;
            for (part, written) in parts.iter().zip(written) {
                let is_written: bool = written.map_err(|error| part_exception(batch, &error))?;
                if let Some(result) = results.get_mut(part.position) {
                    *result = is_written.then_some(true);
                }
            }
            Ok(())
        })?;
        PyList::new(py, results)
    }

    /// Returns the chunks in `folder`, for a write that this class does not make itself.
    fn files_in(&self, folder: &str) -> PyResult<ChunkFiles> {
        open_folder(&self.array, folder).map(ChunkFiles::new)
    }

    /// Encodes whole chunks: arrays of any strides, or lists of elements of a variable size. A result is bytes, `None`
    /// if the chunk should not be stored, or an exception.
    fn encode<'py>(&self, py: Python<'py>, chunks: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let chunks = chunks.iter().map(Decoded::new).collect::<PyResult<Vec<_>>>()?;
        let encode = |chunk: &Decoded| match chunk {
            Decoded::View(view) => Ok(self.array.encode_chunk(&self.index(), &view.gather()?)),
            Decoded::Elements(elements) => Ok(self.array.encode_chunk(&self.index(), elements)),
        };
        let encoded: Vec<PyResult<_>> =
            detached(py, || self.pool.install(|| chunks.par_iter().map(encode).collect()))?;
        let list = PyList::empty(py);
        for result in encoded {
            match result? {
                Ok(None) => list.append(py.None())?,
                Ok(Some(bytes)) => list.append(PyBytes::new(py, &bytes))?,
                Err(error) => list.append(exception(&error).into_value(py))?,
            }
        }
        Ok(list)
    }
}

impl ChunkCoder {
    /// Returns the index of the first chunk.
    fn index(&self) -> Vec<u64> {
        vec![0; self.shape.len()]
    }

    fn chunks(&self) -> Chunks<'_> {
        Chunks { array: &self.array, shape: &self.shape, is_sharded: self.is_sharded }
    }

    fn decode_value(&self, value: &ChunkValue) -> Result<Option<ElementArray>, Error> {
        let Some(loaded) = value.load()? else { return Ok(None) };
        self.array.decode_chunk(&self.index(), Some(loaded.bytes())).map(Some)
    }

    /// Decodes the part of a chunk into its memory. Returns whether the chunk exists.
    fn place(&self, placement: &Placement) -> PyResult<bool> {
        let Placement { value, view, ranges } = placement;
        let is_whole = ranges.iter().zip(&self.shape).all(|(range, length)| *range == (0, *length));
        let is_part_of_shard = self.is_sharded && !is_whole;
        let elements =
            if is_part_of_shard { self.read_part(value, ranges) } else { self.decode_value(value) };
        let Some(mut elements) = elements.map_err(|error| exception(&error))? else { return Ok(false) };
        let shape = lengths(elements.shape().iter().copied())?;
        let first = lengths(ranges.iter().map(|range| if is_part_of_shard { 0 } else { range.0 }))?;
        view.scatter(elements.bytes_mut(), &shape, &first)?;
        Ok(true)
    }

    fn read_part(
        &self,
        value: &Arc<ChunkValue>,
        ranges: &[(u64, u64)],
    ) -> Result<Option<ElementArray>, Error> {
        if !value.exists()? {
            return Ok(None);
        }
        let store: Arc<dyn Store> = Arc::<ChunkValue>::clone(value);
        let ranges =
            ranges.iter().map(|range| DimensionSelection::Range { start: range.0, stop: range.1, step: 1 });
        self.array.with_store(store)?.read(Selection::Orthogonal(ranges.collect())).map(Some)
    }
}

/// Returns the exception for a part. The exception names the file of the part.
fn part_exception(batch: &Bound<'_, PyList>, error: &PartError) -> PyErr {
    let PartError { position, error } = error;
    let path = batch.get_item(*position).and_then(|item| item.get_item(0)).and_then(|path| path.str());
    exception_at(&path.map_or_else(|_| String::new(), |path| path.to_string()), error)
}

fn document_key(format: Format) -> Result<Key, Error> {
    let name = if format == Format::V2 { ".zarray" } else { "zarr.json" };
    Key::new(name).map_err(|error| StoreError::from(error).into())
}

fn lengths(values: impl Iterator<Item = u64>) -> PyResult<Vec<usize>> {
    let lengths: Result<Vec<usize>, _> = values.map(usize::try_from).collect();
    lengths.map_err(|error| raise("OutOfMemoryError", &error.to_string()))
}

/// Returns a buffer of elements of a fixed size, or of strings, or a list of `bytes`.
fn elements_for_python<'py>(py: Python<'py>, elements: ElementArray) -> PyResult<Bound<'py, PyAny>> {
    if elements.data_type().name() == "string" {
        return Ok(Bound::new(py, StringBuffer::new(elements))?.into_any());
    }
    if elements.data_type().elements() == zarr_kit::spec::Elements::Variable {
        let list = PyList::empty(py);
        elements.iter().try_for_each(|element| list.append(PyBytes::new(py, element)))?;
        return Ok(list.into_any());
    }
    Ok(Bound::new(py, ElementBuffer::new(elements)?)?.into_any())
}
