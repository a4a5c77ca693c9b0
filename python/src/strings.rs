//! Arrays of strings of NumPy (`StringDType`). Only the C API of NumPy accesses their memory.
#![expect(unsafe_code, reason = "the C API of NumPy is a table of functions")]

use std::ffi::{c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::{ptr, slice, str};

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};
use zarr_kit::ElementArray;

use crate::calls::detached;
use crate::failure::exception;

/// The version of the binary interface of NumPy 2, `NPY_ABI_VERSION`.
const ABI: c_uint = 0x0200_0000;

/// The positions in the table of functions, which never change within one version of the interface.
const GET_ABI: usize = 0;
const LOAD: usize = 313;
const PACK: usize = 314;
const ACQUIRE: usize = 316;
const RELEASE: usize = 318;

/// `npy_packed_static_string`: a short string, or the place of a long one.
#[repr(C)]
struct Packed([usize; 2]);

/// `npy_static_string`: a string that is valid while the allocator is locked.
#[repr(C)]
struct Unpacked {
    size: usize,
    start: *const u8,
}

/// `npy_string_allocator`.
#[repr(C)]
struct Allocator {
    _opaque: [u8; 0],
}

type GetAbi = unsafe extern "C" fn() -> c_uint;
type Load = unsafe extern "C" fn(*mut Allocator, *const Packed, *mut Unpacked) -> c_int;
type Pack = unsafe extern "C" fn(*mut Allocator, *mut Packed, *const u8, usize) -> c_int;
type Acquire = unsafe extern "C" fn(*const c_void) -> *mut Allocator;
type Release = unsafe extern "C" fn(*mut Allocator);

/// The functions of NumPy for strings.
#[derive(Clone, Copy)]
struct Functions {
    load: Load,
    pack: Pack,
    acquire: Acquire,
    release: Release,
}

impl Functions {
    fn get(py: Python<'_>) -> PyResult<Self> {
        static FUNCTIONS: PyOnceLock<Functions> = PyOnceLock::new();
        FUNCTIONS.get_or_try_init(py, || Self::find(py)).copied()
    }

    fn find(py: Python<'_>) -> PyResult<Self> {
        let table = py.import("numpy._core._multiarray_umath")?.getattr("_ARRAY_API")?;
        let table = table.cast::<PyCapsule>()?.pointer_checked(None)?.cast::<*const c_void>();
        // SAFETY: the capsule contains the table of NumPy, which lives as long as the process. Every version of NumPy
        // has the function at this position.
        let abi = unsafe { transmute::<*const c_void, GetAbi>(*table.add(GET_ABI).as_ptr())() };
        if abi != ABI {
            return Err(PyTypeError::new_err(format!(
                "NumPy has the binary interface {abi:#x}; this package needs {ABI:#x}, that of NumPy 2"
            )));
        }
        // SAFETY: with this interface, the table has functions of these types at these positions.
        Ok(unsafe {
            Self {
                load: transmute::<*const c_void, Load>(*table.add(LOAD).as_ptr()),
                pack: transmute::<*const c_void, Pack>(*table.add(PACK).as_ptr()),
                acquire: transmute::<*const c_void, Acquire>(*table.add(ACQUIRE).as_ptr()),
                release: transmute::<*const c_void, Release>(*table.add(RELEASE).as_ptr()),
            }
        })
    }
}

/// The memory of a contiguous array of strings, which is borrowed from the array.
pub(crate) struct StringArray<'a> {
    functions: Functions,
    /// The data type, which owns the allocator.
    descriptor: *const c_void,
    start: *mut Packed,
    count: usize,
    is_writable: bool,
    _array: PhantomData<&'a ()>,
}

// SAFETY: the functions of NumPy lock the allocator. The array holds references to its memory and its data type, and
// none of the functions needs the global interpreter lock.
unsafe impl Send for StringArray<'_> {}

impl<'a> StringArray<'a> {
    /// Returns `None` for an object that is not an array of strings.
    pub(crate) fn of(array: &'a Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = array.py();
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let Some(descriptor) = array.getattr_opt("dtype")? else { return Ok(None) };
        if !descriptor.is_instance(CLASS.import(py, "numpy.dtypes", "StringDType")?)? {
            return Ok(None);
        }
        if !array.getattr("flags")?.getattr("c_contiguous")?.is_truthy()? {
            return Err(PyValueError::new_err("the array of strings is not contiguous"));
        }
        let (address, is_read_only): (usize, bool) =
            array.getattr("__array_interface__")?.get_item("data")?.extract()?;
        Ok(Some(Self {
            functions: Functions::get(py)?,
            descriptor: descriptor.as_ptr().cast(),
            start: ptr::with_exposed_provenance_mut(address),
            count: array.getattr("size")?.extract()?,
            is_writable: !is_read_only,
            _array: PhantomData,
        }))
    }

    fn locked(&self) -> Locked<'_> {
        // SAFETY: `descriptor` is the `StringDType` of the array.
        Locked { array: self, allocator: unsafe { (self.functions.acquire)(self.descriptor) } }
    }

    /// Returns the offsets and the payload of the strings. An error describes a string that is missing or not text.
    pub(crate) fn offsets_and_payload(&self) -> Result<Vec<u8>, String> {
        let no_memory = |_| "there is not enough memory for the strings".to_owned();
        let locked = self.locked();
        let mut elements = Vec::new();
        elements.try_reserve_exact((self.count + 1) * OFFSET).map_err(no_memory)?;
        let mut size = 0;
        elements.extend_from_slice(&0_u64.to_ne_bytes());
        for position in 0..self.count {
            let text = locked.get(position).ok_or_else(|| format!("the string at {position} is missing"))?;
            size += text.len();
            elements.extend_from_slice(&(size as u64).to_ne_bytes());
        }
        // The sizes are known, so that the payload is copied only once.
        elements.try_reserve_exact(size).map_err(no_memory)?;
        for position in 0..self.count {
            elements.extend_from_slice(locked.get(position).unwrap_or_default());
        }
        check_text(&elements, self.count)?;
        Ok(elements)
    }
}

/// The size of an offset in bytes.
const OFFSET: usize = size_of::<u64>();

/// Checks that the payload of `count` strings, which follows their offsets, has the expected size, and that each string
/// is text.
fn check_text(elements: &[u8], count: usize) -> Result<(), String> {
    let (offsets, payload) = elements.split_at((count + 1) * OFFSET);
    let offset = |bytes: &[u8; OFFSET]| usize::try_from(u64::from_ne_bytes(*bytes)).unwrap_or(usize::MAX);
    let offsets = offsets.as_chunks().0.iter().map(offset);
    if offsets.clone().next_back() != Some(payload.len()) {
        return Err("the strings were changed while they were read".to_owned());
    }
    // Checking all strings together takes less time than checking each of them.
    if let Ok(text) = str::from_utf8(payload)
        && offsets.clone().all(|offset| text.is_char_boundary(offset))
    {
        return Ok(());
    }
    let ends = offsets.clone().skip(1);
    let mut strings = offsets.zip(ends).map(|(start, end)| str::from_utf8(&payload[start..end])).enumerate();
    match strings.find_map(|(position, text)| Some((position, text.err()?))) {
        Some((position, error)) => Err(format!("the string at {position} is not text: {error}")),
        None => Ok(()),
    }
}

/// The strings of an array whose allocator is locked.
struct Locked<'a> {
    array: &'a StringArray<'a>,
    allocator: *mut Allocator,
}

impl Locked<'_> {
    /// Returns `None` for a missing string.
    fn get(&self, position: usize) -> Option<&[u8]> {
        assert!(position < self.array.count, "the position is in the array");
        let mut text = Unpacked { size: 0, start: ptr::null() };
        // SAFETY: the element is in the array, and its allocator is locked.
        let result = unsafe {
            (self.array.functions.load)(self.allocator, self.array.start.add(position), &raw mut text)
        };
        match (result, text.size) {
            (0, 0) => Some(&[]),
            // SAFETY: NumPy returned the address and the size of a string, which are valid while the allocator is
            // locked.
            (0, size) => Some(unsafe { slice::from_raw_parts(text.start, size) }),
            _ => None,
        }
    }

    /// Replaces a string. Returns false if there is not enough memory.
    fn set(&mut self, position: usize, text: &str) -> bool {
        assert!(position < self.array.count, "the position is in the array");
        let functions = &self.array.functions;
        // SAFETY: the element is in the array, its allocator is locked, and NumPy copies the text.
        let result = unsafe {
            (functions.pack)(self.allocator, self.array.start.add(position), text.as_ptr(), text.len())
        };
        result == 0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: this object acquired the allocator.
        unsafe { (self.array.functions.release)(self.allocator) }
    }
}

/// Strings that were read.
#[pyclass(frozen, module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct StringBuffer(ElementArray);

impl StringBuffer {
    pub(crate) fn new(elements: ElementArray) -> Self {
        Self(elements)
    }
}

#[pymethods]
impl StringBuffer {
    fn __len__(&self) -> usize {
        self.0.iter().len()
    }

    /// Replaces all strings of a contiguous array.
    fn copy_to(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let strings = StringArray::of(array)?
            .filter(|strings| strings.is_writable && strings.count == self.0.iter().len())
            .ok_or_else(|| {
                PyTypeError::new_err("expected a writable array with the same number of strings")
            })?;
        let is_done = detached(py, move || {
            let texts = self.0.strings()?;
            let mut locked = strings.locked();
            Ok(texts.iter().enumerate().all(|(position, text)| locked.set(position, text)))
        })?;
        match is_done.map_err(|error| exception(&error))? {
            true => Ok(()),
            false => Err(PyMemoryError::new_err("there is not enough memory for the strings")),
        }
    }
}
