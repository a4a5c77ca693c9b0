//! The `quantize` codec of Zarr: floats rounded to decimal digits.
//!
//! Array to array, lossy. Each element is rounded to the nearest multiple of `1 / 2^bits` (ties to even), where
//! `2^bits` is the smallest power of two that is at least `10^digits`, and then cast to `astype`. The
//! calculation uses `dtype`. Decoding casts back.
//!
//! The encoded fill value is the decoded fill value, encoded.
//!
//! Source: `Quantize` of numcodecs, in v2 as `quantize`, in final v3 as `numcodecs.quantize`.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{Number, cast_each, each, f16};
use zarr_plugin_kit::{Cast, Sides, array, typestrings, with_number};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Loss, Object, Output, Representation, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.quantize")
            .with_id("quantize")
            .with_uri("https://zarr-kit.example/spec/codecs/quantize/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<QuantizeConfiguration>()
    .about("Rounds floats to a number of decimal digits so that they compress better.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.quantize", "configuration": {"digits": 3, "dtype": "<f8"}}"#)
        .with_data_types(&["float64"])
        .with_loss(Loss::Absolute(5e-4)),
    Example::v3(r#"{"name": "numcodecs.quantize", "configuration": {"digits": -1, "dtype": "<f4"}}"#)
        .with_data_types(&["float32"])
        .with_loss(Loss::Absolute(5.0)),
    Example::v3(
        r#"{"name": "numcodecs.quantize",
            "configuration": {"digits": 1, "dtype": "<f8", "astype": "<f4"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
    Example::v2(r#"{"id": "quantize", "digits": 3, "dtype": "<f8"}"#)
        .with_data_types(&["float64"])
        .with_loss(Loss::Absolute(5e-4)),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/quantize/1.0",
            "configuration": {"digits": 3, "dtype": "<f8"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Absolute(5e-4)),
];

/// Rounds the elements of each chunk to decimal digits.
#[derive(Debug, Clone)]
pub struct Quantize {
    digits: i32,
    scale: f64,
    sides: Sides,
}

impl Quantize {
    /// Keeps `digits` decimal places of elements of `dtype`, and stores them as `astype`. Negative `digits`
    /// also round digits before the decimal point.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of the types is not a float type;
    /// [`CodecError::InvalidConfiguration`] if `dtype` cannot represent the power of two for `digits`.
    pub fn new(digits: i32, dtype: &dyn DataType, astype: Arc<dyn DataType>) -> CodecResult<Self> {
        let decoded = float(dtype)?;
        let encoded = float(&*astype)?;
        let scale = (f64::from(digits) * std::f64::consts::LOG2_10).ceil().exp2();
        let (largest, smallest) = match decoded {
            Number::F16 => (f16::MAX.to_f64(), f16::MIN_POSITIVE.to_f64()),
            Number::F32 => (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)),
            _ => (f64::MAX, f64::MIN_POSITIVE),
        };
        if !(smallest..=largest).contains(&scale) {
            let name = dtype.name();
            return Err(CodecError::configuration(format!(
                "`digits` is {digits}, which is too large for `{name}`"
            )));
        }
        Ok(Self { digits, scale, sides: Sides::new(decoded, encoded, astype) })
    }

    fn round(&self, decoded: &[u8], encoded: &mut [u8]) -> CodecResult {
        let scale = self.scale;
        let sides = &self.sides;
        with_number!(sides.decoded, D => {
            integer: return Err(no_float(&sides.encoded_type.name())),
            float: {
                let scale: D = scale.cast();
                with_number!(sides.encoded, E => {
                    each(decoded, encoded, |element: D| -> E { ((element * scale).nearest() / scale).cast() });
                });
            },
            other: return Err(no_float(&sides.encoded_type.name())),
        });
        Ok(())
    }
}

/// Rounding to the nearest integer, ties to even.
trait Nearest {
    fn nearest(self) -> Self;
}

impl Nearest for f16 {
    fn nearest(self) -> Self {
        Self::from_f32(self.to_f32().round_ties_even())
    }
}

impl Nearest for f32 {
    fn nearest(self) -> Self {
        self.round_ties_even()
    }
}

impl Nearest for f64 {
    fn nearest(self) -> Self {
        self.round_ties_even()
    }
}

impl From<Quantize> for CodecEntry {
    fn from(codec: Quantize) -> Self {
        Self::new(
            "quantize",
            json!({"digits": codec.digits, "dtype": codec.sides.decoded.typestring(), "astype": codec.sides.encoded.typestring()}),
        )
    }
}

impl ArrayToArrayCodec for Quantize {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.sides.representation(decoded, |from, to| self.round(from, to))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.sides.encode(array, decoded, encoded, |from, to| self.round(from, to))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.sides.decode(array, encoded, decoded, |from, to| {
            cast_each((self.sides.encoded, from), (self.sides.decoded, to));
            Ok(())
        })
    }
}

fn float(data_type: &dyn DataType) -> CodecResult<Number> {
    let number = Number::of(data_type).filter(|number| number.is_float());
    number.ok_or_else(|| no_float(&data_type.name()))
}

fn no_float(name: &str) -> CodecError {
    CodecError::Unsupported(format!("expected floats, found data type `{name}`"))
}

#[derive(Deserialize)]
struct QuantizeConfiguration {
    digits: i32,
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let configuration = creation.parse()?;
    Ok(Codec::ArrayToArray(Arc::new(build(creation, &configuration, array(decoded)?)?)))
}

fn build(
    creation: &Creation<'_>,
    configuration: &QuantizeConfiguration,
    array: &ArrayRepresentation,
) -> CodecResult<Quantize> {
    float(&*array.data_type)?;
    let (dtype, order) = typestrings::data_type(creation, "dtype", &configuration.dtype)?;
    typestrings::check_same(creation, "dtype", &*dtype, &order, array)?;
    let (astype, encoded_order) = match &configuration.astype {
        Some(text) => typestrings::data_type(creation, "astype", text)?,
        None => (dtype, order),
    };
    let mut codec = Quantize::new(configuration.digits, &*array.data_type, astype)?;
    codec.sides.encoded_order = typestrings::have_orders(creation).then_some(encoded_order);
    Ok(codec)
}

/// Writes typestrings, which all formats use for this codec.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let configuration: QuantizeConfiguration = creation.parse()?;
    let encoded = build(creation, &configuration, array)?.encoded(array)?;
    let astype = configuration.astype.is_some().then(|| typestrings::member("astype", &encoded, to));
    let digits = Ok(("digits".to_owned(), Value::from(configuration.digits)));
    let dtype = typestrings::member("dtype", array, to);
    [digits, dtype].into_iter().chain(astype).collect()
}
