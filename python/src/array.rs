//! Arrays: their elements and metadata.

use std::sync::{Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zarr_kit::spec::{ByteOrder, DataType, Elements, Representation};
use zarr_kit::{Array, ElementArray, Error, Progress, Selection};

use crate::calls::{abandonable, cancellable, detached, handles_signals, watched};
use crate::context::check_process;
use crate::data_type::description;
use crate::elements::{Destination, ElementBuffer, Source, variable_elements};
use crate::failure::{exception, raise};
use crate::hierarchy::AttributeChange;
use crate::json;
use crate::progress::ProgressHandle;
use crate::selection::{element_index, is_remote, may_take_long, selection};
use crate::strings::StringBuffer;

/// An array of a hierarchy.
#[pyclass(frozen, name = "Array", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ArrayHandle {
    current: RwLock<Array>,
    /// Locked by calls that replace `current`, so that no change is lost.
    changing: Mutex<()>,
    process: u32,
    /// Counts the chunks of all calls; set by [`ArrayHandle::with_progress`].
    progress: Option<Counted>,
}

/// A counter of chunks, and the function that it is reported to.
#[derive(Debug)]
struct Counted {
    progress: Progress,
    report: Option<Py<PyAny>>,
}

#[pymethods]
impl ArrayHandle {
    /// Returns a handle for reading and writing, whose calls count their chunks in `progress` and can be cancelled.
    fn with_progress(&self, py: Python<'_>, progress: &ProgressHandle) -> Self {
        let counted = Counted::new(py, progress);
        let array = self.current().with_progress(&counted.progress);
        Self { progress: Some(counted), ..Self::new(array, self.process) }
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

    /// Returns whether elements are stored as big-endian numbers before their codecs, as a data type of v2 sets it.
    #[getter]
    fn is_big_endian(&self) -> bool {
        let array = self.current();
        let first = array.codecs().links().first().map(|link| &link.decoded);
        matches!(first, Some(Representation::Array(array)) if array.byte_order == ByteOrder::Big)
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
        check_process(self.process)?;
        let array = self.current();
        let count = move || array.stored_chunks().map(|chunks| chunks.len());
        let count = if handles_signals(py)? { abandonable(py, count)? } else { detached(py, count)? };
        count.map_err(|error| exception(&error))
    }

    /// Reads elements of a fixed size.
    fn read(&self, py: Python<'_>, entries: &Bound<'_, PyAny>) -> PyResult<ElementBuffer> {
        ElementBuffer::new(self.read_selection(py, selection(entries)?)?)
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
        if is_remote(&array) {
            let element = self.read_selection(py, Selection::Orthogonal(index))?;
            return Ok(Some(PyBytes::new(py, element.bytes())));
        }
        let read = |bytes: &mut [u8]| {
            self.run_long(py, false, |array| array.read_into(Selection::Orthogonal(index), bytes))
        };
        PyBytes::new_with(py, size, read).map(Some)
    }

    /// Reads many selections of elements of a fixed size. A chunk that several of them need is decoded only once.
    fn read_many(&self, py: Python<'_>, selections: &Bound<'_, PyList>) -> PyResult<Vec<ElementBuffer>> {
        self.read_each(py, selections)?.into_iter().map(ElementBuffer::new).collect()
    }

    /// Reads elements of a fixed size into `destination`, which has their size.
    ///
    /// A remote array of [`ArrayHandle::with_progress`] without a report is read into other memory first: a cancelled
    /// call does not wait for responses, and no thread may write to the memory of the caller afterwards.
    fn read_into(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let selection = selection(entries)?;
        let mut destination = Destination::new(destination)?;
        let is_silent = self.progress.as_ref().is_some_and(|counted| counted.report.is_none());
        if is_silent && is_remote(&self.current()) {
            let elements = self.read_selection(py, selection)?;
            let bytes = elements.bytes();
            return detached(py, || copy(bytes, destination.bytes_mut()))?;
        }
        let is_long = may_take_long(&self.current(), &selection);
        self.run_long(py, is_long, |array| array.read_into(selection, destination.bytes_mut()))
    }

    /// Reads elements of a variable size: text as strings, others as a list of `bytes`, and of `None` for missing ones.
    fn read_list<'py>(&self, py: Python<'py>, entries: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        variable_for_python(py, self.read_selection(py, selection(entries)?)?)
    }

    /// Reads many selections of elements of a variable size, as [`ArrayHandle::read_many`] and
    /// [`ArrayHandle::read_list`] do.
    fn read_many_lists<'py>(
        &self,
        py: Python<'py>,
        selections: &Bound<'py, PyList>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let arrays = self.read_each(py, selections)?;
        arrays.into_iter().map(|elements| variable_for_python(py, elements)).collect()
    }

    /// Writes elements of a fixed size.
    fn write(&self, py: Python<'_>, entries: &Bound<'_, PyAny>, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let selection = selection(entries)?;
        let source = Source::new(source)?;
        let is_long = may_take_long(&self.current(), &selection);
        self.run_long(py, is_long, |array| array.write(selection, source.bytes()))
    }

    /// Writes elements of a variable size: an array of strings, or a list of `str`, `bytes`, or `None` for missing
    /// ones.
    fn write_list(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let selection = selection(entries)?;
        let elements = self.variable_elements(elements)?;
        let is_long = may_take_long(&self.current(), &selection);
        self.run_long(py, is_long, |array| array.write(selection, &elements))
    }

    /// Changes the shape.
    fn resize(&self, py: Python<'_>, shape: Vec<u64>, progress: &ProgressHandle) -> PyResult<()> {
        self.change(py, progress, |array| array.resize(&shape))
    }

    /// Appends elements of a fixed size along `dimension`.
    fn append(
        &self,
        py: Python<'_>,
        dimension: usize,
        source: &Bound<'_, PyAny>,
        progress: &ProgressHandle,
    ) -> PyResult<()> {
        let source = Source::new(source)?;
        self.change(py, progress, |array| array.append(dimension, source.bytes()))
    }

    /// Appends elements of a variable size along `dimension`.
    fn append_list(
        &self,
        py: Python<'_>,
        dimension: usize,
        elements: &Bound<'_, PyAny>,
        progress: &ProgressHandle,
    ) -> PyResult<()> {
        let elements = self.variable_elements(elements)?;
        self.change(py, progress, |array| array.append(dimension, &elements))
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
        let progress = ProgressHandle::silent();
        self.change(py, &progress, |array| array.update_attributes(|attributes| change.apply(attributes)))
    }
}

impl ArrayHandle {
    pub(crate) fn new(array: Array, process: u32) -> Self {
        Self { current: RwLock::new(array), changing: Mutex::new(()), process, progress: None }
    }

    fn current(&self) -> Array {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read_each(&self, py: Python<'_>, selections: &Bound<'_, PyList>) -> PyResult<Vec<ElementArray>> {
        let selections =
            selections.iter().map(|entries| selection(&entries)).collect::<PyResult<Vec<_>>>()?;
        let array = self.current();
        let is_long = selections.len() > 1 || selections.iter().any(|one| may_take_long(&array, one));
        self.read_long(py, is_long, move |array| array.read_many(&selections))
    }

    fn read_selection(&self, py: Python<'_>, selection: Selection) -> PyResult<ElementArray> {
        let is_long = may_take_long(&self.current(), &selection);
        self.read_long(py, is_long, move |array| array.read(selection))
    }

    /// Runs `work` without the global interpreter lock.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Array) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        check_process(self.process)?;
        let array = self.current();
        detached(py, || work(&array))?.map_err(|error| exception(&error))
    }

    /// Runs `work` as [`ArrayHandle::run`] does. If it takes long, signals are handled meanwhile.
    fn run_long<T: Send>(
        &self,
        py: Python<'_>,
        is_long: bool,
        work: impl FnOnce(&Array) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let report = self.progress.as_ref().and_then(|counted| counted.report.as_ref());
        if report.is_none() && !(is_long && handles_signals(py)?) {
            return self.run(py, work);
        }
        check_process(self.process)?;
        let (array, progress) = self.counting();
        watched(py, &progress, report, || work(&array))?.map_err(|error| exception(&error))
    }

    /// Runs `work`, which reads into memory that it returns, as [`ArrayHandle::run_long`] does. If the array is remote, a
    /// cancelled call does not wait for responses.
    fn read_long<T: Send + 'static>(
        &self,
        py: Python<'_>,
        is_long: bool,
        work: impl FnOnce(&Array) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let may_be_cancelled = self.progress.is_some() || handles_signals(py)?;
        if !may_be_cancelled || !is_remote(&self.current()) {
            return self.run_long(py, is_long, work);
        }
        check_process(self.process)?;
        let report = self.progress.as_ref().and_then(|counted| counted.report.as_ref());
        let (array, progress) = self.counting();
        cancellable(py, &progress, report, move || work(&array))?.map_err(|error| exception(&error))
    }

    /// Returns the array and the counter of its calls, which can cancel them.
    fn counting(&self) -> (Array, Progress) {
        let array = self.current();
        match &self.progress {
            Some(counted) => (array, counted.progress.clone()),
            None => {
                let new = Progress::new();
                (array.with_progress(&new), new)
            }
        }
    }

    /// Runs `work`, which changes the array, as [`ArrayHandle::run_long`] does.
    fn change(
        &self,
        py: Python<'_>,
        progress: &ProgressHandle,
        work: impl FnOnce(&mut Array) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        check_process(self.process)?;
        let change = || {
            let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut array = self.current().with_progress(&progress.progress);
            let result = work(&mut array);
            // A failed call may have changed the array, too, so the handle gets the changed array in any case. The
            // progress of this call may be cancelled, so the array gets the progress of the handle again.
            let own = self.progress.as_ref().map_or_else(Progress::new, |counted| counted.progress.clone());
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = array.with_progress(&own);
            result
        };
        let changed = match handles_signals(py)? || progress.report.is_some() {
            true => watched(py, &progress.progress, progress.report.as_ref(), change)?,
            false => detached(py, change)?,
        };
        changed.map_err(|error| exception(&error))
    }

    /// Returns the offsets and the payload of elements of a variable size.
    fn variable_elements(&self, elements: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
        variable_elements(elements, is_optional(&**self.current().data_type()))
    }
}

impl Counted {
    fn new(py: Python<'_>, handle: &ProgressHandle) -> Self {
        let report = handle.report.as_ref().map(|report| report.clone_ref(py));
        Self { progress: handle.progress.clone(), report }
    }
}

/// Copies elements to the memory of a caller, which has their size.
fn copy(elements: &[u8], destination: &mut [u8]) -> PyResult<()> {
    if elements.len() != destination.len() {
        let [found, expected] = [destination.len(), elements.len()];
        let message = format!("the destination has {found} bytes, but the selection has {expected}");
        return Err(raise("ElementsError", &message));
    }
    destination.copy_from_slice(elements);
    Ok(())
}

/// Returns text as strings, and other elements of a variable size as a list of `bytes`, and of `None` for missing ones.
fn variable_for_python(py: Python<'_>, elements: ElementArray) -> PyResult<Bound<'_, PyAny>> {
    if elements.data_type().name() == "string" {
        return Ok(Bound::new(py, StringBuffer::new(elements))?.into_any());
    }
    let list = PyList::empty(py);
    for element in elements.iter() {
        match (elements.data_type().optional(), element.split_first()) {
            (None, _) => list.append(PyBytes::new(py, element))?,
            (Some(_), Some((_present, element))) => list.append(PyBytes::new(py, element))?,
            (Some(_), None) => list.append(py.None())?,
        }
    }
    Ok(list.into_any())
}

fn is_optional(data_type: &dyn DataType) -> bool {
    data_type.elements() == Elements::Variable && data_type.optional().is_some()
}
