//! Writing: the road of reading backwards, under the lock of each chunk.

use std::sync::Mutex;
use std::sync::PoisonError;

use zarr_spec::pipeline::{Pipeline, ShardPipeline};
use zarr_spec::store::Store;
use zarr_spec::{ByteRange, CodecError, Elements};

use crate::array::{Array, ArrayInner, Worker};
use crate::copy::{self, Dimension, MAX_RANK};
use crate::element::{Element, as_bytes, type_matches};
use crate::error::Error;
use crate::pipeline::{Stages, StepError, decode, encode, swap_of};
use crate::plan::{Axis, Combination, Piece, Plan, Run};
use crate::read::{contents, each_element};
use crate::selection::{Along, Selection, Wanted};
use crate::shard::{ShardIndex, ShardWriter, c_strides, inner_count, is_fill, part};
use crate::variable::{Assembly, Variable, for_each_index};

/// The elements that are written, and how they lie.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// In C order; bytes between neighbours per dimension of the array.
    Fixed { bytes: &'a [u8], element: usize },
    /// Elements of variable size.
    Variable(Variable<'a>),
}

/// What is written to one cell: a piece of the selection, dimensions in the order of the cell's.
#[derive(Clone, Copy)]
struct Part<'p> {
    piece: &'p Piece<'p>,
    source: Source<'p>,
    /// Elements of the source between neighbours, per dimension of the cell.
    strides: &'p [usize],
}

impl Array {
    /// Writes a selection from `bytes`: elements in C order and native byte order, or for elements of variable size
    /// `n + 1` native `u64` offsets and the payload. Chunks that hold nothing but the fill value are not stored.
    ///
    /// # Errors
    ///
    /// When the selection is not in the array, `bytes` has not its size, nothing can be written here, a chunk that is
    /// partly covered cannot be decoded, one cannot be encoded, or the store fails.
    pub fn write(&self, selection: &Selection, bytes: &[u8]) -> Result<(), Error> {
        self.inner.check_writable()?;
        let located = selection.located(self.shape())?;
        let count = located.count()?;
        let data_type = self.data_type();
        let source = match data_type.elements() {
            Elements::Fixed { size, .. } if count.checked_mul(size) == Some(bytes.len()) => {
                Source::Fixed { bytes, element: size }
            }
            Elements::Fixed { size, .. } => {
                let given = bytes.len();
                return Err(Error::Elements(format!(
                    "{given} bytes for {count} elements of {size} bytes ({})",
                    data_type.name()
                )));
            }
            Elements::Variable => {
                let shape = vec![count as u64];
                let array = zarr_spec::ArrayRepresentation { shape, ..self.inner.resolved.chunk.clone() };
                let elements =
                    Variable::parse(bytes, &array).map_err(|error| Error::Elements(error.to_string()))?;
                Source::Variable(elements)
            }
        };
        if count == 0 {
            return Ok(());
        }
        // Codecs for elements of variable size look themselves.
        if matches!(source, Source::Fixed { .. }) {
            data_type.check(bytes).map_err(|invalid| Error::Elements(invalid.to_string()))?;
        }
        match &located.what {
            Wanted::Box { runs, counts } => self.inner.write_box(runs, counts, source),
            Wanted::Points(points) => self.inner.write_points(points, source),
        }
    }

    /// Writes a selection from values of a Rust type, in C order.
    ///
    /// # Errors
    ///
    /// As [`Array::write`]; [`Error::Elements`] if the array holds another type.
    pub fn write_values<T: Element>(&self, selection: &Selection, values: &[T]) -> Result<(), Error> {
        type_matches::<T>(&**self.data_type())?;
        self.write(selection, as_bytes(values))
    }

    /// Writes a selection of elements of variable size.
    ///
    /// # Errors
    ///
    /// As [`Array::write`]; [`Error::Elements`] if elements have a fixed size.
    pub fn write_variable<T: AsRef<[u8]>>(&self, selection: &Selection, elements: &[T]) -> Result<(), Error> {
        if self.data_type().elements() != Elements::Variable {
            let name = self.data_type().name();
            return Err(Error::Elements(format!("elements of type {name} have a fixed size")));
        }
        let codec = |error: CodecError| Error::Elements(error.to_string());
        let mut assembly = Assembly::with_count(elements.len(), &[]).map_err(codec)?;
        for (position, element) in elements.iter().enumerate() {
            assembly.put(position, element.as_ref());
        }
        self.write(selection, &assembly.finish().map_err(codec)?)
    }

    /// Writes a selection from an `ndarray` of the shape of the selection.
    ///
    /// # Errors
    ///
    /// As [`Array::write_values`]; [`Error::Elements`] for another shape.
    #[cfg(feature = "ndarray")]
    pub fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: &Selection,
        values: &ndarray::ArrayRef<T, D>,
    ) -> Result<(), Error> {
        let wanted = selection.shape(self.shape())?;
        let given: Vec<u64> = values.shape().iter().map(|&length| length as u64).collect();
        if wanted != given {
            return Err(Error::Elements(format!(
                "an array of shape {given:?} for a selection of shape {wanted:?}"
            )));
        }
        match values.as_slice() {
            Some(values) => self.write_values(selection, values),
            None => self.write_values(selection, &values.iter().copied().collect::<Vec<_>>()),
        }
    }

    /// Makes the array longer along `dimension` and writes `bytes` there, as [`Array::write`] takes them. Their
    /// number says by how much.
    ///
    /// # Errors
    ///
    /// As [`Array::resize`] and [`Array::write`]; for bytes that are no whole number of rows nothing is changed.
    pub fn append(&mut self, dimension: usize, bytes: &[u8]) -> Result<(), Error> {
        let mut shape = self.shape().to_vec();
        let Elements::Fixed { size, .. } = self.data_type().elements() else {
            return Err(Error::Elements(
                "elements of variable size are appended by resizing and writing".to_owned(),
            ));
        };
        let Some(&length) = shape.get(dimension) else {
            return Err(Error::Selection(format!(
                "dimension {dimension} of an array of {} dimensions",
                shape.len()
            )));
        };
        let rest =
            shape.iter().enumerate().filter(|&(other, _)| other != dimension).map(|(_, &length)| length);
        let row = rest.chain([size as u64]).try_fold(1u64, u64::checked_mul).filter(|&row| row > 0);
        let more =
            row.filter(|row| (bytes.len() as u64).is_multiple_of(*row)).map(|row| bytes.len() as u64 / row);
        let end = more.and_then(|more| length.checked_add(more)).ok_or_else(|| {
            Error::Elements(format!(
                "{} bytes are no whole number of rows along dimension {dimension}",
                bytes.len()
            ))
        })?;
        shape[dimension] = end;
        self.resize(&shape)?;
        let along = shape.iter().enumerate().map(|(other, &stop)| {
            let start = if other == dimension { length } else { 0 };
            Along::Range { start, stop, step: 1 }
        });
        self.write(&Selection::Dimensions(along.collect()), bytes)
    }
}

impl ArrayInner {
    fn write_box(&self, runs: &[Vec<Run>], counts: &[usize], source: Source<'_>) -> Result<(), Error> {
        let grid = &*self.resolved.grid;
        let axes =
            runs.iter().enumerate().map(|(dimension, runs)| (Axis::Grid(grid, dimension), runs.clone()));
        let plan = Plan::new(axes).map_err(|error| Error::Selection(error.to_string()))?;
        let shape: Vec<u64> = counts.iter().map(|&count| count as u64).collect();
        let strides = c_strides(&shape).map_err(|error| Error::Selection(error.to_string()))?;
        let total = match source {
            Source::Fixed { bytes, .. } => bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        // Few shards leave threads idle: then the inner chunks of each are encoded on all of them.
        let inside = plan.len() < 2 * self.context().thread_count();
        let write = |number| {
            let piece = plan.piece(number).map_err(|error| Error::Selection(error.to_string()))?;
            self.write_cell(&Part { piece: &piece, source, strides: &strides }, inside)
        };
        match inside && self.resolved.chain.shard().is_some() {
            true => (0..plan.len()).try_for_each(write),
            false => self.for_each(plan.len(), total, write),
        }
    }

    fn write_points(&self, points: &[u64], source: Source<'_>) -> Result<(), Error> {
        let rank = self.metadata.shape.len();
        for (position, point) in points.chunks_exact(rank).enumerate() {
            let runs: Vec<_> =
                point.iter().map(|&start| vec![Run { start, count: 1, step: 1, out: 0 }]).collect();
            let mut one = Assembly::with_count(1, &[]).map_err(|error| Error::Elements(error.to_string()))?;
            match source {
                Source::Fixed { bytes, element } => {
                    let bytes = &bytes[position * element..(position + 1) * element];
                    self.write_box(&runs, &vec![1; rank], Source::Fixed { bytes, element })?;
                }
                Source::Variable(elements) => {
                    one.put(0, elements.element(position));
                    let bytes = one.finish().map_err(|error| Error::Elements(error.to_string()))?;
                    let array =
                        zarr_spec::ArrayRepresentation { shape: vec![1], ..self.resolved.chunk.clone() };
                    let element = Variable::parse(&bytes, &array);
                    let element = element.map_err(|error| Error::Elements(error.to_string()))?;
                    self.write_box(&runs, &vec![1; rank], Source::Variable(element))?;
                }
            }
        }
        Ok(())
    }

    fn write_cell(&self, part: &Part<'_>, inside: bool) -> Result<(), Error> {
        let cell = part.piece.cell();
        let chunk = self.chunk(cell)?;
        let pipeline = self.pipeline(&chunk.shape).map_err(|error| self.chunk_error(cell, error.into()))?;
        let covers = part.piece.covers(self.inside(cell)?.into_iter());
        self.workers.with(Worker::default, |worker| match (pipeline.shard(), part.source) {
            (Some(shard), Source::Fixed { element, .. }) => {
                self.write_shard(cell, shard, part, element, covers, inside, worker)
            }
            _ => self.write_chunk(cell, &pipeline, part, covers, worker),
        })
    }

    /// Elements of the chunk at `cell` that are inside of the array, per dimension.
    fn inside(&self, cell: &[u64]) -> Result<Vec<u64>, Error> {
        let grid = &*self.resolved.grid;
        let lengths =
            cell.iter().zip(&self.metadata.shape).enumerate().map(|(dimension, (&chunk, &length))| {
                let range = grid
                    .chunk_range(dimension, chunk)
                    .map_err(|error| Error::Selection(error.to_string()))?;
                Ok(range.end.min(length).saturating_sub(range.start))
            });
        lengths.collect()
    }

    fn write_chunk(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        part: &Part<'_>,
        covers: bool,
        worker: &mut Worker,
    ) -> Result<(), Error> {
        let step = |error: StepError| self.chunk_error(cell, error);
        let codec = |error: CodecError| self.chunk_error(cell, error.into());
        let Worker { encoded, stages, written, .. } = worker;
        if covers {
            let gathered = gather(pipeline, part, Existing::None, written);
            let size = self.kept_size(pipeline, gathered, written).map_err(codec)?;
            let encoded =
                size.map(|size| encode(pipeline, size, written, self.bounds())).transpose().map_err(step)?;
            let _alone = self.lock(cell);
            return self.store(cell, encoded.as_ref().map(|encoded| written.bytes(encoded, &[])));
        }
        let _alone = self.lock(cell);
        let limit = usize::try_from(self.context().limits.value_size).unwrap_or(usize::MAX);
        let mut output = encoded.output(limit);
        let got = self.get(cell, ByteRange::Full, &mut output)?;
        let decoded = match &got {
            Some(got) => {
                let bytes = contents(got, output.written());
                let decoded = decode(pipeline, bytes, stages, None, self.bounds()).map_err(step)?;
                decoded.map(|decoded| (decoded, bytes))
            }
            None => {
                self.checked_fill(cell)?;
                None
            }
        };
        let existing = match &decoded {
            Some((decoded, bytes)) => Existing::Elements(stages.bytes(decoded, bytes)),
            None => Existing::None,
        };
        let gathered = gather(pipeline, part, existing, written);
        let Some(size) = self.kept_size(pipeline, gathered, written).map_err(codec)? else {
            return self.store(cell, None);
        };
        let encoded = encode(pipeline, size, written, self.bounds()).map_err(step)?;
        self.store(cell, Some(written.bytes(&encoded, &[])))
    }

    /// The size of what was gathered, if it is to be stored: fill values alone only when that is asked for.
    fn kept_size(
        &self,
        pipeline: &Pipeline,
        gathered: Result<Option<usize>, CodecError>,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        match gathered? {
            None if self.context().store_empty_chunks => gathered_size(pipeline, stages).map(Some),
            size => Ok(size),
        }
    }

    /// Stores the value of a chunk, or removes it.
    fn store(&self, cell: &[u64], value: Option<&[u8]>) -> Result<(), Error> {
        self.forget_index(cell);
        let store: &dyn Store = &*self.resolved.store;
        match value {
            Some(value) => Ok(store.set(&self.key(cell)?, value)?),
            None => self.erase(cell),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a shard needs, passed on")]
    fn write_shard(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        part: &Part<'_>,
        element: usize,
        covers: bool,
        inside: bool,
        worker: &mut Worker,
    ) -> Result<(), Error> {
        let codec = |error: CodecError| self.chunk_error(cell, error.into());
        let selection = |error: zarr_spec::grid::GridError| Error::Selection(error.to_string());
        let strides: Vec<usize> = shard.order.iter().map(|&dimension| part.strides[dimension]).collect();
        let axes = shard.order.iter().enumerate().map(|(place, &dimension)| {
            let axis = Axis::Even { length: shard.inner.array.shape[place], whole: shard.array.shape[place] };
            (axis, part.piece.runs()[dimension].as_slice().to_vec())
        });
        let plan = Plan::new(axes).map_err(selection)?;
        let position = |piece: &Piece<'_>| {
            piece.cell().iter().zip(&shard.grid_shape).fold(0usize, |position, (&cell, &length)| {
                position * usize::try_from(length).unwrap_or(usize::MAX)
                    + usize::try_from(cell).unwrap_or(usize::MAX)
            })
        };
        let source = part.source;
        if covers {
            // Nothing is read: inner chunks may be encoded before the lock is taken, on any thread.
            let total = plan
                .len()
                .saturating_mul(element)
                .saturating_mul(shard.inner.array.element_count().unwrap_or(1));
            let encoded = Mutex::new(vec![None; if inside { plan.len() } else { 0 }]);
            let mut value =
                worker.value.output(usize::try_from(self.context().limits.value_size).unwrap_or(usize::MAX));
            let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
            let encode_inner = |number: usize,
                                stages: &mut Stages|
             -> Result<Option<(usize, crate::pipeline::Decoded)>, Error> {
                let piece = plan.piece(number).map_err(selection)?;
                let part = Part { piece: &piece, source, strides: &strides };
                let gathered = gather(&shard.inner, &part, Existing::None, stages);
                match self.kept_size(&shard.inner, gathered, stages).map_err(codec)? {
                    Some(size) => {
                        let encoded = encode(&shard.inner, size, stages, self.bounds());
                        let encoded = encoded.map_err(|error| self.chunk_error(cell, error))?;
                        Ok(Some((position(&piece), encoded)))
                    }
                    None => Ok(None),
                }
            };
            if inside {
                self.for_each(plan.len(), total, |number| {
                    self.workers.with(Worker::default, |worker| {
                        let inner = encode_inner(number, &mut worker.written)?;
                        let bytes = inner
                            .map(|(position, inner)| (position, worker.written.bytes(&inner, &[]).to_vec()));
                        encoded.lock().unwrap_or_else(PoisonError::into_inner)[number] = bytes;
                        Ok(())
                    })
                })?;
                for (position, bytes) in
                    encoded.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten()
                {
                    writer.put(position, &bytes, &mut value).map_err(codec)?;
                }
            } else {
                for number in 0..plan.len() {
                    if let Some((position, inner)) = encode_inner(number, &mut worker.written)? {
                        writer.put(position, worker.written.bytes(&inner, &[]), &mut value).map_err(codec)?;
                    }
                }
            }
            let index = writer.finish(shard, &mut value, &mut worker.stages).map_err(codec)?;
            let _alone = self.lock(cell);
            return self.store(cell, (!index.is_empty()).then_some(value.written()));
        }
        let _alone = self.lock(cell);
        let limit = usize::try_from(self.context().limits.value_size).unwrap_or(usize::MAX);
        let Worker { encoded, stages, value, written } = worker;
        let mut output = encoded.output(limit);
        let got = self.get(cell, ByteRange::Full, &mut output)?;
        let old = got.as_ref().map_or(&[][..], |got| contents(got, output.written()));
        let old_index = match &got {
            Some(_) => ShardIndex::of_value(shard, old, stages).map_err(codec)?,
            None => {
                self.checked_fill(cell)?;
                ShardIndex::empty(shard).map_err(codec)?
            }
        };
        let mut touched = vec![None; inner_count(shard).map_err(codec)?];
        for number in 0..plan.len() {
            let piece = plan.piece(number).map_err(selection)?;
            touched[position(&piece)] = Some(number);
        }
        let mut value = value.output(limit);
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        for (position, touched) in touched.into_iter().enumerate() {
            let old_bytes =
                old_index.range(position).map(|range| self::part(old, range)).transpose().map_err(codec)?;
            let Some(number) = touched else {
                if let Some(bytes) = old_bytes {
                    writer.put(position, bytes, &mut value).map_err(codec)?;
                }
                continue;
            };
            let piece = plan.piece(number).map_err(selection)?;
            let part = Part { piece: &piece, source, strides: &strides };
            let whole = piece.covers(shard.inner.array.shape.iter().copied());
            let decoded = match old_bytes.filter(|_| !whole) {
                Some(bytes) => decode(&shard.inner, bytes, stages, None, self.bounds())
                    .map_err(|error| self.chunk_error(cell, error))?
                    .map(|decoded| (decoded, bytes)),
                None => None,
            };
            let existing = match &decoded {
                Some((decoded, bytes)) => Existing::Elements(stages.bytes(decoded, bytes)),
                None => Existing::None,
            };
            let gathered = gather(&shard.inner, &part, existing, written);
            if let Some(size) = self.kept_size(&shard.inner, gathered, written).map_err(codec)? {
                let encoded = encode(&shard.inner, size, written, self.bounds());
                let encoded = encoded.map_err(|error| self.chunk_error(cell, error))?;
                writer.put(position, written.bytes(&encoded, &[]), &mut value).map_err(codec)?;
            }
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        self.store(cell, (!index.is_empty()).then_some(value.written()))
    }
}

/// What a cell held before.
#[derive(Clone, Copy)]
enum Existing<'a> {
    /// Nothing: what is not written is the fill value.
    None,
    /// Elements in the pipeline's layout.
    Elements(&'a [u8]),
}

/// Puts the elements of a cell together in `stages`, in the order and byte order in which they are stored. The size in
/// bytes, or `None` if all of them are the fill value.
fn gather(
    pipeline: &Pipeline,
    part: &Part<'_>,
    existing: Existing<'_>,
    stages: &mut Stages,
) -> Result<Option<usize>, CodecError> {
    match part.source {
        Source::Fixed { bytes, element } => gather_fixed(pipeline, part, bytes, element, existing, stages),
        Source::Variable(elements) => gather_variable(pipeline, part, elements, existing, stages),
    }
}

/// The size of what [`gather`] left when all of it was the fill value.
fn gathered_size(pipeline: &Pipeline, stages: &mut Stages) -> Result<usize, CodecError> {
    match pipeline.array.size() {
        zarr_spec::Size::Exact(size) => usize::try_from(size).map_err(CodecError::encode),
        _ => {
            let bytes = Assembly::new(&pipeline.array)?.finish()?;
            stages.start(bytes.len())?.copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }
}

fn gather_fixed(
    pipeline: &Pipeline,
    part: &Part<'_>,
    source: &[u8],
    element: usize,
    existing: Existing<'_>,
    stages: &mut Stages,
) -> Result<Option<usize>, CodecError> {
    let size = pipeline.array.element_count().and_then(|count| count.checked_mul(element));
    let size = size.ok_or_else(|| CodecError::encode("too many elements"))?;
    let target = stages.start(size)?;
    match existing {
        Existing::Elements(elements) if elements.len() == size => {
            target.copy_from_slice(elements);
            pipeline.array.data_type.settle(target);
        }
        Existing::Elements(elements) => {
            return Err(CodecError::corrupt(format!(
                "it has {} bytes where {size} should be",
                elements.len()
            )));
        }
        Existing::None if part.piece.covers(pipeline.array.shape.iter().copied()) => {}
        Existing::None => {
            let mut fill = pipeline.array.fill_value.bytes().to_vec();
            copy::swap_in_place(swap_of(&pipeline.layout.swap), element, &mut fill)
                .map_err(CodecError::encode)?;
            let count = pipeline.array.element_count().unwrap_or(0);
            let all = [copy::FillDimension { count, stride: element.cast_signed() }];
            copy::fill(&fill, &all, target, 0).map_err(CodecError::encode)?;
        }
    }
    for combination in part.piece.combinations() {
        copy_in(pipeline, part, source, element, &combination, target)?;
    }
    Ok((!is_fill(pipeline, target)).then_some(size))
}

fn copy_in(
    pipeline: &Pipeline,
    part: &Part<'_>,
    source: &[u8],
    element: usize,
    combination: &Combination,
    target: &mut [u8],
) -> Result<(), CodecError> {
    let mut dimensions = [Dimension { count: 1, source_stride: 0, destination_stride: 0 }; MAX_RANK];
    let (mut from, mut to) = (0usize, 0usize);
    for (dimension, run) in combination.runs().iter().enumerate() {
        let target_stride = pipeline.layout.strides[dimension].saturating_mul(element);
        let source_stride = part.strides[dimension].saturating_mul(element);
        let step = isize::try_from(run.step).unwrap_or(0);
        dimensions[dimension] = Dimension {
            count: run.count,
            source_stride: source_stride.cast_signed(),
            destination_stride: step.saturating_mul(target_stride.cast_signed()),
        };
        from = from.saturating_add(run.out.saturating_mul(source_stride));
        to =
            to.saturating_add(usize::try_from(run.start).unwrap_or(usize::MAX).saturating_mul(target_stride));
    }
    let dimensions = &dimensions[..combination.runs().len()];
    copy::copy(element, swap_of(&pipeline.layout.swap), dimensions, source, from, target, to, false)
        .map_err(CodecError::encode)
}

fn gather_variable(
    pipeline: &Pipeline,
    part: &Part<'_>,
    source: Variable<'_>,
    existing: Existing<'_>,
    stages: &mut Stages,
) -> Result<Option<usize>, CodecError> {
    let mut assembly = Assembly::new(&pipeline.array)?;
    if let Existing::Elements(bytes) = existing {
        let elements = Variable::parse(bytes, &pipeline.array)?;
        for position in 0..pipeline.array.element_count().unwrap_or(0) {
            assembly.put(position, elements.element(position));
        }
    }
    for combination in part.piece.combinations() {
        each_element(&combination, &pipeline.layout, part.strides, |in_cell, in_source| {
            assembly.put(in_cell, source.element(in_source));
        });
    }
    let fill = pipeline.array.fill_value.bytes();
    let mut only_fill = true;
    for_each_index(&pipeline.array.shape, |position, _| only_fill &= assembly.element(position) == fill);
    if only_fill {
        return Ok(None);
    }
    let bytes = assembly.finish()?;
    stages.start(bytes.len())?.copy_from_slice(&bytes);
    Ok(Some(bytes.len()))
}
