//! The `fixedscaleoffset` codec of Zarr: numbers shifted, scaled and rounded.
//!
//! Array to array, with losses: `(x - offset) * scale`, rounded to the nearest integer (of two, the even one) and cast
//! to `astype`; decoded as `x / scale + offset`, cast to `dtype`. Both are calculated as NumPy does: integers with
//! integers wrap around, `float32` stays `float32`. A value that `astype` cannot hold wraps around too; NaN and
//! infinities have no integer and become 0 or the smallest one.
//!
//! The fill value of the encoded side is that of the decoded one, encoded.
//!
//! Source: `FixedScaleOffset` of numcodecs, in v2 as `fixedscaleoffset`, in final v3 as `numcodecs.fixedscaleoffset`.

mod number;
mod parameter;
mod scaling;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::chain::has_byte_order;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::json::Number as JsonNumber;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, DataType, Elements, FillValue,
    Format, Identifiers, Object, Output, Representation, Value,
};

use number::Number;
use scaling::Scaling;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/fixedscaleoffset/1.0"),
            name: "numcodecs.fixedscaleoffset",
            id: Some("fixedscaleoffset"),
            aliases: &["https://codec.zarrs.dev/array_to_array/fixedscaleoffset"],
        },
        create,
    )
    .translated_by(translate)
);

/// Shifts, scales and rounds.
#[derive(Debug, Clone)]
pub struct FixedScaleOffset {
    scaling: Scaling,
    encoded_type: Arc<dyn DataType>,
    /// Of the encoded side where the configuration declares it: in v2.
    encoded_order: Option<ByteOrder>,
}

/// What is subtracted, or multiplied by. Integers are calculated with as such.
#[derive(Debug, Clone, Copy, PartialEq)]
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

impl FixedScaleOffset {
    /// From elements of `dtype` to elements of `astype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of them is neither integer nor float; [`CodecError::InvalidConfiguration`]
    /// for a parameter that is not finite, and for a scale of 0, after which nothing is left.
    pub fn new(
        dtype: &dyn DataType,
        astype: Arc<dyn DataType>,
        offset: Parameter,
        scale: Parameter,
    ) -> Result<Self, CodecError> {
        if !offset.as_f64().is_finite() || !scale.as_f64().is_finite() || scale.as_f64() == 0.0 {
            return Err(CodecError::configuration("`offset` and `scale` are finite, and `scale` is not 0"));
        }
        let scaling = Scaling { decoded: number(dtype)?, encoded: number(&*astype)?, offset, scale };
        Ok(Self { scaling, encoded_type: astype, encoded_order: None })
    }

    /// The number of elements, when that is what `array` and both sides have.
    fn count(&self, array: &ArrayRepresentation) -> Result<usize, CodecError> {
        if Number::of(&*array.data_type) != Some(self.scaling.decoded) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!("it was not created for data type `{name}`")));
        }
        let largest = usize::MAX / self.scaling.decoded.size().max(self.scaling.encoded.size());
        let count = array.element_count().filter(|&count| count <= largest);
        count.ok_or_else(|| {
            CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
        })
    }
}

impl ArrayToArrayCodec for FixedScaleOffset {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        self.count(decoded)?;
        let fill_value = decoded.fill_value.bytes();
        if fill_value.len() != self.scaling.decoded.size() {
            return Err(CodecError::Unsupported(format!("a fill value of {} bytes", fill_value.len())));
        }
        let mut encoded_fill_value = vec![0; self.scaling.encoded.size()];
        self.scaling.encode(fill_value, &mut encoded_fill_value);
        Ok(ArrayRepresentation {
            shape: decoded.shape.clone(),
            data_type: Arc::clone(&self.encoded_type),
            fill_value: FillValue::new(encoded_fill_value),
            byte_order: self.encoded_order.clone().unwrap_or_else(|| decoded.byte_order.clone()),
        })
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let count = self.count(array)?;
        if decoded.len() != count * self.scaling.decoded.size() {
            return Err(CodecError::encode(format!("{} bytes are not {count} elements", decoded.len())));
        }
        let size = count * self.scaling.encoded.size();
        self.scaling.encode(decoded, &mut encoded.spare(size)?[..size]);
        encoded.advance(size);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let count = self.count(array)?;
        if encoded.len() != count * self.scaling.encoded.size() {
            return Err(CodecError::corrupt(format!("{} bytes are not {count} elements", encoded.len())));
        }
        let size = count * self.scaling.decoded.size();
        self.scaling.decode(encoded, &mut decoded.spare(size)?[..size]);
        decoded.advance(size);
        Ok(())
    }
}

fn number(data_type: &dyn DataType) -> Result<Number, CodecError> {
    Number::of(data_type).ok_or_else(|| {
        CodecError::Unsupported(format!("elements of data type `{}` cannot be scaled", data_type.name()))
    })
}

#[derive(Deserialize)]
struct FixedScaleOffsetConfiguration {
    offset: JsonNumber,
    scale: JsonNumber,
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let configuration = creation.parse()?;
    Ok(Codec::ArrayToArray(Arc::new(build(creation, &configuration, array(decoded)?)?)))
}

fn build(
    creation: &Creation<'_>,
    configuration: &FixedScaleOffsetConfiguration,
    array: &ArrayRepresentation,
) -> Result<FixedScaleOffset, CodecError> {
    let (dtype, order) = parameter::data_type(creation, "dtype", &configuration.dtype)?;
    check_type(creation, array, &*dtype, &order)?;
    let (astype, encoded_order) = match &configuration.astype {
        Some(text) => parameter::data_type(creation, "astype", text)?,
        None => (dtype, order),
    };
    let (offset, scale) = (parameter_of(&configuration.offset)?, parameter_of(&configuration.scale)?);
    let codec = FixedScaleOffset::new(&*array.data_type, astype, offset, scale)?;
    Ok(FixedScaleOffset { encoded_order: has_orders(creation).then_some(encoded_order), ..codec })
}

/// Python tells `1` from `1.0`, and so does the arithmetic.
fn parameter_of(number: &JsonNumber) -> Result<Parameter, CodecError> {
    let real = || number.as_f64().map(Parameter::Real);
    let parameter = number.as_i64().map(Parameter::Whole).or_else(real);
    parameter.ok_or_else(|| CodecError::configuration(format!("{number} is not a number")))
}

/// `dtype` says again what the array holds. v2 says the byte order twice as well, and with another one other numbers
/// would be scaled.
fn check_type(
    creation: &Creation<'_>,
    array: &ArrayRepresentation,
    dtype: &dyn DataType,
    order: &ByteOrder,
) -> Result<(), CodecError> {
    let (name, array_name) = (dtype.name(), array.data_type.name());
    if number(&*array.data_type)? != number(dtype)? {
        return Err(CodecError::configuration(format!(
            "`dtype` is `{name}`, and the chunk holds `{array_name}`"
        )));
    }
    let ordered = matches!(dtype.elements(), Elements::Fixed { units, .. } if has_byte_order(&units));
    if has_orders(creation) && ordered && *order != array.byte_order {
        let (order, other) = (order_name(order), order_name(&array.byte_order));
        return Err(CodecError::configuration(format!(
            "`dtype` is {order} `{name}`, and the chunk is {other}"
        )));
    }
    Ok(())
}

/// Whether the byte orders of typestrings mean something: in v2, and for the filters of v2, by their names there, that
/// the first generation of the draft hides among the attributes.
fn has_orders(creation: &Creation<'_>) -> bool {
    let is_older_draft = creation.format == Format::V3Draft && !creation.identifier.contains(':');
    creation.format == Format::V2 || is_older_draft
}

fn order_name(order: &ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little endian",
        ByteOrder::Big => "big endian",
        ByteOrder::Mixed(_) => "of mixed byte order",
    }
}

fn array(decoded: &Representation) -> Result<&ArrayRepresentation, CodecError> {
    match decoded {
        Representation::Array(array) => Ok(array),
        Representation::Bytes(_) => {
            Err(CodecError::Unsupported("it wants an array, and the codec before it leaves bytes".into()))
        }
    }
}

/// All formats have typestrings here. Only in v2 do their byte orders mean something; elsewhere they are little.
fn translate(
    creation: &Creation<'_>,
    decoded: &Representation,
    format: Format,
) -> Result<Object, CodecError> {
    let array = array(decoded)?;
    let configuration: FixedScaleOffsetConfiguration = creation.parse()?;
    let encoded = build(creation, &configuration, array)?.encoded(array)?;
    let typestring = |name: &str, side: &ArrayRepresentation| {
        let order = if format == Format::V2 { &side.byte_order } else { &ByteOrder::Little };
        let document = side.data_type.document(Format::V2, order);
        let document = document.map_err(|error| CodecError::Unsupported(error.to_string()))?;
        Ok::<_, CodecError>((name.to_owned(), document.json))
    };
    let astype = configuration.astype.is_some().then(|| typestring("astype", &encoded)).transpose()?;
    let members = [
        ("offset".to_owned(), Value::Number(configuration.offset)),
        ("scale".to_owned(), Value::Number(configuration.scale)),
        typestring("dtype", array)?,
    ];
    Ok(members.into_iter().chain(astype).collect())
}
