//! Copies the elements of one array to another, in bounded memory.

use std::collections::BTreeSet;
use std::panic;
use std::sync::mpsc::sync_channel;
use std::thread;

use zarr_kit::spec::ArraySubset;
use zarr_kit::spec::grid::ChunkGrid;
use zarr_kit::{Array, ElementArray};

use crate::failure::Failure;
use crate::lossless::{check, may_change_elements};
use crate::slabs;
use crate::terminal::Progress;

/// Small chunks are copied together, up to this size, if memory allows.
const TOGETHER: u64 = 32 << 20;

/// Whether codecs may change elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losses {
    Allowed,
    Refused,
}

/// Copies the chunks of `from` to `to`, whose document does not exist yet.
pub(crate) fn transfer(from: &Array, to: &Array, losses: Losses, progress: &Progress) -> Result<(), Failure> {
    // Chunks of an earlier attempt would become elements of this array.
    to.erase_leftovers()?;
    let stored = match from.hierarchy().store().capabilities().listable {
        true => Some(from.stored_chunks()?),
        false => None,
    };
    match stored {
        Some(stored) if have_one_form(from, to) => copy_encoded(from, to, &stored, progress),
        stored => copy_decoded(from, to, stored.as_deref(), losses, progress),
    }
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
    let copied = zarr_kit::Progress::new();
    let to = to.with_progress(&copied);
    Ok(progress.follow(&copied, share, || to.copy_encoded_chunks(from, stored))?)
}

fn copy_decoded(
    from: &Array,
    to: &Array,
    stored: Option<&[Vec<u64>]>,
    losses: Losses,
    progress: &Progress,
) -> Result<(), Failure> {
    let is_checked = losses == Losses::Refused && may_change_elements(to);
    let regions = Regions::new(from, to);
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
    /// Chooses regions. They have the larger of both chunk lengths along each dimension if memory allows, and
    /// more chunks if chunks are small.
    fn new(from: &Array, to: &'a Array) -> Self {
        let grid = to.chunk_grid();
        let source = from.chunk_grid().largest_chunk();
        let own = grid.largest_chunk();
        let cover = own.iter().zip(&source).map(|(&own, &source)| source.div_ceil(own.max(1)).max(1));
        let sizes = Sizes { element: slabs::element_size(to), budget: slabs::budget(to) };
        let chunks = region(&own, &cover.collect::<Vec<_>>(), grid.grid_shape(), sizes);
        let count =
            grid.grid_shape().iter().zip(&chunks).map(|(&all, &chunks)| all.div_ceil(chunks)).collect();
        Self { grid, shape: to.shape(), chunks, count }
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

/// Bytes of an element, and of all elements in memory at a time.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    element: u64,
    budget: u64,
}

/// Returns the number of chunks per dimension that are copied together.
fn region(chunk: &[u64], cover: &[u64], grid: &[u64], sizes: Sizes) -> Vec<u64> {
    let Sizes { element, budget } = sizes;
    let mut counts = vec![1u64; chunk.len()];
    let bytes = |counts: &[u64]| {
        let lengths = chunk.iter().zip(counts).map(|(chunk, count)| chunk.saturating_mul(*count));
        lengths.fold(element.max(1), u64::saturating_mul)
    };
    for (budget, wanted) in [(budget, cover), (TOGETHER.min(budget), grid)] {
        for dimension in (0..chunk.len()).rev() {
            let now = counts[dimension];
            let limit = wanted[dimension].min(grid[dimension]);
            let fitting = budget / bytes(&counts).max(1);
            // Multiples of the current count, so that regions still end at chunk boundaries of the source.
            let times = fitting.min(limit.div_ceil(now)).max(1);
            counts[dimension] = now.saturating_mul(times);
        }
    }
    counts
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

    const MIB: u64 = 1 << 20;

    fn sizes(element: u64) -> Sizes {
        Sizes { element, budget: 128 * MIB }
    }

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
    fn regions_cover_the_chunks_of_the_source_where_memory_allows() {
        // Chunks of 1 MiB; those of the source are four times as long. Eight source chunks of 4 MiB fit into
        // 32 MiB.
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], sizes(1)), [32, 1]);
        // A source chunk exceeds the budget, so regions consist of chunks of the copy.
        assert_eq!(region(&[4096, 4096], &[100, 1], &[100, 1], sizes(4)), [2, 1]);
        // Chunks that exceed the budget.
        assert_eq!(region(&[1 << 20, 1 << 10], &[1, 1], &[10, 10], sizes(1)), [1, 1]);
        assert!(region(&[], &[], &[], sizes(8)).is_empty());
        // With little memory there are fewer chunks, but at least one.
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], Sizes { element: 1, budget: 2 * MIB }), [2, 1]);
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], Sizes { element: 1, budget: 1 }), [1, 1]);
    }

    #[test]
    fn regions_exceed_the_budget_only_if_one_chunk_does() {
        for chunk in [[1, 1], [100, 7], [512, 4096], [8192, 8192]] {
            for cover in [[1, 1], [3, 5], [1000, 1], [1, 1000]] {
                let counts = region(&chunk, &cover, &[1 << 20, 1 << 20], sizes(8));
                let bytes = chunk[0] * counts[0] * chunk[1] * counts[1] * 8;
                assert!(bytes <= 128 * MIB || counts == [1, 1], "{chunk:?} {cover:?}: {counts:?}");
            }
        }
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
