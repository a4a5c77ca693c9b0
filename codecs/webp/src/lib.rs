//! The `imagecodecs_webp` codec: stores each chunk as a WebP image.
//!
//! Array to bytes, for `uint8`. A chunk without its dimensions of size 1 has rows, columns and 3 or 4 samples: red,
//! green, blue and perhaps alpha. Images are written lossless and read in every form, but animations are not read. An
//! image without alpha is read as opaque if the chunk has four samples.
//!
//! The encoded size depends on the data. The dimensions in the image are compared with the chunk before any memory is
//! allocated.
//!
//! | member | meaning |
//! |---|---|
//! | `squeeze` | the dimensions of size 1 that are removed; false for none |
//! | `hasalpha` | false: the alpha of images is left out if the chunk has three samples |
//! | `index` | 0, the first image |
//!
//! `level`, `lossless`, `method`, `delay` and `numthreads` affect only how other programs write chunks, and have no effect
//! here.
//!
//! v2 and final v3 have the codec as `imagecodecs_webp`; `numcodecs.imagecodecs_webp` is also read.
//!
//! Source: `Webp` in imagecodecs; RFC 9649.

mod container;

use std::io::Cursor;
use std::sync::Arc;

use image_webp::{ColorType, EncodingError, WebPDecoder, WebPEncoder};
use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size, Value, json,
};

use container::check_container;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_webp")
            .with_id("imagecodecs_webp")
            .with_aliases(&["numcodecs.imagecodecs_webp"]),
        &create,
    )
    .configuration::<WebpConfiguration>()
    .about("Stores each chunk as a WebP image.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_webp", "configuration": {"lossless": true}}"#)
        .with_data_types(&["uint8"])
        .with_shape(&[4, 6, 3]),
    Example::v3(r#"{"name": "imagecodecs_webp"}"#).with_data_types(&["uint8"]).with_shape(&[1, 4, 6, 4]),
    Example::v2(
        r#"{"id": "imagecodecs_webp", "level": null, "lossless": null, "method": null, "index": 0,
            "hasalpha": null, "numthreads": null, "squeeze": null}"#,
    )
    .with_data_types(&["uint8"])
    .with_shape(&[4, 6, 3]),
];

/// Maximum width and height in pixels.
const MAXIMUM: u32 = 1 << 14;

/// Stores each chunk as a lossless WebP image.
#[derive(Debug, Clone, Default)]
pub struct Webp {
    squeeze: Option<Value>,
    drops_alpha: bool,
}

impl From<Webp> for CodecEntry {
    fn from(_codec: Webp) -> Self {
        Self::new("imagecodecs_webp", json!({"lossless": true}))
    }
}

/// The properties that the image of a chunk must have.
struct Expected {
    image: ImageShape,
    /// The size of the pixels in bytes.
    size: usize,
}

impl Webp {
    fn expected(&self, array: &ArrayRepresentation) -> CodecResult<Expected> {
        let image = ImageShape::of(array, self.squeeze.as_ref())?;
        if Number::of(&*array.data_type) != Some(Number::U8) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!("elements are `{name}`; expected `uint8`")));
        }
        let is_small = image.height.max(image.width) <= MAXIMUM;
        match (array.element_count(), image.samples) {
            (Some(size), 3 | 4) if is_small => Ok(Expected { image, size }),
            _ => Err(CodecError::Unsupported(format!(
                "a chunk of shape {:?} is not a WebP image; expected at most {MAXIMUM} rows and columns of 3 or 4 samples",
                array.shape
            ))),
        }
    }
}

impl ArrayToBytesCodec for Webp {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let Expected { image, size } = self.expected(array)?;
        if decoded.len() != size {
            let found = decoded.len();
            return Err(CodecError::encode(format!("the chunk has {found} bytes; expected {size}")));
        }
        let color = if image.samples == 4 { ColorType::Rgba8 } else { ColorType::Rgb8 };
        let written = WebPEncoder::new(&mut *encoded).encode(decoded, image.width, image.height, color);
        written.map_err(|error| match error {
            EncodingError::IoError(error) => CodecError::encode(error),
            error => CodecError::encode(error),
        })
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let Expected { image, size } = self.expected(array)?;
        check_container(encoded, &image)?;
        let mut decoder = WebPDecoder::new(Cursor::new(encoded)).map_err(CodecError::corrupt)?;
        let (width, height) = decoder.dimensions();
        let found = if decoder.has_alpha() { 4 } else { 3 };
        if found > image.samples && !self.drops_alpha {
            return Err(CodecError::corrupt("the image has 4 samples; expected 3"));
        }
        image.check(height as usize, width as usize, image.samples as usize)?;
        let pixels = &mut decoded.spare(size)?[..size];
        if found == image.samples {
            decoder.read_image(pixels).map_err(CodecError::corrupt)?;
        } else {
            let count = size / image.samples as usize;
            let mut stored = vec![0; count * found as usize];
            decoder.read_image(&mut stored).map_err(CodecError::corrupt)?;
            let stored = stored.chunks_exact(found as usize);
            for (pixel, stored) in pixels.chunks_exact_mut(image.samples as usize).zip(stored) {
                pixel.fill(u8::MAX);
                pixel[..3].copy_from_slice(&stored[..3]);
            }
        }
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct WebpConfiguration {
    squeeze: Option<Value>,
    hasalpha: Option<bool>,
    index: Option<u64>,
    level: Option<Value>,
    lossless: Option<bool>,
    method: Option<Value>,
    delay: Option<Value>,
    numthreads: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let WebpConfiguration { squeeze, hasalpha, index, level, lossless, method, delay, numthreads } =
        creation.parse()?;
    let _have_no_effect = (lossless, [level, method, delay, numthreads]);
    if let Some(index) = index.filter(|&index| index != 0) {
        return Err(CodecError::Unsupported(format!("`index` is {index}; expected 0")));
    }
    let codec = Webp { squeeze, drops_alpha: hasalpha == Some(false) };
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
