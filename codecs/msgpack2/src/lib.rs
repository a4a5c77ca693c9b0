//! The `msgpack2` codec of Zarr: the items of a chunk as one MessagePack value.
//!
//! Array to bytes, for data type `zarr-kit.json` alone, which is what `|O` is in v2 with this codec in front. The value
//! is the nested list of the items with two more at its end, the typestring `|O` and the shape. The encoded size
//! depends on the items.
//!
//! Items are JSON: binary data, extension types such as timestamps, and maps with other names than text have no such
//! form and are refused when they are read. Integers are written in the shortest form, all other numbers as `float64`.
//!
//! `use_single_float` and `use_bin_type` say how numbers and long text are written, not how they are read. `raw` says
//! which objects of Python text becomes, and nothing of ours.
//!
//! Source: `MsgPack` of numcodecs, in v2 as `msgpack2`; in final v3 `numcodecs.msgpack2` is a name that nobody else
//! writes yet. The MessagePack specification.

mod read;
mod write;

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::codec::{ArrayToBytesCodec, array, json_items};
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, Creation, Example, Format, Identifiers, Object,
    Output, Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/codecs/msgpack2/1.0"),
            name: "numcodecs.msgpack2",
            id: Some("msgpack2"),
            aliases: &[],
        },
        create,
    )
    .translated_by(translate)
    .configuration::<Msgpack2Configuration>()
    .about("Writes all items of a chunk as one MessagePack value.", EXAMPLES)
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

/// Writes the items of a chunk as one MessagePack value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msgpack2 {
    /// Whether numbers that are no integers are rounded to `float32`.
    pub use_single_float: bool,
    /// Whether text of 32 to 255 bytes has a length of one byte, as readers of the first MessagePack do not know it.
    pub use_bin_type: bool,
}

impl Default for Msgpack2 {
    /// As numcodecs does it.
    fn default() -> Self {
        Self { use_single_float: false, use_bin_type: true }
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

#[derive(Deserialize)]
struct Msgpack2Configuration {
    raw: Option<bool>,
    use_single_float: Option<bool>,
    use_bin_type: Option<bool>,
}

impl Msgpack2Configuration {
    fn codec(&self) -> Msgpack2 {
        Msgpack2 {
            use_single_float: self.use_single_float.unwrap_or(false),
            use_bin_type: self.use_bin_type.unwrap_or(true),
        }
    }
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> Result<Codec, CodecError> {
    let codec = creation.parse::<Msgpack2Configuration>()?.codec();
    json_items::check_array(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(codec)))
}

/// All members, as numcodecs writes them.
fn translate(creation: &Creation<'_>, _decoded: &Representation, _to: Format) -> Result<Object, CodecError> {
    let configuration: Msgpack2Configuration = creation.parse()?;
    let codec = configuration.codec();
    let mut members = Object::new();
    members.insert("raw", configuration.raw.unwrap_or(false));
    members.insert("use_single_float", codec.use_single_float);
    members.insert("use_bin_type", codec.use_bin_type);
    Ok(members)
}
