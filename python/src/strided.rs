//! Memory of Python objects with any strides, such as a part of a NumPy array.
#![expect(unsafe_code, reason = "the buffer protocol passes addresses")]

use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use zarr_kit::StridedMemory;

/// The elements of a Python object, with any strides.
pub(crate) struct View(PyUntypedBuffer);

/// A box of the elements of a view, with the axes of a chunk.
pub(crate) struct ViewPart {
    /// The distance in bytes from the first element of the view to the first element of the box.
    offset: isize,
    counts: Vec<usize>,
    /// The distance between neighbouring elements in bytes, per axis.
    strides: Vec<isize>,
}

/// One dimension of a copy.
struct Axis {
    count: usize,
    /// The distance in bytes between neighbouring elements in the memory of the view.
    view_stride: isize,
    /// The distance in bytes between neighbouring elements in contiguous memory.
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

    /// Returns a part of the view. Each entry of `axes` is a range along the next axis of the view, or `None` for an
    /// axis of one element that the view does not have. Returns `None` if the part is not inside of the view, or if
    /// `axes` does not have a range for every axis of the view.
    pub(crate) fn part(&self, axes: &[Option<Range<usize>>]) -> Option<ViewPart> {
        let mut part = ViewPart { offset: 0, counts: Vec::with_capacity(axes.len()), strides: Vec::new() };
        let mut given = self.0.shape().iter().zip(self.0.strides());
        for axis in axes {
            let (count, stride) = match axis {
                None => (1, 0),
                Some(range) => {
                    let (&length, &stride) = given.next()?;
                    let count = range.end.checked_sub(range.start).filter(|_| range.end <= length)?;
                    part.offset += isize::try_from(range.start).ok()?.checked_mul(stride)?;
                    (count, stride)
                }
            };
            part.counts.push(count);
            part.strides.push(stride);
        }
        given.next().is_none().then_some(part)
    }

    /// Returns the part of the shape `counts` whose elements are all the first element of the view.
    pub(crate) fn repeated(&self, counts: Vec<usize>) -> Option<ViewPart> {
        let strides = vec![0; counts.len()];
        (self.0.len_bytes() >= self.0.item_size()).then_some(ViewPart { offset: 0, counts, strides })
    }

    /// Returns the memory of a part, for writing; `None` if a stride is negative, or elements are repeated. Parts that
    /// exist at the same time have no element in common.
    pub(crate) fn memory(&self, part: &ViewPart) -> Option<StridedMemory<'_>> {
        if part.counts.iter().zip(&part.strides).any(|(&count, &stride)| count > 1 && stride == 0) {
            return None;
        }
        let start = NonNull::new(self.0.buf_ptr().cast::<u8>().wrapping_offset(part.offset))?;
        // SAFETY: the view has these elements and may be written to, and other parts have other elements. If Python
        // code accesses them at the same time, the bytes are unspecified, as they are with NumPy.
        unsafe { StridedMemory::new(start, &part.counts, &part.strides, self.0.item_size()) }
    }

    /// Returns all elements as a slice, if they follow each other in C order.
    pub(crate) fn all(&self) -> Option<&[u8]> {
        self.contiguous(&self.whole())
    }

    /// Returns the shape of the view with an additional axis of one element for each `None` of `axes`.
    pub(crate) fn shape_along(&self, axes: &[Option<Range<usize>>]) -> Vec<usize> {
        let mut lengths = self.0.shape().iter();
        let length = |axis: &Option<_>| axis.as_ref().map_or(1, |_| lengths.next().copied().unwrap_or(1));
        axes.iter().map(length).collect()
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> usize {
        self.0.shape().iter().product()
    }

    /// Returns the elements of a part as a slice, if they follow each other in C order.
    pub(crate) fn contiguous(&self, part: &ViewPart) -> Option<&[u8]> {
        let size = part.size(self.0.item_size())?;
        let copy = Copy::new(part, self.0.item_size(), &part.counts, 0);
        let [axis] = copy.axes.as_slice() else { return None };
        if size == 0 || !is_dense(axis, self.0.item_size()) {
            return None;
        }
        let start = self.0.buf_ptr().cast::<u8>().wrapping_offset(part.offset);
        // SAFETY: the view has these elements. If Python code writes to them at the same time, the bytes that are read
        // are unspecified, as they are with NumPy.
        Some(unsafe { slice::from_raw_parts(start, size) })
    }

    /// Returns the size of an element in bytes.
    pub(crate) fn element_size(&self) -> usize {
        self.0.item_size()
    }

    /// Returns the elements in C order.
    pub(crate) fn gather(&self) -> PyResult<Vec<u8>> {
        let mut elements = vec![0; self.0.len_bytes()];
        let part = self.whole();
        self.gather_into(&part, &mut elements, &part.counts, &vec![0; part.counts.len()])?;
        Ok(elements)
    }

    /// Overwrites a part of `elements`, which have the shape `shape` in C order. The part starts at `first`.
    pub(crate) fn gather_into(
        &self,
        part: &ViewPart,
        elements: &mut [u8],
        shape: &[usize],
        first: &[usize],
    ) -> PyResult<()> {
        let Some(copy) = self.copy(part, elements.len(), shape, first)? else { return Ok(()) };
        let memory = self.0.buf_ptr().cast::<u8>();
        copy.each_row(part.offset, |position, offset, length| {
            if let Some(row) = elements.get_mut(position..position.saturating_add(length)) {
                // SAFETY: the view has an element at each offset of the part, and `row` is other memory.
                unsafe { memory.offset(offset).copy_to_nonoverlapping(row.as_mut_ptr(), length) };
            }
        });
        Ok(())
    }

    /// Overwrites all elements with a part of `elements`, which have the shape `shape` in C order. The part starts at
    /// `first`.
    pub(crate) fn scatter(&self, elements: &[u8], shape: &[usize], first: &[usize]) -> PyResult<()> {
        let part = self.whole();
        let Some(copy) = self.copy(&part, elements.len(), shape, first)? else { return Ok(()) };
        let memory = self.0.buf_ptr().cast::<u8>();
        copy.each_row(part.offset, |position, offset, length| {
            if let Some(row) = elements.get(position..position.saturating_add(length)) {
                // SAFETY: the view has an element at each offset of its shape and strides, and may be written to. If
                // Python code accesses it at the same time, the bytes are unspecified, as they are with NumPy.
                unsafe { memory.offset(offset).copy_from_nonoverlapping(row.as_ptr(), length) };
            }
        });
        Ok(())
    }

    fn whole(&self) -> ViewPart {
        ViewPart { offset: 0, counts: self.0.shape().to_vec(), strides: self.0.strides().to_vec() }
    }

    /// Returns the copy between a part of this view and contiguous memory of `size` bytes, whose elements have the
    /// shape `shape`. In that memory, the part starts at `first`. Returns `None` if the part has no elements.
    fn copy(&self, part: &ViewPart, size: usize, shape: &[usize], first: &[usize]) -> PyResult<Option<Copy>> {
        let element_size = self.0.item_size();
        let counts = &part.counts;
        let is_same_rank = shape.len() == counts.len() && first.len() == counts.len();
        let mut axes = shape.iter().zip(counts).zip(first);
        let is_inside = axes.all(|((length, count), first)| first.saturating_add(*count) <= *length);
        let expected = shape.iter().try_fold(element_size, |size, length| size.checked_mul(*length));
        if !is_same_rank || !is_inside || expected != Some(size) {
            return Err(PyBufferError::new_err(format!(
                "{counts:?} elements at {first:?} are not a part of a chunk of {shape:?}"
            )));
        }
        let mut start = 0;
        for (position, length) in first.iter().zip(shape) {
            start = start * length + position;
        }
        let is_empty = part.size(element_size) == Some(0);
        Ok((!is_empty).then(|| Copy::new(part, element_size, shape, start * element_size)))
    }
}

impl ViewPart {
    /// Returns the number of elements per axis.
    pub(crate) fn counts(&self) -> &[usize] {
        &self.counts
    }

    fn size(&self, element_size: usize) -> Option<usize> {
        self.counts.iter().try_fold(element_size, |size, count| size.checked_mul(*count))
    }
}

impl Copy {
    /// `shape` is the shape of the contiguous elements, which may be larger than the part.
    fn new(part: &ViewPart, element_size: usize, shape: &[usize], start: usize) -> Self {
        let mut axes = Vec::with_capacity(shape.len().max(1));
        let mut stride = element_size;
        let counts = part.counts.iter().zip(&part.strides);
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

    /// Calls `copy` with a position in the contiguous memory, an offset in the view, and the number of bytes. `offset`
    /// is the offset of the first element in the view.
    fn each_row(&self, offset: isize, mut copy: impl FnMut(usize, isize, usize)) {
        self.descend(&self.axes, self.start, offset, &mut copy);
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
