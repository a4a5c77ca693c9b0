//! The `imagecodecs_jpegls` codec: reads chunks that are JPEG-LS images.
//!
//! Array to bytes, for `uint8` and `uint16`; only decodes. A chunk without its dimensions of size 1 has rows and
//! columns (a grey image), only columns, or rows, columns and samples. Lossless images and images with a limited error
//! are read, with up to 16 bits per sample and every order of components. Color transforms, palettes and restart
//! markers are not supported.
//!
//! The dimensions in the image are compared with the chunk before any memory is allocated.
//!
//! `level`, `bitspersample`, `transformation` and `spiff` affect only how chunks are written, and have no effect here.
//! `squeeze` chooses the dimensions of size 1 that are removed: false for none, or a list with a Boolean for each.
//!
//! v2 and final v3 have the codec as `imagecodecs_jpegls`; `numcodecs.imagecodecs_jpegls` is also read.
//!
//! Source: `Jpegls` in imagecodecs; ITU-T T.87.

mod bits;
mod context;
mod gradients;
mod image;
mod lines;
mod parameters;
mod scan;
mod segments;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size, Value,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_jpegls")
            .with_id("imagecodecs_jpegls")
            .with_aliases(&["numcodecs.imagecodecs_jpegls"]),
        &create,
    )
    .configuration::<JpeglsConfiguration>()
    .about("Reads chunks that are JPEG-LS images.", EXAMPLES)
    .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_jpegls"}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_jpegls", "configuration": {"level": 2}}"#)
        .with_data_types(&["uint8"])
        .with_shape(&[2, 4, 3]),
    Example::v2(
        r#"{"id": "imagecodecs_jpegls", "level": null, "bitspersample": null, "transformation": null,
            "spiff": null, "squeeze": null}"#,
    )
    .with_data_types(&["uint8", "uint16"])
    .with_shape(&[4, 6]),
];

/// Reads chunks that are JPEG-LS images.
#[derive(Debug)]
struct Jpegls {
    squeeze: Option<Value>,
}

/// The properties that the image of a chunk must have.
#[derive(Debug, Clone, Copy)]
struct Expected {
    image: ImageShape,
    /// The size of a sample in bytes.
    sample_size: usize,
    /// The size of all samples in bytes.
    size: usize,
}

impl Jpegls {
    fn expected(&self, array: &ArrayRepresentation) -> CodecResult<Expected> {
        let image = ImageShape::of(array, self.squeeze.as_ref())?;
        let sample_size = match Number::of(&*array.data_type) {
            Some(Number::U8) => 1,
            Some(Number::U16) => 2,
            _ => {
                let name = array.data_type.name();
                return Err(CodecError::Unsupported(format!(
                    "elements are `{name}`; expected `uint8` or `uint16`"
                )));
            }
        };
        let size = array.element_count().and_then(|count| count.checked_mul(sample_size));
        match (size, u8::try_from(image.samples)) {
            (Some(size), Ok(_)) => Ok(Expected { image, sample_size, size }),
            _ => Err(CodecError::Unsupported(format!(
                "a chunk of shape {:?} is not a JPEG-LS image; expected rows, columns and up to 255 samples",
                array.shape
            ))),
        }
    }
}

impl ArrayToBytesCodec for Jpegls {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let expected = self.expected(array)?;
        let samples = &mut decoded.spare(expected.size)?[..expected.size];
        image::decode(encoded, &expected, samples)?;
        decoded.advance(expected.size);
        Ok(())
    }
}

#[derive(Deserialize)]
struct JpeglsConfiguration {
    squeeze: Option<Value>,
    level: Option<Value>,
    bitspersample: Option<Value>,
    transformation: Option<Value>,
    spiff: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let JpeglsConfiguration { squeeze, level, bitspersample, transformation, spiff } = creation.parse()?;
    let _have_no_effect = [level, bitspersample, transformation, spiff];
    let codec = Jpegls { squeeze };
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
