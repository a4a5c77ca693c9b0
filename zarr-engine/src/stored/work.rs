//! Runs work on the threads of the context.

use super::StoredArray;
use crate::context::{PARALLEL, PORTION, Threads};
use crate::error::Error;
use crate::flight;
use crate::parallel;

impl StoredArray {
    /// Calls `work` with each number below `count`, on several threads where that pays for `total` bytes. The caller holds
    /// no lock and no memory: while rayon waits, it runs other jobs.
    pub(crate) fn for_each(
        &self,
        count: usize,
        total: usize,
        work: impl Fn(usize) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        if !self.is_parallel(count, total) {
            return (0..count).try_for_each(work);
        }
        let context = self.context();
        if let Threads::Scoped(threads) = context.threads {
            return flight::each(count, threads, work);
        }
        context.run(|| {
            // An idle thread can take over any portion that has not started. By default, two threads would get portions of
            // a quarter of all numbers.
            let worthwhile = PORTION.checked_div(total / count).unwrap_or(count).max(1);
            let portion = worthwhile.min(count.div_ceil(16 * context.thread_count()));
            parallel::try_each(0..count, portion, work)
        })
    }

    /// Whether several threads pay for `count` pieces of work on `total` bytes.
    pub(crate) fn is_parallel(&self, count: usize, total: usize) -> bool {
        count > 1 && total >= PARALLEL && !matches!(self.context().threads(), Threads::Caller)
    }
}
