//! The stored values of chunks.

use bytes::Bytes;
use zarr_spec::store::{GetOptions, GetResult, Store, StoreError, get_value};
use zarr_spec::{ByteRange, CodecError, Key, Output};

use super::{StoredArray, is_too_large};
use crate::budget::Permit;
use crate::error::Error;

impl StoredArray {
    /// Reads part of the value of a chunk, to `output` or as shared bytes.
    pub(crate) fn get(
        &self,
        index: &[u64],
        range: ByteRange,
        output: &mut Output<'_>,
    ) -> Result<Option<GetResult>, Error> {
        self.get_as(index, range.into(), output)
    }

    /// Like [`Self::get`], for bytes that no cache of encoded values should hold.
    pub(crate) fn get_once(
        &self,
        index: &[u64],
        range: ByteRange,
        output: &mut Output<'_>,
    ) -> Result<Option<GetResult>, Error> {
        self.get_as(index, GetOptions::uncached(range), output)
    }

    /// Like [`Self::get`], with `options`.
    pub(super) fn get_as(
        &self,
        index: &[u64],
        options: GetOptions,
        output: &mut Output<'_>,
    ) -> Result<Option<GetResult>, Error> {
        let got = self.get_with(index, |store, key| store.get(key, options, output));
        // Stores report a lack of memory as an exceeded limit.
        got.map_err(|error| match output.out_of_memory() {
            Some(size) => self.chunk_error(index, CodecError::OutOfMemory { size }),
            None => error,
        })
    }

    /// Calls `get` with the possible keys of a chunk, until one has a value. A value that is too large is an error of
    /// the chunk.
    fn get_with<T>(
        &self,
        index: &[u64],
        mut get: impl FnMut(&dyn Store, &Key) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, Error> {
        let mut get = |key: &Key| {
            get(&*self.resolved.store, key).map_err(|error| match error {
                StoreError::TooLarge { source, .. } => self.chunk_error(index, CodecError::from(source)),
                error => error.into(),
            })
        };
        if !index.is_empty() {
            return self.with_key(index, get);
        }
        for key in self.keys(index)? {
            if let Some(got) = get(&key)? {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    pub(crate) fn stored_value(&self, index: &[u64]) -> Result<(Option<Bytes>, Permit<'_>), Error> {
        let shape = self.chunk(index)?.shape;
        let mut size = self.expected_value(index, &*self.pipeline(index, &shape)?)?;
        loop {
            self.check_need(index, size)?;
            let mut permit = self.budget().acquire(size);
            match self.value_below(index, usize::try_from(size).unwrap_or(usize::MAX)) {
                Err(error) if is_too_large(&error) => {
                    drop(permit);
                    match self.stored_size(index)? {
                        Some(stored) if stored > size => size = stored,
                        _ => return Err(error),
                    }
                }
                value => {
                    let value = value?;
                    permit.resize(value.as_ref().map_or(0, Bytes::len) as u64);
                    return Ok((value, permit));
                }
            }
        }
    }

    pub(crate) fn value_below(&self, index: &[u64], limit: usize) -> Result<Option<Bytes>, Error> {
        self.get_with(index, |store, key| get_value(store, key, limit))
    }
}
