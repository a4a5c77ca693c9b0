//! The `cast_value` codec of Zarr: stores real numbers as another data type, with rules for values that do not
//! fit.
//!
//! Array to array, between integers and floats. Encoding and decoding apply the first of these rules that
//! matches a number:
//!
//! 1. `scalar_map` maps it. The first matching pair counts.
//! 2. The target type can represent it. Between floats, NaN stays NaN and -0.0 keeps its sign.
//! 3. It is rounded (`rounding`; by default to the nearest value, ties to even). If the result is out of range,
//!    `out_of_range` applies. `clamp` gives the smallest or largest integer, or an infinity. `wrap`, only for integers,
//!    keeps the lowest bits: it calculates modulo 2^n for a type of n bits. NaN and infinities cannot become integers.
//!
//! If no rule matches, encoding or decoding the chunk fails. The fill value is cast like an element and must
//! survive the round trip.
//!
//! `data_type` and the numbers of `scalar_map` have the form of final v3 in all formats. `+Infinity`, from an
//! example of the registry, is also read.
//!
//! Source: `cast_value` in the Zarr extension registry.

mod float;
mod integer;
mod rules;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{AnyNumber, Operand as _, is_time, try_each};
use zarr_plugin_kit::{Sides, array, with_any_number};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, DataType, Example, FillValue, Format,
    Identifiers, Loss, Object, Output, Representation, Value,
};

pub use rules::{OutOfRange, Rounding};
use rules::{Rules, Scalar, Target as _};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("cast_value").with_uri("https://zarr-kit.example/spec/codecs/cast-value/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<CastValueConfiguration>()
    .about("Stores numbers as another data type, with rules for values that do not fit.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "cast_value", "configuration": {"data_type": "int32"}}"#)
        .with_data_types(&["int16", "uint8"]),
    Example::v3(
        r#"{"name": "cast_value",
            "configuration": {"data_type": "int16", "rounding": "nearest-even",
            "out_of_range": "clamp"}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_loss(Loss::Unbounded),
    Example::v3(
        r#"{"name": "cast_value",
            "configuration": {"data_type": "float16", "out_of_range": "clamp"}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_loss(Loss::Unbounded),
    Example::v3(
        r#"{"name": "cast_value",
            "configuration": {"data_type": "uint8", "rounding": "towards-zero",
            "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", 255]],
            "decode": [[255, "NaN"]]}}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_loss(Loss::Unbounded),
    Example::v3(r#"{"name": "cast_value", "configuration": {"data_type": "uint8", "out_of_range": "wrap"}}"#)
        .with_data_types(&["int8"]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/cast-value/1.0",
            "configuration": {"data_type": "int16", "rounding": "nearest-even",
            "out_of_range": "clamp"}}"#,
    )
    .with_data_types(&["float32", "float64"])
    .with_loss(Loss::Unbounded),
];

/// Casts the elements of each chunk.
#[derive(Debug, Clone)]
pub struct CastValue {
    sides: Sides<AnyNumber>,
    encode: Rules,
    decode: Rules,
}

/// Pairs of source and target element, as bytes in native order. If an element has several pairs, the first one applies.
pub type ScalarMap = [(FillValue, FillValue)];

impl CastValue {
    /// Casts elements of `decoded` to elements of `encoded`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of them is neither an integer nor a float type;
    /// [`CodecError::InvalidConfiguration`] if floats would wrap around.
    pub fn new(
        decoded: &dyn DataType,
        encoded: Arc<dyn DataType>,
        rounding: Rounding,
        out_of_range: Option<OutOfRange>,
    ) -> Result<Self, CodecError> {
        let from = real(decoded)?;
        let to = real(&*encoded)?;
        if out_of_range == Some(OutOfRange::Wrap) && to.is_float() {
            let name = encoded.name();
            return Err(CodecError::configuration(format!(
                "`out_of_range` is `wrap`, but `{name}` is not an integer type"
            )));
        }
        let rules = |name: Cow<'_, str>, to: AnyNumber| {
            let name = name.into_owned();
            Rules { rounding, out_of_range, map: Vec::new(), bits: to.bits(), name }
        };
        Ok(Self {
            encode: rules(encoded.name(), to),
            decode: rules(decoded.name(), from),
            sides: Sides::new(from, to, encoded),
        })
    }

    /// Adds elements that are mapped before any other rule applies.
    ///
    /// # Errors
    ///
    /// [`CodecError::InvalidConfiguration`] if the bytes are not elements of the types.
    pub fn with_scalar_map(self, encode: &ScalarMap, decode: &ScalarMap) -> Result<Self, CodecError> {
        let from = self.sides.decoded;
        let to = self.sides.encoded;
        Ok(Self {
            encode: Rules { map: pairs(from, to, encode)?, ..self.encode },
            decode: Rules { map: pairs(to, from, decode)?, ..self.decode },
            sides: self.sides,
        })
    }

    fn configuration(&self) -> Object {
        let mut members = Object::from([("data_type", &*self.sides.encoded_type.name())]);
        members.insert("rounding", self.encode.rounding.name());
        if let Some(out_of_range) = self.encode.out_of_range {
            members.insert("out_of_range", out_of_range.name());
        }
        if !self.encode.map.is_empty() || !self.decode.map.is_empty() {
            let maps = [("encode", self.encode.map_json()), ("decode", self.decode.map_json())];
            members.insert("scalar_map", Object::from(maps));
        }
        members
    }

    /// Encodes the fill value and checks that it survives the round trip.
    fn cast_fill_value(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), CodecError> {
        let from = self.sides.decoded;
        let to = self.sides.encoded;
        let refused = |what| CodecError::Unsupported(format!("the fill value does not survive: {what}"));
        cast((from, decoded), (to, encoded), &self.encode).map_err(refused)?;
        let mut again = vec![0; decoded.len()];
        cast((to, encoded), (from, &mut again), &self.decode).map_err(refused)?;
        match (Scalar::of(from, decoded), Scalar::of(from, &again)) {
            (Some(before), Some(after)) if before.is(after) => Ok(()),
            (before, after) => {
                let print =
                    |scalar: Option<Scalar>| scalar.map_or("nothing".into(), |scalar| scalar.to_string());
                Err(refused(format!("{} is decoded as {}", print(before), print(after))))
            }
        }
    }
}

fn real(data_type: &dyn DataType) -> Result<AnyNumber, CodecError> {
    let number = AnyNumber::of(data_type).filter(|number| number.is_integer() || number.is_float());
    let number = number.filter(|_| !is_time(data_type));
    number.ok_or_else(|| {
        CodecError::Unsupported(format!("`{}` is not a data type of integers or floats", data_type.name()))
    })
}

fn pairs(from: AnyNumber, to: AnyNumber, map: &ScalarMap) -> Result<Vec<(Scalar, Scalar)>, CodecError> {
    let pairs =
        map.iter().map(|(key, value)| Scalar::of(from, key.bytes()).zip(Scalar::of(to, value.bytes())));
    pairs.collect::<Option<_>>().ok_or_else(|| {
        CodecError::configuration("a pair of `scalar_map` is not an element of each data type")
    })
}

/// Casts all elements of a slice. The error names the element that cannot be cast.
fn cast(from: (AnyNumber, &[u8]), to: (AnyNumber, &mut [u8]), rules: &Rules) -> Result<(), String> {
    const NOT_REAL: &str = "neither integers nor floats";
    with_any_number!(from.0, A => {
        integer: with_any_number!(to.0, B => {
            integer: try_each(from.1, to.1, |element: A| B::cast(element.into(), rules)),
            float: try_each(from.1, to.1, |element: A| B::cast(element.into(), rules)),
            other: Err(NOT_REAL.into()),
        }),
        float: with_any_number!(to.0, B => {
            integer: try_each(from.1, to.1, |element: A| B::cast(element.into(), rules)),
            float: try_each(from.1, to.1, |element: A| B::cast(element.into(), rules)),
            other: Err(NOT_REAL.into()),
        }),
        other: Err(NOT_REAL.into()),
    })
}

impl From<CastValue> for CodecEntry {
    fn from(codec: CastValue) -> Self {
        Self::new("cast_value", codec.configuration())
    }
}

impl ArrayToArrayCodec for CastValue {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        self.sides.representation(decoded, |from, to| self.cast_fill_value(from, to))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.sides.encode(array, decoded, encoded, |from, to| {
            let from = (self.sides.decoded, from);
            let to = (self.sides.encoded, to);
            cast(from, to, &self.encode).map_err(CodecError::encode)
        })
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        self.sides.decode(array, encoded, decoded, |from, to| {
            let from = (self.sides.encoded, from);
            let to = (self.sides.decoded, to);
            cast(from, to, &self.decode).map_err(CodecError::corrupt)
        })
    }
}

#[derive(Deserialize)]
struct CastValueConfiguration {
    data_type: Value,
    #[serde(default)]
    rounding: Rounding,
    out_of_range: Option<DeclaredOutOfRange>,
    scalar_map: Option<ScalarMapConfiguration>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum DeclaredOutOfRange {
    /// From an earlier edition of the registry; today a missing member has this meaning.
    Error,
    Clamp,
    Wrap,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalarMapConfiguration {
    #[serde(default)]
    encode: Vec<Vec<Value>>,
    #[serde(default)]
    decode: Vec<Vec<Value>>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let decoded = &array(decoded)?.data_type;
    let configuration: CastValueConfiguration = creation.parse()?;
    let document = DataTypeDocument::v3(&configuration.data_type, creation.reading)?;
    let encoded = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (encoded, _order) =
        encoded.map_err(|error| CodecError::configuration(format!("`data_type`: {error}")))?;
    let out_of_range = match configuration.out_of_range {
        Some(DeclaredOutOfRange::Error) => {
            creation.reading.tolerate("`out_of_range` is `error`; omit the member instead")?;
            None
        }
        Some(DeclaredOutOfRange::Clamp) => Some(OutOfRange::Clamp),
        Some(DeclaredOutOfRange::Wrap) => Some(OutOfRange::Wrap),
        None => None,
    };
    let mut codec = CastValue::new(&**decoded, Arc::clone(&encoded), configuration.rounding, out_of_range)?;
    if let Some(map) = configuration.scalar_map {
        let encode = elements(creation, &map.encode, &**decoded, &*encoded)?;
        codec = codec.with_scalar_map(&encode, &elements(creation, &map.decode, &*encoded, &**decoded)?)?;
    }
    Ok(Codec::ArrayToArray(Arc::new(codec)))
}

/// Returns the pairs of one direction.
fn elements(
    creation: &Creation<'_>,
    pairs: &[Vec<Value>],
    from: &dyn DataType,
    to: &dyn DataType,
) -> Result<Vec<(FillValue, FillValue)>, CodecError> {
    let context = FillContext::new(Format::V3, creation.reading);
    let element = |data_type: &dyn DataType, json: &Value| {
        let infinity = Value::from("Infinity");
        let json = if json.as_str() == Some("+Infinity") { &infinity } else { json };
        let element = data_type.fill_value(json, &context);
        element.map_err(|error| CodecError::configuration(format!("`scalar_map`: {error}")))
    };
    let pair = |pair: &Vec<Value>| match pair.as_slice() {
        [key, value] => Ok((element(from, key)?, element(to, value)?)),
        _ => Err(CodecError::configuration(format!(
            "`scalar_map` has an entry of {} numbers; expected a pair",
            pair.len()
        ))),
    };
    pairs.iter().map(pair).collect()
}

/// Returns the configuration, which is the same in every format, without members of an earlier edition.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let configuration: CastValueConfiguration = creation.parse()?;
    let mut members = creation.configuration.as_object().cloned().unwrap_or_default();
    if matches!(configuration.out_of_range, None | Some(DeclaredOutOfRange::Error)) {
        members.remove("out_of_range");
    }
    Ok(members)
}
