//! The `imagecodecs_delta` codec: stores differences along one dimension, like the horizontal predictor of TIFF.
//!
//! Array to array: the first element along `axis`, followed by the difference of each element from the previous
//! one. Integers wrap around. Floats are subtracted as integers with the same bits. `axis` is a dimension,
//! counted from the end if it is negative, by default the last; `dist` is 1. Decoding is exact. The fill value
//! does not change.
//!
//! In v2, and in v3 as `numcodecs.imagecodecs_delta`, `shape` and `dtype` repeat the shape and the data type of the
//! chunk. `dtype` is required unless elements have one byte: without it, imagecodecs cannot read the bytes that it
//! writes.
//!
//! The codec differs from `numcodecs.delta`, which ignores dimensions.
//!
//! Source: `Delta` in imagecodecs; "Differencing Predictor" in TIFF 6.0.

mod differences;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::Number;
use zarr_plugin_kit::{array, typestrings};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Object, Output, Representation, Value, json,
};

use differences::Runs;

const NAME: &str = "imagecodecs_delta";

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name(NAME).with_id(NAME).with_aliases(&["numcodecs.imagecodecs_delta"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<DeltaConfiguration>()
    .about("Stores the differences between neighbouring elements along a dimension.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_delta", "configuration": {"axis": -1, "dist": 1}}"#)
        .with_data_types(&["uint8", "int16", "uint16", "float32", "float64"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_delta", "configuration": {"axis": 0}}"#)
        .with_data_types(&["uint8", "int32"])
        .with_shape(&[4, 6]),
    Example::v2(r#"{"id": "imagecodecs_delta", "shape": [4, 6], "dtype": "<i2", "axis": -1, "dist": 1}"#)
        .with_data_types(&["int16"])
        .with_shape(&[4, 6]),
];

/// Stores differences along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImagecodecsDelta {
    number: Number,
    axis: i64,
}

impl ImagecodecsDelta {
    /// Creates the codec for elements of `data_type` and a dimension, which is counted from the end if it is negative.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for booleans and complex numbers.
    pub fn new(data_type: &dyn DataType, axis: i64) -> CodecResult<Self> {
        let name = data_type.name();
        let number = Number::of(data_type).ok_or_else(|| {
            CodecError::Unsupported(format!("elements of data type `{name}` are not numbers"))
        })?;
        if !number.is_integer() && !number.is_float() {
            return Err(CodecError::Unsupported("elements are neither integers nor floats".to_owned()));
        }
        Ok(Self { number, axis })
    }

    /// Returns the division of the chunk along the dimension.
    fn runs(&self, array: &ArrayRepresentation) -> CodecResult<Runs> {
        if Number::of(&*array.data_type) != Some(self.number) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!(
                "the codec was created for a data type other than `{name}`"
            )));
        }
        Runs::new(&array.shape, self.axis, self.number.size())
    }
}

impl From<ImagecodecsDelta> for CodecEntry {
    fn from(codec: ImagecodecsDelta) -> Self {
        Self::new("imagecodecs_delta", json!({"dtype": codec.number.typestring(), "axis": codec.axis}))
    }
}

impl ArrayToArrayCodec for ImagecodecsDelta {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.runs(decoded)?;
        Ok(decoded.clone())
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let runs = self.runs(array)?;
        runs.check(decoded.len()).map_err(CodecError::encode)?;
        let room = &mut encoded.spare(decoded.len())?[..decoded.len()];
        room.copy_from_slice(decoded);
        runs.subtract(room);
        encoded.advance(decoded.len());
        Ok(())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let runs = self.runs(array)?;
        runs.check(encoded.len()).map_err(CodecError::corrupt)?;
        let room = &mut decoded.spare(encoded.len())?[..encoded.len()];
        room.copy_from_slice(encoded);
        runs.add(room);
        decoded.advance(encoded.len());
        Ok(())
    }
}

#[derive(Deserialize)]
struct DeltaConfiguration {
    shape: Option<Vec<u64>>,
    dtype: Option<String>,
    #[serde(default = "last")]
    axis: i64,
    #[serde(default = "one")]
    dist: u64,
}

fn last() -> i64 {
    -1
}

fn one() -> u64 {
    1
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::ArrayToArray(Arc::new(parse(creation, array(decoded)?)?)))
}

fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<ImagecodecsDelta> {
    let configuration: DeltaConfiguration = creation.parse()?;
    check_repeated(creation, array, &configuration)?;
    if configuration.dist != 1 {
        return Err(CodecError::Unsupported(format!("`dist` is {}; expected 1", configuration.dist)));
    }
    let delta = ImagecodecsDelta::new(&*array.data_type, configuration.axis)?;
    delta.runs(array)?;
    Ok(delta)
}

/// Checks the members that repeat the shape and the data type of the chunk.
fn check_repeated(
    creation: &Creation<'_>,
    array: &ArrayRepresentation,
    configuration: &DeltaConfiguration,
) -> CodecResult {
    if let Some(shape) = configuration.shape.as_ref().filter(|shape| **shape != array.shape) {
        let expected = &array.shape;
        return Err(CodecError::configuration(format!(
            "`shape` is {shape:?}, but the chunk has shape {expected:?}"
        )));
    }
    match &configuration.dtype {
        Some(text) => {
            let (dtype, order) = typestrings::data_type(creation, "dtype", text)?;
            typestrings::check_same(creation, "dtype", &*dtype, &order, array)
        }
        None if is_of_v3(creation) || array.data_type.elements().size() == Some(1) => Ok(()),
        None => Err(CodecError::configuration("`dtype` is missing; expected the data type of the chunk")),
    }
}

/// Returns whether the document names the codec of v3, whose configuration does not repeat shape and data type.
fn is_of_v3(creation: &Creation<'_>) -> bool {
    creation.format == Format::V3 && creation.identifier == NAME
}

/// Writes all members of the configuration in format `to`.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let delta = parse(creation, array)?;
    let mut members = Object::new();
    if to == Format::V2 {
        members.insert("shape", array.shape.iter().map(|&size| Value::from(size)).collect::<Value>());
        let (name, dtype) = typestrings::member("dtype", array, to)?;
        members.insert(name, dtype);
    }
    members.insert("axis", delta.axis);
    members.insert("dist", 1u64);
    Ok(members)
}
