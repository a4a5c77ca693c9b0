//! From the bytes of elements to the numbers that pco takes, and back.

use pco::ChunkConfig;
use pco::data_types::Number as PcoNumber;
use pco::errors::{ErrorKind, PcoError};
use pco::standalone::{simple_compress_into, simple_decompress_into};
use zarr_spec::codec::numbers::{Element, Number};
use zarr_spec::{ArrayRepresentation, CodecError, Output, with_number};

/// What the elements are, if pco has a form of them that numcodecs knows.
pub(crate) fn number(array: &ArrayRepresentation) -> Result<Number, CodecError> {
    let number = Number::of(&*array.data_type).filter(|number| number.size() > 1 && !number.is_complex());
    number.ok_or_else(|| {
        let name = array.data_type.name();
        CodecError::Unsupported(format!("it encodes numbers of 16, 32 and 64 bits, not `{name}`"))
    })
}

pub(crate) fn encode(
    configuration: &ChunkConfig,
    array: &ArrayRepresentation,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let (number, count) = (number(array)?, count(array)?);
    if decoded.len() != count * number.size() {
        return Err(CodecError::encode(format!("{} bytes are not {count} elements", decoded.len())));
    }
    with_number!(number, T => {
        integer: compress::<T>(configuration, decoded, encoded),
        float: compress::<T>(configuration, decoded, encoded),
        other: Ok(()),
    })
}

fn compress<T: Element + PcoNumber>(
    configuration: &ChunkConfig,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let numbers: Vec<T> = decoded.chunks_exact(size_of::<T>()).map(T::read).collect();
    let size = encoded.remaining();
    match simple_compress_into(&numbers, configuration, &mut *encoded) {
        Ok(_) => Ok(()),
        // What went wrong with the output is no longer in the error, and nothing else can with it.
        Err(PcoError { kind: ErrorKind::Io(_), .. }) => {
            Err(zarr_spec::LimitExceeded { limit: encoded.written().len() + size }.into())
        }
        Err(error) => Err(CodecError::encode(error)),
    }
}

pub(crate) fn decode(
    array: &ArrayRepresentation,
    encoded: &[u8],
    decoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let (number, count) = (number(array)?, count(array)?);
    let size = count * number.size();
    let destination = &mut decoded.spare(size)?[..size];
    with_number!(number, T => {
        integer: decompress::<T>(encoded, destination),
        float: decompress::<T>(encoded, destination),
        other: Ok(()),
    })?;
    decoded.advance(size);
    Ok(())
}

fn decompress<T: Element + PcoNumber>(encoded: &[u8], decoded: &mut [u8]) -> Result<(), CodecError> {
    let elements = decoded.chunks_exact_mut(size_of::<T>());
    let mut numbers = vec![T::read(&[0; 8][..size_of::<T>()]); elements.len()];
    let progress = simple_decompress_into(encoded, &mut numbers).map_err(CodecError::corrupt)?;
    if progress.n_processed != numbers.len() || !progress.finished {
        let (there, wanted) = (progress.n_processed, numbers.len());
        let more = if progress.finished { "" } else { " or more" };
        return Err(CodecError::corrupt(format!("{there}{more} numbers in a chunk of {wanted}")));
    }
    elements.zip(numbers).for_each(|(element, number)| number.write(element));
    Ok(())
}

fn count(array: &ArrayRepresentation) -> Result<usize, CodecError> {
    let count = array.element_count().filter(|&count| count <= usize::MAX / 8);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}
