//! Decoded elements as Python buffers, and access to the memory of Python objects.
#![expect(unsafe_code, reason = "the buffer protocol passes addresses")]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use zarr_kit::ElementArray;

use crate::calls::detached;
use crate::failure::raise;
use crate::strings::StringArray;

/// Elements that were read. NumPy accesses them through the buffer protocol, without a copy.
#[pyclass(frozen, module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ElementBuffer {
    start: NonNull<u8>,
    size: ffi::Py_ssize_t,
    /// Owns the memory, and is never used otherwise.
    _elements: ElementArray,
}

// SAFETY: the buffer owns the memory at `start`, as a `Box<[u8]>` does, and passes its address only to Python, whose
// rules for shared memory are those of NumPy.
unsafe impl Send for ElementBuffer {}
// SAFETY: a shared buffer gives only Python access to the memory, as for `Send`, and its fields do not change.
unsafe impl Sync for ElementBuffer {}

impl ElementBuffer {
    /// Wraps elements of a fixed size.
    pub(crate) fn new(mut elements: ElementArray) -> PyResult<Self> {
        let bytes = elements.bytes_mut();
        let size = ffi::Py_ssize_t::try_from(bytes.len())
            .map_err(|error| PyBufferError::new_err(error.to_string()))?;
        // A slice always has an address.
        let start = NonNull::from(bytes).cast();
        Ok(Self { start, size, _elements: elements })
    }
}

#[pymethods]
impl ElementBuffer {
    /// Fills in a view of all bytes, which may be written to.
    ///
    /// # Safety
    ///
    /// As for `bf_getbuffer` of the C API, which is the only caller.
    unsafe fn __getbuffer__(slf: PyRef<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let start = slf.start.as_ptr().cast::<c_void>();
        // SAFETY: Python passes a valid `view`. The memory lives as long as this object, to which the view holds a
        // reference.
        let result = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, slf.size, 0, flags) };
        if result == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// The contiguous memory of a Python object, for reading.
pub(crate) struct Source(PyBuffer<u8>);

impl Source {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(object)?;
        if buffer.is_c_contiguous() { Ok(Self(buffer)) } else { Err(not_contiguous()) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, and its owner retains the memory until the buffer is released. If Python
        // code writes to it at the same time, the bytes that are read are unspecified, as they are with NumPy.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}

/// Returns a copy of the contiguous memory of a Python object.
pub(crate) fn copy_bytes(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(Source::new(object)?.bytes().to_vec())
}

/// Returns the offsets and the payload of elements of a variable size: an array of strings of NumPy, or a list of `str`
/// or `bytes`. In a list of an optional type, `None` is a missing element; each other element is preceded by a byte
/// that marks it as present.
pub(crate) fn variable_elements(elements: &Bound<'_, PyAny>, is_optional: bool) -> PyResult<Vec<u8>> {
    if let Some(strings) = StringArray::of(elements)? {
        let collected = detached(elements.py(), move || strings.offsets_and_payload())?;
        return collected.map_err(|reason| raise("ElementsError", &reason));
    }
    let elements = elements.cast::<PyList>()?;
    let mut offsets = Vec::with_capacity((elements.len() + 1) * size_of::<u64>());
    let mut payload = Vec::new();
    offsets.extend_from_slice(&0_u64.to_ne_bytes());
    for element in elements.iter() {
        if !(is_optional && element.is_none()) {
            payload.extend(is_optional.then_some(1));
            append_element(&element, &mut payload)?;
        }
        offsets.extend_from_slice(&(payload.len() as u64).to_ne_bytes());
    }
    offsets.append(&mut payload);
    Ok(offsets)
}

fn append_element(element: &Bound<'_, PyAny>, payload: &mut Vec<u8>) -> PyResult<()> {
    if let Ok(text) = element.cast::<PyString>() {
        payload.extend_from_slice(text.to_cow()?.as_bytes());
    } else if let Ok(bytes) = element.cast::<PyBytes>() {
        payload.extend_from_slice(bytes.as_bytes());
    } else {
        let bytes = Source::new(element);
        let class = element.get_type();
        let unsuitable =
            |_| PyTypeError::new_err(format!("expected text or bytes, found an object of {class}"));
        payload.extend_from_slice(bytes.map_err(unsuitable)?.bytes());
    }
    Ok(())
}

/// The contiguous memory of a Python object, for writing.
pub(crate) struct Destination(PyBuffer<u8>);

impl Destination {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(object)?;
        if buffer.readonly() {
            return Err(PyBufferError::new_err("the memory to read into is read-only"));
        }
        if buffer.is_c_contiguous() { Ok(Self(buffer)) } else { Err(not_contiguous()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.0.len_bytes() == 0 {
            return &mut [];
        }
        // SAFETY: the buffer is contiguous and may be written to, and its owner retains the memory until the buffer is
        // released. If Python code uses the memory at the same time, the bytes are unspecified, as they are with NumPy.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}

fn not_contiguous() -> PyErr {
    PyBufferError::new_err("the memory is not contiguous")
}
