//! The 16 bytes in front of every buffer.

use zarr_spec::CodecError;

use crate::{MAX_BLOCKSIZE, MAX_SIZE, OVERHEAD, Shuffle};

/// What a buffer says of itself, in little-endian numbers after the version of the format: the version of the inner
/// format, flags, `typesize`, and the sizes of everything that is decoded, of a block, and of the whole buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) inner_version: u8,
    pub(crate) flags: u8,
    pub(crate) typesize: u8,
    /// Bytes that are decoded.
    pub(crate) size: u32,
    /// Bytes of a decoded block.
    pub(crate) blocksize: u32,
    /// Bytes of the buffer, with the header.
    pub(crate) encoded_size: u32,
}

/// The version of the format, in the first byte.
const VERSION: u8 = 2;

/// By their number in the header.
const INNER_FORMATS: [&str; 5] = ["blosclz", "lz4", "snappy", "zlib", "zstd"];

/// Flags of a header. The three highest bits are the number of the inner format.
pub(crate) mod flag {
    pub(crate) const BYTE_SHUFFLE: u8 = 1;
    /// No blocks: what was encoded, as it was.
    pub(crate) const STORED: u8 = 2;
    pub(crate) const BIT_SHUFFLE: u8 = 4;
    pub(crate) const RESERVED: u8 = 8;
    /// A block is one stream, whatever its elements.
    pub(crate) const NOT_SPLIT: u8 = 16;
}

impl Header {
    /// Of the buffer that is all of `encoded`. The sizes were compared with `encoded` and with the largest buffer.
    pub(crate) fn parse(encoded: &[u8]) -> Result<Self, CodecError> {
        let Some(&[version, inner_version, flags, typesize, ref sizes @ ..]) =
            encoded.first_chunk::<OVERHEAD>()
        else {
            return Err(CodecError::corrupt(format!("{} bytes are no Blosc buffer", encoded.len())));
        };
        if version != VERSION {
            return Err(CodecError::corrupt(format!("version {version} of the Blosc format is not known")));
        }
        let [size, blocksize, encoded_size] =
            [0, 4, 8].map(|at| u32::from_le_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]));
        let header = Self { inner_version, flags, typesize, size, blocksize, encoded_size };
        header.check(encoded.len())?;
        Ok(header)
    }

    fn check(&self, there: usize) -> Result<(), CodecError> {
        let number = self.inner_number();
        if usize::from(number) >= INNER_FORMATS.len() {
            return Err(CodecError::corrupt(format!("number {number} is no inner format of a Blosc buffer")));
        }
        if self.encoded_size as usize != there {
            let said = self.encoded_size;
            let what = format!("the Blosc buffer has {there} bytes, and its header says {said}");
            return Err(CodecError::corrupt(what));
        }
        if self.size as usize > MAX_SIZE {
            let what = format!("a Blosc buffer holds {MAX_SIZE} bytes, and its header says {}", self.size);
            return Err(CodecError::corrupt(what));
        }
        Ok(())
    }

    /// What the C library also asks of a buffer that is not empty.
    pub(crate) fn check_blocks(&self) -> Result<(), String> {
        if self.flags & flag::RESERVED != 0 {
            return Err(format!("its flags are {:#04x}, of which bit 3 has no meaning", self.flags));
        }
        if self.typesize == 0 {
            return Err("its elements have 0 bytes".to_owned());
        }
        let blocksize = self.blocksize as usize;
        if blocksize == 0 || blocksize > MAX_BLOCKSIZE || self.blocksize > self.size {
            return Err(format!("its blocks have {blocksize} bytes, of {} in all", self.size));
        }
        Ok(())
    }

    pub(crate) fn inner_number(&self) -> u8 {
        self.flags >> 5
    }

    pub(crate) fn inner_format(&self) -> &'static str {
        INNER_FORMATS.get(usize::from(self.inner_number())).copied().unwrap_or_default()
    }

    /// Single bytes are not shuffled as bytes, and a buffer may say both.
    pub(crate) fn shuffle(&self) -> Shuffle {
        match self.flags {
            flags if flags & flag::BYTE_SHUFFLE != 0 && self.typesize > 1 => Shuffle::Byte,
            flags if flags & flag::BIT_SHUFFLE != 0 => Shuffle::Bit,
            _ => Shuffle::None,
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; OVERHEAD] {
        let mut bytes = [0; OVERHEAD];
        bytes[..4].copy_from_slice(&[VERSION, self.inner_version, self.flags, self.typesize]);
        for (place, size) in
            bytes[4..].chunks_exact_mut(4).zip([self.size, self.blocksize, self.encoded_size])
        {
            place.copy_from_slice(&size.to_le_bytes());
        }
        bytes
    }
}
