//! `packbits` of numcodecs, for booleans.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::array;
use zarr_plugin_kit::numbers::Number;
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, DataType, Example, FillValue, Format,
    Identifiers, Output, Representation,
};

use crate::padding;

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.packbits")
            .with_id("packbits")
            .with_uri("https://zarr-kit.example/spec/codecs/numcodecs.packbits/1.0"),
        &create,
    )
    .configuration::<PackBooleansConfiguration>()
    .about("Packs 8 booleans to a byte, preceded by the number of unused bits.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "numcodecs.packbits"}"#).with_data_types(&["bool"]),
    Example::v2(r#"{"id": "packbits"}"#).with_data_types(&["bool"]),
    Example::draft(r#"{"type": "https://zarr-kit.example/spec/codecs/numcodecs.packbits/1.0"}"#)
        .with_data_types(&["bool"]),
];

/// Packs booleans to an array of bytes, starting with the most significant bit.
#[derive(Debug, Clone)]
pub struct PackBooleans {
    bytes: Arc<dyn DataType>,
}

impl PackBooleans {
    /// Creates the codec; `uint8` is the data type of that name.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for another data type.
    pub fn new(uint8: Arc<dyn DataType>) -> Result<Self, CodecError> {
        if Number::of(&*uint8) != Some(Number::U8) {
            return Err(CodecError::Unsupported(format!(
                "booleans cannot be packed to `{}`; expected `uint8`",
                uint8.name()
            )));
        }
        Ok(Self { bytes: uint8 })
    }
}

impl From<PackBooleans> for CodecEntry {
    fn from(_no_parameters: PackBooleans) -> Self {
        "numcodecs.packbits".into()
    }
}

/// Returns the number of elements, which must be booleans.
fn count(array: &ArrayRepresentation) -> Result<usize, CodecError> {
    if Number::of(&*array.data_type) != Some(Number::Bool) {
        let name = array.data_type.name();
        return Err(CodecError::Unsupported(format!("expected booleans, found data type `{name}`")));
    }
    array
        .element_count()
        .ok_or_else(|| CodecError::Unsupported(format!("a chunk of shape {:?} is too large", array.shape)))
}

impl ArrayToArrayCodec for PackBooleans {
    /// Returns an array of bytes. Its fill value is 0, since a byte does not represent a single element.
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        Ok(ArrayRepresentation::new(
            vec![1 + count(decoded)?.div_ceil(8) as u64],
            Arc::clone(&self.bytes),
            FillValue::zero(1),
        )
        .with_byte_order(decoded.byte_order.clone()))
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let count = count(array)?;
        if decoded.len() != count {
            return Err(CodecError::encode(format!("{} bytes do not hold {count} booleans", decoded.len())));
        }
        let size = 1 + count.div_ceil(8);
        let (first, packed) = encoded.spare(size)?[..size].split_at_mut(1);
        first[0] = padding(count);
        for (byte, booleans) in packed.iter_mut().zip(decoded.chunks(8)) {
            let bits = booleans.iter().zip([128, 64, 32, 16, 8, 4, 2, 1]);
            *byte = bits.filter(|(boolean, _)| **boolean != 0).map(|(_, bit)| bit).sum();
        }
        encoded.advance(size);
        Ok(())
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let count = count(array)?;
        let [declared, packed @ ..] = encoded else {
            return Err(CodecError::corrupt("the number of unused bits is missing"));
        };
        if packed.len() != count.div_ceil(8) {
            return Err(CodecError::corrupt(format!(
                "{} bytes do not hold {count} packed booleans",
                packed.len()
            )));
        }
        if *declared != padding(count) {
            let padding = padding(count);
            return Err(CodecError::corrupt(format!(
                "{declared} unused bits are declared; expected {padding}"
            )));
        }
        let booleans = &mut decoded.spare(count)?[..count];
        for (booleans, byte) in booleans.chunks_mut(8).zip(packed) {
            for (boolean, bit) in booleans.iter_mut().zip([128, 64, 32, 16, 8, 4, 2, 1]) {
                *boolean = u8::from(byte & bit != 0);
            }
        }
        decoded.advance(count);
        Ok(())
    }
}

#[derive(Deserialize)]
struct PackBooleansConfiguration {}

pub(crate) fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let PackBooleansConfiguration {} = creation.parse()?;
    count(array(decoded)?)?;
    let document = DataTypeDocument::named("uint8");
    let uint8 = creation.registry.data_type(Format::V3, &document, creation.reading);
    let (uint8, _order) = uint8.map_err(|error| CodecError::Unsupported(error.to_string()))?;
    Ok(Codec::ArrayToArray(Arc::new(PackBooleans::new(uint8)?)))
}
