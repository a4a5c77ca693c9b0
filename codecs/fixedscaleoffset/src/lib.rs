//! The `fixedscaleoffset` codec of Zarr: numbers shifted, scaled and rounded.
//!
//! Array to array, lossy. Encoding calculates `(x - offset) * scale`, rounds to the nearest integer (ties to
//! even) and casts to `astype`. Decoding calculates `x / scale + offset` and casts to `dtype`. Both follow
//! NumPy: integer arithmetic wraps around, and `float32` stays `float32`. A value out of the range of `astype`
//! also wraps around; NaN and infinities become 0 or the smallest integer.
//!
//! The encoded fill value is the decoded fill value, encoded.
//!
//! Source: `FixedScaleOffset` of numcodecs, in v2 as `fixedscaleoffset`, in final v3 as
//! `numcodecs.fixedscaleoffset`.

mod scaling;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::Number;
use zarr_plugin_kit::{Sides, array, typestrings};
use zarr_spec::Number as JsonNumber;
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Loss, Object, Output, Representation, Value, json,
};

use scaling::Scaling;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.fixedscaleoffset")
            .with_id("fixedscaleoffset")
            .with_uri("https://zarr-kit.example/spec/codecs/fixedscaleoffset/1.0")
            .with_aliases(&["https://codec.zarrs.dev/array_to_array/fixedscaleoffset"]),
        &create,
    )
    .translated_by(&translate)
    .configuration::<FixedScaleOffsetConfiguration>()
    .about("Shifts and scales numbers and rounds them to integers.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.fixedscaleoffset",
            "configuration": {"offset": 0, "scale": 100, "dtype": "<f8", "astype": "<i4"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
    Example::v3(
        r#"{"name": "numcodecs.fixedscaleoffset",
            "configuration": {"offset": -50, "scale": 10, "dtype": "<f4", "astype": "<i2"}}"#,
    )
    .with_data_types(&["float32"])
    .with_loss(Loss::Unbounded),
    Example::v2(
        r#"{"id": "fixedscaleoffset", "offset": 1000, "scale": 10, "dtype": "<f8", "astype": "|u1"}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/fixedscaleoffset/1.0",
            "configuration": {"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "|u1"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
];

/// Shifts, scales and rounds the elements of each chunk.
#[derive(Debug, Clone)]
pub struct FixedScaleOffset {
    sides: Sides,
    scaling: Scaling,
}

/// An offset or a scale. Arithmetic with integers is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON has no other numbers")]
pub enum Parameter {
    /// An integer.
    Whole(i64),
    /// Any other number.
    Real(f64),
}

impl Parameter {
    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

impl From<Parameter> for Value {
    fn from(parameter: Parameter) -> Self {
        match parameter {
            Parameter::Whole(value) => value.into(),
            Parameter::Real(value) => value.into(),
        }
    }
}

impl FixedScaleOffset {
    /// Encodes elements of `dtype` as elements of `astype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of them is neither an integer nor a float type;
    /// [`CodecError::InvalidConfiguration`] if a parameter is not finite, or the scale is 0, which would lose
    /// all information.
    pub fn new(
        dtype: &dyn DataType,
        astype: Arc<dyn DataType>,
        offset: Parameter,
        scale: Parameter,
    ) -> CodecResult<Self> {
        if !offset.as_f64().is_finite() || !scale.as_f64().is_finite() || scale.as_f64() == 0.0 {
            return Err(CodecError::configuration(
                "`offset` and `scale` must be finite, and `scale` must not be 0",
            ));
        }
        let decoded = number(dtype)?;
        let encoded = number(&*astype)?;
        let sides = Sides::new(decoded, encoded, astype);
        Ok(Self { sides, scaling: Scaling { decoded, encoded, offset, scale } })
    }
}

impl From<FixedScaleOffset> for CodecEntry {
    fn from(codec: FixedScaleOffset) -> Self {
        Self::new(
            "fixedscaleoffset",
            json!({"offset": Value::from(codec.scaling.offset), "scale": Value::from(codec.scaling.scale), "dtype": codec.sides.decoded.typestring(), "astype": codec.sides.encoded.typestring()}),
        )
    }
}

impl ArrayToArrayCodec for FixedScaleOffset {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.sides.representation(decoded, |from, to| self.scaling.encode(from, to))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.sides.encode(array, decoded, encoded, |from, to| self.scaling.encode(from, to))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.sides.decode(array, encoded, decoded, |from, to| self.scaling.decode(from, to))
    }
}

fn number(data_type: &dyn DataType) -> CodecResult<Number> {
    let number = Number::of(data_type).filter(|number| number.is_integer() || number.is_float());
    number.ok_or_else(|| scaling::not_scaled(&data_type.name()))
}

#[derive(Deserialize)]
struct FixedScaleOffsetConfiguration {
    offset: JsonNumber,
    scale: JsonNumber,
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration = creation.parse()?;
    Ok(Codec::ArrayToArray(Arc::new(build(creation, &configuration, array(decoded)?)?)))
}

fn build(
    creation: &Creation<'_>,
    configuration: &FixedScaleOffsetConfiguration,
    array: &ArrayRepresentation,
) -> CodecResult<FixedScaleOffset> {
    let (dtype, order) = typestrings::data_type(creation, "dtype", &configuration.dtype)?;
    number(&*array.data_type)?;
    typestrings::check_same(creation, "dtype", &*dtype, &order, array)?;
    let (astype, encoded_order) = match &configuration.astype {
        Some(text) => typestrings::data_type(creation, "astype", text)?,
        None => (dtype, order),
    };
    let offset = parameter_of(&configuration.offset)?;
    let scale = parameter_of(&configuration.scale)?;
    let mut codec = FixedScaleOffset::new(&*array.data_type, astype, offset, scale)?;
    codec.sides.encoded_order = typestrings::have_orders(creation).then_some(encoded_order);
    Ok(codec)
}

/// Converts a number. Like Python, the arithmetic distinguishes `1` from `1.0`.
fn parameter_of(number: &JsonNumber) -> CodecResult<Parameter> {
    let real = || number.as_f64().map(Parameter::Real);
    let parameter = number.as_i64().map(Parameter::Whole).or_else(real);
    parameter.ok_or_else(|| CodecError::configuration(format!("{number} is not a number")))
}

/// Writes typestrings, which all formats use for this codec.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let configuration: FixedScaleOffsetConfiguration = creation.parse()?;
    let encoded = build(creation, &configuration, array)?.encoded(array)?;
    let astype =
        configuration.astype.is_some().then(|| typestrings::member("astype", &encoded, to)).transpose()?;
    let members = [
        ("offset".to_owned(), Value::Number(configuration.offset)),
        ("scale".to_owned(), Value::Number(configuration.scale)),
        typestrings::member("dtype", array, to)?,
    ];
    Ok(members.into_iter().chain(astype).collect())
}
