//! Memory of Python objects with any strides, such as a part of a NumPy array.
#![expect(unsafe_code, reason = "the buffer protocol passes addresses")]

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

/// The elements of a Python object, with any strides.
pub(crate) struct View(PyUntypedBuffer);

/// One dimension of a copy.
struct Axis {
    count: usize,
    /// The distance in bytes of two elements in the memory of the view.
    view_stride: isize,
    /// The distance in bytes of two elements in contiguous memory.
    stride: usize,
}

/// A copy between a view and contiguous memory.
struct Copy {
    /// Has at least one axis.
    axes: Vec<Axis>,
    /// The position of the first element in contiguous memory, in bytes.
    start: usize,
    element_size: usize,
}

impl View {
    /// Accesses the memory of `object` for reading.
    pub(crate) fn source(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if buffer.suboffsets().is_some() {
            return Err(PyBufferError::new_err("the memory has suboffsets"));
        }
        Ok(Self(buffer))
    }

    /// Accesses the memory of `object` for writing.
    pub(crate) fn destination(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let view = Self::source(object)?;
        if view.0.readonly() {
            return Err(PyBufferError::new_err("the memory to read into is read-only"));
        }
        Ok(view)
    }

    /// Returns the elements in C order.
    pub(crate) fn gather(&self) -> Vec<u8> {
        let size = self.0.len_bytes();
        let mut elements = vec![0; size];
        if size == 0 {
            return elements;
        }
        let copy = Copy::new(&self.0, self.0.shape(), 0);
        let start = self.0.buf_ptr().cast::<u8>();
        copy.each_row(|position, offset, length| {
            if let Some(row) = elements.get_mut(position..position.saturating_add(length)) {
                // SAFETY: the view has an element at each offset of its shape and strides, and `row` is other memory.
                unsafe { start.offset(offset).copy_to_nonoverlapping(row.as_mut_ptr(), length) };
            }
        });
        elements
    }

    /// Overwrites all elements with a part of `elements`, which have the shape `shape` in C order. The part starts at
    /// `first`.
    pub(crate) fn scatter(&self, elements: &[u8], shape: &[usize], first: &[usize]) -> PyResult<()> {
        self.check_part(elements.len(), shape, first)?;
        if self.0.len_bytes() == 0 {
            return Ok(());
        }
        let element_size = self.0.item_size();
        let mut start = 0;
        for (position, length) in first.iter().zip(shape) {
            start = start * length + position;
        }
        let copy = Copy::new(&self.0, shape, start * element_size);
        let memory = self.0.buf_ptr().cast::<u8>();
        copy.each_row(|position, offset, length| {
            if let Some(row) = elements.get(position..position.saturating_add(length)) {
                // SAFETY: the view has an element at each offset of its shape and strides, and may be written to. If
                // Python code accesses it at the same time, the bytes are unspecified, as they are with NumPy.
                unsafe { memory.offset(offset).copy_from_nonoverlapping(row.as_ptr(), length) };
            }
        });
        Ok(())
    }

    /// Checks that `elements` of the shape `shape` contain a part of the shape of this view at `first`.
    fn check_part(&self, size: usize, shape: &[usize], first: &[usize]) -> PyResult<()> {
        let counts = self.0.shape();
        let is_same_rank = shape.len() == counts.len() && first.len() == counts.len();
        let mut axes = shape.iter().zip(counts).zip(first);
        let is_inside = axes.all(|((length, count), first)| first.saturating_add(*count) <= *length);
        let expected = shape.iter().try_fold(self.0.item_size(), |size, length| size.checked_mul(*length));
        if is_same_rank && is_inside && expected == Some(size) {
            return Ok(());
        }
        Err(PyBufferError::new_err(format!(
            "{counts:?} elements at {first:?} are not a part of a chunk of {shape:?}"
        )))
    }
}

impl Copy {
    /// `shape` is the shape of the contiguous elements, which may be larger than the view.
    fn new(view: &PyUntypedBuffer, shape: &[usize], start: usize) -> Self {
        let element_size = view.item_size();
        let mut axes = Vec::with_capacity(shape.len().max(1));
        let mut stride = element_size;
        let counts = view.shape().iter().zip(view.strides());
        for ((&count, &view_stride), &length) in counts.zip(shape).rev() {
            axes.push(Axis { count, view_stride, stride });
            stride *= length;
        }
        if axes.is_empty() {
            axes.push(Axis { count: 1, view_stride: 0, stride: element_size });
        }
        axes.reverse();
        Self { axes: merged(axes), start, element_size }
    }

    /// Calls `copy` with a position in the contiguous memory, an offset in the view, and the number of bytes.
    fn each_row(&self, mut copy: impl FnMut(usize, isize, usize)) {
        self.descend(&self.axes, self.start, 0, &mut copy);
    }

    fn descend(
        &self,
        axes: &[Axis],
        position: usize,
        offset: isize,
        copy: &mut impl FnMut(usize, isize, usize),
    ) {
        let Some((axis, inner)) = axes.split_first() else {
            return copy(position, offset, self.element_size);
        };
        let is_row = inner.is_empty() && is_dense(axis, self.element_size);
        if is_row {
            return copy(position, offset, axis.count * self.element_size);
        }
        let mut at = offset;
        for index in 0..axis.count {
            self.descend(inner, position + index * axis.stride, at, copy);
            at = at.wrapping_add(axis.view_stride);
        }
    }
}

/// Merges neighbouring axes whose elements follow each other in both memories.
fn merged(axes: Vec<Axis>) -> Vec<Axis> {
    let mut result: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        match result.last_mut() {
            Some(outer) if continues(outer, &axis) => {
                outer.count *= axis.count;
                outer.view_stride = axis.view_stride;
                outer.stride = axis.stride;
            }
            _ => result.push(axis),
        }
    }
    result
}

fn continues(outer: &Axis, inner: &Axis) -> bool {
    let length = isize::try_from(inner.count).ok().and_then(|count| inner.view_stride.checked_mul(count));
    length == Some(outer.view_stride) && outer.stride == inner.stride * inner.count
}

/// Returns whether the elements of the axis follow each other in both memories.
fn is_dense(axis: &Axis, element_size: usize) -> bool {
    axis.stride == element_size && (axis.count == 1 || usize::try_from(axis.view_stride) == Ok(element_size))
}
