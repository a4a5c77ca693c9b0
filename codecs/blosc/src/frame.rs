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

use zarr_spec::codec::{PartSource, PartTarget};
use zarr_spec::{CodecError, LimitExceeded, Output};

use crate::header::{Header, flag};
use crate::inner::{self, Compressors, Decompressors, VERSION};
use crate::{Compressor, MAX_BLOCKSIZE, MAX_TYPESIZE, OVERHEAD, Settings, Shuffle, shuffle};

/// Memory that is kept from block to block and from buffer to buffer.
pub(crate) struct Decoder {
    inner: Decompressors,
    decoded: Vec<u8>,
    streams: Vec<u8>,
    between: Vec<u8>,
}

/// The blocks of a buffer that is not stored.
struct EncodedBlocks<'a> {
    header: &'a Header,
    encoded: &'a [u8],
    starts: &'a [[u8; 4]],
    splits: bool,
}

impl<'a> EncodedBlocks<'a> {
    fn new(header: &'a Header, encoded: &'a [u8]) -> Result<Self, String> {
        if header.inner_version != VERSION {
            return Err(format!("version {} of its inner format is not known", header.inner_version));
        }
        let typesize = usize::from(header.typesize);
        let blocksize = header.blocksize as usize;
        let count = (header.size as usize).div_ceil(blocksize);
        let (starts, _) = encoded[OVERHEAD..].as_chunks::<4>();
        let starts =
            starts.get(..count).ok_or_else(|| format!("it has no room for the starts of {count} blocks"))?;
        let splits = header.flags & flag::NOT_SPLIT == 0 && is_splittable(typesize, blocksize);
        if splits && !blocksize.is_multiple_of(typesize) {
            return Err(format!("its blocks of {blocksize} bytes are split into {typesize}"));
        }
        Ok(Self { header, encoded, starts, splits })
    }

    /// What begins with the streams of a block, and the decoded size of each when there are `size` bytes in all. The
    /// streams are there, and long enough to decode to that.
    fn streams(&self, number: usize, size: usize) -> Result<(&'a [u8], usize), String> {
        let start = u32::from_le_bytes(self.starts[number]) as usize;
        let streams = self.encoded.get(start..).filter(|_| start >= OVERHEAD + 4 * self.starts.len());
        let streams = streams.ok_or_else(|| format!("a block starts at byte {start}"))?;
        let typesize = usize::from(self.header.typesize);
        let blocksize = self.header.blocksize as usize;
        let stream_size = stream_size(self.splits, typesize, blocksize, size);
        self.check_streams(streams, stream_size, size / stream_size)?;
        Ok((streams, stream_size))
    }

    /// Compares what `count` streams of one block are said to decode to, `size` bytes each, with their stored sizes. The
    /// bytes that they take with their lengths.
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

    /// Checks the streams of all blocks, which share no bytes: C-Blosc writes none that do.
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
            return Err("its blocks share bytes".to_owned());
        }
        Ok(())
    }
}

/// Checks everything about a buffer that can be seen without decoding it.
pub(crate) fn check(header: &Header, encoded: &[u8]) -> Result<(), String> {
    header.check_blocks()?;
    if header.flags & flag::STORED != 0 {
        return stored(encoded, header.size as usize).map(drop);
    }
    EncodedBlocks::new(header, encoded)?.check()
}

/// Decoded bytes for each stored one for which memory is made before anything is decoded.
const USUAL_RATIO: usize = 16;

/// Makes room for `size` bytes in one step where the caller has declared just as many, or where what is stored makes them
/// plausible: memory that grows block by block is copied as it grows.
fn reserve(size: usize, stored: usize, decoded: &mut Output<'_>) -> Result<(), LimitExceeded> {
    let plausible = stored.saturating_mul(USUAL_RATIO).min(size);
    decoded.spare(if size == decoded.remaining() { size } else { plausible }).map(drop)
}

/// Refuses `size` bytes if there is no room for them.
pub(crate) fn check_limit(size: usize, decoded: &Output<'_>) -> Result<(), LimitExceeded> {
    let remaining = decoded.remaining();
    match size <= remaining {
        true => Ok(()),
        false => Err(LimitExceeded { limit: decoded.written().len() + remaining }),
    }
}

impl Decoder {
    /// Nothing is allocated yet.
    pub(crate) fn new() -> Self {
        Self { inner: Decompressors::new(), decoded: Vec::new(), streams: Vec::new(), between: Vec::new() }
    }

    /// Appends what a buffer that `header` was parsed from decodes to: as many bytes as it says, of which those of `range`
    /// are right.
    ///
    /// Memory grows block by block, unless the header agrees with the room that is left: a claimed size by itself takes
    /// no more than a fixed multiple of what is stored.
    pub(crate) fn decode(
        &mut self,
        header: &Header,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), Unfinished> {
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

    /// Decodes a buffer that `header` was parsed from block by block.
    pub(crate) fn decode_parts(
        &mut self,
        header: &Header,
        encoded: &[u8],
        decoded: &mut dyn PartTarget,
    ) -> Result<(), Unfinished> {
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
    ) -> Result<(), Unfinished> {
        header.check_blocks()?;
        let size = header.size as usize;
        let blocksize = header.blocksize as usize;
        if header.flags & flag::STORED != 0 {
            let mut blocks = stored(encoded, size)?.chunks(blocksize);
            return blocks.try_for_each(|block| decoded.write(block)).map_err(Unfinished::Target);
        }
        let encoded = EncodedBlocks::new(header, encoded)?;
        for number in 0..encoded.starts.len() {
            let block_size = blocksize.min(size - number * blocksize);
            let (streams, stream_size) = encoded.streams(number, block_size)?;
            memory.resize(block_size, 0);
            self.decode_block(header, streams, stream_size, memory)?;
            decoded.write(memory).map_err(Unfinished::Target)?;
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

/// Why a buffer was not decoded to its end.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The buffer is not valid.
    Wrong(String),
    /// Its bytes cannot go where they should.
    Target(CodecError),
}

impl From<LimitExceeded> for Unfinished {
    fn from(limit: LimitExceeded) -> Self {
        Self::Target(limit.into())
    }
}

impl From<String> for Unfinished {
    fn from(why: String) -> Self {
        Self::Wrong(why)
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

/// What is encoded, block by block.
pub(crate) trait Blocks {
    /// Bytes in all.
    fn size(&self) -> usize;

    /// One block: the bytes of `range`.
    fn block(&mut self, range: Range<usize>) -> Result<&[u8], CodecError>;

    /// All blocks as they are, `blocksize` bytes each, to all of `stored`.
    fn store(&mut self, blocksize: usize, stored: &mut [u8]) -> Result<(), CodecError>;
}

/// What lies in memory.
impl Blocks for &[u8] {
    fn size(&self) -> usize {
        self.len()
    }

    fn block(&mut self, range: Range<usize>) -> Result<&[u8], CodecError> {
        Ok(&self[range])
    }

    fn store(&mut self, _blocksize: usize, stored: &mut [u8]) -> Result<(), CodecError> {
        stored.copy_from_slice(self);
        Ok(())
    }
}

/// What is put together block by block, in memory for one of them.
struct Parts<'a> {
    parts: &'a mut dyn PartSource,
    memory: &'a mut Vec<u8>,
}

impl Blocks for Parts<'_> {
    fn size(&self) -> usize {
        self.parts.size()
    }

    fn block(&mut self, range: Range<usize>) -> Result<&[u8], CodecError> {
        self.memory.resize(range.len(), 0);
        self.parts.read(range.start, self.memory)?;
        Ok(self.memory)
    }

    fn store(&mut self, blocksize: usize, stored: &mut [u8]) -> Result<(), CodecError> {
        let mut parts = stored.chunks_mut(blocksize).enumerate();
        parts.try_for_each(|(number, part)| self.parts.read(number * blocksize, part))
    }
}

/// Memory that is kept from block to block and from buffer to buffer.
pub(crate) struct Encoder {
    inner: Compressors,
    gathered: Vec<u8>,
    sorted: Vec<u8>,
    between: Vec<u8>,
}

impl Encoder {
    /// Nothing is allocated yet.
    pub(crate) fn new() -> Self {
        Self { inner: Compressors::new(), gathered: Vec::new(), sorted: Vec::new(), between: Vec::new() }
    }

    /// As [`Encoder::encode`], of what is put together block by block: of as many bytes as [`part_size`] says.
    pub(crate) fn encode_parts(
        &mut self,
        settings: &Settings,
        parts: &mut dyn PartSource,
        encoded: &mut [u8],
    ) -> Result<usize, CodecError> {
        let mut memory = std::mem::take(&mut self.gathered);
        let size = self.encode(settings, Parts { parts, memory: &mut memory }, encoded);
        self.gathered = memory;
        size
    }

    /// Encodes to the beginning of `encoded`, which has room for the header and for `decoded` as it is; the size there.
    ///
    /// # Errors
    ///
    /// Those of `decoded`; if a size does not fit the format, or the compressor is not one for [`Compressors`].
    pub(crate) fn encode(
        &mut self,
        settings: &Settings,
        mut decoded: impl Blocks,
        encoded: &mut [u8],
    ) -> Result<usize, CodecError> {
        let decoded_size = decoded.size();
        let no_buffer = || CodecError::encode(format!("{decoded_size} bytes fit no Blosc buffer"));
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

    /// The size of a buffer whose header is still to be written. `None` where it has no room: there is nothing to gain.
    fn blocks(
        &mut self,
        settings: &Settings,
        blocksize: usize,
        splits: bool,
        decoded: &mut impl Blocks,
        encoded: &mut [u8],
    ) -> Result<Option<usize>, CodecError> {
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

    /// Encodes one block in streams of `size` decoded bytes, from `end` of `encoded` on; where they end. `None` where it
    /// has no room.
    fn block(
        &mut self,
        settings: &Settings,
        size: usize,
        block: &[u8],
        encoded: &mut [u8],
        mut end: usize,
    ) -> Option<usize> {
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
        Some(end)
    }
}

/// Bytes of the blocks that `size` decoded bytes are encoded in, if they are compressed here and more than one.
pub(crate) fn part_size(settings: &Settings, size: usize) -> Option<usize> {
    Compressors::number(settings.compressor)?;
    let blocksize = choose_blocksize(settings, size);
    (is_compressible(settings, size) && blocksize < size).then_some(blocksize)
}

/// Whether compressing is tried.
fn is_compressible(settings: &Settings, size: usize) -> bool {
    settings.level > 0 && size >= MIN_SIZE
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

/// The `size` bytes that a buffer holds as they are.
fn stored(encoded: &[u8], size: usize) -> Result<&[u8], String> {
    let stored = &encoded[OVERHEAD..];
    if stored.len() == size {
        Ok(stored)
    } else {
        Err(format!("it stores {} bytes, not {size}", stored.len()))
    }
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
