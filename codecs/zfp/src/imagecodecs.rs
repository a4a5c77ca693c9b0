//! The codec under the name `imagecodecs_zfp`, with the configuration of imagecodecs.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{array, typestrings};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Loss,
    Object, Output, Representation, Size, Value,
};

use crate::ZfpMode;
use crate::stream::{self, Header};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("imagecodecs_zfp")
            .with_id("imagecodecs_zfp")
            .with_aliases(&["numcodecs.imagecodecs_zfp"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<ImagecodecsConfiguration>()
    .about("Compresses numbers in up to 4 dimensions with zfp, with a header.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_zfp", "configuration": {"header": true}}"#)
        .with_data_types(&["int32", "int64", "float32", "float64"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_zfp", "configuration": {"header": false}}"#)
        .with_data_types(&["int32", "int64", "float32", "float64"])
        .with_shape(&[2, 3, 4, 5]),
    Example::v3(
        r#"{"name": "imagecodecs_zfp",
            "configuration": {"header": true, "mode": "FIXED_PRECISION", "level": 19}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_shape(&[2, 3, 4])
    .with_loss(Loss::Absolute(0.05)),
    Example::v2(
        r#"{"id": "imagecodecs_zfp", "shape": null, "dtype": null, "strides": null, "level": null, "mode": null,
            "execution": null, "numthreads": null, "chunksize": null, "header": true}"#,
    )
    .with_data_types(&["int32", "int64", "float32", "float64"])
    .with_shape(&[4, 6]),
];

/// Compresses to a zfp stream with a header, which declares at least the mode.
#[derive(Debug)]
struct ImagecodecsZfp {
    mode: ZfpMode,
    header: Header,
}

impl ArrayToBytesCodec for ImagecodecsZfp {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        stream::check_zfpy(array)?;
        // A stream may have been written in another mode.
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::check_zfpy(array)?;
        stream::encode(self.mode, Some(self.header), array, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        stream::check_zfpy(array)?;
        stream::decode(stream::Mode::Declared(self.header), array, encoded, decoded)
    }
}

/// The configuration of imagecodecs. `execution`, `numthreads` and `chunksize` affect only the speed of imagecodecs.
#[derive(Deserialize)]
struct ImagecodecsConfiguration {
    shape: Option<Vec<u64>>,
    dtype: Option<String>,
    strides: Option<Vec<i64>>,
    level: Option<u32>,
    mode: Option<String>,
    execution: Option<Value>,
    numthreads: Option<Value>,
    chunksize: Option<Value>,
    header: Option<bool>,
}

impl ImagecodecsConfiguration {
    fn codec(
        &self,
        creation: &Creation<'_>,
        array: &ArrayRepresentation,
    ) -> Result<ImagecodecsZfp, CodecError> {
        let _have_no_effect = [&self.execution, &self.numthreads, &self.chunksize];
        if self.strides.is_some() {
            return Err(CodecError::Unsupported("`strides` of zfp are not supported".into()));
        }
        let header = if self.header.unwrap_or(true) { Header::Full } else { Header::Mode };
        self.check_repeated(creation, array)?;
        Ok(ImagecodecsZfp { mode: self.mode()?, header })
    }

    /// Returns the mode. Like imagecodecs, ignores the level if the mode is not given.
    fn mode(&self) -> Result<ZfpMode, CodecError> {
        let mode = self.mode.as_deref().unwrap_or("REVERSIBLE");
        let mode = match (mode.to_ascii_uppercase().as_str(), self.level) {
            ("REVERSIBLE" | "NONE", _) => ZfpMode::Reversible,
            ("FIXED_RATE", Some(level)) => ZfpMode::FixedRate { rate: level.into() },
            ("FIXED_PRECISION", Some(level)) => ZfpMode::FixedPrecision { precision: level },
            ("FIXED_ACCURACY", Some(level)) => ZfpMode::FixedAccuracy { tolerance: level.into() },
            (_, None) => {
                return Err(CodecError::configuration(format!("`mode` \"{mode}\" requires a `level`")));
            }
            (_, Some(_)) => {
                return Err(CodecError::configuration(format!(
                    "`mode` is \"{mode}\"; expected REVERSIBLE, FIXED_RATE, FIXED_PRECISION or FIXED_ACCURACY"
                )));
            }
        };
        mode.checked()
    }

    /// Checks the members that repeat the shape and the data type of the chunk. imagecodecs writes them only in v2, for
    /// streams whose header does not declare them.
    fn check_repeated(&self, creation: &Creation<'_>, array: &ArrayRepresentation) -> Result<(), CodecError> {
        if let Some(shape) = self.shape.as_ref().filter(|shape| **shape != array.shape) {
            let expected = &array.shape;
            return Err(CodecError::configuration(format!(
                "`shape` is {shape:?}, but the chunk has shape {expected:?}"
            )));
        }
        let Some(dtype) = &self.dtype else { return Ok(()) };
        let (dtype, order) = typestrings::data_type(creation, "dtype", dtype)?;
        typestrings::check_same(creation, "dtype", &*dtype, &order, array)
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let array = array(decoded)?;
    let codec = creation.parse::<ImagecodecsConfiguration>()?.codec(creation, array)?;
    stream::check_zfpy(array)?;
    stream::encoded_size(codec.mode, array)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

/// Writes the members that imagecodecs writes in format `to`.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> Result<Object, CodecError> {
    let array = array(decoded)?;
    let configuration: ImagecodecsConfiguration = creation.parse()?;
    let codec = configuration.codec(creation, array)?;
    let mut members = Object::new();
    if to == Format::V2 && codec.header == Header::Mode {
        members.insert("shape", array.shape.iter().map(|&size| Value::from(size)).collect::<Value>());
        let (name, dtype) = typestrings::member("dtype", array, to)?;
        members.insert(name, dtype);
    }
    members.insert("header", codec.header == Header::Full);
    if let Some(level) = configuration.level {
        members.insert("level", level);
    }
    if let Some(mode) = configuration.mode {
        members.insert("mode", mode);
    }
    Ok(members)
}
