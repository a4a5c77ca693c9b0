//! The `delta` codec of Zarr: differences between neighbouring elements.
//!
//! Array to array: the first element, followed by the difference of each element from the previous one in C
//! order. Differences are calculated in `dtype` and stored as `astype`. Integers wrap around; the difference of
//! booleans is their exclusive or; times are treated as `int64`, and their `dtype` should be `<i8`.
//!
//! The encoded fill value is the decoded fill value, cast.
//!
//! Source: `Delta` of numcodecs, in v2 as `delta`, in final v3 as `numcodecs.delta`.

mod arithmetic;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{Number, is_time};
use zarr_plugin_kit::{Sides, array, typestrings};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example,
    Format, Identifiers, Loss, Object, Output, Representation, Value, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.delta")
            .with_id("delta")
            .with_uri("https://zarr-kit.example/spec/codecs/delta/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<DeltaConfiguration>()
    .about("Stores the differences between neighbouring elements.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}"#)
        .with_data_types(&["int32"]),
    Example::v3(r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}"#)
        .with_data_types(&["int32"])
        .with_loss(Loss::Unbounded),
    Example::v3(r#"{"name": "numcodecs.delta", "configuration": {"dtype": "|b1"}}"#)
        .with_data_types(&["bool"]),
    Example::v3(r#"{"name": "numcodecs.delta", "configuration": {"dtype": "<u8"}}"#)
        .with_data_types(&["uint64"]),
    Example::v2(r#"{"id": "delta", "dtype": "<i4"}"#).with_data_types(&["int32"]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/delta/1.0",
            "configuration": {"dtype": "<i4"}}"#,
    )
    .with_data_types(&["int32"]),
];

/// Encodes the differences between neighbouring elements.
#[derive(Debug, Clone)]
pub struct Delta(Sides);

impl Delta {
    /// Stores differences between elements of `dtype` as elements of `astype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of them does not support differences, or if booleans or complex
    /// numbers would be stored as another type.
    pub fn new(dtype: &dyn DataType, astype: Arc<dyn DataType>) -> CodecResult<Self> {
        let decoded = number(dtype)?;
        let encoded = number(&*astype)?;
        let class = |number: Number| (number == Number::Bool, number.is_complex());
        if class(decoded) != class(encoded) {
            let from = dtype.name();
            let to = astype.name();
            return Err(CodecError::Unsupported(format!(
                "differences of `{from}` cannot be stored as `{to}`"
            )));
        }
        Ok(Self(Sides::new(decoded, encoded, astype)))
    }

    fn differences(&self, decoded: &[u8], encoded: &mut [u8]) -> CodecResult {
        arithmetic::encode(self.0.decoded, self.0.encoded, decoded, encoded);
        Ok(())
    }

    fn sums(&self, encoded: &[u8], decoded: &mut [u8]) -> CodecResult {
        arithmetic::decode(self.0.decoded, self.0.encoded, encoded, decoded);
        Ok(())
    }
}

impl From<Delta> for CodecEntry {
    fn from(codec: Delta) -> Self {
        Self::new(
            "delta",
            json!({"dtype": codec.0.decoded.typestring(), "astype": codec.0.encoded.typestring()}),
        )
    }
}

impl ArrayToArrayCodec for Delta {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.0.representation(decoded, |from, to| self.differences(from, to))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.0.encode(array, decoded, encoded, |from, to| self.differences(from, to))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.0.decode(array, encoded, decoded, |from, to| self.sums(from, to))
    }
}

fn number(data_type: &dyn DataType) -> CodecResult<Number> {
    Number::or_time(data_type).ok_or_else(|| {
        CodecError::Unsupported(format!(
            "elements of data type `{}` do not support differences",
            data_type.name()
        ))
    })
}

#[derive(Deserialize)]
struct DeltaConfiguration {
    dtype: String,
    astype: Option<String>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::ArrayToArray(Arc::new(parse(creation, array(decoded)?)?.0)))
}

/// Returns the codec, and whether its configuration has an `astype`.
fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<(Delta, bool)> {
    let DeltaConfiguration { dtype: decoded_text, astype: encoded_text } = creation.parse()?;
    let (dtype, order) = typestrings::data_type(creation, "dtype", &decoded_text)?;
    check_type(creation, array, &*dtype, &order)?;
    let (astype, encoded_order) = match &encoded_text {
        Some(text) => typestrings::data_type(creation, "astype", text)?,
        None => (dtype, order),
    };
    let mut delta = Delta::new(&*array.data_type, astype)?;
    delta.0.encoded_order = typestrings::have_orders(creation).then_some(encoded_order);
    Ok((delta, encoded_text.is_some()))
}

/// Checks that `dtype` is the data type of the chunk.
fn check_type(
    creation: &Creation<'_>,
    array: &ArrayRepresentation,
    dtype: &dyn DataType,
    order: &ByteOrder,
) -> CodecResult {
    number(&*array.data_type)?;
    typestrings::check_same(creation, "dtype", dtype, order, array)?;
    let name = dtype.name();
    let array_name = array.data_type.name();
    // A chunk of times may have an integer as its `dtype`: numcodecs can decode only this form.
    if name != array_name && (is_time(dtype) || !is_time(&*array.data_type)) {
        creation
            .reading
            .tolerate(format!("`dtype` is `{name}`, but the chunk has data type `{array_name}`"))?;
    }
    Ok(())
}

/// Writes typestrings, which all formats use for this codec. Times are written as integers, since numcodecs
/// cannot decode differences of times.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let (delta, has_astype) = parse(creation, array)?;
    let encoded = delta.encoded(array)?;
    let member = |name: &str, side: &ArrayRepresentation| {
        if is_time(&*side.data_type) {
            let is_big = to == Format::V2 && side.byte_order == ByteOrder::Big;
            return Ok((name.to_owned(), Value::from(if is_big { ">i8" } else { "<i8" })));
        }
        typestrings::member(name, side, to)
    };
    let dtype = Some(member("dtype", array));
    let astype = has_astype.then(|| member("astype", &encoded));
    dtype.into_iter().chain(astype).collect()
}
