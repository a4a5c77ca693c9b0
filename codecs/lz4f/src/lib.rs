//! The `lz4f` codec: compresses each chunk to one LZ4 frame.
//!
//! Bytes to bytes. Blocks are independent when writing; all frames without a dictionary are read. Checksums are checked.
//! The encoded size depends on the data and is bounded. Legacy frames, and bytes after the frame, are refused.
//!
//! `blocksizeid` is the maximum size of a decoded block: 4 (64 KiB, also for 0), 5 (256 KiB), 6 (1 MiB) or 7 (4 MiB).
//! `blockchecksum`, `contentchecksum` and `contentsize` select what the frame contains, by default nothing. `level` is
//! preserved but has no effect: the compressor of this crate has one level. Decoding depends on none of them.
//!
//! v2 and final v3 have the codec as `imagecodecs_lz4f`; `numcodecs.imagecodecs_lz4f` is also read.
//!
//! Source: `Lz4f` in imagecodecs; "LZ4 Frame Format Description".

use std::io::{self, Read, Write};
use std::sync::Arc;

use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output,
    Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lz4f")
            .with_id("imagecodecs_lz4f")
            .with_aliases(&["numcodecs.imagecodecs_lz4f"]),
        &create,
    )
    .configuration::<Lz4fConfiguration>()
    .about("Compresses to one LZ4 frame.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lz4f"}"#),
    Example::v3(
        r#"{"name": "imagecodecs_lz4f", "configuration": {"blocksizeid": 5, "blockchecksum": true,
            "contentchecksum": true, "contentsize": true}}"#,
    ),
    Example::v2(
        r#"{"id": "imagecodecs_lz4f", "level": null, "blocksizeid": null, "contentchecksum": null,
            "blockchecksum": null, "contentsize": null}"#,
    ),
];

/// The first bytes of a frame. lz4_flex also reads legacy frames, which imagecodecs refuses.
const MAGIC: [u8; 4] = *b"\x04\x22\x4d\x18";

/// The maximum size of everything outside of blocks, in bytes: a header of 19 bytes, the end mark and a checksum.
const FRAME_SIZE: u64 = 27;

/// The size of the length of a block and its checksum, in bytes.
const BLOCK_SIZE: u64 = 8;

/// The configuration of imagecodecs. This compressor ignores the level.
#[derive(Deserialize)]
struct Lz4fConfiguration {
    #[serde(rename = "level")]
    _level: Option<i64>,
    blocksizeid: Option<u8>,
    blockchecksum: Option<bool>,
    contentchecksum: Option<bool>,
    contentsize: Option<bool>,
}

/// Compresses each chunk to one frame.
#[derive(Debug)]
pub struct Lz4f {
    header: FrameInfo,
    has_content_size: bool,
}

impl Lz4f {
    /// Creates the codec for frames with blocks of up to 64 KiB, without checksums and without the size of the chunk.
    #[must_use]
    pub fn new() -> Self {
        let header = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
        Self { header, has_content_size: false }
    }

    fn from_configuration(configuration: &Lz4fConfiguration) -> CodecResult<Self> {
        let block_size = match configuration.blocksizeid.unwrap_or(0) {
            0 | 4 => BlockSize::Max64KB,
            5 => BlockSize::Max256KB,
            6 => BlockSize::Max1MB,
            7 => BlockSize::Max4MB,
            other => {
                return Err(CodecError::configuration(format!(
                    "`blocksizeid` is {other}; expected 0 or 4 to 7"
                )));
            }
        };
        let header = Self::new()
            .header
            .block_size(block_size)
            .block_checksums(configuration.blockchecksum.unwrap_or(false))
            .content_checksum(configuration.contentchecksum.unwrap_or(false));
        Ok(Self { header, has_content_size: configuration.contentsize.unwrap_or(false) })
    }
}

impl Default for Lz4f {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Lz4f> for CodecEntry {
    fn from(_codec: Lz4f) -> Self {
        Self::new("imagecodecs_lz4f", Value::Null)
    }
}

impl BytesToBytesCodec for Lz4f {
    fn encoded_size(&self, decoded: Size) -> Size {
        const SMALLEST_BLOCK: u64 = 64 << 10;
        let Some(limit) = decoded.limit() else { return Size::Unknown };
        let blocks = limit.div_ceil(SMALLEST_BLOCK).saturating_mul(BLOCK_SIZE);
        Size::AtMost(limit.saturating_add(blocks).saturating_add(FRAME_SIZE))
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let header = self.header.clone().content_size(self.has_content_size.then_some(decoded.len() as u64));
        let mut frame = FrameEncoder::with_frame_info(header, Vec::new());
        frame.write_all(decoded).map_err(CodecError::encode)?;
        encoded.put(&frame.finish().map_err(CodecError::encode)?)?;
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        if !encoded.starts_with(&MAGIC) {
            return Err(CodecError::corrupt("the bytes do not begin like an LZ4 frame"));
        }
        let mut frame = FrameDecoder::new(Encoded(encoded));
        while decoded.remaining() > 0 {
            let room = decoded.spare(1)?;
            match frame.read(room).map_err(CodecError::corrupt)? {
                0 => return check_end(frame.get_ref()),
                size => decoded.advance(size),
            }
        }
        match frame.read(&mut [0]).map_err(CodecError::corrupt)? {
            0 => check_end(frame.get_ref()),
            _ => Err(LimitExceeded { limit: decoded.written().len() }.into()),
        }
    }
}

fn check_end(rest: &Encoded<'_>) -> CodecResult {
    match rest.0.len() {
        0 => Ok(()),
        more => Err(CodecError::corrupt(format!("{more} bytes follow the frame"))),
    }
}

/// The bytes of a frame. Reading after the last byte is an error, because lz4_flex accepts frames without their end.
struct Encoded<'e>(&'e [u8]);

impl Read for Encoded<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame ends early"));
        }
        self.0.read(room)
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::BytesToBytes(Arc::new(Lz4f::from_configuration(&creation.parse()?)?)))
}
