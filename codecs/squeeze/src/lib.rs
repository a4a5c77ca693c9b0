//! The `squeeze` codec of zarrs: removes the dimensions of a chunk that have one element.
//!
//! Array to array. The bytes do not change; following codecs see the new shape. A chunk of one element has the shape
//! `[1]`.
//!
//! Final v3 has the codec as `zarrs.squeeze`.
//!
//! Source: "squeeze" of zarrs, <https://codec.zarrs.dev/array_to_array/squeeze>.

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::codec::{ArrayToArrayCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output,
    Representation, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zarrs.squeeze").with_aliases(&["https://codec.zarrs.dev/array_to_array/squeeze"]),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Removes the dimensions of chunks that have one element.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "zarrs.squeeze"}"#).with_shape(&[1, 4, 1, 6]),
    Example::v3(r#"{"name": "zarrs.squeeze", "configuration": {}}"#).with_shape(&[1, 1]),
];

/// Removes the dimensions of chunks that have one element.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Squeeze;

impl From<Squeeze> for CodecEntry {
    fn from(_codec: Squeeze) -> Self {
        Self::new("zarrs.squeeze", json!({}))
    }
}

impl ArrayToArrayCodec for Squeeze {
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation> {
        let mut shape: Vec<u64> = decoded.shape.iter().copied().filter(|size| *size != 1).collect();
        if shape.is_empty() {
            shape.push(1);
        }
        Ok(decoded.clone().with_shape(shape))
    }

    fn encode(&self, _array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        Ok(encoded.put(decoded)?)
    }

    fn decode(&self, _array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        Ok(decoded.put(encoded)?)
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    zarr_plugin_kit::array(decoded)?;
    Ok(Codec::ArrayToArray(Arc::new(Squeeze)))
}
