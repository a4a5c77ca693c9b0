//! The `lz4` codec: compresses each chunk to one LZ4 block, preceded by the size of the chunk.
//!
//! Bytes to bytes. The size has four bytes in little endian; this is not LZ4's frame format. The encoded size
//! depends on the data and is bounded. The declared size is checked against the size of the chunk before any
//! memory is allocated.
//!
//! `acceleration` is read and written, with 1 as the default, but has no effect: the compressor of this crate
//! always works as if it were 1. Decoding does not depend on it.
//!
//! Final v3 has the codec as `numcodecs.lz4`. The v3 draft does not define it: documents get a URI of this
//! project, and a URI that other programs use is also read.
//!
//! imagecodecs has the codec as `imagecodecs_lz4`, in v2 and final v3; `numcodecs.imagecodecs_lz4` is also read. Only with
//! `header`, the size precedes the block.
//!
//! Source: `lz4` in numcodecs; `Lz4` in imagecodecs; "LZ4 Block Format Description".

mod block;

use std::sync::Arc;

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output, Pool,
    Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.lz4")
            .with_id("lz4")
            .with_uri("https://zarr-kit.example/spec/codecs/lz4/1.0")
            .with_aliases(&["https://purl.org/zarr/spec/codec/lz4/1.0"]),
        &create,
    )
    .translated_by(&all_members::<Lz4Configuration>)
    .configuration::<Lz4Configuration>()
    .about("Compresses to one LZ4 block, preceded by its decoded size.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}"#),
    Example::v2(r#"{"id": "lz4", "acceleration": 1}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/lz4/1.0",
            "configuration": {"acceleration": 1}}"#,
    ),
];

// imagecodecs has the same blocks, which the size precedes only with `header`.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lz4")
            .with_id("imagecodecs_lz4")
            .with_aliases(&["numcodecs.imagecodecs_lz4"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses to one LZ4 block.", EXAMPLES_LZ4)
);

const EXAMPLES_LZ4: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lz4"}"#),
    Example::v2(r#"{"id": "imagecodecs_lz4", "level": 1, "hc": false, "header": false}"#),
    Example::v2(r#"{"id": "imagecodecs_lz4", "level": null, "hc": false, "header": true}"#),
];

/// Size in bytes of the field that precedes the block and holds the decoded size.
const HEADER_SIZE: usize = 4;

/// Maximum size of a chunk that LZ4 can compress, in bytes.
const MAXIMUM_SIZE: usize = 0x7e00_0000;

/// Compresses each chunk to its size and one LZ4 block.
#[derive(Debug, Default)]
pub struct Lz4 {
    tables: Pool<CompressTable>,
}

impl Lz4 {
    /// Creates the codec, which does not have parameters.
    #[must_use]
    pub const fn new() -> Self {
        Self { tables: Pool::new() }
    }
}

impl From<Lz4> for CodecEntry {
    fn from(_no_parameters: Lz4) -> Self {
        "lz4".into()
    }
}

impl BytesToBytesCodec for Lz4 {
    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded.limit().and_then(|limit| usize::try_from(limit).ok()) {
            Some(limit) if limit <= MAXIMUM_SIZE => {
                Size::AtMost((HEADER_SIZE + get_maximum_output_size(limit)) as u64)
            }
            _ => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let size = u32::try_from(decoded.len()).ok().filter(|_| decoded.len() <= MAXIMUM_SIZE);
        let size = size.ok_or_else(|| {
            CodecError::encode(format!(
                "LZ4 cannot compress {} bytes; at most {MAXIMUM_SIZE} are possible",
                decoded.len()
            ))
        })?;
        encoded.put(&size.to_le_bytes())?;
        let room = encoded.spare(get_maximum_output_size(decoded.len()))?;
        let written = self
            .tables
            .with(CompressTable::default, |table| compress_into_with_table(decoded, room, table))
            .map_err(CodecError::encode)?;
        encoded.advance(written);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let (header, block) = encoded
            .split_first_chunk::<HEADER_SIZE>()
            .ok_or_else(|| CodecError::corrupt("the bytes are too few for the size of the chunk"))?;
        let size = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        if size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        // A byte of a block represents at most 255 bytes of a chunk.
        if size > block.len().saturating_mul(255) {
            return Err(CodecError::corrupt("the block is too short for its declared size"));
        }
        let room = &mut decoded.spare(size)?[..size];
        let written = decompress_into(block, room).map_err(CodecError::corrupt)?;
        if written != size {
            return Err(CodecError::corrupt(format!("the block holds {written} bytes; expected {size}")));
        }
        decoded.advance(size);
        Ok(())
    }
}

/// The configuration, which is the same in every format. Written documents contain all members. This compressor ignores
/// the acceleration.
#[derive(Serialize, Deserialize)]
struct Lz4Configuration {
    #[serde(default = "one")]
    acceleration: i64,
}

fn one() -> i64 {
    1
}

/// The configuration of imagecodecs. This compressor ignores the level, and whether it searches longer.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    #[serde(rename = "level")]
    _level: Option<i64>,
    #[serde(rename = "hc")]
    _searches_longer: Option<bool>,
    header: Option<bool>,
}

fn create_imagecodecs(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let ImagecodecsConfiguration { header, .. } = creation.parse()?;
    Ok(Codec::BytesToBytes(match header {
        Some(true) => Arc::new(Lz4::new()),
        Some(false) | None => Arc::new(block::Lz4Block::default()),
    }))
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    creation.parse::<Lz4Configuration>()?;
    Ok(Codec::BytesToBytes(Arc::new(Lz4::new())))
}
