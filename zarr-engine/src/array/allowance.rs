//! What a chunk may take of the memory budget.

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::Pipeline;

use super::{ArrayInner, Scratch};
use crate::budget::{MemoryBudget, Permit};
use crate::error::Error;
use crate::needs;
use crate::pipeline::Bounds;

/// Values that are no larger by their bound are not asked for their size before they are read.
const NOT_ASKED: u64 = 1 << 20;

/// What a buffer of unknown size may have at first. Where that is too little, the chunk is decoded once more.
const UNKNOWN: u64 = 16 << 20;

/// By how much more it may have then.
const MORE: u64 = 8;

/// What the chunk at hand may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// Bytes of its encoded value.
    pub(crate) encoded: u64,
    /// Bytes of each buffer of unknown size.
    pub(crate) unknown: u64,
}

/// A chunk that memory is needed for.
#[derive(Clone, Copy)]
pub(crate) struct Needing<'c> {
    pub(crate) cell: &'c [u64],
    pub(crate) pipeline: &'c Pipeline,
    /// Bytes of its encoded value, where they are known.
    pub(crate) encoded: Option<u64>,
}

impl ArrayInner {
    /// The memory budget of the context.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.context().budget
    }

    /// Runs `work` once there is memory for the chunk: `need` bytes for what it is allowed. Where it turns out to be
    /// larger, `work` runs again with a larger allowance; it may do all it does twice.
    ///
    /// # Errors
    ///
    /// Those of `work`; [`Error::OverBudget`] for a chunk that needs more than the whole budget.
    pub(crate) fn with_memory<R>(
        &self,
        chunk: Needing<'_>,
        need: impl Fn(Allowance) -> u64,
        work: impl FnMut(&mut Scratch, Allowance) -> Result<R, Error>,
    ) -> Result<R, Error> {
        Ok(self.with_memory_and_permit(chunk, need, 0, work)?.0)
    }

    /// The same, and a permit for `more` bytes that lasts longer; all memory is taken in one step.
    ///
    /// # Errors
    ///
    /// As [`Self::with_memory`].
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
            self.check_need(chunk.cell, need.saturating_add(more))?;
            let (result, permit) = self.budget().with_scratch_and_permit(need, more, |scratch| {
                scratch.stages.set_unknown(allowance.unknown);
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
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`].
    pub(crate) fn check_need(&self, cell: &[u64], needed: u64) -> Result<(), Error> {
        if needed <= self.budget().size() {
            return Ok(());
        }
        Err(self.over_budget(cell, Some(needed)))
    }

    /// The error for a chunk that needs more than the whole budget.
    fn over_budget(&self, cell: &[u64], needed: Option<u64>) -> Error {
        let key = self.key(cell).map_or_else(|_| String::new(), |key| key.to_string());
        let budget = self.budget().size();
        Error::OverBudget { path: self.path.clone(), index: cell.to_vec(), key, needed, budget }
    }

    /// What buffers of unknown size may have at first.
    pub(crate) fn first_unknown(&self, pipeline: &Pipeline, encoded: u64) -> u64 {
        // Writing takes several such buffers.
        UNKNOWN.min(self.most_unknown(pipeline, encoded) / 16)
    }

    /// What buffers of unknown size may have at most.
    fn most_unknown(&self, pipeline: &Pipeline, encoded: u64) -> u64 {
        self.budget().size().saturating_sub(encoded) / needs::unknown_buffers(pipeline).max(1)
    }

    /// What a chunk may take at first.
    pub(crate) fn first_allowance(&self, chunk: Needing<'_>) -> Result<Allowance, Error> {
        let encoded = match chunk.encoded {
            Some(encoded) => encoded,
            None => self.expected_value(chunk.cell, chunk.pipeline)?,
        };
        Ok(Allowance { encoded, unknown: self.first_unknown(chunk.pipeline, encoded) })
    }

    /// Bytes that the value of a chunk probably has. Large ones are asked for their size, where that takes no round trip or
    /// where the budget has less memory: they may be missing.
    pub(crate) fn expected_value(&self, cell: &[u64], pipeline: &Pipeline) -> Result<u64, Error> {
        let bound = pipeline.encoded_size.limit();
        let is_far = self.resolved.store.read_hints().max_concurrency > 0;
        match bound {
            Some(bound) if bound <= NOT_ASKED => Ok(bound),
            _ if is_far && bound.is_none_or(|bound| bound <= self.budget().size()) => {
                Ok(bound.unwrap_or(NOT_ASKED))
            }
            None => Ok(NOT_ASKED),
            Some(_) => Ok(self.stored_size(cell)?.unwrap_or(0)),
        }
    }

    /// What a chunk may take that was larger than `now`, as `error` says. No memory is held.
    pub(crate) fn larger_allowance(
        &self,
        chunk: Needing<'_>,
        now: Allowance,
        error: Error,
    ) -> Result<Allowance, Error> {
        if chunk.encoded.is_none()
            && let Some(encoded) = self.stored_size(chunk.cell)?.filter(|&size| size > now.encoded)
        {
            return Ok(Allowance { encoded, unknown: self.first_unknown(chunk.pipeline, encoded) });
        }
        let most = self.most_unknown(chunk.pipeline, now.encoded);
        if needs::unknown_buffers(chunk.pipeline) == 0 {
            return Err(if self.is_over_budget(&error) { self.over_budget(chunk.cell, None) } else { error });
        }
        if now.unknown >= most {
            return Err(self.over_budget(chunk.cell, None));
        }
        Ok(Allowance { unknown: now.unknown.saturating_mul(MORE).min(most), ..now })
    }

    /// Whether something was larger than the whole budget.
    fn is_over_budget(&self, error: &Error) -> bool {
        let Error::Chunk { source, .. } = error else { return false };
        matches!(**source, CodecError::TooLarge(limit) if limit.limit as u64 >= self.budget().size())
    }

    /// Bytes of the stored value of a chunk.
    pub(crate) fn stored_size(&self, cell: &[u64]) -> Result<Option<u64>, Error> {
        for key in self.keys(cell)? {
            if let Some(size) = self.resolved.store.size(&key)? {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    /// The limits of the buffers that the chunk at hand is decoded and encoded in.
    pub(crate) fn bounds(&self, unknown: u64) -> Bounds {
        Bounds { chunk: unknown, value: self.budget().size() }
    }
}

/// Whether something was larger than it was allowed to be.
pub(crate) fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::Chunk { source, .. } if matches!(**source, CodecError::TooLarge(_)))
}
