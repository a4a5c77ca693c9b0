//! The `gzip` codec: compresses each chunk to one gzip file.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use the codec. Decoding
//! accepts any number of consecutive members and nothing else. Encoding writes one member without a
//! modification time, so equal chunks are encoded equally.
//!
//! `level` is 0 (no compression) to 9 (smallest). Final v3 requires it. In v2 and under the name
//! `numcodecs.gzip` the default is 1, and -1 means the library's default, 6. A document of the draft without
//! `level` is read with a warning, since decoding does not need it.
//!
//! With the feature `libdeflate`, that C library compresses and decompresses whole chunks in one call, about
//! 1.5 times as fast. Without it, and if only a part of a chunk is available, zlib-rs works in pieces.
//!
//! Source: `gzip` in the Zarr extension registry; "Gzip codec", version 1.0, of the v3 draft; RFC 1952.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod deflate;
mod header;
#[cfg(feature = "libdeflate")]
mod whole;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Format, Identifiers, Object, Output,
    Pool, Representation, json,
};

use deflate::{Decoder, Encoder};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("gzip")
            .with_id("gzip")
            .with_uri("https://purl.org/zarr/spec/codecs/gzip/1.0")
            .with_aliases(&[
                "https://purl.org/zarr/spec/codec/gzip/1.0",
                "https://purl.org/zarr/spec/codec/gzip",
                "numcodecs.gzip",
            ]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<GzipConfiguration>()
    .about("Compresses with gzip (RFC 1952).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "gzip", "configuration": {"level": 5}}"#),
    Example::v3(r#"{"name": "gzip", "configuration": {"level": 0}}"#),
    Example::v3(r#"{"name": "gzip", "configuration": {"level": 9}}"#),
    Example::v2(r#"{"id": "gzip", "level": 1}"#),
    Example::draft(
        r#"{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}"#,
    ),
];

/// Compresses each chunk to one gzip member.
#[derive(Debug)]
pub struct Gzip {
    level: u32,
    encoders: Pool<Encoder>,
    decoders: Pool<Decoder>,
}

impl Gzip {
    /// Compresses at `level`, from 0 (no compression) to 9 (smallest).
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if `level` is above 9.
    pub fn new(level: u32) -> CodecResult<Self> {
        if level > 9 {
            return Err(CodecError::configuration(format!("`level` is {level}; expected 0 to 9")));
        }
        Ok(Self { level, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl From<Gzip> for CodecEntry {
    fn from(codec: Gzip) -> Self {
        Self::new("gzip", json!({"level": codec.level}))
    }
}

impl BytesToBytesCodec for Gzip {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        encoded.put(&header::header(self.level))?;
        self.encoders.with(|| Encoder::new(self.level), |encoder| encoder.deflate(decoded, encoded))?;
        encoded.put(&checksum(decoded))?;
        encoded.put(&size_modulo(decoded.len()))?;
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.decoders.with(Decoder::new, |decoder| {
            let mut rest = member(decoder, encoded, decoded)?;
            while !rest.is_empty() {
                rest = member(decoder, rest, decoded)?;
            }
            Ok(())
        })
    }
}

/// Decodes the first member of `encoded` and returns the bytes after it.
fn member<'e>(decoder: &mut Decoder, encoded: &'e [u8], decoded: &mut Output<'_>) -> CodecResult<&'e [u8]> {
    let stream = header::skip(encoded).map_err(CodecError::corrupt)?;
    let start = decoded.written().len();
    let rest = decoder.inflate(stream, decoded)?;
    let bytes = &decoded.written()[start..];
    let (trailer, rest) =
        rest.split_first_chunk::<8>().ok_or_else(|| CodecError::corrupt("a gzip trailer is truncated"))?;
    if trailer[..4] != checksum(bytes) {
        return Err(CodecError::corrupt("the checksum of a gzip member does not match"));
    }
    if trailer[4..] != size_modulo(bytes.len()) {
        return Err(CodecError::corrupt("the size of a gzip member does not match its trailer"));
    }
    Ok(rest)
}

fn checksum(decoded: &[u8]) -> [u8; 4] {
    #[cfg(feature = "libdeflate")]
    let sum = whole::crc32(decoded);
    #[cfg(not(feature = "libdeflate"))]
    let sum = {
        let mut checksum = flate2::Crc::new();
        checksum.update(decoded);
        checksum.sum()
    };
    sum.to_le_bytes()
}

/// Returns the last four bytes of a member: its decoded size modulo 2^32.
fn size_modulo(size: usize) -> [u8; 4] {
    let [a, b, c, d, ..] = (size as u64).to_le_bytes();
    [a, b, c, d]
}

#[derive(Deserialize)]
struct GzipConfiguration {
    level: Option<i64>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::BytesToBytes(Arc::new(Gzip::new(level(creation)?)?)))
}

fn level(creation: &Creation<'_>) -> CodecResult<u32> {
    let configured = creation.parse::<GzipConfiguration>()?.level;
    let numcodecs = creation.format == Format::V2 || creation.identifier == "numcodecs.gzip";
    match configured {
        None if numcodecs => Ok(1),
        None if creation.format == Format::V3Draft => {
            creation.reading.tolerate("the gzip codec does not have a `level`; decoding does not need it")?;
            Ok(1)
        }
        None => Err(CodecError::configuration("`level` is missing; expected 0 to 9")),
        Some(-1) if numcodecs => Ok(6),
        Some(level) => u32::try_from(level)
            .ok()
            .filter(|&level| level <= 9)
            .ok_or_else(|| CodecError::configuration(format!("`level` is {level}; expected 0 to 9"))),
    }
}

/// Writes `level`, which every format has. Only v2 allows -1 or a missing level.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> CodecResult<Object> {
    let mut configuration = Object::new();
    configuration.insert("level", level(creation)?);
    Ok(configuration)
}
