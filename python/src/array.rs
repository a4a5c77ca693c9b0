//! Arrays: their elements and metadata.

use std::sync::{Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use zarr_kit::spec::{DataType, Elements};
use zarr_kit::{Array, Error, Selection};

use crate::context::check_process;
use crate::data_type::description;
use crate::elements::{Destination, ElementBuffer, Source};
use crate::failure::exception;
use crate::hierarchy::AttributeChange;
use crate::json;
use crate::progress::ProgressHandle;
use crate::selection::{element_index, selection};

/// An array of a hierarchy.
#[pyclass(frozen, name = "Array", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ArrayHandle {
    current: RwLock<Array>,
    /// Locked by calls that replace `current`, so that none of them is lost.
    changing: Mutex<()>,
    process: u32,
}

#[pymethods]
impl ArrayHandle {
    /// Returns a handle for reading and writing, whose calls count their chunks in `progress` and can be cancelled.
    fn with_progress(&self, progress: &ProgressHandle) -> Self {
        Self::new(self.current().with_progress(&progress.0), self.process)
    }

    /// Returns the path of the node.
    #[getter]
    fn path(&self) -> String {
        self.current().path().to_string()
    }

    /// Returns the number of elements per dimension.
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.current().shape().to_vec()
    }

    /// Returns the shape of the largest chunk, or of the largest shard of a sharded array.
    #[getter]
    fn chunk_shape(&self) -> Vec<u64> {
        self.current().chunk_grid().largest_chunk()
    }

    /// Returns the number of chunks per dimension.
    #[getter]
    fn grid_shape(&self) -> Vec<u64> {
        self.current().chunk_grid().grid_shape().to_vec()
    }

    /// Returns one name or `None` per dimension, if there are names.
    #[getter]
    fn dimension_names(&self) -> Option<Vec<Option<String>>> {
        self.current().dimension_names().map(<[_]>::to_vec)
    }

    /// Returns the attributes as a JSON text.
    #[getter]
    fn attributes(&self) -> String {
        json::text(self.current().attributes())
    }

    /// Returns the data type as a dictionary.
    #[getter]
    fn data_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        description(py, &**self.current().data_type())
    }

    /// Returns the fill value as an element, or `None` if it is undefined.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let array = self.current();
        (!array.fill_is_undefined()).then(|| PyBytes::new(py, array.fill_value().bytes()))
    }

    /// Returns the identifiers of the codecs, and their configurations as JSON texts.
    #[getter]
    fn codecs(&self) -> Vec<(String, String)> {
        let array = self.current();
        let codecs = array.metadata().codecs.iter();
        codecs.map(|codec| (codec.identifier.clone(), codec.configuration.to_string())).collect()
    }

    /// Returns whether the last codec is the `compressor` of v2.
    #[getter]
    fn has_compressor(&self) -> bool {
        self.current().metadata().has_compressor
    }

    /// Returns the shape of an inner chunk, or `None` if the array is not sharded.
    fn inner_chunk_shape(&self, py: Python<'_>) -> PyResult<Option<Vec<u64>>> {
        self.run(py, Array::inner_chunk_shape)
    }

    /// Returns the range of elements of a chunk per dimension: the first one and the end.
    fn chunk_ranges(&self, py: Python<'_>, index: Vec<u64>) -> PyResult<Vec<(u64, u64)>> {
        let subset = self.run(py, |array| array.chunk_subset(&index))?;
        Ok(subset.ranges().iter().map(|range| (range.start, range.end)).collect())
    }

    /// Returns the number of stored chunks.
    fn stored_chunk_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.run(py, Array::stored_chunks)?.len())
    }

    /// Reads elements of a fixed size.
    fn read(&self, py: Python<'_>, entries: &Bound<'_, PyAny>) -> PyResult<ElementBuffer> {
        let selection = selection(entries)?;
        ElementBuffer::new(self.run(py, |array| array.read(selection))?)
    }

    /// Reads one element of a fixed size. Returns `None` if `key` is not one valid integer per dimension.
    fn read_element<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let array = self.current();
        let Elements::Fixed { size, .. } = array.data_type().elements() else { return Ok(None) };
        let Some(index) = element_index(key, array.shape()) else { return Ok(None) };
        check_process(self.process)?;
        let read = |bytes: &mut [u8]| {
            py.detach(|| array.read_into(Selection::Orthogonal(index), bytes))
                .map_err(|error| exception(&error))
        };
        PyBytes::new_with(py, size, read).map(Some)
    }

    /// Reads many selections of elements of a fixed size. A chunk that several of them need is decoded only once.
    fn read_many(&self, py: Python<'_>, selections: &Bound<'_, PyList>) -> PyResult<Vec<ElementBuffer>> {
        let selections =
            selections.iter().map(|entries| selection(&entries)).collect::<PyResult<Vec<_>>>()?;
        let arrays = self.run(py, |array| array.read_many(&selections))?;
        arrays.into_iter().map(ElementBuffer::new).collect()
    }

    /// Reads elements of a fixed size into `destination`, which has their size.
    fn read_into(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let selection = selection(entries)?;
        let mut destination = Destination::new(destination)?;
        self.run(py, |array| array.read_into(selection, destination.bytes_mut()))
    }

    /// Reads elements of a variable size: text as `str`, others as `bytes`, and missing ones as `None`.
    fn read_list<'py>(&self, py: Python<'py>, entries: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let selection = selection(entries)?;
        let elements = self.run(py, |array| array.read(selection))?;
        let data_type = elements.data_type();
        let list = PyList::empty(py);
        if data_type.name() == "string" {
            let texts = elements.strings().map_err(|error| exception(&error))?;
            return PyList::new(py, texts);
        }
        for element in elements.iter() {
            match (data_type.optional(), element.split_first()) {
                (None, _) => list.append(PyBytes::new(py, element))?,
                (Some(_), Some((_present, element))) => list.append(PyBytes::new(py, element))?,
                (Some(_), None) => list.append(py.None())?,
            }
        }
        Ok(list)
    }

    /// Writes elements of a fixed size.
    fn write(&self, py: Python<'_>, entries: &Bound<'_, PyAny>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let selection = selection(entries)?;
        let source = Source::new(source)?;
        self.run(py, |array| array.write(selection, source.bytes()))
    }

    /// Writes elements of a variable size: `str`, `bytes`, or `None` for missing ones.
    fn write_list(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let selection = selection(entries)?;
        let elements = self.variable_elements(elements)?;
        self.run(py, |array| array.write(selection, &elements))
    }

    /// Changes the shape.
    fn resize(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        self.change(py, |array| array.resize(&shape))
    }

    /// Appends elements of a fixed size along `dimension`.
    fn append(&self, py: Python<'_>, dimension: usize, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = Source::new(source)?;
        self.change(py, |array| array.append(dimension, source.bytes()))
    }

    /// Appends elements of a variable size along `dimension`.
    fn append_list(&self, py: Python<'_>, dimension: usize, elements: &Bound<'_, PyList>) -> PyResult<()> {
        let elements = self.variable_elements(elements)?;
        self.change(py, |array| array.append(dimension, &elements))
    }

    /// Stores changed attributes, as `Hierarchy.update_group_attributes` does.
    fn update_attributes(
        &self,
        py: Python<'_>,
        changed: &str,
        removed: Vec<String>,
        replace: bool,
    ) -> PyResult<()> {
        let change = AttributeChange { changed: json::object(changed)?, removed, replace };
        self.change(py, |array| array.update_attributes(|attributes| change.apply(attributes)))
    }
}

impl ArrayHandle {
    pub(crate) fn new(array: Array, process: u32) -> Self {
        Self { current: RwLock::new(array), changing: Mutex::new(()), process }
    }

    fn current(&self) -> Array {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs `work` without the global interpreter lock.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Array) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        check_process(self.process)?;
        let array = self.current();
        py.detach(|| work(&array)).map_err(|error| exception(&error))
    }

    /// Runs `work`, which changes the array, without the global interpreter lock.
    fn change(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Array) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        check_process(self.process)?;
        let changed = py.detach(|| {
            let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut array = self.current();
            let result = work(&mut array);
            // A failed call may have changed the array, too.
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = array;
            result
        });
        changed.map_err(|error| exception(&error))
    }

    /// Returns the offsets and the payload of elements of a variable size.
    fn variable_elements(&self, elements: &Bound<'_, PyList>) -> PyResult<Vec<u8>> {
        let is_optional = is_optional(&**self.current().data_type());
        let mut offsets = Vec::with_capacity((elements.len() + 1) * size_of::<u64>());
        let mut payload = Vec::new();
        offsets.extend_from_slice(&0_u64.to_ne_bytes());
        for element in elements.iter() {
            if !element.is_none() {
                payload.extend(is_optional.then_some(1));
                append_element(&element, &mut payload)?;
            }
            offsets.extend_from_slice(&(payload.len() as u64).to_ne_bytes());
        }
        offsets.append(&mut payload);
        Ok(offsets)
    }
}

fn is_optional(data_type: &dyn DataType) -> bool {
    data_type.elements() == Elements::Variable && data_type.optional().is_some()
}

fn append_element(element: &Bound<'_, PyAny>, payload: &mut Vec<u8>) -> PyResult<()> {
    match element.cast::<PyString>() {
        Ok(text) => payload.extend_from_slice(text.to_cow()?.as_bytes()),
        Err(_) => payload.extend_from_slice(element.cast::<PyBytes>()?.as_bytes()),
    }
    Ok(())
}
