//! The chains inside of a codec, run step by step: what an engine does, without its speed.

use zarr_spec::codec::RunChain;
use zarr_spec::pipeline::{Pipeline, Swap, Work};
use zarr_spec::{ArrayRepresentation, CodecChain, CodecError, Output, Size};

/// Runs chains that do not permute dimensions and hold no shards; byte order and what codecs compute are enough for
/// tests of the codec that holds the chains.
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
        swap(&pipeline, &mut bytes)?;
        for step in &pipeline.steps {
            let mut output = Output::at_most(encoded.remaining());
            match &step.work {
                Work::ArrayToArray(codec, array) => codec.encode(array, &bytes, &mut output)?,
                Work::ArrayToBytes(codec, array) => codec.encode(array, &bytes, &mut output)?,
                Work::Composite(codec, array) => codec.encode(array, &bytes, &mut output, self)?,
                Work::BytesToBytes(codec) => codec.encode(&bytes, &mut output)?,
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
            let mut output = Output::at_most(decoded.remaining());
            match &step.work {
                Work::ArrayToArray(codec, array) => codec.decode(array, &bytes, &mut output)?,
                Work::ArrayToBytes(codec, array) => codec.decode(array, &bytes, &mut output)?,
                Work::Composite(codec, array) => codec.decode(array, &bytes, &mut output, self)?,
                Work::BytesToBytes(codec) => codec.decode(&bytes, &mut output)?,
                other => return Err(CodecError::Unsupported(format!("{other:?} in a test"))),
            }
            bytes = output.into_written();
        }
        match array.size() {
            Size::Exact(size) if size != bytes.len() as u64 => {
                return Err(CodecError::corrupt(format!("{} bytes instead of {size}", bytes.len())));
            }
            _ => swap(&pipeline, &mut bytes)?,
        }
        Ok(decoded.put(&bytes)?)
    }
}

/// Between native order and the order of stored elements.
fn swap(pipeline: &Pipeline, bytes: &mut [u8]) -> Result<(), CodecError> {
    if !pipeline.layout.strides.is_sorted_by(|one, next| one >= next) {
        return Err(CodecError::Unsupported("a permutation in a test".to_owned()));
    }
    match &pipeline.layout.swap {
        Swap::None => Ok(()),
        Swap::Uniform(unit) => {
            bytes.chunks_mut(*unit).for_each(<[u8]>::reverse);
            Ok(())
        }
        Swap::Units(_) => Err(CodecError::Unsupported("a structure in a test".to_owned())),
    }
}
