//! The `pickle` codec of Zarr: reads object arrays of old data without running code.
//!
//! Array to bytes, for data type `zarr-kit.json`; only decodes. A chunk is a pickled NumPy array of objects. Python's
//! `pickle` calls the functions that a chunk names; this crate calls nothing. It interprets the opcodes of protocols 0
//! to 5 that create lists, tuples, dictionaries, text, numbers, booleans and `None`, and knows the functions that NumPy
//! names for arrays, types and numbers. Every other opcode and every other name is an error that names it.
//!
//! | in Python | element |
//! |---|---|
//! | `None`, `bool`, `str`, `int`, `float` | the same; an integer may have any number of digits up to a limit |
//! | `list`, `tuple` | an array |
//! | `dict` | an object; keys have to be text |
//! | `numpy.ndarray` of booleans, integers, floats, text or objects | nested arrays; without dimensions, the element |
//! | numbers and booleans of NumPy | a number or a boolean |
//!
//! The number of objects, their nesting, the size of the chunk and the size of the elements are bounded. An object that
//! is used in several places is written in each.
//!
//! v2 has the codec as `pickle`.
//!
//! Source: `Pickle` in numcodecs; `pickletools` of Python 3.14; `__reduce__` of NumPy 2.5.

mod machine;
mod numbers;
mod numpy;
mod objects;
mod opcodes;
mod output;
mod reader;

use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::{array, json_items};
use zarr_spec::codec::ArrayToBytesCodec;
use zarr_spec::{
    ArrayRepresentation, Codec, CodecError, CodecPlugin, CodecResult, Creation, Elements, Example,
    Identifiers, Output, Representation, Size,
};

zarr_spec::register!(
    CodecPlugin::new(Identifiers::id("pickle"), &create)
        .configuration::<PickleConfiguration>()
        .about("Reads pickled objects of old data without running code.", EXAMPLES)
        .decodes_only()
);

const EXAMPLES: &[Example] = &[
    Example::v2(r#"{"id": "pickle"}"#).with_data_types(&[json_items::DATA_TYPE]),
    Example::v2(r#"{"id": "pickle", "protocol": 5}"#).with_data_types(&[json_items::DATA_TYPE]),
];

/// Reads pickled arrays of objects.
#[derive(Debug)]
struct Pickle;

impl ArrayToBytesCodec for Pickle {
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size> {
        check_array(array)?;
        Ok(Size::Unknown)
    }

    fn encode(&self, _: &ArrayRepresentation, _decoded: &[u8], _encoded: &mut Output<'_>) -> CodecResult {
        Err(CodecError::decodes_only())
    }

    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult {
        check_array(array)?;
        json_items::check_size(encoded)?;
        let (objects, result) = machine::run(encoded)?;
        output::put_elements(&objects, result, &array.shape, decoded)
    }
}

fn check_array(array: &ArrayRepresentation) -> CodecResult {
    let name = array.data_type.name();
    if name == json_items::DATA_TYPE && array.data_type.elements() == Elements::Variable {
        return Ok(());
    }
    Err(CodecError::Unsupported(format!("it encodes data type `{}`, not `{name}`", json_items::DATA_TYPE)))
}

/// The configuration. The protocol affects only encoding.
#[derive(Deserialize)]
struct PickleConfiguration {
    #[serde(rename = "protocol")]
    _protocol: Option<i64>,
}

fn create(creation: &Creation<'_>, decoded: &Representation) -> CodecResult<Codec> {
    let PickleConfiguration { .. } = creation.parse()?;
    check_array(array(decoded)?)?;
    Ok(Codec::ArrayToBytes(Arc::new(Pickle)))
}
