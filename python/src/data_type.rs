//! Data types as Python dictionaries, which `zarr_kit` converts to NumPy data types.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use zarr_kit::spec::{DataType, Elements};

/// Describes a data type: `name`, `size` in bytes or `None`, `fields` or `None`, and `optional`, the type of present
/// elements, or `None`.
pub(crate) fn description<'py>(py: Python<'py>, data_type: &dyn DataType) -> PyResult<Bound<'py, PyDict>> {
    let members = PyDict::new(py);
    members.set_item("name", data_type.name())?;
    members.set_item("size", size(data_type))?;
    let optional = data_type.optional().map(|present| description(py, &**present)).transpose()?;
    members.set_item("optional", optional)?;
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

fn size(data_type: &dyn DataType) -> Option<usize> {
    match data_type.elements() {
        Elements::Fixed { size, .. } => Some(size),
        Elements::Variable => None,
    }
}
