//! The `zlib` codec: the bytes of a chunk as one zlib stream.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use it. What follows the stream is
//! ignored, as the writers of this codec do.
//!
//! `level` goes from 0 (stored) to 9 (smallest); -1 is the library's default, 6. It may be absent, which is 1.
//!
//! Final v3 has the codec as `numcodecs.zlib`. The v3 draft has none of the kind: this project's URI is written,
//! and one that other programs use is read.
//!
//! Feature `libdeflate` has whole chunks compressed and decompressed at once by that C library, which is about half as
//! fast again. Without it, and where a whole chunk is not what there is, zlib-rs does it piece by piece.
//!
//! Source: `zlib` in numcodecs; RFC 1950.

mod stream;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output, Pool, Representation, json,
};

use stream::{Decoder, Encoder};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/zlib/1.0"),
            name: Some("numcodecs.zlib"),
            id: Some("zlib"),
            aliases: &[
                "https://purl.org/zarr/spec/codec/zlib/1.0",
                "https://codec.zarrs.dev/bytes_to_bytes/zlib",
            ],
        },
        &create,
    )
    .translated_by(&all_members::<ZlibConfiguration>)
    .configuration::<ZlibConfiguration>()
    .about("Compresses to a zlib stream (RFC 1950).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.zlib", "configuration": {"level": 1}}"#),
    Example::v3(r#"{"name": "numcodecs.zlib", "configuration": {"level": 9}}"#),
    Example::v2(r#"{"id": "zlib", "level": 1}"#),
    Example::v2(r#"{"id": "zlib", "level": -1}"#),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/zlib/1.0", "configuration": {"level": 1}}"#,
    ),
];

/// Compresses each chunk to one zlib stream.
#[derive(Debug)]
pub struct Zlib {
    level: u32,
    encoders: Pool<Encoder>,
    decoders: Pool<Decoder>,
}

impl Zlib {
    /// Compresses at `level`, from 0 (stored) to 9 (smallest), or -1 for the library's default.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: i32) -> Result<Self, CodecError> {
        let level = match level {
            -1 => 6,
            0..=9 => level.unsigned_abs(),
            _ => return Err(CodecError::configuration(format!("level is {level}, not -1 to 9"))),
        };
        Ok(Self { level, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl From<Zlib> for CodecEntry {
    fn from(codec: Zlib) -> Self {
        Self::new("zlib", json!({"level": codec.level}))
    }
}

impl BytesToBytesCodec for Zlib {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encoders.with(|| Encoder::new(self.level), |encoder| encoder.deflate(decoded, encoded))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.decoders.with(Decoder::new, |decoder| decoder.inflate(encoded, decoded))
    }
}

/// The same in every format, with the default written out.
#[derive(Serialize, Deserialize)]
struct ZlibConfiguration {
    #[serde(default = "one")]
    level: i32,
}

fn one() -> i32 {
    1
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(creation.parse::<ZlibConfiguration>()?.level)?)))
}
