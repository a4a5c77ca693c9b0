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

mod decoder;

use std::sync::Arc;

use weezl::{BitOrder, LzwStatus, encode::Encoder};
use zarr_plugin_kit::NoConfiguration;
use zarr_plugin_kit::stream::{self, StreamProgress};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation,
};

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

/// Number of bits of a literal.
const LITERAL_BITS: u8 = 8;

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
        let mut encoder = Encoder::with_tiff_size_switch(BitOrder::Msb, LITERAL_BITS);
        encoder.finish();
        let [mut read, mut written] = [0; 2];
        stream::encode(decoded, encoded, |decoded, room| {
            let result = encoder.encode_bytes(decoded, room);
            let is_end = matches!(result.status.map_err(CodecError::encode)?, LzwStatus::Done);
            read += result.consumed_in as u64;
            written += result.consumed_out as u64;
            Ok(StreamProgress::new(read, written, is_end))
        })
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        decoder::decode(encoded, decoded)
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Lzw)))
}
