//! The `n5_default` codec of Zarr: stores chunks as blocks of N5 in its default mode.
//!
//! Array to bytes. A block is a header, followed by the elements, encoded by the configured codecs:
//!
//! | bytes | content, big endian |
//! |---|---|
//! | 2 | the mode, 0 |
//! | 2 | the number of dimensions |
//! | 4 each | elements per dimension, in the order of the array |
//!
//! The codecs are a `transpose` that reverses all dimensions, `bytes` in big endian, and at most one
//! bytes-to-bytes codec. A block may be smaller than a chunk at the end of an array: missing elements have the
//! fill value, surplus elements are ignored.
//!
//! Source: `codecs/n5_default` in the Zarr extension registry; N5 specification 4.0.

use std::sync::Arc;

use serde::Deserialize;
use zarr_metadata::v3;
use zarr_spec::codec::{CompositeCodec, RunChain};
use zarr_spec::host::chain::{ChainCreation, Link};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecChain, CodecError, CodecPlugin, CodecResult, Creation,
    Example, Identifiers, Output, Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name("n5_default"), &create)
        .configuration::<N5Configuration>()
        .about("Stores chunks as blocks of N5, with a header that contains their shape.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(
    r#"{"name": "n5_default", "configuration": {"codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}}]}}"#,
)
.with_data_types(DATA_TYPES)
.with_shape(&[4, 6])];

/// The data types of N5.
const DATA_TYPES: &[&str] =
    &["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"];

/// Size in bytes of the first two fields: the mode, and the number of dimensions.
const PREFIX_SIZE: usize = 4;
/// The maximum size of a block, as a multiple of the size of a chunk. Writers do not produce larger blocks,
/// but damaged headers may declare them.
const MAX_SIZE_RATIO: usize = 16;

/// Stores chunks as blocks of N5.
#[derive(Debug)]
struct N5Default {
    codecs: CodecChain,
}

#[derive(Deserialize)]
struct N5Configuration {
    codecs: Value,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let N5Configuration { codecs } = creation.parse()?;
    let array = zarr_plugin_kit::array(decoded)?;
    header_of(array)?;
    let documents = v3::extensions("codecs", &codecs, creation.reading)
        .map_err(|error| CodecError::configuration(error.to_string()))?;
    let codecs =
        CodecChain::create(&ChainCreation::of(creation), None, &documents, array).map_err(Box::new)?;
    check(codecs.links(), array)?;
    Ok(Codec::Composite(Arc::new(N5Default { codecs })))
}

/// Checks that the codecs are those of N5.
fn check(links: &[Link], array: &ArrayRepresentation) -> CodecResult {
    let rank = array.shape.len();
    let is_reversed = |order: &[usize]| order.iter().copied().eq((0..rank).rev());
    let has_order = array.data_type.elements().size() != Some(1);
    let (first, rest) = links.split_first().map_or((None, links), |(first, rest)| (Some(&first.codec), rest));
    let (second, rest) = rest.split_first().map_or((None, rest), |(second, rest)| (Some(second), rest));
    match first {
        Some(Codec::Permutation(order)) if is_reversed(order) => {}
        _ => {
            return Err(CodecError::configuration(
                "the first of `codecs` must be a `transpose` that reverses all dimensions",
            ));
        }
    }
    match second {
        Some(Link { codec: Codec::Binary(order), document: Some(_), .. })
            if *order == ByteOrder::Big || !has_order => {}
        _ => return Err(CodecError::configuration("the second of `codecs` must be `bytes` in big endian")),
    }
    match rest {
        [] => Ok(()),
        [Link { codec: Codec::BytesToBytes(_), .. }] => Ok(()),
        [_] => Err(CodecError::configuration("the third of `codecs` must be a bytes-to-bytes codec")),
        _ => Err(CodecError::configuration("`codecs` has too many entries: N5 allows one compression")),
    }
}

/// Returns the header of a block with the shape of `array`.
fn header_of(array: &ArrayRepresentation) -> CodecResult<Vec<u8>> {
    let name = array.data_type.name();
    if !DATA_TYPES.contains(&&*name) {
        return Err(CodecError::Unsupported(format!("N5 does not have a data type `{name}`")));
    }
    let too_large = || CodecError::Unsupported(format!("N5 cannot have blocks of shape {:?}", array.shape));
    let rank = u16::try_from(array.shape.len()).map_err(|_| too_large())?;
    let mut header = [[0, 0], rank.to_be_bytes()].concat();
    for size in &array.shape {
        header.extend(u32::try_from(*size).map_err(|_| too_large())?.to_be_bytes());
    }
    Ok(header)
}

impl N5Default {
    /// Returns the array in the header of a block, and the bytes after the header.
    fn block<'a>(
        &self,
        array: &ArrayRepresentation,
        encoded: &'a [u8],
    ) -> CodecResult<(ArrayRepresentation, &'a [u8])> {
        let rank = array.shape.len();
        let cut_off =
            || CodecError::corrupt(format!("{} bytes are too few for the header of a block", encoded.len()));
        let (&[high, low, many, few], rest) =
            encoded.split_first_chunk::<PREFIX_SIZE>().ok_or_else(cut_off)?;
        let mode = u16::from_be_bytes([high, low]);
        if mode != 0 {
            return Err(CodecError::corrupt(format!(
                "the block has mode {mode}; expected the default mode, 0"
            )));
        }
        let found = usize::from(u16::from_be_bytes([many, few]));
        if found != rank {
            return Err(CodecError::corrupt(format!("the block has {found} dimensions; expected {rank}")));
        }
        let (sizes, rest) = rest.split_at_checked(4 * rank).ok_or_else(cut_off)?;
        let (sizes, _) = sizes.as_chunks::<4>();
        let shape: Vec<u64> = sizes.iter().map(|size| u32::from_be_bytes(*size).into()).collect();
        let block = array.clone().with_shape(shape);
        let largest = array.element_count().and_then(|count| count.checked_mul(MAX_SIZE_RATIO));
        let fits = block.element_count().zip(largest).is_some_and(|(count, largest)| count <= largest);
        if !fits {
            return Err(CodecError::corrupt(format!(
                "the block has shape {:?}, which is far larger than the chunk of shape {:?}",
                block.shape, array.shape
            )));
        }
        Ok((block, rest))
    }
}

impl CompositeCodec for N5Default {
    fn chains(&self) -> Vec<&CodecChain> {
        vec![&self.codecs]
    }

    /// Programs of N5 store blocks at the end of an array without the elements that are outside of it, so no size is exact.
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        let header = header_of(array)?.len() as u64;
        Ok(match self.codecs.encoded_size() {
            Size::Exact(size) | Size::AtMost(size) => {
                size.checked_add(header).map_or(Size::Unknown, Size::AtMost)
            }
            Size::Unknown => Size::Unknown,
        })
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        encoded.put(&header_of(array)?)?;
        chains.encode(&self.codecs, array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        let (block, rest) = self.block(array, encoded)?;
        if block.shape == array.shape {
            return chains.decode(&self.codecs, array, rest, decoded);
        }
        let element = array.fill_value.bytes().len();
        let bytes = |array: &ArrayRepresentation| {
            let size = array.element_count().and_then(|count| count.checked_mul(element));
            size.ok_or_else(|| {
                CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
            })
        };
        let size = bytes(array)?;
        let chunk = &mut decoded.spare(size)?[..size];
        chunk.chunks_exact_mut(element).for_each(|place| place.copy_from_slice(array.fill_value.bytes()));
        let mut elements = Output::at_most(bytes(&block)?);
        chains.decode(&self.codecs, &block, rest, &mut elements)?;
        overlay(elements.written(), &block.shape, chunk, &array.shape, element);
        decoded.advance(size);
        Ok(())
    }
}

/// Copies the common part of two arrays in C order, with elements of `element` bytes.
fn overlay(from: &[u8], from_shape: &[u64], to: &mut [u8], to_shape: &[u64], element: usize) {
    let [Some((&from_size, from_inner)), Some((&to_size, to_inner))] =
        [from_shape.split_first(), to_shape.split_first()]
    else {
        return to.copy_from_slice(from);
    };
    if from_size == 0 || to_size == 0 {
        return;
    }
    if from_inner.is_empty() {
        let common = from.len().min(to.len());
        return to[..common].copy_from_slice(&from[..common]);
    }
    let from = from.chunks(stride(from_inner, element));
    let to = to.chunks_mut(stride(to_inner, element));
    from.zip(to).for_each(|(from, to)| overlay(from, from_inner, to, to_inner, element));
}

/// Returns the number of bytes for one index of the first dimension. The whole array is in memory, so an overflow can
/// only mean an array without elements.
fn stride(inner: &[u64], element: usize) -> usize {
    let bytes = inner.iter().try_fold(element, |bytes, &size| bytes.checked_mul(usize::try_from(size).ok()?));
    bytes.unwrap_or(usize::MAX).max(1)
}
