//! Arithmetic of shapes in C order.

use zarr_spec::CodecError;

/// Returns the strides in elements for C order, per dimension. Fails if the number of elements does not fit into a
/// `usize`.
pub(crate) fn c_strides(shape: &[u64]) -> Result<Vec<usize>, CodecError> {
    let mut strides = vec![1usize; shape.len()];
    for dimension in (1..shape.len()).rev() {
        let length = usize::try_from(shape[dimension]).map_err(CodecError::corrupt)?;
        let stride = strides[dimension].checked_mul(length);
        strides[dimension - 1] = stride.ok_or_else(|| CodecError::corrupt("too many elements"))?;
    }
    Ok(strides)
}

/// Returns the position of `index` in C order, for a shape whose number of elements fits into a `usize`.
pub(crate) fn position(index: &[u64], shape: &[u64]) -> usize {
    let position = index
        .iter()
        .zip(shape)
        .fold(0u64, |position, (index, length)| position.saturating_mul(*length).saturating_add(*index));
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// Calls `visit` with the position and the index of every element.
pub(crate) fn for_each_index(shape: &[u64], mut visit: impl FnMut(usize, &[usize])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0usize; shape.len()];
    let mut position = 0;
    loop {
        visit(position, &index);
        position += 1;
        let advanced = (0..shape.len()).rev().find(|&dimension| {
            index[dimension] += 1;
            let carry = index[dimension] as u64 == shape[dimension];
            if carry {
                index[dimension] = 0;
            }
            !carry
        });
        if advanced.is_none() {
            return;
        }
    }
}
