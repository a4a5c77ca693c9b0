//! Writing elements: public methods of [`Array`].

use std::borrow::Cow;

use zarr_json::counted;
use zarr_spec::{ArraySubset, Elements};

use super::Array;
#[cfg(feature = "ndarray")]
use crate::element::{Element, as_bytes, type_matches};
use crate::elements::{WriteElement, joined};
use crate::error::Error;
use crate::hierarchy::DocumentChange;
use crate::selection::{IntoSelection, Selection};
use crate::variable::Variable;
use crate::writer::{FixedElements, Source};

#[derive(Clone, Copy)]
struct Rows<'r> {
    dimension: usize,
    bytes: &'r [u8],
    check: &'r dyn Fn(&[u64]) -> Result<(), Error>,
}

impl Array {
    /// Writes a selection from `bytes`: elements in C order and native byte order, or for elements of variable size `n
    /// + 1` native `u64` offsets followed by the payload. Chunks that hold only the fill value are not stored.
    ///
    /// # Errors
    ///
    /// If the selection is outside of the array, `bytes` does not have the size of the selection, the array is read
    /// only, a chunk that is partly covered cannot be decoded, a chunk cannot be encoded, or the store fails.
    pub fn write<'s>(&self, selection: impl IntoSelection<'s>, bytes: &[u8]) -> Result<(), Error> {
        self.write_selection(&selection.into_selection(), bytes)
    }

    fn write_selection(&self, selection: &Selection, bytes: &[u8]) -> Result<(), Error> {
        self.stored.check_elements_writable()?;
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let source = self.checked_source(bytes, count)?;
        if count == 0 {
            return Ok(());
        }
        self.stored.write_elements(&located.what, source)
    }

    pub(super) fn checked_source<'b>(&self, bytes: &'b [u8], count: usize) -> Result<Source<'b>, Error> {
        let source = self.source(bytes, count)?;
        // Only elements of fixed size are checked here: codecs check elements of variable size themselves.
        if count > 0 && matches!(source, Source::Fixed(_)) {
            self.data_type().check(bytes).map_err(|invalid| Error::Elements(invalid.to_string()))?;
        }
        Ok(source)
    }

    /// Returns the elements in `bytes`, if there are `count` of them.
    fn source<'b>(&self, bytes: &'b [u8], count: usize) -> Result<Source<'b>, Error> {
        match self.data_type().elements() {
            Elements::Fixed { size, .. } if count.checked_mul(size) == Some(bytes.len()) => {
                Ok(Source::Fixed(FixedElements { bytes, size }))
            }
            Elements::Fixed { size, .. } => {
                let given = counted(bytes.len(), "byte", "bytes");
                let name = self.data_type().name();
                let count = counted(count, "element", "elements");
                let size = counted(size, "byte", "bytes");
                Err(Error::Elements(format!("expected {count} of {size} ({name}), found {given}")))
            }
            Elements::Variable => {
                let shape = vec![count as u64];
                let array = self.stored.resolved.chunk.clone().with_shape(shape);
                let elements = Variable::parse(bytes, &array);
                Ok(Source::Variable(elements.map_err(|error| Error::Elements(error.to_string()))?))
            }
        }
    }

    /// Writes a selection from values of a Rust type, in C order: numbers, [`bool`], strings, bytes, or an [`Option`]
    /// of these if elements may be missing.
    ///
    /// # Errors
    ///
    /// Same as [`Array::write`]; [`Error::Elements`] if the array holds another type.
    pub fn write_values<'s, T: WriteElement>(
        &self,
        selection: impl IntoSelection<'s>,
        values: &[T],
    ) -> Result<(), Error> {
        self.write(selection, &self.bytes_of(values)?)
    }

    /// Returns the bytes of values; for elements of variable size, the offsets and payload.
    fn bytes_of<'v, T: WriteElement>(&self, values: &'v [T]) -> Result<Cow<'v, [u8]>, Error> {
        T::check(&**self.data_type())?;
        if let Some(bytes) = T::as_bytes(values) {
            return Ok(Cow::Borrowed(bytes));
        }
        joined(values).map(Cow::Owned).map_err(|error| Error::Elements(error.to_string()))
    }

    /// Extends the array along `dimension` and writes `bytes` there, in the form that [`Array::write`] takes. The
    /// number of elements determines the new length. The append starts at the current length in the stored document,
    /// which another handle may have changed.
    ///
    /// The rows are written before the new length, so that readers never see rows that are not written, and an
    /// interrupted append leaves the array unchanged. Appends to one array through handles of one context are
    /// serialized, so that each adds its own rows.
    ///
    /// If the store has conditional writes, appends of several programs also each add their own rows. A store of files
    /// uses locks for this. In stores without locks, such as object stores, the length is written before the rows:
    /// after an interrupted append, its rows hold the fill value.
    ///
    /// # Errors
    ///
    /// Same as [`Array::resize`] and [`Array::write`]. If `bytes` is not a whole number of rows or holds invalid
    /// elements, nothing is changed. If writing fails, the array keeps its shape.
    pub fn append(&mut self, dimension: usize, bytes: &[u8]) -> Result<(), Error> {
        self.append_if(dimension, bytes, |_| Ok(()))
    }

    /// Like [`Array::append`], if `check` accepts the current shape.
    ///
    /// In a store with locks, only one program at a time appends: it writes the rows before the length. In a store that
    /// has conditional writes but no locks, the new length is written first: it reserves the rows for this program.
    fn append_if(
        &mut self,
        dimension: usize,
        bytes: &[u8],
        check: impl Fn(&[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.stored.check_elements_writable()?;
        let hierarchy = self.hierarchy.clone();
        let path = self.path().clone();
        let _node_lock = hierarchy.lock([&path]);
        let shape_lock = hierarchy.lock_shape(&path)?;
        hierarchy.change_document(|change| {
            let reserves = shape_lock.is_none() && change.is_conditional();
            self.append_once(change, reserves, Rows { dimension, bytes, check: &check })
        })
    }

    /// Appends rows. Returns [`Error::Conflict`] if another program changes the document meanwhile.
    fn append_once(
        &mut self,
        change: &DocumentChange<'_>,
        reserves: bool,
        rows: Rows<'_>,
    ) -> Result<(), Error> {
        let Rows { dimension, bytes, check } = rows;
        let current = self.reopened(change)?;
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
        let mut metadata = current.metadata().clone();
        metadata.shape = shape;
        let longer = current.changed(metadata)?;
        if reserves {
            longer.publish(change)?;
            let written = longer.stored.while_growing().write_elements(&located.what, source);
            *self = longer.released();
            return written;
        }
        let written =
            longer.stored.write_elements(&located.what, source).and_then(|()| longer.publish(change));
        *self = if written.is_ok() { longer.released() } else { current.released() };
        written
    }

    /// Like [`Array::append`], from values as for [`Array::write_values`].
    ///
    /// # Errors
    ///
    /// Same as [`Array::append`]; [`Error::Elements`] if the array holds another type.
    pub fn append_values<T: WriteElement>(&mut self, dimension: usize, values: &[T]) -> Result<(), Error> {
        let bytes = self.bytes_of(values)?;
        self.append(dimension, &bytes)
    }

    /// Like [`Array::append`], from an `ndarray` that has the shape of the array except along `dimension`.
    ///
    /// # Errors
    ///
    /// Same as [`Array::append_values`]; [`Error::Elements`] if the shapes differ.
    #[cfg(feature = "ndarray")]
    pub fn append_ndarray<T: Element, D: ndarray::Dimension>(
        &mut self,
        dimension: usize,
        values: &ndarray::ArrayRef<T, D>,
    ) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        let given: Vec<u64> = values.shape().iter().map(|&length| length as u64).collect();
        // Another handle may have changed the lengths of the other dimensions, so this is called with the stored shape.
        let check = |shape: &[u64]| {
            let fits = |(number, (given, length))| number == dimension || given == length;
            if given.len() == shape.len() && given.iter().zip(shape).enumerate().all(fits) {
                return Ok(());
            }
            Err(Error::Elements(format!(
                "cannot append shape {given:?} along dimension {dimension} of an array of shape {shape:?}"
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

    /// Returns the current length along `dimension`, and the length after `count` elements are appended.
    fn rows_to_append(&self, dimension: usize, count: usize) -> Result<(u64, u64), Error> {
        let shape = self.shape();
        let count = count as u64;
        let Some(&length) = shape.get(dimension) else {
            let rank = shape.len();
            return Err(Error::Selection(format!(
                "dimension {dimension} does not exist in an array of {rank} dimensions"
            )));
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
