//! The `vlen-ndarray` codec: stores the number of elements, and each element preceded by its length.
//!
//! Array to bytes, for data type `ndarray`, whose first length is variable. The number of elements and the length of
//! each element, in bytes, are u32 in little endian; the numbers of an element follow its length. The encoded size
//! depends on the elements. The encoded bytes are those that `vlen-bytes` writes for elements with the same bytes.
//!
//! v2 has the codec as `vlen-array`, whose member `dtype` is the type and the byte order of the numbers. In v3, and in
//! new arrays of v2, the numbers are little endian. The name `vlen-ndarray` is an open proposal, which may still
//! change.
//!
//! Source: `VLenArray` of numcodecs; pull request 71 of the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::items::{self, Items};
use zarr_plugin_kit::ragged::{CODEC, ID, NAME, Ragged};
use zarr_plugin_kit::{NoConfiguration, array, typestrings};
use zarr_spec::codec::{ArrayToBytesCodec, CodecEntry};
use zarr_spec::{
    ArrayRepresentation, ByteOrder, Codec, CodecError, CodecPlugin, CodecResult, Creation, DataType, Example,
    Format, Identifiers, Object, Output, Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::name(CODEC).with_id(ID), &create)
        .translated_by(&translate)
        .configuration_in::<NoConfiguration>(Format::V3)
        .configuration_in::<VlenArrayConfiguration>(Format::V2)
        .about("Stores arrays of variable length, each preceded by its length.", EXAMPLES)
);

const NUMBERS: &str = r#"{"name": "ndarray", "configuration": {"dtype": "int32", "shape": [null]}}"#;
const PAIRS: &str = r#"{"name": "ndarray", "configuration": {"dtype": "int16", "shape": [null, 2]}}"#;

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "vlen-ndarray"}"#).with_data_types(&[NUMBERS, PAIRS]),
    Example::v2(r#"{"id": "vlen-array", "dtype": "<i4"}"#).with_data_types(&[NUMBERS]),
    Example::v2(r#"{"id": "vlen-array", "dtype": ">i4"}"#).with_data_types(&[NUMBERS]),
];

/// Stores each array of numbers preceded by its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VlenNdarray;

impl From<VlenNdarray> for CodecEntry {
    fn from(_no_parameters: VlenNdarray) -> Self {
        CODEC.into()
    }
}

/// The size of an offset in the decoded form, in bytes.
const OFFSET: usize = 8;

/// The codec for the chunks of one data type.
#[derive(Debug)]
struct Lists {
    data_type: Ragged,
    is_big_endian: bool,
}

impl Lists {
    fn is_native(&self) -> bool {
        self.is_big_endian == cfg!(target_endian = "big") || self.data_type.unit() == 1
    }

    /// Reverses the bytes of the numbers in a decoded chunk, unless they are stored in native order.
    fn swap(&self, array: &ArrayRepresentation, decoded: &mut [u8]) {
        if self.is_native() {
            return;
        }
        let offsets = array.element_count().map_or(0, |count| (count + 1) * OFFSET);
        let numbers = decoded.get_mut(offsets..).unwrap_or_default();
        numbers.chunks_exact_mut(self.data_type.unit()).for_each(<[u8]>::reverse);
    }
}

impl ArrayToBytesCodec for Lists {
    fn encoded_size(&self, _array: &ArrayRepresentation) -> CodecResult<Size> {
        Ok(Size::Unknown)
    }

    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult {
        let check = |items: Items<'_>| check(&self.data_type, items);
        if self.is_native() {
            return items::encode(array, decoded, encoded, check);
        }
        let mut stored = decoded.to_vec();
        self.swap(array, &mut stored);
        items::encode(array, &stored, encoded, check)
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        let start = decoded.written().len();
        items::decode(array, encoded, decoded, |items| check(&self.data_type, items))?;
        self.swap(array, &mut decoded.written_mut()[start..]);
        Ok(())
    }
}

fn ragged(creation: &Creation<'_>, array: &ArrayRepresentation) -> CodecResult<Ragged> {
    let found = Ragged::of(&*array.data_type, creation);
    let found = found.map_err(|error| CodecError::Unsupported(error.to_string()))?;
    found.ok_or_else(|| {
        let name = array.data_type.name();
        CodecError::Unsupported(format!("it encodes data type `{NAME}`, not `{name}`"))
    })
}

fn check(data_type: &Ragged, items: Items<'_>) -> Result<(), &'static str> {
    match items.iter().all(|element| data_type.is_whole(element)) {
        true => Ok(()),
        false => Err("an element does not consist of whole items"),
    }
}

#[derive(Deserialize)]
struct VlenArrayConfiguration {
    dtype: String,
}

/// Returns whether the configuration is that of v2. The first generation of the draft stores the filters of v2 in an
/// attribute, under their names in v2.
fn is_of_v2(creation: &Creation<'_>) -> bool {
    creation.format != Format::V3
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let data_type = ragged(creation, array(decoded)?)?;
    if !is_of_v2(creation) {
        let NoConfiguration {} = creation.parse()?;
        return Ok(Codec::ArrayToBytes(Arc::new(Lists { data_type, is_big_endian: false })));
    }
    let VlenArrayConfiguration { dtype } = creation.parse()?;
    let (inner, order) = typestrings::data_type(creation, "dtype", &dtype)?;
    let name = data_type.name();
    if inner.name() != data_type.inner().name() || !data_type.inner_shape().is_empty() {
        return Err(CodecError::configuration(format!("`dtype` is `{dtype}`, but the chunk holds `{name}`")));
    }
    Ok(Codec::ArrayToBytes(Arc::new(Lists { is_big_endian: order == ByteOrder::Big, data_type })))
}

/// Writes the configuration of another format. In v3, the configuration does not have a byte order, because numbers are
/// always little endian.
fn translate(creation: &Creation<'_>, decoded: &Representation, to: Format) -> CodecResult<Object> {
    if is_of_v2(creation) == (to != Format::V3) {
        return Ok(creation.configuration.as_object().cloned().unwrap_or_default());
    }
    let data_type = ragged(creation, array(decoded)?)?;
    if to != Format::V3 {
        let document = data_type.document(Format::V2, &ByteOrder::Little);
        let document = document.map_err(|error| CodecError::Unsupported(error.to_string()))?;
        return Ok(document.type_name.into_iter().map(|dtype| ("dtype", dtype)).collect());
    }
    let VlenArrayConfiguration { dtype } = creation.parse()?;
    match typestrings::data_type(creation, "dtype", &dtype)? {
        (_, ByteOrder::Big) if data_type.unit() > 1 => {
            Err(CodecError::Unsupported(format!("`{CODEC}` of v3 stores little-endian numbers only")))
        }
        _ => Ok(Object::new()),
    }
}
