//! Reads and writes `ndarray` views with any strides.

use std::ops::Range;

use ndarray::{ArrayRef, ArrayView, Axis, Dimension, Slice};

use super::Array;
use crate::element::{Element, as_bytes, as_bytes_mut, type_matches};
use crate::error::Error;
use crate::memory::OutOfMemory;
use crate::reader::OutputRegion;
use crate::selection::{ElementSelection, IntoSelection, LocatedSelection};
use crate::values::AlignedVec;
use crate::writer::{FixedElements, Source};

/// The size in bytes of the scratch memory for writing views that are not contiguous. A larger row of chunks is written
/// as a whole.
const SCRATCH: usize = 32 << 20;

impl Array {
    /// Reads a selection into an `ndarray` or a view that has the shape of the selection. Elements are copied from chunks
    /// directly to the view, which may have any strides.
    ///
    /// Two kinds of reads make a temporary copy of the selection: reads into views with negative strides, and reads into
    /// views that are not contiguous if the data type has several stored forms of one element, as `bool` does.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read_values`]; [`Error::Elements`] if the shapes differ.
    pub fn read_ndarray_into<'s, T: Element, D: Dimension>(
        &self,
        selection: impl IntoSelection<'s>,
        values: &mut ArrayRef<T, D>,
    ) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        let located = selection.into_selection().located(self.shape())?;
        check_shape(&located.shape, values.shape())?;
        if values.is_empty() {
            return Ok(());
        }
        if let Some(values) = values.as_slice_mut() {
            return self.read_fixed(&located, size_of::<T>(), as_bytes_mut(values), false);
        }
        if !self.data_type().settles()
            && let Some(region) = OutputRegion::of_view(&located.what, self.shape().len(), values)
        {
            return self.stored.read_regions(&[region], located.count()?.saturating_mul(size_of::<T>()));
        }
        let mut copy = AlignedVec::<T>::zeroed(located.count()?)?;
        self.read_fixed(&located, size_of::<T>(), as_bytes_mut(copy.as_mut_slice()), true)?;
        let copy = ArrayView::from_shape(values.raw_dim(), &*copy.as_mut_slice());
        values.assign(&copy.map_err(|error| Error::Elements(error.to_string()))?);
        Ok(())
    }

    /// Writes a selection from an `ndarray` or a view that has the shape of the selection. A view that is not contiguous is
    /// copied in parts of whole chunks.
    ///
    /// # Errors
    ///
    /// Same as [`Array::write_values`]; [`Error::Elements`] if the shapes differ.
    pub fn write_ndarray<'s, T: Element, D: Dimension>(
        &self,
        selection: impl IntoSelection<'s>,
        values: &ArrayRef<T, D>,
    ) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        self.stored.check_elements_writable()?;
        let located = selection.into_selection().located(self.shape())?;
        check_shape(&located.shape, values.shape())?;
        if values.is_empty() {
            return Ok(());
        }
        match values.as_slice() {
            Some(values) => {
                let source = self.checked_source(as_bytes(values), located.count()?)?;
                self.stored.write_elements(&located.what, source)
            }
            None => self.write_rows(&located, values),
        }
    }

    /// Writes a view in parts of several rows, along the first axis with more than one row.
    fn write_rows<T: Element, D: Dimension>(
        &self,
        located: &LocatedSelection,
        values: &ArrayRef<T, D>,
    ) -> Result<(), Error> {
        let axis = values.shape().iter().position(|&length| length != 1).unwrap_or(0);
        let rows = values.shape().get(axis).copied().unwrap_or(1);
        let size_of_row = (values.len() / rows.max(1)).saturating_mul(size_of::<T>()).max(1);
        let usual = (SCRATCH / size_of_row).max(1);
        let mut scratch: Vec<T> = Vec::new();
        let mut start = 0;
        while start < rows {
            let usual = start..start.saturating_add(usual).min(rows);
            let end = self.end_of_rows(&located.what, usual, rows)?;
            let part = values.slice_axis(Axis(axis), Slice::from(start..end));
            scratch.clear();
            scratch.try_reserve_exact(part.len()).map_err(|_| OutOfMemory { size: part.len() })?;
            scratch.extend(part.iter().copied());
            self.write_part_of(located, start..end, &scratch)?;
            start = end;
        }
        Ok(())
    }

    fn write_part_of<T: Element>(
        &self,
        located: &LocatedSelection,
        rows: Range<usize>,
        values: &[T],
    ) -> Result<(), Error> {
        let bytes = as_bytes(values);
        self.data_type().check(bytes).map_err(|invalid| Error::Elements(invalid.to_string()))?;
        let part = located.what.rows(&rows, self.shape().len());
        self.stored.write_elements(&part, Source::Fixed(FixedElements { bytes, size: size_of::<T>() }))
    }

    /// Returns the end of a part that starts at `rows.start`: the last end of a chunk within `rows`, or the first end
    /// of a chunk after `rows` if there is none within.
    fn end_of_rows(&self, what: &ElementSelection, rows: Range<usize>, all: usize) -> Result<usize, Error> {
        let Some(dimension) = what.dimension_of_rows() else { return Ok(rows.end) };
        let chunk = |row| match what.index_of_row(dimension, row) {
            Some(index) => self.chunk_grid().chunk_of(dimension, index).map(Some),
            None => Ok(None),
        };
        for end in (rows.start + 1..=rows.end).rev().chain(rows.end + 1..all) {
            if end == all || chunk(end - 1)? != chunk(end)? {
                return Ok(end);
            }
        }
        Ok(all)
    }
}

fn check_shape(wanted: &[u64], given: &[usize]) -> Result<(), Error> {
    let given: Vec<u64> = given.iter().map(|&length| length as u64).collect();
    if wanted == given {
        return Ok(());
    }
    Err(Error::Elements(format!("the array has shape {given:?}, but the selection has shape {wanted:?}")))
}
