//! The `lzf` codec: compresses each chunk with LibLZF, the fast compression that `h5py` adds to HDF5.
//!
//! Bytes to bytes. With `header`, which is the default, the stream follows the size of the chunk in four bytes, least
//! significant byte first. HDF5 stores only the stream. The encoded size depends on the data and is bounded. The
//! decoded size is computed from the stream before any memory is allocated.
//!
//! v2 and final v3 have the codec as `imagecodecs_lzf`; `numcodecs.imagecodecs_lzf` is also read.
//!
//! Source: `Lzf` in imagecodecs; the format of LibLZF.

mod stream;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output,
    Representation, Size, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lzf")
            .with_id("imagecodecs_lzf")
            .with_aliases(&["numcodecs.imagecodecs_lzf"]),
        &create,
    )
    .translated_by(&all_members::<LzfConfiguration>)
    .configuration::<LzfConfiguration>()
    .about("Compresses quickly, like the `lzf` filter of HDF5.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lzf", "configuration": {"header": true}}"#),
    Example::v3(r#"{"name": "imagecodecs_lzf", "configuration": {"header": false}}"#),
    Example::v2(r#"{"id": "imagecodecs_lzf", "header": true}"#),
];

/// Size in bytes of the field that precedes the stream and holds the decoded size.
const HEADER_SIZE: usize = 4;

/// Compresses each chunk to one LZF stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lzf {
    /// Whether the size of the chunk precedes the stream.
    pub header: bool,
}

impl From<Lzf> for CodecEntry {
    fn from(codec: Lzf) -> Self {
        Self::new("imagecodecs_lzf", json!({"header": codec.header}))
    }
}

impl Lzf {
    /// Returns the stream after the header, and the size in the header.
    fn split<'e>(&self, encoded: &'e [u8]) -> CodecResult<(&'e [u8], Option<usize>)> {
        if !self.header {
            return Ok((encoded, None));
        }
        let (header, stream) = encoded
            .split_first_chunk::<HEADER_SIZE>()
            .ok_or_else(|| CodecError::corrupt("the bytes are too few for the size of the chunk"))?;
        let size = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        Ok((stream, Some(size)))
    }
}

impl BytesToBytesCodec for Lzf {
    fn encoded_size(&self, decoded: Size) -> Size {
        match decoded.limit() {
            // Each run of up to 32 literals has a byte for its length.
            Some(limit) => Size::AtMost(limit.saturating_add(limit.div_ceil(32)).saturating_add(4)),
            None => Size::Unknown,
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        if self.header {
            let size = u32::try_from(decoded.len()).map_err(|_| {
                CodecError::encode(format!("{} bytes are too many for a size of 4 bytes", decoded.len()))
            })?;
            encoded.put(&size.to_le_bytes())?;
        }
        stream::encode(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let (stream, declared) = self.split(encoded)?;
        if declared.is_some_and(|declared| declared > decoded.remaining()) {
            return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
        }
        let size = stream::decoded_size(stream)?;
        if let Some(declared) = declared.filter(|&declared| declared != size) {
            return Err(CodecError::corrupt(format!("the stream holds {size} bytes; expected {declared}")));
        }
        stream::decode(stream, &mut decoded.spare(size)?[..size])?;
        decoded.advance(size);
        Ok(())
    }
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct LzfConfiguration {
    #[serde(default = "yes")]
    header: bool,
}

fn yes() -> bool {
    true
}

fn create(creation: &Creation<'_>, _decoded: &Representation) -> CodecResult<Codec> {
    let LzfConfiguration { header } = creation.parse()?;
    Ok(Codec::BytesToBytes(Arc::new(Lzf { header })))
}
