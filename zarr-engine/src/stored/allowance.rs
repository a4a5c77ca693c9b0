//! The memory that reading or writing a chunk may take.

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::Pipeline;

use super::StoredArray;
use crate::budget::Permit;
use crate::error::{Error, OverBudget};
use crate::needs;
use crate::pipeline::Bounds;
use crate::scratch::Scratch;

/// Maximum expected size in bytes of values whose actual size is not requested from the store.
const NOT_ASKED: u64 = 1 << 20;

/// The first limit of a buffer of unknown size, in bytes. If it is exceeded, the chunk is decoded again with a larger
/// limit.
const UNKNOWN: u64 = 16 << 20;

/// The factor from one limit to the next.
const MORE: u64 = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// The size of the chunk's encoded value in bytes.
    pub(crate) encoded: u64,
    /// The limit of each buffer of unknown size in bytes.
    pub(crate) unknown: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Needing<'c> {
    pub(crate) chunk: &'c [u64],
    pub(crate) pipeline: &'c Pipeline,
    /// The size of the chunk's encoded value in bytes, if it is known.
    pub(crate) encoded: Option<u64>,
}

impl StoredArray {
    /// Acquires the memory that `need` computes for an allowance, and runs `work`. If a buffer turns out to be too small,
    /// runs `work` again with a larger allowance. A chunk that needs more than the whole budget is
    /// [`Error::OverBudget`].
    pub(crate) fn with_memory<R>(
        &self,
        chunk: Needing<'_>,
        need: impl Fn(Allowance) -> u64,
        work: impl FnMut(&mut Scratch, Allowance) -> Result<R, Error>,
    ) -> Result<R, Error> {
        Ok(self.with_memory_and_permit(chunk, need, 0, work)?.0)
    }

    /// Like [`Self::with_memory`], with a permit for `more` bytes that outlives `work`. All memory is acquired in one
    /// step.
    pub(crate) fn with_memory_and_permit<R>(
        &self,
        chunk: Needing<'_>,
        need: impl Fn(Allowance) -> u64,
        more: u64,
        mut work: impl FnMut(&mut Scratch, Allowance) -> Result<R, Error>,
    ) -> Result<(R, Permit<'_>), Error> {
        let mut allowance = self.first_allowance(chunk)?;
        loop {
            let need = need(allowance);
            self.check_need(chunk.chunk, need.saturating_add(more))?;
            let (result, permit) = self.budget().with_scratch_and_permit(need, more, |scratch| {
                scratch.stages.unknown = allowance.unknown;
                work(scratch, allowance)
            });
            match result {
                Ok(result) => return Ok((result, permit)),
                Err(error) if is_too_large(&error) => {
                    drop(permit);
                    allowance = self.larger_allowance(chunk, allowance, error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Refuses a chunk that needs more than the whole budget.
    pub(crate) fn check_need(&self, chunk: &[u64], needed: u64) -> Result<(), Error> {
        if needed <= self.budget().size() {
            return Ok(());
        }
        Err(self.over_budget(chunk, Some(needed)))
    }

    fn over_budget(&self, chunk: &[u64], needed: Option<u64>) -> Error {
        let key = self.key(chunk).map_or_else(|_| String::new(), |key| key.to_string());
        let budget = self.budget().size();
        let setting = self.context.limits().memory_setting;
        OverBudget { path: self.path.clone(), index: chunk.to_vec(), key, needed, budget, setting }.into()
    }

    /// Returns the first limit of buffers of unknown size.
    pub(crate) fn first_unknown(&self, pipeline: &Pipeline, encoded: u64) -> u64 {
        // The first limit is a fraction of the largest one, because writing takes several such buffers.
        UNKNOWN.min(self.most_unknown(pipeline, encoded) / 16)
    }

    /// Returns the largest limit of buffers of unknown size.
    fn most_unknown(&self, pipeline: &Pipeline, encoded: u64) -> u64 {
        self.budget().size().saturating_sub(encoded) / needs::unknown_buffers(pipeline).max(1)
    }

    pub(crate) fn first_allowance(&self, chunk: Needing<'_>) -> Result<Allowance, Error> {
        let encoded = match chunk.encoded {
            Some(encoded) => encoded,
            None => self.expected_value(chunk.chunk, chunk.pipeline)?,
        };
        Ok(Allowance { encoded, unknown: self.first_unknown(chunk.pipeline, encoded) })
    }

    /// Returns the expected size of the value of a chunk in bytes. If the bound is large, the actual size is requested
    /// from the store, provided that this takes no round trip or the bound exceeds the budget. The chunk may be
    /// missing.
    pub(crate) fn expected_value(&self, chunk: &[u64], pipeline: &Pipeline) -> Result<u64, Error> {
        let bound = pipeline.encoded_size.limit();
        match bound {
            Some(bound) if bound <= NOT_ASKED => Ok(bound),
            _ if self.is_far() && bound.is_none_or(|bound| bound <= self.budget().size()) => {
                Ok(bound.unwrap_or(NOT_ASKED))
            }
            None => Ok(NOT_ASKED),
            Some(_) => Ok(self.stored_size(chunk)?.unwrap_or(0)),
        }
    }

    /// Returns the next larger allowance, after `now` was too small and caused `error`. The caller holds no memory.
    pub(crate) fn larger_allowance(
        &self,
        chunk: Needing<'_>,
        now: Allowance,
        error: Error,
    ) -> Result<Allowance, Error> {
        if chunk.encoded.is_none()
            && let Some(encoded) = self.stored_size(chunk.chunk)?.filter(|&size| size > now.encoded)
        {
            return Ok(Allowance { encoded, unknown: self.first_unknown(chunk.pipeline, encoded) });
        }
        let most = self.most_unknown(chunk.pipeline, now.encoded);
        if needs::unknown_buffers(chunk.pipeline) == 0 {
            return Err(if self.is_over_budget(&error) {
                self.over_budget(chunk.chunk, None)
            } else {
                error
            });
        }
        if now.unknown >= most {
            return Err(self.over_budget(chunk.chunk, None));
        }
        Ok(Allowance { unknown: now.unknown.saturating_mul(MORE).min(most), ..now })
    }

    /// Returns whether the limit that caused an error was the whole budget.
    fn is_over_budget(&self, error: &Error) -> bool {
        let Error::Chunk(error) = error else { return false };
        matches!(error.source, CodecError::TooLarge(limit) if limit.limit as u64 >= self.budget().size())
    }

    /// Returns the size of the stored value of a chunk in bytes.
    pub(crate) fn stored_size(&self, chunk: &[u64]) -> Result<Option<u64>, Error> {
        for key in self.keys(chunk)? {
            if let Some(size) = self.resolved.store.size(&key)? {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    pub(crate) fn bounds(&self, unknown: u64) -> Bounds {
        Bounds { chunk: unknown, value: self.budget().size() }
    }
}

/// Returns whether the cause of an error is a value or buffer that exceeded its limit.
pub(crate) fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::Chunk(error) if matches!(error.source, CodecError::TooLarge(_)))
}
