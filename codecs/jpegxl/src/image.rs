//! Decoding an image in limited memory.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jxl::api::{
    Endianness, Event, ExtraChannel, JxlBasicInfo, JxlBitDepth, JxlDataFormat, JxlDecoder, JxlDecoderOptions,
    JxlOutputBuffer, JxlPixelFormat, Orientation, ProfileLevel,
};
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

/// Samples that the frames of a small image may have: an encoder may store parts of the image in other frames.
const SMALL: usize = 1 << 20;

/// Samples that a frame may have for each sample of the image.
const PER_SAMPLE: usize = 4;

/// Decodes an image whose header matches the chunk: the samples of all channels, pixel by pixel.
///
/// # Errors
///
/// [`CodecError::Corrupt`].
pub(crate) fn decode(stream: &[u8], expected: &Expected, room: &mut [u8]) -> CodecResult {
    // The decoder checks its own results with assertions.
    let run = AssertUnwindSafe(|| decode_or_panic(stream, expected, room));
    catch_unwind(run).unwrap_or_else(|_| Err(CodecError::corrupt("the decoder failed")))
}

fn decode_or_panic(mut stream: &[u8], expected: &Expected, room: &mut [u8]) -> CodecResult {
    let mut decoder = JxlDecoder::new(options(expected));
    let Event::BasicInfo = decoder.process(&mut stream, None, None).map_err(CodecError::corrupt)? else {
        return Err(CodecError::corrupt("the image ends in its header"));
    };
    let format = format(&decoder, expected)?;
    let sample_size = expected.sample.size();
    let color_size = format.color_type.samples_per_pixel() * sample_size;
    let others = format.extra_channel_format.iter().flatten().count();
    decoder.set_pixel_format(format).map_err(CodecError::corrupt)?;
    let height = expected.image.height as usize;
    if others == 0 {
        let row_size = room.len() / height;
        return decode_frame(decoder, stream, &mut [JxlOutputBuffer::new(room, height, row_size)]);
    }
    let pixels = height * expected.image.width as usize;
    let sizes = std::iter::once(color_size).chain(std::iter::repeat_n(sample_size, others));
    let mut planes: Vec<Vec<u8>> = sizes.map(|size| vec![0; size * pixels]).collect();
    let buffers = planes.iter_mut().map(|plane| {
        let row_size = plane.len() / height;
        JxlOutputBuffer::new(plane, height, row_size)
    });
    decode_frame(decoder, stream, &mut buffers.collect::<Vec<_>>())?;
    interleave(&planes, pixels, room);
    Ok(())
}

/// Returns the options of a decoder whose memory is limited in proportion to the chunk.
fn options(expected: &Expected) -> JxlDecoderOptions {
    let mut options = JxlDecoderOptions::default();
    options.adjust_orientation = false;
    // The decoder counts at least three samples of each pixel.
    options.sample_limit = Some(expected.count.saturating_mul(4 * PER_SAMPLE).saturating_add(SMALL));
    options.max_profile_level = ProfileLevel::Main10;
    options
}

/// Compares the header with the chunk, and returns the format of the samples.
fn format(decoder: &JxlDecoder, expected: &Expected) -> CodecResult<JxlPixelFormat> {
    let unknown = || CodecError::corrupt("the image has no header");
    let header = decoder.basic_info().ok_or_else(unknown)?;
    let color_type = decoder.current_pixel_format().ok_or_else(unknown)?.color_type;
    let channels = &header.extra_channels;
    let (width, height) = header.size;
    expected.image.check(height, width, color_type.samples_per_pixel() + channels.len())?;
    check(header, expected)?;
    let bit_depth = u8::try_from(header.bit_depth.bits_per_sample()).map_err(CodecError::corrupt)?;
    let endianness = Endianness::native();
    let format = match expected.sample {
        Sample::U8 => JxlDataFormat::U8 { bit_depth },
        Sample::U16 => JxlDataFormat::U16 { endianness, bit_depth },
        Sample::F32 => JxlDataFormat::F32 { endianness },
    };
    let (color_type, others) = match (&**channels, color_type.add_alpha()) {
        ([channel], Some(with_alpha)) if channel.ec_type == ExtraChannel::Alpha => (with_alpha, None),
        _ => (color_type, Some(format)),
    };
    Ok(JxlPixelFormat {
        color_type,
        color_data_format: Some(format),
        extra_channel_format: vec![others; channels.len()],
    })
}

fn check(header: &JxlBasicInfo, expected: &Expected) -> CodecResult {
    if header.animation.is_some() {
        return Err(CodecError::corrupt("the image is an animation"));
    }
    if header.orientation != Orientation::Identity {
        return Err(CodecError::corrupt("the image is rotated or mirrored"));
    }
    let is_expected = match (expected.sample, &header.bit_depth) {
        (Sample::U8, JxlBitDepth::Int { bits_per_sample }) => *bits_per_sample <= 8,
        (Sample::U16, JxlBitDepth::Int { bits_per_sample }) => (9..=16).contains(bits_per_sample),
        (Sample::F32, JxlBitDepth::Float { bits_per_sample, .. }) => *bits_per_sample == 32,
        _ => false,
    };
    match is_expected {
        true => Ok(()),
        false => {
            let found = &header.bit_depth;
            Err(CodecError::corrupt(format!("samples are {found:?}; expected {:?}", expected.sample)))
        }
    }
}

/// Decodes the first frame that is shown.
fn decode_frame(
    mut decoder: JxlDecoder,
    mut stream: &[u8],
    buffers: &mut [JxlOutputBuffer<'_>],
) -> CodecResult {
    loop {
        match decoder.process(&mut stream, Some(buffers), None).map_err(CodecError::corrupt)? {
            Event::FrameHeader => {}
            Event::FrameComplete { .. } => return Ok(()),
            Event::BasicInfo | Event::Complete | Event::NeedMoreInput { .. } => {
                return Err(CodecError::corrupt("the image ends early"));
            }
        }
    }
}

/// Writes the samples of each of the `count` pixels together.
fn interleave(planes: &[Vec<u8>], count: usize, room: &mut [u8]) {
    let pixel_size = room.len() / count;
    let mut offset = 0;
    for plane in planes {
        let size = plane.len() / count;
        for (pixel, samples) in room.chunks_exact_mut(pixel_size).zip(plane.chunks_exact(size)) {
            pixel[offset..offset + size].copy_from_slice(samples);
        }
        offset += size;
    }
}
