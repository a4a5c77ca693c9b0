//! The `szip` codec: compresses each chunk by adaptive entropy coding, like the filter `szip` of HDF5.
//!
//! Bytes to bytes. The size of the chunk in four bytes, least significant byte first, precedes the stream, as in HDF5.
//! imagecodecs omits it if `header` is false. The chunk must then have one size, because the stream does not contain it.
//!
//! | member | meaning |
//! |---|---|
//! | `options_mask` | a sum, of which 16 (most significant byte first) and 32 (differences of pixels) have an effect |
//! | `pixels_per_block` | an even number up to 32: each block of pixels has its own form |
//! | `bits_per_pixel` | 1 to 24; the bytes of pixels with 32 and 64 bits are separated |
//! | `pixels_per_scanline` | at most 4096: a line begins with a pixel that is not a difference, and is filled to whole blocks |
//!
//! The encoder does not write the form for pairs of pixels (second extension); the decoder reads it. The encoded size
//! depends on the data and is bounded.
//!
//! v2 and final v3 have the codec as `imagecodecs_szip`; `numcodecs.imagecodecs_szip` is also read.
//!
//! `imagecodecs_aec` has the same blocks, without lines and without a size: see [`Aec`].
//!
//! Source: CCSDS 121.0-B-3; `Szip` and `Aec` in imagecodecs; libaec.

mod aec;
mod bits;
mod decode;
mod encode;
mod layout;
mod parameters;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_spec::codec::{BytesToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    Codec, CodecError, CodecPlugin, CodecResult, Creation, Example, Identifiers, LimitExceeded, Output,
    Representation, Size, json,
};

pub use aec::Aec;
use layout::Layout;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_szip")
            .with_id("imagecodecs_szip")
            .with_aliases(&["numcodecs.imagecodecs_szip"]),
        &create,
    )
    .translated_by(&all_members::<SzipConfiguration>)
    .configuration::<SzipConfiguration>()
    .about("Compresses like the `szip` filter of HDF5.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "imagecodecs_szip", "configuration": {"options_mask": 40, "pixels_per_block": 16,
            "bits_per_pixel": 8, "pixels_per_scanline": 100, "header": true}}"#,
    ),
    Example::v2(
        r#"{"id": "imagecodecs_szip", "options_mask": 4, "pixels_per_block": 8,
            "bits_per_pixel": 8, "pixels_per_scanline": 64, "header": true}"#,
    ),
];

/// Size in bytes of the field that precedes the stream and holds the decoded size.
const HEADER_SIZE: usize = 4;

/// Compresses each chunk like the `szip` filter of HDF5.
#[derive(Debug, Clone, Copy)]
pub struct Szip {
    options_mask: u32,
    pixels_per_block: usize,
    bits_per_pixel: u32,
    pixels_per_scanline: usize,
    layout: Layout,
    /// The size of each chunk in bytes, if it does not precede the stream.
    size: Option<usize>,
}

impl Szip {
    /// Creates the codec for pixels of 1 to 24, 32 or 64 bits in lines of at most 4096 pixels. Of the options of HDF5,
    /// 16 (most significant byte first) and 32 (differences of pixels) have an effect.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for other pixels and lines, or blocks that are not an even number up to 32.
    pub fn new(
        options_mask: u32,
        pixels_per_block: usize,
        bits_per_pixel: u32,
        pixels_per_scanline: usize,
    ) -> CodecResult<Self> {
        let layout = Layout::new(options_mask, pixels_per_block, bits_per_pixel, pixels_per_scanline)?;
        Ok(Self { options_mask, pixels_per_block, bits_per_pixel, pixels_per_scanline, layout, size: None })
    }

    /// Omits the size of the chunk, which has to be the same for all chunks.
    #[must_use]
    pub fn without_header(self, chunk_size: usize) -> Self {
        Self { size: Some(chunk_size), ..self }
    }
}

impl From<Szip> for CodecEntry {
    fn from(codec: Szip) -> Self {
        Self::new(
            "imagecodecs_szip",
            json!({
                "options_mask": codec.options_mask,
                "pixels_per_block": codec.pixels_per_block,
                "bits_per_pixel": codec.bits_per_pixel,
                "pixels_per_scanline": codec.pixels_per_scanline,
                "header": codec.size.is_none(),
            }),
        )
    }
}

impl BytesToBytesCodec for Szip {
    fn encoded_size(&self, decoded: Size) -> Size {
        let limit = decoded.limit().and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.and_then(|limit| self.layout.encoded_limit(limit));
        limit.map_or(Size::Unknown, |limit| Size::AtMost(limit.saturating_add(HEADER_SIZE as u64)))
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        if let Some(size) = self.size {
            check_size(size, decoded)?;
            return self.layout.encode(decoded, encoded);
        }
        let size = u32::try_from(decoded.len()).map_err(|_| {
            CodecError::encode(format!("{} bytes are too many for a size of 4 bytes", decoded.len()))
        })?;
        encoded.put(&size.to_le_bytes())?;
        self.layout.encode(decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        if let Some(size) = self.size {
            check_limit(size, decoded)?;
            return Ok(decoded.put(&self.layout.decode(encoded, size)?)?);
        }
        let (header, stream) = encoded
            .split_first_chunk::<HEADER_SIZE>()
            .ok_or_else(|| CodecError::corrupt("the bytes are too few for the size of the chunk"))?;
        let size = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        check_limit(size, decoded)?;
        Ok(decoded.put(&self.layout.decode(stream, size)?)?)
    }
}

/// The configuration, which is the same in every format. Written documents contain all members.
#[derive(Serialize, Deserialize)]
struct SzipConfiguration {
    options_mask: u32,
    pixels_per_block: usize,
    bits_per_pixel: u32,
    pixels_per_scanline: usize,
    #[serde(default = "yes")]
    header: bool,
}

fn yes() -> bool {
    true
}

/// Rejects a chunk of another size than the codec was created for.
fn check_size(size: usize, decoded: &[u8]) -> CodecResult {
    match decoded.len() == size {
        true => Ok(()),
        false => Err(CodecError::encode(format!(
            "the chunk has {} bytes; without their size, all chunks have {size} bytes",
            decoded.len()
        ))),
    }
}

/// Rejects a chunk that exceeds the output.
fn check_limit(size: usize, decoded: &Output<'_>) -> CodecResult {
    if size > decoded.remaining() {
        return Err(LimitExceeded { limit: decoded.written().len() + decoded.remaining() }.into());
    }
    Ok(())
}

/// Returns the size of all chunks, which a stream without its size needs.
fn known_size(decoded: &Representation) -> CodecResult<usize> {
    let size = match decoded {
        Representation::Array(array) => array.size(),
        Representation::Bytes(size) => *size,
    };
    match size {
        Size::Exact(size) => Ok(usize::try_from(size).unwrap_or(usize::MAX)),
        _ => Err(CodecError::Unsupported(
            "the stream does not contain the size of the chunk, and the preceding codec does not determine it".to_owned(),
        )),
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let SzipConfiguration { options_mask, pixels_per_block, bits_per_pixel, pixels_per_scanline, header } =
        creation.parse()?;
    let codec = Szip::new(options_mask, pixels_per_block, bits_per_pixel, pixels_per_scanline)?;
    let codec = if header { codec } else { codec.without_header(known_size(decoded)?) };
    Ok(Codec::BytesToBytes(Arc::new(codec)))
}
