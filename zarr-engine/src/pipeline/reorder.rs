//! Reorders the elements of a whole array.

use zarr_spec::host::pipeline::Layout;
use zarr_spec::{ArrayRepresentation, CodecError, Elements, Output};

use crate::copy::{self, ByteSwap, Dimension, MAX_RANK};
use crate::variable::Variable;

/// Copies a whole array from `layout` to C order if `decoding`, otherwise from C order to `layout`.
pub(super) fn reorder(
    array: &ArrayRepresentation,
    layout: &Layout,
    source: &[u8],
    output: &mut Output<'_>,
    decoding: bool,
) -> Result<(), CodecError> {
    let Elements::Fixed { size, .. } = array.data_type.elements() else {
        let ordered = Variable::parse(source, array)?.reordered(array, layout, decoding)?;
        return Ok(output.put(&ordered)?);
    };
    if source.len() as u64 != array.size().limit().unwrap_or(u64::MAX) {
        return Err(CodecError::corrupt(format!(
            "{} bytes are not an array of shape {:?}",
            source.len(),
            array.shape
        )));
    }
    let mut dimensions = [Dimension { count: 1, source_stride: 0, destination_stride: 0 }; MAX_RANK];
    let rank = array.shape.len();
    let mut c_stride = size;
    for dimension in (0..rank).rev() {
        let count = usize::try_from(array.shape[dimension]).map_err(CodecError::corrupt)?;
        let c = c_stride.cast_signed();
        let l = layout.strides[dimension].saturating_mul(size).cast_signed();
        let (source_stride, destination_stride) = if decoding { (l, c) } else { (c, l) };
        dimensions[dimension] = Dimension { count, source_stride, destination_stride };
        c_stride = c_stride.saturating_mul(count);
    }
    let bytes = source.len();
    let target = &mut output.spare(bytes)?[..bytes];
    copy::copy(size, ByteSwap::from(&layout.swap), &dimensions[..rank], source, 0, target, 0, false)
        .map_err(CodecError::corrupt)?;
    output.advance(bytes);
    Ok(())
}
