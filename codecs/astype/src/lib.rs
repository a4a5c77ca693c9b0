//! The `astype` codec of Zarr: numbers stored as another data type.
//!
//! Array to array. Encoding casts each element from `decode_dtype`, the data type of the chunk, to
//! `encode_dtype`; decoding casts it back. Casts follow NumPy and silently lose what the target cannot
//! represent: integers wrap around, floats are truncated towards zero, complex numbers lose their imaginary
//! part.
//!
//! The encoded fill value is the decoded fill value, cast.
//!
//! Source: `AsType` of numcodecs, in v2 as `astype`, in final v3 as `numcodecs.astype`.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::numbers::{Number, cast_each};
use zarr_plugin_kit::{Sides, array, typestrings};
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example, Format,
    Identifiers, Loss, Object, Output, Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.astype")
            .with_id("astype")
            .with_uri("https://zarr-kit.example/spec/codecs/astype/1.0"),
        &create,
    )
    .translated_by(&translate)
    .configuration::<AsTypeConfiguration>()
    .about("Stores numbers as another data type, with the casts of NumPy.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.astype",
            "configuration": {"encode_dtype": "<i4", "decode_dtype": "<i2"}}"#,
    )
    .with_data_types(&["int16"]),
    Example::v3(
        r#"{"name": "numcodecs.astype",
            "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
    Example::v3(
        r#"{"name": "numcodecs.astype",
            "configuration": {"encode_dtype": "|u1", "decode_dtype": "|b1"}}"#,
    )
    .with_data_types(&["bool"]),
    Example::v2(r#"{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}"#)
        .with_data_types(&["float64"])
        .with_loss(Loss::Unbounded),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/astype/1.0",
            "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}}"#,
    )
    .with_data_types(&["float64"])
    .with_loss(Loss::Unbounded),
];

/// Casts the elements of each chunk.
#[derive(Debug, Clone)]
pub struct AsType(Sides);

impl AsType {
    /// Casts from `decode_dtype` to `encode_dtype`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if one of the data types is not numeric.
    pub fn new(decode_dtype: &dyn DataType, encode_dtype: Arc<dyn DataType>) -> CodecResult<Self> {
        let decoded = number(decode_dtype)?;
        let encoded = number(&*encode_dtype)?;
        Ok(Self(Sides::new(decoded, encoded, encode_dtype)))
    }

    fn to_encoded(&self, decoded: &[u8], encoded: &mut [u8]) -> CodecResult {
        cast_each((self.0.decoded, decoded), (self.0.encoded, encoded));
        Ok(())
    }
}

impl From<AsType> for CodecEntry {
    fn from(codec: AsType) -> Self {
        Self::new(
            "astype",
            json!({"encode_dtype": codec.0.encoded.typestring(), "decode_dtype": codec.0.decoded.typestring()}),
        )
    }
}

impl ArrayToArrayCodec for AsType {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        self.0.representation(decoded, |from, to| self.to_encoded(from, to))
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        self.0.encode(array, decoded, encoded, |from, to| self.to_encoded(from, to))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        self.0.decode(array, encoded, decoded, |from, to| {
            cast_each((self.0.encoded, from), (self.0.decoded, to));
            Ok(())
        })
    }
}

fn number(data_type: &dyn DataType) -> CodecResult<Number> {
    Number::of(data_type).ok_or_else(|| {
        CodecError::Unsupported(format!("elements of data type `{}` cannot be cast", data_type.name()))
    })
}

#[derive(Deserialize)]
struct AsTypeConfiguration {
    encode_dtype: String,
    decode_dtype: String,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    Ok(Codec::ArrayToArray(Arc::new(parse(creation, array(decoded)?)?)))
}

fn parse(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<AsType> {
    let configuration: AsTypeConfiguration = creation.parse()?;
    number(&*array.data_type)?;
    let (decoded, order) = typestrings::data_type(creation, "decode_dtype", &configuration.decode_dtype)?;
    typestrings::check_same(creation, "decode_dtype", &*decoded, &order, array)?;
    let (encoded, encoded_order) =
        typestrings::data_type(creation, "encode_dtype", &configuration.encode_dtype)?;
    let mut codec = AsType::new(&*array.data_type, encoded)?;
    codec.0.encoded_order = typestrings::have_orders(creation).then_some(encoded_order);
    Ok(codec)
}

/// Writes typestrings, which all formats use for this codec.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    let array = array(decoded)?;
    let encoded = parse(creation, array)?.encoded(array)?;
    let members =
        [typestrings::member("encode_dtype", &encoded, to), typestrings::member("decode_dtype", array, to)];
    members.into_iter().collect()
}
