//! Byte strings, text and raw bytes of fixed length.
//!
//! | element | v2 | v3 | draft |
//! |---|---|---|---|
//! | bytes; trailing zeros are padding | `\|S3` | `null_terminated_bytes` | string extension, `S3` |
//! | code points of four bytes each; trailing zeros are padding | `<U3` | `fixed_length_utf32` | string extension, `<U3` |
//! | uninterpreted bytes | `\|V3` | `raw_bytes` | `r24` |
//!
//! Source: "Data type encoding" of v2; `data-types/fixed_length_utf32` in the Zarr extension registry; the
//! output of zarr-python for the other types; the string draft of 2022.

mod fill;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, MAX_ELEMENT_SIZE, Typestring};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Units, Value,
};

/// The URI of the draft's extension for bytes and text.
const URI: &str = "https://purl.org/zarr/spec/extensions/data-types/string/1.0";

zarr_spec::register!(
    DataTypePlugin::new(
        Identifiers::name("null_terminated_bytes")
            .with_id("S")
            .with_uri(URI)
            .with_aliases(&["TODO: bytestring array protocol URL"]),
        &create,
    )
    .configuration_in::<LengthConfiguration>(Format::V3)
    .about("Byte strings of fixed length, padded with zeros.", BYTES_EXAMPLES)
);

const BYTES_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}"#),
    Example::v2(r#""|S3""#),
    Example::draft(
        r#"{"extension": "https://purl.org/zarr/spec/extensions/data-types/string/1.0",
            "type": "S3", "fallback": ["r24"]}"#,
    ),
    Example::draft(
        r#"{"extension": "https://purl.org/zarr/spec/extensions/data-types/string/1.0",
            "type": "<U3", "fallback": ["r96"]}"#,
    ),
];
zarr_spec::register!(
    DataTypePlugin::new(
        Identifiers::name("fixed_length_utf32")
            .with_id("U")
            .with_aliases(&["TODO: unicode array protocol URL"]),
        &create,
    )
    .configuration_in::<LengthConfiguration>(Format::V3)
    .about("Text of fixed length with 4 bytes per code point, padded with zeros.", TEXT_EXAMPLES)
);

const TEXT_EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}"#),
    Example::v2(r#""<U3""#),
    Example::v2(r#"">U3""#),
];
zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("raw_bytes").with_id("V"), &create)
        .configuration_in::<LengthConfiguration>(Format::V3)
        .about("Uninterpreted bytes of fixed length.", RAW_EXAMPLES)
);

const RAW_EXAMPLES: &[Example] =
    &[Example::v3(r#"{"name": "raw_bytes", "configuration": {"length_bytes": 3}}"#), Example::v2(r#""|V3""#)];

/// The content of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// A byte string, padded with zeros.
    Bytes,
    /// Code points of four bytes each, padded with zeros.
    Text,
    /// Uninterpreted bytes.
    Raw,
}

/// A data type of fixed length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedLength {
    content: Content,
    /// Size of an element in bytes.
    size: usize,
}

impl FixedLength {
    /// Creates a data type with elements of `size` bytes.
    ///
    /// # Errors
    ///
    /// If `size` is not a multiple of 4 for text, or exceeds [`MAX_ELEMENT_SIZE`].
    pub fn new(content: Content, size: usize) -> Result<Self, Invalid> {
        if content == Content::Text && !size.is_multiple_of(4) {
            return Err(Invalid::new(format!(
                "{size} bytes are not a multiple of 4, the size of a code point"
            )));
        }
        if size > MAX_ELEMENT_SIZE {
            return Err(Invalid::new(format!(
                "elements of {size} bytes are not supported; the maximum is {MAX_ELEMENT_SIZE}"
            )));
        }
        Ok(Self { content, size })
    }

    fn identifier(self) -> &'static str {
        match self.content {
            Content::Bytes => "null_terminated_bytes",
            Content::Text => "fixed_length_utf32",
            Content::Raw => "raw_bytes",
        }
    }

    /// Returns `|S3`, `>U3` or `|V3`.
    fn typestring(self, order: &ByteOrder) -> String {
        match (self.content, order) {
            (Content::Bytes, _) => format!("|S{}", self.size),
            (Content::Text, ByteOrder::Big) if self.size > 0 => format!(">U{}", self.size / 4),
            (Content::Text, _) => format!("<U{}", self.size / 4),
            (Content::Raw, _) => format!("|V{}", self.size),
        }
    }

    /// Returns the document of the draft: the extension with raw bits of the same size as fallback, or raw bits.
    fn draft_document(self, order: &ByteOrder) -> DataTypeDocument {
        let raw = format!("r{}", self.size * 8);
        if self.content == Content::Raw {
            return DataTypeDocument::named(&raw);
        }
        let typestring = self.typestring(order);
        let type_name = Value::from(typestring.trim_start_matches('|'));
        DataTypeDocument::in_draft(URI, type_name, Some(&raw))
    }

    fn v3_document(self) -> DataTypeDocument {
        let configuration = [("length_bytes", self.size)].into_iter().collect();
        DataTypeDocument::configured(self.identifier(), configuration)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LengthConfiguration {
    length_bytes: u64,
}

fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let (created, order) = match creation.format {
        Format::V2 => from_typestring(creation.configuration.as_str().unwrap_or_default(), creation)?,
        Format::V3Draft => from_draft(creation)?,
        Format::V3 => (from_v3(creation)?, ByteOrder::Little),
    };
    Ok((Arc::new(created), order))
}

fn from_v3(creation: &Creation<'_>) -> Result<FixedLength, Invalid> {
    let LengthConfiguration { length_bytes } = creation.parse()?;
    let content = match creation.identifier {
        "fixed_length_utf32" => Content::Text,
        "raw_bytes" => Content::Raw,
        _ => Content::Bytes,
    };
    if length_bytes == 0 {
        return Err(Invalid::new("`length_bytes` is 0; expected at least 1"));
    }
    FixedLength::new(content, usize::try_from(length_bytes).unwrap_or(usize::MAX))
}

fn from_typestring(text: &str, creation: &Creation<'_>) -> Result<(FixedLength, ByteOrder), Invalid> {
    let typestring = Typestring::parse(text, creation.reading)?;
    let (content, unit) = match typestring.kind {
        'S' => (Content::Bytes, 1),
        'U' => (Content::Text, 4),
        'V' => (Content::Raw, 1),
        _ => return Err(Invalid::new(format!("`{text}` does not have a fixed length"))),
    };
    let created = FixedLength::new(content, typestring.size.saturating_mul(unit))?;
    Ok((created, typestring.order.unwrap_or_default()))
}

/// Parses `S3`, `|S3`, `<U3` or `>U3`; the length is never 0 (DX-DT-08, DX-DT-09).
fn from_draft(creation: &Creation<'_>) -> Result<(FixedLength, ByteOrder), Invalid> {
    let wrong = || {
        let what = creation.type_name.map_or_else(|| "missing".to_owned(), ToString::to_string);
        Invalid::new(format!("`type` is {what}; expected e.g. `S3` or `<U3`"))
    };
    let text = creation.type_name.and_then(Value::as_str).ok_or_else(wrong)?;
    let typestring = match text.get(..2) {
        Some("|S" | "<U" | ">U") => Cow::Borrowed(text),
        _ if text.starts_with('S') => Cow::Owned(format!("|{text}")),
        _ => return Err(wrong()),
    };
    let (created, order) = from_typestring(&typestring, creation)?;
    if created.size == 0 { Err(wrong()) } else { Ok((created, order)) }
}

impl DataType for FixedLength {
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{}[{}]", self.identifier(), self.size))
    }

    fn elements(&self) -> Elements {
        let unit = if self.content == Content::Text { 4 } else { 1 };
        Elements::Fixed { size: self.size, units: Units::Uniform(unit) }
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        match format {
            Format::V2 => {
                let id = match self.content {
                    Content::Bytes => "S",
                    Content::Text => "U",
                    Content::Raw => "V",
                };
                Ok(DataTypeDocument::in_v2(id, Value::from(self.typestring(order))))
            }
            _ if self.size == 0 => Err(DataTypeError::NotInFormat {
                name: self.name().into_owned(),
                format,
                hint: "; elements must have at least one byte".to_owned(),
            }),
            Format::V3Draft => Ok(self.draft_document(order)),
            Format::V3 => Ok(self.v3_document()),
        }
    }

    /// Reads text as a JSON string and everything else as Base64; raw bytes of the draft as a bit pattern.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let bytes = fill::parse(json, self.content, self.size, context);
        bytes
            .map(FillValue::new)
            .map_err(|what| DataTypeError::FillValue(format!("{what}; the data type is {}", self.name())))
    }

    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        if element.len() != self.size {
            let what = format!("{} bytes are not an element of {}", element.len(), self.name());
            return Err(DataTypeError::FillValue(what));
        }
        fill::to_json(element, self.content, format)
            .map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))
    }

    /// Prints text with escaped control characters, bytes as ASCII with escapes, and raw bytes in hexadecimal.
    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        match (self.content, fill::text(element)) {
            (Content::Bytes, _) => write!(to, "{}", fill::value(element).escape_ascii()),
            (Content::Text, Ok(text)) => {
                text.chars().try_for_each(|character| match character.is_control() {
                    true => write!(to, "{}", character.escape_default()),
                    false => to.write_char(character),
                })
            }
            _ => element.iter().try_for_each(|byte| write!(to, "{byte:02x}")),
        }
    }

    /// Checks that text consists of code points: no surrogates, and nothing above U+10FFFF.
    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        match self.content {
            Content::Text => fill::check_text(elements),
            Content::Bytes | Content::Raw => Ok(()),
        }
    }
}
