//! The Morton chunk memory layout: elements in Z-order, so that the elements of a small box are close together.
//!
//! The Morton code of an element interleaves the bits of its position, from the highest to the lowest; within
//! one level, the first dimension comes first. Elements are sorted by their code. Positions outside of the
//! chunk do not leave gaps, so any shape has this order, not only powers of two. With one dimension it is the
//! order of `C`.
//!
//! Elements may have any data type, including those of variable size.
//!
//! Source: an extension of this project, `docs/spec/layouts-morton.md`; G. M. Morton, 1966, for the order.

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
    MemoryLayoutPlugin::new(Identifiers::uri("https://zarr-kit.example/spec/layouts/morton/1.0"), &create,)
        .configuration::<NoConfiguration>()
        .about("Z-order: the elements of a small box of a chunk are close together.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/layouts/morton/1.0", "type": "morton"}"#),
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/layouts/morton/1.0", "type": "morton"}"#)
        .with_shape(&[5, 3, 2]),
];

/// Stores the elements of chunks in Z-order.
#[derive(Debug, Default)]
pub struct Morton {
    orders: Orders,
}

impl Morton {
    /// Creates the layout for chunks of any shape and data type.
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

/// Creates the layout. In the draft, the member `type` next to `extension` names the layout. With at most one
/// dimension, elements do not move.
fn create(creation: &Creation<'_>, rank: usize) -> Result<Codec, CodecError> {
    let NoConfiguration {} = creation.parse()?;
    match creation.type_name {
        Some(Value::String(name)) if name == "morton" => {}
        None if creation.format != Format::V3Draft => {}
        Some(other) => {
            return Err(CodecError::configuration(format!("`type` is {other}; expected \"morton\"")));
        }
        None => return Err(CodecError::configuration("`type` is missing")),
    }
    Ok(match rank {
        0 | 1 => Codec::Permutation((0..rank).collect()),
        _ => Codec::ArrayToArray(Arc::new(Morton::new())),
    })
}
