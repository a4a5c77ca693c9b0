//! The `vlen-bytes` codec of Zarr: a count, then one run of bytes after the other, each behind its length.
//!
//! Array to bytes, for data type `bytes` alone. Counts and lengths are u32, little endian; a length counts bytes. The
//! encoded size depends on the elements.
//!
//! Source: `codecs/vlen-bytes` in the Zarr extension registry; numcodecs has the same form.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Elements, Identifiers, Output,
    Representation, Size,
};

zarr_spec::register!(CodecPlugin::new(
    Identifiers {
        uri: Some("https://zarr-kit.example/spec/codecs/vlen-bytes/1.0"),
        name: "vlen-bytes",
        id: Some("vlen-bytes"),
        aliases: &["https://codec.zarrs.dev/array_to_bytes/vlen_bytes"],
    },
    create,
));

/// Writes each run of bytes behind its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VlenBytes;

/// Bytes of a count, and of a length.
const WORD: usize = 4;
/// Bytes of an offset in the decoded form.
const OFFSET: usize = 8;

impl ArrayToBytesCodec for VlenBytes {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        check(array)?;
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let (offsets, payload) = split(count(array)?, decoded).ok_or_else(|| {
            CodecError::encode("the elements are not an offset each and the bytes they point to")
        })?;
        let too_many = |_| CodecError::encode("more than 2^32 - 1 elements, or bytes of an element");
        let number = u32::try_from(offsets.len() / OFFSET - 1).map_err(too_many)?;
        let size = payload.len().saturating_add(offsets.len() / OFFSET * WORD);
        let (head, mut rest) = encoded.spare(size)?[..size].split_at_mut(WORD);
        head.copy_from_slice(&number.to_le_bytes());
        let mut start = 0;
        for end in ends(offsets) {
            let item = &payload[start..end];
            let (length, bytes) = rest.split_at_mut(WORD);
            length.copy_from_slice(&u32::try_from(item.len()).map_err(too_many)?.to_le_bytes());
            bytes[..item.len()].copy_from_slice(item);
            rest = &mut bytes[item.len()..];
            start = end;
        }
        encoded.advance(size);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let count = count(array)?;
        let (number, mut rest) =
            word(encoded).ok_or_else(|| CodecError::corrupt("there is no count of elements"))?;
        if number != count {
            return Err(CodecError::corrupt(format!("{number} elements in a chunk of {count}")));
        }
        // How many bytes the lengths leave is known before any of them is believed.
        let size = count.checked_mul(WORD).and_then(|lengths| rest.len().checked_sub(lengths));
        let size = size.ok_or_else(|| CodecError::corrupt("it ends before the last element"))?;
        let table = (count + 1) * OFFSET;
        let (offsets, payload) =
            decoded.spare(table.saturating_add(size))?[..table + size].split_at_mut(table);
        let mut at = 0;
        offsets[..OFFSET].fill(0);
        for offset in offsets[OFFSET..].chunks_exact_mut(OFFSET) {
            let item;
            (item, rest) = next_item(rest, payload.len() - at)?;
            payload[at..at + item.len()].copy_from_slice(item);
            at += item.len();
            offset.copy_from_slice(&(at as u64).to_ne_bytes());
        }
        if at != size {
            let more = size - at;
            return Err(CodecError::corrupt(format!("{more} bytes follow the last element")));
        }
        decoded.advance(table + size);
        Ok(())
    }
}

fn check(array: &ArrayRepresentation) -> Result<(), CodecError> {
    let name = array.data_type.name();
    if name != "bytes" || array.data_type.elements() != Elements::Variable {
        return Err(CodecError::Unsupported(format!("it encodes data type `bytes`, not `{name}`")));
    }
    Ok(())
}

fn count(array: &ArrayRepresentation) -> Result<usize, CodecError> {
    check(array)?;
    let count = array.element_count().filter(|&count| count < usize::MAX / OFFSET);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

/// The offsets and the payload of `count` decoded elements, if they are such: offsets rise from 0 to the end of the
/// payload.
fn split(count: usize, decoded: &[u8]) -> Option<(&[u8], &[u8])> {
    let (offsets, payload) = decoded.split_at_checked((count + 1) * OFFSET)?;
    let (first, _) = offsets.split_first_chunk::<OFFSET>()?;
    let mut last = 0;
    let rising = ends(offsets).all(|end| std::mem::replace(&mut last, end) <= end);
    (*first == [0; OFFSET] && rising && last == payload.len()).then_some((offsets, payload))
}

/// Where each element ends. An offset that this machine cannot address is past every payload.
fn ends(offsets: &[u8]) -> impl Iterator<Item = usize> {
    let (offsets, _) = offsets.as_chunks::<OFFSET>();
    offsets.iter().skip(1).map(|&offset| usize::try_from(u64::from_ne_bytes(offset)).unwrap_or(usize::MAX))
}

/// A little-endian number, and what follows it.
fn word(encoded: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = encoded.split_first_chunk::<WORD>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

/// The next element, of at most `left` bytes, and what follows it.
fn next_item(encoded: &[u8], left: usize) -> Result<(&[u8], &[u8]), CodecError> {
    let item = word(encoded).filter(|&(length, _)| length <= left);
    let item = item.and_then(|(length, rest)| rest.split_at_checked(length));
    item.ok_or_else(|| CodecError::corrupt("an element reaches past the end"))
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    let Representation::Array(array) = decoded else {
        return Err(CodecError::Unsupported(
            "it wants an array, and the codec before it leaves bytes".into(),
        ));
    };
    check(array)?;
    Ok(Codec::ArrayToBytes(Arc::new(VlenBytes)))
}
