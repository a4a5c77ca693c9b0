//! The image that a chunk is stored as.

use png::{BitDepth, ColorType};
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::{ArrayRepresentation, CodecError, Value};

/// Dimensions and pixels of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) color: ColorType,
    pub(crate) depth: BitDepth,
    /// The size of the pixels in bytes.
    pub(crate) size: usize,
}

/// Maximum width and height in pixels.
const MAXIMUM: u32 = (1 << 31) - 1;

impl Image {
    /// Returns the image for a chunk, with the member `squeeze` of the configuration.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the chunk cannot be an image.
    pub(crate) fn of(array: &ArrayRepresentation, squeeze: Option<&Value>) -> Result<Self, CodecError> {
        let depth = match Number::of(&*array.data_type) {
            Some(Number::U8) => BitDepth::Eight,
            Some(Number::U16) => BitDepth::Sixteen,
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "a PNG image of `{name}` is not possible; expected `uint8` or `uint16`"
                )));
            }
        };
        let impossible = || {
            CodecError::Unsupported(format!(
                "a chunk of shape {:?} is not a PNG image; expected rows, columns and up to 4 samples",
                array.shape
            ))
        };
        let ImageShape { height, width, samples, .. } = ImageShape::of(array, squeeze)?;
        let color = match samples {
            1 => ColorType::Grayscale,
            2 => ColorType::GrayscaleAlpha,
            3 => ColorType::Rgb,
            4 => ColorType::Rgba,
            _ => return Err(impossible()),
        };
        if height.max(width) > MAXIMUM {
            return Err(impossible());
        }
        let bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
        let size = array.element_count().and_then(|count| count.checked_mul(bytes)).ok_or_else(impossible)?;
        Ok(Self { width, height, color, depth, size })
    }

    /// Checks the width and height of a stored image.
    pub(crate) fn check_dimensions(&self, width: u32, height: u32) -> Result<(), CodecError> {
        if width == self.width && height == self.height {
            return Ok(());
        }
        Err(CodecError::corrupt(format!(
            "the image has {width} × {height} pixels; expected {} × {}",
            self.width, self.height
        )))
    }

    /// Checks the kind and the depth of the samples of a stored image.
    pub(crate) fn check_pixels(&self, color: ColorType, depth: BitDepth) -> Result<(), CodecError> {
        if color == self.color && depth == self.depth {
            return Ok(());
        }
        Err(CodecError::corrupt(format!(
            "the image has pixels of {color:?} with {depth:?} bits; expected {:?} with {:?}",
            self.color, self.depth
        )))
    }

    /// Converts samples of two bytes between native and big endian.
    pub(crate) fn swap(&self, samples: &mut [u8]) {
        if self.depth == BitDepth::Sixteen && cfg!(target_endian = "little") {
            samples.chunks_exact_mut(2).for_each(<[u8]>::reverse);
        }
    }
}
