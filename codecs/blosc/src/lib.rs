//! The `blosc` codec of Zarr: one Blosc 1 buffer per chunk, with every compressor and shuffle.
//!
//! Bytes to bytes. A buffer is at most 16 bytes longer than what it holds, which is at most 2^31 - 17 bytes.
//! Decoding follows the header of the buffer alone; the configuration matters for encoding.
//!
//! Buffers are put together and taken apart here, block by block in kept memory, around the compressors that C-Blosc is
//! built with, and are the same bytes that it makes. What is left to C-Blosc as a whole is BloscLZ, which is its own, and
//! compressing by zlib. Snappy comes from a crate in Rust: its library is C++ and would ask for another compiler.
//!
//! v2, the draft and `numcodecs.blosc` take the size of an element from the array; final v3 writes it down.
//!
//! Source: "Blosc codec" in the Zarr v3 specification and in its draft of 2022; C-Blosc 1.21 for the buffer.

mod configuration;
mod frame;
mod header;
mod inner;
mod library;
mod lz4;
mod shuffle;

use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, InParts, PartSource, PartTarget, range_within};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object, Output, Pool,
    Representation, Size,
};

use configuration::{Configuration, V2Configuration, V3Configuration};
use frame::{Decoder, Encoder, Unfinished};
use header::Header;
use inner::Decompressors;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://purl.org/zarr/spec/codecs/blosc/1.0"),
            name: Some("blosc"),
            id: Some("blosc"),
            aliases: &[
                "numcodecs.blosc",
                "https://purl.org/zarr/spec/codec/blosc/1.0",
                "https://purl.org/zarr/spec/codec/blosc",
            ],
        },
        &create,
    )
    .translated_by(&translate)
    .configuration::<V2Configuration>()
    .configuration_in::<V3Configuration>(Format::V3)
    .about(
        "Compresses with Blosc: shuffles bytes or bits of elements, and compresses blocks of them.",
        EXAMPLES
    )
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "blosc",
            "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4,
            "blocksize": 0}}"#,
    ),
    Example::v3(
        r#"{"name": "blosc",
            "configuration": {"cname": "zstd", "clevel": 9, "shuffle": "bitshuffle", "typesize": 8,
            "blocksize": 256}}"#,
    ),
    Example::v3(
        r#"{"name": "blosc",
            "configuration": {"cname": "blosclz", "clevel": 1, "shuffle": "noshuffle",
            "typesize": 1, "blocksize": 0}}"#,
    ),
    Example::v3(
        r#"{"name": "blosc",
            "configuration": {"cname": "zlib", "clevel": 6, "shuffle": "shuffle", "typesize": 2,
            "blocksize": 256}}"#,
    ),
    Example::v2(r#"{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}"#),
    Example::v2(r#"{"id": "blosc", "cname": "lz4hc", "clevel": 9, "shuffle": -1, "blocksize": 0}"#),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/blosc/1.0",
            "configuration": {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}}"#,
    ),
];

/// Compresses each chunk to one Blosc buffer.
#[derive(Debug)]
pub struct Blosc {
    settings: Settings,
    encoders: Pool<Encoder>,
    decoders: Pool<Decoder>,
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    compressor: Compressor,
    level: u8,
    shuffle: Shuffle,
    /// 1 to [`MAX_TYPESIZE`].
    typesize: usize,
    /// 0 for one that is chosen.
    blocksize: usize,
}

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
        let typesize = if (1..=MAX_TYPESIZE).contains(&typesize) { typesize } else { 1 };
        let blocksize = blocksize.min(MAX_BLOCKSIZE);
        let settings = Settings { compressor, level, shuffle, typesize, blocksize };
        Ok(Self { settings, encoders: Pool::new(), decoders: Pool::new() })
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

    /// As C-Blosc has it, where that encodes the whole buffer.
    fn library_name(self) -> Option<&'static CStr> {
        match self {
            Self::BloscLz => Some(c"blosclz"),
            Self::Zlib => Some(c"zlib"),
            Self::Lz4 | Self::Lz4Hc | Self::Snappy | Self::Zstd => None,
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

impl From<Blosc> for CodecEntry {
    fn from(codec: Blosc) -> Self {
        Self::new("blosc", Configuration::of(&codec).v3())
    }
}

impl BytesToBytesCodec for Blosc {
    fn encoded_size(&self, decoded: Size) -> Size {
        let with_header = decoded.limit().and_then(|size| size.checked_add(OVERHEAD as u64));
        with_header.map_or(Size::Unknown, Size::AtMost)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode_to(decoded.len(), encoded, |settings, room| match settings.compressor.library_name() {
            Some(name) => compress(name, settings, decoded, room),
            None => self.encoders.with(Encoder::new, |encoder| encoder.encode(settings, decoded, room)),
        })
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        let header = Header::parse(encoded)?;
        self.decompress(&header, encoded, 0..header.size as usize, decoded)
    }

    /// Blocks are independent. Of what C-Blosc decodes as a whole, all is decoded.
    fn decode_range(
        &self,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let header = Header::parse(encoded)?;
        range_within(&range, header.size as usize)?;
        self.decompress(&header, encoded, range, decoded)
    }

    fn in_parts(&self) -> Option<&dyn InParts> {
        Some(self)
    }
}

/// Parts are blocks, where there is more than one, and they are not left to C-Blosc.
impl InParts for Blosc {
    fn part_size(&self, decoded_size: usize) -> Option<usize> {
        frame::part_size(&self.settings, decoded_size)
    }

    fn encode_parts(&self, decoded: &mut dyn PartSource, encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode_to(decoded.size(), encoded, |settings, room| {
            self.encoders.with(Encoder::new, |encoder| encoder.encode_parts(settings, decoded, room))
        })
    }

    fn decoded_part_size(&self, encoded: &[u8]) -> Option<usize> {
        let header = Header::parse(encoded).ok()?;
        let is_divided = header.check_blocks().is_ok() && header.blocksize < header.size;
        (is_divided && Decompressors::knows(header.inner_number())).then_some(header.blocksize as usize)
    }

    fn decode_parts(&self, encoded: &[u8], decoded: &mut dyn PartTarget) -> Result<(), CodecError> {
        let header = Header::parse(encoded)?;
        let decode = |decoder: &mut Decoder| decoder.decode_parts(&header, encoded, decoded);
        self.decoders.with(Decoder::new, decode).map_err(|unfinished| unfinished.error(&header))
    }
}

impl Blosc {
    /// Appends what `encode` leaves of `decoded_size` bytes, given the settings and as much room as it takes.
    fn encode_to(
        &self,
        decoded_size: usize,
        encoded: &mut Output<'_>,
        encode: impl FnOnce(&Settings, &mut [u8]) -> Result<usize, CodecError>,
    ) -> Result<(), CodecError> {
        if decoded_size > MAX_SIZE {
            let what = format!("a Blosc buffer holds {MAX_SIZE} bytes, not {decoded_size}");
            return Err(CodecError::encode(what));
        }
        // With room for the header and the bytes as they are, compressing always succeeds.
        let size = decoded_size + OVERHEAD;
        let size = encode(&self.settings, &mut encoded.spare(size)?[..size])?;
        encoded.advance(size);
        Ok(())
    }

    /// As many bytes as the header says, of which those of `range` are right.
    fn decompress(
        &self,
        header: &Header,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        if header.size == 0 {
            return Ok(());
        }
        if !Decompressors::knows(header.inner_number()) {
            return decompress_whole(header, encoded, decoded);
        }
        let decode = |decoder: &mut Decoder| decoder.decode(header, encoded, range, decoded);
        self.decoders.with(Decoder::new, decode).map_err(|unfinished| unfinished.error(header))
    }
}

impl Unfinished {
    fn error(self, header: &Header) -> CodecError {
        match self {
            Self::Wrong(why) => corrupt(header, &why),
            Self::Target(error) => error,
        }
    }
}

/// Decodes by C-Blosc as a whole, once the stored sizes of all streams agree with the size that the header claims.
fn decompress_whole(header: &Header, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
    let size = header.size as usize;
    frame::check_limit(size, decoded)?;
    frame::check(header, encoded).map_err(|why| corrupt(header, &why))?;
    let room = &mut decoded.spare(size)?[..size];
    if library::decompress(encoded, room) != Ok(size) {
        return Err(corrupt(header, "C-Blosc cannot decode it"));
    }
    decoded.advance(size);
    Ok(())
}

fn corrupt(header: &Header, why: &str) -> CodecError {
    let inner_format = header.inner_format();
    CodecError::corrupt(format!("the Blosc buffer: {why}; its inner format is {inner_format}"))
}

/// Encodes by C-Blosc as a whole.
fn compress(
    name: &CStr,
    settings: &Settings,
    decoded: &[u8],
    encoded: &mut [u8],
) -> Result<usize, CodecError> {
    match library::compress(name, settings, decoded, encoded) {
        Ok(size) if size >= OVERHEAD => Ok(size),
        Ok(size) => Err(CodecError::encode(format!("C-Blosc made {size} bytes"))),
        Err(answer) => Err(CodecError::encode(format!("C-Blosc failed with {answer}"))),
    }
}

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
