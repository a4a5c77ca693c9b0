//! The data type `{{name}}`: unsigned 12-bit integers, from 0 to 4095.
//!
//! Elements have two bytes, with a byte order. Fill values are JSON numbers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, Elements, Example, FillValue, Format,
    Identifiers, Invalid, Units, Value,
};

/// The name in v3.
const NAME: &str = "{{name}}";
{{draft}}
{{draft}}/// The URI in the v3 draft.
{{draft}}const URI: &str = "{{uri}}";
{{draft}}
{{draft}}/// The core data type whose elements have the same bytes.
{{draft}}const FALLBACK: &str = "uint16";

/// The largest number.
const LARGEST: u16 = 4095;

zarr_spec::register!(
    DataTypePlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Numbers from 0 to 4095.", EXAMPLES)
);

{{no-draft}}const IDENTIFIERS: Identifiers = Identifiers::name(NAME);
{{draft}}const IDENTIFIERS: Identifiers = Identifiers::name(NAME).with_uri(URI);

{{no-draft}}const EXAMPLES: &[Example] = &[Example::v3(r#""{{name}}""#)];
{{draft}}const EXAMPLES: &[Example] = &[
{{draft}}    Example::v3(r#""{{name}}""#),
{{draft}}    Example::draft(r#"{"extension": "{{uri}}", "type": "<{{name}}", "fallback": ["uint16"]}"#),
{{draft}}    Example::draft(r#"{"extension": "{{uri}}", "type": ">{{name}}", "fallback": ["uint16"]}"#),
{{draft}}];

/// 12-bit integers, each in two bytes.
#[derive(Debug)]
struct UInt12;

impl DataType for UInt12 {
    fn name(&self) -> Cow<'_, str> {
        NAME.into()
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 2, units: Units::Uniform(2) }
    }

    fn kind(&self) -> Option<Kind> {
        // Codecs that compute with numbers could exceed the range.
        None
    }

{{no-draft}}    fn document(&self, format: Format, _: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
{{draft}}    fn document(&self, format: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        match format {
            Format::V3 => Ok(DataTypeDocument::named(NAME)),
{{draft}}            Format::V3Draft => Ok(draft_document(order)),
{{draft}}            Format::V2 => {
{{no-draft}}            Format::V2 | Format::V3Draft => {
                Err(DataTypeError::NotInFormat { name: NAME.to_owned(), format, hint: String::new() })
            }
        }
    }

    fn fill_value(&self, json: &Value, _: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let number = json.as_u64().and_then(|number| u16::try_from(number).ok());
        match number.filter(|number| *number <= LARGEST) {
            Some(number) => Ok(FillValue::new(number.to_ne_bytes())),
            None => Err(DataTypeError::FillValue(format!("{json} is not in 0 to {LARGEST}"))),
        }
    }

    fn fill_value_json(&self, element: &[u8], _: Format, _: &ByteOrder) -> Result<Value, DataTypeError> {
        let wrong = |what: &str| DataTypeError::FillValue(what.to_owned());
        let bytes = element.try_into().map_err(|_| wrong("an element has two bytes"))?;
        self.check(element).map_err(|invalid| wrong(&invalid.to_string()))?;
        Ok(Value::from(u64::from(u16::from_ne_bytes(bytes))))
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        numbers(element).iter().try_for_each(|number| write!(to, "{}", u16::from_ne_bytes(*number)))
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let mut numbers = numbers(elements).iter().map(|number| u16::from_ne_bytes(*number));
        match numbers.find(|number| *number > LARGEST) {
            Some(number) => Err(Invalid::new(format!("{number} is not in 0 to {LARGEST}"))),
            None => Ok(()),
        }
    }
}

fn numbers(elements: &[u8]) -> &[[u8; 2]] {
    elements.as_chunks().0
}

{{no-draft}}fn create(creation: &Creation<'_>) -> Result<Created, DataTypeError> {
{{no-draft}}    let NoConfiguration {} = creation.parse()?;
{{no-draft}}    Ok((Arc::new(UInt12), ByteOrder::Little))
{{no-draft}}}
{{draft}}/// The draft declares the byte order in `type`, as it does for its own data types. A reader that does not know the
{{draft}}/// extension uses the fallback, whose elements and fill values are the same.
{{draft}}fn draft_document(order: &ByteOrder) -> DataTypeDocument {
{{draft}}    let sign = if *order == ByteOrder::Big { '>' } else { '<' };
{{draft}}    let type_name = Value::from(format!("{sign}{NAME}").as_str());
{{draft}}    DataTypeDocument::in_draft(URI, type_name, Some(FALLBACK))
{{draft}}}
{{draft}}
{{draft}}fn create(creation: &Creation<'_>) -> Result<Created, DataTypeError> {
{{draft}}    let NoConfiguration {} = creation.parse()?;
{{draft}}    if creation.format != Format::V3Draft {
{{draft}}        return Ok((Arc::new(UInt12), ByteOrder::Little));
{{draft}}    }
{{draft}}    let type_name = creation.type_name.and_then(Value::as_str).unwrap_or_default();
{{draft}}    match type_name.split_at_checked(1) {
{{draft}}        Some(("<", NAME)) => Ok((Arc::new(UInt12), ByteOrder::Little)),
{{draft}}        Some((">", NAME)) => Ok((Arc::new(UInt12), ByteOrder::Big)),
{{draft}}        _ => Err(Invalid::new(format!("`type` is \"{type_name}\", not \"<{NAME}\" or \">{NAME}\"")).into()),
{{draft}}    }
{{draft}}}
