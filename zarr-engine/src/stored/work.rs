//! Runs work on the threads of the context.

use rayon::prelude::*;

use super::StoredArray;
use crate::context::{PARALLEL, PORTION, Threads};
use crate::error::Error;
use crate::flight;

impl StoredArray {
    /// Calls `work` with each number below `count`, on several threads if the `total` number of bytes is large enough.
    /// The caller holds no lock and no memory, because rayon runs other jobs while it waits.
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
            let numbers = (0..count).into_par_iter().with_min_len(portion).with_max_len(portion);
            numbers.try_for_each(work)
        })
    }

    /// Returns whether `count` jobs on `total` bytes are worth several threads.
    pub(crate) fn is_parallel(&self, count: usize, total: usize) -> bool {
        count > 1 && total >= PARALLEL && !matches!(self.context().threads(), Threads::Caller)
    }
}
