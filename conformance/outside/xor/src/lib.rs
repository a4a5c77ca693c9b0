//! The codec `outside.xor`: combines the bytes of a chunk with a repeated key by exclusive or.
//!
//! It is a bytes-to-bytes codec that does not change the size. It hides bytes from a casual look but does not protect
//! them.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{BytesToBytesCodec, Codec, CodecError, CodecPlugin, range_within};
use zarr_spec::{Creation, Example, Identifiers, Output, Representation, Size};

zarr_spec::register!(
    CodecPlugin::new(IDENTIFIERS, &create)
        .configuration::<Xor>()
        .about("Combines bytes with a repeated key by exclusive or.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::name("outside.xor")
    .with_id("outside.xor")
    .with_uri("https://outside.example/codecs/xor/1.0");

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "outside.xor", "configuration": {"key": "a5"}}"#),
    Example::v3(r#"{"name": "outside.xor", "configuration": {"key": "00ff10"}}"#),
    Example::v2(r#"{"id": "outside.xor", "key": "00ff10"}"#),
    Example::draft(
        r#"{"type": "https://outside.example/codecs/xor/1.0", "configuration": {"key": "00ff10"}}"#,
    ),
];

/// The codec, which consists of its configuration.
#[derive(Debug, Deserialize)]
struct Xor {
    key: Key,
}

/// The key: at least one byte, in documents two hexadecimal digits per byte.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Key(Vec<u8>);

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(digits: String) -> Result<Self, String> {
        let wrong = || "expected a key of at least one byte, as two hexadecimal digits per byte".to_owned();
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return Err(wrong()) };
        let byte = |pair: &[u8; 2]| {
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
            u8::try_from(high? << 4 | low?).ok()
        };
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes.filter(|bytes| !bytes.is_empty()).map(Self).ok_or_else(wrong)
    }
}

impl Xor {
    /// Appends `bytes`, which start at index `first` of their chunk.
    fn put(&self, bytes: &[u8], first: usize, output: &mut Output<'_>) -> Result<(), CodecError> {
        let room = &mut output.spare(bytes.len())?[..bytes.len()];
        let Key(key) = &self.key;
        let key = key.iter().cycle().skip(first % key.len());
        for ((to, from), key) in room.iter_mut().zip(bytes).zip(key) {
            *to = from ^ key;
        }
        output.advance(bytes.len());
        Ok(())
    }
}

impl BytesToBytesCodec for Xor {
    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.put(decoded, 0, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError> {
        self.put(encoded, 0, decoded)
    }

    /// Computes only the bytes in `range` and leaves the rest of the memory unchanged.
    fn decode_range(
        &self,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        range_within(&range, encoded.len())?;
        decoded.spare(encoded.len())?;
        decoded.advance(range.start);
        self.put(&encoded[range.clone()], range.start, decoded)?;
        decoded.advance(encoded.len() - range.end);
        Ok(())
    }
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::BytesToBytes(Arc::new(creation.parse::<Xor>()?)))
}
