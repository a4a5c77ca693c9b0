//! The `imagecodecs_jpeg` codec: reads chunks that are JPEG images.
//!
//! Array to bytes, for `uint8`; only decodes. A chunk without its dimensions of size 1 has rows and columns (a grey
//! image), only columns, or rows, columns and 3 samples. Images are baseline or progressive with 8 bits. The elements
//! of other decoders differ by up to 3, because the standard leaves the rounding of cosines and of colors to decoders.
//!
//! The dimensions in the image are compared with the chunk before any memory is allocated.
//!
//! | member | meaning |
//! |---|---|
//! | `tables` | base64 of an image without pixels, as in TIFF files; its tables are inserted before those of each chunk |
//! | `header` | base64 of the first bytes of every image; the chunks contain neither these bytes nor the end marker |
//! | `colorspace_jpeg`, `colorspace_data` | the colors in the image and those of the array: `GRAYSCALE` or 1, `RGB` or 2, `YCBCR` or 3; by default, the image declares its colors, and the array has RGB or grey |
//! | `squeeze` | the dimensions of size 1 that are removed; false for none |
//! | `lossless` | true, for the lossless process of the standard, is not supported |
//! | `bitspersample` | 8 |
//! | `fancyupsampling` | false, for colors without interpolation, is not supported |
//!
//! `level`, `subsampling`, `optimize`, `smoothing` and `predictor` affect only how chunks are written, and have no effect
//! here.
//!
//! v2 and final v3 have the codec as `imagecodecs_jpeg`; `numcodecs.imagecodecs_jpeg` is also read.
//!
//! Source: `Jpeg` in imagecodecs; ITU-T T.81; "Section 22: JPEG Compression" in TIFF 6.0.

mod colors;
mod errors;
mod stream;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Loss, Output,
    Representation, Size, Value,
};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use colors::Colors;
use errors::failed;
use stream::{Shared, is_complete, shared};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_jpeg")
            .with_id("imagecodecs_jpeg")
            .with_aliases(&["numcodecs.imagecodecs_jpeg"]),
        &create,
    )
    .configuration::<JpegConfiguration>()
    .about("Reads chunks that are JPEG images.", EXAMPLES)
    .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_jpeg", "configuration": {"level": 90}}"#)
        .with_data_types(&["uint8"])
        .with_shape(&[16, 24, 3])
        .with_loss(DIFFERENCE),
    Example::v2(
        r#"{"id": "imagecodecs_jpeg", "level": null, "bitspersample": null, "tables": null, "header": null,
            "colorspace_data": null, "colorspace_jpeg": null, "subsampling": null, "optimize": null,
            "smoothing": null, "lossless": null, "predictor": null, "squeeze": null}"#,
    )
    .with_data_types(&["uint8"])
    .with_shape(&[16, 24])
    .with_loss(DIFFERENCE),
];

/// The largest difference from the elements of libjpeg-turbo.
const DIFFERENCE: Loss = Loss::Absolute(3.0);

/// Reads chunks that are JPEG images.
#[derive(Debug)]
struct Jpeg {
    configuration: JpegConfiguration,
    shared: Shared,
}

/// The properties that the image of a chunk must have.
#[derive(Debug)]
struct Expected {
    image: ImageShape,
    colors: Colors,
    /// The size of the pixels in bytes.
    size: usize,
}

impl Jpeg {
    fn new(configuration: JpegConfiguration) -> CodecResult<Self> {
        if configuration.lossless == Some(true) {
            return Err(CodecError::Unsupported("`lossless` is true; expected null or false".to_owned()));
        }
        if configuration.fancyupsampling == Some(false) {
            return Err(CodecError::Unsupported(
                "`fancyupsampling` is false; expected null or true".to_owned(),
            ));
        }
        if let Some(bits) = configuration.bitspersample.filter(|&bits| bits != 8) {
            return Err(CodecError::Unsupported(format!("`bitspersample` is {bits}; expected 8")));
        }
        let tables = shared("tables", configuration.tables.as_deref())?;
        let header = shared("header", configuration.header.as_deref())?;
        Ok(Self { configuration, shared: Shared { tables, header } })
    }

    fn expected(&self, array: &ArrayRepresentation) -> CodecResult<Expected> {
        let JpegConfiguration { squeeze, colorspace_jpeg, colorspace_data, .. } = &self.configuration;
        let image = ImageShape::of(array, squeeze.as_ref())?;
        if Number::of(&*array.data_type) != Some(Number::U8) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!("elements are `{name}`; expected `uint8`")));
        }
        let colors = Colors::new(colorspace_jpeg.as_ref(), colorspace_data.as_ref(), image.samples)?;
        let too_large =
            || CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape));
        let size = array.element_count().ok_or_else(too_large)?;
        Ok(Expected { image, colors, size })
    }
}

impl Expected {
    /// Decodes `stream` to `pixels`, which have the size of the image.
    fn decode_to(&self, stream: &[u8], pixels: &mut [u8]) -> CodecResult {
        if !is_complete(stream) {
            return Err(CodecError::corrupt("the image ends early"));
        }
        let ImageShape { height, width, samples, .. } = self.image;
        let options = DecoderOptions::default()
            .set_max_width(width as usize)
            .set_max_height(height as usize)
            .set_strict_mode(true);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(stream), options);
        decoder.decode_headers().map_err(failed)?;
        let (Some(info), Some(stored)) = (decoder.info(), decoder.input_colorspace()) else {
            return Err(CodecError::corrupt("the image has no pixels"));
        };
        self.image.check(info.height.into(), info.width.into(), info.components.into())?;
        if samples as usize != stored.num_components() {
            return Err(CodecError::corrupt(format!("pixels are {stored:?}; expected {samples} samples")));
        }
        decoder.set_options(options.jpeg_set_out_colorspace(self.colors.output(stored)?));
        if decoder.output_buffer_size() != Some(pixels.len()) {
            return Err(CodecError::corrupt("the pixels of the image do not have the size of the chunk"));
        }
        decoder.decode_into(pixels).map_err(failed)
    }
}

impl ArrayToBytesCodec for Jpeg {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.expected(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let expected = self.expected(array)?;
        let stream = self.shared.completed(encoded)?;
        let pixels = &mut decoded.spare(expected.size)?[..expected.size];
        expected.decode_to(&stream, pixels)?;
        decoded.advance(expected.size);
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct JpegConfiguration {
    bitspersample: Option<u8>,
    tables: Option<String>,
    header: Option<String>,
    colorspace_data: Option<Value>,
    colorspace_jpeg: Option<Value>,
    lossless: Option<bool>,
    squeeze: Option<Value>,
    fancyupsampling: Option<bool>,
    level: Option<Value>,
    subsampling: Option<Value>,
    optimize: Option<Value>,
    smoothing: Option<Value>,
    predictor: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration: JpegConfiguration = creation.parse()?;
    let JpegConfiguration { level, subsampling, optimize, smoothing, predictor, .. } = &configuration;
    let _have_no_effect = [level, subsampling, optimize, smoothing, predictor];
    let codec = Jpeg::new(configuration)?;
    codec.expected(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
