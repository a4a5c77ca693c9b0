//! The `blosc` codec of Zarr: one Blosc 1 buffer per chunk, with every compressor and shuffle.
//!
//! Bytes to bytes. A buffer is at most 16 bytes longer than its content, which has at most 2^31 - 17 bytes.
//! Decoding depends only on the header of the buffer; the configuration is used for encoding.
//!
//! This crate encodes and decodes the buffers itself, block by block in reused memory, and calls the compressors that
//! C-Blosc is built with. The result is identical to that of C-Blosc, except that streams of Snappy may differ. C-Blosc
//! handles whole buffers in two cases: with its own compressor, BloscLZ, and to compress with zlib. Snappy comes from a
//! Rust crate, because the original library is written in C++ and would require another compiler.
//!
//! v2, the draft and `numcodecs.blosc` take the element size from the array; final v3 stores it in the
//! configuration. imagecodecs has the same buffers as `imagecodecs_blosc`, in v2 and final v3;
//! `numcodecs.imagecodecs_blosc` is also read.
//!
//! Source: "Blosc codec" in the Zarr v3 specification and in its draft of 2022; C-Blosc 1.21 for the buffer;
//! `Blosc` in imagecodecs.

mod configuration;
mod frame;
mod header;
mod imagecodecs;
mod inner;
mod library;
mod lz4;

use std::ffi::CStr;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, InParts, PartSource, PartTarget, range_within};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object, Output,
    Pool, Representation, Size,
};

use configuration::{Configuration, V2Configuration, V3Configuration};
use frame::{DecodeFailure, Decoder, Encoder};
use header::Header;
use inner::Decompressors;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("blosc")
            .with_id("blosc")
            .with_uri("https://purl.org/zarr/spec/codecs/blosc/1.0")
            .with_aliases(&[
                "numcodecs.blosc",
                "https://purl.org/zarr/spec/codec/blosc/1.0",
                "https://purl.org/zarr/spec/codec/blosc",
            ]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<V2Configuration>()
    .configuration_in::<V3Configuration>(Format::V3)
    .about(
        "Compresses with Blosc, which shuffles the bytes or bits of elements and compresses them in blocks.",
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
    /// The size of an element in bytes, 1 to [`MAX_TYPESIZE`].
    typesize: usize,
    /// The size of a block in bytes; 0 selects it automatically.
    blocksize: usize,
}

/// The compressor of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compressor {
    /// BloscLZ, Blosc's own compressor.
    BloscLz,
    /// LZ4.
    Lz4,
    /// LZ4 HC: encodes slower than LZ4, with smaller results.
    Lz4Hc,
    /// Snappy.
    Snappy,
    /// zlib (deflate).
    Zlib,
    /// Zstandard.
    Zstd,
}

/// How the elements of a block are rearranged before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shuffle {
    /// No rearrangement.
    None,
    /// All first bytes, then all second bytes, and so on.
    Byte,
    /// All first bits, then all second bits, and so on.
    Bit,
}

impl Blosc {
    /// Compresses with `compressor` at `level`, from 0 (no compression) to 9, in blocks of `blocksize` bytes; 0
    /// selects the block size automatically. Elements of more than 255 bytes are shuffled as single bytes.
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
    ) -> CodecResult<Self> {
        if level > 9 {
            return Err(CodecError::configuration(format!("`clevel` is {level}; expected 0 to 9")));
        }
        let typesize = if (1..=MAX_TYPESIZE).contains(&typesize) { typesize } else { 1 };
        let blocksize = blocksize.min(MAX_BLOCKSIZE);
        let settings = Settings { compressor, level, shuffle, typesize, blocksize };
        Ok(Self { settings, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl Compressor {
    /// Returns the name in metadata documents.
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

    /// Returns the name in C-Blosc, if C-Blosc encodes the whole buffer.
    fn library_name(self) -> Option<&'static CStr> {
        match self {
            Self::BloscLz => Some(c"blosclz"),
            Self::Zlib => Some(c"zlib"),
            Self::Lz4 | Self::Lz4Hc | Self::Snappy | Self::Zstd => None,
        }
    }
}

/// Maximum size of a shuffled element in bytes.
const MAX_TYPESIZE: usize = blosc_src::BLOSC_MAX_TYPESIZE as usize;
const MAX_BLOCKSIZE: usize = blosc_src::BLOSC_MAX_BLOCKSIZE as usize;
/// Maximum decoded size of a buffer in bytes.
const MAX_SIZE: usize = blosc_src::BLOSC_MAX_BUFFERSIZE as usize;
/// Size of the header in bytes.
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

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.encode_to(decoded.len(), encoded, |settings, room| match settings.compressor.library_name() {
            Some(name) => compress(name, settings, decoded, room),
            None => self.encoders.with(Encoder::new, |encoder| encoder.encode(settings, decoded, room)),
        })
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let header = Header::parse(encoded)?;
        self.decompress(&header, encoded, 0..header.size as usize, decoded)
    }

    /// Decodes only the blocks that contain `range`, or the whole buffer if C-Blosc has to decode it.
    fn decode_range(&self, encoded: &[u8], range: Range<usize>, decoded: &mut Output<'_>) -> CodecResult {
        let header = Header::parse(encoded)?;
        range_within(&range, header.size as usize)?;
        self.decompress(&header, encoded, range, decoded)
    }

    fn in_parts(&self) -> Option<&dyn InParts> {
        Some(self)
    }
}

/// Parts are blocks. Available if there are several blocks and C-Blosc is not needed.
impl InParts for Blosc {
    fn part_size(&self, decoded_size: usize) -> Option<usize> {
        frame::part_size(&self.settings, decoded_size)
    }

    fn encode_parts(&self, decoded: &mut dyn PartSource, encoded: &mut Output<'_>) -> CodecResult {
        self.encode_to(decoded.size(), encoded, |settings, room| {
            self.encoders.with(Encoder::new, |encoder| encoder.encode_parts(settings, decoded, room))
        })
    }

    fn decoded_part_size(&self, encoded: &[u8]) -> Option<usize> {
        let header = Header::parse(encoded).ok()?;
        let is_divided = header.check_blocks().is_ok() && header.blocksize < header.size;
        (is_divided && Decompressors::knows(header.inner_number())).then_some(header.blocksize as usize)
    }

    fn decode_parts(&self, encoded: &[u8], decoded: &mut dyn PartTarget) -> CodecResult {
        let header = Header::parse(encoded)?;
        let decode = |decoder: &mut Decoder| decoder.decode_parts(&header, encoded, decoded);
        self.decoders.with(Decoder::new, decode).map_err(|unfinished| unfinished.error(&header))
    }
}

impl Blosc {
    /// Calls `encode` with enough space for `decoded_size` bytes and appends its result.
    fn encode_to(
        &self,
        decoded_size: usize,
        encoded: &mut Output<'_>,
        encode: impl FnOnce(&Settings, &mut [u8]) -> CodecResult<usize>,
    ) -> CodecResult {
        if decoded_size > MAX_SIZE {
            let what = format!(
                "{decoded_size} bytes do not fit into a Blosc buffer; at most {MAX_SIZE} are possible"
            );
            return Err(CodecError::encode(what));
        }
        // With space for the header and the uncompressed bytes, compression always succeeds.
        let size = decoded_size + OVERHEAD;
        let size = encode(&self.settings, &mut encoded.spare(size)?[..size])?;
        encoded.advance(size);
        Ok(())
    }

    /// Decodes `range`. Appends as many bytes as the header declares, of which only the bytes of `range` are valid.
    fn decompress(
        &self,
        header: &Header,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> CodecResult {
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

impl DecodeFailure {
    fn error(self, header: &Header) -> CodecError {
        match self {
            Self::Wrong(why) => corrupt(header, &why),
            Self::Target(error) => error,
        }
    }
}

/// Decodes a whole buffer with C-Blosc, after checking the sizes of all streams against the declared size.
fn decompress_whole(header: &Header, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
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

/// Encodes a whole buffer with C-Blosc.
fn compress(name: &CStr, settings: &Settings, decoded: &[u8], encoded: &mut [u8]) -> CodecResult<usize> {
    match library::compress(name, settings, decoded, encoded) {
        Ok(size) if size >= OVERHEAD => Ok(size),
        Ok(size) => Err(CodecError::encode(format!("C-Blosc returned {size} bytes"))),
        Err(answer) => Err(CodecError::encode(format!("C-Blosc failed with status {answer}"))),
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration = Configuration::parse(creation, decoded)?;
    Ok(Codec::BytesToBytes(Arc::new(configuration.codec()?)))
}

fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let configuration = Configuration::parse(creation, decoded)?;
    Ok(match to {
        Format::V3 => configuration.v3(),
        Format::V2 | Format::V3Draft => configuration.v2(),
    })
}
