//! The `imagecodecs_lerc` codec: compresses rasters with a limited error.
//!
//! Array to bytes, for integers of 8 to 32 bits, `float32` and `float64`. A chunk without its dimensions of size 1 has
//! rows and columns, only columns, or rows, columns and the values of a pixel. Versions 1 and 2 of the format are read,
//! and version 2 is written. Pixels that an image marks as missing decode to zeros.
//!
//! The encoded size depends on the data. The dimensions in the header are compared with the chunk before any memory is
//! allocated.
//!
//! | member | meaning |
//! |---|---|
//! | `level` | the largest error of an element; null or 0 for none |
//! | `squeeze` | the dimensions of size 1 that are removed; false for none |
//! | `planar` | true is not supported |
//! | `compression` | a second compression, which is not supported: null |
//!
//! `version` and `compressionargs` affect only how other programs write chunks, and have no effect here. Chunks with
//! NaN or infinity cannot be encoded. Without `level`, chunks for which the format would lose the sign of a zero cannot
//! be encoded either.
//!
//! v2 and final v3 have the codec as `imagecodecs_lerc`; `numcodecs.imagecodecs_lerc` is also read.
//!
//! Source: `Lerc` in imagecodecs; "LERC - Limited Error Raster Compression" of Esri.

mod blocks;
mod pixels;

use std::sync::Arc;

use lerc::Precision;
use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::images::ImageShape;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, CodecResult};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Loss, Object,
    Output, Representation, Size, Value,
};

use pixels::Pixel;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_lerc")
            .with_id("imagecodecs_lerc")
            .with_aliases(&["numcodecs.imagecodecs_lerc"]),
        &create,
    )
    .configuration::<LercConfiguration>()
    .about("Compresses rasters with a limited error.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_lerc"}"#)
        .with_data_types(&["int8", "uint8", "int16", "uint16", "int32", "uint32"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_lerc", "configuration": {"level": 0.5}}"#)
        .with_data_types(&["float32", "float64"])
        .with_shape(&[1, 4, 6, 3])
        .with_loss(Loss::Unbounded),
    Example::v2(
        r#"{"id": "imagecodecs_lerc", "level": null, "version": null, "planar": false, "squeeze": null,
            "compression": null, "compressionargs": null}"#,
    )
    .with_data_types(&["uint8", "int16"])
    .with_shape(&[4, 6]),
];

/// Compresses rasters with a limited error.
#[derive(Debug, Clone, Default)]
pub struct Lerc {
    level: f64,
    squeeze: Option<Value>,
}

impl Lerc {
    /// Creates the codec with the largest error of an element: 0 for none.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] for a negative or infinite error, and for NaN.
    pub fn new(level: f64) -> Result<Self, CodecError> {
        if level >= 0.0 && level.is_finite() {
            return Ok(Self { level, squeeze: None });
        }
        Err(CodecError::configuration(format!("`level` is {level}; expected a number from 0")))
    }

    fn image(&self, array: &ArrayRepresentation) -> CodecResult<ImageShape> {
        if array.element_count().is_none() {
            let shape = &array.shape;
            return Err(CodecError::Unsupported(format!("a chunk of shape {shape:?} is too large")));
        }
        ImageShape::of(array, self.squeeze.as_ref())
    }

    fn precision<T: Pixel>(&self) -> Precision<T> {
        if self.level > 0.0 { Precision::Tolerance(T::from_f64(self.level)) } else { Precision::Lossless }
    }

    fn encode_as<T: Pixel>(&self, image: ImageShape, decoded: &[u8]) -> CodecResult<Vec<u8>> {
        pixels::encode(image, &T::read(decoded), self.precision::<T>())
    }
}

impl From<Lerc> for CodecEntry {
    fn from(codec: Lerc) -> Self {
        let mut configuration = Object::new();
        if codec.level > 0.0 {
            configuration.insert("level", codec.level);
        }
        Self::new("imagecodecs_lerc", configuration)
    }
}

/// Evaluates an expression with the Rust type of the elements of `array`.
macro_rules! with_pixel {
    ($array:expr, $T:ident => $of_type:expr) => {
        match Number::of(&*$array.data_type) {
            Some(Number::I8) => with_pixel!(@ i8, $T, $of_type),
            Some(Number::U8) => with_pixel!(@ u8, $T, $of_type),
            Some(Number::I16) => with_pixel!(@ i16, $T, $of_type),
            Some(Number::U16) => with_pixel!(@ u16, $T, $of_type),
            Some(Number::I32) => with_pixel!(@ i32, $T, $of_type),
            Some(Number::U32) => with_pixel!(@ u32, $T, $of_type),
            Some(Number::F32) => with_pixel!(@ f32, $T, $of_type),
            Some(Number::F64) => with_pixel!(@ f64, $T, $of_type),
            _ => Err(CodecError::Unsupported(format!(
                "elements are `{}`; expected integers of 8 to 32 bits, `float32` or `float64`",
                $array.data_type.name()
            ))),
        }
    };
    (@ $pixel:ty, $T:ident, $of_type:expr) => {{
        type $T = $pixel;
        $of_type
    }};
}

impl ArrayToBytesCodec for Lerc {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        self.image(array)?;
        with_pixel!(array, T => {
            let _is_supported = T::default();
            Ok(Size::Unknown)
        })
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let image = self.image(array)?;
        let bytes = with_pixel!(array, T => self.encode_as::<T>(image, decoded))?;
        Ok(encoded.put(&bytes)?)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let image = self.image(array)?;
        let count = array.element_count().unwrap_or(usize::MAX);
        with_pixel!(array, T => {
            let size = count.saturating_mul(size_of::<T>());
            let room = &mut decoded.spare(size)?[..size];
            pixels::decode::<T>(image, encoded, room)?;
            decoded.advance(size);
            Ok(())
        })
    }
}

#[derive(Deserialize)]
struct LercConfiguration {
    level: Option<f64>,
    squeeze: Option<Value>,
    planar: Option<bool>,
    compression: Option<Value>,
    version: Option<Value>,
    compressionargs: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let LercConfiguration { level, squeeze, planar, compression, version, compressionargs } =
        creation.parse()?;
    let _have_no_effect = [version, compressionargs];
    if planar == Some(true) {
        return Err(CodecError::Unsupported("`planar` is true; expected null or false".to_owned()));
    }
    if let Some(compression) = compression {
        return Err(CodecError::Unsupported(format!("`compression` is {compression}; expected null")));
    }
    let codec = Lerc { squeeze, ..Lerc::new(level.unwrap_or(0.0))? };
    codec.encoded_size(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}
