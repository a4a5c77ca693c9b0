//! Runs the computed steps of a pipeline on one chunk, in buffers that are kept from chunk to chunk.

mod parts;
mod reorder;
mod shard;
mod shard_index;
mod shard_writer;
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

/// Bytes that a chunk of unknown size may decode to at most, and that encoded chunks may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) chunk: u64,
    pub(crate) value: u64,
}

/// Two buffers that take turns, and those of the level below for shards that are decoded whole.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    buffers: [Buffer; 2],
    inner: Option<Box<Stages>>,
    /// Bytes that a chunk of unknown size may decode to.
    unknown: u64,
}

/// Which codec failed, and how.
#[derive(Debug)]
pub(crate) struct StepError {
    pub(crate) codec: Option<String>,
    pub(crate) source: CodecError,
}

impl StepError {
    /// Something that no codec is to blame for.
    pub(crate) fn chunk(what: impl Into<String>) -> Self {
        Self { codec: None, source: CodecError::corrupt(what.into()) }
    }

    /// Returns the error of the codec around this step: `wrapped` makes it of a text that names the codec of this step,
    /// after `place`. Errors of size and memory stay what they are, and so does a fault of a plugin, since it says
    /// nothing about the chunk.
    pub(crate) fn within(self, place: &str, wrapped: impl FnOnce(String) -> CodecError) -> CodecError {
        let Some(codec) = self.codec else { return self.source };
        match self.source {
            source @ (CodecError::TooLarge(_) | CodecError::OutOfMemory { .. }) => source,
            CodecError::Plugin { plugin, message } => {
                CodecError::Plugin { plugin, message: format!("codec `{codec}`: {message}") }
            }
            source => wrapped(format!("{place}codec `{codec}`: {source}")),
        }
    }

    fn at(step: &Step, source: CodecError) -> Self {
        Self { codec: Some(step.name.clone()), source }
    }

    /// Like [`StepError::at`], of a step that decodes.
    fn decoding(step: &Step, source: CodecError) -> Self {
        let too_large = step.intermediate_too_large(&source);
        Self::at(step, too_large.map_or(source, CodecError::corrupt))
    }

    /// Like [`StepError::at`], of a step that encodes to what `next` decodes to.
    fn encoding(step: &Step, next: Option<&Step>, source: CodecError) -> Self {
        let too_large = next.and_then(|next| next.intermediate_too_large(&source));
        Self::at(step, too_large.map_or(source, CodecError::encode))
    }
}

impl From<CodecError> for StepError {
    fn from(source: CodecError) -> Self {
        Self { codec: None, source }
    }
}

/// Where the bytes are between two steps.
#[derive(Debug, Clone)]
struct Place {
    /// The encoded value itself, or one of the two buffers.
    buffer: Option<usize>,
    range: Range<usize>,
}

impl Place {
    fn bytes<'b>(&self, encoded: &'b [u8], buffers: &'b [Buffer; 2]) -> &'b [u8] {
        match self.buffer {
            None => &encoded[self.range.clone()],
            Some(buffer) => &buffers[buffer].bytes(self.range.end)[self.range.start..],
        }
    }
}

/// What a buffer holds after it was decoded to: the place of the bytes, to be asked of [`Stages::bytes`].
#[derive(Debug, Clone)]
pub(crate) struct Decoded(Place);

impl Stages {
    /// What [`decode`] left, `encoded` being what it was given.
    pub(crate) fn bytes<'b>(&'b self, decoded: &Decoded, encoded: &'b [u8]) -> &'b [u8] {
        decoded.0.bytes(encoded, &self.buffers)
    }

    /// Sets how many bytes a chunk of unknown size may decode to.
    pub(crate) fn set_unknown(&mut self, unknown: u64) {
        self.unknown = unknown;
    }

    /// How many bytes a chunk of unknown size may decode to.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Bytes of all buffers.
    pub(crate) fn size(&self) -> u64 {
        let inner = self.inner.as_ref().map_or(0, |inner| inner.size());
        self.buffers.iter().map(|buffer| buffer.capacity() as u64).sum::<u64>() + inner
    }

    /// Decodes one step, from where the bytes are to the other buffer.
    fn decode_between(
        &mut self,
        step: &Step,
        place: &Place,
        encoded: &[u8],
        range: Option<Range<usize>>,
        bounds: Bounds,
    ) -> Result<Place, CodecError> {
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
            (Work::BytesToBytes(codec), Some(range)) => codec.decode_range(source, range, &mut output),
            _ => decode_step(step, source, &mut output, inner, bounds),
        };
        decoded.map_err(|error| why(&output, error))?;
        let size = output.written().len();
        match step.decoded_size {
            Size::Exact(expected) if expected != size as u64 => Err(short(size, limit)),
            _ => Ok(Place { buffer: Some(target), range: 0..size }),
        }
    }

    /// Memory for `size` bytes that [`encode`] starts from.
    ///
    /// # Errors
    ///
    /// When the machine has no memory left.
    pub(crate) fn start(&mut self, size: usize) -> Result<&mut [u8], CodecError> {
        let mut output = self.buffers[0].output(size);
        if let Err(error) = output.spare(size) {
            return Err(why(&output, error.into()));
        }
        Ok(self.buffers[0].bytes_mut(size))
    }
}

/// Decodes `encoded` as far as steps are computed: to `destination` if there is one and the last step can write there
/// (`None`), else to elements in the pipeline's layout, borrowed from `encoded` or in `stages`.
///
/// # Errors
///
/// What the codecs say, and a chunk that has not the size that its shape asks for.
pub(crate) fn decode(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    destination: Option<&mut [u8]>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    run(pipeline, encoded, stages, destination.map_or(Goal::Elements, Goal::Destination), bounds)
}

/// Like [`decode`] to elements, of which only the bytes of `range` are looked at: those beside it may be anything.
///
/// # Errors
///
/// As for [`decode`]; what is wrong with bytes beside `range` may go unnoticed.
pub(crate) fn decode_range(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    range: Range<usize>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    run(pipeline, encoded, stages, Goal::Range(range), bounds)
}

/// Why a codec failed that wrote to `output`: codecs cannot tell its limit from memory that the system does not have.
pub(crate) fn why(output: &Output<'_>, error: CodecError) -> CodecError {
    output.out_of_memory().map_or(error, |size| CodecError::OutOfMemory { size })
}

/// Where the last step decodes to, if it can.
enum Goal<'g> {
    /// A buffer.
    Elements,
    /// A buffer, of which only these bytes are looked at.
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
    let mut place = Place { buffer: None, range: 0..encoded.len() };
    for (number, step) in pipeline.steps.iter().enumerate().rev() {
        if let Work::Checksum(checksum) = &step.work {
            let verified = verify(&**checksum, place.bytes(encoded, &stages.buffers));
            let inside = verified.map_err(|source| StepError::at(step, source))?;
            place.range = place.range.start + inside.start..place.range.start + inside.end;
            continue;
        }
        let limit = limit(step, bounds);
        // What is left of the other steps is needed as a whole.
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
            "it has {size} bytes, and a chunk of shape {:?} has {expected}",
            pipeline.array.shape
        ))),
        _ => Ok(Some(Decoded(place))),
    }
}

/// One step, to memory of the size that it decodes to.
fn decode_exactly(
    step: &Step,
    source: &[u8],
    destination: &mut [u8],
    inner: &mut Option<Box<Stages>>,
    bounds: Bounds,
) -> Result<(), CodecError> {
    let size = destination.len();
    let mut output = Output::to(destination);
    decode_step(step, source, &mut output, inner, bounds)?;
    match output.remaining() {
        0 => Ok(()),
        rest => Err(short(size - rest, size)),
    }
}

fn short(size: usize, expected: usize) -> CodecError {
    CodecError::corrupt(format!("{size} bytes came out where {expected} should"))
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
) -> Result<(), CodecError> {
    match &step.work {
        Work::ArrayToArray(codec, array) => codec.decode(array, encoded, decoded),
        Work::ArrayToBytes(codec, array) => codec.decode(array, encoded, decoded),
        Work::Composite(codec, array) => {
            let mut chains = Chains { stages: inner.get_or_insert_default(), bounds };
            codec.decode(array, encoded, decoded, &mut chains)
        }
        Work::BytesToBytes(codec) => codec.decode(encoded, decoded),
        Work::Reorder(array, layout) => reorder(array, layout, encoded, decoded, true),
        Work::Shard(pipeline) => {
            whole_shard::decode_whole(pipeline, encoded, decoded, inner.get_or_insert_default(), bounds)
        }
        Work::Checksum(_) => Ok(()),
    }
}

/// Returns the bytes beside a checksum that is right.
fn verify(checksum: &dyn zarr_spec::codec::Checksum, bytes: &[u8]) -> Result<Range<usize>, CodecError> {
    let size = checksum.size();
    let Some(rest) = bytes.len().checked_sub(size) else {
        return Err(CodecError::corrupt(format!(
            "{} bytes have no room for a checksum of {size}",
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
        "the checksum is {}, and that of the bytes is {}",
        hex(&bytes[stored]),
        hex(&computed)
    )))
}

/// Encodes the first `size` bytes of what [`Stages::start`] gave: the elements of a chunk in the pipeline's layout.
///
/// # Errors
///
/// What the codecs say.
pub(crate) fn encode(
    pipeline: &Pipeline,
    size: usize,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<Decoded, StepError> {
    encode_from(&pipeline.steps, Place { buffer: Some(0), range: 0..size }, stages, bounds)
}

/// Returns the most bytes that a step may encode to if `next` takes them: no more than decoding lets through.
fn encoded_limit(next: Option<&Step>, bounds: Bounds) -> usize {
    let limit = next.and_then(Step::decoded_limit).map_or(bounds.value, |limit| limit.min(bounds.value));
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Some steps one after another, from what lies at `place` in a buffer.
fn encode_from(
    steps: &[Step],
    mut place: Place,
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
            .map_err(|source| StepError::encoding(step, next, why(&output, source)))?;
        place = Place { buffer: Some(target), range: 0..output.written().len() };
    }
    Ok(Decoded(place))
}

/// Bytes of the buffer with the checksum of its first `size` bytes behind them.
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
) -> Result<(), CodecError> {
    match &step.work {
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
            whole_shard::encode_whole(pipeline, decoded, encoded, stages, bounds)
        }
    }
}

/// Runs the chains inside of a codec, in the buffers of the level below.
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
        let inner = inner.map_err(|error| error.within("", CodecError::encode))?;
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
        let inner = inner.map_err(|error| error.within("", CodecError::corrupt))?;
        let inner = inner.ok_or_else(|| CodecError::corrupt("nothing was decoded"))?;
        reorder(array, &pipeline.layout, self.stages.bytes(&inner, encoded), decoded, true)
    }
}
