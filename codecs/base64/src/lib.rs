//! The `base64` codec: encodes bytes as Base64 text.
//!
//! Bytes to bytes, without configuration. Three bytes become four characters of the standard alphabet; `=` pads
//! the last group, so the encoded size is known. Decoding refuses other characters, including line breaks, and
//! missing padding.
//!
//! The v3 draft does not define the codec; there it has a URI of this project.
//!
//! Source: `Base64` of numcodecs, in v2 as `base64`, in final v3 as `numcodecs.base64`; RFC 4648, section 4.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output, Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.base64")
            .with_id("base64")
            .with_uri("https://zarr-kit.example/spec/codecs/base64/1.0"),
        &create,
    )
    .translated_by(&all_members::<NoConfiguration>)
    .configuration::<NoConfiguration>()
    .about("Encodes bytes as Base64 text with padding.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.base64"}"#),
    Example::v2(r#"{"id": "base64"}"#),
    Example::draft(r#"{"type": "https://zarr-kit.example/spec/codecs/base64/1.0"}"#),
];

/// Encodes the bytes of each chunk as Base64.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Base64;

/// Bytes per group.
const DECODED: usize = 3;
/// Characters per group.
const ENCODED: usize = 4;

impl From<Base64> for CodecEntry {
    fn from(_no_parameters: Base64) -> Self {
        "base64".into()
    }
}

impl BytesToBytesCodec for Base64 {
    fn encoded_size(&self, decoded: Size) -> Size {
        let encoded = |size: u64| size.div_ceil(DECODED as u64).checked_mul(ENCODED as u64);
        match decoded {
            Size::Exact(size) => encoded(size).map_or(Size::Unknown, Size::Exact),
            Size::AtMost(size) => encoded(size).map_or(Size::Unknown, Size::AtMost),
            Size::Unknown => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let size = decoded.len().div_ceil(DECODED).saturating_mul(ENCODED);
        let written = STANDARD.encode_slice(decoded, encoded.spare(size)?).map_err(CodecError::encode)?;
        encoded.advance(written);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let (groups, _) = encoded.as_chunks::<ENCODED>();
        let padding = encoded.iter().rev().take(2).filter(|&&character| character == b'=').count();
        let size = (groups.len() * DECODED).saturating_sub(padding);
        let written = STANDARD.decode_slice(encoded, decoded.spare(size)?).map_err(CodecError::corrupt)?;
        decoded.advance(written);
        Ok(())
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Base64)))
}
