//! Reads what is readable of a box with damaged chunks.

use zarr_engine::{Array, ElementArray, Error, Selection};
use zarr_spec::ArraySubset;

use super::between::in_memory;
use super::error::CopyError;
use crate::boxes::divided;

/// The elements of a box, and the chunks that could not be read.
pub(crate) struct Rest {
    /// Elements of damaged chunks are the fill value.
    pub(crate) elements: ElementArray,
    /// The indices of damaged chunks, each with its first error.
    pub(crate) damaged: Vec<(Vec<u64>, Error)>,
}

/// Returns whether an error concerns one chunk, so that others may be readable.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Chunk(_) | Error::Store(_) | Error::OverBudget(_))
}

/// Reads a box chunk by chunk; in shards, inner chunk by inner chunk. `to` is an array in the context of the copy.
///
/// # Errors
///
/// Errors that do not concern one chunk.
pub(crate) fn read_rest(from: &Array, to: &Array, subset: &ArraySubset) -> Result<Rest, CopyError> {
    let lengths: Vec<u64> = subset.ranges().iter().map(|range| (range.end - range.start).max(1)).collect();
    let scratch = in_memory(from, to, &lengths)?;
    let mut damaged: Vec<(Vec<u64>, Error)> = Vec::new();
    for index in chunks_of(from, subset)? {
        for part in parts(from, &index)? {
            let part = part.intersection(subset);
            if part.is_empty() && part.rank() > 0 {
                continue;
            }
            match from.read(Selection::from(&part)) {
                Ok(elements) => scratch.write(Selection::from(&part), elements.bytes())?,
                Err(error) if is_damage(&error) => match damaged.last() {
                    Some((last, _)) if *last == index => {}
                    _ => damaged.push((index.clone(), error)),
                },
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(Rest { elements: scratch.read(Selection::from(subset))?, damaged })
}

/// Returns the parts of a chunk that are decoded separately.
fn parts(array: &Array, index: &[u64]) -> Result<Vec<ArraySubset>, CopyError> {
    let chunk = array.chunk_subset(index)?;
    Ok(match array.inner_chunk_shape()? {
        Some(inner) => divided(chunk, &inner, 1),
        None => vec![chunk],
    })
}

/// Returns the indices of the chunks with elements of a subset.
fn chunks_of(array: &Array, subset: &ArraySubset) -> Result<Vec<Vec<u64>>, CopyError> {
    let grid = array.chunk_grid();
    let mut indices = vec![Vec::new()];
    for (dimension, range) in subset.ranges().iter().enumerate() {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let first = grid.chunk_of(dimension, range.start)?;
        let last = grid.chunk_of(dimension, range.end - 1)?;
        let extended = indices
            .iter()
            .flat_map(|index: &Vec<u64>| (first..=last).map(move |chunk| [&index[..], &[chunk]].concat()));
        indices = extended.collect();
    }
    Ok(indices)
}
