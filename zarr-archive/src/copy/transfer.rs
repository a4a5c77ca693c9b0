//! Copies the elements of one array to another, in bounded memory.

use std::collections::BTreeSet;
use std::panic;
use std::sync::mpsc::sync_channel;
use std::thread;

use zarr_engine::{Array, ElementArray, Selection};
use zarr_spec::ArraySubset;

use super::array_plan::{ArrayPlan, Method};
use super::between::between;
use super::error::CopyError;
use super::lossless::{check, may_change_elements};
use super::options::Caller;
use super::passes::{Pass, Passes, TwoPasses};
use super::progress::CopyProgress;
use super::regions::{Regions, number};
use super::share::Share;
use super::source::Source;
use super::state::{Skipped, State};
use super::unreadable::{self, is_damage};
use crate::boxes::element_size;

/// The copy of the elements of one array, or of the share of one part.
pub(crate) struct Transfer<'a> {
    pub(crate) plan: &'a ArrayPlan,
    /// The array in the destination, whose document does not exist yet.
    pub(crate) to: &'a Array,
    pub(crate) share: Share,
    pub(crate) how: How<'a>,
}

/// The settings of the copies of all arrays.
#[derive(Clone, Copy)]
pub(crate) struct How<'a> {
    /// Whether codecs may change elements.
    pub(crate) is_lossy: bool,
    /// Whether chunks that cannot be read are left out.
    pub(crate) skips: bool,
    /// Whether chunks in the destination belong to this copy, and are not written again.
    pub(crate) is_resumed: bool,
    /// The memory for elements in bytes.
    pub(crate) memory: u64,
    /// The markers, if the store can list.
    pub(crate) state: Option<&'a State>,
    pub(crate) progress: &'a CopyProgress,
    /// The caller, for messages.
    pub(crate) caller: Caller,
}

impl Transfer<'_> {
    /// Copies encoded chunks, or runs the only pass, or the first of two.
    pub(crate) fn first_pass(&self) -> Result<(), CopyError> {
        let from = &self.plan.source;
        let stored = stored_chunks(&from.array)?;
        match &self.plan.method {
            Method::Encoded => self.copy_encoded(&stored.unwrap_or_default()),
            Method::Decoded(Passes::One(pass)) => {
                let is_checked = !self.how.is_lossy && may_change_elements(self.to);
                self.pass(from.clone(), self.to, is_checked).run(stored.as_deref(), pass)
            }
            Method::Decoded(Passes::Two(two)) => {
                self.pass(from.clone(), &self.between(two)?, false).run(stored.as_deref(), &two.first)
            }
        }
    }

    /// Runs the second of two passes.
    pub(crate) fn second_pass(&self) -> Result<(), CopyError> {
        let Method::Decoded(Passes::Two(two)) = &self.plan.method else { return Ok(()) };
        let between = self.between(two)?;
        let is_checked = !self.how.is_lossy && may_change_elements(self.to);
        let stored = between.stored_chunks()?;
        let from = Source::new(between, None)?;
        let pass = Decoded { skips: false, ..self.pass(from, self.to, is_checked) };
        pass.run(Some(&stored), &two.second)
    }

    /// Removes the intermediate array.
    pub(crate) fn remove_between(&self) -> Result<(), CopyError> {
        let Method::Decoded(Passes::Two(two)) = &self.plan.method else { return Ok(()) };
        Ok(self.between(two)?.erase_leftovers()?)
    }

    fn between(&self, two: &TwoPasses) -> Result<Array, CopyError> {
        let state = self
            .how
            .state
            .ok_or_else(|| CopyError::message("two passes need a destination that can list its keys"))?;
        between(&self.plan.source.array, self.to, &two.between, state.folder())
    }

    fn pass<'p>(&'p self, from: Source, to: &'p Array, is_checked: bool) -> Decoded<'p> {
        Decoded {
            from,
            to,
            path: self.to.path().to_string(),
            is_checked,
            skips: self.how.skips,
            share: self.share,
            how: self.how,
        }
    }

    fn copy_encoded(&self, stored: &[Vec<u64>]) -> Result<(), CopyError> {
        let Self { to, how, plan, .. } = *self;
        let from = &plan.source.array;
        let grid = to.chunk_grid().grid_shape();
        let of_copy = stored.iter().filter_map(|index| place_in_copy(index, &plan.first_chunk, grid));
        let mut chunks: Vec<Vec<u64>> = of_copy.collect();
        let of_one = plan.size / (chunks.len() as u64).max(1);
        let count = to.chunk_count();
        chunks.retain(|index| self.share.takes(number(index, grid), count));
        if how.is_resumed {
            let done: BTreeSet<_> = to.stored_chunks()?.into_iter().collect();
            let before = chunks.len();
            chunks.retain(|index| !done.contains(index));
            how.progress.add(of_one.saturating_mul((before - chunks.len()) as u64));
        }
        let target = to.with_progress(how.progress.chunks());
        let copy = || target.copy_encoded_chunks_from(from, &plan.first_chunk, &chunks);
        match how.progress.encoded(of_one, copy) {
            Err(error) if how.skips && is_damage(&error) => self.copy_encoded_one_by_one(&chunks),
            copied => Ok(copied?),
        }
    }

    /// Copies encoded chunks, and leaves out chunks that cannot be read.
    fn copy_encoded_one_by_one(&self, chunks: &[Vec<u64>]) -> Result<(), CopyError> {
        for index in chunks {
            self.how.progress.check()?;
            let of_source: Vec<u64> =
                index.iter().zip(&self.plan.first_chunk).map(|(index, first)| index + first).collect();
            match self.plan.source.array.read_encoded_chunk(&of_source) {
                Ok(Some(bytes)) => self.to.write_encoded_chunk(index, &bytes)?,
                Ok(None) => {}
                Err(error) if is_damage(&error) => {
                    self.how.skip(&Skipped::new(
                        self.to.path(),
                        Some(&of_source),
                        crate::verify::chain(&error),
                    ))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns the index in the copy of a chunk of the source; `None` if it is not copied.
fn place_in_copy(index: &[u64], first: &[u64], grid: &[u64]) -> Option<Vec<u64>> {
    let along = index.iter().zip(first).zip(grid);
    along.map(|((index, first), count)| index.checked_sub(*first).filter(|place| place < count)).collect()
}

impl How<'_> {
    fn skip(&self, skipped: &Skipped) -> Result<(), CopyError> {
        self.state.map_or(Ok(()), |state| state.skip(skipped))
    }
}

/// Returns the stored chunks, or `None` if the store cannot list.
fn stored_chunks(array: &Array) -> Result<Option<Vec<Vec<u64>>>, CopyError> {
    match array.hierarchy().store().capabilities().listable {
        true => Ok(Some(array.stored_chunks()?)),
        false => Ok(None),
    }
}

/// One pass over the elements of an array.
struct Decoded<'a> {
    from: Source,
    to: &'a Array,
    path: String,
    /// Whether each box is read back and compared.
    is_checked: bool,
    skips: bool,
    share: Share,
    how: How<'a>,
}

impl Decoded<'_> {
    fn run(&self, stored: Option<&[Vec<u64>]>, pass: &Pass) -> Result<(), CopyError> {
        let from = &self.from;
        let Self { to, how, .. } = *self;
        let regions = Regions::new(to, &pass.chunks);
        let fills = from.array.fill_value() == to.fill_value();
        let wanted = stored.filter(|_| fills).map(|stored| regions.of(from, stored)).transpose()?;
        let done = how.is_resumed.then(|| to.stored_chunks()).transpose()?;
        let done: BTreeSet<Vec<u64>> = done.into_iter().flatten().collect();
        let count = regions.total();
        let is_mine = |index: &[u64]| self.share.takes(regions.number(index), count);
        let each = |visit: &mut dyn FnMut(&[u64]) -> Result<(), CopyError>| {
            regions.visit(wanted.as_ref(), &mut |index| match is_mine(index) {
                true if !done.is_empty() && regions.is_stored(index, &done) => {
                    self.pass_over(&regions.subset(index)?)
                }
                true => visit(index),
                false => Ok(()),
            })
        };
        let read = |index: &[u64]| {
            how.progress.check()?;
            let subset = regions.subset(index)?;
            let elements = self.read(&subset)?;
            Ok((subset, elements))
        };
        let write = |(subset, elements): (ArraySubset, ElementArray)| self.write(&subset, &elements);
        // Overlapping needs memory for two regions.
        let are_small = regions.largest().saturating_mul(element_size(to)) <= how.memory / 2;
        match are_small && [&from.array, to].into_iter().any(is_remote) {
            true => overlapping(each, read, write),
            false => each(&mut |index| write(read(index)?)),
        }
    }

    /// Skips a box that an interrupted run wrote. It is compared if necessary, because that run may have ended before
    /// its own comparison.
    fn pass_over(&self, subset: &ArraySubset) -> Result<(), CopyError> {
        if self.is_checked {
            check(self.to, subset, &self.read(subset)?, self.how.caller)?;
        }
        self.count(subset);
        Ok(())
    }

    fn read(&self, subset: &ArraySubset) -> Result<ElementArray, CopyError> {
        match self.from.read(subset) {
            Err(error) if self.skips && is_damage(&error) => {
                let rest = unreadable::read_rest(&self.from, self.to, subset)?;
                for (index, error) in &rest.damaged {
                    let reason = crate::verify::chain(error);
                    self.how.skip(&Skipped::new(&self.path, Some(index), reason))?;
                }
                Ok(rest.elements)
            }
            read => Ok(read?),
        }
    }

    fn write(&self, subset: &ArraySubset, elements: &ElementArray) -> Result<(), CopyError> {
        self.to.write(Selection::from(subset), elements.bytes())?;
        if self.is_checked {
            check(self.to, subset, elements, self.how.caller)?;
        }
        self.count(subset);
        Ok(())
    }

    /// Adds the elements of a box to the progress.
    fn count(&self, subset: &ArraySubset) {
        let bytes = subset.element_count().unwrap_or(0).saturating_mul(element_size(self.to));
        self.how.progress.add(bytes);
    }
}

/// Returns whether reading and writing usually wait for requests.
fn is_remote(array: &Array) -> bool {
    array.hierarchy().store().read_hints().max_concurrency > 0
}

/// Reads each region while the previous one is written.
fn overlapping<T: Send>(
    each: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<(), CopyError>) -> Result<(), CopyError> + Send,
    read: impl Fn(&[u64]) -> Result<T, CopyError> + Send,
    write: impl FnMut(T) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    // The channel does not buffer: the reader holds a region until the writer accepts it.
    let (send, receive) = sync_channel(0);
    thread::scope(|scope| {
        let reading = move || {
            each(&mut |index| {
                let sent = send.send(read(index)?);
                sent.map_err(|_| CopyError::message("writing has ended"))
            })
        };
        let started = thread::Builder::new().spawn_scoped(scope, reading);
        let reader = started.map_err(|error| CopyError::message(format!("starting a thread: {error}")))?;
        let written = receive.into_iter().try_for_each(write);
        let read = reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        // If writing failed, reading failed because of it, so the error of writing comes first.
        written.and(read)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use super::*;

    fn five(visit: &mut dyn FnMut(&[u64]) -> Result<(), CopyError>) -> Result<(), CopyError> {
        (0..5).try_for_each(|number| visit(&[number]))
    }

    /// At the barrier, the writer of each region waits for the reader of the next region, and the reader for the
    /// writer.
    #[test]
    fn the_next_region_is_read_while_the_previous_one_is_written() {
        let meeting = Barrier::new(2);
        let mut written = Vec::new();
        let read = |index: &[u64]| {
            if index[0] > 0 {
                meeting.wait();
            }
            Ok(index[0])
        };
        let write = |number| {
            if number < 4 {
                meeting.wait();
            }
            written.push(number);
            Ok(())
        };
        overlapping(five, read, write).unwrap();
        assert_eq!(written, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn at_most_two_regions_are_in_memory() {
        let region = Arc::new(());
        let read = |_: &[u64]| Ok(Arc::clone(&region));
        let write = |one| {
            thread::sleep(Duration::from_millis(5));
            assert!(Arc::strong_count(&region) <= 3);
            drop(one);
            Ok(())
        };
        overlapping(five, read, write).unwrap();
    }

    #[test]
    fn a_failure_ends_both_and_is_returned() {
        let failing = |at: u64, what: &'static str| {
            move |number: u64| if number == at { Err(CopyError::message(what)) } else { Ok(number) }
        };
        let outcome = |read_until, write_until| {
            let read = failing(read_until, "reading");
            let mut written = 0;
            let result = overlapping(
                five,
                |index| read(index[0]),
                |number| failing(write_until, "writing")(number).map(|_| written += 1),
            );
            (result.err().map(|failure| failure.to_string()), written)
        };
        assert_eq!(outcome(3, 9), (Some("reading".to_owned()), 3));
        assert_eq!(outcome(9, 2), (Some("writing".to_owned()), 2));
        assert_eq!(outcome(2, 1), (Some("writing".to_owned()), 1));
        assert_eq!(outcome(9, 9), (None, 5));
    }
}
