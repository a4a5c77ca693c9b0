//! The `bz2` codec: compresses each chunk to one bzip2 stream.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use the codec. Decoding
//! accepts any number of consecutive streams and nothing else.
//!
//! `level`, 1 to 9, is the block size in units of 100 kB. The default is 1.
//!
//! Final v3 has the codec as `numcodecs.bz2`. The v3 draft does not define it: documents get a URI of this
//! project, and a URI that other programs use is also read.
//!
//! imagecodecs has the same streams as `imagecodecs_bz2`, in v2 and final v3, with a default of 9;
//! `numcodecs.imagecodecs_bz2` is also read.
//!
//! Source: `bz2` in numcodecs; `Bz2` in imagecodecs; "bzip2 and libbzip2", version 1.0.8.

use std::io;
use std::sync::Arc;

use bzip2::bufread::BzEncoder;
use bzip2::{Compression, Decompress, Status};
use serde::{Deserialize, Serialize};
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.bz2")
            .with_id("bz2")
            .with_uri("https://zarr-kit.example/spec/codecs/bz2/1.0")
            .with_aliases(&[
                "https://purl.org/zarr/spec/codec/bz2/1.0",
                "https://codec.zarrs.dev/bytes_to_bytes/bz2",
            ]),
        &create,
    )
    .translated_by(&all_members::<Bz2Configuration>)
    .configuration::<Bz2Configuration>()
    .about("Compresses with bzip2.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.bz2", "configuration": {"level": 1}}"#),
    Example::v3(r#"{"name": "numcodecs.bz2", "configuration": {"level": 9}}"#),
    Example::v2(r#"{"id": "bz2", "level": 1}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/bz2/1.0", "configuration": {"level": 1}}"#,
    ),
];

// imagecodecs has the same streams, with another default level.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_bz2")
            .with_id("imagecodecs_bz2")
            .with_aliases(&["numcodecs.imagecodecs_bz2"]),
        &create_imagecodecs,
    )
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses with bzip2.", EXAMPLES_BZ2)
);

const EXAMPLES_BZ2: &[Example] =
    &[Example::v3(r#"{"name": "imagecodecs_bz2"}"#), Example::v2(r#"{"id": "imagecodecs_bz2", "level": 1}"#)];

/// Compresses each chunk to one bzip2 stream.
#[derive(Debug, Clone, Copy)]
pub struct Bz2 {
    level: u32,
}

impl Bz2 {
    /// Compresses at `level`, 1 to 9.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: u32) -> CodecResult<Self> {
        if !(1..=9).contains(&level) {
            return Err(CodecError::configuration(format!("`level` is {level}; expected 1 to 9")));
        }
        Ok(Self { level })
    }
}

impl From<Bz2> for CodecEntry {
    fn from(codec: Bz2) -> Self {
        Self::new("bz2", json!({"level": codec.level}))
    }
}

impl BytesToBytesCodec for Bz2 {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let mut stream = BzEncoder::new(decoded, Compression::new(self.level));
        io::copy(&mut stream, encoded).map_err(CodecError::encode)?;
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let mut rest = member(encoded, decoded)?;
        while !rest.is_empty() {
            rest = member(rest, decoded)?;
        }
        Ok(())
    }
}

/// The start of every stream, followed by its level.
const MAGIC: &[u8; 3] = b"BZh";
/// The rest of a stream without content, after the level: the end marker, and the checksum of nothing.
const EMPTY: &[u8; 10] = b"\x17\x72\x45\x38\x50\x90\0\0\0\0";
/// Bytes of a block per level.
const BLOCK_SIZE: usize = 100_000;

/// Decodes the first stream of `encoded` and returns the bytes after it.
///
/// The library allocates and clears memory for a whole block at the start of each stream: 3.6 MB at level 9. To
/// decode small streams in time proportional to their size, streams without content bypass it, and others get a
/// lower level if that suffices for the bytes that may still be produced.
fn member<'e>(encoded: &'e [u8], decoded: &mut Output<'_>) -> CodecResult<&'e [u8]> {
    let stated = encoded.strip_prefix(MAGIC).and_then(<[u8]>::split_first);
    let (level, content) = match stated {
        Some((level @ b'1'..=b'9', content)) => (level - b'0', content),
        _ => return Err(CodecError::corrupt("expected a bzip2 stream, which is missing or truncated")),
    };
    if let Some(rest) = content.strip_prefix(EMPTY) {
        return Ok(rest);
    }
    let written = decoded.written().len();
    let lower = sufficient_level(decoded.remaining()).min(level);
    match inflate(lower, content, decoded) {
        // The lower level does not suffice, because the stream holds more bytes than the output accepts. At its
        // own level, the library decodes it up to the limit.
        Err(CodecError::Corrupt(_)) if lower < level && decoded.written().len() == written => {
            inflate(level, content, decoded)
        }
        result => result,
    }
}

/// Returns the lowest level whose block holds `size` bytes. The first stage may turn four equal bytes into five.
fn sufficient_level(size: usize) -> u8 {
    let blocks = size.saturating_add(size / 4).div_ceil(BLOCK_SIZE);
    u8::try_from(blocks.saturating_add(1)).map_or(9, |level| level.min(9))
}

/// Decodes the rest of a stream, after its level, and returns the bytes after it.
fn inflate<'e>(level: u8, content: &'e [u8], decoded: &mut Output<'_>) -> CodecResult<&'e [u8]> {
    let mut library = Decompress::new(false);
    let [a, b, c] = *MAGIC;
    library.decompress(&[a, b, c, b'0' + level], &mut []).map_err(CodecError::corrupt)?;
    let before = library.total_in();
    stream::decode(content, decoded, |encoded, room| {
        let status = library.decompress(encoded, room).map_err(CodecError::corrupt)?;
        let read = library.total_in() - before;
        Ok(StreamProgress::new(read, library.total_out(), status == Status::StreamEnd))
    })
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct Bz2Configuration {
    #[serde(default = "one")]
    level: u32,
}

fn one() -> u32 {
    1
}

/// The configuration of imagecodecs.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    level: Option<u32>,
}

fn create_imagecodecs(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let ImagecodecsConfiguration { level } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Bz2::new(level.unwrap_or(9))?)))
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::BytesToBytes(Arc::new(Bz2::new(creation.parse::<Bz2Configuration>()?.level)?)))
}
