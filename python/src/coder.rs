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
use crate::chunk_value::ChunkValue;
use crate::context::{ContextOptions, check_process, context, thread_pool};
use crate::creation::format_named;
use crate::data_type::description;
use crate::elements::ElementBuffer;
use crate::failure::{exception, raise};
use crate::strided::View;

/// Decodes and encodes chunks of one shape, without access to their store. Results and failures of single chunks are in
/// the returned lists, in the order of the arguments.
#[pyclass(frozen, name = "ChunkCoder", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ChunkCoder {
    /// The array of one chunk.
    array: Array,
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

#[pymethods]
impl ChunkCoder {
    /// Opens the metadata document of an array of one chunk.
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
            Ok(Self { array, is_sharded, pool, process: process::id() })
        })?;
        opened.map_err(|error| exception(&error))
    }

    /// Returns the data type as a dictionary.
    #[getter]
    fn data_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        description(py, &**self.array.data_type())
    }

    /// Returns the data type as a dictionary, the shape and the bytes of the fill value after the first codec, or `None`
    /// if it produces bytes.
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

    /// Decodes parts of chunks into `views`, which have the size of the parts. A result is whether the value exists, or an
    /// exception. The views of missing values do not change.
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

    /// Encodes whole chunks of any strides. A result is bytes, `None` if the chunk should not be stored, or an exception.
    fn encode<'py>(&self, py: Python<'py>, chunks: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyList>> {
        check_process(self.process)?;
        let views = chunks.iter().map(View::source).collect::<PyResult<Vec<_>>>()?;
        let encode = |view: &View| self.array.encode_chunk(&self.index(), &view.gather());
        let encoded: Vec<_> = detached(py, || self.pool.install(|| views.par_iter().map(encode).collect()))?;
        let list = PyList::empty(py);
        for result in encoded {
            match result {
                Ok(None) => list.append(py.None())?,
                Ok(Some(bytes)) => list.append(PyBytes::new(py, &bytes))?,
                Err(error) => list.append(exception(&error).into_value(py))?,
            }
        }
        Ok(list)
    }
}

impl ChunkCoder {
    /// Returns the index of the only chunk.
    fn index(&self) -> Vec<u64> {
        vec![0; self.array.shape().len()]
    }

    fn decode_value(&self, value: &ChunkValue) -> Result<Option<ElementArray>, Error> {
        let Some(loaded) = value.load()? else { return Ok(None) };
        self.array.decode_chunk(&self.index(), Some(loaded.bytes())).map(Some)
    }

    /// Returns whether the value exists.
    fn place(&self, placement: &Placement) -> PyResult<bool> {
        let Placement { value, view, ranges } = placement;
        let is_whole = ranges.iter().zip(self.array.shape()).all(|(range, length)| *range == (0, *length));
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

fn document_key(format: Format) -> Result<Key, Error> {
    let name = if format == Format::V2 { ".zarray" } else { "zarr.json" };
    Key::new(name).map_err(|error| StoreError::from(error).into())
}

fn lengths(values: impl Iterator<Item = u64>) -> PyResult<Vec<usize>> {
    let lengths: Result<Vec<usize>, _> = values.map(usize::try_from).collect();
    lengths.map_err(|error| raise("OutOfMemoryError", &error.to_string()))
}

/// Returns a buffer of elements of a fixed size, or a list of `str` or `bytes`.
fn elements_for_python<'py>(py: Python<'py>, elements: ElementArray) -> PyResult<Bound<'py, PyAny>> {
    if elements.data_type().name() == "string" {
        let texts = elements.strings().map_err(|error| exception(&error))?;
        return Ok(PyList::new(py, texts)?.into_any());
    }
    if elements.data_type().elements() == zarr_kit::spec::Elements::Variable {
        let list = PyList::empty(py);
        elements.iter().try_for_each(|element| list.append(PyBytes::new(py, element)))?;
        return Ok(list.into_any());
    }
    Ok(Bound::new(py, ElementBuffer::new(elements)?)?.into_any())
}
