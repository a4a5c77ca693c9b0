//! Blosc 1 buffers around an inner format that the C library was built without.
//!
//! After the header come the places where the blocks start, a `u32` for each, then the blocks. All blocks decode to the
//! same size except the last, which may be shorter. A block is one stream. Unless the flags forbid it, a block of
//! normal size is split: it has as many streams as an element has bytes, so that each holds bytes of one place.
//! A stream is its size as `u32` and then its bytes, which are not compressed where that is the decoded size.
//!
//! Source: C-Blosc 1.21.

#[cfg(test)]
mod against_c_blosc;

use crate::header::{Header, flag};
use crate::shuffle::Shuffler;
use crate::{Blosc, MAX_BLOCKSIZE, OVERHEAD, Shuffle};

/// What compresses the streams.
pub(crate) trait InnerFormat {
    /// In the flags of a header.
    const NUMBER: u8;
    /// In the second byte of a header.
    const VERSION: u8;

    /// One stream, or `None` where there is none.
    fn compress(&mut self, decoded: &[u8]) -> Option<&[u8]>;

    /// Fills all of `decoded` from one stream; whether it could.
    fn decompress(&mut self, encoded: &[u8], decoded: &mut [u8]) -> bool;
}

/// Decodes a buffer that `header` was parsed from to as many bytes as it says, or tells what is wrong with it.
pub(crate) fn decode<F: InnerFormat>(
    header: &Header,
    encoded: &[u8],
    decoded: &mut [u8],
    inner_format: &mut F,
) -> Result<(), String> {
    header.check_blocks()?;
    if header.flags & flag::STORED != 0 {
        return copy(&encoded[OVERHEAD..], decoded);
    }
    if header.inner_version != F::VERSION {
        return Err(format!("version {} of its inner format is not known", header.inner_version));
    }
    let (typesize, blocksize) = (usize::from(header.typesize), header.blocksize as usize);
    let count = decoded.len().div_ceil(blocksize);
    let (starts, _) = encoded[OVERHEAD..].as_chunks::<4>();
    let starts =
        starts.get(..count).ok_or_else(|| format!("it has no room for the starts of {count} blocks"))?;
    let splits = header.flags & flag::NOT_SPLIT == 0 && is_splittable(typesize, blocksize);
    if splits && !blocksize.is_multiple_of(typesize) {
        return Err(format!("its blocks of {blocksize} bytes are split into {typesize}"));
    }
    let mut shuffler = Shuffler::new(header.shuffle(), typesize);
    for (block, start) in decoded.chunks_mut(blocksize).zip(starts) {
        let start = u32::from_le_bytes(*start) as usize;
        let streams = encoded.get(start..).filter(|_| start >= OVERHEAD + 4 * count);
        let streams = streams.ok_or_else(|| format!("a block starts at byte {start}"))?;
        let size = stream_size(splits, typesize, blocksize, block.len());
        shuffler.together(block, |shuffled| decode_streams(streams, shuffled, size, inner_format))?;
    }
    Ok(())
}

/// Encodes to the beginning of `encoded`, which has room for the header and for `decoded` as it is; the size there.
/// `None` if a size does not fit the format.
pub(crate) fn encode<F: InnerFormat>(
    blosc: &Blosc,
    decoded: &[u8],
    encoded: &mut [u8],
    inner_format: &mut F,
) -> Option<usize> {
    let blocksize = choose_blocksize(blosc, decoded.len());
    let splits = is_splittable(blosc.typesize, blocksize);
    let compressible = blosc.level > 0 && decoded.len() >= MIN_SIZE;
    let compressed = if compressible {
        encode_blocks(blosc, blocksize, splits, decoded, encoded, inner_format)
    } else {
        None
    };
    let size = match compressed {
        Some(size) => size,
        None => {
            encoded.get_mut(OVERHEAD..OVERHEAD + decoded.len())?.copy_from_slice(decoded);
            OVERHEAD + decoded.len()
        }
    };
    let shuffle = match blosc.shuffle {
        Shuffle::None => 0,
        Shuffle::Byte => flag::BYTE_SHUFFLE,
        Shuffle::Bit => flag::BIT_SHUFFLE,
    };
    let stored = if compressed.is_none() { flag::STORED } else { 0 };
    let whole = if splits { 0 } else { flag::NOT_SPLIT };
    let header = Header {
        inner_version: F::VERSION,
        flags: F::NUMBER << 5 | shuffle | stored | whole,
        typesize: u8::try_from(blosc.typesize).ok()?,
        size: u32::try_from(decoded.len()).ok()?,
        blocksize: u32::try_from(blocksize).ok()?,
        encoded_size: u32::try_from(size).ok()?,
    };
    encoded[..OVERHEAD].copy_from_slice(&header.to_bytes());
    Some(size)
}

/// Bytes below which nothing is compressed or split.
const MIN_SIZE: usize = 128;
/// Bytes of an element above which blocks are not split.
const MAX_SPLITS: usize = 16;

fn is_splittable(typesize: usize, blocksize: usize) -> bool {
    typesize <= MAX_SPLITS && blocksize / typesize >= MIN_SIZE
}

/// Decoded bytes of one stream. The last block, if it is shorter, is not split.
fn stream_size(splits: bool, typesize: usize, blocksize: usize, block: usize) -> usize {
    if splits && block == blocksize { blocksize / typesize } else { block }
}

fn copy(stored: &[u8], decoded: &mut [u8]) -> Result<(), String> {
    if stored.len() != decoded.len() {
        return Err(format!("it stores {} bytes, not {}", stored.len(), decoded.len()));
    }
    decoded.copy_from_slice(stored);
    Ok(())
}

fn decode_streams<F: InnerFormat>(
    mut streams: &[u8],
    block: &mut [u8],
    size: usize,
    inner_format: &mut F,
) -> Result<(), String> {
    for decoded in block.chunks_exact_mut(size) {
        let (encoded_size, rest) = streams.split_first_chunk().ok_or("it ends before a stream")?;
        let encoded_size = u32::from_le_bytes(*encoded_size) as usize;
        let (encoded, rest) = rest
            .split_at_checked(encoded_size)
            .ok_or_else(|| format!("a stream of {encoded_size} bytes passes its end"))?;
        streams = rest;
        if encoded_size == size {
            decoded.copy_from_slice(encoded);
        } else if !inner_format.decompress(encoded, decoded) {
            return Err(format!("a stream of {encoded_size} bytes does not decode to {size}"));
        }
    }
    Ok(())
}

/// The size of a buffer whose header is still to be written. `None` where it has no room: there is nothing to gain.
fn encode_blocks<F: InnerFormat>(
    blosc: &Blosc,
    blocksize: usize,
    splits: bool,
    decoded: &[u8],
    encoded: &mut [u8],
    inner_format: &mut F,
) -> Option<usize> {
    let mut shuffler = Shuffler::new(blosc.shuffle, blosc.typesize);
    let mut end = OVERHEAD + 4 * decoded.len().div_ceil(blocksize);
    let mut put = |at: usize, bytes: &[u8]| {
        encoded.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
        Some(at + bytes.len())
    };
    for (number, block) in decoded.chunks(blocksize).enumerate() {
        put(OVERHEAD + 4 * number, &u32::try_from(end).ok()?.to_le_bytes())?;
        let size = stream_size(splits, blosc.typesize, blocksize, block.len());
        for stream in shuffler.apart(block).chunks_exact(size) {
            let compressed = inner_format.compress(stream).filter(|compressed| compressed.len() < size);
            let encoded = compressed.unwrap_or(stream);
            end = put(end, &u32::try_from(encoded.len()).ok()?.to_le_bytes())?;
            end = put(end, encoded)?;
        }
    }
    Some(end)
}

/// Decoded bytes of a block, as the C library chooses them for a fast compressor. Any would do for decoding.
fn choose_blocksize(blosc: &Blosc, size: usize) -> usize {
    const KIB: usize = 1 << 10;
    let typesize = blosc.typesize;
    if size < typesize {
        return 1;
    }
    let wanted = match (blosc.blocksize, blosc.level) {
        (0, _) if size < 32 * KIB => size,
        (0, 0) => 8 * KIB,
        (0, 1) => 16 * KIB,
        (0, 2) => 32 * KIB,
        (0, 3) => 64 * KIB,
        (0, 4 | 5) => 128 * KIB,
        (0, _) => 256 * KIB,
        (given, _) => given.clamp(MIN_SIZE, MAX_BLOCKSIZE),
    };
    let wanted = if blosc.level > 0 && is_splittable(typesize, wanted) {
        // Every stream of a split block is to be as large as a block would have been.
        (wanted.min(256 * KIB) * typesize).clamp(64 * KIB, 1024 * KIB)
    } else {
        wanted
    };
    let blocksize = wanted.min(size);
    if blocksize > typesize { blocksize / typesize * typesize } else { blocksize }
}
