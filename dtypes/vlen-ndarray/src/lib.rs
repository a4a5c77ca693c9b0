//! `vlen-ndarray`: arrays of variable length as elements.
//!
//! An element is a list of items. An item is a number of data type `dtype`, or an array of such numbers of shape
//! `inner_shape`. In v2 the type is an object with the codec `vlen-array`, whose items are numbers. The draft does
//! not have the type.
//!
//! A fill value of v3 is a list of items. In v2 it is 0, which means no items.
//!
//! The name `vlen-ndarray` is a proposal for final v3 that is open; another version of it may have other names.
//!
//! Source: `VLenArray` of numcodecs; pull request 71 of the Zarr extension registry.

use std::sync::Arc;

use serde::Deserialize;
pub use zarr_plugin_kit::ragged::Ragged;
use zarr_plugin_kit::ragged::{ID, NAME, OBJECT_ID};
use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::{
    ByteOrder, Creation, DataTypePlugin, DataTypeResult, Example, Format, Identifiers, Invalid, Value,
};

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name(NAME).with_id(OBJECT_ID), &create)
        .configuration_in::<RaggedConfiguration>(Format::V3)
        .about("Arrays of numbers of variable length.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "vlen-ndarray", "configuration": {"dtype": "float32", "inner_shape": [2]}}"#),
    Example::v3(r#"{"name": "vlen-ndarray", "configuration": {"dtype": "int32", "inner_shape": []}}"#),
    Example::v3(r#"{"name": "vlen-ndarray", "configuration": {"dtype": "bool", "inner_shape": [2, 3]}}"#),
    Example::v2(r#""|O""#),
];

#[derive(Deserialize)]
struct RaggedConfiguration {
    dtype: Value,
    #[serde(default)]
    inner_shape: Vec<u64>,
}

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let (document, inner_shape) = match creation.format {
        Format::V3 => {
            let RaggedConfiguration { dtype, inner_shape } = creation.parse()?;
            (DataTypeDocument::v3(&dtype, creation.reading)?, inner_shape)
        }
        Format::V2 | Format::V3Draft => {
            let dtype = creation.type_name.ok_or_else(|| {
                Invalid::new(format!("codec `{ID}` does not have a member `dtype`, the type of its numbers"))
            })?;
            (DataTypeDocument::v2(dtype, None, creation.reading)?, Vec::new())
        }
    };
    let format = if creation.format == Format::V3 { Format::V3 } else { Format::V2 };
    // The codec applies the byte order: elements of variable size do not have one.
    let (inner, _) = creation.registry.data_type(format, &document, creation.reading)?;
    let sizes: Result<Vec<usize>, _> = inner_shape.iter().map(|&length| usize::try_from(length)).collect();
    let sizes =
        sizes.map_err(|_| Invalid::new(format!("`inner_shape` is {inner_shape:?}, which is too large")))?;
    Ok((Arc::new(Ragged::new(inner, sizes)?), ByteOrder::Little))
}
