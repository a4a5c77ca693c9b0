//! Runs work on the threads of the context.

use super::StoredArray;
use crate::error::Error;
use crate::flight;
use crate::parallel;
use crate::threads::Threads;
use crate::threads::{PARALLEL, PORTION};

impl StoredArray {
    /// Calls `work` with each number below `count`, on several threads if the `total` number of bytes is large enough.
    /// The caller holds no lock and no memory, because rayon runs other jobs while it waits.
    pub(crate) fn for_each(
        &self,
        count: usize,
        total: usize,
        work: impl Fn(usize) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        let work = |number| {
            self.context().check_cancelled()?;
            work(number)
        };
        if !self.is_parallel(count, total) {
            return (0..count).try_for_each(work);
        }
        let context = self.context();
        if let Threads::Scoped(threads) = context.threads {
            return flight::each(count, threads, work);
        }
        // An idle thread can take over any portion that has not started, so portions are small. By default, rayon would
        // divide the work for two threads into only four portions.
        let worthwhile = PORTION.checked_div(total / count).unwrap_or(count).max(1);
        let portion = worthwhile.min(count.div_ceil(16 * context.thread_count()));
        parallel::try_each(&context.threads, 0..count, portion, work)
    }

    /// Counts the chunks of a new operation as planned in the progress of the context.
    pub(crate) fn plan_progress(&self, chunks: usize) {
        if let Some(progress) = self.context().progress() {
            progress.plan(chunks);
        }
    }

    pub(crate) fn advance_progress(&self, chunks: usize) {
        if let Some(progress) = self.context().progress() {
            progress.advance(chunks);
        }
    }

    /// Returns whether `count` jobs on `total` bytes are worth several threads.
    pub(crate) fn is_parallel(&self, count: usize, total: usize) -> bool {
        count > 1 && total >= PARALLEL && !matches!(self.context().threads(), Threads::Caller)
    }
}
