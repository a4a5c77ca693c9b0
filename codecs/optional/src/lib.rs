//! The `zarrs.optional` codec of Zarr: stores a mask of the present elements, and then these elements.
//!
//! Array to bytes, only for data type `zarrs.optional`. A chunk consists of
//!
//! | bytes | content |
//! |---|---|
//! | 8 | size of the encoded mask in bytes, little endian |
//! | 8 | size of the encoded elements in bytes, little endian |
//! | | the mask: an array of `bool` with the shape of the chunk, true where an element is present, encoded by `mask_codecs` |
//! | | the present elements: a one-dimensional array, encoded by `data_codecs`; empty if all elements are missing |
//!
//! The encoded size depends on the elements. Both lists must contain an array-to-bytes codec, in the draft too.
//! The registry must contain `bool`.
//!
//! `optional` is the name in an open proposal. A document with this name is written with this name again.
//!
//! Source: the crate `zarrs` 0.23, the only other implementation; pull request 33 of the Zarr extension registry.

mod configuration;

use std::sync::Arc;

use zarr_plugin_kit::items::Items;
use zarr_spec::codec::{CompositeCodec, RunChain};
use zarr_spec::{
    ArrayRepresentation, CodecChain, CodecError, CodecPlugin, CodecResult, DataType, Elements, Example,
    FillValue, Identifiers, Mode, Output, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zarrs.optional")
            .with_uri("https://zarr-kit.example/spec/codecs/optional/1.0")
            .with_aliases(&["optional"]),
        &configuration::create,
    )
    .translated_by(&configuration::translate)
    .configuration::<configuration::OptionalConfiguration>()
    .about("Stores a mask of the present elements and these elements, with separate codecs.", EXAMPLES)
);

const INT32: &str = r#"{"name": "zarrs.optional", "configuration": {"name": "int32", "configuration": {}}}"#;
const STRING: &str =
    r#"{"name": "zarrs.optional", "configuration": {"name": "string", "configuration": {}}}"#;

const PROPOSED: &str = r#"{"name": "optional", "configuration": {"name": "int32"}}"#;

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "zarrs.optional", "configuration": {
            "mask_codecs": [{"name": "packbits"}],
            "data_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}"#,
    )
    .with_data_types(&[INT32]),
    Example::v3(
        r#"{"name": "zarrs.optional", "configuration": {
            "mask_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
            "data_codecs": [{"name": "vlen-utf8"}]}}"#,
    )
    .with_data_types(&[STRING]),
    Example::v3(
        r#"{"name": "optional", "configuration": {
            "mask_codecs": [{"name": "packbits"}],
            "data_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}"#,
    )
    .with_data_types(&[PROPOSED]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/optional/1.0", "configuration": {
            "mask_codecs": [{"type": "https://zarr-kit.example/spec/codecs/packbits/1.0"}],
            "data_codecs": [{"type": "https://purl.org/zarr/spec/codecs/endian/1.0",
                             "configuration": {"endian": "little"}}]}}"#,
    )
    .with_data_types(&[INT32]),
];

/// Bytes of each of the two sizes in the header.
const WORD: usize = 8;
/// Size in bytes of an offset in the decoded form.
const OFFSET: usize = 8;
/// The byte before a present element in the decoded form.
const PRESENT: u8 = 1;

/// Encodes the mask and the present elements separately.
#[derive(Debug)]
struct Optional {
    mask_type: Arc<dyn DataType>,
    mask_codecs: CodecChain,
    data_codecs: CodecChain,
    mode: Mode,
}

impl CompositeCodec for Optional {
    fn chains(&self) -> Vec<&CodecChain> {
        vec![&self.mask_codecs, &self.data_codecs]
    }

    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        inner(array).map(|_| Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        let start = encoded.written().len();
        encoded.put(&[0; 2 * WORD])?;
        let (mask, data, present) = part(array, decoded)?;
        chains.encode(&self.mask_codecs, &mask_array(array, &self.mask_type), &mask, encoded)?;
        let middle = encoded.written().len();
        if present > 0 {
            chains.encode(&self.data_codecs, &data_array(array, present)?, &data, encoded)?;
        }
        let mask_size = middle - start - 2 * WORD;
        let data_size = encoded.written().len() - middle;
        let header = &mut encoded.written_mut()[start..start + 2 * WORD];
        header[..WORD].copy_from_slice(&(mask_size as u64).to_le_bytes());
        header[WORD..].copy_from_slice(&(data_size as u64).to_le_bytes());
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        let (encoded_mask, encoded_data) = split(encoded)?;
        let count = count(array)?;
        // Checks the limit before decoding, since the chunk may exceed it.
        decoded.spare((count + 1) * OFFSET)?;
        let mut mask = Output::at_most(count);
        chains.decode(&self.mask_codecs, &mask_array(array, &self.mask_type), encoded_mask, &mut mask)?;
        let mask = settle(&*self.mask_type, mask, self.mode)?;
        let present = mask.iter().filter(|&&byte| byte != 0).count();
        if present == 0 {
            return match encoded_data.len() {
                0 => join(&mask, std::iter::empty(), 0, decoded),
                size => Err(CodecError::corrupt(format!(
                    "all elements are missing, but {size} bytes of elements follow"
                ))),
            };
        }
        let data_array = data_array(array, present)?;
        let mut elements = Output::at_most(decoded.remaining());
        chains.decode(&self.data_codecs, &data_array, encoded_data, &mut elements)?;
        match data_array.data_type.elements() {
            Elements::Fixed { size, .. } => {
                let elements = settle(&*data_array.data_type, elements, self.mode)?;
                let element = |number: usize| &elements[number * size..][..size];
                join(&mask, (0..present).map(element), elements.len(), decoded)
            }
            Elements::Variable => {
                let items = Items::new(&data_array, elements.written())
                    .map_err(|error| CodecError::corrupt(error.to_string()))?;
                let payload = elements.written().len() - (present + 1) * OFFSET;
                join(&mask, items.iter(), payload, decoded)
            }
        }
    }
}

/// Returns the data type of present elements.
fn inner(array: &ArrayRepresentation) -> CodecResult<&Arc<dyn DataType>> {
    array.data_type.optional().ok_or_else(|| {
        let name = array.data_type.name();
        CodecError::Unsupported(format!("expected data type `zarrs.optional`, found `{name}`"))
    })
}

/// Returns the number of elements of a chunk.
fn count(array: &ArrayRepresentation) -> CodecResult<usize> {
    let count = array.element_count().filter(|&count| count < usize::MAX / OFFSET);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

/// Returns the array of booleans that `mask_codecs` encode.
fn mask_array(array: &ArrayRepresentation, mask_type: &Arc<dyn DataType>) -> ArrayRepresentation {
    ArrayRepresentation::new(array.shape.clone(), Arc::clone(mask_type), FillValue::zero(1))
}

/// Returns the array of `count` elements that `data_codecs` encode.
fn data_array(array: &ArrayRepresentation, count: usize) -> CodecResult<ArrayRepresentation> {
    let data_type = inner(array)?;
    Ok(ArrayRepresentation::new(vec![count as u64], Arc::clone(data_type), data_type.default_fill_value())
        .with_byte_order(array.byte_order.clone()))
}

/// Returns the mask, the present elements in their memory layout, and their number.
fn part(array: &ArrayRepresentation, decoded: &[u8]) -> CodecResult<(Vec<u8>, Vec<u8>, usize)> {
    let is_variable = inner(array)?.elements() == Elements::Variable;
    let mut mask = Vec::new();
    let mut offsets = Vec::new();
    let mut payload = Vec::new();
    for (number, item) in Items::new(array, decoded)?.iter().enumerate() {
        let checked = array.data_type.check(item);
        checked.map_err(|invalid| CodecError::encode(format!("element {number}: {invalid}")))?;
        mask.push(u8::from(!item.is_empty()));
        if let Some((_, present)) = item.split_first() {
            offsets.push(payload.len() as u64);
            payload.extend_from_slice(present);
        }
    }
    let present = offsets.len();
    if !is_variable {
        return Ok((mask, payload, present));
    }
    offsets.push(payload.len() as u64);
    let offsets = offsets.into_iter().flat_map(u64::to_ne_bytes);
    Ok((mask, offsets.chain(payload).collect(), present))
}

/// Splits a chunk into the encoded mask and the encoded elements.
fn split(encoded: &[u8]) -> CodecResult<(&[u8], &[u8])> {
    let word = |bytes: &[u8; WORD]| u64::from_le_bytes(*bytes);
    let header = encoded.split_first_chunk::<WORD>().and_then(|(mask_size, rest)| {
        let (data_size, rest) = rest.split_first_chunk::<WORD>()?;
        Some((word(mask_size), word(data_size), rest))
    });
    let (mask_size, data_size, rest) = header
        .ok_or_else(|| CodecError::corrupt(format!("{} bytes are too few for a header", encoded.len())))?;
    if mask_size.checked_add(data_size) != Some(rest.len() as u64) {
        return Err(CodecError::corrupt(format!(
            "a mask of {mask_size} bytes and elements of {data_size} bytes do not add up to the remaining {} bytes",
            rest.len()
        )));
    }
    // The mask is a part of the bytes in memory, so its size fits.
    Ok(rest.split_at(usize::try_from(mask_size).unwrap_or(rest.len())))
}

/// Normalizes the decoded elements, since an element may have several stored forms.
fn settle(data_type: &dyn DataType, elements: Output<'static>, mode: Mode) -> CodecResult<Vec<u8>> {
    let mut elements = elements.into_written();
    data_type.settle(&mut elements, mode).map_err(|invalid| CodecError::corrupt(invalid.to_string()))?;
    Ok(elements)
}

/// Appends the decoded form. `present` has one element of `size` bytes for each true element of the mask.
fn join<'e>(
    mask: &[u8],
    mut present: impl Iterator<Item = &'e [u8]>,
    bytes: usize,
    decoded: &mut Output<'_>,
) -> CodecResult {
    let table = (mask.len() + 1) * OFFSET;
    let marks = mask.iter().filter(|&&byte| byte != 0).count();
    let size = table.saturating_add(marks).saturating_add(bytes);
    let (offsets, payload) = decoded.spare(size)?[..size].split_at_mut(table);
    let mut at = 0;
    offsets[..OFFSET].fill(0);
    for (offset, &byte) in offsets[OFFSET..].chunks_exact_mut(OFFSET).zip(mask) {
        if byte != 0
            && let Some(element) = present.next()
        {
            payload[at] = PRESENT;
            payload[at + 1..][..element.len()].copy_from_slice(element);
            at += 1 + element.len();
        }
        offset.copy_from_slice(&(at as u64).to_ne_bytes());
    }
    decoded.advance(size);
    Ok(())
}
