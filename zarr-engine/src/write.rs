//! Writing: the road of reading backwards, under the lock of each chunk.

mod cells;
mod shard;
mod source;

use zarr_spec::{ArrayRepresentation, CodecError, Elements};

use crate::array::Array;
use crate::element::{Element, as_bytes, type_matches};
use crate::error::Error;
use crate::selection::{Along, Selection};
use crate::variable::{Assembly, Variable};

use source::Source;

impl Array {
    /// Writes a selection from `bytes`: elements in C order and native byte order, or for elements of variable size
    /// `n + 1` native `u64` offsets and the payload. Chunks that hold nothing but the fill value are not stored.
    ///
    /// # Errors
    ///
    /// When the selection is not in the array, `bytes` has not its size, nothing can be written here, a chunk that is
    /// partly covered cannot be decoded, one cannot be encoded, or the store fails.
    pub fn write(&self, selection: &Selection, bytes: &[u8]) -> Result<(), Error> {
        self.inner.check_writable()?;
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let source = self.source(bytes, count)?;
        if count == 0 {
            return Ok(());
        }
        // Codecs for elements of variable size look themselves.
        if matches!(source, Source::Fixed { .. }) {
            self.data_type().check(bytes).map_err(|invalid| Error::Elements(invalid.to_string()))?;
        }
        self.inner.write_wanted(&located.what, source)
    }

    /// The elements in `bytes`, if they are as many.
    fn source<'b>(&self, bytes: &'b [u8], count: usize) -> Result<Source<'b>, Error> {
        match self.data_type().elements() {
            Elements::Fixed { size, .. } if count.checked_mul(size) == Some(bytes.len()) => {
                Ok(Source::Fixed { bytes, element: size })
            }
            Elements::Fixed { size, .. } => {
                let (given, name) = (bytes.len(), self.data_type().name());
                Err(Error::Elements(format!("{given} bytes for {count} elements of {size} bytes ({name})")))
            }
            Elements::Variable => {
                let shape = vec![count as u64];
                let array = ArrayRepresentation { shape, ..self.inner.resolved.chunk.clone() };
                let elements = Variable::parse(bytes, &array);
                Ok(Source::Variable(elements.map_err(|error| Error::Elements(error.to_string()))?))
            }
        }
    }

    /// Writes a selection from values of a Rust type, in C order.
    ///
    /// # Errors
    ///
    /// As [`Array::write`]; [`Error::Elements`] if the array holds another type.
    pub fn write_values<T: Element>(&self, selection: &Selection, values: &[T]) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        self.write(selection, as_bytes(values))
    }

    /// Writes a selection of elements of variable size.
    ///
    /// # Errors
    ///
    /// As [`Array::write`]; [`Error::Elements`] if elements have a fixed size.
    pub fn write_variable<T: AsRef<[u8]>>(&self, selection: &Selection, elements: &[T]) -> Result<(), Error> {
        if self.data_type().elements() != Elements::Variable {
            let name = self.data_type().name();
            return Err(Error::Elements(format!("elements of type {name} have a fixed size")));
        }
        let codec = |error: CodecError| Error::Elements(error.to_string());
        let mut assembly = Assembly::with_count(elements.len(), &[]).map_err(codec)?;
        for (position, element) in elements.iter().enumerate() {
            assembly.put(position, element.as_ref());
        }
        self.write(selection, &assembly.finish().map_err(codec)?)
    }

    /// Writes a selection from an `ndarray` of the shape of the selection.
    ///
    /// # Errors
    ///
    /// As [`Array::write_values`]; [`Error::Elements`] for another shape.
    #[cfg(feature = "ndarray")]
    pub fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: &Selection,
        values: &ndarray::ArrayRef<T, D>,
    ) -> Result<(), Error> {
        let wanted = selection.shape(self.shape())?;
        let given: Vec<u64> = values.shape().iter().map(|&length| length as u64).collect();
        if wanted != given {
            return Err(Error::Elements(format!(
                "an array of shape {given:?} for a selection of shape {wanted:?}"
            )));
        }
        match values.as_slice() {
            Some(values) => self.write_values(selection, values),
            None => self.write_values(selection, &values.iter().copied().collect::<Vec<_>>()),
        }
    }

    /// Makes the array longer along `dimension` and writes `bytes` there, as [`Array::write`] takes them. Their
    /// number says by how much.
    ///
    /// # Errors
    ///
    /// As [`Array::resize`] and [`Array::write`]; for bytes that are no whole number of rows nothing is changed.
    pub fn append(&mut self, dimension: usize, bytes: &[u8]) -> Result<(), Error> {
        let (length, end) = self.rows_to_append(dimension, bytes.len() as u64)?;
        let mut shape = self.shape().to_vec();
        shape[dimension] = end;
        self.resize(&shape)?;
        let along = shape.iter().enumerate().map(|(other, &stop)| {
            let start = if other == dimension { length } else { 0 };
            Along::Range { start, stop, step: 1 }
        });
        self.write(&Selection::Dimensions(along.collect()), bytes)
    }

    /// The length along `dimension` as it is, and as it is with `size` more bytes of rows.
    fn rows_to_append(&self, dimension: usize, size: u64) -> Result<(u64, u64), Error> {
        let Elements::Fixed { size: element, .. } = self.data_type().elements() else {
            let what = "elements of variable size are appended by resizing and writing";
            return Err(Error::Elements(what.to_owned()));
        };
        let shape = self.shape();
        let Some(&length) = shape.get(dimension) else {
            let rank = shape.len();
            return Err(Error::Selection(format!("dimension {dimension} of an array of {rank} dimensions")));
        };
        let others = shape.iter().enumerate().filter(|&(other, _)| other != dimension);
        let row = others.map(|(_, &length)| length).try_fold(element as u64, u64::checked_mul);
        let row = row.filter(|&row| row > 0 && size.is_multiple_of(row));
        let end = row.and_then(|row| length.checked_add(size / row)).ok_or_else(|| {
            Error::Elements(format!("{size} bytes are no whole number of rows along dimension {dimension}"))
        })?;
        Ok((length, end))
    }
}
