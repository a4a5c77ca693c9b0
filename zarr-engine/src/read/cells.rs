//! Reading of chunks: each is fetched and decoded once, for all who want some of it.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::store::{Contents, GetResult};
use zarr_spec::{ByteRange, CodecError, Elements, Size};

use super::cache::{CachedChunks, CachedValue, Claimed};
use super::region::{ChunkRequest, OutputRegion, OutputState};
use super::remote::Cells;
use crate::array::{Allowance, ArrayInner, Needing};
use crate::copy::MAX_RANK;
use crate::error::Error;
use crate::needs;
use crate::pipeline::{Stages, decode, decode_parts, decode_range, decodes_parts};
use crate::plan::{Piece, Plan, StridedBox};
use crate::slabs::Slabs;
use crate::variable::Variable;

/// Chunks that need no more memory are not asked whether they decode straight to the output.
const SMALL: u64 = 256 << 10;

/// The number of a chunk that is no shard, among those of its value.
pub(super) const WHOLE: u64 = 0;

impl ArrayInner {
    /// Reads all that is wanted; `total` is the size of all outputs together.
    pub(super) fn read_regions(&self, regions: &[OutputRegion<'_>], total: usize) -> Result<(), Error> {
        let plans: Result<Vec<_>, _> = regions.iter().map(|region| self.plan(region.wanted)).collect();
        let plans = plans?;
        let cache = self.cached_chunks();
        let cache = cache.as_ref();
        if self.resolved.store.read_hints().max_concurrency > 0 && !self.metadata.shape.is_empty() {
            return self.read_remotely(&Cells::new(&plans, regions)?, total, cache);
        }
        let work = |count: usize| Ok::<_, Error>(total.max(self.least_work(&plans)?.saturating_mul(count)));
        if let ([plan], [region]) = (plans.as_slice(), regions) {
            let read = |number| {
                let piece = plan.piece(number)?;
                self.read_grid_cell(
                    &[ChunkRequest { piece: &piece, region, strides: &region.strides }],
                    cache,
                )
            };
            let Some(cache) = cache.filter(|_| plan.len() > 1 && !self.is_parallel(plan.len(), total)) else {
                return self.for_each(plan.len(), work(plan.len())?, read);
            };
            // Copying so little takes no second thread, and what there is to decode may well take one.
            let mut others = Vec::new();
            for number in 0..plan.len() {
                let piece = plan.piece(number)?;
                if !self.put_if_cached(
                    &[ChunkRequest { piece: &piece, region, strides: &region.strides }],
                    cache,
                )? {
                    others.push(number);
                }
            }
            return self.for_each(others.len(), work(others.len())?, |place| read(others[place]));
        }
        let shared = shared_cells(&plans)?;
        let cells: Vec<_> = shared.chunk_by(|(a, ..), (b, ..)| a == b).collect();
        self.for_each(cells.len(), work(cells.len())?, |number| {
            let pieces = cells[number].iter().map(|&(_, plan, piece)| Ok((plan, plans[plan].piece(piece)?)));
            let pieces: Result<Vec<(usize, Piece<'_>)>, Error> = pieces.collect();
            let pieces = pieces?;
            let requests = pieces.iter().map(|(plan, piece)| {
                let region = &regions[*plan];
                ChunkRequest { piece, region, strides: &region.strides }
            });
            self.read_grid_cell(&requests.collect::<Vec<_>>(), cache)
        })
    }

    /// Bytes that each chunk of these plans is decoded to at least, if anything is wanted of it; 0 where nothing is
    /// computed.
    fn least_work(&self, plans: &[Plan<'_>]) -> Result<usize, Error> {
        let Some(plan) = plans.iter().find(|plan| plan.len() > 0) else { return Ok(0) };
        let mut pipeline = self.pipeline_of(&plan.piece(0)?)?;
        while let Some(shard) = pipeline.shard() {
            pipeline = Arc::clone(&shard.inner);
        }
        Ok(if pipeline.steps.is_empty() { 0 } else { decoded_size(&pipeline).unwrap_or(usize::MAX) })
    }

    /// Reads what is wanted of the chunk that the first of all wants is in; there is one at least.
    fn read_grid_cell(
        &self,
        requests: &[ChunkRequest<'_, '_>],
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let Some(first) = requests.first() else { return Ok(()) };
        let pipeline = self.pipeline_of(first.piece)?;
        self.read_cell(first.piece.cell(), &pipeline, requests, OutputState::Fresh, cache)
    }

    /// Reads the requested parts of the chunk at `cell`, from the cache if the chunk is cached.
    pub(super) fn read_cell(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        requests: &[ChunkRequest<'_, '_>],
        state: OutputState,
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let cache =
            cache.map(|cache| Ok::<_, Error>(CachedValue::new(cache, self.key(cell)?))).transpose()?;
        let cache = cache.as_ref();
        if let Some(shard) = pipeline.shard() {
            return self.read_shard(cell, shard, requests, state, cache);
        }
        if let Some(decoded) = cache.and_then(|cache| cache.find(WHOLE)) {
            return self.put(cell, pipeline, &decoded, requests);
        }
        // Where each request is a round trip, rows are fetched one by one only if the whole chunk has no room in memory.
        let has_room = exact_size(pipeline).is_none_or(|size| size <= self.budget().size());
        let is_far = self.resolved.store.read_hints().max_concurrency > 0;
        let is_raw = pipeline.steps.is_empty() && !(is_far && has_room);
        let is_kept_whole =
            cache.is_some_and(|cache| decoded_size(pipeline).is_none_or(|size| cache.takes(WHOLE, size)));
        if let [request] = requests
            && state == OutputState::Fresh
            && let Some(strided_box) = request.piece.only().filter(|_| is_raw && !is_kept_whole)
        {
            return self.read_raw(cell, pipeline, *request, &strided_box);
        }
        let chunk = Needing { cell, pipeline, encoded: exact_size(pipeline) };
        let need = |allowance: Allowance| match allowance.encoded {
            // Nothing is stored: the output is filled.
            0 => 0,
            _ => self.need_of_decoding(pipeline, requests, allowance),
        };
        let mut state = state;
        // Memory comes before the claim of a chunk: a thread that has a claim does not wait for memory.
        let read = self.with_memory(chunk, need, |scratch, allowance| {
            let claimed = cache.map(|cache| self.find_or_claim(cache, WHOLE));
            if let Some(Claimed::Cached(decoded)) = &claimed {
                return self.put(cell, pipeline, decoded, requests);
            }
            let mut output = scratch.encoded.output(self.value_limit(Some(allowance.encoded)));
            let state = mem::replace(&mut state, OutputState::Written);
            let Some(got) = self.get_once(cell, ByteRange::Full, &mut output)? else {
                return self.fill(cell, requests, state);
            };
            let encoded = contents(&got, output.written());
            self.decode_to(
                cell,
                pipeline,
                encoded,
                &mut scratch.stages,
                requests,
                cache.map(|cache| (cache, WHOLE)),
            )
        });
        match read {
            // The size of the value was not asked for where the codecs fix it.
            Err(Error::OverBudget { .. }) if self.stored_size(cell)?.is_none() => {
                self.fill(cell, requests, state)
            }
            read => read,
        }
    }

    /// Bytes that decoding takes for all who want some of a chunk, the encoded value included.
    pub(super) fn need_of_decoding(
        &self,
        pipeline: &Pipeline,
        requests: &[ChunkRequest<'_, '_>],
        allowance: Allowance,
    ) -> u64 {
        let need = |is_direct| {
            needs::decoding(pipeline, is_direct, allowance.unknown).saturating_add(allowance.encoded)
        };
        let whole = need(false);
        match requests {
            [request] if whole > SMALL && request.is_one_run(pipeline) => need(true),
            _ => whole,
        }
    }

    /// Decodes an encoded chunk or inner chunk to all who want some of it, and keeps it under its number.
    pub(super) fn decode_to(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        encoded: &[u8],
        stages: &mut Stages,
        requests: &[ChunkRequest<'_, '_>],
        cache: Option<(&CachedValue<'_>, u64)>,
    ) -> Result<(), Error> {
        let _alone = match cache.map(|(cache, number)| self.find_or_claim(cache, number)) {
            Some(Claimed::Cached(decoded)) => return self.put(cell, pipeline, &decoded, requests),
            Some(Claimed::Absent(claim)) => claim,
            None => None,
        };
        let bounds = self.bounds(stages.unknown());
        if let Some((cache, number)) = cache
            && let Some(size) = decoded_size(pipeline)
            && let Some(mut room) = cache.memory(number, size)
        {
            // A chunk is cached as a whole, in the memory that it is decoded to.
            let decoded = decode(pipeline, encoded, stages, Some(&mut room), bounds);
            if let Some(decoded) = decoded.map_err(|error| self.chunk_error(cell, error))? {
                room.copy_from_slice(stages.bytes(&decoded, encoded));
            }
            self.put(cell, pipeline, &room, requests)?;
            cache.keep(number, room);
            return Ok(());
        }
        let destination = match requests {
            [request] if !pipeline.steps.is_empty() => request.slice(pipeline)?,
            _ => None,
        };
        let range = part_of(pipeline, requests);
        let is_whole = range.is_none();
        let slabs = match (requests, cache, &destination) {
            // A chunk that is cached is decoded as a whole.
            ([request], None, None) if is_whole && decodes_parts(pipeline) => {
                Slabs::new(pipeline, request.piece).map(|slabs| (request, slabs))
            }
            _ => None,
        };
        let decoded = match (range, &slabs) {
            (Some(range), _) => decode_range(pipeline, encoded, stages, range, bounds),
            (None, Some((request, slabs))) => {
                let mut write = |start: usize, part: &[u8]| {
                    let copy = |elements: &StridedBox| request.copy(pipeline, part, start, elements);
                    match slabs.each_box(start..start + part.len(), copy) {
                        Ok(true) => Ok(()),
                        Ok(false) => Err(CodecError::corrupt("a part ends within an element")),
                        Err(error) => Err(CodecError::corrupt(error)),
                    }
                };
                decode_parts(pipeline, encoded, stages, &mut write, bounds)
            }
            (None, None) => decode(pipeline, encoded, stages, destination, bounds),
        };
        let decoded = decoded.map_err(|error| self.chunk_error(cell, error))?;
        if let Some(decoded) = decoded {
            let elements = stages.bytes(&decoded, encoded);
            self.put(cell, pipeline, elements, requests)?;
            if let Some((cache, number)) = cache.filter(|_| is_whole)
                && let Some(mut room) = cache.memory(number, elements.len())
            {
                room.copy_from_slice(elements);
                cache.keep(number, room);
            }
        }
        Ok(())
    }

    /// Hands the elements of a chunk or inner chunk to all who want some of it.
    pub(super) fn put(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        elements: &[u8],
        requests: &[ChunkRequest<'_, '_>],
    ) -> Result<(), Error> {
        if pipeline.array.data_type.elements() == Elements::Variable {
            let elements = Variable::parse(elements, &pipeline.array);
            let elements = elements.map_err(|error| self.chunk_error(cell, error))?;
            return requests.iter().try_for_each(|request| request.put(pipeline, elements));
        }
        requests.iter().try_for_each(|request| {
            request.piece.each_strided_box(|strided_box| request.copy(pipeline, elements, 0, strided_box))
        })
    }

    /// Fills what is wanted of a chunk or inner chunk that is not stored.
    pub(super) fn fill(
        &self,
        cell: &[u64],
        requests: &[ChunkRequest<'_, '_>],
        state: OutputState,
    ) -> Result<(), Error> {
        let fill_value = self.checked_fill(cell)?;
        requests.iter().try_for_each(|request| request.fill(fill_value, state))
    }
}

/// Bytes of a decoded chunk, where they are always as many.
fn decoded_size(pipeline: &Pipeline) -> Option<usize> {
    match pipeline.array.size() {
        Size::Exact(size) => usize::try_from(size).ok(),
        Size::AtMost(_) | Size::Unknown => None,
    }
}

/// The bytes of a decoded chunk from the first to the last that is wanted, if they are not all.
fn part_of(pipeline: &Pipeline, requests: &[ChunkRequest<'_, '_>]) -> Option<Range<usize>> {
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

/// From the first to the last byte of one strided box, each of whose runs has an element at least.
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

/// A cell, the number of a plan, and that of the piece that lies in the cell.
pub(super) type PlannedCell = ([u64; MAX_RANK], usize, usize);

/// The pieces of several plans in the order of their cells.
pub(super) fn shared_cells(plans: &[Plan<'_>]) -> Result<Vec<PlannedCell>, Error> {
    let mut cells = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        for piece in 0..plan.len() {
            let mut cell = [0; MAX_RANK];
            for (to, from) in cell.iter_mut().zip(plan.piece(piece)?.cell()) {
                *to = *from;
            }
            cells.push((cell, number, piece));
        }
    }
    cells.sort_by_key(|(cell, ..)| *cell);
    Ok(cells)
}

/// Bytes of an encoded chunk, where they are always as many. Upper bounds are those of our own encoders, which other
/// programs may pass.
pub(crate) fn exact_size(pipeline: &Pipeline) -> Option<u64> {
    match pipeline.encoded_size {
        Size::Exact(size) => Some(size),
        Size::AtMost(_) | Size::Unknown => None,
    }
}

/// The bytes that a store gave, `written` being those in the caller's output.
pub(crate) fn contents<'a>(got: &'a GetResult, written: &'a [u8]) -> &'a [u8] {
    match &got.contents {
        Contents::Written => written,
        Contents::Shared(bytes) => bytes,
    }
}
