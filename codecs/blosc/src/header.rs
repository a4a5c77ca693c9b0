//! The header of 16 bytes at the start of every buffer.

use zarr_spec::{CodecError, CodecResult};

use crate::{MAX_BLOCKSIZE, MAX_SIZE, OVERHEAD, Shuffle};

/// The header without the version of the format. Its numbers are little endian.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) inner_version: u8,
    pub(crate) flags: u8,
    pub(crate) typesize: u8,
    /// Number of decoded bytes.
    pub(crate) size: u32,
    /// Size of a decoded block in bytes.
    pub(crate) blocksize: u32,
    /// Size of the buffer in bytes, including the header.
    pub(crate) encoded_size: u32,
}

/// The version of the format, in the first byte.
const VERSION: u8 = 2;

/// The inner formats by their number in the header.
const INNER_FORMATS: [&str; 5] = ["blosclz", "lz4", "snappy", "zlib", "zstd"];

/// The flags. The three highest bits are the number of the inner format.
pub(crate) mod flag {
    pub(crate) const BYTE_SHUFFLE: u8 = 1;
    /// The header is followed by the uncompressed bytes.
    pub(crate) const STORED: u8 = 2;
    pub(crate) const BIT_SHUFFLE: u8 = 4;
    pub(crate) const RESERVED: u8 = 8;
    /// A block is a single stream.
    pub(crate) const NOT_SPLIT: u8 = 16;
}

impl Header {
    /// Parses the header of a buffer and checks its sizes against `encoded` and the maximum.
    pub(crate) fn parse(encoded: &[u8]) -> CodecResult<Self> {
        let Some(&[version, inner_version, flags, typesize, ref sizes @ ..]) =
            encoded.first_chunk::<OVERHEAD>()
        else {
            return Err(CodecError::corrupt(format!("{} bytes are not a Blosc buffer", encoded.len())));
        };
        if version != VERSION {
            return Err(CodecError::corrupt(format!("unknown version {version} of the Blosc format")));
        }
        let [size, blocksize, encoded_size] =
            [0, 4, 8].map(|at| u32::from_le_bytes([sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]]));
        let header = Self { inner_version, flags, typesize, size, blocksize, encoded_size };
        header.check(encoded.len())?;
        Ok(header)
    }

    fn check(&self, found: usize) -> CodecResult {
        let number = self.inner_number();
        if usize::from(number) >= INNER_FORMATS.len() {
            return Err(CodecError::corrupt(format!("unknown inner format {number} of a Blosc buffer")));
        }
        if self.encoded_size as usize != found {
            let declared = self.encoded_size;
            let what = format!("the Blosc buffer has {found} bytes, but its header declares {declared}");
            return Err(CodecError::corrupt(what));
        }
        if self.size as usize > MAX_SIZE {
            let what = format!(
                "the header of the Blosc buffer declares {} bytes; at most {MAX_SIZE} are possible",
                self.size
            );
            return Err(CodecError::corrupt(what));
        }
        Ok(())
    }

    /// Checks the remaining fields by the rules of the C library. In a buffer without content, they may have any value.
    pub(crate) fn check_blocks(&self) -> Result<(), String> {
        if self.flags & flag::RESERVED != 0 {
            return Err(format!("its flags are {:#04x}, but bit 3 is reserved", self.flags));
        }
        if self.typesize == 0 {
            return Err("its element size is 0".to_owned());
        }
        let blocksize = self.blocksize as usize;
        if blocksize == 0 || blocksize > MAX_BLOCKSIZE || self.blocksize > self.size {
            return Err(format!("its blocks have {blocksize} bytes, but the decoded size is {}", self.size));
        }
        Ok(())
    }

    pub(crate) fn inner_number(&self) -> u8 {
        self.flags >> 5
    }

    pub(crate) fn inner_format(&self) -> &'static str {
        INNER_FORMATS.get(usize::from(self.inner_number())).copied().unwrap_or_default()
    }

    /// Returns the shuffle. Elements of one byte are not byte-shuffled, even if the flag is set.
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
