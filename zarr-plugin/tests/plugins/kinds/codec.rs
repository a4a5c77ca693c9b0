//! The codec `kinds.xor`: combines each byte of a chunk with a key by exclusive or.
//!
//! Bytes to bytes. The encoded size is the decoded size.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, Codec, CodecError, CodecPlugin};
use zarr_spec::{Creation, Example, Identifiers, Output, Representation, Size};

zarr_spec::register!(
    CodecPlugin::new(IDENTIFIERS, &create)
        .configuration::<Xor>()
        .about("Combines each byte with a key by exclusive or.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::name("kinds.xor").with_id("kinds.xor").with_uri("https://example.org/kinds/xor/1.0");

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "kinds.xor", "configuration": {"key": 170}}"#),
    Example::v2(r#"{"id": "kinds.xor", "key": 170}"#),
    Example::draft(r#"{"type": "https://example.org/kinds/xor/1.0", "configuration": {"key": 170}}"#),
];

/// Combines each byte with a key.
#[derive(Debug, Deserialize)]
struct Xor {
    key: u8,
}

impl BytesToBytesCodec for Xor {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        for block in decoded.chunks(4096) {
            let block: Vec<u8> = block.iter().map(|byte| byte ^ self.key).collect();
            encoded.put(&block)?;
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.encode(encoded, decoded)
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?)))
}
