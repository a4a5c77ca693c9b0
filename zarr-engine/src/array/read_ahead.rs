//! Reads selections in turn, while the next ones are fetched and decoded.

use std::collections::VecDeque;
use std::panic;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use zarr_spec::Elements;

use super::Array;
use crate::elements::ElementArray;
use crate::error::Error;
use crate::selection::Selection;

/// Maximum size in bytes of the elements of a batch of several selections.
const BATCH_SIZE: u64 = 32 << 20;

/// The elements of a batch take at most the memory budget divided by this number.
const FRACTION: u64 = 8;

/// The number of selections grows by this factor from each batch to the next. Small first batches return the first
/// result early, and waste little if the caller stops early.
const GROWTH: usize = 4;

/// The assumed size of an element of variable size in bytes.
const VARIABLE_SIZE: u64 = 32;

/// The interval at which a thread of a rayon pool checks whether a batch is complete. Between two checks, the thread
/// runs other jobs.
const INTERVAL: Duration = Duration::from_micros(100);

type Results = VecDeque<Result<ElementArray, Error>>;

impl Array {
    /// Reads selections in turn, and the next ones ahead, while the caller uses the elements of the previous selection.
    ///
    /// The iterator returns what [`Array::read`] returns for each selection, in order. From a remote store, many small
    /// reads take a few round trips together instead of one or more each. Selections that are read together fetch a
    /// chunk that several of them need only once.
    ///
    /// A batch of selections is read on a thread, as [`Array::read_many`] does, while the caller takes the elements of the
    /// batch before. Batches grow from one selection until their elements fill 32 MiB, or an eighth of the memory budget
    /// if that is less. Nothing is read before the first call of `next`. Dropping the iterator waits for the batch that
    /// is being read.
    ///
    /// ```
    /// # use zarr_engine::{Array, Error};
    /// fn sum(array: &Array) -> Result<u64, Error> {
    ///     let rows = (0..array.shape()[0]).map(|row| row..row + 1);
    ///     let mut sum = 0;
    ///     for elements in array.read_ahead(rows) {
    ///         sum += elements?.as_slice::<u32>()?.iter().map(|&value| u64::from(value)).sum::<u64>();
    ///     }
    ///     Ok(sum)
    /// }
    /// ```
    pub fn read_ahead<I>(&self, selections: I) -> ReadAhead<I::IntoIter>
    where
        I: IntoIterator<Item: Into<Selection>>,
    {
        ReadAhead {
            array: self.clone(),
            selections: selections.into_iter(),
            next: None,
            most: 1,
            ready: Results::new(),
            reading: Batch::default(),
        }
    }

    /// Reads the selections of a batch. After an error, each selection is read separately, so that it has its own result.
    fn read_batch(&self, selections: &[Selection]) -> Results {
        match self.read_many(selections) {
            Ok(arrays) => arrays.into_iter().map(Ok).collect(),
            Err(error) if selections.len() == 1 => Results::from([Err(error)]),
            Err(_) => selections.iter().map(|selection| self.read(selection)).collect(),
        }
    }

    /// Returns the size of the elements of a selection in bytes; 0 for an invalid selection, for which reading returns
    /// the error.
    fn expected_size(&self, selection: &Selection) -> u64 {
        let size = match self.data_type().elements() {
            Elements::Fixed { size, .. } => size as u64,
            Elements::Variable => VARIABLE_SIZE,
        };
        let count = selection.located(self.shape()).and_then(|located| located.count());
        count.map_or(0, |count| (count as u64).saturating_mul(size))
    }
}

/// An iterator over the elements of selections. It reads the next selections ahead: see [`Array::read_ahead`].
#[derive(Debug)]
pub struct ReadAhead<I> {
    array: Array,
    selections: I,
    /// A selection that did not fit into the last batch.
    next: Option<Selection>,
    /// The maximum number of selections in the next batch.
    most: usize,
    ready: Results,
    reading: Batch,
}

/// A batch that a thread reads, or that is complete.
#[derive(Debug)]
enum Batch {
    Reading(JoinHandle<Results>),
    Complete(Results),
}

impl Default for Batch {
    fn default() -> Self {
        Self::Complete(Results::new())
    }
}

impl<I: Iterator<Item: Into<Selection>>> Iterator for ReadAhead<I> {
    type Item = Result<ElementArray, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            self.ready = std::mem::take(&mut self.reading).wait();
            if self.ready.is_empty() {
                self.ready = self.begin().wait();
            }
            self.reading = self.begin();
        }
        self.ready.pop_front()
    }
}

impl<I: Iterator<Item: Into<Selection>>> ReadAhead<I> {
    /// Starts to read the next batch. If the system has no more threads, it is read on this thread.
    fn begin(&mut self) -> Batch {
        let selections = self.next_batch();
        if selections.is_empty() {
            return Batch::default();
        }
        let selections = Arc::new(selections);
        let array = self.array.clone();
        let given = Arc::clone(&selections);
        let read = move || array.read_batch(&given);
        match thread::Builder::new().name("zarr-read-ahead".to_owned()).spawn(read) {
            Ok(reader) => Batch::Reading(reader),
            Err(_) => Batch::Complete(self.array.read_batch(&selections)),
        }
    }

    fn next_batch(&mut self) -> Vec<Selection> {
        let most_bytes = BATCH_SIZE.min(self.array.stored.budget().size() / FRACTION);
        let mut batch = Vec::new();
        let mut bytes = 0u64;
        while batch.len() < self.most {
            let Some(selection) = self.next.take().or_else(|| self.selections.next().map(Into::into)) else {
                break;
            };
            bytes = bytes.saturating_add(self.array.expected_size(&selection));
            if bytes > most_bytes && !batch.is_empty() {
                self.next = Some(selection);
                return batch;
            }
            batch.push(selection);
        }
        self.most = self.most.saturating_mul(GROWTH);
        batch
    }
}

impl Batch {
    /// Returns the results. Panics of the thread are propagated.
    fn wait(self) -> Results {
        match self {
            Self::Complete(results) => results,
            Self::Reading(reader) => {
                help_until_finished(&reader);
                reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
            }
        }
    }
}

/// Runs jobs of this thread's rayon pool until the reader has finished, because the reader may wait for such a job.
fn help_until_finished(reader: &JoinHandle<Results>) {
    while rayon_core::current_thread_index().is_some() && !reader.is_finished() {
        if rayon_core::yield_now() != Some(rayon_core::Yield::Executed) {
            thread::sleep(INTERVAL);
        }
    }
}

impl<I> Drop for ReadAhead<I> {
    fn drop(&mut self) {
        if let Batch::Reading(reader) = std::mem::take(&mut self.reading) {
            help_until_finished(&reader);
            let _results = reader.join();
        }
    }
}
