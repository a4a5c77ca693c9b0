//! Decodes chunks, and places their elements.

use std::ops::Range;

use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::{CodecError, Elements, Size};

use super::cache::{CachedValue, Claimed};
use super::output::{ChunkRequest, OutputState};
use crate::error::Error;
use crate::memory::Fresh;
use crate::pipeline::{Stages, decode, decode_parts, decode_range, decodes_parts};
use crate::plan::StridedBox;
use crate::slabs::Slabs;
use crate::stored::StoredArray;
use crate::variable::Variable;

pub(super) struct Encoded<'e, 'r> {
    pub(super) chunk: &'e [u64],
    pub(super) pipeline: &'e Pipeline,
    pub(super) bytes: &'e [u8],
    pub(super) requests: &'e [ChunkRequest<'e, 'r>],
    pub(super) cache: Option<(&'e CachedValue<'r>, u64)>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "it is made and used once per chunk, and allocating costs more"
)]
enum Way<'e, 'r> {
    /// Decodes to memory of the cache, and copies to the output.
    IntoCache(Fresh),
    IntoOutput(&'r mut [u8]),
    /// Decodes only the range of bytes that contains all requested elements.
    Range(Range<usize>),
    /// Decodes part by part, and copies each part to the output while it is in the CPU cache.
    Parts(&'e ChunkRequest<'e, 'r>, Slabs),
    /// Decodes to scratch memory, and copies to the output.
    IntoScratch,
}

impl StoredArray {
    /// Decodes a chunk and places the requested elements, and caches the chunk if there is a cache with space for it.
    pub(super) fn decode(&self, encoded: &Encoded<'_, '_>, stages: &mut Stages) -> Result<(), Error> {
        let Encoded { chunk, pipeline, bytes, requests, cache } = *encoded;
        let claimed = cache.map(|(cache, number)| self.find_or_claim(cache, number));
        if let Some(Claimed::Cached(decoded)) = &claimed {
            return self.put(chunk, pipeline, decoded, requests);
        }
        let bounds = self.bounds(stages.unknown);
        let error = |error| self.chunk_error(chunk, error);
        let mut is_whole = true;
        let decoded = match encoded.way()? {
            Way::IntoCache(memory) => return self.decode_into_cache(encoded, memory, stages),
            Way::IntoOutput(output) => decode(pipeline, bytes, stages, Some(output), bounds),
            Way::Range(range) => {
                is_whole = false;
                decode_range(pipeline, bytes, stages, range, bounds)
            }
            Way::Parts(request, slabs) => {
                let mut place =
                    |start: usize, part: &[u8]| place_part(pipeline, request, &slabs, start, part);
                decode_parts(pipeline, bytes, stages, &mut place, bounds)
            }
            Way::IntoScratch => decode(pipeline, bytes, stages, None, bounds),
        };
        let Some(decoded) = decoded.map_err(error)? else { return Ok(()) };
        let elements = stages.bytes(&decoded, bytes);
        self.put(chunk, pipeline, elements, requests)?;
        if let Some((cache, number)) = cache.filter(|_| is_whole)
            && let Some(mut memory) = cache.memory(number, elements.len())
        {
            memory.copy_from_slice(elements);
            cache.keep(number, memory);
        }
        Ok(())
    }

    fn decode_into_cache(
        &self,
        encoded: &Encoded<'_, '_>,
        mut memory: Fresh,
        stages: &mut Stages,
    ) -> Result<(), Error> {
        let Encoded { chunk, pipeline, bytes, requests, cache } = *encoded;
        let bounds = self.bounds(stages.unknown);
        let decoded = decode(pipeline, bytes, stages, Some(&mut memory), bounds);
        if let Some(decoded) = decoded.map_err(|error| self.chunk_error(chunk, error))? {
            memory.copy_from_slice(stages.bytes(&decoded, bytes));
        }
        self.put(chunk, pipeline, &memory, requests)?;
        if let Some((cache, number)) = cache {
            cache.keep(number, memory);
        }
        Ok(())
    }

    pub(super) fn put(
        &self,
        chunk: &[u64],
        pipeline: &Pipeline,
        elements: &[u8],
        requests: &[ChunkRequest<'_, '_>],
    ) -> Result<(), Error> {
        if pipeline.array.data_type.elements() == Elements::Variable {
            let elements = Variable::parse(elements, &pipeline.array);
            let elements = elements.map_err(|error| self.chunk_error(chunk, error))?;
            return requests.iter().try_for_each(|request| request.put(pipeline, elements));
        }
        requests.iter().try_for_each(|request| {
            request.piece.each_strided_box(|strided_box| request.copy(pipeline, elements, 0, strided_box))
        })
    }

    pub(super) fn fill(
        &self,
        chunk: &[u64],
        requests: &[ChunkRequest<'_, '_>],
        state: OutputState,
    ) -> Result<(), Error> {
        let fill_value = self.checked_fill(chunk)?;
        requests.iter().try_for_each(|request| request.fill(fill_value, state))
    }
}

impl<'e, 'r> Encoded<'e, 'r> {
    fn way(&self) -> Result<Way<'e, 'r>, Error> {
        let Self { pipeline, requests, cache, .. } = *self;
        if let Some((cache, number)) = cache
            && let Some(size) = decoded_size(pipeline)
            && let Some(memory) = cache.memory(number, size)
        {
            return Ok(Way::IntoCache(memory));
        }
        if let Some(range) = needed_range(pipeline, requests) {
            return Ok(Way::Range(range));
        }
        let [request] = requests else { return Ok(Way::IntoScratch) };
        if !pipeline.steps.is_empty()
            && let Some(output) = request.slice(pipeline)?
        {
            return Ok(Way::IntoOutput(output));
        }
        // A chunk that is cached is decoded as a whole.
        if cache.is_none()
            && decodes_parts(pipeline)
            && let Some(slabs) = Slabs::new(pipeline, request.piece)
        {
            return Ok(Way::Parts(request, slabs));
        }
        Ok(Way::IntoScratch)
    }
}

/// Copies the part of a decoded chunk that starts at `start` to the output.
fn place_part(
    pipeline: &Pipeline,
    request: &ChunkRequest<'_, '_>,
    slabs: &Slabs,
    start: usize,
    part: &[u8],
) -> Result<(), CodecError> {
    let copy = |elements: &StridedBox| request.copy(pipeline, part, start, elements);
    match slabs.each_box(start..start + part.len(), copy) {
        Ok(true) => Ok(()),
        Ok(false) => Err(CodecError::corrupt("a part ends within an element")),
        Err(error) => Err(CodecError::corrupt(error)),
    }
}

/// Returns the size of a decoded chunk in bytes, if it does not depend on the elements.
pub(super) fn decoded_size(pipeline: &Pipeline) -> Option<usize> {
    match pipeline.array.size() {
        Size::Exact(size) => usize::try_from(size).ok(),
        Size::AtMost(_) | Size::Unknown => None,
    }
}

/// Returns the size of an encoded chunk in bytes, if it is fixed. Returns no upper bound: a value that another program
/// wrote may exceed the upper bound of our encoder.
pub(crate) fn exact_size(pipeline: &Pipeline) -> Option<u64> {
    match pipeline.encoded_size {
        Size::Exact(size) => Some(size),
        Size::AtMost(_) | Size::Unknown => None,
    }
}

/// Returns the range of a decoded chunk from the first to the last requested byte; `None` if it is the whole chunk or
/// unknown.
pub(super) fn needed_range(pipeline: &Pipeline, requests: &[ChunkRequest<'_, '_>]) -> Option<Range<usize>> {
    let size = decoded_size(pipeline)?;
    let mut part = size..0;
    for request in requests {
        let is_known = request.piece.each_strided_box(|strided_box| {
            let bytes = bytes_of(pipeline, strided_box).ok_or(())?;
            part = part.start.min(bytes.start)..part.end.max(bytes.end);
            Ok::<_, ()>(())
        });
        is_known.ok()?;
    }
    (part.start < part.end && part.end <= size && part.len() < size).then_some(part)
}

/// Returns the bytes from the first to the last element of a strided box, whose runs are not empty.
fn bytes_of(pipeline: &Pipeline, strided_box: &StridedBox) -> Option<Range<usize>> {
    let element = pipeline.array.data_type.elements().size()?;
    let mut first = 0usize;
    let mut last = 0usize;
    for (run, &stride) in strided_box.runs().iter().zip(&pipeline.layout.strides) {
        let start = i64::try_from(run.start).ok()?;
        let end = run.step.checked_mul(i64::try_from(run.count.checked_sub(1)?).ok()?)?.checked_add(start)?;
        first = first.checked_add(usize::try_from(start.min(end)).ok()?.checked_mul(stride)?)?;
        last = last.checked_add(usize::try_from(start.max(end)).ok()?.checked_mul(stride)?)?;
    }
    Some(first.checked_mul(element)?..last.checked_add(1)?.checked_mul(element)?)
}
