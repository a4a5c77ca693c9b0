//! The core data types of Zarr: bool, integers, floats, complex numbers, raw bits.
//!
//! | name | v2 | element |
//! |---|---|---|
//! | `bool` | `\|b1` | one byte, 0 or 1 |
//! | `int8` … `int64`, `uint8` … `uint64` | `\|i1`, `<i2` … | two's complement, or unsigned |
//! | `float16`, `float32`, `float64` | `<f2` … | IEEE 754 |
//! | `complex64`, `complex128` | `<c8`, `<c16` | real part, then imaginary part |
//! | `r8`, `r16`, `r24` … | `\|V1` … | uninterpreted bytes |
//!
//! Source: "Data types" of the Zarr v3 specification and its draft of December 2022; "Data type encoding" of v2.

mod bits;
mod float;
mod integer;
mod raw;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind, Typestring};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Mode, Units, Value,
};

pub use raw::Raw;

macro_rules! core_types {
    ($($variant:ident, $name:literal, $id:literal, $kind:ident, $size:literal, $unit:literal, $aliases:expr,
        $summary:literal, $($typestring:literal)+;)*) => {
        /// A core data type with a fixed name; [`Raw`] covers the others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum CoreType {
            $(
                #[doc = concat!("`", $name, "`, in v2 `", $id, "`.")]
                $variant,
            )*
        }

        impl CoreType {
            /// All core data types with a fixed name.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            const fn properties(self) -> Properties {
                match self {
                    $(Self::$variant => Properties {
                        name: $name,
                        id: $id,
                        kind: Kind::$kind,
                        size: $size,
                        unit: $unit,
                        aliases: $aliases,
                    },)*
                }
            }
        }

        $(zarr_spec::register!(
            DataTypePlugin::new(
                Identifiers::name($name).with_id($id).with_aliases($aliases),
                &create,
            )
            .about($summary, const { &[
                Example::v3(concat!('"', $name, '"')),
                $(Example::v2(concat!('"', $typestring, '"')),)+
                Example::draft(concat!('"', $name, '"')),
            ] })
        );)*
    };
}

core_types! {
    Bool, "bool", "b1", Bool, 1, 1, &[], "Booleans of one byte.", "|b1";
    Int8, "int8", "i1", Int, 1, 1, &[], "Signed integers of 8 bits.", "|i1";
    Int16, "int16", "i2", Int, 2, 2, &[], "Signed integers of 16 bits.", "<i2" ">i2";
    Int32, "int32", "i4", Int, 4, 4, &[], "Signed integers of 32 bits.", "<i4" ">i4";
    Int64, "int64", "i8", Int, 8, 8, &[], "Signed integers of 64 bits.", "<i8" ">i8";
    UInt8, "uint8", "u1", UInt, 1, 1, &[], "Unsigned integers of 8 bits.", "|u1";
    UInt16, "uint16", "u2", UInt, 2, 2, &[], "Unsigned integers of 16 bits.", "<u2" ">u2";
    UInt32, "uint32", "u4", UInt, 4, 4, &[], "Unsigned integers of 32 bits.", "<u4" ">u4";
    UInt64, "uint64", "u8", UInt, 8, 8, &[], "Unsigned integers of 64 bits.", "<u8" ">u8";
    Float16, "float16", "f2", Float, 2, 2, &[], "IEEE 754 floats of 16 bits.", "<f2" ">f2";
    Float32, "float32", "f4", Float, 4, 4, &[], "IEEE 754 floats of 32 bits.", "<f4" ">f4";
    Float64, "float64", "f8", Float, 8, 8, &[], "IEEE 754 floats of 64 bits.", "<f8" ">f8";
    Complex64, "complex64", "c8", Complex, 8, 4, &["complex_float32"],
        "Complex numbers of two floats of 32 bits.", "<c8" ">c8";
    // complex64 has the same URIs: `type` of the draft distinguishes them.
    Complex128, "complex128", "c16", Complex, 16, 8, &[
        "complex_float64",
        "https://purl.org/zarr/spec/extensions/data-types/complex/1.0",
        "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html",
    ], "Complex numbers of two floats of 64 bits.", "<c16" ">c16";
}

struct Properties {
    name: &'static str,
    /// The name in v2, without byte order.
    id: &'static str,
    kind: Kind,
    /// Size in bytes.
    size: usize,
    /// Size of the unit that byte order applies to, in bytes.
    unit: usize,
    /// Additional names and URIs.
    aliases: &'static [&'static str],
}

/// Creates a data type. Each name and each old typestring selects one type; the extension of the draft
/// selects it by `type`.
fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    if creation.identifier.contains(':') {
        return complex_extension(creation);
    }
    let core = CoreType::ALL.iter().copied().find(|core| {
        let Properties { name, id, aliases, .. } = core.properties();
        [name, id].contains(&creation.identifier) || aliases.contains(&creation.identifier)
    });
    let core = core
        .ok_or_else(|| DataTypeError::Unknown(format!("data type `{}` is unknown", creation.identifier)))?;
    let big = match (creation.format, creation.configuration) {
        (Format::V2, Value::String(text)) => Typestring::parse(text, creation.reading)?.is_big_endian(),
        (Format::V3Draft, Value::String(text)) => text.starts_with('>'),
        _ => {
            refuse_configuration(creation)?;
            false
        }
    };
    Ok((Arc::new(core), if big { ByteOrder::Big } else { ByteOrder::Little }))
}

fn complex_extension(creation: &Creation<'_>) -> DataTypeResult<Created> {
    let (core, order) = match creation.type_name.and_then(Value::as_str) {
        Some("<c8") => (CoreType::Complex64, ByteOrder::Little),
        Some(">c8") => (CoreType::Complex64, ByteOrder::Big),
        Some("<c16") => (CoreType::Complex128, ByteOrder::Little),
        Some(">c16") => (CoreType::Complex128, ByteOrder::Big),
        _ => {
            let what = creation.type_name.map_or_else(|| "missing".to_owned(), ToString::to_string);
            return Err(Invalid::new(format!("`type` is {what}; expected `<c8` or `<c16`")).into());
        }
    };
    Ok((Arc::new(core), order))
}

/// Refuses a configuration unless it is empty: these types do not have one.
fn refuse_configuration(creation: &Creation<'_>) -> Result<(), Invalid> {
    match creation.configuration {
        Value::Null => Ok(()),
        Value::Object(members) => match members.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(Invalid::new(format!("unknown member `{name}`; the configuration must be empty")))
            }
        },
        other => Err(Invalid::new(format!("`configuration` is {}; expected an object", other.kind_name()))),
    }
}

impl CoreType {
    /// Returns the size of an element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        self.properties().size
    }

    fn parse_fill(self, json: &Value, context: &FillContext<'_>) -> Result<Vec<u8>, String> {
        let Properties { kind, size, unit, .. } = self.properties();
        if context.format == Format::V3Draft
            && let Some(text) = json.as_str().filter(|text| bits::is_bits(text))
        {
            let bytes = bits::to_native(bits::parse(text, size)?, unit);
            return match kind == Kind::Bool && bytes[0] > 1 {
                true => Err(format!("{json} is neither 0 nor 1")),
                false => Ok(bytes),
            };
        }
        match kind {
            Kind::Bool => integer::parse_bool(json, context).map(|value| vec![u8::from(value)]),
            Kind::Int | Kind::UInt => integer::parse(json, kind == Kind::Int, size, context),
            Kind::Float => float::parse(json, size, context),
            _ => match json.as_array() {
                Some([real, imaginary]) => {
                    let mut bytes = float::parse(real, unit, context)?;
                    bytes.extend(float::parse(imaginary, unit, context)?);
                    Ok(bytes)
                }
                _ => Err(format!("{json} is not a pair of a real and an imaginary part")),
            },
        }
    }
}

impl DataType for CoreType {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.properties().name)
    }

    fn elements(&self) -> Elements {
        let Properties { size, unit, .. } = self.properties();
        Elements::Fixed { size, units: Units::Uniform(unit) }
    }

    fn kind(&self) -> Option<Kind> {
        Some(self.properties().kind)
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        let Properties { name, id, unit, .. } = self.properties();
        let sign = match order {
            _ if unit == 1 => '|',
            ByteOrder::Big => '>',
            _ => '<',
        };
        Ok(match format {
            Format::V2 => DataTypeDocument::in_v2(id, Value::from(format!("{sign}{id}"))),
            _ => DataTypeDocument::named(name),
        })
    }

    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let bytes = self.parse_fill(json, context).map_err(|what| {
            DataTypeError::FillValue(format!("{what}; the data type is {}", self.properties().name))
        })?;
        Ok(FillValue::new(bytes))
    }

    fn fill_value_json(&self, element: &[u8], format: Format, _order: &ByteOrder) -> DataTypeResult<Value> {
        let Properties { name, kind, size, unit, .. } = self.properties();
        let wrong = DataTypeError::FillValue;
        if element.len() != size {
            return Err(wrong(format!(
                "{} bytes are not an element of {name}, which has {size}",
                element.len()
            )));
        }
        match kind {
            Kind::Bool => match element {
                [0] => Ok(Value::Bool(false)),
                [1] => Ok(Value::Bool(true)),
                _ => Err(wrong(format!("byte {} is neither false nor true", element[0]))),
            },
            Kind::Int | Kind::UInt => Ok(integer::to_json(element, kind == Kind::Int)),
            Kind::Float => float::to_json(element, format).map_err(wrong),
            _ => {
                let (real, imaginary) = element.split_at(unit);
                let part = |bytes| float::to_json(bytes, format).map_err(wrong);
                Ok(Value::Array(vec![part(real)?, part(imaginary)?]))
            }
        }
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        let Properties { kind, size, unit, .. } = self.properties();
        if element.len() != size {
            return raw::print(element, to);
        }
        match kind {
            Kind::Bool => to.write_str(if element[0] == 0 { "false" } else { "true" }),
            Kind::Int | Kind::UInt => integer::print(element, kind == Kind::Int, to),
            Kind::Float => to.write_str(&float::print(element)),
            _ => {
                let (real, imaginary) = element.split_at(unit);
                let imaginary = float::print(imaginary);
                let plus = if imaginary.starts_with('-') { "" } else { "+" };
                write!(to, "{}{plus}{imaginary}i", float::print(real))
            }
        }
    }

    /// Normalizes `bool`: all nonzero stored bytes mean true (D3-DT-03, V3-BYTES-04). Values above 1 are
    /// rare.
    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        match self.check(elements) {
            Err(invalid) if mode == Mode::Strict => return Err(invalid),
            Err(_) => elements.iter_mut().for_each(|element| *element = u8::from(*element != 0)),
            Ok(()) => {}
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        *self == Self::Bool
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        if *self != Self::Bool {
            return Ok(());
        }
        // Most parts do not contain a byte above 1. They are checked without a branch for each byte, which is faster.
        let above = |part: &&[u8]| part.iter().fold(0, |all, byte| all | byte) > 1;
        let part = elements.chunks(4096).find(above).unwrap_or_default();
        match part.iter().find(|&&byte| byte > 1) {
            Some(byte) => Err(Invalid::new(format!("byte {byte} is neither false nor true"))),
            None => Ok(()),
        }
    }
}
