//! Integers of 12 bits, which sensors and cameras produce: the data types `outside.int12` and `outside.uint12`, and
//! the codec `outside.packed12`.
//!
//! In memory an element is an integer of two bytes, so that code for integers can use it directly. The codec `bytes`
//! stores these two bytes. `outside.packed12` stores two elements in three bytes, least significant bit first: the
//! first byte and the lower half of the second byte are the first element. If the number of elements is odd, the last
//! element takes two bytes. The camera format `Mono12p`, and `packbits` with `last_bit` 11, store the same bytes.

mod packed;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, Elements, Example, FillValue, Format,
    Identifiers, Invalid, Mode, Units, Value,
};

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("outside.int12"), &|creation| create(creation, TwelveBits::Signed))
        .configuration::<NoConfiguration>()
        .about("Integers from -2048 to 2047.", &[Example::v3(r#""outside.int12""#)])
);

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name("outside.uint12"), &|creation| {
        create(creation, TwelveBits::Unsigned)
    })
    .configuration::<NoConfiguration>()
    .about("Integers from 0 to 4095.", &[Example::v3(r#""outside.uint12""#)])
);

/// An integer of 12 bits in two bytes, sign extended if it is signed.
#[derive(Debug, Clone, Copy)]
enum TwelveBits {
    Signed,
    Unsigned,
}

impl TwelveBits {
    fn identifier(self) -> &'static str {
        match self {
            Self::Signed => "outside.int12",
            Self::Unsigned => "outside.uint12",
        }
    }

    /// Returns the type of the elements of `data_type`.
    fn of(data_type: &dyn DataType) -> Option<Self> {
        let name = data_type.name();
        [Self::Signed, Self::Unsigned].into_iter().find(|it| it.identifier() == name)
    }

    /// Returns the element with the lower 12 bits of `bits`.
    fn element(self, bits: u16) -> u16 {
        match self {
            Self::Signed => ((bits << 4).cast_signed() >> 4).cast_unsigned(),
            Self::Unsigned => bits & 0x0fff,
        }
    }

    fn value(self, element: u16) -> i64 {
        match self {
            Self::Signed => element.cast_signed().into(),
            Self::Unsigned => element.into(),
        }
    }

    fn is_element(self, bits: u16) -> bool {
        self.element(bits) == bits
    }
}

impl DataType for TwelveBits {
    fn name(&self) -> Cow<'_, str> {
        self.identifier().into()
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 2, units: Units::Uniform(2) }
    }

    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Signed => Kind::Int,
            Self::Unsigned => Kind::UInt,
        })
    }

    fn document(&self, format: Format, _: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        let name = self.identifier();
        match format {
            Format::V3 => Ok(DataTypeDocument::named(name)),
            Format::V2 | Format::V3Draft => {
                Err(DataTypeError::NotInFormat { name: name.to_owned(), format, hint: String::new() })
            }
        }
    }

    fn fill_value(&self, json: &Value, _: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let element = match self {
            Self::Signed => json.as_i64().and_then(|value| i16::try_from(value).ok()).map(i16::cast_unsigned),
            Self::Unsigned => json.as_u64().and_then(|value| u16::try_from(value).ok()),
        };
        match element.filter(|element| self.is_element(*element)) {
            Some(element) => Ok(FillValue::new(element.to_ne_bytes())),
            None => Err(DataTypeError::FillValue(format!("{json} is not a valid {}", self.identifier()))),
        }
    }

    fn fill_value_json(&self, element: &[u8], _: Format, _: &ByteOrder) -> Result<Value, DataTypeError> {
        let wrong = |what: String| DataTypeError::FillValue(what);
        let bytes: [u8; 2] = element
            .try_into()
            .map_err(|_| wrong(format!("an element has 2 bytes, not {}", element.len())))?;
        self.check(element).map_err(|invalid| wrong(invalid.to_string()))?;
        Ok(Value::from(self.value(u16::from_ne_bytes(bytes))))
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        integers(element).try_for_each(|element| write!(to, "{}", self.value(element)))
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        match integers(elements).find(|bits| !self.is_element(*bits)) {
            Some(bits) => {
                Err(Invalid::new(format!("bits {bits:#06x} are not a valid {}", self.identifier())))
            }
            None => Ok(()),
        }
    }

    /// Replaces the four upper bits, which are unspecified when two bytes are stored.
    fn settle(&self, elements: &mut [u8], _mode: Mode) -> Result<(), Invalid> {
        for bytes in elements.as_chunks_mut().0 {
            *bytes = self.element(u16::from_ne_bytes(*bytes)).to_ne_bytes();
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        true
    }
}

fn integers(elements: &[u8]) -> impl Iterator<Item = u16> {
    elements.as_chunks().0.iter().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn create(creation: &Creation<'_>, data_type: TwelveBits) -> Result<Created, DataTypeError> {
    let NoConfiguration {} = creation.parse()?;
    Ok((Arc::new(data_type), ByteOrder::Little))
}
