//! Splits large selections into parts that are consecutive in C order.

use zarr_kit::spec::{ArraySubset, Elements};
use zarr_kit::{Array, DimensionSelection, Selection};

use crate::failure::Failure;

/// The usual limit of elements in memory at a time, in bytes. Whole chunks may need more.
const USUAL: u64 = 128 << 20;

/// Returns the share of `memory` bytes that elements may take. The rest is for chunks.
fn share(memory: u64) -> u64 {
    memory / 4
}

/// Returns the rest of `memory` bytes, which is for chunks.
pub(crate) fn without_share(memory: u64) -> u64 {
    memory - share(memory)
}

/// Returns the most bytes of elements of `array` that may be in memory at a time.
pub(crate) fn most(array: &Array) -> u64 {
    // Elements may take a quarter of the memory. The context has the other three quarters, so this quarter is a third
    // of its limit.
    array.hierarchy().context().limits().memory / 3
}

/// Returns the bytes of elements of `array` that are in memory at a time.
pub(crate) fn budget(array: &Array) -> u64 {
    USUAL.min(most(array))
}

/// Assumed bytes of an element of variable size, which is unknown before it is read.
const VARIABLE_SIZE: u64 = 64;

/// Returns the size of an element of `array` in bytes, or an estimate for variable size.
pub(crate) fn element_size(array: &Array) -> u64 {
    fixed_size(array).unwrap_or(VARIABLE_SIZE)
}

/// Returns the size of an element of `array` in bytes, or `None` for variable size.
pub(crate) fn fixed_size(array: &Array) -> Option<u64> {
    match array.data_type().elements() {
        Elements::Fixed { size, .. } => Some(size as u64),
        Elements::Variable => None,
    }
}

/// Returns the size of all elements in bytes, or an estimate for variable size.
pub(crate) fn size(array: &Array) -> u64 {
    array.shape().iter().copied().fold(element_size(array), u64::saturating_mul)
}

/// Parses a selection of the command line; `None` selects everything.
pub(crate) fn parse(text: Option<&str>, array: &Array) -> Result<Vec<DimensionSelection>, Failure> {
    match Selection::parse(text.unwrap_or_default(), array.shape())? {
        Selection::Orthogonal(along) => Ok(along),
        other => Err(Failure::fault(format!("selection {other}: expected one entry per dimension"))),
    }
}

pub(crate) fn count(along: &[DimensionSelection]) -> u64 {
    along.iter().map(length).fold(1, u64::saturating_mul)
}

/// Visits the parts of a selection, which are consecutive in C order.
///
/// Parts begin and end at chunk boundaries, so that each chunk is decoded once. Chunks are cut only if a row
/// of whole chunks exceeds the memory for elements, which `arrays` arrays share.
pub(crate) fn for_each(
    array: &Array,
    along: &[DimensionSelection],
    arrays: u64,
    visit: &mut dyn FnMut(&Selection) -> Result<(), Failure>,
) -> Result<(), Failure> {
    Parts::new(array, arrays).visit(along.to_vec(), visit)
}

/// Returns whether [`for_each`] cuts chunks of one array, so that they are decoded more than once.
pub(crate) fn cuts_chunks(array: &Array, along: &[DimensionSelection]) -> bool {
    Parts::new(array, 1).cut_chunks(along)
}

struct Parts {
    /// Elements of a chunk per dimension.
    chunks: Vec<u64>,
    /// The usual number of elements of a part, unless a row of chunks has more.
    usual: u64,
    /// The most elements of a part.
    most: u64,
}

impl Parts {
    fn new(array: &Array, arrays: u64) -> Self {
        let chunks = match array.chunk_grid().chunk_shape() {
            Some(shape) => shape.to_vec(),
            None => vec![1; array.shape().len()],
        };
        let count = |bytes: u64| (bytes / arrays.max(1) / element_size(array).max(1)).max(1);
        Self { chunks, usual: count(budget(array)), most: count(most(array)) }
    }

    /// Returns whether parts of a selection begin or end inside chunks.
    fn cut_chunks(&self, along: &[DimensionSelection]) -> bool {
        let mut all = count(along);
        for (dimension, along) in along.iter().enumerate() {
            let rows = length(along);
            if all <= self.usual {
                return false;
            }
            if rows > 1 {
                all /= rows;
                let whole = entries_of_chunk(along, self.chunks[dimension]).min(rows);
                let fitting = self.fitting(along, self.chunks[dimension], all);
                if fitting > 1 || whole > 1 {
                    return fitting < whole;
                }
            }
        }
        false
    }

    fn visit(
        &self,
        along: Vec<DimensionSelection>,
        visit: &mut dyn FnMut(&Selection) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let all = count(&along);
        let dimension = along.iter().position(|along| length(along) > 1);
        let Some(dimension) = dimension.filter(|_| all > self.usual) else {
            return visit(&Selection::Orthogonal(along));
        };
        let rows = length(&along[dimension]);
        let fitting = self.fitting(&along[dimension], self.chunks[dimension], all / rows);
        let mut from = 0;
        while from < rows {
            let until = boundary(&along[dimension], from, fitting, self.chunks[dimension]).min(rows);
            let mut part = along.clone();
            part[dimension] = slice(&along[dimension], from, until);
            match fitting {
                1 => self.visit(part, visit)?,
                _ => visit(&Selection::Orthogonal(part))?,
            }
            from = until;
        }
        Ok(())
    }

    /// Returns the number of entries of a part along a dimension. One entry selects `row` elements.
    fn fitting(&self, along: &DimensionSelection, chunk: u64, row: u64) -> u64 {
        let fitting = (self.usual / row.max(1)).max(1);
        let of_one_chunk = entries_of_chunk(along, chunk);
        let is_cut = fitting < of_one_chunk.min(length(along));
        if is_cut && of_one_chunk.saturating_mul(row) <= self.most { of_one_chunk } else { fitting }
    }
}

/// Returns the maximum number of entries along a dimension that are in one chunk.
fn entries_of_chunk(along: &DimensionSelection, chunk: u64) -> u64 {
    match along {
        DimensionSelection::Range { step, .. } => chunk.div_ceil((*step).max(1)),
        DimensionSelection::Index(_) | DimensionSelection::List(_) => chunk,
    }
}

/// Returns the end of a part of at most `fitting` entries that begins at entry `from`: the last chunk
/// boundary in it, if there is one.
fn boundary(along: &DimensionSelection, from: u64, fitting: u64, chunk: u64) -> u64 {
    let end = from.saturating_add(fitting);
    let DimensionSelection::Range { start, step, .. } = along else { return end };
    let element = end.saturating_mul(*step).saturating_add(*start);
    let last = element - element % chunk.max(1);
    let aligned = last.saturating_sub(*start).div_ceil(*step);
    if aligned > from && aligned < end { aligned } else { end }
}

pub(crate) fn length(along: &DimensionSelection) -> u64 {
    match along {
        DimensionSelection::Range { start, stop, step } => {
            stop.saturating_sub(*start).div_ceil((*step).max(1))
        }
        DimensionSelection::Index(_) => 1,
        DimensionSelection::List(list) => list.len() as u64,
    }
}

pub(crate) fn slice(along: &DimensionSelection, from: u64, until: u64) -> DimensionSelection {
    match along {
        DimensionSelection::Index(index) => DimensionSelection::Index(*index),
        DimensionSelection::Range { start, stop, step } => DimensionSelection::Range {
            start: start.saturating_add(from.saturating_mul(*step)),
            stop: start.saturating_add(until.saturating_mul(*step)).min(*stop),
            step: *step,
        },
        DimensionSelection::List(list) => {
            let entries =
                list.iter().enumerate().filter(|(place, _)| (from..until).contains(&(*place as u64)));
            DimensionSelection::List(entries.map(|(_, &index)| index).collect())
        }
    }
}

pub(crate) fn selection(subset: &ArraySubset) -> Selection {
    subset.clone().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, stop: u64, step: u64) -> DimensionSelection {
        DimensionSelection::Range { start, stop, step }
    }

    fn parts(along: Vec<DimensionSelection>, chunks: &[u64], usual: u64) -> Vec<Vec<DimensionSelection>> {
        parts_of(&Parts { chunks: chunks.to_vec(), usual, most: usual }, along)
    }

    fn parts_of(split: &Parts, along: Vec<DimensionSelection>) -> Vec<Vec<DimensionSelection>> {
        let mut parts = Vec::new();
        split
            .visit(along, &mut |selection| {
                let Selection::Orthogonal(along) = selection else { unreachable!() };
                parts.push(along.clone());
                Ok(())
            })
            .unwrap();
        parts
    }

    #[test]
    fn a_small_selection_is_one_part() {
        assert_eq!(parts(vec![range(0, 4, 1), range(0, 5, 1)], &[2, 2], 20).len(), 1);
        assert_eq!(parts(vec![], &[], 1), [Vec::new()]);
        assert_eq!(parts(vec![range(3, 3, 1)], &[2], 1).len(), 1);
    }

    #[test]
    fn the_share_of_elements_follows_from_the_memory_for_chunks() {
        for memory in [0, 4, 4000, 400 << 20, 512 << 20, 1 << 40] {
            assert_eq!(without_share(memory) / 3, share(memory), "{memory}");
        }
    }

    #[test]
    fn parts_end_at_chunk_boundaries() {
        let parts = parts(vec![range(1, 20, 1), range(0, 5, 1)], &[4, 5], 30);
        let starts: Vec<_> = parts.iter().map(|part| part[0].clone()).collect();
        assert_eq!(
            starts,
            [range(1, 4, 1), range(4, 8, 1), range(8, 12, 1), range(12, 16, 1), range(16, 20, 1)]
        );
    }

    #[test]
    fn a_row_of_chunks_is_one_part_if_memory_suffices() {
        let along = vec![range(0, 8, 1), range(0, 10, 1)];
        let split = |most| Parts { chunks: vec![4, 5], usual: 20, most };
        let with_most = |most| parts_of(&split(most), along.clone());
        let starts = |parts: Vec<Vec<DimensionSelection>>| {
            parts.into_iter().map(|part| part[0].clone()).collect::<Vec<_>>()
        };
        assert_eq!(starts(with_most(40)), [range(0, 4, 1), range(4, 8, 1)]);
        assert!(!split(40).cut_chunks(&along) && split(39).cut_chunks(&along));
        assert_eq!(starts(with_most(39)), [range(0, 2, 1), range(2, 4, 1), range(4, 6, 1), range(6, 8, 1)]);
    }

    #[test]
    fn rows_that_are_too_long_are_split_too() {
        let parts = parts(vec![range(0, 2, 1), range(0, 10, 1)], &[2, 10], 4);
        let expected = [(0, 0, 4), (0, 4, 8), (0, 8, 10), (1, 0, 4), (1, 4, 8), (1, 8, 10)];
        let expected = expected.map(|(row, from, to)| vec![range(row, row + 1, 1), range(from, to, 1)]);
        assert_eq!(parts, expected);
    }

    #[test]
    fn selections_with_steps_lists_and_integers_are_split_by_entries() {
        let along = vec![DimensionSelection::Index(3), DimensionSelection::List(vec![5, 1, 1, 0, 7])];
        let lists: Vec<_> = parts(along, &[4, 4], 2).into_iter().map(|part| part[1].clone()).collect();
        assert_eq!(
            lists,
            [
                DimensionSelection::List(vec![5, 1]),
                DimensionSelection::List(vec![1, 0]),
                DimensionSelection::List(vec![7])
            ]
        );
        let steps = parts(vec![range(1, 30, 3)], &[100], 4);
        assert_eq!(steps, [[range(1, 13, 3)], [range(13, 25, 3)], [range(25, 30, 3)]]);
    }
}
