//! Pixels in memory and as stored.

use lerc::bitmask::BitMask;
use lerc::{Precision, Sample, decode_info, decode_into, encode_borrowed};
use zarr_plugin_kit::images::ImageShape;
use zarr_spec::CodecError;
use zarr_spec::codec::CodecResult;

use crate::blocks;

/// A number that the format can store.
pub(crate) trait Pixel: Sample + PartialEq {
    /// Returns the numbers in bytes of native byte order.
    fn read(bytes: &[u8]) -> Vec<Self>;

    /// Writes the numbers in native byte order.
    fn write(pixels: &[Self], bytes: &mut [u8]);
}

macro_rules! pixels {
    ($($pixel:ty),*) => {$(
        impl Pixel for $pixel {
            fn read(bytes: &[u8]) -> Vec<Self> {
                let (elements, _rest) = bytes.as_chunks();
                elements.iter().map(|element| Self::from_ne_bytes(*element)).collect()
            }

            fn write(pixels: &[Self], bytes: &mut [u8]) {
                let (elements, _rest) = bytes.as_chunks_mut();
                elements.iter_mut().zip(pixels).for_each(|(element, pixel)| *element = pixel.to_ne_bytes());
            }
        }
    )*};
}

pixels!(i8, u8, i16, u16, i32, u32, f32, f64);

/// Encodes the pixels of an image.
///
/// # Errors
///
/// [`CodecError::Encode`] for numbers that the format cannot store.
pub(crate) fn encode<T: Pixel>(
    image: ImageShape,
    pixels: &[T],
    precision: Precision<T>,
) -> CodecResult<Vec<u8>> {
    let count = image.height as usize * image.width as usize;
    if pixels.len() != count * image.samples as usize {
        return Err(CodecError::encode(format!("the chunk has {} elements", pixels.len())));
    }
    if pixels.iter().any(|pixel| !pixel.to_f64().is_finite()) {
        return Err(CodecError::encode("NaN and infinity cannot be stored"));
    }
    let masks = [BitMask::all_valid(count)];
    let ImageShape { height, width, samples, .. } = image;
    let encoded = encode_borrowed(width, height, samples, 1, pixels, &masks, None, precision);
    let encoded = encoded.map_err(CodecError::encode)?;
    if precision == Precision::Lossless && !T::is_integer() {
        let mut again = vec![T::default(); pixels.len()];
        decode_into(&encoded, &mut again).map_err(CodecError::encode)?;
        let is_same = again.iter().zip(pixels).all(|(one, other)| one.to_bits_u64() == other.to_bits_u64());
        if !is_same {
            return Err(CodecError::encode("some elements cannot be stored without a change"));
        }
    }
    Ok(encoded)
}

/// Decodes the pixels of an image to all of `room`.
///
/// # Errors
///
/// [`CodecError::Corrupt`] for a damaged image, and for an image of other dimensions or another data type.
pub(crate) fn decode<T: Pixel>(image: ImageShape, encoded: &[u8], room: &mut [u8]) -> CodecResult {
    let found = decode_info(encoded).map_err(CodecError::corrupt)?;
    image.check(found.height as usize, found.width as usize, found.depth as usize)?;
    if found.bands != 1 {
        return Err(CodecError::corrupt(format!("the image has {} bands; expected 1", found.bands)));
    }
    if found.data_type != T::DATA_TYPE {
        return Err(CodecError::corrupt(format!(
            "pixels are {:?}; expected {:?}",
            found.data_type,
            T::DATA_TYPE
        )));
    }
    if blocks::decode(encoded, &found, room).is_some() {
        return Ok(());
    }
    let mut pixels = vec![T::default(); room.len() / size_of::<T>()];
    decode_into(encoded, &mut pixels).map_err(CodecError::corrupt)?;
    T::write(&pixels, room);
    Ok(())
}
