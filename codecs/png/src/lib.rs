//! The `imagecodecs_png` codec: stores each chunk as a PNG image.
//!
//! Array to bytes, for `uint8` and `uint16`. A chunk without its dimensions of size 1 has rows and columns (a grey
//! image), only columns, or rows, columns and 2 to 4 samples: grey and alpha; red, green and blue; or these and alpha.
//! An image with a palette or with fewer bits is expanded when it is read, and must then have these dimensions.
//!
//! The encoded size depends on the data. The dimensions in the image are compared with the chunk before any
//! memory is allocated.
//!
//! `level` is 0 to 9. It affects only how chunks are written, like `strategy`, `filter`, `primaries`, `transfer`
//! and `matrix`, which are preserved and have no effect here. `squeeze` chooses the dimensions of size 1 that are removed:
//! false for none, or a list with a Boolean for each.
//!
//! v2 and final v3 have the codec as `imagecodecs_png`; `numcodecs.imagecodecs_png` is also read. The same images of another
//! library are `imagecodecs_spng`.
//!
//! Source: `Png` and `Spng` in imagecodecs; "Portable Network Graphics (PNG) Specification".

mod image;

use std::sync::Arc;

use png::{BitDepth, Compression, Decoder, Encoder, Limits, Transformations};
use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size, Value, json,
};

use image::Image;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_png")
            .with_id("imagecodecs_png")
            .with_aliases(&["numcodecs.imagecodecs_png"]),
        &create,
    )
    .configuration::<PngConfiguration>()
    .about("Stores each chunk as a PNG image.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_png", "configuration": {"level": 6}}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_png"}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[1, 4, 6, 3]),
    Example::v2(
        r#"{"id": "imagecodecs_png", "level": null, "strategy": null, "filter": null, "primaries": null,
            "transfer": null, "matrix": null, "squeeze": null}"#,
    )
    .with_data_types(&["uint8", "uint16"])
    .with_shape(&[4, 6]),
];

// imagecodecs has the same images of the library libspng under another name.
zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_spng")
            .with_id("imagecodecs_spng")
            .with_aliases(&["numcodecs.imagecodecs_spng"]),
        &create_spng,
    )
    .configuration::<SpngConfiguration>()
    .about("Stores each chunk as a PNG image.", EXAMPLES_SPNG)
);

const EXAMPLES_SPNG: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_spng", "configuration": {"level": 6}}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[4, 6]),
    Example::v2(r#"{"id": "imagecodecs_spng", "level": null, "squeeze": null}"#)
        .with_data_types(&["uint8", "uint16"])
        .with_shape(&[4, 6, 3]),
];

/// Memory that a decoder may allocate for other parts of an image than its pixels, in bytes.
const OTHER_PARTS: usize = 1 << 20;

/// Stores each chunk as a PNG image.
#[derive(Debug, Clone)]
pub struct Png {
    level: u8,
    compression: Compression,
    squeeze: Option<Value>,
}

impl Png {
    /// Creates the codec with a level from 0, which does not compress, to 9.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for another level.
    pub fn new(level: u8) -> Result<Self, CodecError> {
        let compression = match level {
            0 => Compression::NoCompression,
            1..=3 => Compression::Fast,
            4..=6 => Compression::Balanced,
            7..=9 => Compression::High,
            _ => return Err(CodecError::configuration(format!("`level` is {level}; expected 0 to 9"))),
        };
        Ok(Self { level, compression, squeeze: None })
    }

    fn image(&self, array: &ArrayRepresentation) -> Result<Image, CodecError> {
        Image::of(array, self.squeeze.as_ref())
    }
}

impl From<Png> for CodecEntry {
    fn from(codec: Png) -> Self {
        Self::new("imagecodecs_png", json!({"level": codec.level}))
    }
}

impl ArrayToBytesCodec for Png {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        self.image(array)?;
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let image = self.image(array)?;
        if decoded.len() != image.size {
            let found = decoded.len();
            return Err(CodecError::encode(format!("the chunk has {found} bytes; expected {}", image.size)));
        }
        let mut encoder = Encoder::new(&mut *encoded, image.width, image.height);
        encoder.set_color(image.color);
        encoder.set_depth(image.depth);
        encoder.set_compression(self.compression);
        let mut writer = encoder.write_header().map_err(failed)?;
        if image.depth == BitDepth::Sixteen {
            let mut stored = decoded.to_vec();
            image.swap(&mut stored);
            writer.write_image_data(&stored).map_err(failed)?;
        } else {
            writer.write_image_data(decoded).map_err(failed)?;
        }
        writer.finish().map_err(failed)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let image = self.image(array)?;
        let limits = Limits { bytes: image.size.saturating_add(OTHER_PARTS) };
        let mut decoder = Decoder::new_with_limits(std::io::Cursor::new(encoded), limits);
        decoder.set_transformations(Transformations::EXPAND);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let header = decoder.read_header_info().map_err(CodecError::corrupt)?;
        image.check_dimensions(header.width, header.height)?;
        let mut reader = decoder.read_info().map_err(CodecError::corrupt)?;
        let (color, depth) = reader.output_color_type();
        image.check_pixels(color, depth)?;
        let room = &mut decoded.spare(image.size)?[..image.size];
        reader.next_frame(room).map_err(CodecError::corrupt)?;
        reader.finish().map_err(CodecError::corrupt)?;
        image.swap(room);
        decoded.advance(image.size);
        Ok(())
    }
}

/// Converts an error of the encoder, which may contain an error of the output.
fn failed(error: png::EncodingError) -> CodecError {
    match error {
        png::EncodingError::IoError(error) => CodecError::encode(error),
        error => CodecError::encode(error),
    }
}

#[derive(Deserialize)]
struct PngConfiguration {
    level: Option<u8>,
    strategy: Option<Value>,
    filter: Option<Value>,
    primaries: Option<Value>,
    transfer: Option<Value>,
    matrix: Option<Value>,
    squeeze: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let PngConfiguration { level, squeeze, strategy, filter, primaries, transfer, matrix } =
        creation.parse()?;
    let _have_no_effect = [strategy, filter, primaries, transfer, matrix];
    let codec = Png { squeeze, ..Png::new(level.unwrap_or(6))? };
    codec.image(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

#[derive(Deserialize)]
struct SpngConfiguration {
    level: Option<u8>,
    squeeze: Option<Value>,
}

fn create_spng(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let SpngConfiguration { level, squeeze } = creation.parse()?;
    let codec = Png { squeeze, ..Png::new(level.unwrap_or(6))? };
    codec.image(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
