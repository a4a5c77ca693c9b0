//! Reads the intact chunks of a box that also contains damaged chunks.

use std::collections::BTreeMap;

use zarr_engine::{Array, ElementArray, Error, Selection};
use zarr_spec::ArraySubset;

use super::between::in_memory;
use super::error::CopyError;
use super::regions::for_each_index;
use super::source::Source;

/// The elements of a box, and the chunks that could not be read.
pub(crate) struct Rest {
    /// Elements of damaged chunks are the fill value.
    pub(crate) elements: ElementArray,
    /// The indices of damaged chunks, each with its first error.
    pub(crate) damaged: BTreeMap<Vec<u64>, Error>,
}

/// Returns whether an error concerns one chunk, so that other chunks may be readable.
pub(crate) fn is_damage(error: &Error) -> bool {
    matches!(error, Error::Chunk(_) | Error::Store(_) | Error::OverBudget(_))
}

/// Reads a box of the copy chunk by chunk of the source; in shards, inner chunk by inner chunk. `to` is an array in the
/// context of the copy.
///
/// # Errors
///
/// Errors that do not concern one chunk.
pub(crate) fn read_rest(from: &Source, to: &Array, subset: &ArraySubset) -> Result<Rest, CopyError> {
    let lengths: Vec<u64> = subset.ranges().iter().map(|range| (range.end - range.start).max(1)).collect();
    let scratch = in_memory(&from.array, to, &lengths)?;
    let inner = from.array.inner_chunk_shape()?;
    let mut along = Vec::new();
    for (dimension, range) in subset.ranges().iter().enumerate() {
        along.push(from.parts(dimension, range.clone(), inner.as_deref())?);
    }
    let counts: Vec<u64> = along.iter().map(|parts| parts.len() as u64).collect();
    let mut damaged = BTreeMap::new();
    for_each_index(&counts, &mut |index| {
        let parts =
            index.iter().zip(&along).filter_map(|(&index, parts)| parts.get(usize::try_from(index).ok()?));
        let part = ArraySubset::new(parts.clone().map(|part| part.positions.clone()).collect());
        match from.read(&part) {
            Ok(elements) => Ok(scratch.write(Selection::from(&part), elements.bytes())?),
            Err(error) if is_damage(&error) => {
                damaged.entry(parts.map(|part| part.chunk).collect()).or_insert(error);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    })?;
    Ok(Rest { elements: scratch.read(Selection::from(subset))?, damaged })
}
