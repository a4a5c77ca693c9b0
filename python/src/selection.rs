//! Selections from Python. Indices are already counted from the first element, and are within the array.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use zarr_kit::{DimensionSelection, Selection};

/// Converts a tuple with one entry per dimension, or a list with the coordinates of single elements.
///
/// An entry is an integer, a tuple `(start, stop, step)`, or a buffer of `uint64`.
pub(crate) fn selection(object: &Bound<'_, PyAny>) -> PyResult<Selection> {
    if let Ok(coordinates) = object.cast::<PyList>() {
        let lists = coordinates.iter().map(|list| indices(&list));
        return Ok(Selection::Coordinates(lists.collect::<PyResult<_>>()?));
    }
    let entries = object.cast::<PyTuple>()?;
    let entries = entries.iter().map(|entry| dimension(&entry));
    Ok(Selection::Orthogonal(entries.collect::<PyResult<_>>()?))
}

/// Converts the key of one element, with indices that may count from the end. Returns `None` for every other key.
pub(crate) fn element_index(key: &Bound<'_, PyAny>, shape: &[u64]) -> Option<Vec<DimensionSelection>> {
    if let Ok(parts) = key.cast_exact::<PyTuple>() {
        if parts.len() != shape.len() {
            return None;
        }
        let indices = parts.iter().zip(shape);
        return indices.map(|(part, length)| index(&part, *length)).collect();
    }
    match shape {
        [length] => Some(vec![index(key, *length)?]),
        _ => None,
    }
}

fn index(part: &Bound<'_, PyAny>, length: u64) -> Option<DimensionSelection> {
    // Exact, because `bool` is a subclass of `int`, and selects as a mask.
    let value: i64 = part.cast_exact::<PyInt>().ok()?.extract().ok()?;
    let index = match u64::try_from(value) {
        Ok(index) => index,
        Err(_) => length.checked_sub(value.unsigned_abs())?,
    };
    (index < length).then_some(DimensionSelection::Index(index))
}

fn dimension(entry: &Bound<'_, PyAny>) -> PyResult<DimensionSelection> {
    if entry.is_instance_of::<PyTuple>() {
        let range: [u64; 3] = entry.extract::<(u64, u64, u64)>().map(|range| [range.0, range.1, range.2])?;
        return Ok(DimensionSelection::Range { start: range[0], stop: range[1], step: range[2] });
    }
    if let Ok(index) = entry.extract::<u64>() {
        return Ok(DimensionSelection::Index(index));
    }
    Ok(DimensionSelection::List(indices(entry)?))
}

fn indices(list: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    PyBuffer::<u64>::get(list)?.to_vec(list.py())
}
