//! Elements of variable size, and their encoded form in `vlen-utf8` and `vlen-bytes`.
//!
//! The encoded form begins with the number of elements. Each element follows its length in bytes. The number and the
//! lengths are u32, little endian.

use zarr_json::counted;
use zarr_spec::codec::{CodecError, CodecResult};
use zarr_spec::output::Output;
use zarr_spec::representation::{ArrayRepresentation, Elements, Representation};
use zarr_spec::{Creation, Format};

use crate::{NoConfiguration, array};

/// The size of a count and of a length, in bytes.
const WORD: usize = 4;
/// The size of an offset in the decoded form, in bytes.
const OFFSET: usize = 8;
/// Elements up to this size are copied as if they had exactly this size, without a loop or a call.
const SHORT: usize = 32;

/// The elements of a chunk in the form of [`Elements::Variable`]: offsets increase from 0 to the end of the
/// payload.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    offsets: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Items<'a> {
    /// Reads the elements of `decoded`, which must have the number of elements of `array`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`]; [`CodecError::Unsupported`] for more elements than this machine can address.
    pub fn new(array: &ArrayRepresentation, decoded: &'a [u8]) -> CodecResult<Self> {
        Self::split(count(array)?, decoded).ok_or_else(|| {
            CodecError::encode("expected one offset per element, followed by the bytes of all elements")
        })
    }

    fn split(count: usize, decoded: &'a [u8]) -> Option<Self> {
        let (offsets, payload) = decoded.split_at_checked((count + 1) * OFFSET)?;
        let (first, _) = offsets.split_first_chunk::<OFFSET>()?;
        let items = Self { offsets, payload };
        let mut last = 0;
        // The loop has no early exit, so that the compiler vectorizes it.
        let rising =
            items.ends().fold(true, |rising, end| rising & (std::mem::replace(&mut last, end) <= end));
        (*first == [0; OFFSET] && rising && last == payload.len()).then_some(items)
    }

    /// Returns the elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let payload = self.payload;
        let mut start = 0;
        self.ends().map(move |end| &payload[std::mem::replace(&mut start, end)..end])
    }

    /// Checks whether each element is UTF-8. `as_text` validates all bytes in one call, which is faster than one call
    /// per element.
    pub fn are_utf8(&self, as_text: impl FnOnce(&'a [u8]) -> Option<&'a str>) -> bool {
        as_text(self.payload).is_some_and(|text| self.ends().all(|end| text.is_char_boundary(end)))
    }

    /// Returns the end of each element. An offset that this machine cannot address is past every payload.
    fn ends(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (offsets, _) = self.offsets.as_chunks::<OFFSET>();
        let end = |&offset| usize::try_from(u64::from_ne_bytes(offset)).unwrap_or(usize::MAX);
        offsets.iter().skip(1).map(end)
    }
}

/// Rejects arrays of data types other than `name`.
///
/// # Errors
///
/// [`CodecError::Unsupported`].
pub fn check_type(array: &ArrayRepresentation, name: &str) -> CodecResult {
    let other = array.data_type.name();
    if other != name || array.data_type.elements() != Elements::Variable {
        return Err(CodecError::Unsupported(format!("it encodes data type `{name}`, not `{other}`")));
    }
    Ok(())
}

/// Accepts a codec without configuration for an array of data type `name`. Except in strict mode, also accepts
/// data type `tolerated`, with a warning: zarrs writes both types with both codecs.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`] for a configuration with members, [`CodecError::Unsupported`] for bytes
/// and other data types.
pub fn check_creation(
    creation: &Creation<'_>,
    decoded: &Representation,
    name: &str,
    tolerated: &str,
) -> CodecResult {
    let NoConfiguration {} = creation.parse()?;
    let array = array(decoded)?;
    if creation.format != Format::V3 || array.data_type.name() != tolerated {
        return check_type(array, name);
    }
    check_type(array, tolerated)?;
    let what = format!("it encodes data type `{name}`, not `{tolerated}`");
    creation.reading.tolerate(what).map_err(|invalid| CodecError::Unsupported(invalid.to_string()))
}

/// Appends the encoded form of `decoded` if `check` accepts the elements.
///
/// # Errors
///
/// As [`Items::new`]; [`CodecError::Encode`] with the error of `check`; [`CodecError::TooLarge`].
pub fn encode(
    array: &ArrayRepresentation,
    decoded: &[u8],
    encoded: &mut Output<'_>,
    check: impl FnOnce(Items<'_>) -> Result<(), &'static str>,
) -> CodecResult {
    let items = Items::new(array, decoded)?;
    check(items).map_err(CodecError::encode)?;
    let too_many = |_| {
        CodecError::encode(
            "the chunk or one of its elements is too large: at most 2^32 - 1 elements of 2^32 - 1 bytes can be stored",
        )
    };
    let words = items.offsets.len() / OFFSET;
    let number = u32::try_from(words - 1).map_err(too_many)?;
    let size = items.payload.len().saturating_add(words * WORD);
    let (head, mut rest) = encoded.spare(size)?[..size].split_at_mut(WORD);
    head.copy_from_slice(&number.to_le_bytes());
    let mut start = 0;
    for end in items.ends() {
        let size = end - start;
        let from = &items.payload[start..];
        let (length, bytes) = rest.split_at_mut(WORD);
        length.copy_from_slice(&u32::try_from(size).map_err(too_many)?.to_le_bytes());
        copy(from, bytes, size);
        rest = &mut bytes[size..];
        start = end;
    }
    encoded.advance(size);
    Ok(())
}

/// Appends the decoded form of `encoded` if `check` accepts the elements.
///
/// # Errors
///
/// [`CodecError::Corrupt`], also with the error of `check`; [`CodecError::TooLarge`];
/// [`CodecError::Unsupported`] for more elements than this machine can address.
pub fn decode(
    array: &ArrayRepresentation,
    encoded: &[u8],
    decoded: &mut Output<'_>,
    check: impl FnOnce(Items<'_>) -> Result<(), &'static str>,
) -> CodecResult {
    let count = count(array)?;
    let (number, mut rest) = word(encoded).ok_or_else(|| {
        CodecError::corrupt("expected the number of elements in 4 bytes, but the data is shorter")
    })?;
    if number != count {
        return Err(CodecError::corrupt(format!("expected {count} elements, found {number}")));
    }
    // The total size of the elements is computed before a length is used.
    let size = count.checked_mul(WORD).and_then(|lengths| rest.len().checked_sub(lengths));
    let size = size.ok_or_else(|| CodecError::corrupt("the data ends before the last element"))?;
    let table = (count + 1) * OFFSET;
    let (offsets, payload) = decoded.spare(table.saturating_add(size))?[..table + size].split_at_mut(table);
    let mut at = 0;
    offsets[..OFFSET].fill(0);
    for offset in offsets[OFFSET..].as_chunks_mut::<OFFSET>().0 {
        let (length, bytes) = next_item(rest, payload.len() - at)?;
        copy(bytes, &mut payload[at..], length);
        rest = &bytes[length..];
        at += length;
        *offset = (at as u64).to_ne_bytes();
    }
    if at != size {
        let what = counted(size - at, "byte follows", "bytes follow");
        return Err(CodecError::corrupt(format!("{what} the last element")));
    }
    check(Items { offsets, payload }).map_err(CodecError::corrupt)?;
    decoded.advance(table + size);
    Ok(())
}

fn count(array: &ArrayRepresentation) -> CodecResult<usize> {
    let count = array.element_count().filter(|&count| count < usize::MAX / OFFSET);
    count.ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

/// Returns a little-endian number and the bytes after it.
fn word(encoded: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = encoded.split_first_chunk::<WORD>()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

/// Returns the length of the next element, which is at most `left`, and the bytes from its start.
#[inline]
fn next_item(encoded: &[u8], left: usize) -> CodecResult<(usize, &[u8])> {
    let item = word(encoded).filter(|&(length, rest)| length <= left && length <= rest.len());
    item.ok_or_else(|| CodecError::corrupt("an element reaches past the end"))
}

/// Copies the first `size` bytes. May change the bytes of `to` after them, which the caller overwrites later.
#[inline]
fn copy(from: &[u8], to: &mut [u8], size: usize) {
    match (from.first_chunk::<SHORT>(), to.first_chunk_mut::<SHORT>()) {
        (Some(from), Some(to)) if size <= SHORT => *to = *from,
        _ => to[..size].copy_from_slice(&from[..size]),
    }
}
