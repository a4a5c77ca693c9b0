//! The `vlen-bytes` codec of Zarr: stores the number of elements, and each element preceded by its length.
//!
//! Array to bytes, for data type `bytes`. In v3, arrays of `string` are read with a warning, except in strict
//! mode, and never created. The number of elements and the lengths, in bytes, are u32 in little endian. The
//! encoded size depends on the elements.
//!
//! Source: `codecs/vlen-bytes` in the Zarr extension registry; numcodecs has the same form.

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_plugin_kit::items::{self, Items};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecPlugin, CodecResult, Creation, Example, Identifiers, Output,
    Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("vlen-bytes")
            .with_id("vlen-bytes")
            .with_uri("https://zarr-kit.example/spec/codecs/vlen-bytes/1.0")
            .with_aliases(&["https://codec.zarrs.dev/array_to_bytes/vlen_bytes"]),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Stores byte strings of variable length, each preceded by its length.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "vlen-bytes"}"#).with_data_types(&["bytes"]),
    Example::v2(r#"{"id": "vlen-bytes"}"#).with_data_types(&["bytes"]),
    Example::draft(r#"{"type": "https://zarr-kit.example/spec/codecs/vlen-bytes/1.0"}"#)
        .with_data_types(&["bytes"]),
];

/// Stores each byte string preceded by its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VlenBytes;

/// The data type of new arrays.
const DATA_TYPE: &str = "bytes";

/// The data type that zarrs also writes with this codec.
const TOLERATED: &str = "string";

impl From<VlenBytes> for CodecEntry {
    fn from(_no_parameters: VlenBytes) -> Self {
        "vlen-bytes".into()
    }
}

impl ArrayToBytesCodec for VlenBytes {
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
    items::check_type(array, DATA_TYPE)
        .or_else(|error| items::check_type(array, TOLERATED).map_err(|_not_tolerated| error))
}

/// Checks that elements of data type `string` are UTF-8.
fn check_items(array: &ArrayRepresentation, items: Items<'_>) -> Result<(), &'static str> {
    if array.data_type.name() == DATA_TYPE || items.are_utf8(|bytes| std::str::from_utf8(bytes).ok()) {
        return Ok(());
    }
    Err("an element is not UTF-8")
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    items::check_creation(creation, decoded, DATA_TYPE, TOLERATED)?;
    Ok(Codec::ArrayToBytes(Arc::new(VlenBytes)))
}
