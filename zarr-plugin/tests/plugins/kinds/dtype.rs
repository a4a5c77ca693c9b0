//! The data type `kinds.uint12`: unsigned numbers of 12 bits, from 0 to 4095.
//!
//! An element has two bytes in memory and a byte order. Fill values are numbers.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, Elements, Example, FillValue, Format,
    Identifiers, Invalid, Units, Value,
};

/// The name in final v3.
const NAME: &str = "kinds.uint12";

/// The largest number.
const LARGEST: u16 = 4095;

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name(NAME), &create)
        .configuration::<NoConfiguration>()
        .about("Numbers from 0 to 4095.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#""kinds.uint12""#)];

/// Numbers of 12 bits, each in two bytes.
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
        // Codecs that compute with numbers could produce numbers above 4095, so they must not process this type.
        None
    }

    fn document(&self, format: Format, _: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        match format {
            Format::V3 => Ok(DataTypeDocument::named(NAME)),
            Format::V2 | Format::V3Draft => {
                Err(DataTypeError::NotInFormat { name: NAME.to_owned(), format, hint: String::new() })
            }
        }
    }

    fn fill_value(&self, json: &Value, _: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let number = json.as_u64().and_then(|number| u16::try_from(number).ok());
        match number.filter(|number| *number <= LARGEST) {
            Some(number) => Ok(FillValue::new(number.to_ne_bytes())),
            None => Err(DataTypeError::FillValue(format!("{json} is not 0 to {LARGEST}"))),
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
            Some(number) => Err(Invalid::new(format!("{number} is not 0 to {LARGEST}"))),
            None => Ok(()),
        }
    }
}

fn numbers(elements: &[u8]) -> &[[u8; 2]] {
    elements.as_chunks().0
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>) -> Result<Created, DataTypeError> {
    let NoConfiguration {} = creation.parse()?;
    Ok((Arc::new(UInt12), ByteOrder::Little))
}
