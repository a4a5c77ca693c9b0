//! A block without its decoded size, as imagecodecs writes it.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{CodecError, CodecResult, LimitExceeded, Output, Pool, Size};

use crate::MAXIMUM_SIZE;

/// The minimum length of a repetition.
const MIN_MATCH: usize = 4;
/// The length in a token that continues in the following bytes.
const CONTINUED: usize = 15;

/// Compresses each chunk to one LZ4 block.
#[derive(Debug, Default)]
pub(crate) struct Lz4Block {
    tables: Pool<CompressTable>,
}

impl BytesToBytesCodec for Lz4Block {
    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded.limit().and_then(|limit| usize::try_from(limit).ok()) {
            Some(limit) if limit <= MAXIMUM_SIZE => Size::AtMost(get_maximum_output_size(limit) as u64),
            _ => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        if decoded.len() > MAXIMUM_SIZE {
            return Err(CodecError::encode(format!("LZ4 cannot compress {} bytes", decoded.len())));
        }
        let room = encoded.spare(get_maximum_output_size(decoded.len()))?;
        let compress = |table: &mut CompressTable| compress_into_with_table(decoded, room, table);
        let written = self.tables.with(CompressTable::default, compress).map_err(CodecError::encode)?;
        encoded.advance(written);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let size = decoded_size(encoded)
            .ok_or_else(|| CodecError::corrupt("the block ends within a literal or a repetition"))?;
        if size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        let room = &mut decoded.spare(size)?[..size];
        let written = decompress_into(encoded, room).map_err(CodecError::corrupt)?;
        if written != size {
            return Err(CodecError::corrupt(format!("the block holds {written} bytes; expected {size}")));
        }
        decoded.advance(size);
        Ok(())
    }
}

/// Adds the lengths of all literals and repetitions.
fn decoded_size(block: &[u8]) -> Option<usize> {
    let mut rest = block;
    let mut size = 0_usize;
    while let Some((&token, after)) = rest.split_first() {
        let (literals, after) = length(usize::from(token >> 4), after)?;
        size = size.checked_add(literals)?;
        rest = after.get(literals..)?;
        if rest.is_empty() {
            return Some(size);
        }
        // The distance of the repetition.
        let (repetition, after) = length(usize::from(token & 15), rest.get(2..)?)?;
        size = size.checked_add(repetition)?.checked_add(MIN_MATCH)?;
        rest = after;
    }
    // A block ends with literals.
    None
}

/// Returns a length that begins in a token, and the bytes after it.
fn length(start: usize, bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = start;
    let mut rest = bytes;
    if start == CONTINUED {
        loop {
            let (&byte, after) = rest.split_first()?;
            length = length.checked_add(byte.into())?;
            rest = after;
            if byte < 255 {
                break;
            }
        }
    }
    Some((length, rest))
}
