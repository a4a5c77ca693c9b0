//! Converting between the bytes of elements and the numbers of pco.

use pco::ChunkConfig;
use pco::data_types::Number as PcoNumber;
use pco::errors::{ErrorKind, PcoError};
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress_into};
use zarr_plugin_kit::numbers::{Element, Number, is_time};
use zarr_plugin_kit::with_number;
use zarr_spec::{ArrayRepresentation, CodecError, Output};

/// The numbers that elements consist of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    number: Number,
    in_element: usize,
    /// Whether only zarrs stores these elements.
    pub(crate) is_of_zarrs: bool,
}

/// Returns the numbers of the elements, if pco supports them. numcodecs supports only real numbers; zarrs also
/// stores times, and complex numbers as pairs.
pub(crate) fn numbers(array: &ArrayRepresentation) -> Result<Numbers, CodecError> {
    let name = array.data_type.name();
    let real = |number| Some(Numbers { number, in_element: 1, is_of_zarrs: false });
    let pair = |number| Some(Numbers { number, in_element: 2, is_of_zarrs: true });
    let found = match Number::or_time(&*array.data_type) {
        _ if name == "complex_float16" => pair(Number::F16),
        Some(Number::C64) => pair(Number::F32),
        Some(Number::C128) => pair(Number::F64),
        Some(number) if is_time(&*array.data_type) => {
            Some(Numbers { number, in_element: 1, is_of_zarrs: true })
        }
        Some(number) if number.size() > 1 => real(number),
        _ => None,
    };
    found.ok_or_else(|| {
        CodecError::Unsupported(format!("expected numbers of 16, 32 or 64 bits, found data type `{name}`"))
    })
}

pub(crate) fn encode(
    configuration: &ChunkConfig,
    array: &ArrayRepresentation,
    decoded: &[u8],
    encoded: &mut Output<'_>,
) -> Result<(), CodecError> {
    let Numbers { number, in_element, .. } = numbers(array)?;
    let count = count(array, in_element)?;
    if decoded.len() != count * number.size() {
        return Err(CodecError::encode(format!("{} bytes do not hold {count} numbers", decoded.len())));
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
        // pco drops the cause of I/O errors. The only possible cause is an exceeded limit.
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
    let Numbers { number, in_element, .. } = numbers(array)?;
    let count = count(array, in_element)?;
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

/// Refuses a dictionary that exceeds the rest of the file, before pco allocates memory for it. The dictionary is at the
/// start of a chunk, after the type and number of elements (four bytes), the mode (four bits) and the length of the
/// dictionary (25 bits).
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

/// Returns how many numbers of pco the elements of a chunk consist of.
fn count(array: &ArrayRepresentation, in_element: usize) -> Result<usize, CodecError> {
    let count = array.element_count().and_then(|count| count.checked_mul(in_element));
    let count = count.filter(|&count| count <= usize::MAX / 8);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}
