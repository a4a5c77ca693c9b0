//! Gathering the elements of a chunk in storage order and byte order.

use std::convert::Infallible;

use zarr_spec::codec::PartSource;
use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::{CodecError, Mode, Size};

use super::job::{ChunkElements, FixedElements, Source};
use crate::copied_box::CopiedBox;
use crate::copy::{self, FillDimension, OutOfBounds};
use crate::pipeline::{Stages, is_fill};
use crate::plan::StridedBox;
use crate::slabs::Slabs;
use crate::variable::{Assembly, Variable, each_run};

/// Number of bytes that are compared with the fill value at a time, for a chunk that is encoded in parts.
const COMPARED: usize = 32 << 10;

impl ChunkElements<'_> {
    /// Gathers the elements of a chunk in `stages`. `existing` are its stored elements in the pipeline's layout;
    /// without them, the chunk held fill values. Returns the size in bytes, or `None` if all elements are the fill
    /// value.
    pub(super) fn gather(
        &self,
        pipeline: &Pipeline,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        match self.source {
            Source::Fixed(source) => self.gather_fixed(pipeline, source, existing, stages),
            Source::Variable(elements) => self.gather_variable(pipeline, elements, existing, stages),
        }
    }

    fn gather_fixed(
        &self,
        pipeline: &Pipeline,
        source: FixedElements<'_>,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        let size = pipeline.array.element_count().and_then(|count| count.checked_mul(source.size));
        let size = size.ok_or_else(|| CodecError::encode("too many elements"))?;
        let target = stages.start(size)?;
        match existing {
            Some(elements) if elements.len() == size => {
                target.copy_from_slice(elements);
                // Lenient even in strict mode, because writing replaces stored forms that strict mode refuses to read.
                let settled = pipeline.array.data_type.settle(target, Mode::Lenient);
                settled.map_err(|invalid| CodecError::corrupt(invalid.to_string()))?;
            }
            Some(elements) => {
                let found = elements.len();
                return Err(CodecError::corrupt(format!("it has {found} bytes instead of {size}")));
            }
            None if self.piece.covers(pipeline.array.shape.iter().copied()) => {}
            None => fill(pipeline, source.size, target)?,
        }
        self.piece.each_strided_box(|strided_box| self.copy(pipeline, source, strided_box, target, 0))?;
        Ok((!is_fill(pipeline, target)).then_some(size))
    }

    /// Returns the elements of a whole chunk as runs that can be gathered independently.
    pub(super) fn in_slabs<'s>(&'s self, pipeline: &'s Pipeline) -> Option<GatheredSlabs<'s>> {
        let Source::Fixed(source) = self.source else { return None };
        let slabs = Slabs::new(pipeline, self.piece)?;
        Some(GatheredSlabs { elements: self, pipeline, source, slabs })
    }

    /// Copies one strided box to a chunk. `target` are the bytes of the chunk starting at `skipped`.
    fn copy(
        &self,
        pipeline: &Pipeline,
        source: FixedElements<'_>,
        strided_box: &StridedBox,
        target: &mut [u8],
        skipped: usize,
    ) -> Result<(), CodecError> {
        let FixedElements { bytes, size } = source;
        let stride = |dimension: usize| self.strides[dimension].saturating_mul(size);
        let boxed = CopiedBox::to_chunk(strided_box, &pipeline.layout, size, stride);
        let dimensions = boxed.dimensions();
        let from = boxed.memory_offset;
        let to = boxed.chunk_offset.checked_sub(skipped).ok_or(OutOfBounds).map_err(CodecError::encode)?;
        copy::copy(
            size,
            copy::ByteSwap::from(&pipeline.layout.swap),
            dimensions,
            bytes,
            from,
            target,
            to,
            false,
        )
        .map_err(CodecError::encode)
    }

    fn gather_variable(
        &self,
        pipeline: &Pipeline,
        source: Variable<'_>,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        let count = pipeline.array.element_count().unwrap_or(0);
        let fill_value = pipeline.array.fill_value.bytes();
        if existing.is_none()
            && let Some(runs) = self.runs_of_all(pipeline, count)
        {
            let mut elements = runs.iter().flat_map(|&(from, count)| from..from + count);
            if elements.all(|position| source.element(position) == fill_value) {
                return Ok(None);
            }
            let size = source.size_of_runs(&runs);
            let size = size.ok_or_else(|| CodecError::encode("elements are too large for this machine"))?;
            source.copy_runs(&runs, stages.start(size)?);
            return Ok(Some(size));
        }
        let mut assembly = Assembly::new(&pipeline.array)?;
        if let Some(bytes) = existing {
            let elements = Variable::parse(bytes, &pipeline.array)?;
            assembly.put_run(0, &elements, 0, count);
        }
        let Ok(()) = self.piece.each_strided_box(|strided_box| {
            each_run(strided_box, &pipeline.layout, self.strides, |in_chunk, in_source, count| {
                assembly.put_run(in_chunk, &source, in_source, count);
            });
            Ok::<_, Infallible>(())
        });
        if (0..count).all(|position| assembly.element(position) == fill_value) {
            return Ok(None);
        }
        let bytes = assembly.finish()?;
        stages.start(bytes.len())?.copy_from_slice(&bytes);
        Ok(Some(bytes.len()))
    }

    /// Returns the starts and lengths of runs of the source, if together they are all elements of the chunk in storage
    /// order.
    fn runs_of_all(&self, pipeline: &Pipeline, count: usize) -> Option<Vec<(usize, usize)>> {
        let strided_box = self.piece.only()?;
        let mut runs = Vec::new();
        let mut next = 0;
        let mut is_in_order = true;
        each_run(&strided_box, &pipeline.layout, self.strides, |in_chunk, in_source, count| {
            is_in_order &= in_chunk == next;
            next += count;
            runs.push((in_source, count));
        });
        (is_in_order && next == count).then_some(runs)
    }
}

/// The elements of a whole chunk in storage order, gathered run by run.
pub(super) struct GatheredSlabs<'s> {
    elements: &'s ChunkElements<'s>,
    pipeline: &'s Pipeline,
    source: FixedElements<'s>,
    slabs: Slabs,
}

impl GatheredSlabs<'_> {
    /// Returns whether all elements are the fill value. Stops soon after the first element that is not.
    pub(super) fn are_fill(&mut self, stages: &mut Stages) -> Result<bool, CodecError> {
        let all = self.slabs.size;
        let element = self.slabs.element;
        let most = ((COMPARED / element).max(1) * element).min(all);
        let memory = stages.start(most)?;
        for start in (0..all).step_by(most) {
            let slab = &mut memory[..most.min(all - start)];
            self.read(start, slab)?;
            if !is_fill(self.pipeline, slab) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl PartSource for GatheredSlabs<'_> {
    fn size(&self) -> usize {
        self.slabs.size
    }

    fn read(&mut self, start: usize, part: &mut [u8]) -> Result<(), CodecError> {
        let Self { elements, pipeline, source, slabs } = self;
        let wanted = part.len();
        let run = start..start.saturating_add(wanted);
        let are_there =
            slabs.each_box(run, |strided_box| elements.copy(pipeline, *source, strided_box, part, start))?;
        if are_there {
            return Ok(());
        }
        Err(CodecError::encode(format!("{wanted} bytes at {start} are not whole elements of a chunk")))
    }
}

/// Returns the size in bytes of a chunk of fill values, which [`ChunkElements::gather`] has written to `stages`.
pub(super) fn fill_value_size(pipeline: &Pipeline, stages: &mut Stages) -> Result<usize, CodecError> {
    match pipeline.array.size() {
        Size::Exact(size) => usize::try_from(size).map_err(CodecError::encode),
        Size::AtMost(_) | Size::Unknown => {
            let bytes = Assembly::new(&pipeline.array)?.finish()?;
            stages.start(bytes.len())?.copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }
}

/// Fills a chunk with the fill value in stored form.
fn fill(pipeline: &Pipeline, element: usize, target: &mut [u8]) -> Result<(), CodecError> {
    let mut fill_value = pipeline.array.fill_value.bytes().to_vec();
    let swap = copy::ByteSwap::from(&pipeline.layout.swap);
    copy::swap_in_place(swap, element, &mut fill_value).map_err(CodecError::encode)?;
    let count = pipeline.array.element_count().unwrap_or(0);
    let all = [FillDimension { count, stride: element.cast_signed() }];
    copy::fill(&fill_value, &all, target, 0).map_err(CodecError::encode)
}
