//! Outputs of reads, and the functions that place elements in them.
//!
//! Several threads write to one output without locks, by three functions: [`ChunkRequest::slice`], [`ChunkRequest::copy`]
//! and [`ChunkRequest::fill`]. This is sound for two reasons. A plan assigns each element of the output to exactly one
//! piece, whatever the chunk grid returns. During a read, only one thread at a time works on a piece.
#![expect(unsafe_code, reason = "threads write disjoint elements of one output")]

use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;

use zarr_spec::FillValue;
use zarr_spec::host::pipeline::{Pipeline, Swap};

use crate::copied_box::CopiedBox;
use crate::copy::{self, FillDimension, MAX_RANK, OutOfBounds, Shared};
#[cfg(feature = "ndarray")]
use crate::element::Element;
use crate::error::Error;
use crate::plan::{Piece, StridedBox};
use crate::selection::ElementSelection;
use crate::unpoisoned::Unpoisoned;
use crate::variable::{Assembly, Variable, each_run};

/// Minimum size in bytes of outputs that are written with non-temporal stores.
const STREAMED: usize = 32 << 20;

pub(crate) struct OutputRegion<'a> {
    pub(super) wanted: &'a ElementSelection,
    /// The strides of the output per dimension of the array: in bytes, or in elements if their size is variable.
    pub(super) strides: Vec<usize>,
    /// The size of the output in bytes; the maximum `usize` if the size of elements is variable.
    pub(super) size: usize,
    destination: Destination<'a>,
    is_zero: bool,
    is_streamed: bool,
}

/// Memory for elements of a fixed size at any distances that are not negative, such as a part of an array of NumPy.
///
/// It stands for a mutable borrow of these elements: see [`Array::read_many_into`](crate::Array::read_many_into).
#[derive(Debug)]
pub struct StridedMemory<'a> {
    start: NonNull<u8>,
    shape: Vec<usize>,
    /// The distances of neighbours in bytes.
    strides: Vec<usize>,
    element_size: usize,
    /// The size in bytes, from the first to the last element.
    size: usize,
    borrow: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a mutable borrow, which may go to another thread.
unsafe impl Send for StridedMemory<'_> {}
// SAFETY: shared references do not reach the memory.
unsafe impl Sync for StridedMemory<'_> {}

impl<'a> StridedMemory<'a> {
    /// Returns the memory of elements in a slice. `element_size` is the size of an element, and `strides` are the
    /// distances of neighbours, both in bytes. `None` if an element is not inside of the slice, or a stride is
    /// negative.
    #[must_use]
    pub fn of_slice(
        bytes: &'a mut [u8],
        shape: &[usize],
        strides: &[isize],
        element_size: usize,
    ) -> Option<Self> {
        let length = bytes.len();
        // SAFETY: all bytes are borrowed. The elements are inside of them, or the result is dropped.
        let memory = unsafe { Self::new(NonNull::from(bytes).cast(), shape, strides, element_size)? };
        (memory.size <= length).then_some(memory)
    }

    /// Returns the memory of elements of `element_size` bytes. The first one is at `start`, and `strides` are the
    /// distances of neighbours in bytes. `None` if a stride is negative, if there is not one stride per dimension, or
    /// if the size in bytes exceeds [`usize::MAX`].
    ///
    /// # Safety
    ///
    /// The elements are valid for writes for `'a`. During this time, no other code reads or writes them. Other code may
    /// use the bytes between them.
    #[must_use]
    pub unsafe fn new(
        start: NonNull<u8>,
        shape: &[usize],
        strides: &[isize],
        element_size: usize,
    ) -> Option<Self> {
        let strides = strides.iter().map(|&stride| usize::try_from(stride)).collect::<Result<Vec<_>, _>>();
        let strides = strides.ok().filter(|strides| strides.len() == shape.len())?;
        let mut size = element_size;
        for (&length, &stride) in shape.iter().zip(&strides) {
            size = size.checked_add(stride.checked_mul(length.saturating_sub(1))?)?;
        }
        if shape.contains(&0) {
            size = 0;
        }
        Some(Self { start, shape: shape.to_vec(), strides, element_size, size, borrow: PhantomData })
    }

    /// Returns the number of elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the size of an element in bytes.
    #[must_use]
    pub fn element_size(&self) -> usize {
        self.element_size
    }
}

enum Destination<'a> {
    Bytes(Shared<'a>),
    Elements(&'a Mutex<Assembly>),
}

/// The content of the output of a chunk before it is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputState {
    /// The output has not changed since the read began: it is zero, if the region is known to be zero.
    Fresh,
    Written,
}

/// The elements of a region that are in one chunk. The dimensions are in the order of the chunk.
#[derive(Clone, Copy)]
pub(super) struct ChunkRequest<'w, 'r> {
    pub(super) piece: &'w Piece<'w>,
    pub(super) region: &'r OutputRegion<'r>,
    pub(super) strides: &'w [usize],
}

impl<'a> OutputRegion<'a> {
    pub(crate) fn fixed(
        wanted: &'a ElementSelection,
        rank: usize,
        element_size: usize,
        destination: &'a mut [u8],
        is_zero: bool,
    ) -> Result<Self, Error> {
        let mut strides = wanted.strides(rank)?;
        strides.iter_mut().for_each(|stride| *stride = stride.saturating_mul(element_size));
        let size = destination.len();
        let is_streamed = size >= STREAMED;
        let destination = Destination::Bytes(Shared::new(destination));
        Ok(Self { wanted, strides, size, destination, is_zero, is_streamed })
    }

    /// Returns a region for strided memory with the shape of `wanted`.
    pub(crate) fn of_memory(
        wanted: &'a ElementSelection,
        rank: usize,
        memory: &'a mut StridedMemory<'_>,
    ) -> Self {
        let longer = memory.shape.iter().zip(&memory.strides).filter(|(length, _)| **length != 1);
        let strides: Vec<_> = longer.map(|(_, &stride)| stride).collect();
        let strides = wanted.spread_strides(rank, &strides);
        // SAFETY: the memory is borrowed for as long as the region lives. All elements of the region are elements of
        // the memory, and bytes between them are not touched.
        let shared = unsafe { Shared::of_elements(memory.start, memory.size) };
        let destination = Destination::Bytes(shared);
        Self { wanted, strides, size: memory.size, destination, is_zero: false, is_streamed: false }
    }

    /// Returns a region for a view with the shape of `wanted`; `None` if a stride of the view is negative.
    #[cfg(feature = "ndarray")]
    pub(crate) fn of_view<T: Element, D: ndarray::Dimension>(
        wanted: &'a ElementSelection,
        rank: usize,
        view: &'a mut ndarray::ArrayRef<T, D>,
    ) -> Option<Self> {
        let mut strides = Vec::with_capacity(rank);
        let mut size = size_of::<T>();
        for (&length, &stride) in view.shape().iter().zip(view.strides()).filter(|(length, _)| **length != 1)
        {
            let stride = usize::try_from(stride).ok()?.checked_mul(size_of::<T>())?;
            size = size.checked_add(stride.checked_mul(length.checked_sub(1)?)?)?;
            strides.push(stride);
        }
        let strides = wanted.spread_strides(rank, &strides);
        // SAFETY: the view is borrowed for as long as the region lives. Its elements are in `size` bytes, because no
        // stride is negative. Elements of the region are elements of the view, and bytes between them are not touched.
        let memory = unsafe { Shared::of_elements(NonNull::new(view.as_mut_ptr().cast())?, size) };
        let destination = Destination::Bytes(memory);
        Some(Self { wanted, strides, size, destination, is_zero: false, is_streamed: false })
    }

    /// Returns a region of elements of variable size. The assembly holds fill values.
    pub(crate) fn variable(
        wanted: &'a ElementSelection,
        rank: usize,
        assembly: &'a Mutex<Assembly>,
    ) -> Result<Self, Error> {
        let strides = wanted.strides(rank)?;
        let destination = Destination::Elements(assembly);
        Ok(Self { wanted, strides, size: usize::MAX, destination, is_zero: false, is_streamed: false })
    }
}

impl<'r> ChunkRequest<'_, 'r> {
    /// Returns the bytes of the output that a whole chunk fills in one run, if elements need no reordering or swapping.
    /// No other thread writes to them while the slice exists.
    pub(super) fn slice(&self, pipeline: &Pipeline) -> Result<Option<&'r mut [u8]>, Error> {
        let (Destination::Bytes(destination), Some(range)) =
            (&self.region.destination, self.only_run(pipeline))
        else {
            return Ok(None);
        };
        // SAFETY: no other piece has these elements. The thread that works on the piece has one slice at a time, and does
        // not copy or fill while it exists.
        unsafe { destination.slice_mut(range) }.map(Some).map_err(outside)
    }

    /// Returns whether [`Self::slice`] returns bytes.
    pub(super) fn is_one_run(&self, pipeline: &Pipeline) -> bool {
        matches!(self.region.destination, Destination::Bytes(_)) && self.only_run(pipeline).is_some()
    }

    /// Copies the elements of one strided box to the output. `elements` are the bytes of the chunk starting at
    /// `skipped`; elements have a fixed size.
    pub(super) fn copy(
        &self,
        pipeline: &Pipeline,
        elements: &[u8],
        skipped: usize,
        strided_box: &StridedBox,
    ) -> Result<(), Error> {
        let Destination::Bytes(destination) = self.region.destination else {
            return Err(outside(OutOfBounds));
        };
        let element = pipeline.array.data_type.elements().size().unwrap_or(0);
        let boxed = CopiedBox::from_chunk(strided_box, &pipeline.layout, element, |dimension| {
            self.strides[dimension]
        });
        let swap = copy::ByteSwap::from(&pipeline.layout.swap);
        let from = boxed.chunk_offset.checked_sub(skipped).ok_or(OutOfBounds).map_err(outside)?;
        let to = boxed.memory_offset;
        let dimensions = boxed.dimensions();
        let streaming = self.region.is_streamed;
        // SAFETY: no other piece has these elements, and there is no slice of them.
        unsafe { copy::copy_shared(element, swap, dimensions, elements, from, destination, to, streaming) }
            .map_err(outside)
    }

    /// Copies elements of variable size to the output, which is locked meanwhile.
    pub(super) fn put(&self, pipeline: &Pipeline, elements: Variable<'_>) -> Result<(), Error> {
        let Destination::Elements(assembly) = self.region.destination else {
            return Err(outside(OutOfBounds));
        };
        let mut assembly = assembly.lock().unpoisoned();
        self.piece.each_strided_box(|strided_box| {
            each_run(strided_box, &pipeline.layout, self.strides, |from, to, count| {
                assembly.put_run(to, &elements, from, count);
            });
            Ok(())
        })
    }

    pub(super) fn fill(&self, fill_value: &FillValue, state: OutputState) -> Result<(), Error> {
        let destination = match self.region.destination {
            Destination::Bytes(destination) => destination,
            Destination::Elements(assembly) => {
                if state == OutputState::Written {
                    self.clear(&mut assembly.lock().unpoisoned());
                }
                return Ok(());
            }
        };
        if self.region.is_zero && fill_value.is_zero() && state == OutputState::Fresh {
            return Ok(());
        }
        let mut dimensions = [FillDimension { count: 1, stride: 0 }; MAX_RANK];
        self.piece.each_strided_box(|strided_box| {
            let mut offset = 0usize;
            for ((dimension, run), &stride) in dimensions.iter_mut().zip(strided_box.runs()).zip(self.strides)
            {
                *dimension = FillDimension { count: run.count, stride: stride.cast_signed() };
                offset = offset.saturating_add(run.out.saturating_mul(stride));
            }
            let dimensions = &dimensions[..strided_box.runs().len()];
            // SAFETY: no other piece has these elements, and there is no slice of them.
            unsafe { copy::fill_shared(fill_value.bytes(), dimensions, destination, offset) }.map_err(outside)
        })
    }

    fn clear(&self, assembly: &mut Assembly) {
        let layout = zarr_spec::host::pipeline::Layout::new(vec![1; self.strides.len()], Swap::None);
        let Ok(()) = self.piece.each_strided_box(|strided_box| {
            each_run(strided_box, &layout, self.strides, |_, to, count| assembly.clear(to, count));
            Ok::<_, Infallible>(())
        });
    }

    fn only_run(&self, pipeline: &Pipeline) -> Option<Range<usize>> {
        let shape = &pipeline.array.shape;
        if pipeline.layout.swap != Swap::None || !self.piece.covers(shape.iter().copied()) {
            return None;
        }
        let strided_box = self.piece.only()?;
        let element = pipeline.array.data_type.elements().size()?;
        let mut size = element;
        let mut start = 0usize;
        for dimension in (0..shape.len()).rev() {
            let run = strided_box.runs()[dimension];
            start = start.checked_add(run.out.checked_mul(self.strides[dimension])?)?;
            if run.count > 1 {
                let is_plain = pipeline.layout.strides[dimension].checked_mul(element) == Some(size);
                if !is_plain || self.strides[dimension] != size {
                    return None;
                }
                size = size.checked_mul(run.count)?;
            }
        }
        Some(start..start.checked_add(size)?)
    }
}

/// Returns the error for a grid or data type that contradicts itself.
fn outside(error: OutOfBounds) -> Error {
    Error::Elements(error.to_string())
}
