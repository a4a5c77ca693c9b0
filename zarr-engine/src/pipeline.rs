//! Runs the computed steps of a pipeline on one chunk. The buffers are reused from chunk to chunk.

mod parts;
mod reorder;
mod shard;
mod shard_index;
mod shard_writer;
mod step_error;
mod whole_shard;

use std::ops::Range;

use zarr_spec::codec::RunChain;
use zarr_spec::host::pipeline::{Pipeline, Step, Work};
use zarr_spec::{ArrayRepresentation, Buffer, CodecChain, CodecError, LimitExceeded, Output, Size};

use parts::{DecodingParts, WritePart};
pub(crate) use parts::{decode_parts, decodes_parts, encode_parts, encodes_parts};
use reorder::reorder;
pub(crate) use shard::{ENTRY, inner_axes, inner_count, inner_index, is_fill, part};
pub(crate) use shard_index::ShardIndex;
pub(crate) use shard_writer::ShardWriter;
pub(crate) use step_error::StepError;
use step_error::StepFault;

/// Size limits in bytes: for the decoded size of a chunk of unknown size, and for encoded values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) chunk: u64,
    pub(crate) value: u64,
}

/// Two buffers that steps alternate between, and the buffers for the level below, for shards that are decoded as a
/// whole.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    buffers: [Buffer; 2],
    inner: Option<Box<Stages>>,
    /// The limit for the decoded size of a chunk of unknown size, in bytes.
    pub(crate) unknown: u64,
}

#[derive(Debug, Clone)]
struct BytesLocation {
    /// One of the two buffers, or `None` for the encoded value itself.
    buffer: Option<usize>,
    range: Range<usize>,
}

impl BytesLocation {
    fn bytes<'b>(&self, encoded: &'b [u8], buffers: &'b [Buffer; 2]) -> &'b [u8] {
        match self.buffer {
            None => &encoded[self.range.clone()],
            Some(buffer) => &buffers[buffer].bytes(self.range.end)[self.range.start..],
        }
    }
}

/// The location of decoded or encoded bytes. Pass it to [`Stages::bytes`] to get the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Decoded(BytesLocation);

impl Stages {
    pub(crate) fn bytes<'b>(&'b self, decoded: &Decoded, encoded: &'b [u8]) -> &'b [u8] {
        decoded.0.bytes(encoded, &self.buffers)
    }

    /// Returns the size of all buffers in bytes.
    pub(crate) fn size(&self) -> u64 {
        let inner = self.inner.as_ref().map_or(0, |inner| inner.size());
        self.buffers.iter().map(|buffer| buffer.capacity() as u64).sum::<u64>() + inner
    }

    /// Decodes one step from `place` to the other buffer.
    fn decode_between(
        &mut self,
        step: &Step,
        place: &BytesLocation,
        encoded: &[u8],
        range: Option<Range<usize>>,
        bounds: Bounds,
    ) -> Result<BytesLocation, StepFault> {
        let limit = limit(step, bounds)?;
        let target = place.buffer.map_or(0, |buffer| 1 - buffer);
        let Self { buffers: [first, second], inner, .. } = self;
        let (source_buffer, target_buffer) = if target == 0 { (second, first) } else { (first, second) };
        let source = match place.buffer {
            None => &encoded[place.range.clone()],
            Some(_) => &source_buffer.bytes(place.range.end)[place.range.start..],
        };
        let mut output = target_buffer.output(limit);
        let decoded = match (&step.work, range) {
            (Work::BytesToBytes(codec), Some(range)) => {
                codec.decode_range(source, range, &mut output).map_err(StepFault::from)
            }
            _ => decode_step(step, source, &mut output, inner, bounds),
        };
        decoded.map_err(|fault| StepFault { source: why(&output, fault.source), ..fault })?;
        let size = output.written().len();
        match step.decoded_size {
            Size::Exact(expected) if expected != size as u64 => Err(short(size, limit).into()),
            _ => Ok(BytesLocation { buffer: Some(target), range: 0..size }),
        }
    }

    /// Returns the `size` bytes that `write` writes. If it writes fewer bytes, the value is corrupt.
    pub(crate) fn written(
        &mut self,
        size: usize,
        write: impl FnOnce(&mut Output<'_>) -> Result<(), CodecError>,
    ) -> Result<&[u8], CodecError> {
        let mut output = self.buffers[0].output(size);
        write(&mut output).map_err(|error| why(&output, error))?;
        let written = output.written().len();
        if written != size {
            return Err(short(written, size));
        }
        Ok(self.buffers[0].bytes(size))
    }

    /// Returns memory for the `size` bytes that [`encode`] encodes.
    pub(crate) fn start(&mut self, size: usize) -> Result<&mut [u8], CodecError> {
        let mut output = self.buffers[0].output(size);
        if let Err(error) = output.spare(size) {
            return Err(why(&output, error.into()));
        }
        Ok(self.buffers[0].bytes_mut(size))
    }
}

/// Decodes `encoded` with all computed steps. If there is a `destination` and the last step can write to it, writes the
/// elements there and returns `None`. Otherwise returns the elements in the pipeline's layout, borrowed from `encoded`
/// or in `stages`. Fails if the size of the chunk does not match its shape.
pub(crate) fn decode(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    destination: Option<&mut [u8]>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    run(pipeline, encoded, stages, destination.map_or(Goal::Elements, Goal::Destination), bounds)
}

/// Like [`decode`] without a destination, if only the bytes of `range` are needed. The content of other bytes is
/// undefined. Faults outside of `range` may not be detected.
pub(crate) fn decode_range(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    range: Range<usize>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    run(pipeline, encoded, stages, Goal::Range(range), bounds)
}

/// Returns the cause of an error of a codec that wrote to `output`. Codecs cannot distinguish the limit of `output`
/// from a lack of memory.
pub(crate) fn why(output: &Output<'_>, error: CodecError) -> CodecError {
    output.out_of_memory().map_or(error, |size| CodecError::OutOfMemory { size })
}

enum Goal<'g> {
    Elements,
    /// A buffer of which only these bytes are needed.
    Range(Range<usize>),
    Destination(&'g mut [u8]),
    Parts(&'g mut WritePart<'g>),
}

fn run(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    mut goal: Goal<'_>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    let mut place = BytesLocation { buffer: None, range: 0..encoded.len() };
    for (number, step) in pipeline.steps.iter().enumerate().rev() {
        if let Work::Checksum(checksum) = &step.work {
            let verified = verify(&**checksum, place.bytes(encoded, &stages.buffers));
            let inside = verified.map_err(|source| StepError::at(step, source))?;
            place.range = place.range.start + inside.start..place.range.start + inside.end;
            continue;
        }
        let limit = limit(step, bounds);
        // Step 0 is decoded last. The results of all other steps are needed as a whole.
        let goal = if number == 0 { std::mem::replace(&mut goal, Goal::Elements) } else { Goal::Elements };
        let source = place.bytes(encoded, &stages.buffers);
        let mut range = None;
        match goal {
            Goal::Elements => {}
            Goal::Range(wanted) => range = Some(wanted),
            Goal::Destination(destination) => {
                if limit == Ok(destination.len()) {
                    decode_exactly(step, source, destination, &mut stages.inner, bounds)
                        .map_err(|source| StepError::at(step, source))?;
                    return Ok(None);
                }
            }
            Goal::Parts(write) => {
                if let Some(parts) = DecodingParts::new(pipeline, step, source) {
                    parts.run(source, write).map_err(|source| StepError::at(step, source))?;
                    return Ok(None);
                }
            }
        }
        let decoded = stages.decode_between(step, &place, encoded, range, bounds);
        place = decoded.map_err(|source| StepError::decoding(step, source))?;
    }
    let size = place.range.len();
    match pipeline.array.size() {
        Size::Exact(expected) if expected != size as u64 => Err(StepError::chunk(format!(
            "it has {size} bytes, but a chunk of shape {:?} has {expected}",
            pipeline.array.shape
        ))),
        _ => Ok(Some(Decoded(place))),
    }
}

fn decode_exactly(
    step: &Step,
    source: &[u8],
    destination: &mut [u8],
    inner: &mut Option<Box<Stages>>,
    bounds: Bounds,
) -> Result<(), StepFault> {
    let size = destination.len();
    let mut output = Output::to(destination);
    decode_step(step, source, &mut output, inner, bounds)?;
    match output.remaining() {
        0 => Ok(()),
        rest => Err(short(size - rest, size).into()),
    }
}

fn short(size: usize, expected: usize) -> CodecError {
    CodecError::corrupt(format!("{size} bytes were decoded instead of {expected}"))
}

fn limit(step: &Step, bounds: Bounds) -> Result<usize, LimitExceeded> {
    let limit = step.decoded_limit().unwrap_or(bounds.chunk);
    usize::try_from(limit).map_err(|_| LimitExceeded { limit: usize::MAX })
}

fn decode_step(
    step: &Step,
    encoded: &[u8],
    decoded: &mut Output<'_>,
    inner: &mut Option<Box<Stages>>,
    bounds: Bounds,
) -> Result<(), StepFault> {
    let done = match &step.work {
        Work::ArrayToArray(codec, array) => codec.decode(array, encoded, decoded),
        Work::ArrayToBytes(codec, array) => codec.decode(array, encoded, decoded),
        Work::Composite(codec, array) => {
            let mut chains = Chains { stages: inner.get_or_insert_default(), bounds };
            codec.decode(array, encoded, decoded, &mut chains)
        }
        Work::BytesToBytes(codec) => codec.decode(encoded, decoded),
        Work::Reorder(array, layout) => reorder(array, layout, encoded, decoded, true),
        Work::Shard(pipeline) => {
            return whole_shard::decode_whole(
                pipeline,
                encoded,
                decoded,
                inner.get_or_insert_default(),
                bounds,
            );
        }
        Work::Checksum(_) => Ok(()),
    };
    Ok(done?)
}

/// Verifies a checksum. Returns the range of the bytes without it.
fn verify(checksum: &dyn zarr_spec::codec::Checksum, bytes: &[u8]) -> Result<Range<usize>, CodecError> {
    let size = checksum.size();
    let Some(rest) = bytes.len().checked_sub(size) else {
        return Err(CodecError::corrupt(format!(
            "{} bytes are too few for a checksum of {size}",
            bytes.len()
        )));
    };
    let (inside, stored) =
        if checksum.at_start() { (size..bytes.len(), 0..size) } else { (0..rest, rest..bytes.len()) };
    let mut computed = vec![0; size];
    checksum.checksum(&bytes[inside.clone()], &mut computed)?;
    if bytes[stored.clone()] == computed {
        return Ok(inside);
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Err(CodecError::corrupt(format!(
        "the stored checksum is {}, but that of the bytes is {}",
        hex(&bytes[stored]),
        hex(&computed)
    )))
}

/// Encodes the first `size` bytes of the memory from [`Stages::start`]: the elements of a chunk in the pipeline's
/// layout.
pub(crate) fn encode(
    pipeline: &Pipeline,
    size: usize,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<Decoded, StepError> {
    encode_from(&pipeline.steps, BytesLocation { buffer: Some(0), range: 0..size }, stages, bounds)
}

/// Returns the size limit for the output of a step, in bytes: not more than `next` accepts when decoding.
fn encoded_limit(next: Option<&Step>, bounds: Bounds) -> usize {
    let limit = next.and_then(Step::decoded_limit).map_or(bounds.value, |limit| limit.min(bounds.value));
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Runs `steps` in order, on the bytes at `place` in a buffer.
fn encode_from(
    steps: &[Step],
    mut place: BytesLocation,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<Decoded, StepError> {
    for (number, step) in steps.iter().enumerate() {
        let next = steps.get(number + 1);
        let from = place.buffer.unwrap_or(0);
        if let Work::Checksum(checksum) = &step.work
            && !checksum.at_start()
        {
            let size = append_checksum(&**checksum, &mut stages.buffers[from], place.range.end)
                .map_err(|source| StepError::at(step, source))?;
            place.range = 0..size;
            continue;
        }
        let target = 1 - from;
        let Stages { buffers: [first, second], inner, .. } = stages;
        let (source_buffer, target_buffer) = if target == 0 { (second, first) } else { (first, second) };
        let source = source_buffer.bytes(place.range.end);
        let mut output = target_buffer.output(encoded_limit(next, bounds));
        encode_step(step, source, &mut output, inner, bounds)
            .map_err(|fault| StepFault { source: why(&output, fault.source), ..fault })
            .map_err(|fault| StepError::encoding(step, next, fault))?;
        place = BytesLocation { buffer: Some(target), range: 0..output.written().len() };
    }
    Ok(Decoded(place))
}

/// Appends the checksum of the first `size` bytes of the buffer. Returns the new size in bytes.
fn append_checksum(
    checksum: &dyn zarr_spec::codec::Checksum,
    buffer: &mut Buffer,
    size: usize,
) -> Result<usize, CodecError> {
    let end = size.checked_add(checksum.size()).ok_or(LimitExceeded { limit: size })?;
    buffer.output(end).spare(end)?;
    let (bytes, sum) = buffer.bytes_mut(end).split_at_mut(size);
    checksum.checksum(bytes, sum)?;
    Ok(end)
}

fn encode_step(
    step: &Step,
    decoded: &[u8],
    encoded: &mut Output<'_>,
    inner: &mut Option<Box<Stages>>,
    bounds: Bounds,
) -> Result<(), StepFault> {
    let done = match &step.work {
        Work::ArrayToArray(codec, array) => codec.encode(array, decoded, encoded),
        Work::ArrayToBytes(codec, array) => codec.encode(array, decoded, encoded),
        Work::Composite(codec, array) => {
            let mut chains = Chains { stages: inner.get_or_insert_default(), bounds };
            codec.encode(array, decoded, encoded, &mut chains)
        }
        Work::BytesToBytes(codec) => codec.encode(decoded, encoded),
        Work::Reorder(array, layout) => reorder(array, layout, decoded, encoded, false),
        Work::Checksum(checksum) => {
            let mut sum = vec![0; checksum.size()];
            checksum.checksum(decoded, &mut sum)?;
            let (first, second) = if checksum.at_start() { (&*sum, decoded) } else { (decoded, &*sum) };
            encoded.put(first)?;
            Ok(encoded.put(second)?)
        }
        Work::Shard(pipeline) => {
            let stages = inner.get_or_insert_default();
            return whole_shard::encode_whole(pipeline, decoded, encoded, stages, bounds);
        }
    };
    Ok(done?)
}

/// Runs the codec chains inside of a codec, in the buffers of the level below.
struct Chains<'s> {
    stages: &'s mut Stages,
    bounds: Bounds,
}

impl RunChain for Chains<'_> {
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let pipeline = chain.resolve(array)?;
        let mut start = self.stages.buffers[0].output(decoded.len());
        reorder(array, &pipeline.layout, decoded, &mut start, false)?;
        let inner = encode(&pipeline, decoded.len(), self.stages, self.bounds);
        let inner = inner.map_err(|error| error.within(CodecError::encode))?;
        Ok(encoded.put(self.stages.bytes(&inner, &[]))?)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let pipeline = chain.resolve(array)?;
        let inner = decode(&pipeline, encoded, self.stages, None, self.bounds);
        let inner = inner.map_err(|error| error.within(CodecError::corrupt))?;
        let inner = inner.ok_or_else(|| CodecError::corrupt("nothing was decoded"))?;
        reorder(array, &pipeline.layout, self.stages.bytes(&inner, encoded), decoded, true)
    }
}
