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

/// Encodes `chunk` without loss.
///
/// # Errors
///
/// [`CodecError::Encode`] for a chunk that the encoder does not support.
pub(crate) fn encoded(expected: &Expected, chunk: &[u8]) -> CodecResult<Vec<u8>> {
    let image = &expected.image;
    let (colors, depth) = match (image.samples, expected.sample) {
        (1, Sample::U8) => (ColorSpace::Luma, BitDepth::Eight),
        (2, Sample::U8) => (ColorSpace::LumaA, BitDepth::Eight),
        (3, Sample::U8) => (ColorSpace::RGB, BitDepth::Eight),
        (4, Sample::U8) => (ColorSpace::RGBA, BitDepth::Eight),
        (1, Sample::U16) => (ColorSpace::Luma, BitDepth::Sixteen),
        (3, Sample::U16) => (ColorSpace::RGB, BitDepth::Sixteen),
        (samples, sample) => {
            return Err(CodecError::encode(format!(
                "images with {samples} samples of {sample:?} are only read; expected 1 to 4 samples of U8, or 1 or 3 \
                 of U16"
            )));
        }
    };
    let sides = [image.width, image.height].map(|side| usize::try_from(side).unwrap_or(usize::MAX));
    let [width, height] = sides;
    if sides.iter().any(|side| !(2..1 << 30).contains(side)) {
        return Err(CodecError::encode(format!(
            "images with {height} rows and {width} columns are only read; expected at least 2 of each"
        )));
    }
    let options = EncoderOptions::new(width, height, colors, depth);
    let mut encoded = Vec::new();
    // The encoder checks its own results with assertions.
    let run = AssertUnwindSafe(|| JxlSimpleEncoder::new(chunk, options).encode(&mut encoded));
    match catch_unwind(run) {
        Ok(Ok(_)) => Ok(encoded),
        Ok(Err(error)) => Err(CodecError::encode(error.to_string().trim().to_owned())),
        Err(_) => Err(CodecError::encode("the encoder failed")),
    }
}
