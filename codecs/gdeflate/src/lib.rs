//! The `zarrs.gdeflate` codec of zarrs: compresses each chunk with GDeflate.
//!
//! Bytes to bytes. GDeflate is DEFLATE with a layout for parallel decoders: symbols are distributed over 32 lanes, whose
//! words of 32 bits alternate in the order in which a decoder needs them. Pages of 65536 bytes are compressed
//! independently. The encoded form is
//!
//! | bytes | content |
//! |---|---|
//! | 8 | size of the chunk in bytes, little endian |
//! | 8 | number of pages |
//! | 8 for each page | size of the compressed page in bytes |
//! | | the compressed pages |
//!
//! `level` is 0 to 12: 0 stores the bytes, and higher levels search longer for repetitions. The encoded size depends on
//! the data and is bounded. The decoded size is declared, and compared with the chunk before any page is decoded.
//!
//! Final v3 has the codec as `zarrs.gdeflate`.
//!
//! Source: "gdeflate" of zarrs, <https://codec.zarrs.dev/bytes_to_bytes/gdeflate>; draft-uralsky-gdeflate-00.

mod codes;
mod decode;
mod encode;
mod lanes;
mod matches;
mod tables;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output,
    Representation, Size, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zarrs.gdeflate")
            .with_aliases(&["https://codec.zarrs.dev/bytes_to_bytes/gdeflate"]),
        &create,
    )
    .translated_by(&all_members::<GdeflateConfiguration>)
    .configuration::<GdeflateConfiguration>()
    .about("Compresses with GDeflate, a form of DEFLATE for parallel decoders.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "zarrs.gdeflate", "configuration": {"level": 0}}"#),
    Example::v3(r#"{"name": "zarrs.gdeflate", "configuration": {"level": 1}}"#),
    Example::v3(r#"{"name": "zarrs.gdeflate", "configuration": {"level": 12}}"#),
];

/// Size of a decoded page in bytes.
const PAGE: usize = 1 << 16;
/// Size of a number in the header in bytes.
const WORD: usize = 8;
/// Maximum level.
const MAX_LEVEL: u8 = 12;

/// Compresses each chunk with GDeflate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gdeflate {
    level: u8,
}

impl Gdeflate {
    /// Creates the codec with a level of 0 to 12.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: u8) -> CodecResult<Self> {
        match level {
            0..=MAX_LEVEL => Ok(Self { level }),
            _ => Err(CodecError::configuration(format!("`level` is {level}; expected 0 to {MAX_LEVEL}"))),
        }
    }
}

impl From<Gdeflate> for CodecEntry {
    fn from(codec: Gdeflate) -> Self {
        Self::new("zarrs.gdeflate", json!({"level": codec.level}))
    }
}

impl BytesToBytesCodec for Gdeflate {
    fn encoded_size(&self, decoded: Size) -> Size {
        let Some(limit) = decoded.limit() else { return Size::Unknown };
        // A page that does not become smaller is stored: its bytes, the headers of at most two blocks, and the words
        // that a decoder reads ahead.
        let pages = limit.div_ceil(PAGE as u64);
        let overhead = (WORD + encode::MAX_OVERHEAD) as u64;
        Size::AtMost(limit.saturating_add(pages.saturating_mul(overhead)).saturating_add(2 * WORD as u64))
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let pages = decoded.len().div_ceil(PAGE);
        let start = encoded.written().len();
        encoded.put(&(decoded.len() as u64).to_le_bytes())?;
        encoded.put(&(pages as u64).to_le_bytes())?;
        for _ in 0..pages {
            encoded.put(&[0; WORD])?;
        }
        let mut encoder = encode::Encoder::new(self.level);
        for (number, page) in decoded.chunks(PAGE).enumerate() {
            let bytes = encoder.page(page);
            encoded.put(&bytes)?;
            let place = start + (2 + number) * WORD;
            encoded.written_mut()[place..][..WORD].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let too_few = || CodecError::corrupt("the bytes are too few for the sizes of the pages");
        let (size, rest) = word(encoded).ok_or_else(too_few)?;
        let (pages, rest) = word(rest).ok_or_else(too_few)?;
        if size > decoded.remaining() as u64 {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        // An encoder may store one page for an empty chunk.
        if pages != size.div_ceil(PAGE as u64) && (size, pages) != (0, 1) {
            return Err(CodecError::corrupt(format!(
                "{size} bytes in {pages} pages; a page has {PAGE} bytes"
            )));
        }
        let table = usize::try_from(pages).ok().and_then(|pages| pages.checked_mul(WORD));
        let (sizes, mut rest) = table.and_then(|table| rest.split_at_checked(table)).ok_or_else(too_few)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let mut room = &mut decoded.spare(size)?[..size];
        let mut decoder = decode::Decoder::default();
        for page_size in sizes.as_chunks::<WORD>().0 {
            let page_size = usize::try_from(u64::from_le_bytes(*page_size)).ok();
            let split = page_size.and_then(|size| rest.split_at_checked(size));
            let (page, after) = split.ok_or_else(|| CodecError::corrupt("a page reaches past the end"))?;
            let page_size = PAGE.min(room.len());
            let (place, following) = std::mem::take(&mut room).split_at_mut(page_size);
            decoder.page(page, place)?;
            rest = after;
            room = following;
        }
        if !rest.is_empty() {
            return Err(CodecError::corrupt(format!("{} bytes follow the last page", rest.len())));
        }
        decoded.advance(size);
        Ok(())
    }
}

/// Returns a little-endian number and the bytes after it.
fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<WORD>()?;
    Some((u64::from_le_bytes(*word), rest))
}

/// The configuration. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct GdeflateConfiguration {
    level: u8,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let GdeflateConfiguration { level } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Gdeflate::new(level)?)))
}
