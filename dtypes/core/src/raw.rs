//! Raw bits: uninterpreted bytes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, MAX_ELEMENT_SIZE};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Units, Value, counted,
};

use crate::bits;
use crate::integer::Tolerate;
use crate::refuse_configuration;

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("r*"), &create)
        .about("Uninterpreted bits, a multiple of 8.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#""r8""#), Example::v3(r#""r24""#), Example::draft(r#""r8""#), Example::draft(r#""r24""#)];

/// The data types `r8`, `r16`, `r24` and so on: bytes that are independent of byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raw {
    size: usize,
}

impl Raw {
    /// Creates a data type of `bits` bits.
    ///
    /// # Errors
    ///
    /// If `bits` is not a positive multiple of 8, or exceeds [`MAX_ELEMENT_SIZE`] bytes.
    pub fn new(bits: usize) -> Result<Self, Invalid> {
        let size = bits / 8;
        if bits == 0 || !bits.is_multiple_of(8) {
            return Err(Invalid::new(format!(
                "`r{bits}` is not valid; expected a positive multiple of 8 bits"
            )));
        }
        if size > MAX_ELEMENT_SIZE {
            return Err(Invalid::new(format!(
                "elements of {size} bytes are not supported; the maximum is {MAX_ELEMENT_SIZE}"
            )));
        }
        Ok(Self { size })
    }

    fn parse_fill(self, json: &Value, context: &FillContext<'_>) -> Result<Vec<u8>, String> {
        match (json, context.format) {
            (Value::Array(list), Format::V3 | Format::V3Draft) => list.iter().map(byte).collect(),
            (Value::String(text), Format::V3Draft) => bits::parse(text, self.size),
            (Value::String(text), Format::V3) if text.starts_with("0x") => {
                context.tolerate(format!("fill value \"{text}\" has the form of older drafts"))?;
                bits::parse(text, self.size)
            }
            (Value::String(text), Format::V3) => {
                context.tolerate(format!("fill value \"{text}\" is read as Base64"))?;
                from_base64(text)
            }
            (Value::String(text), Format::V2) => from_base64(text),
            (Value::Number(number), Format::V3Draft) if number.as_u64() == Some(0) => Ok(vec![0; self.size]),
            _ => Err(format!("{json} is not a list of bytes")),
        }
    }
}

/// Returns whether `name` has the form of this family.
fn is_raw(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    refuse_configuration(creation)?;
    let name = creation.identifier;
    let digits = Some(name).filter(|name| is_raw(name)).and_then(|name| name.strip_prefix('r'));
    let bits = digits.filter(|digits| !digits.starts_with('0')).and_then(|digits| digits.parse().ok());
    let bits = bits.ok_or_else(|| {
        Invalid::new(format!("`{name}` is not a data type; expected `r` and a positive multiple of 8 bits"))
    })?;
    Ok((Arc::new(Raw::new(bits)?), ByteOrder::Little))
}

fn byte(json: &Value) -> Result<u8, String> {
    let byte = json.as_u64().and_then(|byte| u8::try_from(byte).ok());
    byte.ok_or_else(|| format!("{json} is not an integer from 0 to 255"))
}

fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("\"{text}\" is not Base64: {error}"))
}

/// Prints the bytes in hexadecimal.
pub(crate) fn print(element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
    element.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
}

impl DataType for Raw {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(format!("r{}", self.size * 8))
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: self.size, units: Units::Uniform(1) }
    }

    /// Returns the name: `r16`, in v2 `|V2`.
    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        Ok(match format {
            Format::V2 => DataTypeDocument::in_v2("V", Value::from(format!("|V{}", self.size))),
            _ => DataTypeDocument::named(&self.name()),
        })
    }

    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let bytes = self.parse_fill(json, context).and_then(|bytes| match bytes.len() == self.size {
            true => Ok(bytes),
            false => Err(format!("{json} is {}", counted(bytes.len(), "byte", "bytes"))),
        });
        bytes.map(FillValue::new).map_err(|what| {
            let size = counted(self.size, "byte", "bytes");
            DataTypeError::FillValue(format!("{what}; the data type is {}, {size}", self.name()))
        })
    }

    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        if element.len() != self.size {
            return Err(DataTypeError::FillValue(format!(
                "{} bytes are not an element of {}",
                element.len(),
                self.name()
            )));
        }
        Ok(match format {
            Format::V2 => Value::from(STANDARD.encode(element)),
            Format::V3Draft => Value::from(bits::to_hex(element)),
            Format::V3 => element.iter().map(|&byte| u32::from(byte)).collect(),
        })
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        print(element, to)
    }
}
