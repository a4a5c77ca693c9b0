//! Selections from Python. Indices are already counted from the first element, and are within the array.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use zarr_kit::spec::Elements;
use zarr_kit::{Array, DimensionSelection, Selection};

/// Calls with fewer selected bytes, chunks and decoded bytes than these limits take at most some tenths of a second, so
/// that Ctrl-C seems to work at once. Longer calls run on another thread; starting it for a short call would take a
/// noticeable part of the time.
const MANY_SELECTED: u64 = 8 << 20;
const MANY_CHUNKS: u64 = 256;
const MANY_DECODED: u64 = 256 << 20;

/// The assumed size of an element of variable size.
const VARIABLE_SIZE: u64 = 64;

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
    // The cast is exact, because `bool` is a subclass of `int` but selects as a mask.
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

/// Returns whether reading or writing `selection` may take so long that signals have to be handled meanwhile.
pub(crate) fn may_take_long(array: &Array, selection: &Selection) -> bool {
    let element = match array.data_type().elements() {
        Elements::Fixed { size, .. } => size as u64,
        Elements::Variable => VARIABLE_SIZE,
    };
    // Of a shard, only the inner chunks with selected elements are decoded.
    let inner = array.inner_chunk_shape().ok().flatten();
    let chunk = inner.unwrap_or_else(|| array.chunk_grid().largest_chunk());
    let mut elements = element;
    let mut chunks = 1_u64;
    match selection {
        Selection::Orthogonal(along) => {
            for (along, length) in along.iter().zip(&chunk) {
                let (count, touched) = extent(along, *length);
                elements = elements.saturating_mul(count);
                chunks = chunks.saturating_mul(touched);
            }
        }
        Selection::Coordinates(lists) => {
            chunks = lists.first().map_or(1, |list| list.len() as u64);
            elements = elements.saturating_mul(chunks);
        }
        // This module does not create other kinds of selections.
        _ => return true,
    }
    let decoded =
        chunk.iter().fold(element.saturating_mul(chunks), |size, length| size.saturating_mul(*length));
    is_remote(array) || elements >= MANY_SELECTED || chunks >= MANY_CHUNKS || decoded >= MANY_DECODED
}

/// Returns whether calls usually wait for requests.
pub(crate) fn is_remote(array: &Array) -> bool {
    array.hierarchy().store().read_hints().max_concurrency > 0
}

/// Returns the number of selected elements along a dimension, and an upper bound of the number of chunks that contain
/// them. Chunks have `length` elements along the dimension.
fn extent(along: &DimensionSelection, length: u64) -> (u64, u64) {
    let length = length.max(1);
    match along {
        DimensionSelection::Index(_) => (1, 1),
        DimensionSelection::Range { start, stop, step } => {
            let count = stop.saturating_sub(*start).div_ceil((*step).max(1));
            let spanned = (stop.saturating_sub(1) / length).saturating_sub(start / length) + 1;
            (count, spanned.min(count))
        }
        DimensionSelection::List(list) => (list.len() as u64, list.len() as u64),
    }
}
