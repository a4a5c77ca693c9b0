//! The `lz4h5` codec: compresses each chunk to a sequence of LZ4 blocks, like filter 32004 of HDF5.
//!
//! Bytes to bytes. The size of the chunk in eight bytes and the size of a decoded block in four bytes precede
//! the blocks, and the encoded size in four bytes precedes each block; all are big endian. A block whose encoded
//! size is its decoded size is not compressed. The encoded size depends on the data and is bounded. Declared
//! sizes are checked against the size of the chunk before any memory is allocated.
//!
//! `blocksize` is the size of a decoded block in bytes, by default the whole chunk, up to 1 GiB. `level` is
//! preserved but has no effect: the compressor of this crate has one level. Decoding depends on neither.
//!
//! v2 and final v3 have the codec as `imagecodecs_lz4h5`; `numcodecs.imagecodecs_lz4h5` is also read.
//!
//! Source: `Lz4h5` in imagecodecs; "LZ4 Block Format Description"; the registry of HDF5 filters.

use std::sync::Arc;

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output, Pool,
    Representation, Size, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lz4h5")
            .with_id("imagecodecs_lz4h5")
            .with_aliases(&["numcodecs.imagecodecs_lz4h5"]),
        &create,
    )
    .configuration::<Lz4h5Configuration>()
    .about("Compresses to LZ4 blocks, like the `lz4` filter of HDF5.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lz4h5"}"#),
    Example::v3(r#"{"name": "imagecodecs_lz4h5", "configuration": {"blocksize": 16}}"#),
    Example::v2(r#"{"id": "imagecodecs_lz4h5", "level": null, "blocksize": null}"#),
];

/// Maximum size of a decoded block in bytes.
const MAXIMUM_BLOCK: usize = 1 << 30;

/// Size in bytes of the two sizes before the first block.
const HEADER_SIZE: usize = 12;

/// A byte of an LZ4 block represents at most this number of bytes.
const MAXIMUM_RATIO: usize = 255;

/// Compresses each chunk to a sequence of LZ4 blocks.
#[derive(Debug)]
pub struct Lz4h5 {
    block_size: usize,
    tables: Pool<CompressTable>,
}

impl Lz4h5 {
    /// Creates the codec for decoded blocks of `block_size` bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for 0 and for more than 1 GiB.
    pub fn new(block_size: usize) -> CodecResult<Self> {
        if block_size == 0 || block_size > MAXIMUM_BLOCK {
            return Err(CodecError::configuration(format!(
                "`blocksize` is {block_size}; expected 1 to {MAXIMUM_BLOCK}"
            )));
        }
        Ok(Self { block_size, tables: Pool::new() })
    }

    /// Appends the encoded size of `block` and its encoded bytes.
    fn encode_block(&self, block: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let mut compressed = vec![0; get_maximum_output_size(block.len())];
        let size = self
            .tables
            .with(CompressTable::default, |table| compress_into_with_table(block, &mut compressed, table))
            .map_err(CodecError::encode)?;
        let stored = if size < block.len() { &compressed[..size] } else { block };
        let size = u32::try_from(stored.len()).map_err(CodecError::encode)?;
        encoded.put(&size.to_be_bytes())?;
        encoded.put(stored)?;
        Ok(())
    }
}

impl From<Lz4h5> for CodecEntry {
    fn from(codec: Lz4h5) -> Self {
        Self::new("imagecodecs_lz4h5", json!({"blocksize": codec.block_size}))
    }
}

impl BytesToBytesCodec for Lz4h5 {
    fn encoded_size(&self, decoded: Size) -> Size {
        let Some(limit) = decoded.limit() else { return Size::Unknown };
        let blocks = limit.div_ceil(self.block_size as u64);
        Size::AtMost(limit.saturating_add(blocks.saturating_mul(4)).saturating_add(HEADER_SIZE as u64))
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let block_size = self.block_size.min(decoded.len().max(1));
        encoded.put(&(decoded.len() as u64).to_be_bytes())?;
        encoded.put(&u32::try_from(block_size).map_err(CodecError::encode)?.to_be_bytes())?;
        decoded.chunks(block_size).try_for_each(|block| self.encode_block(block, encoded))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let mut rest = encoded;
        let size = usize::try_from(u64::from_be_bytes(*next_array(&mut rest)?)).unwrap_or(usize::MAX);
        let block_size = next_size(&mut rest)?;
        if size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        if size > rest.len().saturating_mul(MAXIMUM_RATIO) {
            return Err(CodecError::corrupt("the blocks are too short for the declared size of the chunk"));
        }
        if block_size == 0 && size > 0 {
            return Err(CodecError::corrupt("the size of a block is 0"));
        }
        for block in decoded.spare(size)?[..size].chunks_mut(block_size.max(1)) {
            let stored = next_size(&mut rest)?;
            decode_block(next_bytes(&mut rest, stored)?, block)?;
        }
        if !rest.is_empty() {
            return Err(CodecError::corrupt(format!("{} bytes follow the last block", rest.len())));
        }
        decoded.advance(size);
        Ok(())
    }
}

/// Decodes a block to all of `decoded`.
fn decode_block(stored: &[u8], decoded: &mut [u8]) -> CodecResult {
    if stored.len() == decoded.len() {
        decoded.copy_from_slice(stored);
        return Ok(());
    }
    let written = decompress_into(stored, decoded).map_err(CodecError::corrupt)?;
    if written != decoded.len() {
        let expected = decoded.len();
        return Err(CodecError::corrupt(format!("a block holds {written} bytes; expected {expected}")));
    }
    Ok(())
}

fn next_size(rest: &mut &[u8]) -> CodecResult<usize> {
    let size = u32::from_be_bytes(*next_array(rest)?);
    Ok(usize::try_from(size).unwrap_or(usize::MAX))
}

fn next_array<'e, const N: usize>(rest: &mut &'e [u8]) -> CodecResult<&'e [u8; N]> {
    let (first, after) = rest.split_first_chunk().ok_or_else(truncated)?;
    *rest = after;
    Ok(first)
}

fn next_bytes<'e>(rest: &mut &'e [u8], size: usize) -> CodecResult<&'e [u8]> {
    let (first, after) = rest.split_at_checked(size).ok_or_else(truncated)?;
    *rest = after;
    Ok(first)
}

fn truncated() -> CodecError {
    CodecError::corrupt("the bytes end within a size or a block")
}

#[derive(Deserialize)]
struct Lz4h5Configuration {
    level: Option<i64>,
    blocksize: Option<u32>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let Lz4h5Configuration { level: _has_no_effect, blocksize } = creation.parse()?;
    let block_size = blocksize.and_then(|size| usize::try_from(size).ok()).unwrap_or(MAXIMUM_BLOCK);
    Ok(Codec::BytesToBytes(Arc::new(Lz4h5::new(block_size)?)))
}
