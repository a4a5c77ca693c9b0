//! The `imagecodecs_floatpred` codec: the floating-point predictor of TIFF.
//!
//! Array to bytes, for floats of 2, 4 and 8 bytes. Each row of a chunk is stored as the first bytes of all elements,
//! then all second bytes, and so on, most significant byte first. Each byte is then replaced by its difference from the
//! byte that is `dist` (1, 2 or 4) bytes before it. The encoded size is the decoded size, and decoding is exact.
//!
//! With `axis` -1, which is the default, a row is the last dimension. With -2 a row is the last two dimensions:
//! pixels of several samples. `dist` then counts pixels and is 1.
//!
//! In v2, and in v3 as `numcodecs.imagecodecs_floatpred`, `shape` and `dtype` are required and repeat the shape
//! and the data type of the chunk.
//!
//! Source: `Floatpred` in imagecodecs; "Floating Point Predictor" in Adobe's TIFF Technical Note 3.

mod rows;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::Number;
use zarr_plugin_kit::{array, typestrings};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Object, Output, Representation, Size, Value, json,
};

use rows::Rows;

const NAME: &str = "imagecodecs_floatpred";

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name(NAME).with_id(NAME).with_aliases(&["numcodecs.imagecodecs_floatpred"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<FloatpredConfiguration>()
    .about("Stores the bytes of floats by their significance, as differences.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "imagecodecs_floatpred", "configuration": {"axis": -1, "dist": 1}}"#)
        .with_data_types(&["float16", "float32", "float64"])
        .with_shape(&[4, 6]),
    Example::v3(r#"{"name": "imagecodecs_floatpred", "configuration": {"axis": -2}}"#)
        .with_data_types(&["float32"])
        .with_shape(&[2, 4, 3]),
    Example::v2(r#"{"id": "imagecodecs_floatpred", "shape": [4, 6], "dtype": "<f4", "axis": -1, "dist": 1}"#)
        .with_data_types(&["float32"])
        .with_shape(&[4, 6]),
];

/// Stores the bytes of floats by their significance, as differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floatpred {
    number: Number,
    axis: i64,
    distance: u64,
}

impl Floatpred {
    /// Creates the codec for elements of `data_type`. `axis` and `distance` are `axis` and `dist` of the configuration.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for elements that are not floats, and for a distance other than 1, 2 or 4.
    pub fn new(data_type: &dyn DataType, axis: i64, distance: u64) -> CodecResult<Self> {
        let name = data_type.name();
        let number = Number::of(data_type).ok_or_else(|| {
            CodecError::Unsupported(format!("elements of data type `{name}` are not floats"))
        })?;
        if !number.is_float() {
            return Err(CodecError::Unsupported("elements are not floats".to_owned()));
        }
        if ![1, 2, 4].contains(&distance) {
            return Err(CodecError::Unsupported(format!("`dist` is {distance}; expected 1, 2 or 4")));
        }
        Ok(Self { number, axis, distance })
    }

    fn rows(&self, array: &ArrayRepresentation) -> CodecResult<Rows> {
        if Number::of(&*array.data_type) != Some(self.number) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!(
                "the codec was created for a data type other than `{name}`"
            )));
        }
        Rows::new(&array.shape, self.axis, self.distance, self.number.size())
    }
}

impl From<Floatpred> for CodecEntry {
    fn from(codec: Floatpred) -> Self {
        Self::new(
            "imagecodecs_floatpred",
            json!({"dtype": codec.number.typestring(), "axis": codec.axis, "dist": codec.distance}),
        )
    }
}

impl ArrayToBytesCodec for Floatpred {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        Ok(Size::Exact(self.rows(array)?.size() as u64))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let rows = self.rows(array)?;
        rows.check(decoded.len()).map_err(CodecError::encode)?;
        rows.encode(decoded, &mut encoded.spare(decoded.len())?[..decoded.len()]);
        encoded.advance(decoded.len());
        Ok(())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let rows = self.rows(array)?;
        rows.check(encoded.len()).map_err(CodecError::corrupt)?;
        rows.decode(encoded, &mut decoded.spare(encoded.len())?[..encoded.len()]);
        decoded.advance(encoded.len());
        Ok(())
    }
}

#[derive(Deserialize)]
struct FloatpredConfiguration {
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
    Ok(Codec::ArrayToBytes(Arc::new(parse(creation, array(decoded)?)?)))
}

fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<Floatpred> {
    let configuration: FloatpredConfiguration = creation.parse()?;
    if creation.format != Format::V3 || creation.identifier != NAME {
        check_repeated(creation, array, &configuration)?;
    }
    let codec = Floatpred::new(&*array.data_type, configuration.axis, configuration.dist)?;
    codec.rows(array)?;
    Ok(codec)
}

/// Checks the members that repeat the shape and the data type of the chunk.
fn check_repeated(
    creation: &Creation<'_>,
    array: &ArrayRepresentation,
    configuration: &FloatpredConfiguration,
) -> CodecResult {
    let missing = |member| CodecError::configuration(format!("`{member}` is missing"));
    let shape = configuration.shape.as_ref().ok_or_else(|| missing("shape"))?;
    if *shape != array.shape {
        let expected = &array.shape;
        return Err(CodecError::configuration(format!(
            "`shape` is {shape:?}, but the chunk has shape {expected:?}"
        )));
    }
    let dtype = configuration.dtype.as_ref().ok_or_else(|| missing("dtype"))?;
    let (dtype, order) = typestrings::data_type(creation, "dtype", dtype)?;
    typestrings::check_same(creation, "dtype", &*dtype, &order, array)
}

/// Writes all members of the configuration in format `to`.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let codec = parse(creation, array)?;
    let mut members = Object::new();
    if to == Format::V2 {
        members.insert("shape", array.shape.iter().map(|&size| Value::from(size)).collect::<Value>());
        let (name, dtype) = typestrings::member("dtype", array, to)?;
        members.insert(name, dtype);
    }
    members.insert("axis", codec.axis);
    members.insert("dist", codec.distance);
    Ok(members)
}
