//! Copies the elements of one array to another, in bounded memory.

use std::collections::BTreeSet;
use std::panic;
use std::sync::mpsc::sync_channel;
use std::thread;

use zarr_kit::spec::ArraySubset;
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::{Array, ElementArray};

use crate::failure::Failure;
use crate::intermediate::Intermediate;
use crate::lossless::{check, may_change_elements};
use crate::rechunk::{Pass, Plan, Shapes, Sizes};
use crate::slabs;
use crate::terminal::Progress;

/// Whether codecs may change elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losses {
    Allowed,
    Refused,
}

/// Plans the passes over an array whose chunks are decoded.
pub(crate) fn plan(from: &Array, to: &Array, max_reads: f64) -> Plan {
    let most = if Intermediate::is_possible(from, to) { max_reads } else { f64::INFINITY };
    Plan::new(&shapes(from, to), most)
}

/// Returns the shapes that a plan is for.
pub(crate) fn shapes(from: &Array, to: &Array) -> Shapes {
    Shapes {
        array: from.shape().to_vec(),
        source: from.chunk_grid().largest_chunk(),
        target: to.chunk_grid().largest_chunk(),
        sizes: Sizes { element: slabs::element_size(from), budget: slabs::budget(to) },
    }
}

/// Copies the chunks of `from` to `to`, whose document does not exist yet. A pass adds the size of the array to
/// `progress`.
pub(crate) fn transfer(
    from: &Array,
    to: &Array,
    losses: Losses,
    plan: &Plan,
    progress: &Progress,
) -> Result<(), Failure> {
    // Chunks of an earlier attempt would become elements of this array.
    to.erase_leftovers()?;
    let stored = match from.hierarchy().store().capabilities().listable {
        true => Some(from.stored_chunks()?),
        false => None,
    };
    match stored {
        Some(stored) if have_one_form(from, to) => copy_encoded(from, to, &stored, progress),
        stored => copy_planned(&Copied { from, to, losses, progress }, stored.as_deref(), plan),
    }
}

/// Two arrays of one shape, the second of which is a copy of the first.
#[derive(Clone, Copy)]
struct Copied<'a> {
    from: &'a Array,
    to: &'a Array,
    losses: Losses,
    progress: &'a Progress,
}

fn copy_planned(copied: &Copied<'_>, stored: Option<&[Vec<u64>]>, plan: &Plan) -> Result<(), Failure> {
    let Copied { from, to, .. } = *copied;
    let two = match plan {
        Plan::One(pass) => return copy_decoded(copied, stored, pass),
        Plan::Two(two) => two,
    };
    let between = Intermediate::prepare(from, to, &two.between)?;
    let first = Copied { to: between.array(), losses: Losses::Allowed, ..*copied };
    let second = Copied { from: between.array(), ..*copied };
    let done = copy_decoded(&first, stored, &two.first)
        .and_then(|()| copy_decoded(&second, Some(&between.array().stored_chunks()?), &two.second));
    // The first failure is the cause.
    let removed = between.remove();
    done.and(removed)
}

/// Returns whether encoded chunks are valid in both arrays.
pub(crate) fn have_one_form(from: &Array, to: &Array) -> bool {
    let from = from.metadata();
    let to = to.metadata();
    from.format == to.format
        && from.shape == to.shape
        && from.data_type == to.data_type
        && from.chunk_grid == to.chunk_grid
        && from.memory_layout == to.memory_layout
        && from.codecs == to.codecs
        && from.fill_value == to.fill_value
        && from.storage_transformers == to.storage_transformers
}

fn copy_encoded(from: &Array, to: &Array, stored: &[Vec<u64>], progress: &Progress) -> Result<(), Failure> {
    let share = slabs::size(from) / (stored.len() as u64).max(1);
    let context = to.hierarchy().context();
    let copied = context.progress().cloned().unwrap_or_default();
    let to = to.with_progress(&copied);
    Ok(progress.follow(&copied, share, || to.copy_encoded_chunks(from, stored))?)
}

fn copy_decoded(copied: &Copied<'_>, stored: Option<&[Vec<u64>]>, pass: &Pass) -> Result<(), Failure> {
    let Copied { from, to, losses, progress } = *copied;
    let is_checked = losses == Losses::Refused && may_change_elements(to);
    let regions = Regions::new(to, &pass.chunks);
    let fills = from.fill_value() == to.fill_value();
    let element = slabs::element_size(from);
    let wanted = stored.filter(|_| fills).map(|stored| regions.of(from, stored)).transpose()?;
    let each = |visit: &mut dyn FnMut(&[u64]) -> Result<(), Failure>| match &wanted {
        Some(wanted) => wanted.iter().try_for_each(|index| visit(index)),
        None => for_each_index(&regions.count, visit),
    };
    let read = |index: &[u64]| -> Result<_, Failure> {
        let subset = regions.subset(index)?;
        let elements = from.read(slabs::selection(&subset))?;
        Ok((subset, elements))
    };
    let write = |(subset, elements): (ArraySubset, ElementArray)| -> Result<(), Failure> {
        to.write(slabs::selection(&subset), elements.bytes())?;
        if is_checked {
            check(to, &subset, &elements)?;
        }
        progress.add(subset.element_count().unwrap_or(0).saturating_mul(element));
        Ok(())
    };
    // Overlapping needs memory for two regions.
    let are_small = regions.largest().saturating_mul(element) <= slabs::budget(to) / 2;
    match are_small && [from, to].into_iter().any(is_remote) {
        true => overlapping(each, read, write),
        false => each(&mut |index| write(read(index)?)),
    }
}

/// Returns whether reading and writing usually wait for requests.
fn is_remote(array: &Array) -> bool {
    array.hierarchy().store().read_hints().max_concurrency > 0
}

/// Reads each region while the previous one is written.
fn overlapping<T: Send>(
    each: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<(), Failure>) -> Result<(), Failure> + Send,
    read: impl Fn(&[u64]) -> Result<T, Failure> + Send,
    write: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The channel does not buffer: the reader holds a region until the writer accepts it.
    let (send, receive) = sync_channel(0);
    thread::scope(|scope| {
        let reading = move || {
            each(&mut |index| {
                let sent = send.send(read(index)?);
                sent.map_err(|_| Failure::fault("writing has ended"))
            })
        };
        let started = thread::Builder::new().spawn_scoped(scope, reading);
        let reader = started.map_err(|error| Failure::fault(format!("starting a thread: {error}")))?;
        let written = receive.into_iter().try_for_each(write);
        let read = reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        // If writing failed, that also made reading fail.
        written.and(read)
    })
}

/// Boxes of whole chunks of the copy that are read and written in one call.
#[derive(Debug)]
struct Regions<'a> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    /// Chunks of the copy per dimension of a region.
    chunks: Vec<u64>,
    /// Regions per dimension.
    count: Vec<u64>,
}

impl<'a> Regions<'a> {
    fn new(to: &'a Array, chunks: &[u64]) -> Self {
        let grid = to.chunk_grid();
        let count =
            grid.grid_shape().iter().zip(chunks).map(|(&all, &chunks)| all.div_ceil(chunks)).collect();
        Self { grid, shape: to.shape(), chunks: chunks.to_vec(), count }
    }

    /// Returns the maximum number of elements in a region.
    fn largest(&self) -> u64 {
        let chunk = self.grid.largest_chunk();
        let lengths = self.shape.iter().zip(chunk.iter().zip(&self.chunks));
        lengths
            .map(|(&all, (chunk, count))| chunk.saturating_mul(*count).min(all))
            .fold(1, u64::saturating_mul)
    }

    /// Returns the elements of a region that are in the array.
    fn subset(&self, index: &[u64]) -> Result<ArraySubset, Failure> {
        let range = |(dimension, &index): (usize, &u64)| {
            let first = index * self.chunks[dimension];
            let last = (first + self.chunks[dimension]).min(self.grid.grid_shape()[dimension]) - 1;
            let start = self.grid.chunk_range(dimension, first)?.start;
            let end = self.grid.chunk_range(dimension, last)?.end.min(self.shape[dimension]);
            Ok(start..end)
        };
        let ranges: Result<_, zarr_kit::spec::grid::GridError> =
            index.iter().enumerate().map(range).collect();
        ranges.map(ArraySubset::new).map_err(|error| Failure::Fault(error.into()))
    }

    /// Returns the regions with elements of stored chunks.
    fn of(&self, from: &Array, stored: &[Vec<u64>]) -> Result<BTreeSet<Vec<u64>>, Failure> {
        let mut regions = BTreeSet::new();
        for index in stored {
            let chunk = from.chunk_subset(index)?.intersection(&ArraySubset::whole(self.shape));
            if chunk.is_empty() {
                continue;
            }
            let mut ranges = Vec::with_capacity(index.len());
            for (dimension, range) in chunk.ranges().iter().enumerate() {
                let number = |element| -> Result<u64, Failure> {
                    let chunk = self.grid.chunk_of(dimension, element);
                    Ok(chunk.map_err(|error| Failure::Fault(error.into()))? / self.chunks[dimension])
                };
                ranges.push((number(range.start)?, number(range.end - 1)?));
            }
            let counts: Vec<u64> = ranges.iter().map(|(first, last)| last - first + 1).collect();
            for_each_index(&counts, &mut |offset| {
                regions
                    .insert(offset.iter().zip(&ranges).map(|(offset, (first, _))| first + offset).collect());
                Ok(())
            })?;
        }
        Ok(regions)
    }
}

fn for_each_index(
    counts: &[u64],
    visit: &mut dyn FnMut(&[u64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if counts.contains(&0) {
        return Ok(());
    }
    let mut index = vec![0; counts.len()];
    loop {
        visit(&index)?;
        let next = (0..counts.len()).rev().find(|&dimension| index[dimension] + 1 < counts[dimension]);
        let Some(dimension) = next else { return Ok(()) };
        index[dimension] += 1;
        index[dimension + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use super::*;

    fn five(visit: &mut dyn FnMut(&[u64]) -> Result<(), Failure>) -> Result<(), Failure> {
        (0..5).try_for_each(|number| visit(&[number]))
    }

    /// The writer waits for the next region to be read, and the reader for the previous one to be written.
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
            move |number: u64| if number == at { Err(Failure::fault(what)) } else { Ok(number) }
        };
        let outcome = |read_until, write_until| {
            let read = failing(read_until, "reading");
            let mut written = 0;
            let result = overlapping(
                five,
                |index| read(index[0]),
                |number| failing(write_until, "writing")(number).map(|_| written += 1),
            );
            (result.err().and_then(|failure| failure.message()), written)
        };
        assert_eq!(outcome(3, 9), (Some("reading".to_owned()), 3));
        assert_eq!(outcome(9, 2), (Some("writing".to_owned()), 2));
        assert_eq!(outcome(2, 1), (Some("writing".to_owned()), 1));
        assert_eq!(outcome(9, 9), (None, 5));
    }

    #[test]
    fn every_index_is_visited_once() {
        let mut seen = Vec::new();
        for_each_index(&[2, 3], &mut |index| {
            seen.push(index.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let mut times = 0;
        let mut count = |_: &[u64]| {
            times += 1;
            Ok(())
        };
        for_each_index(&[], &mut count).unwrap();
        for_each_index(&[2, 0], &mut count).unwrap();
        assert_eq!(times, 1);
    }
}
