//! The `msgpack2` codec of Zarr: encodes the items of a chunk as one MessagePack value.
//!
//! Array to bytes, for data type `zarr-kit.json`, which represents `|O` of v2 with this codec. The value is the
//! nested list of the items, followed by the typestring `|O` and the shape. The encoded size depends on the items.
//!
//! Arrays of numbers, booleans and fixed-length text in v2, which numcodecs also writes with this codec, are read
//! and written with a warning, but not created.
//!
//! Items are JSON. Decoding refuses binary data, extension types such as timestamps, and maps whose keys are
//! not text. Integers are written in their shortest form, all other numbers as `float64`.
//!
//! `use_single_float` and `use_bin_type` affect only encoding. `raw` selects a Python type for text and has no
//! effect here.
//!
//! Source: `MsgPack` of numcodecs, in v2 as `msgpack2`. Its name in final v3, `numcodecs.msgpack2`, is not
//! written by other programs yet. The MessagePack specification.

mod read;
mod write;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zarr_plugin_kit::{array, json_items};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry, all_members};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Identifiers, Output,
    Representation, Size, json,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers::name("numcodecs.msgpack2")
            .with_id("msgpack2")
            .with_uri("https://zarr-kit.example/spec/codecs/msgpack2/1.0"),
        &create,
    )
    .translated_by(&all_members::<Msgpack2Configuration>)
    .configuration::<Msgpack2Configuration>()
    .about("Encodes the items of a chunk as one MessagePack value.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"name": "numcodecs.msgpack2",
            "configuration": {"raw": false, "use_bin_type": true, "use_single_float": false}}"#,
    )
    .with_data_types(&["zarr-kit.json"]),
    Example::v2(r#"{"id": "msgpack2", "raw": false, "use_bin_type": true, "use_single_float": false}"#)
        .with_data_types(&["zarr-kit.json"]),
    Example::draft(
        r#"{"type": "https://zarr-kit.example/spec/codecs/msgpack2/1.0",
            "configuration": {"raw": false, "use_bin_type": true, "use_single_float": false}}"#,
    )
    .with_data_types(&["zarr-kit.json"]),
];

/// Encodes the items of a chunk as one MessagePack value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msgpack2 {
    /// Whether numbers that are not integers are rounded to `float32`.
    pub use_single_float: bool,
    /// Whether the length of text of 32 to 255 bytes is stored in one byte, a form that readers of the first
    /// MessagePack do not support.
    pub use_bin_type: bool,
}

impl Default for Msgpack2 {
    /// Returns the defaults of numcodecs.
    fn default() -> Self {
        Self { use_single_float: false, use_bin_type: true }
    }
}

impl From<Msgpack2> for CodecEntry {
    fn from(codec: Msgpack2) -> Self {
        Self::new(
            "msgpack2",
            json!({"use_single_float": codec.use_single_float, "use_bin_type": codec.use_bin_type}),
        )
    }
}

impl ArrayToBytesCodec for Msgpack2 {
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError> {
        json_items::check_array(array)?;
        Ok(Size::Unknown)
    }

    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        write::value(*self, encoded, &json_items::document(array, decoded)?)
    }

    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        json_items::check_array(array)?;
        json_items::check_size(encoded)?;
        let document = read::document(encoded, json_items::max_depth(array.shape.len()))?;
        json_items::put_elements(array, &document, decoded)
    }
}

/// The configuration. Written documents contain all members, like those of numcodecs.
#[derive(Serialize, Deserialize)]
struct Msgpack2Configuration {
    #[serde(default)]
    raw: bool,
    #[serde(default)]
    use_single_float: bool,
    #[serde(default = "yes")]
    use_bin_type: bool,
}

fn yes() -> bool {
    true
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let Msgpack2Configuration { use_single_float, use_bin_type, .. } = creation.parse()?;
    json_items::check_creation(creation, array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(Msgpack2 { use_single_float, use_bin_type })))
}
