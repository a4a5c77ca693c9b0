//! The `lzw` codec: compresses each chunk like TIFF files with LZW compression.
//!
//! Bytes to bytes: codes of 9 to 12 bits, most significant bit first, which become longer one code earlier than in GIF.
//! The encoded size depends on the data. Decoded bytes are bounded by the size of the chunk, and memory grows with the
//! bytes that are decoded. A stream without an end code is corrupt; bytes after the end code are ignored. Streams with
//! the least significant bit first, which libraries wrote before 1990, are not supported.
//!
//! v2 and final v3 have the codec as `imagecodecs_lzw`; `numcodecs.imagecodecs_lzw` is also read.
//!
//! Source: `Lzw` in imagecodecs; "LZW Compression" in TIFF 6.0.

mod codes;
mod decoder;
mod encoder;

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lzw")
            .with_id("imagecodecs_lzw")
            .with_aliases(&["numcodecs.imagecodecs_lzw"]),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Compresses like TIFF files with LZW compression.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "imagecodecs_lzw"}"#), Example::v2(r#"{"id": "imagecodecs_lzw"}"#)];

/// Compresses each chunk to one stream of LZW codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lzw;

impl From<Lzw> for CodecEntry {
    fn from(_no_parameters: Lzw) -> Self {
        "imagecodecs_lzw".into()
    }
}

impl BytesToBytesCodec for Lzw {
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        encoder::encode(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        decoder::decode(encoded, decoded)
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Lzw)))
}
