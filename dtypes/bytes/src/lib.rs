//! `bytes`: byte strings of variable length.
//!
//! v3 names the type `bytes`; `variable_length_bytes` and `binary` are also read. In v2 it is an object with
//! the codec `vlen-bytes`. The draft does not define the type; there it is an extension of this project.
//!
//! Source: `data-types/bytes` in the Zarr extension registry.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_plugin_kit::ObjectNames;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Value,
};

const NAMES: ObjectNames = ObjectNames {
    name: "bytes",
    id: "O/vlen-bytes",
    uri: "https://zarr-kit.example/spec/data-types/bytes/1.0",
    type_name: "bytes",
    aliases: &["variable_length_bytes", "binary"],
};

zarr_spec::register!(
    DataTypePlugin::new(NAMES.identifiers(), &create).about("Byte strings of variable length.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""bytes""#),
    Example::v2(r#""|O""#),
    Example::draft(r#"{"extension": "https://zarr-kit.example/spec/data-types/bytes/1.0", "type": "bytes"}"#),
];

/// The data type `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VariableBytes;

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    NAMES.check(creation)?;
    Ok((Arc::new(VariableBytes), ByteOrder::Little))
}

fn byte(json: &Value) -> DataTypeResult<u8> {
    let byte = json.as_u64().and_then(|byte| u8::try_from(byte).ok());
    byte.ok_or_else(|| DataTypeError::FillValue(format!("{json} is not an integer from 0 to 255")))
}

impl DataType for VariableBytes {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAMES.name)
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        Ok(NAMES.document(format))
    }

    /// Reads Base64 or a list of integers. In v2, and in the generation of the draft that uses its forms, 0
    /// means no bytes.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let zero = json.as_u64() == Some(0);
        match (json, context.format) {
            (Value::String(text), _) => match STANDARD.decode(text) {
                Ok(bytes) => Ok(FillValue::new(bytes)),
                Err(error) => Err(DataTypeError::FillValue(format!("\"{text}\" is not Base64: {error}"))),
            },
            (Value::Array(list), Format::V3 | Format::V3Draft) => {
                list.iter().map(byte).collect::<Result<Vec<u8>, _>>().map(FillValue::new)
            }
            (_, Format::V2) if zero => Ok(FillValue::zero(0)),
            (_, Format::V3Draft) if zero => {
                context.reading.tolerate("fill value 0 is read as an empty byte string")?;
                Ok(FillValue::zero(0))
            }
            _ => Err(DataTypeError::FillValue(format!("{json} is neither Base64 nor a list of bytes"))),
        }
    }

    /// Writes Base64, which every format reads.
    fn fill_value_json(&self, element: &[u8], _format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        Ok(Value::from(STANDARD.encode(element)))
    }

    /// Prints the bytes in hexadecimal.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        element.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }
}
