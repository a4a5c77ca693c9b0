//! Changing the stored values of chunks, so that no change of another program is lost.

use zarr_spec::store::{Condition, GetOptions, GetResult, StoreError};
use zarr_spec::{ByteRange, Output};

use super::StoredArray;
use super::clear::Guard;
use crate::error::Error;

pub(crate) struct OldValue {
    /// The value; `None` if the chunk is missing.
    pub(crate) found: Option<GetResult>,
    /// The condition for storing the new value; `None` if the store does not have conditional writes.
    condition: Option<Condition>,
}

impl StoredArray {
    /// Reads the value of a chunk that is about to be changed. Refuses a store without conditional writes if the
    /// context requires them.
    pub(crate) fn get_to_change(&self, chunk: &[u64], output: &mut Output<'_>) -> Result<OldValue, Error> {
        let is_conditional = self.context().check_conditions(&*self.resolved.store)?;
        // The old value of a zero-dimensional array may have another key than the new one, so no condition applies.
        if !is_conditional || self.place.scalar_key.is_some_and(|_| chunk.is_empty()) {
            let found = self.get_once(chunk, ByteRange::Full, output)?;
            return Ok(OldValue { found, condition: None });
        }
        let found = self.get_as(chunk, GetOptions::for_update(ByteRange::Full), output)?;
        let condition = match &found {
            Some(found) => Condition::of(found.version.as_ref()).ok_or_else(|| self.no_version(chunk))?,
            None => Condition::Missing,
        };
        Ok(OldValue { found, condition: Some(condition) })
    }

    fn no_version(&self, chunk: &[u64]) -> Error {
        let key = self.key(chunk).map_or_else(|_| String::new(), |key| key.to_string());
        StoreError::io("reading", key, "the store has conditional writes, but returned no version").into()
    }

    /// Returns whether a changed chunk that holds only fill values is stored, because it cannot be erased under a
    /// condition.
    pub(crate) fn cannot_erase(&self, old: &OldValue) -> bool {
        let is_unchanged = matches!(old.condition, Some(Condition::Unchanged(_)));
        is_unchanged && !self.resolved.store.capabilities().conditional_erase
    }

    pub(crate) fn storing_fill_values(&self) -> Self {
        let context = self.context().clone().with_empty_chunks();
        Self { guard: self.guard.clone(), ..self.replaced(self.resolved.clone(), context.into()) }
    }

    /// Returns the same array for writing while other programs append to it: a chunk that is partly outside of the
    /// array is read and changed, because it may hold their rows.
    pub(crate) fn while_growing(&self) -> Self {
        let mut context = self.context().clone();
        context.may_grow = true;
        self.replaced(self.resolved.clone(), context.into())
    }

    /// Stores the new value of a chunk, or erases it. Returns `false` if another program changed it since `old` was
    /// read: then nothing is written. The caller holds the lock of the chunk.
    pub(crate) fn store_changed(
        &self,
        chunk: &[u64],
        value: Option<&[u8]>,
        old: &OldValue,
    ) -> Result<bool, Error> {
        let Some(condition) = &old.condition else { return self.store(chunk, value).map(|()| true) };
        self.check_need(chunk, value.map_or(0, <[u8]>::len) as u64)?;
        self.forget_index(chunk);
        self.guard.as_deref().map_or(Ok(()), Guard::check)?;
        let store = &self.resolved.store;
        let is_supported = |value: Option<&[u8]>| {
            let can = store.capabilities();
            if value.is_some() { can.conditional_set } else { can.conditional_erase }
        };
        self.with_key(chunk, |key| {
            let written = match (value, condition) {
                (Some(value), condition) => store.set_if(key, value.into(), condition),
                (None, Condition::Unchanged(version)) => store.erase_if(key, version),
                // The chunk was missing, so there is nothing to erase.
                (None, Condition::Missing) => return Ok(true),
            };
            match written {
                // The first conditional write or deletion has found that the server ignores conditions: the change
                // starts again.
                Err(StoreError::NotSupported { .. }) if !is_supported(value) => Ok(false),
                written => Ok(!written?.is_conflict()),
            }
        })
    }
}
