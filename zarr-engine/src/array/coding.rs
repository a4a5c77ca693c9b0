//! Decoding and encoding chunks without the store: public methods of [`Array`].

use super::Array;
use super::read::whole_chunk;
use crate::elements::ElementArray;
use crate::error::Error;
use crate::memory::OutOfMemory;

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
        self.encode_chunk_with(index, elements, |value| value.map(<[u8]>::to_vec))
    }

    /// Encodes a chunk like [`Array::encode_chunk`], and returns the result of `use_value`. The value that it receives is
    /// in memory of the engine, so that it is not copied.
    ///
    /// # Errors
    ///
    /// See [`Array::encode_chunk`].
    pub fn encode_chunk_with<R>(
        &self,
        index: &[u64],
        elements: &[u8],
        use_value: impl FnMut(Option<&[u8]>) -> R,
    ) -> Result<R, Error> {
        self.stored.check_fallback()?;
        self.stored.check_encodes("written")?;
        let chunk = self.stored.chunk(index)?;
        let count = chunk.element_count().ok_or(OutOfMemory { size: usize::MAX })?;
        let source = self.checked_source(elements, count)?;
        self.stored.encode_value(index, &chunk.shape, &whole_chunk(&chunk.shape)?, source, use_value)
    }
}
