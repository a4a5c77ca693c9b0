//! Blosc 1 buffers, processed block by block in scratch memory that fits into the cache.
//!
//! The header is followed by the offsets of the blocks, a `u32` each, and then the blocks. All blocks decode to the
//! same size; the last one may be shorter. A block is one stream. Unless the flags forbid it, a block of full size is
//! split into one stream for each byte of an element, so that each stream holds the bytes of one position. A stream is
//! its size as `u32`, followed by its bytes. They are uncompressed if their size is the decoded size.
//!
//! The encoder writes exactly the bytes that C-Blosc writes, except that streams of Snappy may differ.
//!
//! Source: C-Blosc 1.21.

#[cfg(test)]
mod against_c_blosc;

use std::ops::Range;

use zarr_plugin_kit::planes;
use zarr_spec::codec::{PartSource, PartTarget};
use zarr_spec::{CodecError, CodecResult, LimitExceeded, Output};

use crate::header::{Header, flag};
use crate::inner::{self, Compressors, Decompressors, VERSION};
use crate::{Compressor, MAX_BLOCKSIZE, MAX_TYPESIZE, OVERHEAD, Settings, Shuffle};

/// Decodes buffers. Its scratch memory is reused for all blocks and buffers.
pub(crate) struct Decoder {
    inner: Decompressors,
    decoded: Vec<u8>,
    streams: Vec<u8>,
    scratch: Vec<u8>,
}

/// The compressed blocks of a buffer.
struct EncodedBlocks<'a> {
    header: &'a Header,
    encoded: &'a [u8],
    starts: &'a [[u8; 4]],
    splits: bool,
}

impl<'a> EncodedBlocks<'a> {
    fn new(header: &'a Header, encoded: &'a [u8]) -> Result<Self, String> {
        if header.inner_version != VERSION {
            return Err(format!("unknown version {} of its inner format", header.inner_version));
        }
        let typesize = usize::from(header.typesize);
        let blocksize = header.blocksize as usize;
        let count = (header.size as usize).div_ceil(blocksize);
        let (starts, _) = encoded[OVERHEAD..].as_chunks::<4>();
        let starts = starts
            .get(..count)
            .ok_or_else(|| format!("it is too short for the offsets of {count} blocks"))?;
        let splits = header.flags & flag::NOT_SPLIT == 0 && is_splittable(typesize, blocksize);
        if splits && !blocksize.is_multiple_of(typesize) {
            return Err(format!("its blocks of {blocksize} bytes cannot be split into {typesize} streams"));
        }
        Ok(Self { header, encoded, starts, splits })
    }

    /// Returns the bytes that start with the streams of a block of `size` bytes, and the decoded size of each
    /// stream. All streams are present and long enough for that size.
    fn streams(&self, number: usize, size: usize) -> Result<(&'a [u8], usize), String> {
        let start = u32::from_le_bytes(self.starts[number]) as usize;
        let streams = self.encoded.get(start..).filter(|_| start >= OVERHEAD + 4 * self.starts.len());
        let streams = streams.ok_or_else(|| format!("a block has the invalid offset {start}"))?;
        let typesize = usize::from(self.header.typesize);
        let blocksize = self.header.blocksize as usize;
        let stream_size = stream_size(self.splits, typesize, blocksize, size);
        self.check_streams(streams, stream_size, size / stream_size)?;
        Ok((streams, stream_size))
    }

    /// Checks that `count` streams are long enough to decode to `size` bytes each. Returns the number of bytes
    /// that they occupy.
    fn check_streams(&self, streams: &[u8], size: usize, count: usize) -> Result<usize, String> {
        let number = self.header.inner_number();
        let mut rest = streams;
        for _ in 0..count {
            let stream = split_stream(&mut rest)?;
            if size > inner::largest_decoded_size(number, stream.len()) {
                return Err(format!("a stream of {} bytes cannot decode to {size}", stream.len()));
            }
        }
        Ok(streams.len() - rest.len())
    }

    /// Checks the streams of all blocks. Blocks must not overlap: C-Blosc never writes overlapping blocks.
    fn check(&self) -> Result<(), String> {
        let size = self.header.size as usize;
        let blocksize = self.header.blocksize as usize;
        let mut stored = OVERHEAD + 4 * self.starts.len();
        for number in 0..self.starts.len() {
            let block_size = blocksize.min(size - number * blocksize);
            let (streams, stream_size) = self.streams(number, block_size)?;
            stored += self.check_streams(streams, stream_size, block_size / stream_size)?;
        }
        if stored > self.encoded.len() {
            return Err("its blocks overlap".to_owned());
        }
        Ok(())
    }
}

/// Checks everything about a buffer that does not require decoding.
pub(crate) fn check(header: &Header, encoded: &[u8]) -> Result<(), String> {
    header.check_blocks()?;
    if header.flags & flag::STORED != 0 {
        return stored(encoded, header.size as usize).map(drop);
    }
    EncodedBlocks::new(header, encoded)?.check()
}

/// Bytes to reserve for each encoded byte before decoding.
const USUAL_RATIO: usize = 16;

/// Reserves all `size` bytes if the caller expects exactly that size, or if the encoded size makes it plausible. Memory
/// that grows block by block is copied each time it grows.
fn reserve(size: usize, stored: usize, decoded: &mut Output<'_>) -> Result<(), LimitExceeded> {
    let plausible = stored.saturating_mul(USUAL_RATIO).min(size);
    decoded.spare(if size == decoded.remaining() { size } else { plausible }).map(drop)
}

/// Refuses `size` bytes if they exceed the limit of `decoded`.
pub(crate) fn check_limit(size: usize, decoded: &Output<'_>) -> Result<(), LimitExceeded> {
    let remaining = decoded.remaining();
    match size <= remaining {
        true => Ok(()),
        false => Err(LimitExceeded { limit: decoded.written().len() + remaining }),
    }
}

impl Decoder {
    /// Creates a decoder without allocating memory.
    pub(crate) fn new() -> Self {
        Self { inner: Decompressors::new(), decoded: Vec::new(), streams: Vec::new(), scratch: Vec::new() }
    }

    /// Decodes a buffer with a parsed `header` and appends its bytes to `decoded`. Only the bytes of `range` are valid.
    ///
    /// Memory grows block by block, unless the declared size is exactly the remaining space. A false size
    /// therefore causes an allocation of at most a fixed multiple of the encoded size.
    pub(crate) fn decode(
        &mut self,
        header: &Header,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), DecodeFailure> {
        let size = header.size as usize;
        check_limit(size, decoded)?;
        header.check_blocks()?;
        if header.flags & flag::STORED != 0 {
            let stored = stored(encoded, size)?;
            decoded.spare(size)?[range.clone()].copy_from_slice(&stored[range]);
            decoded.advance(size);
            return Ok(());
        }
        let blocks = EncodedBlocks::new(header, encoded)?;
        reserve(size, encoded.len(), decoded)?;
        let blocksize = header.blocksize as usize;
        for number in 0..blocks.starts.len() {
            let from = number * blocksize;
            let to = size.min(from + blocksize);
            if from < range.end && range.start < to {
                let (streams, stream_size) = blocks.streams(number, to - from)?;
                let block = &mut decoded.spare(to - from)?[..to - from];
                self.decode_block(header, streams, stream_size, block)?;
            } else {
                decoded.spare(to - from)?;
            }
            decoded.advance(to - from);
        }
        Ok(())
    }

    /// Decodes a buffer with a parsed `header` block by block.
    pub(crate) fn decode_parts(
        &mut self,
        header: &Header,
        encoded: &[u8],
        decoded: &mut dyn PartTarget,
    ) -> Result<(), DecodeFailure> {
        let mut memory = std::mem::take(&mut self.decoded);
        let done = self.decode_blocks(header, encoded, &mut memory, decoded);
        self.decoded = memory;
        done
    }

    fn decode_blocks(
        &mut self,
        header: &Header,
        encoded: &[u8],
        memory: &mut Vec<u8>,
        decoded: &mut dyn PartTarget,
    ) -> Result<(), DecodeFailure> {
        header.check_blocks()?;
        let size = header.size as usize;
        let blocksize = header.blocksize as usize;
        if header.flags & flag::STORED != 0 {
            let mut blocks = stored(encoded, size)?.chunks(blocksize);
            return blocks.try_for_each(|block| decoded.write(block)).map_err(DecodeFailure::Target);
        }
        let encoded = EncodedBlocks::new(header, encoded)?;
        for number in 0..encoded.starts.len() {
            let block_size = blocksize.min(size - number * blocksize);
            let (streams, stream_size) = encoded.streams(number, block_size)?;
            memory.resize(block_size, 0);
            self.decode_block(header, streams, stream_size, memory)?;
            decoded.write(memory).map_err(DecodeFailure::Target)?;
        }
        Ok(())
    }

    /// Decodes one block, whose streams are at the start of `streams` and have `size` decoded bytes each.
    fn decode_block(
        &mut self,
        header: &Header,
        mut streams: &[u8],
        size: usize,
        block: &mut [u8],
    ) -> Result<(), String> {
        let number = header.inner_number();
        let elements = shuffled_elements(header.shuffle(), usize::from(header.typesize), block.len());
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
        // Uncompressed streams are unshuffled directly from `encoded`.
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
        match header.shuffle() {
            Shuffle::Bit => planes::join_bits(planes, whole, &mut self.scratch),
            _ => planes::join_bytes(planes, whole),
        }
        Ok(())
    }
}

/// Why decoding a buffer failed.
#[derive(Debug)]
pub(crate) enum DecodeFailure {
    /// The buffer is invalid.
    Wrong(String),
    /// The decoded bytes cannot be written.
    Target(CodecError),
}

impl From<LimitExceeded> for DecodeFailure {
    fn from(limit: LimitExceeded) -> Self {
        Self::Target(limit.into())
    }
}

impl From<String> for DecodeFailure {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

/// Decodes `stream` to exactly `memory.len()` bytes. Uses `memory` unless the stream is uncompressed.
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

/// Removes the first stream from `streams` and returns it.
fn split_stream<'a>(streams: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let (size, rest) = streams.split_first_chunk().ok_or("it ends before a stream")?;
    let size = u32::from_le_bytes(*size) as usize;
    let (stream, rest) = rest
        .split_at_checked(size)
        .ok_or_else(|| format!("a stream of {size} bytes extends past its end"))?;
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

/// A source of decoded blocks.
pub(crate) trait Blocks {
    /// Returns the size of all blocks in bytes.
    fn size(&self) -> usize;

    /// Returns one block: the bytes of `range`.
    fn block(&mut self, range: Range<usize>) -> CodecResult<&[u8]>;

    /// Copies all blocks, of `blocksize` bytes each, to `stored`, which has their total size.
    fn store(&mut self, blocksize: usize, stored: &mut [u8]) -> CodecResult;
}

/// A source in memory.
impl Blocks for &[u8] {
    fn size(&self) -> usize {
        self.len()
    }

    fn block(&mut self, range: Range<usize>) -> CodecResult<&[u8]> {
        Ok(&self[range])
    }

    fn store(&mut self, _blocksize: usize, stored: &mut [u8]) -> CodecResult {
        stored.copy_from_slice(self);
        Ok(())
    }
}

/// A source that assembles one block at a time in scratch memory.
struct Parts<'a> {
    parts: &'a mut dyn PartSource,
    memory: &'a mut Vec<u8>,
}

impl Blocks for Parts<'_> {
    fn size(&self) -> usize {
        self.parts.size()
    }

    fn block(&mut self, range: Range<usize>) -> CodecResult<&[u8]> {
        self.memory.resize(range.len(), 0);
        self.parts.read(range.start, self.memory)?;
        Ok(self.memory)
    }

    fn store(&mut self, blocksize: usize, stored: &mut [u8]) -> CodecResult {
        let mut parts = stored.chunks_mut(blocksize).enumerate();
        parts.try_for_each(|(number, part)| self.parts.read(number * blocksize, part))
    }
}

/// Encodes buffers. Its scratch memory is reused for all blocks and buffers.
pub(crate) struct Encoder {
    inner: Compressors,
    gathered: Vec<u8>,
    sorted: Vec<u8>,
    scratch: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder without allocating memory.
    pub(crate) fn new() -> Self {
        Self { inner: Compressors::new(), gathered: Vec::new(), sorted: Vec::new(), scratch: Vec::new() }
    }

    /// Like [`Encoder::encode`], for a chunk that is assembled in parts of [`part_size`] bytes.
    pub(crate) fn encode_parts(
        &mut self,
        settings: &Settings,
        parts: &mut dyn PartSource,
        encoded: &mut [u8],
    ) -> CodecResult<usize> {
        let mut memory = std::mem::take(&mut self.gathered);
        let size = self.encode(settings, Parts { parts, memory: &mut memory }, encoded);
        self.gathered = memory;
        size
    }

    /// Encodes to the start of `encoded`, which has space for the header and an uncompressed copy of `decoded`. Returns
    /// the encoded size.
    ///
    /// # Errors
    ///
    /// If `decoded` fails, if a size exceeds the limits of the format, or if [`Compressors`] does not support the
    /// compressor.
    pub(crate) fn encode(
        &mut self,
        settings: &Settings,
        mut decoded: impl Blocks,
        encoded: &mut [u8],
    ) -> CodecResult<usize> {
        let decoded_size = decoded.size();
        let no_buffer = || CodecError::encode(format!("{decoded_size} bytes do not fit into a Blosc buffer"));
        let number = Compressors::number(settings.compressor).ok_or_else(no_buffer)?;
        let blocksize = choose_blocksize(settings, decoded_size);
        let splits = splits(settings, blocksize);
        let compressed = match is_compressible(settings, decoded_size) {
            true => self.blocks(settings, blocksize, splits, &mut decoded, encoded)?,
            false => None,
        };
        let size = match compressed {
            Some(size) => size,
            None => {
                let size = OVERHEAD + decoded_size;
                decoded.store(blocksize, encoded.get_mut(OVERHEAD..size).ok_or_else(no_buffer)?)?;
                size
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
            typesize: u8::try_from(settings.typesize).map_err(CodecError::encode)?,
            size: u32::try_from(decoded_size).map_err(CodecError::encode)?,
            blocksize: u32::try_from(blocksize).map_err(CodecError::encode)?,
            encoded_size: u32::try_from(size).map_err(CodecError::encode)?,
        };
        encoded.get_mut(..OVERHEAD).ok_or_else(no_buffer)?.copy_from_slice(&header.to_bytes());
        Ok(size)
    }

    /// Encodes all blocks and returns the size of the buffer, including the header, which is written later.
    /// Returns `None` if `encoded` is too small, which means that compression does not save space.
    fn blocks(
        &mut self,
        settings: &Settings,
        blocksize: usize,
        splits: bool,
        decoded: &mut impl Blocks,
        encoded: &mut [u8],
    ) -> CodecResult<Option<usize>> {
        let size = decoded.size();
        let mut end = OVERHEAD + 4 * size.div_ceil(blocksize);
        for number in 0..size.div_ceil(blocksize) {
            let from = number * blocksize;
            let block = decoded.block(from..size.min(from + blocksize))?;
            let start = OVERHEAD + 4 * number;
            let (Some(place), Ok(at)) = (encoded.get_mut(start..start + 4), u32::try_from(end)) else {
                return Ok(None);
            };
            place.copy_from_slice(&at.to_le_bytes());
            let stream = stream_size(splits, settings.typesize, blocksize, block.len());
            let Some(after) = self.block(settings, stream, block, encoded, end) else { return Ok(None) };
            end = after;
        }
        Ok(Some(end))
    }

    /// Encodes one block as streams of `size` decoded bytes, starting at offset `end` of `encoded`. Returns the
    /// end offset, or `None` if `encoded` is too small.
    fn block(
        &mut self,
        settings: &Settings,
        size: usize,
        block: &[u8],
        encoded: &mut [u8],
        mut end: usize,
    ) -> Option<usize> {
        for stream in sorted(settings, block, &mut self.sorted, &mut self.scratch).chunks_exact(size) {
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
        Some(end)
    }
}

/// Returns the size of the blocks of a chunk of `size` bytes, if this crate compresses the chunk and there is more than
/// one block.
pub(crate) fn part_size(settings: &Settings, size: usize) -> Option<usize> {
    Compressors::number(settings.compressor)?;
    let blocksize = choose_blocksize(settings, size);
    (is_compressible(settings, size) && blocksize < size).then_some(blocksize)
}

/// Returns whether to try compression.
fn is_compressible(settings: &Settings, size: usize) -> bool {
    settings.level > 0 && size >= MIN_SIZE
}

/// Returns how many elements of a block of `size` bytes are shuffled. The bytes after them keep their position.
fn shuffled_elements(shuffle: Shuffle, typesize: usize, size: usize) -> usize {
    let count = size / typesize;
    match shuffle {
        Shuffle::Byte if typesize > 1 => count,
        // The bits of other numbers of elements are not shuffled at all.
        Shuffle::Bit if count.is_multiple_of(8) => count,
        _ => 0,
    }
}

/// Returns the shuffled form of `block`.
fn sorted<'a>(
    settings: &Settings,
    block: &'a [u8],
    memory: &'a mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> &'a [u8] {
    let elements = shuffled_elements(settings.shuffle, settings.typesize, block.len());
    if elements == 0 {
        return block;
    }
    memory.resize(block.len(), 0);
    let (whole, tail) = block.split_at(elements * settings.typesize);
    let (planes, after) = memory.split_at_mut(whole.len());
    match settings.shuffle {
        Shuffle::Bit => planes::split_bits(settings.typesize, whole, planes, scratch),
        _ => planes::split_bytes(settings.typesize, whole, planes),
    }
    after.copy_from_slice(tail);
    memory
}

/// Smaller blocks are neither compressed nor split.
const MIN_SIZE: usize = 128;
/// Blocks of larger elements are not split.
const MAX_SPLITS: usize = 16;

fn is_splittable(typesize: usize, blocksize: usize) -> bool {
    typesize <= MAX_SPLITS && blocksize / typesize >= MIN_SIZE
}

/// Returns the decoded size of one stream. A shorter last block is not split.
fn stream_size(splits: bool, typesize: usize, blocksize: usize, block: usize) -> usize {
    if splits && block == blocksize { blocksize / typesize } else { block }
}

/// Returns the `size` bytes of an uncompressed buffer.
fn stored(encoded: &[u8], size: usize) -> Result<&[u8], String> {
    let stored = &encoded[OVERHEAD..];
    if stored.len() == size {
        Ok(stored)
    } else {
        Err(format!("it stores {} bytes; expected {size}", stored.len()))
    }
}

/// Returns whether C-Blosc chooses larger blocks for a compressor, because it compresses well but slowly.
fn is_thorough(compressor: Compressor) -> bool {
    matches!(compressor, Compressor::Lz4Hc | Compressor::Zlib | Compressor::Zstd)
}

/// Returns whether blocks of this size are split. C-Blosc does not split blocks for Zstandard: all readers that support
/// Zstandard know the flag against splitting, and larger streams compress better.
fn splits(settings: &Settings, blocksize: usize) -> bool {
    settings.compressor != Compressor::Zstd && is_splittable(settings.typesize, blocksize)
}

/// Returns the block size that C-Blosc chooses. Decoders accept any size.
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
        // Each stream of a split block gets the size of an unsplit block.
        (wanted.min(256 * KIB) * typesize).clamp(64 * KIB, 1024 * KIB)
    } else {
        wanted
    };
    let blocksize = wanted.min(size);
    if blocksize > typesize { blocksize / typesize * typesize } else { blocksize }
}
