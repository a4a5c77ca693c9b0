//! The `delta` codec of Zarr: differences between neighbouring elements.
//!
//! Array to array: the first element, then the difference of each element from the one before it in C order.
//! Differences are calculated in `dtype` and stored as `astype`. Integers wrap around; of booleans it is whether they
//! differ; times are calculated with as `int64`, and `dtype` should be `<i8` for them.
//!
//! The fill value of the encoded side is that of the decoded one, cast.
//!
//! Source: `Delta` of numcodecs, in v2 as `delta`, in final v3 as `numcodecs.delta`.

mod arithmetic;
mod parameter;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::chain::has_byte_order;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, Creation, DataType, Elements, FillValue,
    Format, Identifiers, Object, Output, Representation, Value,
};

use arithmetic::{Number, is_time};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/delta/1.0"),
            name: "numcodecs.delta",
            id: Some("delta"),
            aliases: &[],
        },
        create,
    )
    .translated_by(translate)
);

/// Stores differences.
#[derive(Debug, Clone)]
pub struct Delta {
    decoded: Number,
    encoded: Number,
    encoded_type: Arc<dyn DataType>,
    /// Of the encoded side where the configuration declares it: in v2.
    encoded_order: Option<ByteOrder>,
}

impl Delta {
    /// Differences between elements of `dtype`, stored as elements of `astype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of them has no differences, and for booleans or complex numbers that are
    /// stored as something else.
    pub fn new(dtype: &dyn DataType, astype: Arc<dyn DataType>) -> Result<Self, CodecError> {
        let (decoded, encoded) = (number(dtype)?, number(&*astype)?);
        if !decoded.casts_to(encoded) {
            let (from, to) = (dtype.name(), astype.name());
            return Err(CodecError::Unsupported(format!(
                "differences of `{from}` cannot be stored as `{to}`"
            )));
        }
        Ok(Self { decoded, encoded, encoded_type: astype, encoded_order: None })
    }

    /// The number of elements, when that is what `array` and both sides have.
    fn count(&self, array: &ArrayRepresentation) -> Result<usize, CodecError> {
        if Number::of(&*array.data_type) != Some(self.decoded) {
            let name = array.data_type.name();
            return Err(CodecError::Unsupported(format!("it was not created for data type `{name}`")));
        }
        let largest = usize::MAX / self.decoded.size().max(self.encoded.size());
        let count = array.element_count().filter(|&count| count <= largest);
        count.ok_or_else(|| {
            CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape))
        })
    }
}

impl ArrayToArrayCodec for Delta {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        self.count(decoded)?;
        let fill_value = decoded.fill_value.bytes();
        if fill_value.len() != self.decoded.size() {
            return Err(CodecError::Unsupported(format!("a fill value of {} bytes", fill_value.len())));
        }
        let mut encoded_fill_value = vec![0; self.encoded.size()];
        arithmetic::encode(self.decoded, self.encoded, fill_value, &mut encoded_fill_value);
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
        if decoded.len() != count * self.decoded.size() {
            return Err(CodecError::encode(format!("{} bytes are not {count} elements", decoded.len())));
        }
        let size = count * self.encoded.size();
        arithmetic::encode(self.decoded, self.encoded, decoded, &mut encoded.spare(size)?[..size]);
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
        if encoded.len() != count * self.encoded.size() {
            return Err(CodecError::corrupt(format!("{} bytes are not {count} differences", encoded.len())));
        }
        let size = count * self.decoded.size();
        arithmetic::decode(self.decoded, self.encoded, encoded, &mut decoded.spare(size)?[..size]);
        decoded.advance(size);
        Ok(())
    }
}

fn number(data_type: &dyn DataType) -> Result<Number, CodecError> {
    Number::of(data_type).ok_or_else(|| {
        CodecError::Unsupported(format!("elements of data type `{}` have no differences", data_type.name()))
    })
}

#[derive(Deserialize)]
struct DeltaConfiguration {
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    Ok(Codec::ArrayToArray(Arc::new(parse(creation, array(decoded)?)?.0)))
}

/// The codec, and whether its configuration has an `astype`.
fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> Result<(Delta, bool), CodecError> {
    let DeltaConfiguration { dtype: decoded_text, astype: encoded_text } = creation.parse()?;
    let (dtype, order) = parameter::data_type(creation, "dtype", &decoded_text)?;
    check_type(creation, array, &*dtype, &order)?;
    let (astype, encoded_order) = match &encoded_text {
        Some(text) => parameter::data_type(creation, "astype", text)?,
        None => (dtype, order),
    };
    let delta = Delta::new(&*array.data_type, astype)?;
    let encoded_order = has_orders(creation).then_some(encoded_order);
    Ok((Delta { encoded_order, ..delta }, encoded_text.is_some()))
}

/// `dtype` says again what the array holds. v2 says the byte order twice as well, and with another one the
/// differences would be those of other numbers.
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
    // What is stored of times are their counts, and the codec of numcodecs can decode nothing else.
    if name != array_name && (is_time(dtype) || !is_time(&*array.data_type)) {
        creation.reading.tolerate(format!("`dtype` is `{name}`, and the chunk holds `{array_name}`"))?;
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
/// Times are said as the integers that they count, since numcodecs does not decode differences of times.
fn translate(
    creation: &Creation<'_>,
    decoded: &Representation,
    format: Format,
) -> Result<Object, CodecError> {
    let array = array(decoded)?;
    let (delta, has_astype) = parse(creation, array)?;
    let encoded = delta.encoded(array)?;
    let member = |name: &str, side: &ArrayRepresentation| {
        let order = if format == Format::V2 { &side.byte_order } else { &ByteOrder::Little };
        if is_time(&*side.data_type) {
            let count = if *order == ByteOrder::Big { ">i8" } else { "<i8" };
            return Ok((name.to_owned(), Value::from(count)));
        }
        let document = side.data_type.document(Format::V2, order);
        let document = document.map_err(|error| CodecError::Unsupported(error.to_string()))?;
        Ok::<_, CodecError>((name.to_owned(), document.json))
    };
    let dtype = Some(member("dtype", array));
    let astype = has_astype.then(|| member("astype", &encoded));
    dtype.into_iter().chain(astype).collect()
}
