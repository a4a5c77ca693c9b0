//! The `blosc` codec of Zarr: one Blosc 1 buffer per chunk, with every compressor and shuffle.
//!
//! Bytes to bytes. A buffer is at most 16 bytes longer than what it holds, which is at most 2^31 - 17 bytes.
//! Decoding follows the header of the buffer alone; the configuration matters for encoding.
//!
//! v2, the draft and `numcodecs.blosc` take the size of an element from the array; final v3 writes it down.
//!
//! Source: "Blosc codec" in the Zarr v3 specification and in its draft of 2022; C-Blosc 1.21 for the buffer.

mod configuration;
mod library;

use std::ffi::CStr;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Format, Identifiers, Object, Output, Representation, Size,
};

use configuration::Configuration;
use library::Parameters;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://purl.org/zarr/spec/codecs/blosc/1.0"),
            name: "blosc",
            id: Some("blosc"),
            aliases: &[
                "numcodecs.blosc",
                "https://purl.org/zarr/spec/codec/blosc/1.0",
                "https://purl.org/zarr/spec/codec/blosc",
            ],
        },
        create,
    )
    .translated_by(translate)
);

/// Compresses each chunk to one Blosc buffer.
#[derive(Debug, Clone, Copy)]
pub struct Blosc(Parameters);

/// What compresses the blocks of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compressor {
    /// Blosc's own.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4 HC: slower than LZ4 to encode, and smaller.
    Lz4Hc,
    /// Snappy.
    Snappy,
    /// Deflate.
    Zlib,
    /// Zstandard.
    Zstd,
}

/// What is done to the elements of a block before it is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shuffle {
    /// Nothing.
    None,
    /// All first bytes, then all second ones, and so on.
    Byte,
    /// All first bits, then all second ones, and so on.
    Bit,
}

impl Blosc {
    /// Compresses with `compressor` at `level`, from 0 (no compression) to 9, in blocks of `blocksize` bytes, where 0
    /// leaves that to the library. Elements of more than 255 bytes are shuffled as if they had one.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if `level` is above 9.
    pub fn new(
        compressor: Compressor,
        level: u8,
        shuffle: Shuffle,
        typesize: usize,
        blocksize: usize,
    ) -> Result<Self, CodecError> {
        if level > 9 {
            return Err(CodecError::configuration(format!("`clevel` is {level}, not 0 to 9")));
        }
        Ok(Self(Parameters {
            compressor: compressor.c_name(),
            level,
            shuffle: match shuffle {
                Shuffle::None => 0,
                Shuffle::Byte => 1,
                Shuffle::Bit => 2,
            },
            typesize: if (1..=MAX_TYPESIZE).contains(&typesize) { typesize } else { 1 },
            blocksize: blocksize.min(MAX_BLOCKSIZE),
        }))
    }
}

impl Compressor {
    /// As metadata documents have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BloscLz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Lz4Hc => "lz4hc",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    fn c_name(self) -> &'static CStr {
        match self {
            Self::BloscLz => c"blosclz",
            Self::Lz4 => c"lz4",
            Self::Lz4Hc => c"lz4hc",
            Self::Snappy => c"snappy",
            Self::Zlib => c"zlib",
            Self::Zstd => c"zstd",
        }
    }
}

/// Of an element that is shuffled.
const MAX_TYPESIZE: usize = blosc_src::BLOSC_MAX_TYPESIZE as usize;
const MAX_BLOCKSIZE: usize = blosc_src::BLOSC_MAX_BLOCKSIZE as usize;
/// Bytes that one buffer can hold.
const MAX_SIZE: usize = blosc_src::BLOSC_MAX_BUFFERSIZE as usize;
/// Bytes of the header.
const OVERHEAD: usize = blosc_src::BLOSC_MAX_OVERHEAD as usize;
/// The version of the format, in the first byte.
const VERSION: u8 = 2;

impl BytesToBytesCodec for Blosc {
    fn encoded_size(&self, decoded: Size) -> Size {
        let with_header = decoded.limit().and_then(|size| size.checked_add(OVERHEAD as u64));
        with_header.map_or(Size::Unknown, Size::AtMost)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        if decoded.len() > MAX_SIZE {
            let size = decoded.len();
            return Err(CodecError::encode(format!("a Blosc buffer holds {MAX_SIZE} bytes, not {size}")));
        }
        // With room for the header and the bytes as they are, compressing always succeeds.
        let size = library::compress(self.0, decoded, encoded.spare(decoded.len() + OVERHEAD)?);
        match size {
            Ok(size) if size >= OVERHEAD => {
                encoded.advance(size);
                Ok(())
            }
            Ok(size) => Err(CodecError::encode(format!("C-Blosc made {size} bytes"))),
            Err(answer) => Err(CodecError::encode(format!("C-Blosc failed with {answer}"))),
        }
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let (inner_format, size) = check_header(encoded)?;
        if size == 0 {
            return Ok(());
        }
        let came_out = library::decompress(encoded, &mut decoded.spare(size)?[..size]);
        if came_out != Ok(size) {
            return Err(CodecError::corrupt(format!(
                "C-Blosc cannot decode the Blosc buffer, whose inner format is {inner_format}"
            )));
        }
        decoded.advance(size);
        Ok(())
    }
}

/// The name of the inner format and the decoded size, in bytes.
fn check_header(encoded: &[u8]) -> Result<(&'static str, usize), CodecError> {
    let Some(header) = encoded.first_chunk::<OVERHEAD>() else {
        return Err(CodecError::corrupt(format!("{} bytes are no Blosc buffer", encoded.len())));
    };
    if header[0] != VERSION {
        return Err(CodecError::corrupt(format!("version {} of the Blosc format is not known", header[0])));
    }
    let inner_format = header[2] >> 5;
    let inner_format = INNER_FORMATS.get(usize::from(inner_format)).copied().ok_or_else(|| {
        CodecError::corrupt(format!("number {inner_format} is no inner format of a Blosc buffer"))
    })?;
    let size = library::decoded_size(encoded).ok_or_else(|| {
        let said = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        let there = encoded.len();
        CodecError::corrupt(format!("the Blosc buffer has {there} bytes, and its header says {said}"))
    })?;
    Ok((inner_format, size))
}

/// By their number in the header.
const INNER_FORMATS: [&str; 5] = ["blosclz", "lz4", "snappy", "zlib", "zstd"];

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let configuration = Configuration::parse(creation, decoded)?;
    Ok(Codec::BytesToBytes(Arc::new(configuration.codec()?)))
}

fn translate(
    creation: &Creation<'_>,
    decoded: &Representation,
    format: Format,
) -> Result<Object, CodecError> {
    let configuration = Configuration::parse(creation, decoded)?;
    Ok(match format {
        Format::V3 => configuration.v3(),
        Format::V2 | Format::V3Draft => configuration.v2(),
    })
}
