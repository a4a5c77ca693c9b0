//! The `zarrs.vlen` codec of zarrs: stores the offsets of elements of variable size, and their bytes.
//!
//! Array to bytes, for every data type with elements of variable size. A chunk consists of
//!
//! | bytes | content |
//! |---|---|
//! | 8 | size of the encoded offsets in bytes, little endian |
//! | | the offsets: one for the start of each element and one for the end of the last, encoded by `index_codecs` |
//! | | the bytes of all elements, as an array of `uint8`, encoded by `data_codecs`; nothing if all elements are empty |
//!
//! With `index_location` `end`, the bytes of the elements come first, then the offsets, then their size. Documents of
//! an older form lack the member, and have the offsets at the start. `index_data_type` is `uint32` or `uint64`.
//!
//! The encoded size depends on the elements. Both lists must contain an array-to-bytes codec. The registry must contain
//! the types of the offsets and `uint8`.
//!
//! Final v3 has the codec as `zarrs.vlen`.
//!
//! Source: "vlen" of zarrs, <https://codec.zarrs.dev/array_to_bytes/vlen>.

mod configuration;

use std::sync::Arc;

use zarr_plugin_kit::items::Items;
use zarr_spec::codec::{CompositeCodec, RunChain};
use zarr_spec::{
    ArrayRepresentation, CodecChain, CodecError, CodecPlugin, CodecResult, DataType, Elements, Example,
    Identifiers, LimitExceeded, Output, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zarrs.vlen").with_aliases(&["https://codec.zarrs.dev/array_to_bytes/vlen"]),
        &configuration::create,
    )
    .configuration::<configuration::VlenConfiguration>()
    .about(
        "Stores the offsets of elements of variable size and their bytes, with separate codecs.",
        EXAMPLES
    )
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "zarrs.vlen", "configuration": {
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "data_codecs": [{"name": "bytes"}],
            "index_data_type": "uint32", "index_location": "end"}}"#,
    )
    .with_data_types(&["string", "bytes"]),
    Example::v3(
        r#"{"name": "zarrs.vlen", "configuration": {
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
            "data_codecs": [{"name": "bytes"}],
            "index_data_type": "uint64"}}"#,
    )
    .with_data_types(&["string"]),
];

/// Size in bytes of the field with the size of the encoded offsets, and of an offset in the decoded form.
const WORD: usize = 8;

/// Encodes the offsets and the bytes of elements separately.
#[derive(Debug)]
struct Vlen {
    index_type: Arc<dyn DataType>,
    /// Size of a stored offset in bytes: 4 or 8.
    index_size: usize,
    index_at_end: bool,
    byte_type: Arc<dyn DataType>,
    index_codecs: CodecChain,
    data_codecs: CodecChain,
}

impl CompositeCodec for Vlen {
    fn chains(&self) -> Vec<&CodecChain> {
        vec![&self.index_codecs, &self.data_codecs]
    }

    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        check_type(array).map(|()| Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        let table = self.table_size(array)?;
        let items = Items::new(array, decoded)?;
        check_items(array, items).map_err(CodecError::encode)?;
        let (offsets, payload) = decoded.split_at(table);
        let index = self.stored_offsets(offsets)?;
        let count = offsets.len() / WORD;
        let index_array = configuration::plain(&self.index_type, count);
        if self.index_at_end {
            self.encode_payload(payload, encoded, chains)?;
            let start = encoded.written().len();
            chains.encode(&self.index_codecs, &index_array, &index, encoded)?;
            let size = encoded.written().len() - start;
            return Ok(encoded.put(&(size as u64).to_le_bytes())?);
        }
        let start = encoded.written().len();
        encoded.put(&[0; WORD])?;
        chains.encode(&self.index_codecs, &index_array, &index, encoded)?;
        let size = encoded.written().len() - start - WORD;
        encoded.written_mut()[start..][..WORD].copy_from_slice(&(size as u64).to_le_bytes());
        self.encode_payload(payload, encoded, chains)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        let table = self.table_size(array)?;
        let (encoded_index, encoded_payload) = self.split(encoded)?;
        // Checks the limit before decoding, since the chunk may exceed it.
        decoded.spare(table)?;
        let count = table / WORD;
        let mut index = Output::at_most(count * self.index_size);
        let index_array = configuration::plain(&self.index_type, count);
        chains.decode(&self.index_codecs, &index_array, encoded_index, &mut index)?;
        let offsets = self.decoded_offsets(index.written())?;
        let payload_size = offsets.last().copied().unwrap_or(0);
        let size = table.saturating_add(payload_size);
        if size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        // The payload is decoded first, because the offsets may claim more bytes than it has.
        let mut payload = Output::at_most(payload_size);
        if payload_size > 0 {
            let bytes = configuration::plain(&self.byte_type, payload_size);
            chains.decode(&self.data_codecs, &bytes, encoded_payload, &mut payload)?;
        } else if !encoded_payload.is_empty() {
            let found = encoded_payload.len();
            return Err(CodecError::corrupt(format!(
                "all elements are empty, but {found} bytes of elements follow"
            )));
        }
        let room = &mut decoded.spare(size)?[..size];
        let (head, tail) = room.split_at_mut(table);
        for (place, offset) in head.chunks_exact_mut(WORD).zip(offsets) {
            place.copy_from_slice(&(offset as u64).to_ne_bytes());
        }
        tail.copy_from_slice(payload.written());
        let items = Items::new(array, room).map_err(|error| CodecError::corrupt(error.to_string()))?;
        check_items(array, items).map_err(CodecError::corrupt)?;
        decoded.advance(size);
        Ok(())
    }
}

impl Vlen {
    /// Returns the size of the offsets in the decoded form.
    fn table_size(&self, array: &ArrayRepresentation) -> CodecResult<usize> {
        check_type(array)?;
        let count = array.element_count().filter(|&count| count < usize::MAX / WORD);
        count.map(|count| (count + 1) * WORD).ok_or_else(|| {
            CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
        })
    }

    fn encode_payload(
        &self,
        payload: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult {
        match payload.len() {
            0 => Ok(()),
            size => {
                let bytes = configuration::plain(&self.byte_type, size);
                chains.encode(&self.data_codecs, &bytes, payload, encoded)
            }
        }
    }

    /// Converts native u64 offsets to the type of stored ones.
    fn stored_offsets(&self, offsets: &[u8]) -> CodecResult<Vec<u8>> {
        if self.index_size == WORD {
            return Ok(offsets.to_vec());
        }
        let (words, _) = offsets.as_chunks::<WORD>();
        let mut stored = Vec::with_capacity(words.len() * self.index_size);
        for word in words {
            let offset = u32::try_from(u64::from_ne_bytes(*word)).map_err(|_| {
                CodecError::encode(
                    "the elements have more than 2^32 - 1 bytes; offsets of type `uint64` are needed",
                )
            })?;
            stored.extend_from_slice(&offset.to_ne_bytes());
        }
        Ok(stored)
    }

    /// Returns the stored offsets. One that this machine cannot address is past every payload.
    fn decoded_offsets(&self, index: &[u8]) -> CodecResult<Vec<usize>> {
        let offset = |bytes: &[u8]| match (bytes.first_chunk::<WORD>(), bytes.first_chunk::<4>()) {
            (Some(bytes), _) => u64::from_ne_bytes(*bytes),
            (_, Some(bytes)) => u32::from_ne_bytes(*bytes).into(),
            _ => u64::MAX,
        };
        let offsets: Vec<usize> = index
            .chunks_exact(self.index_size)
            .map(|bytes| usize::try_from(offset(bytes)).unwrap_or(usize::MAX))
            .collect();
        if offsets.first() != Some(&0) || !offsets.is_sorted() {
            return Err(CodecError::corrupt("the offsets of elements do not increase from 0"));
        }
        Ok(offsets)
    }

    /// Splits a chunk into the encoded offsets and the encoded bytes of elements.
    fn split<'e>(&self, encoded: &'e [u8]) -> CodecResult<(&'e [u8], &'e [u8])> {
        let word = match self.index_at_end {
            true => encoded.split_last_chunk::<WORD>().map(|(rest, size)| (size, rest)),
            false => encoded.split_first_chunk::<WORD>(),
        };
        let (size, rest) = word.ok_or_else(|| {
            CodecError::corrupt(format!("{} bytes are too few for the size of the offsets", encoded.len()))
        })?;
        let size = u64::from_le_bytes(*size);
        let too_large = || {
            CodecError::corrupt(format!(
                "offsets of {size} bytes exceed the {} bytes that follow",
                rest.len()
            ))
        };
        let size = usize::try_from(size).ok().filter(|&size| size <= rest.len()).ok_or_else(too_large)?;
        Ok(match self.index_at_end {
            true => {
                let (payload, index) = rest.split_at(rest.len() - size);
                (index, payload)
            }
            false => rest.split_at(size),
        })
    }
}

fn check_type(array: &ArrayRepresentation) -> CodecResult {
    // The codec of elements that may be missing is another one, also in zarrs.
    if array.data_type.elements() == Elements::Variable && array.data_type.optional().is_none() {
        return Ok(());
    }
    let name = array.data_type.name();
    Err(CodecError::Unsupported(format!("it encodes elements of variable size, not `{name}`")))
}

fn check_items(array: &ArrayRepresentation, items: Items<'_>) -> Result<(), &'static str> {
    match items.iter().all(|element| array.data_type.check(element).is_ok()) {
        true => Ok(()),
        false => Err("an element is not valid for its data type"),
    }
}
