//! Reading elements: public methods of [`Array`].

use std::sync::{Arc, Mutex};

use zarr_spec::{CodecError, Elements};

use super::Array;
use crate::element::{Element, as_bytes_mut, type_matches};
use crate::elements::{ElementArray, ReadElement};
use crate::error::Error;
use crate::memory::{Memory, OutOfMemory};
use crate::plan::Run;
use crate::reader::{OutputRegion, StridedMemory};
use crate::selection::{ElementSelection, IntoSelection, LocatedSelection, Selection};
use crate::unpoisoned::Unpoisoned;
use crate::variable::Assembly;

impl Array {
    /// Reads a selection. The result uses memory from the buffer pool of the context.
    ///
    /// # Errors
    ///
    /// If the selection is outside of the array, a chunk cannot be decoded, the store fails, or memory runs out.
    pub fn read<'s>(&self, selection: impl IntoSelection<'s>) -> Result<ElementArray, Error> {
        self.read_selection(&selection.into_selection())
    }

    fn read_selection(&self, selection: &Selection) -> Result<ElementArray, Error> {
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let data_type = Arc::clone(self.data_type());
        let shape = located.shape.clone();
        let threads = self.stored.context().threads.clone();
        match data_type.elements() {
            Elements::Fixed { size, .. } => {
                let (mut memory, is_zero) = self.memory(count, size)?;
                self.read_fixed(&located, size, &mut memory, is_zero)?;
                Ok(ElementArray::new(shape, count, data_type, memory, threads))
            }
            Elements::Variable => {
                let bytes = self.read_variable(&located, count)?;
                Ok(ElementArray::new(shape, count, data_type, bytes, threads))
            }
        }
    }

    /// Reads a selection into `destination`, in C order and native byte order. [`Memory`](crate::Memory) is the fastest
    /// destination: its rows start at cache lines. In a large `Vec` they usually do not, and large reads take up to
    /// 50 % longer.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read`]; [`Error::Elements`] if the size of `destination` differs from the size of the selection
    /// in bytes, or if the elements have a variable size.
    pub fn read_into<'s>(
        &self,
        selection: impl IntoSelection<'s>,
        destination: &mut [u8],
    ) -> Result<(), Error> {
        self.read_selection_into(&selection.into_selection(), destination)
    }

    fn read_selection_into(&self, selection: &Selection, destination: &mut [u8]) -> Result<(), Error> {
        let located = selection.located(self.shape())?;
        let Elements::Fixed { size, .. } = self.data_type().elements() else {
            let name = self.data_type().name();
            return Err(Error::Elements(format!(
                "elements of type {name} have a variable size: read them as values"
            )));
        };
        let wanted = located.count()?.checked_mul(size);
        if wanted != Some(destination.len()) {
            let given = destination.len();
            let wanted = wanted.unwrap_or(usize::MAX);
            return Err(Error::Elements(format!(
                "the destination has {given} bytes, but the selection has {wanted}"
            )));
        }
        self.read_fixed(&located, size, destination, false)
    }

    /// Reads a selection into values of a Rust type.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read_into`]; [`Error::Elements`] if the array holds another type.
    pub fn read_values_into<'s, T: Element>(
        &self,
        selection: impl IntoSelection<'s>,
        values: &mut [T],
    ) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        self.read_into(selection, as_bytes_mut(values))
    }

    /// Reads a selection as values of a Rust type, in C order: numbers, [`bool`], [`String`], `Vec<u8>`, or an
    /// [`Option`] of these if elements may be missing. Numbers are returned as [`Values`](crate::Values), a slice that
    /// owns its memory, without a copy: this takes as long as [`Array::read`]. Other types are returned as a `Vec`.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read`]; [`Error::Elements`] if the array holds another type.
    pub fn read_values<'s, T: ReadElement>(
        &self,
        selection: impl IntoSelection<'s>,
    ) -> Result<T::Values, Error> {
        T::check(&**self.data_type())?;
        T::collect(self.read(selection)?)
    }

    /// Reads a selection as an `ndarray` of the dimensions `D`, or [`ndarray::IxDyn`](type@ndarray::IxDyn) for any
    /// number of them, in newly allocated memory.
    ///
    /// [`Array::read_values`] with [`Values::view`](crate::Values::view) is faster, because it reuses pooled memory. A
    /// large array starts at a cache line of its allocation, so that [`ndarray::ArrayBase::into_raw_vec_and_offset`]
    /// returns an offset.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read_values`]; [`Error::Elements`] if the selection has another number of dimensions.
    #[cfg(feature = "ndarray")]
    pub fn read_ndarray<'s, T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl IntoSelection<'s>,
    ) -> Result<ndarray::Array<T, D>, Error> {
        type_matches::<T>(&**self.data_type())?;
        let located = selection.into_selection().located(self.shape())?;
        let found = located.shape.len();
        if let Some(wanted) = D::NDIM.filter(|&wanted| wanted != found) {
            return Err(Error::Elements(format!("the selection has {found} dimensions; expected {wanted}")));
        }
        let mut values = crate::values::AlignedVec::<T>::zeroed(located.count()?)?;
        self.read_fixed(&located, size_of::<T>(), as_bytes_mut(values.as_mut_slice()), true)?;
        let array = values.into_ndarray(&located.shape)?;
        array.into_dimensionality().map_err(|error| Error::Elements(error.to_string()))
    }

    /// Reads many selections. A chunk or inner chunk that several of them need is fetched and decoded only once.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read`].
    pub fn read_many(&self, selections: &[Selection]) -> Result<Vec<ElementArray>, Error> {
        let Elements::Fixed { size, .. } = self.data_type().elements() else {
            return self.read_many_variable(selections);
        };
        let located = selections.iter().map(|selection| selection.located(self.shape()));
        let located = located.collect::<Result<Vec<_>, _>>()?;
        let mut memories = Vec::with_capacity(located.len());
        for located in &located {
            memories.push(self.memory(located.count()?, size)?);
        }
        let total = memories.iter().map(|(memory, _)| memory.len()).fold(0, usize::saturating_add);
        let rank = self.shape().len();
        let regions = located.iter().zip(&mut memories).filter(|(_, (memory, _))| !memory.is_empty());
        let regions = regions.map(|(located, (memory, is_zero))| {
            OutputRegion::fixed(&located.what, rank, size, memory, *is_zero)
        });
        self.stored.read_regions(&regions.collect::<Result<Vec<_>, _>>()?, total)?;
        let data_type = self.data_type();
        let arrays = located.into_iter().zip(memories).map(|(located, (mut memory, _))| {
            self.settle(&mut memory)?;
            let count = located.count()?;
            let threads = self.stored.context().threads.clone();
            Ok(ElementArray::new(located.shape, count, Arc::clone(data_type), memory, threads))
        });
        arrays.collect()
    }

    /// Reads many selections of elements of variable size.
    fn read_many_variable(&self, selections: &[Selection]) -> Result<Vec<ElementArray>, Error> {
        let located = selections.iter().map(|selection| selection.located(self.shape()));
        let located = located.collect::<Result<Vec<_>, _>>()?;
        let counts = located.iter().map(LocatedSelection::count).collect::<Result<Vec<_>, _>>()?;
        let assemblies = counts.iter().map(|&count| self.assembly(count)).collect::<Result<Vec<_>, _>>()?;
        let rank = self.shape().len();
        let mut regions = Vec::with_capacity(located.len());
        for ((located, assembly), &count) in located.iter().zip(&assemblies).zip(&counts) {
            if count > 0 {
                regions.push(OutputRegion::variable(&located.what, rank, assembly)?);
            }
        }
        // As for a single selection, the total size is unknown.
        self.stored.read_regions(&regions, usize::MAX)?;
        let data_type = self.data_type();
        let threads = &self.stored.context().threads;
        let arrays = located.into_iter().zip(assemblies).zip(counts).map(|((located, assembly), count)| {
            let elements = finish(assembly)?;
            Ok(ElementArray::new(located.shape, count, Arc::clone(data_type), elements, threads.clone()))
        });
        arrays.collect()
    }

    /// Reads many selections into memory with strides, for programs whose elements are parts of larger arrays. As with
    /// [`Array::read_many`], each chunk is fetched and decoded only once.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read`]; [`Error::Elements`] if memory does not have the shape of its selection, or if its
    /// elements do not have the size of the array's elements; [`Error::NotSupported`] if the data type has several
    /// stored forms of one element, as `bool` does.
    pub fn read_many_into(&self, parts: &mut [(Selection, StridedMemory<'_>)]) -> Result<(), Error> {
        if self.data_type().settles() {
            let name = self.data_type().name();
            return Err(Error::NotSupported(format!("{name} has several stored forms of one element")));
        }
        let size = self.data_type().elements().size();
        let mut located = Vec::with_capacity(parts.len());
        for (selection, memory) in &*parts {
            let one = selection.located(self.shape())?;
            let is_same = one.shape.iter().copied().eq(memory.shape().iter().map(|&length| length as u64));
            if !is_same || size != Some(memory.element_size()) {
                return Err(Error::Elements(format!(
                    "the memory has {:?} elements of {} bytes, but the selection has {:?} of {size:?}",
                    memory.shape(),
                    memory.element_size(),
                    one.shape
                )));
            }
            located.push(one);
        }
        let rank = self.shape().len();
        let mut total = 0usize;
        let mut regions = Vec::with_capacity(parts.len());
        for (located, (_, memory)) in located.iter().zip(parts) {
            let count = located.count()?;
            total = total.saturating_add(count.saturating_mul(memory.element_size()));
            if count > 0 {
                regions.push(OutputRegion::of_memory(&located.what, rank, memory));
            }
        }
        self.stored.read_regions(&regions, total)
    }

    /// Reads the whole chunk at `index`, including elements outside of the array. A missing chunk reads as the fill
    /// value.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, the chunk cannot be decoded, or the store fails.
    pub fn read_chunk(&self, index: &[u64]) -> Result<ElementArray, Error> {
        self.whole_chunk(index, |shape, region| self.stored.read_chunk(index, shape, region))
    }

    /// Returns the elements of a whole chunk. `read` gets the shape of the chunk and places the elements in the output.
    pub(super) fn whole_chunk(
        &self,
        index: &[u64],
        read: impl FnOnce(&[u64], &OutputRegion<'_>) -> Result<(), Error>,
    ) -> Result<ElementArray, Error> {
        let chunk = self.stored.chunk(index)?;
        let count = chunk.element_count().ok_or(OutOfMemory { size: usize::MAX })?;
        let wanted = whole_chunk(&chunk.shape)?;
        let data_type = Arc::clone(self.data_type());
        let rank = chunk.shape.len();
        let threads = self.stored.context().threads.clone();
        match data_type.elements() {
            Elements::Fixed { size, .. } => {
                let (mut memory, is_zero) = self.memory(count, size)?;
                read(&chunk.shape, &OutputRegion::fixed(&wanted, rank, size, &mut memory, is_zero)?)?;
                self.settle(&mut memory)?;
                Ok(ElementArray::new(chunk.shape, count, data_type, memory, threads))
            }
            Elements::Variable => {
                let assembly = self.assembly(count)?;
                read(&chunk.shape, &OutputRegion::variable(&wanted, rank, &assembly)?)?;
                Ok(ElementArray::new(chunk.shape, count, data_type, finish(assembly)?, threads))
            }
        }
    }

    pub(super) fn read_fixed(
        &self,
        located: &LocatedSelection,
        size: usize,
        destination: &mut [u8],
        is_zero: bool,
    ) -> Result<(), Error> {
        let total = destination.len();
        if total > 0 {
            let rank = self.shape().len();
            self.stored.read_regions(
                &[OutputRegion::fixed(&located.what, rank, size, destination, is_zero)?],
                total,
            )?;
            self.settle(destination)?;
        }
        Ok(())
    }

    /// Returns memory for `count` elements, and whether it is zeroed.
    fn memory(&self, count: usize, size: usize) -> Result<(Memory, bool), OutOfMemory> {
        self.stored
            .context()
            .buffer_pool
            .get(count.checked_mul(size).ok_or(OutOfMemory { size: usize::MAX })?)
    }

    /// Converts stored elements to their form in memory, for data types in which the two differ.
    fn settle(&self, stored: &mut [u8]) -> Result<(), Error> {
        let settled = self.data_type().settle(stored, self.stored.context().mode());
        settled.map_err(|invalid| Error::Elements(format!("{}: {invalid}", self.path())))
    }

    /// Reads elements of variable size: the offsets and the payload of the whole result.
    fn read_variable(&self, located: &LocatedSelection, count: usize) -> Result<Vec<u8>, Error> {
        let assembly = self.assembly(count)?;
        if count > 0 {
            let rank = self.shape().len();
            // The total size of the elements is unknown. With the maximum, the work counts as large enough for several
            // threads.
            self.stored
                .read_regions(&[OutputRegion::variable(&located.what, rank, &assembly)?], usize::MAX)?;
        }
        finish(assembly)
    }

    /// Returns an output for `count` elements of variable size, which all hold the fill value.
    fn assembly(&self, count: usize) -> Result<Mutex<Assembly>, Error> {
        let assembly = Assembly::with_count(count, self.fill_value().bytes());
        assembly.map(Mutex::new).map_err(no_elements)
    }
}

pub(super) fn whole_chunk(shape: &[u64]) -> Result<ElementSelection, Error> {
    let counts: Result<Vec<usize>, _> = shape.iter().map(|&length| usize::try_from(length)).collect();
    let counts = counts.map_err(|_| OutOfMemory { size: usize::MAX })?;
    let runs = counts.iter().map(|&count| vec![Run { start: 0, count, step: 1, out: 0 }]).collect();
    Ok(ElementSelection::Box { runs, counts })
}

fn finish(assembly: Mutex<Assembly>) -> Result<Vec<u8>, Error> {
    assembly.into_inner().unpoisoned().finish().map_err(no_elements)
}

fn no_elements(error: CodecError) -> Error {
    Error::Elements(error.to_string())
}
