//! Numbers as data types, with just enough behavior for tests of codecs.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::numbers::{AnyNumber, Element, Operand as _};
use zarr_plugin_kit::{Cast, with_any_number};
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, Elements, FillValue, Format, Identifiers,
    Invalid, Mode, Units, Value,
};

/// A number, or bytes of variable length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    name: &'static str,
    kind: Option<Kind>,
    /// The size in bytes; 0 if it is variable.
    size: usize,
    /// The number of bytes that the byte order reverses together.
    unit: usize,
    /// The number of significant bits of a narrow integer, which occupies one byte in memory.
    bits: u32,
}

impl Number {
    /// Returns the size of an element in bytes; 0 if it is variable.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number that a typestring such as `>f4` names, and its byte order.
    ///
    /// # Panics
    ///
    /// If no such number exists.
    #[must_use]
    #[expect(clippy::expect_used, reason = "the text is part of a test")]
    pub fn of_typestring(typestring: &str) -> (Self, ByteOrder) {
        let order = if typestring.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
        (by_id(typestring.trim_start_matches(['<', '>', '|'])).expect("a number"), order)
    }

    /// Returns the type under another name that is not registered, such as `int4` for a type that occupies one byte
    /// in memory.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Returns the type with only `bits` significant bits. The other bits repeat the sign or are 0.
    #[must_use]
    pub const fn narrow(self, bits: u32) -> Self {
        Self { bits, ..self }
    }
}

macro_rules! numbers {
    ($($constant:ident, $id:literal, $name:literal, $kind:expr, $size:literal, $unit:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`.")]
            pub const $constant: Number =
                Number { name: $name, kind: $kind, size: $size, unit: $unit, bits: 8 };
        )*

        /// All numbers, with their names in the three formats.
        pub(crate) const PLUGINS: &[DataTypePlugin] = &[$(DataTypePlugin::new(
            Identifiers::name($name).with_id($id),
            &|creation| create(creation, $constant),
        ),)*];

        fn by_id(id: &str) -> Option<Number> {
            match id {
                $($id => Some($constant),)*
                _ => None,
            }
        }

        fn id_of(number: Number) -> &'static str {
            match number.name {
                $($name => $id,)*
                _ => "",
            }
        }
    };
}

numbers! {
    BOOL, "b1", "bool", Some(Kind::Bool), 1, 1;
    INT8, "i1", "int8", Some(Kind::Int), 1, 1;
    INT16, "i2", "int16", Some(Kind::Int), 2, 2;
    INT32, "i4", "int32", Some(Kind::Int), 4, 4;
    INT64, "i8", "int64", Some(Kind::Int), 8, 8;
    UINT8, "u1", "uint8", Some(Kind::UInt), 1, 1;
    UINT16, "u2", "uint16", Some(Kind::UInt), 2, 2;
    UINT32, "u4", "uint32", Some(Kind::UInt), 4, 4;
    UINT64, "u8", "uint64", Some(Kind::UInt), 8, 8;
    FLOAT16, "f2", "float16", Some(Kind::Float), 2, 2;
    BFLOAT16, "bf2", "bfloat16", Some(Kind::BFloat), 2, 2;
    FLOAT32, "f4", "float32", Some(Kind::Float), 4, 4;
    FLOAT64, "f8", "float64", Some(Kind::Float), 8, 8;
    COMPLEX64, "c8", "complex64", Some(Kind::Complex), 8, 4;
    COMPLEX128, "c16", "complex128", Some(Kind::Complex), 16, 8;
    DATETIME, "M8", "numpy.datetime64[s]", None, 8, 8;
    RAW3, "V3", "r24", None, 3, 1;
    TEXT, "O/vlen-utf8", "string", None, 0, 1;
    VARIABLE_BYTES, "O/vlen-bytes", "bytes", None, 0, 1;
    JSON, "O/json2", "zarr-kit.json", None, 0, 1;
    TEXT3, "U", "fixed_length_utf32[12]", None, 12, 4;
}

impl Number {
    /// Returns the bytes of a real number, from `integer` for integer types and from `real` for floats.
    fn element_of(&self, integer: impl FnOnce() -> Option<i128>, real: Option<f64>) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.size];
        with_any_number!(AnyNumber::of(self)?, T => {
            integer: T::try_from(integer()?).ok()?.write(&mut bytes),
            float: {
                let value: T = real?.cast();
                value.write(&mut bytes);
            },
            other: return None,
        });
        Some(bytes)
    }
}

fn not_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let byte =
        |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    digits.as_bytes().chunks(2).map(byte).collect()
}

/// Creates the data type. In v2, the first character of the typestring is the byte order.
fn create(creation: &Creation<'_>, number: Number) -> Result<Created, DataTypeError> {
    let big = creation.format == Format::V2
        && creation.configuration.as_str().is_some_and(|text| text.starts_with('>'));
    Ok((Arc::new(number), if big { ByteOrder::Big } else { ByteOrder::Little }))
}

impl DataType for Number {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.name)
    }

    fn elements(&self) -> Elements {
        match self.size {
            0 => Elements::Variable,
            size => Elements::Fixed { size, units: Units::Uniform(self.unit) },
        }
    }

    fn kind(&self) -> Option<Kind> {
        self.kind
    }

    fn document(&self, format: Format, order: &ByteOrder) -> Result<DataTypeDocument, DataTypeError> {
        if format != Format::V2 {
            return Ok(DataTypeDocument::named(self.name));
        }
        let sign = if *order == ByteOrder::Big { '>' } else { '<' };
        let id = id_of(*self);
        Ok(DataTypeDocument::in_v2(id, Value::from(format!("{sign}{id}"))))
    }

    /// Reads a number, `NaN`, an infinity, or the bytes of an element in memory as hexadecimal digits.
    fn fill_value(&self, json: &Value, _context: &FillContext<'_>) -> Result<FillValue, DataTypeError> {
        let bytes = match (json, json.as_str().and_then(not_finite)) {
            (_, Some(value)) if matches!(self.kind, Some(Kind::Float | Kind::BFloat)) => {
                self.element_of(|| None, Some(value))
            }
            (Value::Number(number), _) => self.element_of(|| number.as_i128(), number.as_f64()),
            _ => hexadecimal(json.as_str().unwrap_or_default()),
        };
        let bytes = bytes.filter(|bytes| self.size == 0 || bytes.len() == self.size);
        let bytes = bytes.filter(|bytes| self.check(bytes).is_ok());
        bytes
            .map(FillValue::new)
            .ok_or_else(|| DataTypeError::FillValue(format!("{json} is not a valid {}", self.name)))
    }

    fn fill_value_json(
        &self,
        element: &[u8],
        _format: Format,
        _order: &ByteOrder,
    ) -> Result<Value, DataTypeError> {
        Ok(Value::String(element.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        element.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }

    /// Replaces every byte of a `bool` except 0 with 1, as the real data type does.
    fn settle(&self, elements: &mut [u8], mode: Mode) -> Result<(), Invalid> {
        match mode {
            _ if !self.settles() => return Ok(()),
            Mode::Strict => return self.check(elements),
            _ => elements.iter_mut().for_each(|element| *element = u8::from(*element != 0)),
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        self.kind == Some(Kind::Bool)
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let unused = 8 - self.bits;
        let is_element = |&byte: &u8| match self.kind {
            Some(Kind::Bool) => byte <= 1,
            Some(Kind::Int) => (byte.cast_signed() << unused >> unused).cast_unsigned() == byte,
            _ => byte << unused >> unused == byte,
        };
        match elements.iter().find(|byte| !is_element(byte)) {
            None => Ok(()),
            Some(byte) => Err(Invalid::new(format!("{byte:#04x} is not a valid {}", self.name))),
        }
    }
}
