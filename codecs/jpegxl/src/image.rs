//! Decoding an image in limited memory.

use jxl_oxide::image::BitDepth;
use jxl_oxide::{AllocTracker, InitializeResult, JxlImage, JxlThreadPool};
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::Expected;

/// The data type of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    U8,
    U16,
    F32,
}

impl Sample {
    pub(crate) fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
        }
    }
}

/// The number of bytes that each call passes to the decoder until it knows the dimensions of the image.
const PIECE: usize = 64;

/// Memory that a decoder may use besides the buffers for samples, in bytes.
const WORKING_MEMORY: usize = 32 << 20;

/// Memory that a decoder may use for a sample, in bytes: it has several buffers of 32-bit numbers.
const PER_SAMPLE: usize = 32;

/// Reads an image whose header matches the chunk.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn opened(stream: &[u8], expected: &Expected) -> CodecResult<JxlImage> {
    let memory = expected.count.saturating_mul(PER_SAMPLE).saturating_add(WORKING_MEMORY);
    let builder = JxlImage::builder().pool(JxlThreadPool::none());
    let mut unknown = builder.alloc_tracker(AllocTracker::with_limit(memory)).build_uninit();
    // Bytes that the decoder did not consume are passed again, before the next piece.
    let mut from = 0;
    let mut end = 0;
    let mut image = loop {
        if end == stream.len() {
            return Err(CodecError::corrupt("the image ends in its header"));
        }
        end = stream.len().min(end + PIECE);
        from += unknown.feed_bytes(&stream[from..end]).map_err(CodecError::corrupt)?;
        match unknown.try_init().map_err(CodecError::corrupt)? {
            InitializeResult::NeedMoreData(more) => unknown = more,
            InitializeResult::Initialized(image) => break image,
        }
    };
    check(&image, expected)?;
    while end < stream.len() && !image.is_loading_done() {
        end = stream.len().min(end.saturating_add(1 << 16));
        from += image.feed_bytes(&stream[from..end]).map_err(CodecError::corrupt)?;
    }
    if !image.is_loading_done() {
        return Err(CodecError::corrupt("the image ends early"));
    }
    Ok(image)
}

/// Compares the header with the chunk.
fn check(image: &JxlImage, expected: &Expected) -> CodecResult {
    let header = &image.image_header().metadata;
    let colors = if header.grayscale() { 1 } else { 3 };
    let samples = colors + header.ec_info.len();
    expected.image.check(image.height() as usize, image.width() as usize, samples)?;
    if header.animation.is_some() {
        return Err(CodecError::corrupt("the image is an animation"));
    }
    if header.orientation != 1 {
        return Err(CodecError::corrupt("the image is rotated or mirrored"));
    }
    let depths = header.ec_info.iter().map(|channel| channel.bit_depth).chain([header.bit_depth]);
    for depth in depths {
        let is_expected = match (expected.sample, depth) {
            (Sample::U8, BitDepth::IntegerSample { bits_per_sample }) => bits_per_sample <= 8,
            (Sample::U16, BitDepth::IntegerSample { bits_per_sample }) => (9..=16).contains(&bits_per_sample),
            (Sample::F32, BitDepth::FloatSample { bits_per_sample, .. }) => bits_per_sample == 32,
            _ => false,
        };
        // `rendered` scales all channels by the same number, so their depths must be equal.
        if !is_expected || depth != header.bit_depth {
            return Err(CodecError::corrupt(format!(
                "samples are {depth:?}; expected {:?}",
                expected.sample
            )));
        }
    }
    Ok(())
}

/// Writes the samples of all channels, pixel by pixel.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn rendered(image: &JxlImage, expected: &Expected, room: &mut [u8]) -> CodecResult {
    let frame = image.render_frame(0).map_err(CodecError::corrupt)?.image_all_channels();
    expected.image.check(frame.height(), frame.width(), frame.channels())?;
    let samples = frame.buf();
    if samples.len() != expected.count {
        return Err(CodecError::corrupt("the image does not have the samples of the chunk"));
    }
    let largest = match image.image_header().metadata.bit_depth {
        BitDepth::IntegerSample { bits_per_sample } => (1u32 << bits_per_sample.min(16)) - 1,
        BitDepth::FloatSample { .. } => 1,
    };
    match expected.sample {
        Sample::U8 => room.iter_mut().zip(samples).for_each(|(byte, sample)| {
            *byte = u8::try_from(whole(*sample, largest)).unwrap_or(u8::MAX);
        }),
        Sample::U16 => room.chunks_exact_mut(2).zip(samples).for_each(|(bytes, sample)| {
            let number = u16::try_from(whole(*sample, largest)).unwrap_or(u16::MAX);
            bytes.copy_from_slice(&number.to_ne_bytes());
        }),
        Sample::F32 => room.chunks_exact_mut(4).zip(samples).for_each(|(bytes, sample)| {
            bytes.copy_from_slice(&sample.to_ne_bytes());
        }),
    }
    Ok(())
}

/// Converts a sample from 0 to 1 to the nearest integer up to `largest`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "casts from floats saturate, and the largest integer has 16 bits"
)]
fn whole(sample: f32, largest: u32) -> u32 {
    ((sample * largest as f32 + 0.5) as u32).min(largest)
}
