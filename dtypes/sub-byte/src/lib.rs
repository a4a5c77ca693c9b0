//! Integers of less than a byte: `int2`, `uint2`, `int4` and `uint4`.
//!
//! An element is one byte in memory and in the output of the `bytes` codec. Its low bits hold the number; the
//! others repeat the sign, or are 0. They are ignored in stored chunks.
//!
//! | format | form |
//! |---|---|
//! | v3 | `int2`, `uint2`, `int4`, `uint4` |
//! | draft | an extension of this project with the same names as types, and the fallback `r8` |
//! | v2 | not available |
//!
//! Source: `data-types/int2` and related pages in the Zarr extension registry;
//! `docs/spec/data-types-sub-byte.md` for the draft.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::decimals;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Mode, Units, Value,
};

/// The URI of the extension in the draft.
const URI: &str = "https://zarr-kit.example/spec/data-types/sub-byte/1.0";

// All types share the URI, which can be registered only once: `type` of the draft distinguishes them.
zarr_spec::register!(DataTypePlugin::new(Identifiers::name("int2").with_uri(URI), &create).about(
    "Signed integers of 2 bits, from -2 to 1; in the draft also all other integers of less than a byte.",
    INT2_EXAMPLES
));

const INT2_EXAMPLES: &[Example] = &[
    Example::v3(r#""int2""#),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/sub-byte/1.0", "type": "int2",
            "fallback": ["r8"]}"#,
    ),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/sub-byte/1.0", "type": "uint4",
            "fallback": ["r8"]}"#,
    ),
];
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("uint2"), &create)
        .about("Unsigned integers of 2 bits, from 0 to 3.", UINT2_EXAMPLES)
);

const UINT2_EXAMPLES: &[Example] = &[Example::v3(r#""uint2""#)];
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("int4"), &create)
        .about("Signed integers of 4 bits, from -8 to 7.", INT4_EXAMPLES)
);

const INT4_EXAMPLES: &[Example] = &[Example::v3(r#""int4""#)];
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("uint4"), &create)
        .about("Unsigned integers of 4 bits, from 0 to 15.", UINT4_EXAMPLES)
);

const UINT4_EXAMPLES: &[Example] = &[Example::v3(r#""uint4""#)];

/// An integer of less than a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubByte {
    /// −2 to 1.
    Int2,
    /// 0 to 3.
    UInt2,
    /// −8 to 7.
    Int4,
    /// 0 to 15.
    UInt4,
}

impl SubByte {
    /// All data types of this crate.
    pub const ALL: [Self; 4] = [Self::Int2, Self::UInt2, Self::Int4, Self::UInt4];

    /// Returns the number of significant bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Int2 | Self::UInt2 => 2,
            Self::Int4 | Self::UInt4 => 4,
        }
    }

    fn identifier(self) -> &'static str {
        match self {
            Self::Int2 => "int2",
            Self::UInt2 => "uint2",
            Self::Int4 => "int4",
            Self::UInt4 => "uint4",
        }
    }

    fn is_signed(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4)
    }

    /// Normalizes `stored`: extends the sign or clears the unused bits.
    fn settled(self, stored: u8) -> u8 {
        let unused = 8 - self.bits();
        match self.is_signed() {
            true => ((stored << unused).cast_signed() >> unused).cast_unsigned(),
            false => (stored << unused) >> unused,
        }
    }

    /// Returns the number in a byte.
    fn value(self, stored: u8) -> i16 {
        let byte = self.settled(stored);
        if self.is_signed() { i16::from(byte.cast_signed()) } else { i16::from(byte) }
    }

    fn parse_fill(self, json: &Value, context: &FillContext<'_>) -> Result<u8, String> {
        if let (Value::String(text), Format::V3Draft) = (json, context.format) {
            return self.parse_byte(text);
        }
        let in_text = decimals::in_text(json, context).map_err(|invalid| invalid.to_string())?;
        let number =
            in_text.as_ref().or(json.as_number()).ok_or_else(|| format!("{json} is not a number"))?;
        let value = number.as_i128().ok_or_else(|| format!("{number} is not an integer"))?;
        let (least, most) = match self.is_signed() {
            true => (-(1i128 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1),
            false => (0, (1 << self.bits()) - 1),
        };
        if !(least..=most).contains(&value) {
            return Err(format!("{json} is not between {least} and {most}"));
        }
        Ok(value.to_le_bytes()[0])
    }

    /// Parses `0x` and the byte of an element.
    fn parse_byte(self, text: &str) -> Result<u8, String> {
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2);
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let byte = byte.ok_or_else(|| format!("\"{text}\" is not `0x` and two digits"))?;
        if self.settled(byte) != byte {
            return Err(format!("\"{text}\" has bits outside of an element"));
        }
        Ok(byte)
    }
}

/// Creates the data type, which does not have a configuration. v3 has a name for each type, the draft a
/// `type` next to the URI.
fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    match creation.configuration {
        Value::Null => {}
        Value::Object(members) if members.is_empty() => {}
        _ => return Err(Invalid::new("`configuration` is not allowed for this data type").into()),
    }
    let name = match creation.format {
        Format::V3Draft => creation.type_name.and_then(Value::as_str).unwrap_or_default(),
        Format::V2 | Format::V3 => creation.identifier,
    };
    let found = SubByte::ALL.into_iter().find(|sub_byte| sub_byte.identifier() == name);
    let sub_byte = found
        .ok_or_else(|| Invalid::new(format!("`type` is `{name}`; expected int2, uint2, int4 or uint4")))?;
    Ok((Arc::new(sub_byte), ByteOrder::Little))
}

impl DataType for SubByte {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.identifier())
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 1, units: Units::Uniform(1) }
    }

    /// Returns a kind of integer: elements with extended signs are integers of one byte.
    fn kind(&self) -> Option<Kind> {
        Some(if self.is_signed() { Kind::Int } else { Kind::UInt })
    }

    fn document(&self, format: Format, _order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        let name = self.identifier();
        match format {
            Format::V3 => Ok(DataTypeDocument::named(name)),
            Format::V2 => Err(DataTypeError::NotInFormat {
                name: name.to_owned(),
                format,
                hint: "; integers must have at least one byte".to_owned(),
            }),
            Format::V3Draft => Ok(DataTypeDocument::in_draft(URI, Value::from(name), Some("r8"))),
        }
    }

    /// Reads an integer; in the draft also the byte of an element.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let byte = self.parse_fill(json, context);
        byte.map(|byte| FillValue::new([byte])).map_err(|what| {
            DataTypeError::FillValue(format!("{what}; the data type is {}", self.identifier()))
        })
    }

    /// Writes the byte of an element in the draft, so that the fallback can read it.
    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        let &[byte] = element else {
            let what = format!("{} bytes are not an element of {}", element.len(), self.identifier());
            return Err(DataTypeError::FillValue(what));
        };
        self.check(element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        Ok(match format {
            Format::V3Draft => Value::from(format!("0x{byte:02x}")),
            Format::V2 | Format::V3 => Value::from(i64::from(self.value(byte))),
        })
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match element {
            &[byte] => write!(to, "{}", self.value(byte)),
            _ => element.iter().try_for_each(|byte| write!(to, "{byte:02x}")),
        }
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        match elements.iter().find(|&&byte| self.settled(byte) != byte) {
            None => Ok(()),
            Some(byte) => {
                Err(Invalid::new(format!("byte {byte:#04x} is not an element of {}", self.identifier())))
            }
        }
    }

    /// Ignores the upper bits in every mode (EX-NUM-01).
    fn settle(&self, elements: &mut [u8], _mode: Mode) -> Result<(), Invalid> {
        elements.iter_mut().for_each(|byte| *byte = self.settled(*byte));
        Ok(())
    }

    fn settles(&self) -> bool {
        true
    }
}
