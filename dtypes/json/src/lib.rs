//! Arbitrary JSON: null, booleans, numbers, strings, arrays and objects.
//!
//! In v2 the type is an object with the codec `json2` or `msgpack2`. Final v3 does not define it; there it has
//! the name `zarr-kit.json` of this project. In the draft it is an extension of this project.
//!
//! An element has a variable size: the JSON text of the item. It may contain `NaN`, `Infinity` and `-Infinity`,
//! like the output of Python, but fill values in documents cannot. The default fill value is `null`.
//!
//! Source: the codecs `JSON` and `MsgPack` of numcodecs; RFC 8259.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::ObjectNames;
use zarr_plugin_kit::json_items::{self, DATA_TYPE};
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Value,
};

const NAMES: ObjectNames = ObjectNames {
    name: DATA_TYPE,
    id: "O/json2",
    uri: "https://zarr-kit.example/spec/data-types/json/1.0",
    type_name: "json",
    aliases: &[],
};

zarr_spec::register!(
    DataTypePlugin::new(NAMES.identifiers(), &create)
        .about("JSON values: null, booleans, numbers, text, arrays and objects.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""zarr-kit.json""#),
    Example::v2(r#""|O""#),
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/data-types/json/1.0", "type": "json"}"#),
];

// Registers the type again for the codec `msgpack2`: in v2, the codec is a part of the data type of objects.
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::id("O/msgpack2"), &create)
        .about("JSON values, in v2 also as objects in MessagePack.", MSGPACK_EXAMPLES)
);

const MSGPACK_EXAMPLES: &[Example] = &[Example::v2(r#""|O""#)];

// Registers the type again for the codec `pickle`, whose crate only reads.
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::id("O/pickle"), &create)
        .about("JSON values, in v2 also as pickled objects.", MSGPACK_EXAMPLES)
);

/// The data type of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Json;

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    NAMES.check(creation)?;
    Ok((Arc::new(Json), ByteOrder::Little))
}

fn item(element: &[u8]) -> Result<Value, Invalid> {
    json_items::item(element).map_err(|error| Invalid::new(format!("the item is not JSON: {error}")))
}

impl DataType for Json {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(DATA_TYPE)
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        Ok(NAMES.document(format))
    }

    /// Reads the item itself.
    fn fill_value(&self, json: &Value, _context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let text = zarr_json::to_vec(json).map_err(|error| DataTypeError::FillValue(error.to_string()))?;
        item(&text).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        Ok(FillValue::new(text))
    }

    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        let item = item(element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        if let Some(path) = item.find_non_finite() {
            return Err(DataTypeError::FillValue(format!(
                "{format} cannot represent the number at \"{path}\""
            )));
        }
        Ok(item)
    }

    fn default_fill_value(&self) -> FillValue {
        FillValue::new(*b"null")
    }

    /// Prints the JSON text with escaped control characters.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        String::from_utf8_lossy(element).chars().try_for_each(|character| match character.is_control() {
            true => write!(to, "\\u{:04x}", u32::from(character)),
            false => to.write_char(character),
        })
    }

    fn check(&self, element: &[u8]) -> Result<(), Invalid> {
        item(element).map(drop)
    }
}
