//! Encoding an image.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;
use zune_core::bit_depth::BitDepth;
use zune_core::colorspace::ColorSpace;
use zune_core::options::EncoderOptions;
use zune_jpegxl::JxlSimpleEncoder;

use crate::Expected;
use crate::image::Sample;

/// Returns the options of the encoder for an image; `None` if the encoder does not support it.
pub(crate) fn options(expected: &Expected) -> Option<EncoderOptions> {
    let image = &expected.image;
    let (colors, depth) = match (image.samples, expected.sample) {
        (1, Sample::U8) => (ColorSpace::Luma, BitDepth::Eight),
        (2, Sample::U8) => (ColorSpace::LumaA, BitDepth::Eight),
        (3, Sample::U8) => (ColorSpace::RGB, BitDepth::Eight),
        (4, Sample::U8) => (ColorSpace::RGBA, BitDepth::Eight),
        (1, Sample::U16) => (ColorSpace::Luma, BitDepth::Sixteen),
        (3, Sample::U16) => (ColorSpace::RGB, BitDepth::Sixteen),
        _ => return None,
    };
    let side = |side: u32| usize::try_from(side).ok().filter(|side| (2..1 << 30).contains(side));
    Some(EncoderOptions::new(side(image.width)?, side(image.height)?, colors, depth))
}

/// Encodes `chunk` without loss.
///
/// # Errors
///
/// [`CodecError::Unsupported`] for an image that the encoder does not support; [`CodecError::Encode`].
pub(crate) fn encoded(expected: &Expected, chunk: &[u8]) -> CodecResult<Vec<u8>> {
    let options = options(expected).ok_or_else(CodecError::decodes_only)?;
    let mut encoded = Vec::new();
    // The encoder checks its own results with assertions.
    let run = AssertUnwindSafe(|| JxlSimpleEncoder::new(chunk, options).encode(&mut encoded));
    match catch_unwind(run) {
        Ok(Ok(_)) => Ok(encoded),
        Ok(Err(error)) => Err(CodecError::encode(error.to_string().trim().to_owned())),
        Err(_) => Err(CodecError::encode("the encoder failed")),
    }
}
