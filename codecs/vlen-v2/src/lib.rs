//! The `zarrs.vlen_v2` codec of zarrs: stores the number of elements, and each element preceded by its length.
//!
//! Array to bytes, for every data type with elements of variable size. The encoded form is that of `vlen-utf8` and
//! `vlen-bytes`, which are limited to one data type each. The number of elements and the lengths, in bytes, are u32 in
//! little endian. The encoded size depends on the elements.
//!
//! Final v3 has the codec as `zarrs.vlen_v2`.
//!
//! Source: "vlen_v2" of zarrs, <https://codec.zarrs.dev/array_to_bytes/vlen_v2>.

use std::sync::Arc;

use zarr_plugin_kit::items::{self, Items};
use zarr_plugin_kit::{NoConfiguration, array};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, Elements, Example,
    Identifiers, Output, Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("zarrs.vlen_v2").with_aliases(&["https://codec.zarrs.dev/array_to_bytes/vlen_v2"]),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Stores elements of variable size, each preceded by its length.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "zarrs.vlen_v2"}"#).with_data_types(&["string", "bytes"])];

/// Stores each element preceded by its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VlenV2;

impl From<VlenV2> for CodecEntry {
    fn from(_no_parameters: VlenV2) -> Self {
        "zarrs.vlen_v2".into()
    }
}

impl ArrayToBytesCodec for VlenV2 {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        check_type(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        check_type(array)?;
        items::encode(array, decoded, encoded, |items| check_items(array, items))
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        check_type(array)?;
        items::decode(array, encoded, decoded, |items| check_items(array, items))
    }
}

fn check_type(array: &ArrayRepresentation) -> CodecResult {
    // The codec of elements that may be missing is another one, also in zarrs.
    if array.data_type.elements() == Elements::Variable && array.data_type.optional().is_none() {
        return Ok(());
    }
    let name = array.data_type.name();
    Err(CodecError::Unsupported(format!("it encodes elements of variable size, not `{name}`")))
}

fn check_items(array: &ArrayRepresentation, items: Items<'_>) -> Result<(), &'static str> {
    match items.iter().all(|element| array.data_type.check(element).is_ok()) {
        true => Ok(()),
        false => Err("an element is not valid for its data type"),
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let NoConfiguration {} = creation.parse()?;
    check_type(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(VlenV2)))
}
