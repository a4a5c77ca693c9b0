//! The `bz2` codec: the bytes of a chunk as one bzip2 stream.
//!
//! Bytes to bytes. The encoded size depends on the data, so shard indexes cannot use it. Decoding takes any number of
//! streams, one after another, and nothing else.
//!
//! `level` goes from 1 to 9, hundreds of kilobytes that are sorted at a time. It may be absent, which is 1.
//!
//! Final v3 has the codec as `numcodecs.bz2`. The v3 draft has none of the kind: this project's URI is written, and
//! one that other programs use is read.
//!
//! Source: `bz2` in numcodecs; "bzip2 and libbzip2", version 1.0.8.

use std::io;
use std::sync::Arc;

use bzip2::Compression;
use bzip2::bufread::{BzEncoder, MultiBzDecoder};
use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, all_members};
use zarr_spec::{Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output, Representation};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/bz2/1.0"),
            name: "numcodecs.bz2",
            id: Some("bz2"),
            aliases: &[
                "https://purl.org/zarr/spec/codec/bz2/1.0",
                "https://codec.zarrs.dev/bytes_to_bytes/bz2",
            ],
        },
        create,
    )
    .translated_by(all_members::<Bz2Configuration>)
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
    pub fn new(level: u32) -> Result<Self, CodecError> {
        if !(1..=9).contains(&level) {
            return Err(CodecError::configuration(format!("level is {level}, not 1 to 9")));
        }
        Ok(Self { level })
    }
}

impl BytesToBytesCodec for Bz2 {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        let mut stream = BzEncoder::new(decoded, Compression::new(self.level));
        io::copy(&mut stream, encoded).map_err(CodecError::encode)?;
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        // `decoded` refuses to grow past the size of the chunk: a bomb ends there.
        io::copy(&mut MultiBzDecoder::new(encoded), decoded).map_err(CodecError::corrupt)?;
        Ok(())
    }
}

/// The same in every format, with the default written out.
#[derive(Serialize, Deserialize)]
struct Bz2Configuration {
    #[serde(default = "one")]
    level: u32,
}

fn one() -> u32 {
    1
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Bz2::new(creation.parse::<Bz2Configuration>()?.level)?)))
}
