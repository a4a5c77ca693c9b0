//! Reading: plan, locate, fetch and decode, copy.
#![expect(unsafe_code, reason = "threads write disjoint elements of one output")]

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use zarr_spec::pipeline::{Layout, Pipeline, ShardPipeline, Swap};
use zarr_spec::store::{Contents, Got};
use zarr_spec::{ByteRange, CodecError, Elements, FillValue, Format, Output, Size};

use crate::array::{Array, ArrayInner, KeptIndex, Worker};
use crate::context::{Threads, UndefinedFill};
use crate::copy::{self, Dimension, FillDimension, MAX_RANK, Shared};
use crate::element::{Element, as_bytes_mut, type_matches};
use crate::elements::ElementArray;
use crate::error::Error;
use crate::memory::Memory;
use crate::pipeline::{StepError, decode, swap_of};
use crate::plan::{Axis, Combination, Piece, Plan, Run};
use crate::selection::{Located, Selection, Wanted};
use crate::shard::{ShardIndex, c_strides, part};
use crate::variable::{Assembly, Variable, for_each_index};

/// Below so many bytes the work stays on the calling thread.
const PARALLEL: usize = 512 << 10;

/// Outputs of at least so many bytes are written past the caches.
const STREAMED: usize = 32 << 20;

/// Uncompressed chunks are read in parts of so many bytes, which stay in the second-level cache.
const SLAB: usize = 512 << 10;

/// Ranges of a shard are joined to requests of at most so many bytes, unless one alone is larger.
const JOINED: u64 = 1 << 20;

/// How often a shard is read when it changes between its index and its inner chunks.
const ATTEMPTS: usize = 5;

/// A region of the array, and where its elements go.
struct Region<'a> {
    runs: Vec<Vec<Run>>,
    /// Bytes of the output between neighbours per dimension of the array.
    strides: Vec<usize>,
    destination: Shared<'a>,
    /// Whether the output is known to be zero.
    zeroed: bool,
    streaming: bool,
}

/// What the output of a cell holds before it is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// What it held when the read began: zeros, if the region says so.
    Fresh,
    /// Perhaps elements of a state of the chunk that is over.
    Written,
}

/// The part of a region that lies in one cell, dimensions in the order of the cell's.
#[derive(Clone, Copy)]
struct Want<'w, 'a> {
    piece: &'w Piece<'w>,
    region: &'w Region<'a>,
    /// Bytes of the output between neighbours, per dimension of the cell.
    strides: &'w [usize],
}

impl Array {
    /// Reads a selection into memory of its own.
    ///
    /// # Errors
    ///
    /// When the selection is not in the array, a chunk cannot be decoded, the store fails, or memory runs out.
    pub fn read(&self, selection: &Selection) -> Result<ElementArray, Error> {
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let data_type = Arc::clone(self.data_type());
        let shape = located.shape.clone();
        match data_type.elements() {
            Elements::Fixed { size, .. } => {
                let bytes = count.checked_mul(size).ok_or(crate::memory::OutOfMemory { size: usize::MAX })?;
                let mut memory = Memory::zeroed(bytes)?;
                self.inner.read_fixed(&located, size, &mut memory, true)?;
                Ok(ElementArray::fixed(shape, data_type, memory))
            }
            Elements::Variable => {
                let bytes = self.inner.read_variable(&located, count)?;
                Ok(ElementArray::variable(shape, data_type, bytes))
            }
        }
    }

    /// Reads a selection into `destination`, in C order and native byte order.
    ///
    /// # Errors
    ///
    /// As [`Array::read`]; [`Error::Elements`] if `destination` has not the size of the selection, or elements have no
    /// fixed size.
    pub fn read_into(&self, selection: &Selection, destination: &mut [u8]) -> Result<(), Error> {
        let located = selection.located(self.shape())?;
        let Elements::Fixed { size, .. } = self.data_type().elements() else {
            let name = self.data_type().name();
            return Err(Error::Elements(format!("elements of type {name} have no fixed size to read into")));
        };
        let wanted = located.count()?.checked_mul(size);
        if wanted != Some(destination.len()) {
            let (given, wanted) = (destination.len(), wanted.unwrap_or(usize::MAX));
            return Err(Error::Elements(format!("{given} bytes of memory for a selection of {wanted}")));
        }
        self.inner.read_fixed(&located, size, destination, false)
    }

    /// Reads a selection into values of a Rust type.
    ///
    /// # Errors
    ///
    /// As [`Array::read_into`]; [`Error::Elements`] if the array holds another type.
    pub fn read_values_into<T: Element>(&self, selection: &Selection, values: &mut [T]) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        self.read_into(selection, as_bytes_mut(values))
    }

    /// Reads a selection as values of a Rust type, in C order.
    ///
    /// # Errors
    ///
    /// As [`Array::read`]; [`Error::Elements`] if the array holds another type.
    pub fn read_values<T: Element>(&self, selection: &Selection) -> Result<Vec<T>, Error> {
        type_matches::<T>(&**self.data_type())?;
        Ok(self.read(selection)?.as_slice::<T>()?.into_owned())
    }

    /// Reads a selection as an `ndarray`.
    ///
    /// # Errors
    ///
    /// As [`Array::read_values`].
    #[cfg(feature = "ndarray")]
    pub fn read_ndarray<T: Element>(&self, selection: &Selection) -> Result<ndarray::ArrayD<T>, Error> {
        self.read(selection)?.to_ndarray()
    }

    /// Reads many selections. A chunk, or inner chunk, that several of them want is fetched and decoded once.
    ///
    /// # Errors
    ///
    /// As [`Array::read`].
    pub fn read_many(&self, selections: &[Selection]) -> Result<Vec<ElementArray>, Error> {
        let Elements::Fixed { size, .. } = self.data_type().elements() else {
            return selections.iter().map(|selection| self.read(selection)).collect();
        };
        let located: Result<Vec<_>, _> =
            selections.iter().map(|selection| selection.located(self.shape())).collect();
        let located = located?;
        if located.iter().any(|located| matches!(located.what, Wanted::Points(_))) {
            return selections.iter().map(|selection| self.read(selection)).collect();
        }
        let mut memories = Vec::with_capacity(located.len());
        for located in &located {
            let bytes =
                located.count()?.checked_mul(size).ok_or(crate::memory::OutOfMemory { size: usize::MAX })?;
            memories.push(Memory::zeroed(bytes)?);
        }
        let total: usize = memories.iter().map(|memory| memory.len()).fold(0, usize::saturating_add);
        let regions = located.iter().zip(&mut memories);
        let regions: Result<Vec<_>, Error> =
            regions.map(|(located, memory)| region(located, size, memory, true, total >= STREAMED)).collect();
        self.inner.read_regions(&regions?, total)?;
        let data_type = self.data_type();
        memories.iter_mut().for_each(|memory| data_type.settle(memory));
        let arrays = located.into_iter().zip(memories);
        Ok(arrays
            .map(|(located, memory)| ElementArray::fixed(located.shape, Arc::clone(data_type), memory))
            .collect())
    }

    /// Decodes the whole chunk at `index`, elements outside of the array included; a chunk that is not stored is all
    /// fill values.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or it cannot be decoded, or the store fails.
    pub fn decoded_chunk(&self, index: &[u64]) -> Result<ElementArray, Error> {
        let chunk = self.inner.chunk(index)?;
        let pipeline =
            self.inner.pipeline(&chunk.shape).map_err(|error| self.inner.chunk_error(index, error.into()))?;
        let count = chunk.element_count().unwrap_or(usize::MAX);
        let whole = |length: &u64| {
            vec![Run { start: 0, count: usize::try_from(*length).unwrap_or(0), step: 1, out: 0 }]
        };
        let runs: Vec<_> = chunk.shape.iter().map(whole).collect();
        let data_type = Arc::clone(self.data_type());
        let Elements::Fixed { size, .. } = data_type.elements() else {
            let bytes = self.inner.with_value(index, &pipeline, |elements| match elements {
                Some(bytes) => {
                    Ok(Variable::parse(bytes, &chunk)?.reordered(&chunk, &pipeline.layout, true)?)
                }
                None => Ok(Assembly::new(&chunk)?.finish()?),
            })?;
            return Ok(ElementArray::variable(chunk.shape, data_type, bytes));
        };
        let mut memory = Memory::zeroed(count.saturating_mul(size))?;
        let strides = c_strides(&chunk.shape).map_err(|error| self.inner.chunk_error(index, error.into()))?;
        let strides: Vec<usize> = strides.into_iter().map(|stride| stride * size).collect();
        let axes = chunk.shape.iter().map(|&length| Axis::Even { length, whole: length }).zip(runs.clone());
        let plan = Plan::new(axes).map_err(|error| Error::Selection(error.to_string()))?;
        let streaming = memory.len() >= STREAMED;
        let region = Region { runs, strides, destination: Shared::new(&mut memory), zeroed: true, streaming };
        if plan.len() > 0 {
            let piece = plan.piece(0).map_err(|error| Error::Selection(error.to_string()))?;
            let want = Want { piece: &piece, region: &region, strides: &region.strides };
            self.inner.read_cell(index, &pipeline, &[want])?;
        }
        data_type.settle(&mut memory);
        Ok(ElementArray::fixed(chunk.shape, data_type, memory))
    }
}

fn region<'a>(
    located: &Located,
    element_size: usize,
    destination: &'a mut [u8],
    zeroed: bool,
    streaming: bool,
) -> Result<Region<'a>, Error> {
    let Wanted::Box { runs, counts } = &located.what else {
        return Err(Error::Selection("single elements are no region".to_owned()));
    };
    let shape: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
    let strides = c_strides(&shape).map_err(|error| Error::Selection(error.to_string()))?;
    let strides = strides.into_iter().map(|stride| stride.saturating_mul(element_size)).collect();
    Ok(Region { runs: runs.clone(), strides, destination: Shared::new(destination), zeroed, streaming })
}

impl ArrayInner {
    fn read_fixed(
        &self,
        located: &Located,
        size: usize,
        destination: &mut [u8],
        zeroed: bool,
    ) -> Result<(), Error> {
        if destination.is_empty() {
            return Ok(());
        }
        match &located.what {
            Wanted::Points(points) => self.read_points(points, size, destination)?,
            Wanted::Box { .. } => {
                let total = destination.len();
                let region = region(located, size, destination, zeroed, total >= STREAMED)?;
                self.read_regions(&[region], total)?;
            }
        }
        self.resolved.chunk.data_type.settle(destination);
        Ok(())
    }

    fn axes<'s>(&'s self, runs: &'s [Vec<Run>]) -> impl Iterator<Item = (Axis<'s>, Vec<Run>)> {
        let grid = &*self.resolved.grid;
        runs.iter().enumerate().map(move |(dimension, runs)| (Axis::Grid(grid, dimension), runs.clone()))
    }

    fn read_regions(&self, regions: &[Region<'_>], total: usize) -> Result<(), Error> {
        let plans: Result<Vec<_>, Error> = regions
            .iter()
            .map(|region| {
                Plan::new(self.axes(&region.runs)).map_err(|error| Error::Selection(error.to_string()))
            })
            .collect();
        let plans = plans?;
        if let ([plan], [region]) = (plans.as_slice(), regions) {
            return self.for_each(plan.len(), total, |number| {
                let piece = plan.piece(number).map_err(|error| Error::Selection(error.to_string()))?;
                let want = Want { piece: &piece, region, strides: &region.strides };
                self.read_cell_at(piece.cell(), &[want])
            });
        }
        // Of several regions, the pieces are put in the order of their cells.
        let mut pieces = Vec::new();
        for (plan, region) in plans.iter().zip(regions) {
            for number in 0..plan.len() {
                pieces
                    .push((plan.piece(number).map_err(|error| Error::Selection(error.to_string()))?, region));
            }
        }
        pieces.sort_by(|(a, _), (b, _)| a.cell().cmp(b.cell()));
        let cells: Vec<_> = pieces.chunk_by(|(a, _), (b, _)| a.cell() == b.cell()).collect();
        self.for_each(cells.len(), total, |number| {
            let wants =
                cells[number].iter().map(|(piece, region)| Want { piece, region, strides: &region.strides });
            self.read_cell_at(cells[number][0].0.cell(), &wants.collect::<Vec<_>>())
        })
    }

    /// Runs `work` for each number, on several threads where that pays.
    pub(crate) fn for_each(
        &self,
        count: usize,
        total: usize,
        work: impl Fn(usize) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        let context = self.context();
        if count < 2 || total < PARALLEL || matches!(context.threads, Threads::Caller) {
            return (0..count).try_for_each(work);
        }
        context.run(|| {
            let shortest = count.div_ceil(16 * context.thread_count());
            (0..count).into_par_iter().with_min_len(shortest).try_for_each(work)
        })
    }

    fn read_cell_at(&self, cell: &[u64], wants: &[Want<'_, '_>]) -> Result<(), Error> {
        let mut shape = [0u64; MAX_RANK];
        for (dimension, (length, &chunk)) in shape.iter_mut().zip(cell).enumerate() {
            let range = self.resolved.grid.chunk_range(dimension, chunk);
            let range = range.map_err(|error| Error::Selection(error.to_string()))?;
            *length = range.end - range.start;
        }
        let pipeline =
            self.pipeline(&shape[..cell.len()]).map_err(|error| self.chunk_error(cell, error.into()))?;
        self.read_cell(cell, &pipeline, wants)
    }

    /// Reads what is wanted of one chunk.
    fn read_cell(&self, cell: &[u64], pipeline: &Pipeline, wants: &[Want<'_, '_>]) -> Result<(), Error> {
        if let Some(shard) = pipeline.shard() {
            return self.read_shard(cell, shard, wants);
        }
        self.workers.with(Worker::default, |worker| {
            if let [want] = wants
                && pipeline.steps.is_empty()
                && let Some(combination) = want.piece.only()
                && self.resolved.store.manner().concurrency == 0
            {
                return self.read_raw(cell, pipeline, *want, &combination, worker);
            }
            let limit = self.value_limit(exact_size(pipeline));
            let mut output = worker.encoded.output(limit);
            let Some(got) = self.get(cell, ByteRange::Full, &mut output)? else {
                return self.fill(cell, wants, Before::Fresh);
            };
            let encoded = contents(&got, output.written());
            self.decode_to(cell, pipeline, encoded, &mut worker.stages, wants)
        })
    }

    /// Room for an encoded value: its size where the chain fixes it, and never more than the limit.
    fn value_limit(&self, exact: Option<u64>) -> usize {
        let limit = self.context().limits.value_size;
        // A value that is too long by a byte is an error of the chunk, not of the store.
        let limit = exact.map_or(limit, |exact| limit.min(exact.saturating_add(1)));
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Decodes one encoded cell to all who want some of it.
    fn decode_to(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        encoded: &[u8],
        stages: &mut crate::pipeline::Stages,
        wants: &[Want<'_, '_>],
    ) -> Result<(), Error> {
        let direct = match wants {
            [want] if !pipeline.steps.is_empty() => run_of(pipeline, *want),
            _ => None,
        };
        let destination = match (direct, wants) {
            (Some(range), [want]) => {
                // SAFETY: pieces of plans are disjoint in the output: no other slice or copy reaches these elements.
                Some(unsafe { want.region.destination.slice_mut(range) }.map_err(outside)?)
            }
            _ => None,
        };
        let decoded = decode(pipeline, encoded, stages, destination, self.bounds());
        let Some(decoded) = decoded.map_err(|error| self.chunk_error(cell, error))? else { return Ok(()) };
        let elements = stages.bytes(&decoded, encoded);
        for want in wants {
            for combination in want.piece.combinations() {
                copy_out(pipeline, elements, 0, *want, &combination)?;
            }
        }
        Ok(())
    }

    /// Fills what is wanted of a cell that is not stored.
    fn fill(&self, cell: &[u64], wants: &[Want<'_, '_>], before: Before) -> Result<(), Error> {
        let fill_value = self.checked_fill(cell)?;
        for want in wants {
            if want.region.zeroed && fill_value.is_zero() && before == Before::Fresh {
                continue;
            }
            for combination in want.piece.combinations() {
                let mut dimensions = [FillDimension { count: 1, stride: 0 }; MAX_RANK];
                let mut offset = 0usize;
                for ((dimension, run), &stride) in
                    dimensions.iter_mut().zip(combination.runs()).zip(want.strides)
                {
                    *dimension = FillDimension { count: run.count, stride: stride.cast_signed() };
                    offset = offset.saturating_add(run.out.saturating_mul(stride));
                }
                let dimensions = &dimensions[..combination.runs().len()];
                // SAFETY: pieces of plans are disjoint in the output.
                unsafe { copy::fill_shared(fill_value.bytes(), dimensions, want.region.destination, offset) }
                    .map_err(outside)?;
            }
        }
        Ok(())
    }

    /// The fill value, for a chunk that is not stored.
    pub(crate) fn checked_fill(&self, cell: &[u64]) -> Result<&FillValue, Error> {
        let undefined = self.resolved.fill_is_undefined && self.format() != Format::V2;
        if undefined && self.context().undefined_fill == UndefinedFill::Deny {
            return Err(Error::UndefinedFillValue { path: self.path.clone(), index: cell.to_vec() });
        }
        Ok(&self.resolved.chunk.fill_value)
    }

    /// Reads an uncompressed chunk: straight to the output if that is one run, else in slabs that stay in the cache.
    fn read_raw(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        want: Want<'_, '_>,
        combination: &Combination,
        worker: &mut Worker,
    ) -> Result<(), Error> {
        let expected = pipeline.array.size().limit().unwrap_or(0);
        let wrong = |size: u64| {
            self.chunk_error(
                cell,
                StepError::chunk(format!(
                    "it has {size} bytes, and a chunk of shape {:?} has {expected}",
                    pipeline.array.shape
                )),
            )
        };
        if let Some(range) = run_of(pipeline, want) {
            // SAFETY: pieces of plans are disjoint in the output.
            let destination = unsafe { want.region.destination.slice_mut(range) }.map_err(outside)?;
            let size = destination.len();
            let mut output = Output::to(destination);
            return match self.get(cell, ByteRange::Full, &mut output) {
                Ok(None) => self.fill(cell, &[want], Before::Fresh),
                Ok(Some(got)) if got.size != expected => Err(wrong(got.size)),
                Ok(Some(Got { contents: Contents::Written, .. })) if output.remaining() == 0 => Ok(()),
                Ok(Some(Got { contents: Contents::Shared(bytes), .. })) if bytes.len() == size => {
                    copy_out(pipeline, &bytes, 0, want, combination)
                }
                Ok(Some(_)) => Err(wrong((size - output.remaining()) as u64)),
                Err(Error::Chunk { source, .. }) if matches!(*source, CodecError::TooLarge(_)) => {
                    Err(wrong(self.resolved.store.size(&self.key(cell)?)?.unwrap_or(expected + 1)))
                }
                Err(error) => Err(error),
            };
        }
        let element_size = pipeline.array.data_type.elements().size().unwrap_or(1);
        // Slabs are rows of the dimension that varies slowest in the stored chunk.
        let slowest = (0..combination.runs().len())
            .filter(|&dimension| pipeline.array.shape[dimension] > 1)
            .max_by_key(|&dimension| pipeline.layout.strides[dimension]);
        let Some(slowest) = slowest.filter(|&dimension| combination.runs()[dimension].step > 0) else {
            return self.read_whole_raw(cell, pipeline, want, combination, worker, expected, &wrong);
        };
        let run = combination.runs()[slowest];
        let row = pipeline.layout.strides[slowest] * element_size;
        let step = usize::try_from(run.step).unwrap_or(1);
        let rows_per_slab = (SLAB / row.max(1)).max(1);
        let mut version = None;
        let mut done = 0;
        while done < run.count {
            let count = (rows_per_slab.div_ceil(step)).min(run.count - done);
            let first = usize::try_from(run.start).unwrap_or(usize::MAX) + done * step;
            let rows = (count - 1) * step + 1;
            let (offset, size) = (first as u64 * row as u64, rows * row);
            let mut output = worker.encoded.output(size);
            let range = ByteRange::Range { offset, size: size as u64 };
            let Some(got) = self.get(cell, range, &mut output)? else {
                let before = if done == 0 { Before::Fresh } else { Before::Written };
                return self.fill(cell, &[want], before);
            };
            if got.size != expected {
                return Err(wrong(got.size));
            }
            if done > 0 && version != got.version {
                // Somebody replaced the chunk: none of its parts may come from two states of it.
                return self.read_whole_raw(cell, pipeline, want, combination, worker, expected, &wrong);
            }
            let mut part = *combination;
            part.set_run(slowest, Run { start: first as u64, count, step: run.step, out: run.out + done });
            let bytes = contents(&got, output.written());
            if bytes.len() != size {
                return Err(wrong(got.size));
            }
            copy_out(pipeline, bytes, first * row, want, &part)?;
            version = got.version;
            done += count;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "what a raw chunk needs, passed on")]
    fn read_whole_raw(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        want: Want<'_, '_>,
        combination: &Combination,
        worker: &mut Worker,
        expected: u64,
        wrong: &dyn Fn(u64) -> Error,
    ) -> Result<(), Error> {
        let mut output = worker.encoded.output(self.value_limit(Some(expected)));
        let Some(got) = self.get(cell, ByteRange::Full, &mut output)? else {
            return self.fill(cell, &[want], Before::Written);
        };
        let bytes = contents(&got, output.written());
        if got.size != expected || bytes.len() as u64 != expected {
            return Err(wrong(got.size));
        }
        copy_out(pipeline, bytes, 0, want, combination)
    }

    /// Reads what is wanted of a shard: its index, unless that is kept, and the inner chunks that are concerned.
    fn read_shard(&self, cell: &[u64], shard: &ShardPipeline, wants: &[Want<'_, '_>]) -> Result<(), Error> {
        let mut before = Before::Fresh;
        for _ in 0..ATTEMPTS {
            let kept = self.kept_index(cell);
            let is_kept = kept.is_some();
            let index = if is_kept { kept } else { self.fetch_index(cell, shard)? };
            let Some(index) = index else { return self.fill(cell, wants, before) };
            if self.read_inner(cell, shard, &index, is_kept, wants, before)? {
                return Ok(());
            }
            self.forget_index(cell);
            before = Before::Written;
        }
        Err(self.chunk_error(cell, StepError::chunk("the shard changes faster than it can be read")))
    }

    fn fetch_index(&self, cell: &[u64], shard: &ShardPipeline) -> Result<Option<Arc<KeptIndex>>, Error> {
        self.workers.with(Worker::default, |worker| {
            let limit = self.value_limit(Some(shard.index_size));
            let mut output = worker.encoded.output(limit);
            let Some(got) = self.get(cell, ShardIndex::range_in_value(shard), &mut output)? else {
                return Ok(None);
            };
            let bytes = contents(&got, output.written());
            let index = ShardIndex::parse(shard, bytes, got.size, &mut worker.stages);
            let index = index.map_err(|error| self.chunk_error(cell, error.into()))?;
            let kept = Arc::new(KeptIndex { index, version: got.version, size: got.size });
            self.keep_index(cell, Arc::clone(&kept));
            Ok(Some(kept))
        })
    }

    /// Whether the shard was still the one that the index is of. One that was kept (`is_kept`) is only believed when it
    /// says that something is stored, and the shard then has the version that it had.
    fn read_inner(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        kept: &KeptIndex,
        is_kept: bool,
        wants: &[Want<'_, '_>],
        before: Before,
    ) -> Result<bool, Error> {
        let selection = |error: zarr_spec::grid::GridError| Error::Selection(error.to_string());
        // The dimensions of the shard are those of the chunk in another order.
        let strides: Vec<Vec<usize>> = wants
            .iter()
            .map(|want| shard.order.iter().map(|&dimension| want.strides[dimension]).collect())
            .collect();
        let mut plans = Vec::with_capacity(wants.len());
        for want in wants {
            let axes = shard.order.iter().enumerate().map(|(place, &dimension)| {
                let axis =
                    Axis::Even { length: shard.inner.array.shape[place], whole: shard.array.shape[place] };
                (axis, want.piece.runs()[dimension].as_slice().to_vec())
            });
            plans.push(Plan::new(axes).map_err(selection)?);
        }
        let mut inner = Vec::new();
        let mut total = 0usize;
        for (number, plan) in plans.iter().enumerate() {
            for piece in 0..plan.len() {
                let piece = plan.piece(piece).map_err(selection)?;
                let position =
                    piece.cell().iter().zip(&shard.grid_shape).fold(0, |position, (cell, length)| {
                        position * usize::try_from(*length).unwrap_or(usize::MAX)
                            + usize::try_from(*cell).unwrap_or(usize::MAX)
                    });
                inner.push((kept.index.range(position), position, number, piece));
            }
        }
        inner.sort_by_key(|(range, position, ..)| (range.map_or((u64::MAX, 0), |range| range), *position));
        let want_of =
            |number: usize, piece| Want { piece, region: wants[number].region, strides: &strides[number] };
        let stored = inner.partition_point(|(range, ..)| range.is_some());
        if stored == 0 && is_kept {
            return Ok(false);
        }
        for (_, _, number, piece) in &inner[stored..] {
            self.fill(cell, &[want_of(*number, piece)], before)?;
        }
        let inner = &inner[..stored];
        let bytes =
            shard.inner.array.size().limit().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        total = total.saturating_add(inner.len().saturating_mul(bytes));
        let join_gap = self.resolved.store.manner().join_gap;
        let groups: Vec<_> = joined(inner, join_gap, |(range, ..)| range.unwrap_or((0, 0)));
        let current = Mutex::new(true);
        self.for_each(groups.len(), total, |group| {
            let group = &inner[groups[group].clone()];
            let start = group.first().and_then(|(range, ..)| *range).map_or(0, |(offset, _)| offset);
            let end = group.iter().filter_map(|(range, ..)| *range).map(|(offset, size)| offset + size).max();
            let size = end.unwrap_or(start) - start;
            self.workers.with(Worker::default, |worker| {
                let mut output = worker.encoded.output(self.value_limit(Some(size)));
                let range = ByteRange::Range { offset: start, size };
                let got = self.get(cell, range, &mut output)?;
                let got = got.filter(|got| got.version == kept.version && got.size == kept.size);
                let Some(got) = got else {
                    *current.lock().unwrap_or_else(PoisonError::into_inner) = false;
                    return Ok(());
                };
                let joined = contents(&got, output.written());
                for same in group.chunk_by(|(_, a, ..), (_, b, ..)| a == b) {
                    let (offset, size) = same[0].0.unwrap_or((start, 0));
                    let encoded = part(joined, (offset - start, size));
                    let encoded = encoded.map_err(|error| self.chunk_error(cell, error.into()))?;
                    let wants: Vec<_> =
                        same.iter().map(|(_, _, number, piece)| want_of(*number, piece)).collect();
                    self.decode_to(cell, &shard.inner, encoded, &mut worker.stages, &wants)?;
                }
                Ok(())
            })
        })?;
        Ok(current.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Single elements: the chunks, or inner chunks, that hold them are decoded once.
    fn read_points(&self, points: &[u64], size: usize, destination: &mut [u8]) -> Result<(), Error> {
        let rank = self.metadata.shape.len();
        let count = points.len() / rank;
        let mut regions = Vec::with_capacity(count);
        let total = destination.len();
        for (point, bytes) in points.chunks_exact(rank).zip(destination.chunks_exact_mut(size)) {
            let runs = point.iter().map(|&start| vec![Run { start, count: 1, step: 1, out: 0 }]).collect();
            regions.push(Region {
                runs,
                strides: vec![0; rank],
                destination: Shared::new(bytes),
                zeroed: false,
                streaming: false,
            });
        }
        // Batches bound the memory that plans of single elements take.
        regions.chunks(1 << 14).try_for_each(|regions| self.read_regions(regions, total))
    }

    /// Elements of variable size: offsets and payload of the whole result.
    fn read_variable(&self, located: &Located, count: usize) -> Result<Vec<u8>, Error> {
        let codec = |error: CodecError| Error::Elements(error.to_string());
        let fill = self.resolved.chunk.fill_value.bytes();
        let assembly = Mutex::new(Assembly::with_count(count, fill).map_err(codec)?);
        if count > 0 {
            match &located.what {
                Wanted::Box { runs, counts } => self.read_variable_box(runs, counts, &assembly)?,
                Wanted::Points(points) => {
                    for (position, point) in points.chunks_exact(self.metadata.shape.len()).enumerate() {
                        let runs: Vec<_> = point
                            .iter()
                            .map(|&start| vec![Run { start, count: 1, step: 1, out: 0 }])
                            .collect();
                        let one = Mutex::new(Assembly::with_count(1, fill).map_err(codec)?);
                        self.read_variable_box(&runs, &vec![1; runs.len()], &one)?;
                        let one = one.into_inner().unwrap_or_else(PoisonError::into_inner);
                        assembly.lock().unwrap_or_else(PoisonError::into_inner).put(position, one.element(0));
                    }
                }
            }
        }
        assembly.into_inner().unwrap_or_else(PoisonError::into_inner).finish().map_err(codec)
    }

    fn read_variable_box(
        &self,
        runs: &[Vec<Run>],
        counts: &[usize],
        assembly: &Mutex<Assembly>,
    ) -> Result<(), Error> {
        let plan = Plan::new(self.axes(runs)).map_err(|error| Error::Selection(error.to_string()))?;
        let shape: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
        let strides = c_strides(&shape).map_err(|error| Error::Selection(error.to_string()))?;
        self.for_each(plan.len(), usize::MAX, |number| {
            let piece = plan.piece(number).map_err(|error| Error::Selection(error.to_string()))?;
            let chunk = self.chunk(piece.cell())?;
            let pipeline =
                self.pipeline(&chunk.shape).map_err(|error| self.chunk_error(piece.cell(), error.into()))?;
            self.with_value(piece.cell(), &pipeline, |elements| {
                let Some(elements) = elements else { return Ok(()) };
                let elements = Variable::parse(elements, &chunk)?;
                let mut assembly = assembly.lock().unwrap_or_else(PoisonError::into_inner);
                for combination in piece.combinations() {
                    each_element(&combination, &pipeline.layout, &strides, |from, to| {
                        assembly.put(to, elements.element(from));
                    });
                }
                Ok(())
            })
        })
    }

    /// Calls `then` with the elements of a whole chunk in the pipeline's layout, or `None` if it is not stored.
    pub(crate) fn with_value<R>(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        then: impl FnOnce(Option<&[u8]>) -> Result<R, CodecError>,
    ) -> Result<R, Error> {
        self.workers.with(Worker::default, |worker| {
            let mut output = worker.encoded.output(self.value_limit(exact_size(pipeline)));
            let Some(got) = self.get(cell, ByteRange::Full, &mut output)? else {
                self.checked_fill(cell)?;
                return then(None).map_err(|error| self.chunk_error(cell, error.into()));
            };
            let encoded = contents(&got, output.written());
            let decoded = decode(pipeline, encoded, &mut worker.stages, None, self.bounds());
            let decoded = decoded.map_err(|error| self.chunk_error(cell, error))?;
            let elements = decoded.as_ref().map(|decoded| worker.stages.bytes(decoded, encoded));
            then(elements).map_err(|error| self.chunk_error(cell, error.into()))
        })
    }
}

/// Bytes of an encoded chunk, where they are always as many. Upper bounds are those of our own encoders, which other
/// programs may pass.
fn exact_size(pipeline: &Pipeline) -> Option<u64> {
    match pipeline.encoded_size {
        Size::Exact(size) => Some(size),
        Size::AtMost(_) | Size::Unknown => None,
    }
}

/// The bytes that a store gave, `written` being those in the caller's output.
pub(crate) fn contents<'a>(got: &'a Got, written: &'a [u8]) -> &'a [u8] {
    match &got.contents {
        Contents::Written => written,
        Contents::Shared(bytes) => bytes,
    }
}

/// Calls `visit` with the place of each element of a strided box, in the cell and in the result, counted in elements.
pub(crate) fn each_element(
    combination: &Combination,
    layout: &Layout,
    strides: &[usize],
    mut visit: impl FnMut(usize, usize),
) {
    let counts: Vec<u64> = combination.runs().iter().map(|run| run.count as u64).collect();
    for_each_index(&counts, |_, index| {
        let (mut from, mut to) = (0, 0);
        for (dimension, (run, &number)) in combination.runs().iter().zip(index).enumerate() {
            let element = run.start.wrapping_add_signed(run.step.wrapping_mul(number as i64));
            from += usize::try_from(element).unwrap_or(usize::MAX).saturating_mul(layout.strides[dimension]);
            to += (run.out + number) * strides[dimension];
        }
        visit(from, to);
    });
}

/// The bytes of the output that a whole cell fills in one run, if elements need no reordering or swapping.
fn run_of(pipeline: &Pipeline, want: Want<'_, '_>) -> Option<std::ops::Range<usize>> {
    let shape = &pipeline.array.shape;
    if pipeline.layout.swap != Swap::None || !want.piece.covers(shape.iter().copied()) {
        return None;
    }
    let combination = want.piece.only()?;
    let element = pipeline.array.data_type.elements().size()?;
    let (mut size, mut start) = (element, 0);
    for dimension in (0..shape.len()).rev() {
        let run = combination.runs()[dimension];
        start += run.out * want.strides[dimension];
        if run.count > 1 {
            let plain = pipeline.layout.strides[dimension].checked_mul(element) == Some(size);
            if !plain || want.strides[dimension] != size {
                return None;
            }
            size = size.checked_mul(run.count)?;
        }
    }
    Some(start..start.checked_add(size)?)
}

/// Copies one strided box from a cell, of which `elements` are the bytes from `skipped` on, to the output.
fn copy_out(
    pipeline: &Pipeline,
    elements: &[u8],
    skipped: usize,
    want: Want<'_, '_>,
    combination: &Combination,
) -> Result<(), Error> {
    let element = pipeline.array.data_type.elements().size().unwrap_or(0);
    let mut dimensions = [Dimension { count: 1, source_stride: 0, destination_stride: 0 }; MAX_RANK];
    let (mut from, mut to) = (0usize, 0usize);
    for (dimension, run) in combination.runs().iter().enumerate() {
        let source = pipeline.layout.strides[dimension].saturating_mul(element);
        let step = isize::try_from(run.step).unwrap_or(0);
        dimensions[dimension] = Dimension {
            count: run.count,
            source_stride: step.saturating_mul(source.cast_signed()),
            destination_stride: want.strides[dimension].cast_signed(),
        };
        from = from.saturating_add(usize::try_from(run.start).unwrap_or(usize::MAX).saturating_mul(source));
        to = to.saturating_add(run.out.saturating_mul(want.strides[dimension]));
    }
    let dimensions = &dimensions[..combination.runs().len()];
    let swap = swap_of(&pipeline.layout.swap);
    let (destination, streaming) = (want.region.destination, want.region.streaming);
    let from = from.checked_sub(skipped).ok_or(copy::OutOfBounds).map_err(outside)?;
    // SAFETY: pieces of plans are disjoint in the output.
    unsafe { copy::copy_shared(element, swap, dimensions, elements, from, destination, to, streaming) }
        .map_err(outside)
}

/// Only a grid or a data type that contradicts itself leads here.
fn outside(error: copy::OutOfBounds) -> Error {
    Error::Elements(error.to_string())
}

/// Neighbours whose ranges lie close enough to be fetched as one, as ranges of positions in `pieces`.
fn joined<T>(pieces: &[T], gap: u64, range: impl Fn(&T) -> (u64, u64)) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    let (mut start, mut end) = (0u64, 0u64);
    for (number, piece) in pieces.iter().enumerate() {
        let (offset, size) = range(piece);
        let piece_end = offset.saturating_add(size);
        let close =
            offset <= end.saturating_add(gap) && end.max(piece_end) - start <= JOINED.max(end - start);
        match groups.last_mut() {
            Some(group) if close => group.end = number + 1,
            _ => {
                groups.push(number..number + 1);
                (start, end) = (offset, piece_end);
            }
        }
        end = end.max(piece_end);
    }
    groups
}
