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
//! Source: `zlib` in numcodecs; RFC 1950.

use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use serde::Deserialize;
use zarr_spec::codec::BytesToBytesCodec;
use zarr_spec::codec::stream::{self, Progress};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, Creation, Format, Identifiers, Object, Output, Pool, Representation,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/zlib/1.0"),
            name: "numcodecs.zlib",
            id: Some("zlib"),
            aliases: &[
                "https://purl.org/zarr/spec/codec/zlib/1.0",
                "https://codec.zarrs.dev/bytes_to_bytes/zlib",
            ],
        },
        create,
    )
    .translated_by(translate)
);

/// Compresses each chunk to one zlib stream.
#[derive(Debug)]
pub struct Zlib {
    level: Compression,
    encoders: Pool<Compress>,
    decoders: Pool<Decompress>,
}

impl Zlib {
    /// Compresses at `level`, from 0 (stored) to 9 (smallest), or -1 for the library's default.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: i32) -> Result<Self, CodecError> {
        let level = match level {
            -1 => Compression::default(),
            0..=9 => Compression::new(level.unsigned_abs()),
            _ => return Err(CodecError::configuration(format!("level is {level}, not -1 to 9"))),
        };
        Ok(Self { level, encoders: Pool::new(), decoders: Pool::new() })
    }
}

impl BytesToBytesCodec for Zlib {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encoders.with(|| Compress::new(self.level, true), |compress| deflate(compress, decoded, encoded))
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.decoders.with(|| Decompress::new(true), |decompress| inflate(decompress, encoded, decoded))
    }
}

fn deflate(compress: &mut Compress, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
    compress.reset();
    stream::encode(decoded, encoded, |decoded, room| {
        let status = compress.compress(decoded, room, FlushCompress::Finish).map_err(CodecError::encode)?;
        let (read, written) = (compress.total_in(), compress.total_out());
        Ok(Progress { read, written, is_end: status == Status::StreamEnd })
    })
}

fn inflate(decompress: &mut Decompress, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
    decompress.reset(true);
    let _ignored = stream::decode(encoded, decoded, |encoded, room| {
        let status =
            decompress.decompress(encoded, room, FlushDecompress::None).map_err(CodecError::corrupt)?;
        let (read, written) = (decompress.total_in(), decompress.total_out());
        Ok(Progress { read, written, is_end: status == Status::StreamEnd })
    })?;
    Ok(())
}

#[derive(Deserialize)]
struct ZlibConfiguration {
    level: Option<i32>,
}

impl ZlibConfiguration {
    fn level(&self) -> i32 {
        self.level.unwrap_or(1)
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(Zlib::new(creation.parse::<ZlibConfiguration>()?.level())?)))
}

/// The same in every format, with the default written out.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let mut configuration = Object::new();
    configuration.insert("level", creation.parse::<ZlibConfiguration>()?.level());
    Ok(configuration)
}
