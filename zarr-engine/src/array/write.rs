//! Writing elements: the public methods of [`Array`].

use std::borrow::Cow;

use zarr_metadata::ArrayMetadata;
use zarr_spec::{ArrayRepresentation, ArraySubset, Elements};

use super::Array;
#[cfg(feature = "ndarray")]
use crate::element::{Element, as_bytes, type_matches};
use crate::elements::{WriteElement, joined};
use crate::error::Error;
use crate::selection::{IntoSelection, Selection};
use crate::variable::Variable;
use crate::writer::{FixedElements, Source};

impl Array {
    /// Writes a selection from `bytes`: elements in C order and native byte order, or for elements of variable size
    /// `n + 1` native `u64` offsets and the payload. Chunks that hold nothing but the fill value are not stored.
    ///
    /// # Errors
    ///
    /// When the selection is not in the array, `bytes` has not its size, nothing can be written here, a chunk that is
    /// partly covered cannot be decoded, one cannot be encoded, or the store fails.
    pub fn write<'s>(&self, selection: impl IntoSelection<'s>, bytes: &[u8]) -> Result<(), Error> {
        self.write_selection(&selection.into_selection(), bytes)
    }

    fn write_selection(&self, selection: &Selection, bytes: &[u8]) -> Result<(), Error> {
        self.stored.check_writable()?;
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let source = self.checked_source(bytes, count)?;
        if count == 0 {
            return Ok(());
        }
        self.stored.write_elements(&located.what, source)
    }

    /// The elements in `bytes`, if they are as many, and are elements.
    pub(super) fn checked_source<'b>(&self, bytes: &'b [u8], count: usize) -> Result<Source<'b>, Error> {
        let source = self.source(bytes, count)?;
        // Codecs for elements of variable size look themselves.
        if count > 0 && matches!(source, Source::Fixed(_)) {
            self.data_type().check(bytes).map_err(|invalid| Error::Elements(invalid.to_string()))?;
        }
        Ok(source)
    }

    /// The elements in `bytes`, if they are as many.
    fn source<'b>(&self, bytes: &'b [u8], count: usize) -> Result<Source<'b>, Error> {
        match self.data_type().elements() {
            Elements::Fixed { size, .. } if count.checked_mul(size) == Some(bytes.len()) => {
                Ok(Source::Fixed(FixedElements { bytes, size }))
            }
            Elements::Fixed { size, .. } => {
                let given = bytes.len();
                let name = self.data_type().name();
                Err(Error::Elements(format!("{given} bytes for {count} elements of {size} bytes ({name})")))
            }
            Elements::Variable => {
                let shape = vec![count as u64];
                let array = ArrayRepresentation { shape, ..self.stored.resolved.chunk.clone() };
                let elements = Variable::parse(bytes, &array);
                Ok(Source::Variable(elements.map_err(|error| Error::Elements(error.to_string()))?))
            }
        }
    }

    /// Writes a selection from values of a Rust type, in C order: numbers, [`bool`], text, bytes, or an [`Option`] of
    /// these where elements may be missing.
    ///
    /// # Errors
    ///
    /// As [`Array::write`]; [`Error::Elements`] if the array holds another type.
    pub fn write_values<'s, T: WriteElement>(
        &self,
        selection: impl IntoSelection<'s>,
        values: &[T],
    ) -> Result<(), Error> {
        self.write(selection, &self.bytes_of(values)?)
    }

    /// The bytes of values, or offsets and payload where elements have a variable size.
    fn bytes_of<'v, T: WriteElement>(&self, values: &'v [T]) -> Result<Cow<'v, [u8]>, Error> {
        T::check(&**self.data_type())?;
        if let Some(bytes) = T::as_bytes(values) {
            return Ok(Cow::Borrowed(bytes));
        }
        joined(values).map(Cow::Owned).map_err(|error| Error::Elements(error.to_string()))
    }

    /// Makes the array longer along `dimension` and writes `bytes` there, as [`Array::write`] takes them. Their
    /// number says by how much; the array is as long as its document says now, whoever changed it last.
    ///
    /// The rows are written first, and the new length afterwards: a reader never finds rows that are not written, and
    /// an append that is interrupted leaves the array as it was. Appends to one array through handles of one context
    /// take turns, so that each adds its own rows.
    ///
    /// # Errors
    ///
    /// As [`Array::resize`] and [`Array::write`]. For bytes that are no whole number of rows, or no elements, nothing
    /// is changed. When writing fails, the array keeps its shape.
    pub fn append(&mut self, dimension: usize, bytes: &[u8]) -> Result<(), Error> {
        self.append_if(dimension, bytes, |_| Ok(()))
    }

    /// As [`Array::append`], if `check` accepts the shape that the array has now.
    fn append_if(
        &mut self,
        dimension: usize,
        bytes: &[u8],
        check: impl FnOnce(&[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.stored.check_writable()?;
        let hierarchy = self.hierarchy.clone();
        let path = self.path().clone();
        let _node_lock = hierarchy.lock([&path]);
        let current = self.reopened()?;
        check(current.shape())?;
        let count = current.count_in(bytes)?;
        let (length, end) = current.rows_to_append(dimension, count)?;
        let source = current.checked_source(bytes, count)?;
        let mut shape = current.shape().to_vec();
        shape[dimension] = end;
        let mut added = ArraySubset::whole(&shape).ranges().to_vec();
        added[dimension].start = length;
        let located = Selection::from(added).located(&shape)?;
        if count == 0 {
            *self = current.released();
            return Ok(());
        }
        let metadata = ArrayMetadata { shape, ..current.metadata().clone() };
        let longer = current.changed(metadata)?;
        let written = longer.stored.write_elements(&located.what, source).and_then(|()| longer.publish());
        *self = if written.is_ok() { longer.released() } else { current.released() };
        written
    }

    /// As [`Array::append`], from values that [`Array::write_values`] takes.
    ///
    /// # Errors
    ///
    /// As [`Array::append`]; [`Error::Elements`] if the array holds another type.
    pub fn append_values<T: WriteElement>(&mut self, dimension: usize, values: &[T]) -> Result<(), Error> {
        let bytes = self.bytes_of(values)?;
        self.append(dimension, &bytes)
    }

    /// As [`Array::append`], from an `ndarray` that has the lengths of the array along all other dimensions.
    ///
    /// # Errors
    ///
    /// As [`Array::append_values`]; [`Error::Elements`] for another shape.
    #[cfg(feature = "ndarray")]
    pub fn append_ndarray<T: Element, D: ndarray::Dimension>(
        &mut self,
        dimension: usize,
        values: &ndarray::ArrayRef<T, D>,
    ) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        let given: Vec<u64> = values.shape().iter().map(|&length| length as u64).collect();
        // Another handle may have changed the other dimensions.
        let check = |shape: &[u64]| {
            let fits = |(number, (given, length))| number == dimension || given == length;
            if given.len() == shape.len() && given.iter().zip(shape).enumerate().all(fits) {
                return Ok(());
            }
            Err(Error::Elements(format!(
                "an array of shape {given:?} to append along dimension {dimension} of one of shape {shape:?}"
            )))
        };
        match values.as_slice() {
            Some(values) => self.append_if(dimension, as_bytes(values), check),
            None => {
                let values = values.iter().copied().collect::<Vec<_>>();
                self.append_if(dimension, as_bytes(&values), check)
            }
        }
    }

    /// How many elements there are in `bytes`.
    fn count_in(&self, bytes: &[u8]) -> Result<usize, Error> {
        let size = bytes.len();
        let name = self.data_type().name();
        let count = match self.data_type().elements() {
            Elements::Fixed { size: element, .. } => {
                size.checked_div(element).filter(|count| count * element == size)
            }
            Elements::Variable => Variable::count_in(bytes),
        };
        count.ok_or_else(|| {
            Error::Elements(format!("{size} bytes are not a whole number of elements of type {name}"))
        })
    }

    /// The length along `dimension` as it is, and as it is with `count` more elements.
    fn rows_to_append(&self, dimension: usize, count: usize) -> Result<(u64, u64), Error> {
        let shape = self.shape();
        let count = count as u64;
        let Some(&length) = shape.get(dimension) else {
            let rank = shape.len();
            return Err(Error::Selection(format!("dimension {dimension} of an array of {rank} dimensions")));
        };
        let mut others = shape.iter().enumerate().filter(|&(other, _)| other != dimension);
        let row = others.try_fold(1u64, |row, (_, &length)| row.checked_mul(length));
        let row = row.filter(|&row| row > 0 && count.is_multiple_of(row));
        let end = row.and_then(|row| length.checked_add(count / row)).ok_or_else(|| {
            let what = format!("{count} elements are not a whole number of rows along dimension {dimension}");
            Error::Elements(what)
        })?;
        Ok((length, end))
    }
}
