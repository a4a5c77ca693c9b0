//! The copy of one strided box between a chunk and memory.

use zarr_spec::host::pipeline::Layout;

use crate::copy::{Dimension, MAX_RANK};
use crate::plan::StridedBox;

pub(crate) struct CopiedBox {
    rank: usize,
    dimensions: [Dimension; MAX_RANK],
    /// The offset in bytes of the first element in the chunk.
    pub(crate) chunk_offset: usize,
    /// The offset in bytes of the first element in memory.
    pub(crate) memory_offset: usize,
}

impl CopiedBox {
    /// Returns a copy from the chunk to memory. `memory_stride` returns the distance in bytes between neighbours in
    /// memory, per dimension of the chunk.
    pub(crate) fn from_chunk(
        strided_box: &StridedBox,
        layout: &Layout,
        element_size: usize,
        memory_stride: impl Fn(usize) -> usize,
    ) -> Self {
        let mut copied = Self {
            rank: strided_box.runs().len(),
            dimensions: [Dimension { count: 1, source_stride: 0, destination_stride: 0 }; MAX_RANK],
            chunk_offset: 0,
            memory_offset: 0,
        };
        for (dimension, run) in strided_box.runs().iter().enumerate() {
            let chunk_stride = layout.strides[dimension].saturating_mul(element_size);
            let memory_stride = memory_stride(dimension);
            let step = isize::try_from(run.step).unwrap_or(0);
            copied.dimensions[dimension] = Dimension {
                count: run.count,
                source_stride: step.saturating_mul(chunk_stride.cast_signed()),
                destination_stride: memory_stride.cast_signed(),
            };
            let start = usize::try_from(run.start).unwrap_or(usize::MAX);
            copied.chunk_offset = copied.chunk_offset.saturating_add(start.saturating_mul(chunk_stride));
            copied.memory_offset = copied.memory_offset.saturating_add(run.out.saturating_mul(memory_stride));
        }
        copied
    }

    /// Like [`Self::from_chunk`], from memory to the chunk.
    pub(crate) fn to_chunk(
        strided_box: &StridedBox,
        layout: &Layout,
        element_size: usize,
        memory_stride: impl Fn(usize) -> usize,
    ) -> Self {
        let mut copied = Self::from_chunk(strided_box, layout, element_size, memory_stride);
        for dimension in &mut copied.dimensions[..copied.rank] {
            std::mem::swap(&mut dimension.source_stride, &mut dimension.destination_stride);
        }
        copied
    }

    pub(crate) fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.rank]
    }
}
