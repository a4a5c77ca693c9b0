//! The blocks of a stream.
//!
//! A block has samples of one or two channels at successive times. The channels of a time are in successive blocks: the
//! first of them is marked as initial, the last as final.

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

/// The size of the header of a block.
pub(crate) const HEADER_SIZE: usize = 32;

/// The largest size of a block.
pub(crate) const LARGEST: usize = 1 << 20;

/// The offset of the flags in the header.
const FLAGS: usize = 24;

/// Flags of a block.
const BYTES_PER_SAMPLE: u32 = 0b11;
const MONO: u32 = 1 << 2;
const HYBRID: u32 = 1 << 3;
const INITIAL: u32 = 1 << 11;
const FINAL: u32 = 1 << 12;
const FALSE_STEREO: u32 = 1 << 30;
const DSD: u32 = 1 << 31;

/// The identifier of metadata with the number of channels, without its flags.
const CHANNEL_INFO: u8 = 0x0d;

/// Flags of an identifier.
const ID: u8 = 0x3f;
const LARGE: u8 = 0x80;

/// A block, whose header is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block<'e> {
    bytes: &'e [u8],
}

impl<'e> Block<'e> {
    /// Removes the next block from `stream`; `None` at its end.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`] if it does not begin with a whole block.
    pub(crate) fn next(stream: &mut &'e [u8]) -> CodecResult<Option<Self>> {
        if stream.is_empty() {
            return Ok(None);
        }
        let wrong = || CodecError::corrupt("the chunk does not consist of whole WavPack blocks");
        let header = stream.first_chunk::<HEADER_SIZE>().filter(|header| header.starts_with(b"wvpk"));
        let size = header.and_then(|header| header[4..].first_chunk()).ok_or_else(wrong)?;
        let size = u32::from_le_bytes(*size).checked_add(8).and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|size| (HEADER_SIZE..=LARGEST).contains(size)).ok_or_else(wrong)?;
        let (bytes, rest) = stream.split_at_checked(size).ok_or_else(wrong)?;
        *stream = rest;
        Ok(Some(Self { bytes }))
    }

    fn number(self, offset: usize) -> u32 {
        self.bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// The number of samples of each channel.
    pub(crate) fn times(self) -> usize {
        usize::try_from(self.number(20)).unwrap_or(usize::MAX)
    }

    fn flags(self) -> u32 {
        self.number(FLAGS)
    }

    /// One or two.
    pub(crate) fn channels(self) -> usize {
        if self.flags() & (MONO | FALSE_STEREO) == MONO { 1 } else { 2 }
    }

    /// Whether later blocks have other channels at the same times.
    pub(crate) fn is_final(self) -> bool {
        self.flags() & FINAL != 0
    }

    /// Checks that the block is lossless.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`].
    pub(crate) fn check_mode(self) -> CodecResult {
        let mode = match self.flags() {
            flags if flags & DSD != 0 => "samples of one bit (DSD)",
            flags if flags & HYBRID != 0 => "the lossy mode of WavPack",
            _ => return Ok(()),
        };
        Err(CodecError::corrupt(format!("the chunk has {mode}, which is not supported")))
    }

    /// Returns a stream that consists of this block only. Samples of one byte are declared to have two, because the
    /// library does not decode samples of one byte.
    pub(crate) fn alone(self) -> CodecResult<Vec<u8>> {
        let (header, mut metadata) = self.bytes.split_at_checked(HEADER_SIZE).unwrap_or((self.bytes, &[]));
        let mut alone = header.to_vec();
        while !metadata.is_empty() {
            let (id, whole) = next_metadata(&mut metadata)?;
            if id != CHANNEL_INFO {
                alone.extend_from_slice(whole);
            }
        }
        let flags = self.flags() | INITIAL | FINAL;
        let flags = if flags & BYTES_PER_SAMPLE == 0 { flags | 1 } else { flags };
        set(&mut alone, FLAGS, flags);
        set_size(&mut alone);
        Ok(alone)
    }
}

/// Removes the next metadata from `metadata`, and returns its identifier and all its bytes.
fn next_metadata<'e>(metadata: &mut &'e [u8]) -> CodecResult<(u8, &'e [u8])> {
    let (header, words) = match **metadata {
        [id, low, middle, high, ..] if id & LARGE != 0 => (4, u32::from_le_bytes([low, middle, high, 0])),
        [id, words, ..] if id & LARGE == 0 => (2, u32::from(words)),
        _ => (usize::MAX, 0),
    };
    let size = usize::try_from(words).ok().and_then(|words| words.checked_mul(2)?.checked_add(header));
    let split = size.and_then(|size| metadata.split_at_checked(size));
    let (whole, rest) = split.ok_or_else(|| CodecError::corrupt("a WavPack block ends early"))?;
    *metadata = rest;
    Ok((whole.first().map_or(0, |id| id & ID), whole))
}

/// The place of a block in its stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The number of times before the block.
    pub(crate) time: usize,
    /// The number of times of the stream.
    pub(crate) times: usize,
    /// The number of channels before the block.
    pub(crate) channel: usize,
    /// The number of channels of the stream.
    pub(crate) channels: usize,
    /// The size of a sample in bytes.
    pub(crate) sample_size: usize,
}

/// Changes the only block of a stream to one at `place` of another stream.
pub(crate) fn put_at(place: Place, alone: &mut Vec<u8>) {
    let block = Block { bytes: alone };
    let is_last = place.channel + block.channels() == place.channels;
    let mut flags = block.flags() & !(INITIAL | FINAL | BYTES_PER_SAMPLE);
    flags |= match place.sample_size {
        1 => 0,
        2 => 1,
        _ => 3,
    };
    flags |= if place.channel == 0 { INITIAL } else { 0 };
    flags |= if is_last { FINAL } else { 0 };
    set(alone, FLAGS, flags);
    set_long(alone, (16, 10), place.time);
    set_long(alone, (12, 11), place.times);
    if place.channel == 0 && place.channels > 2 {
        let info = channel_info(place.channels);
        alone.splice(HEADER_SIZE..HEADER_SIZE, info);
        set_size(alone);
    }
}

/// Metadata with the number of channels, which are divided into pairs.
fn channel_info(channels: usize) -> [u8; 8] {
    let [low, high, ..] = (channels - 1).to_le_bytes();
    let [pairs_low, pairs_high, ..] = (channels.div_ceil(2) - 1).to_le_bytes();
    [CHANNEL_INFO, 3, low, pairs_low, high & 0xf | pairs_high << 4, 0, 0, 0]
}

fn set(block: &mut [u8], offset: usize, number: u32) {
    if let Some(bytes) = block.get_mut(offset..offset + 4) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
}

/// Sets a number of 40 bits, whose most significant byte has another offset.
fn set_long(block: &mut [u8], offsets: (usize, usize), number: usize) {
    let [b0, b1, b2, b3, b4, ..] = (number as u64).to_le_bytes();
    set(block, offsets.0, u32::from_le_bytes([b0, b1, b2, b3]));
    if let Some(byte) = block.get_mut(offsets.1) {
        *byte = b4;
    }
}

/// Adds flags to the header.
pub(crate) fn add_flags(block: &mut [u8], flags: u32) {
    let flags = flags | Block { bytes: block }.flags();
    set(block, FLAGS, flags);
}

/// Sets the size in the header.
pub(crate) fn set_size(block: &mut [u8]) {
    let size = u32::try_from(block.len().saturating_sub(8)).unwrap_or(u32::MAX);
    set(block, 4, size);
}
