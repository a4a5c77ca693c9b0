//! Runs the chains inside a codec step by step, in place of an engine.

use zarr_spec::codec::{Checksum, RunChain};
use zarr_spec::host::pipeline::{Pipeline, Step, Swap, Work};
use zarr_spec::{ArrayRepresentation, CodecChain, CodecError, Output, Size};

/// Runs chains without shards, one codec after the other. This is enough to test the codec that contains the chains.
#[derive(Debug, Clone, Copy)]
pub struct StepByStep;

impl RunChain for StepByStep {
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let pipeline = chain.resolve(array)?;
        let mut bytes = decoded.to_vec();
        let places = places(&pipeline, array, bytes.len());
        for (place, element) in places.iter().zip(decoded.chunks(element_size(array))) {
            bytes[*place..][..element.len()].copy_from_slice(element);
        }
        swap(&pipeline, &mut bytes)?;
        for step in &pipeline.steps {
            let mut output = Output::at_most(encoded.remaining());
            match &step.work {
                Work::ArrayToArray(codec, array) => codec.encode(array, &bytes, &mut output)?,
                Work::ArrayToBytes(codec, array) => codec.encode(array, &bytes, &mut output)?,
                Work::Composite(codec, array) => codec.encode(array, &bytes, &mut output, self)?,
                Work::BytesToBytes(codec) => codec.encode(&bytes, &mut output)?,
                Work::Checksum(checksum) => with_checksum(&**checksum, &bytes, &mut output)?,
                other => return Err(CodecError::Unsupported(format!("{other:?} in a test"))),
            }
            bytes = output.into_written();
        }
        Ok(encoded.put(&bytes)?)
    }

    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let pipeline = chain.resolve(array)?;
        let mut bytes = encoded.to_vec();
        for step in pipeline.steps.iter().rev() {
            let mut output = Output::at_most(room(step, decoded.remaining()));
            self.decode_step(step, &bytes, &mut output)
                .map_err(|error| step.intermediate_too_large(&error).map_or(error, CodecError::corrupt))?;
            bytes = output.into_written();
        }
        match array.size() {
            Size::Exact(size) if size != bytes.len() as u64 => {
                return Err(CodecError::corrupt(format!("{} bytes instead of {size}", bytes.len())));
            }
            _ => swap(&pipeline, &mut bytes)?,
        }
        let places = places(&pipeline, array, bytes.len());
        if places.is_empty() {
            return Ok(decoded.put(&bytes)?);
        }
        Ok(places.into_iter().try_for_each(|place| decoded.put(&bytes[place..][..element_size(array)]))?)
    }
}

impl StepByStep {
    fn decode_step(
        &mut self,
        step: &Step,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        match &step.work {
            Work::ArrayToArray(codec, array) => codec.decode(array, encoded, decoded),
            Work::ArrayToBytes(codec, array) => codec.decode(array, encoded, decoded),
            Work::Composite(codec, array) => codec.decode(array, encoded, decoded, self),
            Work::BytesToBytes(codec) => codec.decode(encoded, decoded),
            Work::Checksum(checksum) => without_checksum(&**checksum, encoded, decoded),
            other => Err(CodecError::Unsupported(format!("{other:?} in a test"))),
        }
    }
}

/// Returns the maximum decoded size of a step: the declared limit, or else `remaining`.
fn room(step: &Step, remaining: usize) -> usize {
    let limit = step.decoded_limit().and_then(|size| usize::try_from(size).ok());
    limit.unwrap_or(remaining)
}

/// Writes `bytes` with their checksum, in the layout that an engine stores.
pub(crate) fn with_checksum(
    checksum: &dyn Checksum,
    bytes: &[u8],
    to: &mut Output<'_>,
) -> Result<(), CodecError> {
    let mut written = vec![0; checksum.size()];
    checksum.checksum(bytes, &mut written)?;
    let parts = if checksum.at_start() { [&written[..], bytes] } else { [bytes, &written[..]] };
    parts.into_iter().try_for_each(|part| Ok(to.put(part)?))
}

/// Verifies the checksum and writes the bytes without it, as an engine does when it reads.
pub(crate) fn without_checksum(
    checksum: &dyn Checksum,
    stored: &[u8],
    to: &mut Output<'_>,
) -> Result<(), CodecError> {
    let size = checksum.size();
    let rest =
        stored.len().checked_sub(size).ok_or_else(|| CodecError::corrupt("too short for a checksum"))?;
    let (bytes, written) =
        if checksum.at_start() { (&stored[size..], &stored[..size]) } else { stored.split_at(rest) };
    let mut computed = vec![0; size];
    checksum.checksum(bytes, &mut computed)?;
    if computed != written {
        return Err(CodecError::corrupt("checksum mismatch"));
    }
    Ok(to.put(bytes)?)
}

/// Returns the offset of each element of `array` in the input of the steps, or an empty list if the steps move no
/// element.
fn places(pipeline: &Pipeline, array: &ArrayRepresentation, bytes: usize) -> Vec<usize> {
    let strides = &pipeline.layout.strides;
    if bytes == 0 || strides.is_sorted_by(|one, next| one >= next) {
        return Vec::new();
    }
    let element = element_size(array);
    array.shape.iter().zip(strides).fold(vec![0], |places, (&size, &stride)| {
        let along =
            |place: usize| (0..size).zip(0usize..).map(move |(_, index)| place + index * stride * element);
        places.into_iter().flat_map(along).collect()
    })
}

/// Returns the size of an element in bytes; `usize::MAX` if elements have variable sizes.
fn element_size(array: &ArrayRepresentation) -> usize {
    array.data_type.elements().size().unwrap_or(usize::MAX)
}

/// Converts between native byte order and the byte order of stored elements.
fn swap(pipeline: &Pipeline, bytes: &mut [u8]) -> Result<(), CodecError> {
    match &pipeline.layout.swap {
        Swap::None => Ok(()),
        Swap::Uniform(unit) => {
            bytes.chunks_mut(*unit).for_each(<[u8]>::reverse);
            Ok(())
        }
        Swap::Units(_) => Err(CodecError::Unsupported("a structure in a test".to_owned())),
    }
}
