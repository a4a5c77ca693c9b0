//! Converting between the bytes of elements and the numbers of pco.

use pco::ChunkConfig;
use pco::data_types::Number as PcoNumber;
use pco::errors::{ErrorKind, PcoError};
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress_into};
use zarr_plugin_kit::numbers::{Element, Number};
use zarr_plugin_kit::with_number;
use zarr_spec::{ArrayRepresentation, CodecError, Output};

/// Returns the type of the elements, if both pco and numcodecs support it.
pub(crate) fn number(array: &ArrayRepresentation) -> Result<Number, CodecError> {
    let number = Number::of(&*array.data_type).filter(|number| number.size() > 1 && !number.is_complex());
    number.ok_or_else(|| {
        let name = array.data_type.name();
        CodecError::Unsupported(format!("expected numbers of 16, 32 or 64 bits, found data type `{name}`"))
    })
}

pub(crate) fn encode(
    configuration: &ChunkConfig,
    array: &ArrayRepresentation,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let number = number(array)?;
    let count = count(array)?;
    if decoded.len() != count * number.size() {
        return Err(CodecError::encode(format!("{} bytes do not hold {count} elements", decoded.len())));
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
        // pco drops the cause of I/O errors. An exceeded limit is the only possible one.
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
    let number = number(array)?;
    let count = count(array)?;
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
    let (file, mut rest) = FileDecompressor::new(encoded).map_err(CodecError::corrupt)?;
    let mut count_read = 0;
    loop {
        check_dictionary(rest, size_of::<T>())?;
        let item = file.chunk_decompressor::<T, _>(rest).map_err(CodecError::corrupt)?;
        let DecompressorItem::Chunk(mut chunk) = item else { break };
        let end = count_read + chunk.n();
        let wanted = numbers.len();
        let Some(numbers) = numbers.get_mut(count_read..end) else {
            return Err(CodecError::corrupt(format!(
                "the file holds at least {end} numbers; expected {wanted}"
            )));
        };
        chunk.read(numbers).map_err(CodecError::corrupt)?;
        (count_read, rest) = (end, chunk.into_src());
    }
    if count_read != numbers.len() {
        return Err(CodecError::corrupt(format!(
            "the file holds {count_read} numbers; expected {}",
            numbers.len()
        )));
    }
    elements.zip(numbers).for_each(|(element, number)| number.write(element));
    Ok(())
}

/// Refuses a dictionary that exceeds the rest of the file, before pco allocates memory for it. It is at the
/// start of a chunk, after the type and number of elements (four bytes), the mode (four bits) and the length of
/// the dictionary (25 bits).
fn check_dictionary(rest: &[u8], size: usize) -> Result<(), CodecError> {
    const DICTIONARY: u32 = 4;
    let Some(start) = rest.get(4..8).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes) else {
        return Ok(());
    };
    let length = (start >> 4) & ((1 << 25) - 1);
    match usize::try_from(length).ok().and_then(|length| length.checked_mul(size)) {
        _ if start & 0xf != DICTIONARY => Ok(()),
        Some(bytes) if bytes <= rest.len() => Ok(()),
        _ => Err(CodecError::corrupt(format!(
            "a dictionary of {length} numbers exceeds the remaining {} bytes",
            rest.len()
        ))),
    }
}

fn count(array: &ArrayRepresentation) -> Result<usize, CodecError> {
    let count = array.element_count().filter(|&count| count <= usize::MAX / 8);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}
