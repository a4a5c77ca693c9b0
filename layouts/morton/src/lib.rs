//! The Morton chunk memory layout: elements in Z-order, so that a small box of elements is near together.
//!
//! An element's Morton code interleaves the bits of its position, from the highest to the lowest, within one level the
//! first dimension before the last. Elements follow one another by ascending code; positions outside the chunk
//! leave no gaps. So every shape has the order, not only powers of two, and with one dimension it is `C`.
//!
//! Elements may have any data type, also a variable size.
//!
//! Source: an extension of ours, `docs/spec/layouts-morton.md`; G. M. Morton, 1966, for the order.

mod order;
mod reorder;

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::ArrayToArrayCodec;
use zarr_spec::layout::MemoryLayoutPlugin;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, Creation, Elements, Example, Format, Identifiers, Output, Value,
};

use order::{Orders, too_large};

pub use order::positions;

zarr_spec::register!(
    MemoryLayoutPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/layouts/morton/1.0"),
            name: None,
            id: None,
            aliases: &[],
        },
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("The elements of a chunk follow one another in Z-order.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/layouts/morton/1.0", "type": "morton"}"#),
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/layouts/morton/1.0", "type": "morton"}"#)
        .with_shape(&[5, 3, 2]),
];

/// Puts the elements of chunks into Z-order.
#[derive(Debug, Default)]
pub struct Morton {
    orders: Orders,
}

impl Morton {
    /// For chunks of any shape and type.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl ArrayToArrayCodec for Morton {
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError> {
        Ok(decoded.clone())
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let Elements::Fixed { size, .. } = array.data_type.elements() else {
            return reorder::gather_variable(&positions(&array.shape)?, decoded, encoded);
        };
        let count = array.element_count().ok_or_else(|| too_large(&array.shape))?;
        reorder::gather(&self.orders.of(&array.shape)?, count, size, decoded, encoded)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let Elements::Fixed { size, .. } = array.data_type.elements() else {
            return reorder::scatter_variable(&positions(&array.shape)?, encoded, decoded);
        };
        let count = array.element_count().ok_or_else(|| too_large(&array.shape))?;
        reorder::scatter(&self.orders.of(&array.shape)?, count, size, encoded, decoded)
    }
}

/// The draft names the layout beside the extension. With up to one dimension nothing moves.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    match creation.type_name {
        Some(Value::String(name)) if name == "morton" => {}
        None if creation.format != Format::V3Draft => {}
        Some(other) => return Err(CodecError::configuration(format!("`type` is {other}, not \"morton\""))),
        None => return Err(CodecError::configuration("`type` is missing")),
    }
    Ok(match rank {
        0 | 1 => Codec::Permutation((0..rank).collect()),
        _ => Codec::ArrayToArray(Arc::new(Morton::new())),
    })
}
