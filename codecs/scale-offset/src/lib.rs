//! The `scale_offset` codec of Zarr: shifts and scales real numbers in their own data type.
//!
//! Array to array, between equal integer or float types. Encoding calculates `(x - offset) * scale`, decoding
//! `x / scale + offset`. Each step uses the data type, and a result that it cannot represent is an error:
//! integers that overflow, quotients with a remainder, and finite floats that become infinite. Floats are
//! rounded as usual.
//!
//! `offset` (0 by default) and `scale` (1 by default) have the form of a fill value of the array in final v3,
//! in all formats. The encoded fill value is the decoded fill value, encoded.
//!
//! Source: `scale_offset` in the Zarr extension registry.

mod arithmetic;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{AnyNumber, Element, Operand as _, is_time, try_each};
use zarr_plugin_kit::{Cast, Sides, array, with_any_number};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::data_type::FillContext;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, DataType, Example, FillValue, Format,
    Identifiers, Loss, Output, Representation, Value, json,
};

use arithmetic::Arithmetic;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("scale_offset").with_uri("https://zarr-kit.example/spec/codecs/scale-offset/1.0"),
        &create,
    )
    .configuration::<ScaleOffsetConfiguration>()
    .about("Shifts and scales numbers in their own data type.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}"#)
        .with_data_types(&["int16", "int64"])
        .with_loss(Loss::Unbounded),
    Example::v3(r#"{"name": "scale_offset", "configuration": {"offset": 273.15, "scale": 100}}"#)
        .with_data_types(&["float64"])
        .with_loss(Loss::Absolute(1e-9)),
    Example::v3(r#"{"name": "scale_offset", "configuration": {"scale": 0.5}}"#)
        .with_data_types(&["float32", "float64"])
        .with_loss(Loss::Unbounded),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/scale-offset/1.0",
            "configuration": {"offset": 5, "scale": 2}}"#,
    )
    .with_data_types(&["int16", "int64"])
    .with_loss(Loss::Unbounded),
];

/// Shifts and scales the elements of each chunk.
#[derive(Debug, Clone)]
pub struct ScaleOffset {
    sides: Sides<AnyNumber>,
    /// The offset, as the bytes of an element.
    offset: FillValue,
    /// The scale, as the bytes of an element.
    scale: FillValue,
}

impl ScaleOffset {
    /// Calculates in `data_type`. `offset` and `scale` are elements in native byte order; the defaults are 0
    /// and 1.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if elements are neither integers nor floats;
    /// [`CodecError::InvalidConfiguration`] if a parameter is not an element or not finite, or if the scale is
    /// 0, which would lose all information.
    pub fn new(
        data_type: Arc<dyn DataType>,
        offset: Option<FillValue>,
        scale: Option<FillValue>,
    ) -> Result<Self, CodecError> {
        let number = AnyNumber::of(&*data_type).filter(|_| !is_time(&*data_type));
        let number = number.ok_or_else(|| unsupported(&*data_type))?;
        let element = |value: u8| {
            let mut bytes = vec![0; number.size()];
            with_any_number!(number, T => {
                integer: Cast::<T>::cast(value).write(&mut bytes),
                float: Cast::<T>::cast(value).write(&mut bytes),
                other: return Err(unsupported(&*data_type)),
            });
            Ok(FillValue::new(bytes))
        };
        let offset = offset.map_or_else(|| element(0), Ok)?;
        let scale = scale.map_or_else(|| element(1), Ok)?;
        if offset.bytes().len() != number.size() || scale.bytes().len() != number.size() {
            return Err(CodecError::configuration("`offset` and `scale` must be elements of the data type"));
        }
        let is_usable = with_any_number!(number, T => {
            integer: T::read(scale.bytes()) != 0,
            float: {
                let (offset, scale): (f64, f64) =
                    (T::read(offset.bytes()).cast(), T::read(scale.bytes()).cast());
                offset.is_finite() && scale.is_finite() && scale != 0.0
            },
            other: return Err(unsupported(&*data_type)),
        });
        if !is_usable {
            return Err(CodecError::configuration(
                "`offset` and `scale` must be finite, and `scale` must not be 0",
            ));
        }
        let decoded = number;
        let encoded = number;
        let sides = Sides::new(decoded, encoded, data_type);
        Ok(Self { sides, offset, scale })
    }

    fn scaled(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), String> {
        with_any_number!(self.sides.decoded, T => {
            integer: self.scale_each::<T>(decoded, encoded),
            float: self.scale_each::<T>(decoded, encoded),
            other: Err("neither integers nor floats".into()),
        })
    }

    fn unscaled(&self, encoded: &[u8], decoded: &mut [u8]) -> Result<(), String> {
        with_any_number!(self.sides.decoded, T => {
            integer: self.unscale_each::<T>(encoded, decoded),
            float: self.unscale_each::<T>(encoded, decoded),
            other: Err("neither integers nor floats".into()),
        })
    }

    fn scale_each<T: Element + Arithmetic>(&self, decoded: &[u8], encoded: &mut [u8]) -> Result<(), String> {
        let (offset, scale, bits) = self.operands();
        try_each(decoded, encoded, |x: T| {
            x.scaled(offset, scale, bits).ok_or_else(|| self.is_none(&format!("({x} - {offset}) * {scale}")))
        })
    }

    fn unscale_each<T: Element + Arithmetic>(
        &self,
        encoded: &[u8],
        decoded: &mut [u8],
    ) -> Result<(), String> {
        let (offset, scale, bits) = self.operands();
        try_each(encoded, decoded, |x: T| {
            x.unscaled(offset, scale, bits).ok_or_else(|| self.is_none(&format!("{x} / {scale} + {offset}")))
        })
    }

    fn operands<T: Element>(&self) -> (T, T, u32) {
        (T::read(self.offset.bytes()), T::read(self.scale.bytes()), self.sides.decoded.bits())
    }

    fn is_none(&self, what: &str) -> String {
        format!("{what} cannot be represented as {}", self.sides.encoded_type.name())
    }
}

fn unsupported(data_type: &dyn DataType) -> CodecError {
    CodecError::Unsupported(format!("`{}` is not a data type of integers or floats", data_type.name()))
}

impl From<ScaleOffset> for CodecEntry {
    fn from(codec: ScaleOffset) -> Self {
        let json = |element: &FillValue| json(codec.sides.decoded, element.bytes());
        Self::new("scale_offset", json!({"offset": json(&codec.offset), "scale": json(&codec.scale)}))
    }
}

/// Returns the JSON form of a finite element.
fn json(number: AnyNumber, element: &[u8]) -> Value {
    with_any_number!(number, T => {
        integer: T::read(element).into(),
        float: {
            let value: f64 = T::read(element).cast();
            let single: f32 = value.cast();
            if number.size() > 4 { value.into() } else { single.into() }
        },
        // `ScaleOffset::new` refuses other numbers.
        other: Value::Null,
    })
}

impl ArrayToArrayCodec for ScaleOffset {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        self.sides.representation(decoded, |from, to| {
            let refused = |what| CodecError::Unsupported(format!("the fill value does not survive: {what}"));
            self.scaled(from, to).map_err(refused)
        })
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let scaled = |from: &[u8], to: &mut [u8]| self.scaled(from, to).map_err(CodecError::encode);
        self.sides.encode(array, decoded, encoded, scaled)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let unscaled = |from: &[u8], to: &mut [u8]| self.unscaled(from, to).map_err(CodecError::corrupt);
        self.sides.decode(array, encoded, decoded, unscaled)
    }
}

#[derive(Deserialize)]
struct ScaleOffsetConfiguration {
    offset: Option<Value>,
    scale: Option<Value>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let data_type = &array(decoded)?.data_type;
    let configuration: ScaleOffsetConfiguration = creation.parse()?;
    let context = FillContext::new(Format::V3, creation.reading);
    let element = |name: &str, json: &Option<Value>| {
        let element = json.as_ref().map(|json| data_type.fill_value(json, &context)).transpose();
        element.map_err(|error| CodecError::configuration(format!("`{name}`: {error}")))
    };
    let offset = element("offset", &configuration.offset)?;
    let scale = element("scale", &configuration.scale)?;
    Ok(Codec::ArrayToArray(Arc::new(ScaleOffset::new(Arc::clone(data_type), offset, scale)?)))
}
