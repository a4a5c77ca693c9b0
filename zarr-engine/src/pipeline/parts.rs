//! Steps whose codec works in parts, so that elements are gathered and scattered while they are in the CPU cache.

use zarr_spec::codec::{InParts, PartSource, PartTarget};
use zarr_spec::host::pipeline::{Pipeline, Step, Work};
use zarr_spec::{CodecError, LimitExceeded, Size};

use super::{
    Bounds, BytesLocation, Decoded, Goal, Stages, StepError, encode_from, encoded_limit, run, short, why,
};

/// A function that receives the offset in bytes of a part, and the part.
pub(super) type WritePart<'w> = dyn FnMut(usize, &[u8]) -> Result<(), CodecError> + 'w;

/// Like [`decode`]. If the last step decodes in parts of whole elements, calls `write` with the offset and bytes of
/// each part in order, and returns `None`.
pub(crate) fn decode_parts(
    pipeline: &Pipeline,
    encoded: &[u8],
    stages: &mut Stages,
    write: &mut WritePart<'_>,
    bounds: Bounds,
) -> Result<Option<Decoded>, StepError> {
    run(pipeline, encoded, stages, Goal::Parts(write), bounds)
}

/// Returns whether the last step may decode in parts of whole elements.
pub(crate) fn decodes_parts(pipeline: &Pipeline) -> bool {
    pipeline.steps.first().is_some_and(|step| in_parts(pipeline, step).is_some())
}

/// Returns whether the first step may encode in parts of whole elements.
pub(crate) fn encodes_parts(pipeline: &Pipeline) -> bool {
    let in_parts = pipeline.steps.first().and_then(|step| in_parts(pipeline, step));
    in_parts.is_some_and(|(codec, size, element)| {
        codec.part_size(size).is_some_and(|part| part > 0 && part.is_multiple_of(element))
    })
}

/// Like [`encode`], for elements that the first step requests part by part. Requires [`encodes_parts`].
pub(crate) fn encode_parts(
    pipeline: &Pipeline,
    elements: &mut dyn PartSource,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<Decoded, StepError> {
    let first =
        pipeline.steps.split_first().and_then(|(step, rest)| Some((step, in_parts(pipeline, step)?, rest)));
    let (step, (codec, ..), rest) =
        first.ok_or_else(|| CodecError::encode("the first codec does not support parts"))?;
    let next = rest.first();
    let mut output = stages.buffers[0].output(encoded_limit(next, bounds));
    codec
        .encode_parts(elements, &mut output)
        .map_err(|source| StepError::encoding(step, next, why(&output, source).into()))?;
    let place = BytesLocation { buffer: Some(0), range: 0..output.written().len() };
    encode_from(rest, place, stages, bounds)
}

/// A step that decodes the elements of a chunk in parts of whole elements.
pub(super) struct DecodingParts<'s> {
    codec: &'s dyn InParts,
    /// The size of all elements in bytes.
    size: usize,
    /// The size of a part in bytes.
    part: usize,
}

impl<'s> DecodingParts<'s> {
    pub(super) fn new(pipeline: &Pipeline, step: &'s Step, encoded: &[u8]) -> Option<Self> {
        let (codec, size, element) = in_parts(pipeline, step)?;
        let part = codec.decoded_part_size(encoded)?;
        // A part must not take more memory than the chunk.
        let is_part = part > 0 && part < size && part.is_multiple_of(element);
        is_part.then_some(Self { codec, size, part })
    }

    pub(super) fn run(&self, encoded: &[u8], write: &mut WritePart<'_>) -> Result<(), CodecError> {
        let mut checked = CheckedParts { write, part: self.part, done: 0, size: self.size };
        self.codec.decode_parts(encoded, &mut checked)?;
        if checked.done == self.size { Ok(()) } else { Err(short(checked.done, self.size)) }
    }
}

struct CheckedParts<'w, 'f> {
    write: &'w mut WritePart<'f>,
    part: usize,
    done: usize,
    size: usize,
}

impl PartTarget for CheckedParts<'_, '_> {
    fn write(&mut self, part: &[u8]) -> Result<(), CodecError> {
        let rest = self.size - self.done;
        if part.len() > rest {
            return Err(LimitExceeded { limit: self.size }.into());
        }
        if part.len() != self.part.min(rest) {
            return Err(short(self.done + part.len(), self.size));
        }
        (self.write)(self.done, part)?;
        self.done += part.len();
        Ok(())
    }
}

/// Returns the codec of a bytes-to-bytes step whose decoded bytes are the elements of the chunk, if the codec works in
/// parts; also returns the size of all elements and of one element in bytes.
fn in_parts<'s>(pipeline: &Pipeline, step: &'s Step) -> Option<(&'s dyn InParts, usize, usize)> {
    let Step { work: Work::BytesToBytes(codec), decoded_size: Size::Exact(size), .. } = step else {
        return None;
    };
    let element = pipeline.array.data_type.elements().size().filter(|&element| element > 0)?;
    Some((codec.in_parts()?, usize::try_from(*size).ok()?, element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_parts_of_the_wrong_size_or_past_the_end() {
        let mut taken = Vec::new();
        let mut write = |start: usize, part: &[u8]| {
            taken.push((start, part.len()));
            Ok(())
        };
        let mut parts = CheckedParts { write: &mut write, part: 4, done: 0, size: 10 };
        parts.write(&[0; 4]).unwrap();
        assert!(matches!(parts.write(&[0; 2]), Err(CodecError::Corrupt(_))));
        assert!(matches!(parts.write(&[0; 5]), Err(CodecError::Corrupt(_))));
        assert!(matches!(parts.write(&[0; 7]), Err(CodecError::TooLarge(LimitExceeded { limit: 10 }))));
        parts.write(&[0; 4]).unwrap();
        assert!(matches!(parts.write(&[0; 4]), Err(CodecError::TooLarge(_))));
        parts.write(&[0; 2]).unwrap();
        assert_eq!(taken, [(0, 4), (4, 4), (8, 2)]);
    }
}
