//! Decoding and encoding chunks without the store: public methods of [`Array`].

use std::fmt;

use super::Array;
use super::read::whole_chunk;
use crate::elements::ElementArray;
use crate::error::Error;
use crate::memory::OutOfMemory;
use crate::plan::Run;
use crate::selection::ElementSelection;
use crate::writer::Source;

/// Elements in memory from which [`Array::encode_chunk_from`] encodes chunks; see [`Array::chunk_source`].
#[derive(Clone, Copy)]
pub struct ChunkSource<'a> {
    elements: Source<'a>,
    count: usize,
}

impl fmt::Debug for ChunkSource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ChunkSource").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Array {
    /// Decodes a chunk, given the bytes of its value, for programs that fetch values themselves. The store is not used.
    ///
    /// `encoded` is the value of [`Array::chunk_key`], or `None` if the key is missing; then all elements are the fill
    /// value. The result has the shape of the chunk, including elements outside of the array.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, or the bytes cannot be decoded.
    pub fn decode_chunk(&self, index: &[u64], encoded: Option<&[u8]>) -> Result<ElementArray, Error> {
        self.whole_chunk(index, |shape, region| self.stored.decode_value(index, shape, encoded, region))
    }

    /// Encodes a chunk, for programs that store values themselves. The store is not used, and no lock is acquired.
    ///
    /// `elements` are all elements of the chunk, including those outside of the array, in the form of [`Array::write`].
    /// Returns the value to store at [`Array::chunk_key`], or `None` if the chunk holds only fill values and the key
    /// should be erased.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, `elements` does not have the size of the chunk, or they cannot be encoded;
    /// [`Error::NotSupported`] if a codec only decodes, or if the data type is a fallback that must not be written.
    pub fn encode_chunk(&self, index: &[u64], elements: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let chunk = self.stored.chunk(index)?;
        let count = chunk.element_count().ok_or(OutOfMemory { size: usize::MAX })?;
        let elements = self.checked_source(elements, count)?;
        self.encode_from(index, elements, &whole_chunk(&chunk.shape)?, |value| value.map(<[u8]>::to_vec))
    }

    /// Returns `count` elements of this array's data type, in the form of [`Array::write`], from which chunks are
    /// encoded.
    ///
    /// # Errors
    ///
    /// [`Error::Elements`] if the bytes are not that many elements, or not valid for the data type.
    pub fn chunk_source<'a>(&self, elements: &'a [u8], count: usize) -> Result<ChunkSource<'a>, Error> {
        Ok(ChunkSource { elements: self.checked_source(elements, count)?, count })
    }

    /// Encodes a chunk like [`Array::encode_chunk`], and returns the result of `use_value`. The elements of the chunk
    /// are a box in `source`, and the value that `use_value` receives is in memory of the engine, so that only codecs
    /// copy them.
    ///
    /// `source` has the shape `shape`, in C order. The box begins at the position `first`.
    ///
    /// # Errors
    ///
    /// Same as [`Array::encode_chunk`]; [`Error::Elements`] if the box is not inside of `shape`, or `shape` is not the
    /// shape of `source`.
    pub fn encode_chunk_from<R>(
        &self,
        index: &[u64],
        source: ChunkSource<'_>,
        shape: &[usize],
        first: &[usize],
        use_value: impl FnMut(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        let chunk = self.stored.chunk(index)?;
        let mut dimensions = chunk.shape.iter().zip(shape).zip(first);
        let is_inside = dimensions.all(|((&length, &shape), &first)| {
            shape.checked_sub(first).is_some_and(|rest| length <= rest as u64)
        });
        let count = shape.iter().try_fold(1_usize, |count, &length| count.checked_mul(length));
        let is_rank = shape.len() == chunk.shape.len() && first.len() == chunk.shape.len();
        if !is_inside || !is_rank || count != Some(source.count) {
            let chunk = &chunk.shape;
            let text =
                format!("a chunk of {chunk:?} elements at {first:?} is not inside of {shape:?} elements");
            return Err(Error::Elements(text));
        }
        let runs = chunk.shape.iter().zip(first).map(|(&length, &out)| {
            let count = usize::try_from(length).map_err(|_| OutOfMemory { size: usize::MAX })?;
            Ok(vec![Run { start: 0, count, step: 1, out }])
        });
        let runs = runs.collect::<Result<_, OutOfMemory>>()?;
        let box_of_source = ElementSelection::Box { runs, counts: shape.to_vec() };
        self.encode_from(index, source.elements, &box_of_source, use_value)
    }

    fn encode_from<R>(
        &self,
        index: &[u64],
        elements: Source<'_>,
        place: &ElementSelection,
        use_value: impl FnMut(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.stored.check_fallback()?;
        self.stored.check_encodes("written")?;
        let chunk = self.stored.chunk(index)?;
        self.stored.encode_value(index, &chunk.shape, place, elements, use_value)
    }
}
