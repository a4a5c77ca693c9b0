//! `string`: text of variable length, in UTF-8.
//!
//! v3 names the type `string`. In v2 it is an object with the codec `vlen-utf8`. The draft does not define the
//! type; there it is an extension of this project.
//!
//! Source: `data-types/string` in the Zarr extension registry.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::ObjectNames;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Value,
};

const NAMES: ObjectNames = ObjectNames {
    name: "string",
    id: "O/vlen-utf8",
    uri: "https://zarr-kit.example/spec/data-types/string/1.0",
    type_name: "string",
    aliases: &[],
};

zarr_spec::register!(
    DataTypePlugin::new(NAMES.identifiers(), &create).about("Text of variable length in UTF-8.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""string""#),
    Example::v2(r#""|O""#),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/string/1.0", "type": "string"}"#,
    ),
];

// Registers the type again for the codec `categorize`: in v2, the codec is a part of the data type of objects.
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::id("O/categorize"), &create)
        .about("Text of variable length, in v2 also as objects with labels.", LABEL_EXAMPLES)
);

const LABEL_EXAMPLES: &[Example] = &[Example::v2(r#""|O""#)];

// Registers the type again for the codec `fill_hdf_strings`, which reads objects with pointers to text.
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::id("O/fill_hdf_strings"), &create)
        .about("Text of variable length, in v2 also as objects with pointers of HDF5.", LABEL_EXAMPLES)
);

/// The data type `string`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text;

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    NAMES.check(creation)?;
    Ok((Arc::new(Text), ByteOrder::Little))
}

fn text(element: &[u8]) -> Result<&str, Invalid> {
    std::str::from_utf8(element).map_err(|error| Invalid::new(format!("the text is not UTF-8: {error}")))
}

impl DataType for Text {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAMES.name)
    }

    fn elements(&self) -> Elements {
        Elements::Variable
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        Ok(NAMES.document(format))
    }

    /// Reads the text itself. In v2, and in the generation of the draft that uses its forms, 0 means empty text.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let zero = json.as_u64() == Some(0);
        match (json, context.format) {
            (Value::String(text), _) => Ok(FillValue::new(text.as_bytes())),
            (_, Format::V2) if zero => Ok(FillValue::zero(0)),
            (_, Format::V3Draft) if zero => {
                context.reading.tolerate("fill value 0 is read as empty text")?;
                Ok(FillValue::zero(0))
            }
            _ => Err(DataTypeError::FillValue(format!("{json} is not a string"))),
        }
    }

    fn fill_value_json(&self, element: &[u8], _format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        text(element).map(Value::from).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))
    }

    /// Prints the text with escaped control characters.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        String::from_utf8_lossy(element).chars().try_for_each(|character| match character.is_control() {
            true => write!(to, "{}", character.escape_default()),
            false => to.write_char(character),
        })
    }

    fn check(&self, element: &[u8]) -> Result<(), Invalid> {
        text(element).map(drop)
    }
}
