//! The `snappy` codec: compresses each chunk to one block of Snappy's raw format.
//!
//! Bytes to bytes. The block begins with the size of the chunk; this is not Snappy's frame format. The encoded
//! size depends on the data and is bounded. The declared size is checked against the size of the chunk before
//! any memory is allocated.
//!
//! `level` is preserved but has no effect: the compressor of this crate has one level. Decoding does not depend
//! on it.
//!
//! v2 and final v3 have the codec as `imagecodecs_snappy`; `numcodecs.imagecodecs_snappy` is also read.
//!
//! Source: `Snappy` in imagecodecs; "Snappy compressed format description".

use std::sync::Arc;

use serde::Deserialize;
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output, Pool,
    Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_snappy")
            .with_id("imagecodecs_snappy")
            .with_aliases(&["numcodecs.imagecodecs_snappy"]),
        &create,
    )
    .configuration::<SnappyConfiguration>()
    .about("Compresses to one block of Snappy.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_snappy"}"#),
    Example::v2(r#"{"id": "imagecodecs_snappy", "level": null}"#),
];

/// A byte of a block represents at most this number of bytes: a reference of three bytes repeats 64.
const MAXIMUM_RATIO: usize = 32;

/// Compresses each chunk to one block.
#[derive(Default)]
pub struct Snappy {
    encoders: Pool<Encoder>,
}

impl std::fmt::Debug for Snappy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snappy").finish_non_exhaustive()
    }
}

impl Snappy {
    /// Creates the codec, which does not have parameters.
    #[must_use]
    pub const fn new() -> Self {
        Self { encoders: Pool::new() }
    }
}

impl From<Snappy> for CodecEntry {
    fn from(_no_parameters: Snappy) -> Self {
        "imagecodecs_snappy".into()
    }
}

impl BytesToBytesCodec for Snappy {
    fn encoded_size(&self, decoded: Size) -> Size {
        let limit = decoded.limit().and_then(|limit| usize::try_from(limit).ok());
        match limit.map(max_compress_len) {
            Some(size @ 1..) => Size::AtMost(size as u64),
            _ => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let bound = match max_compress_len(decoded.len()) {
            0 => return Err(CodecError::encode(format!("Snappy cannot compress {} bytes", decoded.len()))),
            bound => bound,
        };
        let room = encoded.spare(bound)?;
        let size = self.encoders.with(Encoder::new, |encoder| encoder.compress(decoded, room));
        encoded.advance(size.map_err(CodecError::encode)?);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let size = decompress_len(encoded).map_err(CodecError::corrupt)?;
        if encoded.is_empty() {
            return Err(CodecError::corrupt("the block is empty"));
        }
        if size > decoded.remaining() {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        if size > encoded.len().saturating_mul(MAXIMUM_RATIO) {
            return Err(CodecError::corrupt("the block is too short for its declared size"));
        }
        let room = &mut decoded.spare(size)?[..size];
        let written = Decoder::new().decompress(encoded, room).map_err(CodecError::corrupt)?;
        decoded.advance(written);
        Ok(())
    }
}

#[derive(Deserialize)]
struct SnappyConfiguration {
    level: Option<i64>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let SnappyConfiguration { level: _has_no_effect } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Snappy::new())))
}
