//! Data types as Python dictionaries, which `zarr_kit` converts to NumPy data types, and data types of documents.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zarr_kit::spec::data_type::{DataTypeDocument, DataTypeError, FillContext};
use zarr_kit::spec::host::chain;
use zarr_kit::spec::{ByteOrder, DataType, Elements, Reading, Value};
use zarr_kit::{Format, Mode};

use crate::context::{ContextOptions, context};
use crate::failure::raise;
use crate::json;

/// A data type of a document of v3.
#[pyclass(frozen, name = "DataType", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct DataTypeHandle {
    data_type: Arc<dyn DataType>,
    byte_order: ByteOrder,
}

#[pymethods]
impl DataTypeHandle {
    /// Creates the data type that the member `data_type` of a document, a JSON text, describes.
    #[staticmethod]
    fn open(document: &str) -> PyResult<Self> {
        let json = json::value(document)?;
        let member = |name| json.as_object().and_then(|object| object.get(name));
        let Some(identifier) = json.as_str().or_else(|| member("name")?.as_str()) else {
            return Err(raise("InvalidInputError", &format!("data type {json}: expected a name")));
        };
        let mut document = DataTypeDocument::named(identifier);
        document.configuration = member("configuration").cloned().unwrap_or(Value::Null);
        document.json = json.clone();
        let options = ContextOptions { is_strict: false, stores_empty_chunks: false, threads: Some(1) };
        let created =
            context(options)?.registry().data_type(Format::V3, &document, &Reading::new(Mode::Lenient));
        let (data_type, byte_order) = created.map_err(|error| failed(&error))?;
        Ok(Self { data_type, byte_order })
    }

    /// Returns the data type as a dictionary.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        description(py, &*self.data_type)
    }

    /// Returns the bytes of the element that new arrays are filled with, in native byte order.
    #[getter]
    fn default_fill_value<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.data_type.default_fill_value().bytes())
    }

    /// Returns the bytes of the element that the member `fill_value`, a JSON text, represents.
    fn fill_value<'py>(&self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let reading = Reading::new(Mode::Lenient);
        let context = FillContext::new(Format::V3, &reading).with_byte_order(&self.byte_order);
        let fill = self.data_type.fill_value(&json::value(text)?, &context);
        fill.map(|fill| PyBytes::new(py, fill.bytes())).map_err(|error| failed(&error))
    }

    /// Returns the member `fill_value` for the bytes of an element.
    fn fill_value_json(&self, element: &[u8]) -> PyResult<String> {
        let json = self.data_type.fill_value_json(element, Format::V3, &self.byte_order);
        json.map(|json| json.to_string()).map_err(|error| failed(&error))
    }
}

fn failed(error: &DataTypeError) -> PyErr {
    let class = match error {
        DataTypeError::Unknown(_) => "NotUnderstoodError",
        DataTypeError::FillValue(_) => "ElementsError",
        _ => "InvalidInputError",
    };
    raise(class, &error.to_string())
}

/// The data type of arrays of variable length, and its first name.
const RAGGED: [&str; 2] = ["ndarray", "vlen-ndarray"];

/// Describes a data type: `name`, `size` in bytes or `None`, `has_byte_order`, `fields` or `None`, `optional`, the type
/// of present elements, or `None`, and `items`, the type and the shape of the items of a list, or `None`.
pub(crate) fn description<'py>(py: Python<'py>, data_type: &dyn DataType) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(py);
    members.set_item("name", data_type.name())?;
    members.set_item("size", size(data_type))?;
    members.set_item("has_byte_order", has_byte_order(data_type))?;
    let optional = data_type.optional().map(|present| description(py, &**present)).transpose()?;
    members.set_item("optional", optional)?;
    members.set_item("items", items(py, data_type)?)?;
    let Some(fields) = data_type.fields() else {
        members.set_item("fields", py.None())?;
        return Ok(members);
    };
    let list = PyList::empty(py);
    for field in fields {
        let entry = PyDict::new(py);
        entry.set_item("name", &field.name)?;
        entry.set_item("offset", field.offset)?;
        entry.set_item("shape", &field.shape)?;
        entry.set_item("data_type", description(py, &*field.data_type)?)?;
        list.append(entry)?;
    }
    members.set_item("fields", list)?;
    Ok(members)
}

/// Describes the items of elements that are arrays of variable length: `data_type` and `shape`.
fn items<'py>(py: Python<'py>, data_type: &dyn DataType) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(document) = data_type.document(Format::V3, &ByteOrder::Little) else { return Ok(None) };
    let member = |name| document.configuration.as_object().and_then(|object| object.get(name));
    let Some(inner) = member("dtype").filter(|_| RAGGED.contains(&&*document.identifier)) else {
        return Ok(None);
    };
    // In `shape`, the first length is null, since it is variable.
    let shape =
        member("shape").or_else(|| member("inner_shape")).and_then(Value::as_array).unwrap_or_default();
    let entry = PyDict::new(py);
    entry.set_item("data_type", description(py, &*DataTypeHandle::open(&inner.to_string())?.data_type)?)?;
    entry.set_item("shape", shape.iter().filter_map(Value::as_u64).collect::<Vec<_>>())?;
    Ok(Some(entry))
}

fn has_byte_order(data_type: &dyn DataType) -> bool {
    match data_type.elements() {
        Elements::Fixed { units, .. } => chain::has_byte_order(&units),
        Elements::Variable => false,
    }
}

fn size(data_type: &dyn DataType) -> Option<usize> {
    match data_type.elements() {
        Elements::Fixed { size, .. } => Some(size),
        Elements::Variable => None,
    }
}
