//! Blosc 1 buffers, block by block: each is sorted in memory that stays in the cache.
//!
//! After the header come the places where the blocks start, a `u32` for each, then the blocks. All blocks decode to the
//! same size except the last, which may be shorter. A block is one stream. Unless the flags forbid it, a block of
//! normal size is split: it has as many streams as an element has bytes, so that each holds bytes of one place.
//! A stream is its size as `u32` and then its bytes, which are not compressed where that is the decoded size.
//!
//! What is encoded here is what C-Blosc would make, byte for byte.
//!
//! Source: C-Blosc 1.21.

#[cfg(test)]
mod against_c_blosc;

use std::ops::Range;

use crate::header::{Header, flag};
use crate::inner::{Compressors, Decompressors, VERSION};
use crate::{Compressor, MAX_BLOCKSIZE, MAX_TYPESIZE, OVERHEAD, Settings, Shuffle, shuffle};

/// Memory that is kept from block to block and from buffer to buffer.
pub(crate) struct Decoder {
    inner: Decompressors,
    streams: Vec<u8>,
    between: Vec<u8>,
}

impl Decoder {
    /// Nothing is allocated yet.
    pub(crate) fn new() -> Self {
        Self { inner: Decompressors::new(), streams: Vec::new(), between: Vec::new() }
    }

    /// Decodes the blocks that bytes of `range` are in, of a buffer that `header` was parsed from, to memory of as many
    /// bytes as it says; or tells what is wrong with it.
    pub(crate) fn decode(
        &mut self,
        header: &Header,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut [u8],
    ) -> Result<(), String> {
        header.check_blocks()?;
        if header.flags & flag::STORED != 0 {
            return copy(&encoded[OVERHEAD..], range, decoded);
        }
        if header.inner_version != VERSION {
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
        let blocks = decoded.chunks_mut(blocksize).zip(starts).take(range.end.div_ceil(blocksize));
        for (block, start) in blocks.skip(range.start / blocksize) {
            let start = u32::from_le_bytes(*start) as usize;
            let streams = encoded.get(start..).filter(|_| start >= OVERHEAD + 4 * count);
            let streams = streams.ok_or_else(|| format!("a block starts at byte {start}"))?;
            self.decode_block(header, streams, stream_size(splits, typesize, blocksize, block.len()), block)?;
        }
        Ok(())
    }

    /// Decodes one block from the streams that `streams` starts with, each of `size` bytes when decoded.
    fn decode_block(
        &mut self,
        header: &Header,
        mut streams: &[u8],
        size: usize,
        block: &mut [u8],
    ) -> Result<(), String> {
        let number = header.inner_number();
        let elements = shuffle::elements(header.shuffle(), usize::from(header.typesize), block.len());
        if elements == 0 {
            for decoded in block.chunks_exact_mut(size) {
                let stream = split_stream(&mut streams)?;
                if stream.len() == size {
                    decoded.copy_from_slice(stream);
                } else {
                    decompress(&mut self.inner, number, stream, decoded)?;
                }
            }
            return Ok(());
        }
        // What is not compressed is sorted from where it is.
        if self.streams.len() < block.len() {
            self.streams.resize(block.len(), 0);
        }
        let mut planes = [&[][..]; MAX_TYPESIZE];
        let planes = &mut planes[..usize::from(header.typesize)];
        let (whole, tail) = block.split_at_mut(elements * planes.len());
        if size == elements {
            for (plane, memory) in planes.iter_mut().zip(self.streams.chunks_exact_mut(size)) {
                *plane = decoded_stream(&mut self.inner, number, split_stream(&mut streams)?, memory)?;
            }
        } else {
            let memory = &mut self.streams[..size];
            let sorted = decoded_stream(&mut self.inner, number, split_stream(&mut streams)?, memory)?;
            for (plane, bytes) in planes.iter_mut().zip(sorted.chunks_exact(elements)) {
                *plane = bytes;
            }
            tail.copy_from_slice(&sorted[whole.len()..]);
        }
        shuffle::together(header.shuffle(), planes, whole, &mut self.between);
        Ok(())
    }
}

/// What `stream` decodes to: as many bytes as `memory` has, in there unless they are not compressed.
fn decoded_stream<'a>(
    inner: &mut Decompressors,
    number: u8,
    stream: &'a [u8],
    memory: &'a mut [u8],
) -> Result<&'a [u8], String> {
    if stream.len() == memory.len() {
        return Ok(stream);
    }
    decompress(inner, number, stream, memory)?;
    Ok(memory)
}

/// Takes the first of `streams` from them.
fn split_stream<'a>(streams: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let (size, rest) = streams.split_first_chunk().ok_or("it ends before a stream")?;
    let size = u32::from_le_bytes(*size) as usize;
    let (stream, rest) =
        rest.split_at_checked(size).ok_or_else(|| format!("a stream of {size} bytes passes its end"))?;
    *streams = rest;
    Ok(stream)
}

fn decompress(
    inner: &mut Decompressors,
    number: u8,
    stream: &[u8],
    decoded: &mut [u8],
) -> Result<(), String> {
    if inner.decompress(number, stream, decoded) {
        return Ok(());
    }
    Err(format!("a stream of {} bytes does not decode to {}", stream.len(), decoded.len()))
}

/// Memory that is kept from block to block and from buffer to buffer.
pub(crate) struct Encoder {
    inner: Compressors,
    sorted: Vec<u8>,
    between: Vec<u8>,
}

impl Encoder {
    /// Nothing is allocated yet.
    pub(crate) fn new() -> Self {
        Self { inner: Compressors::new(), sorted: Vec::new(), between: Vec::new() }
    }

    /// Encodes to all of `encoded`, which has room for the header and for `decoded` as it is, or less; the size there.
    /// `None` if a size does not fit the format, or the compressor is not one for [`Compressors`].
    pub(crate) fn encode(
        &mut self,
        settings: &Settings,
        decoded: &[u8],
        encoded: &mut [u8],
    ) -> Option<usize> {
        let number = Compressors::number(settings.compressor)?;
        let blocksize = choose_blocksize(settings, decoded.len());
        let splits = splits(settings, blocksize);
        let compressible = settings.level > 0 && decoded.len() >= MIN_SIZE;
        let compressed =
            if compressible { self.blocks(settings, blocksize, splits, decoded, encoded) } else { None };
        let size = match compressed {
            Some(size) => size,
            None => {
                encoded.get_mut(OVERHEAD..OVERHEAD + decoded.len())?.copy_from_slice(decoded);
                OVERHEAD + decoded.len()
            }
        };
        let shuffle = match settings.shuffle {
            Shuffle::None => 0,
            Shuffle::Byte => flag::BYTE_SHUFFLE,
            Shuffle::Bit => flag::BIT_SHUFFLE,
        };
        let stored = if compressed.is_none() { flag::STORED } else { 0 };
        let whole = if splits { 0 } else { flag::NOT_SPLIT };
        let header = Header {
            inner_version: VERSION,
            flags: number << 5 | shuffle | stored | whole,
            typesize: u8::try_from(settings.typesize).ok()?,
            size: u32::try_from(decoded.len()).ok()?,
            blocksize: u32::try_from(blocksize).ok()?,
            encoded_size: u32::try_from(size).ok()?,
        };
        encoded.get_mut(..OVERHEAD)?.copy_from_slice(&header.to_bytes());
        Some(size)
    }

    /// The size of a buffer whose header is still to be written. `None` where it has no room: there is nothing to gain.
    fn blocks(
        &mut self,
        settings: &Settings,
        blocksize: usize,
        splits: bool,
        decoded: &[u8],
        encoded: &mut [u8],
    ) -> Option<usize> {
        let mut end = OVERHEAD + 4 * decoded.len().div_ceil(blocksize);
        for (number, block) in decoded.chunks(blocksize).enumerate() {
            let start = OVERHEAD + 4 * number;
            encoded.get_mut(start..start + 4)?.copy_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
            let size = stream_size(splits, settings.typesize, blocksize, block.len());
            for stream in sorted(settings, block, &mut self.sorted, &mut self.between).chunks_exact(size) {
                let (header, room) = encoded.get_mut(end..)?.split_first_chunk_mut::<4>()?;
                let most = room.len().min(size);
                let room = &mut room[..most];
                let compressed = self.inner.compress(settings.compressor, settings.level, stream, room);
                let written = match compressed.filter(|&written| written < size) {
                    Some(written) => written,
                    None => {
                        room.get_mut(..size)?.copy_from_slice(stream);
                        size
                    }
                };
                *header = u32::try_from(written).ok()?.to_le_bytes();
                end += 4 + written;
            }
        }
        Some(end)
    }
}

/// `block` as it is compressed.
fn sorted<'a>(
    settings: &Settings,
    block: &'a [u8],
    memory: &'a mut Vec<u8>,
    between: &mut Vec<u8>,
) -> &'a [u8] {
    let elements = shuffle::elements(settings.shuffle, settings.typesize, block.len());
    if elements == 0 {
        return block;
    }
    memory.resize(block.len(), 0);
    let (whole, tail) = block.split_at(elements * settings.typesize);
    let (planes, after) = memory.split_at_mut(whole.len());
    shuffle::apart(settings.shuffle, settings.typesize, whole, planes, between);
    after.copy_from_slice(tail);
    memory
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

fn copy(stored: &[u8], range: Range<usize>, decoded: &mut [u8]) -> Result<(), String> {
    if stored.len() != decoded.len() {
        return Err(format!("it stores {} bytes, not {}", stored.len(), decoded.len()));
    }
    decoded[range.clone()].copy_from_slice(&stored[range]);
    Ok(())
}

/// Whether C-Blosc leaves fewer and larger streams to a compressor, and gives it larger blocks.
fn is_thorough(compressor: Compressor) -> bool {
    matches!(compressor, Compressor::Lz4Hc | Compressor::Zlib | Compressor::Zstd)
}

/// Whether blocks of that size are split. Zstandard is as old as the flag that forbids it, and has larger streams.
fn splits(settings: &Settings, blocksize: usize) -> bool {
    settings.compressor != Compressor::Zstd && is_splittable(settings.typesize, blocksize)
}

/// Decoded bytes of a block, as C-Blosc chooses them. Any would do for decoding.
fn choose_blocksize(settings: &Settings, size: usize) -> usize {
    const KIB: usize = 1 << 10;
    let &Settings { typesize, level, .. } = settings;
    if size < typesize {
        return 1;
    }
    let chosen = match level {
        0 => 8 * KIB,
        1 => 16 * KIB,
        2 => 32 * KIB,
        3 => 64 * KIB,
        4 | 5 => 128 * KIB,
        _ => 256 * KIB,
    };
    let wanted = match settings.blocksize {
        0 if size < 32 * KIB => size,
        0 if is_thorough(settings.compressor) && level == 9 => 4 * chosen,
        0 if is_thorough(settings.compressor) => 2 * chosen,
        0 => chosen,
        given => given.clamp(MIN_SIZE, MAX_BLOCKSIZE),
    };
    let wanted = if level > 0 && splits(settings, wanted) {
        // Every stream of a split block is to be as large as a block would have been.
        (wanted.min(256 * KIB) * typesize).clamp(64 * KIB, 1024 * KIB)
    } else {
        wanted
    };
    let blocksize = wanted.min(size);
    if blocksize > typesize { blocksize / typesize * typesize } else { blocksize }
}
