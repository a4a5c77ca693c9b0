//! The `imagecodecs_packbits` codec: stores repeated bytes once, like TIFF files with PackBits compression.
//!
//! Bytes to bytes: a run of up to 128 equal bytes takes two bytes, and up to 128 other bytes follow a byte with their
//! number. The encoded size depends on the data. The decoded size is computed from the stream before any memory is
//! allocated.
//!
//! This codec differs from `packbits`, which packs the bits of elements.
//!
//! v2 and final v3 have the codec as `imagecodecs_packbits`; `numcodecs.imagecodecs_packbits` is also read. Older
//! versions of imagecodecs also write `axis`. It only affects where their encoder ends runs, so it is read and ignored.
//!
//! Source: `Packbits` in imagecodecs; "PackBits Compression" in TIFF 6.0.

mod stream;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry};
use zarr_spec::{
    Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_packbits")
            .with_id("imagecodecs_packbits")
            .with_aliases(&["numcodecs.imagecodecs_packbits"]),
        &create,
    )
    .configuration::<PackbitsConfiguration>()
    .about("Stores repeated bytes once, like TIFF files with PackBits compression.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "imagecodecs_packbits"}"#), Example::v2(r#"{"id": "imagecodecs_packbits"}"#)];

/// Stores repeated bytes once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImagecodecsPackbits;

impl From<ImagecodecsPackbits> for CodecEntry {
    fn from(_no_parameters: ImagecodecsPackbits) -> Self {
        "imagecodecs_packbits".into()
    }
}

impl BytesToBytesCodec for ImagecodecsPackbits {
    /// Unknown, because other programs may store short runs, which take more bytes than the runs of this encoder.
    fn encoded_size(&self, _decoded: Size) -> Size {
        Size::Unknown
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        stream::encode(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let size = stream::decoded_size(encoded)?;
        stream::decode(encoded, &mut decoded.spare(size)?[..size])?;
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct PackbitsConfiguration {
    axis: Option<Value>,
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let PackbitsConfiguration { axis } = creation.parse()?;
    let _has_no_effect = axis;
    Ok(Codec::BytesToBytes(Arc::new(ImagecodecsPackbits)))
}
