//! The `imagecodecs_jpegxl` codec: stores each chunk as a lossless JPEG XL image, and reads lossy ones.
//!
//! Array to bytes, for `uint8`, `uint16` and `float32`. A chunk without its dimensions of size 1 has rows
//! and columns (a grey image), only columns, or rows, columns and 2 to 4 samples: grey and another channel; red, green
//! and blue; or these and another channel. Animations are not read. Lossless images decode to the same elements as in
//! other programs. The elements of lossy images differ by rounding.
//!
//! Chunks are written without loss, even if the configuration allows a loss. Only these can be written: chunks of
//! `uint8`, and chunks of `uint16` with grey or three colors, both with at least two rows and columns. Arrays with
//! other chunks are read, and neither created nor written.
//!
//! The encoded size depends on the data. The dimensions in the image are compared with the chunk before it is
//! decoded, the memory of the decoder is limited, and an image is decoded again before it is stored.
//!
//! | member | meaning |
//! |---|---|
//! | `squeeze` | the dimensions of size 1 that are removed; false for none |
//! | `index` | 0, the first image |
//! | `keeporientation`, `planar` | true is not supported |
//! | `bitspersample` | the bits of an integer that are used |
//!
//! `level`, `effort`, `distance`, `lossless`, `decodingspeed`, `photometric`, `primaries`, `transfer`,
//! `perceptualheuristics`, `usecontainer` and `numthreads` affect only how chunks are written, and have no effect here.
//!
//! v2 and final v3 have the codec as `imagecodecs_jpegxl`; `numcodecs.imagecodecs_jpegxl` is also read.
//!
//! Source: `Jpegxl` in imagecodecs; ISO/IEC 18181.

mod encode;
mod image;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Object, Output,
    Representation, Size, Value,
};

use image::Sample;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_jpegxl")
            .with_id("imagecodecs_jpegxl")
            .with_aliases(&["numcodecs.imagecodecs_jpegxl"]),
        &create,
    )
    .configuration::<JpegxlConfiguration>()
    .about("Stores each chunk as a lossless JPEG XL image, and reads lossy ones.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_jpegxl", "configuration": {"lossless": true}}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_jpegxl", "configuration": {"lossless": true, "effort": 3}}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[1, 4, 6, 3]),
    Example::v2(
        r#"{"id": "imagecodecs_jpegxl", "level": null, "effort": null, "distance": null, "lossless": true,
            "decodingspeed": null, "photometric": null, "bitspersample": null, "planar": null,
            "usecontainer": null, "index": null, "keeporientation": null, "numthreads": null,
            "squeeze": null}"#,
    )
    .with_data_types(&["uint8", "uint16"])
    .with_shape(&[4, 6]),
];

/// Stores each chunk as a lossless JPEG XL image.
#[derive(Debug, Clone, Default)]
pub struct Jpegxl {
    squeeze: Option<Value>,
}

impl From<Jpegxl> for CodecEntry {
    fn from(_: Jpegxl) -> Self {
        let mut configuration = Object::new();
        configuration.insert("lossless", true);
        Self::new("imagecodecs_jpegxl", configuration)
    }
}

/// The properties that the image of a chunk must have.
#[derive(Debug, Clone, Copy)]
struct Expected {
    image: ImageShape,
    sample: Sample,
    /// The number of samples of the image.
    count: usize,
}

impl Jpegxl {
    fn expected(&self, array: &ArrayRepresentation) -> CodecResult<Expected> {
        let image = ImageShape::of(array, self.squeeze.as_ref())?;
        let sample = match Number::of(&*array.data_type) {
            Some(Number::U8) => Sample::U8,
            Some(Number::U16) => Sample::U16,
            Some(Number::F32) => Sample::F32,
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "elements are `{name}`; expected `uint8`, `uint16` or `float32`"
                )));
            }
        };
        let count = array.element_count().filter(|count| count.checked_mul(sample.size()).is_some());
        match (count, image.samples) {
            (Some(count), 1..=4) => Ok(Expected { image, sample, count }),
            _ => Err(CodecError::Unsupported(format!(
                "a chunk of shape {:?} is not a JPEG XL image; expected rows, columns and up to 4 samples",
                array.shape
            ))),
        }
    }
}

impl ArrayToBytesCodec for Jpegxl {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let expected = self.expected(array)?;
        let image = encode::encoded(&expected, decoded)?;
        let mut again = vec![0; expected.count * expected.sample.size()];
        let is_read = image::decode(&image, &expected, &mut again).is_ok();
        if !is_read || again != decoded {
            return Err(CodecError::encode("the image does not preserve the samples"));
        }
        Ok(encoded.put(&image)?)
    }

    fn encodes(&self, array: &ArrayRepresentation) -> bool {
        self.expected(array).is_ok_and(|expected| encode::options(&expected).is_some())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let expected = self.expected(array)?;
        let size = expected.count * expected.sample.size();
        let room = &mut decoded.spare(size)?[..size];
        image::decode(encoded, &expected, room)?;
        decoded.advance(size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct JpegxlConfiguration {
    squeeze: Option<Value>,
    index: Option<u64>,
    keeporientation: Option<bool>,
    planar: Option<bool>,
    bitspersample: Option<u8>,
    level: Option<Value>,
    effort: Option<Value>,
    distance: Option<Value>,
    lossless: Option<Value>,
    decodingspeed: Option<Value>,
    photometric: Option<Value>,
    primaries: Option<Value>,
    transfer: Option<Value>,
    perceptualheuristics: Option<Value>,
    usecontainer: Option<Value>,
    numthreads: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: JpegxlConfiguration = creation.parse()?;
    let JpegxlConfiguration { index, keeporientation, planar, squeeze, .. } = configuration;
    let _have_no_effect = (
        [configuration.level, configuration.effort, configuration.distance, configuration.lossless],
        [configuration.decodingspeed, configuration.photometric, configuration.usecontainer],
        [configuration.primaries, configuration.transfer, configuration.perceptualheuristics],
        (configuration.numthreads, configuration.bitspersample),
    );
    if let Some(index) = index.filter(|&index| index != 0) {
        return Err(CodecError::Unsupported(format!("`index` is {index}; expected 0")));
    }
    for (member, value) in [("keeporientation", keeporientation), ("planar", planar)] {
        if value == Some(true) {
            return Err(CodecError::Unsupported(format!("`{member}` is true; expected null or false")));
        }
    }
    let codec = Jpegxl { squeeze };
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
