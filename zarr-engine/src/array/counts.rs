//! The numbers of dimensions, elements and chunks of an array.

use super::Array;

impl Array {
    /// Returns the number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements; [`u64::MAX`] if there are more. A zero-dimensional array has one element.
    #[must_use]
    pub fn len(&self) -> u64 {
        product(self.shape())
    }

    /// Returns whether the array has no elements, because a dimension has the length 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Returns the number of chunks in the chunk grid, stored or not; [`u64::MAX`] if there are more.
    #[must_use]
    pub fn chunk_count(&self) -> u64 {
        product(self.chunk_grid().grid_shape())
    }

    /// Returns the indices of all chunks in the chunk grid in C order, stored or not. [`Array::stored_chunks`] lists
    /// those that are stored.
    pub fn chunk_indices(&self) -> impl Iterator<Item = Vec<u64>> + use<> {
        let grid_shape = self.chunk_grid().grid_shape().to_vec();
        let first = (!grid_shape.contains(&0)).then(|| vec![0; grid_shape.len()]);
        std::iter::successors(first, move |index| next_index(index, &grid_shape))
    }
}

fn product(lengths: &[u64]) -> u64 {
    if lengths.contains(&0) { 0 } else { lengths.iter().copied().fold(1, u64::saturating_mul) }
}

fn next_index(index: &[u64], grid_shape: &[u64]) -> Option<Vec<u64>> {
    let dimension =
        (0..grid_shape.len()).rev().find(|&dimension| index[dimension] + 1 < grid_shape[dimension])?;
    let mut next = index.to_vec();
    next[dimension] += 1;
    next[dimension + 1..].fill(0);
    Some(next)
}
