//! `ndarray`: arrays of variable length as elements.
//!
//! An element is a list of items. An item is a number of data type `dtype`, or an array of such numbers. `shape` is
//! `null` for the number of items, then the lengths of an item. In v2 the type is an object with the codec `vlen-array`,
//! whose items are numbers. The draft does not have the type.
//!
//! A fill value of v3 is the bytes of an element, little endian, as Base64. In v2 it is 0, which means no items.
//!
//! The proposal also allows shapes that the codec `vlen-ndarray` does not store: without `null`, and with `null` elsewhere.
//! They are refused.
//!
//! The name `ndarray` is an open proposal for final v3, which may still change. The type was proposed as `vlen-ndarray`
//! first, with the lengths of an item in `inner_shape`; a document with this name is written with this name again.
//!
//! Source: `VLenArray` of numcodecs; pull request 71 of the Zarr extension registry.

use std::sync::Arc;

pub use zarr_plugin_kit::ragged::Ragged;
use zarr_plugin_kit::ragged::{CODEC, ID, NAME, OBJECT_ID, RaggedConfiguration};
use zarr_spec::data_type::{Created, DataTypeDocument};
use zarr_spec::{ByteOrder, Creation, DataTypePlugin, DataTypeResult, Example, Format, Identifiers, Invalid};

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name(NAME).with_id(OBJECT_ID).with_aliases(&[CODEC]), &create)
        .configuration_in::<RaggedConfiguration>(Format::V3)
        .about("Arrays of numbers of variable length.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "ndarray", "configuration": {"dtype": "float32", "shape": [null, 2]}}"#),
    Example::v3(r#"{"name": "ndarray", "configuration": {"dtype": "int32", "shape": [null]}}"#),
    Example::v3(r#"{"name": "ndarray", "configuration": {"dtype": "bool", "shape": [null, 2, 3]}}"#),
    Example::v2(r#""|O""#),
];

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let ragged = match creation.format {
        Format::V3 => Ragged::parse(creation)?,
        Format::V2 | Format::V3Draft => {
            let dtype = creation.type_name.ok_or_else(|| {
                Invalid::new(format!("codec `{ID}` does not have a member `dtype`, the type of its numbers"))
            })?;
            let document = DataTypeDocument::v2(dtype, None, creation.reading)?;
            // The codec applies the byte order: elements of variable size do not have one.
            let (inner, _) = creation.registry.data_type(Format::V2, &document, creation.reading)?;
            Ragged::new(inner, Vec::new())?
        }
    };
    Ok((Arc::new(ragged), ByteOrder::Little))
}
