//! Floats of 4, 6 and 8 bits, and complex numbers of floats of up to 16 bits.
//!
//! The names contain the number of exponent bits (`e`) and mantissa bits (`m`); a remaining bit is the sign. A
//! suffix describes deviations from IEEE 754: `fn` has no infinity, and NaN only if it has 8 bits; `fnuz` has one
//! NaN, no infinity and no negative zero.
//!
//! | name | bias | largest | NaN |
//! |---|--:|--:|---|
//! | `float4_e2m1fn` | 1 | 6 | – |
//! | `float6_e2m3fn` | 1 | 7.5 | – |
//! | `float6_e3m2fn` | 3 | 28 | – |
//! | `float8_e3m4` | 3 | 15.5, infinity `0x70` | `0x78` |
//! | `float8_e4m3` | 7 | 240, infinity `0x78` | `0x7c` |
//! | `float8_e4m3b11fnuz` | 11 | 30 | `0x80` |
//! | `float8_e4m3fn` | 7 | 448 | `0x7f` |
//! | `float8_e4m3fnuz` | 8 | 240 | `0x80` |
//! | `float8_e5m2` | 15 | 57344, infinity `0x7c` | `0x7e` |
//! | `float8_e5m2fnuz` | 16 | 57344 | `0x80` |
//! | `float8_e8m0fnu` | 127 | 2^127; a power of two, unsigned, no zero | `0xff` |
//!
//! Each is one byte. Bits that the type does not use are 0 in memory and ignored in stored chunks. A name `complex_`
//! followed by `bfloat16`, `float16` or one of the names above means a number with a real and an imaginary part of this
//! type.
//!
//! | format | form |
//! |---|---|
//! | v3 | the name |
//! | draft | an extension of this project with the same names as types, and raw bits as fallback |
//! | v2 | not available |
//!
//! Source: `data-types/float4_e2m1fn` and related pages in the Zarr extension registry;
//! `docs/spec/data-types-small-float.md` for the draft.

mod float;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use zarr_plugin_kit::decimals;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Mode, Number, Units, Value,
};

use float::{Float, Special};

/// The URI of the extension in the draft.
const URI: &str = "https://zarr-kit.example/spec/data-types/small-float/1.0";

/// A float of up to 8 bits, or a complex number of floats of up to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmallFloat {
    /// The name of the float of each part.
    part: &'static str,
    float: &'static Float,
    is_complex: bool,
}

macro_rules! small_floats {
    ($($name:literal $exponent:literal $mantissa:literal $bias:literal $special:ident)*) => {
        /// The floats that elements consist of.
        const PARTS: &[(&str, Float)] = &[$((
            $name,
            Float { exponent: $exponent, mantissa: $mantissa, bias: $bias, special: Special::$special },
        )),*];
    };
}

small_floats! {
    "float4_e2m1fn" 2 1 1 Nothing
    "float6_e2m3fn" 2 3 1 Nothing
    "float6_e3m2fn" 3 2 3 Nothing
    "float8_e3m4" 3 4 3 Ieee
    "float8_e4m3" 4 3 7 Ieee
    "float8_e4m3b11fnuz" 4 3 11 NegativeZero
    "float8_e4m3fn" 4 3 7 AllBits
    "float8_e4m3fnuz" 4 3 8 NegativeZero
    "float8_e5m2" 5 2 15 Ieee
    "float8_e5m2fnuz" 5 2 16 NegativeZero
    "float8_e8m0fnu" 8 0 127 ExponentAlone
    "bfloat16" 8 7 127 Ieee
    "float16" 5 10 15 Ieee
}

// All types share the URI, which can be registered only once: `type` of the draft distinguishes them.
zarr_spec::register!(DataTypePlugin::new(Identifiers::name("float4_e2m1fn").with_uri(URI), &create).about(
    "Floats of 4 bits, from -6 to 6; in the draft also all other small floats.",
    const {
        &[
            Example::v3(r#""float4_e2m1fn""#),
            Example::draft(
                r#"{"extension": "https://zarr-kit.example/spec/data-types/small-float/1.0",
                    "type": "float8_e4m3", "fallback": ["r8"]}"#,
            ),
            Example::draft(
                r#"{"extension": "https://zarr-kit.example/spec/data-types/small-float/1.0",
                    "type": ">complex_bfloat16", "fallback": ["r32"]}"#,
            ),
        ]
    },
));

macro_rules! plugins {
    ($($name:literal $summary:literal;)*) => {$(
        zarr_spec::register!(
            DataTypePlugin::new(Identifiers::name($name), &create)
                .about($summary, const { &[Example::v3(concat!('"', $name, '"'))] })
        );
    )*};
}

plugins! {
    "float6_e2m3fn" "Floats of 6 bits with 3 mantissa bits, from -7.5 to 7.5.";
    "float6_e3m2fn" "Floats of 6 bits with 2 mantissa bits, from -28 to 28.";
    "float8_e3m4" "Floats of 8 bits with 4 mantissa bits, up to 15.5 and infinity.";
    "float8_e4m3" "Floats of 8 bits with 3 mantissa bits, up to 240 and infinity.";
    "float8_e4m3b11fnuz" "Floats of 8 bits with 3 mantissa bits, up to 30, without infinity.";
    "float8_e4m3fn" "Floats of 8 bits with 3 mantissa bits, up to 448, without infinity.";
    "float8_e4m3fnuz" "Floats of 8 bits with 3 mantissa bits, up to 240, without infinity.";
    "float8_e5m2" "Floats of 8 bits with 2 mantissa bits, up to 57344 and infinity.";
    "float8_e5m2fnuz" "Floats of 8 bits with 2 mantissa bits, up to 57344, without infinity.";
    "float8_e8m0fnu" "Powers of two from 2^-127 to 2^127 in one byte.";
    "complex_bfloat16" "Complex numbers of two bfloat16.";
    "complex_float16" "Complex numbers of two float16.";
    "complex_float4_e2m1fn" "Complex numbers of two float4_e2m1fn.";
    "complex_float6_e2m3fn" "Complex numbers of two float6_e2m3fn.";
    "complex_float6_e3m2fn" "Complex numbers of two float6_e3m2fn.";
    "complex_float8_e3m4" "Complex numbers of two float8_e3m4.";
    "complex_float8_e4m3" "Complex numbers of two float8_e4m3.";
    "complex_float8_e4m3b11fnuz" "Complex numbers of two float8_e4m3b11fnuz.";
    "complex_float8_e4m3fn" "Complex numbers of two float8_e4m3fn.";
    "complex_float8_e4m3fnuz" "Complex numbers of two float8_e4m3fnuz.";
    "complex_float8_e5m2" "Complex numbers of two float8_e5m2.";
    "complex_float8_e5m2fnuz" "Complex numbers of two float8_e5m2fnuz.";
    "complex_float8_e8m0fnu" "Complex numbers of two float8_e8m0fnu.";
}

/// Creates the data type, which does not have a configuration. `type` of the draft is the name, preceded by
/// `>` if the order is big endian.
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
    let big = name.strip_prefix('>').filter(|_| creation.format == Format::V3Draft);
    let order = if big.is_some() { ByteOrder::Big } else { ByteOrder::Little };
    let found =
        SmallFloat::named(big.unwrap_or(name)).filter(|found| big.is_none() || found.float.bytes() > 1);
    let found =
        found.ok_or_else(|| Invalid::new(format!("`type` is `{name}`, which is not a small float")))?;
    Ok((Arc::new(found), order))
}

impl SmallFloat {
    /// Returns the data type with this name in the extension registry.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let complex = name.strip_prefix("complex_");
        let &(part, ref float) = PARTS.iter().find(|(part, _)| *part == complex.unwrap_or(name))?;
        // Real floats of two bytes belong to other crates.
        (complex.is_some() || float.bytes() == 1).then_some(Self {
            part,
            float,
            is_complex: complex.is_some(),
        })
    }

    /// Returns the size of an element in bytes.
    fn size(&self) -> usize {
        self.float.bytes() * if self.is_complex { 2 } else { 1 }
    }

    /// Returns the name of raw bits of the same size.
    fn fallback(&self) -> &'static str {
        match self.size() {
            1 => "r8",
            2 => "r16",
            _ => "r32",
        }
    }

    /// Returns the codes of the parts of an element.
    fn codes<'a>(&self, element: &'a [u8]) -> impl Iterator<Item = u16> + use<'a> {
        element.chunks_exact(self.float.bytes()).map(|bytes| match *bytes {
            [low, high] => u16::from_ne_bytes([low, high]),
            [byte, ..] => byte.into(),
            [] => 0,
        })
    }

    /// Returns the bytes of a part of an element.
    fn bytes_of(&self, code: u16) -> Vec<u8> {
        let bytes = code.to_le_bytes();
        if self.float.bytes() == 1 { bytes[..1].to_vec() } else { code.to_ne_bytes().to_vec() }
    }

    fn parse(&self, json: &Value, context: &FillContext<'_>) -> Result<Vec<u8>, String> {
        if let (Value::String(text), Format::V3Draft) = (json, context.format)
            && let Some(digits) = text.strip_prefix("0x")
        {
            let bytes = from_digits(digits, self.size()).ok_or_else(|| self.no_digits(text, self.size()))?;
            let bytes = self.swapped(bytes, context.byte_order);
            return match self.check(&bytes) {
                Ok(()) => Ok(bytes),
                Err(_) => Err(format!("\"{text}\" has bits outside of an element")),
            };
        }
        match (json, self.is_complex) {
            (Value::Array(parts), true) if parts.len() == 2 => {
                let codes = parts.iter().map(|part| self.parse_part(part, context));
                let bytes = codes.map(|code| code.map(|code| self.bytes_of(code)));
                Ok(bytes.collect::<Result<Vec<_>, _>>()?.concat())
            }
            (_, true) => Err(format!("{json} is not a pair of a real and an imaginary part")),
            (_, false) => Ok(self.bytes_of(self.parse_part(json, context)?)),
        }
    }

    fn parse_part(&self, json: &Value, context: &FillContext<'_>) -> Result<u16, String> {
        let in_text = decimals::in_text(json, context).map_err(|invalid| invalid.to_string())?;
        if let Some(number) = in_text.as_ref().or(json.as_number()).filter(|number| number.is_finite_token())
        {
            return self.float.nearest(number);
        }
        let text = json.as_str().ok_or_else(|| format!("{json} is not a number"))?;
        let special = match text {
            "NaN" => self.float.nan(),
            "Infinity" => self.float.infinity(false),
            "-Infinity" => self.float.infinity(true),
            "+Infinity" => {
                if context.format == Format::V3 {
                    let what = "fill value \"+Infinity\" has the spelling of older drafts";
                    context.reading.tolerate(what).map_err(|invalid| invalid.to_string())?;
                }
                self.float.infinity(false)
            }
            _ => {
                let digits =
                    text.strip_prefix("0x").and_then(|digits| from_digits(digits, self.float.bytes()));
                let bytes = digits.ok_or_else(|| self.no_digits(text, self.float.bytes()))?;
                let code = bytes.iter().fold(0, |code, byte| code << 8 | u16::from(*byte));
                return match code & !self.float.mask() {
                    0 => Ok(code),
                    _ => Err(format!("\"{text}\" has bits outside of an element")),
                };
            }
        };
        special.ok_or_else(|| format!("{} does not have {text}", self.part))
    }

    fn no_digits(&self, text: &str, bytes: usize) -> String {
        format!("\"{text}\" is neither NaN or an infinity nor `0x` and {} digits", 2 * bytes)
    }

    /// Converts between the native bytes of an element and its stored bytes.
    fn swapped(&self, mut bytes: Vec<u8>, order: &ByteOrder) -> Vec<u8> {
        let is_native = (*order == ByteOrder::Big) == cfg!(target_endian = "big");
        if !is_native {
            bytes.chunks_exact_mut(self.float.bytes()).for_each(<[u8]>::reverse);
        }
        bytes
    }

    /// Writes a part in a form that is read as the same bits.
    fn part_json(&self, code: u16) -> Value {
        let value = self.float.value(code);
        match Number::from_f64(value) {
            Some(number) => Value::Number(number),
            None if Some(code) == self.float.nan() => Value::from("NaN"),
            None if value.is_nan() => {
                Value::from(format!("0x{code:0digits$x}", digits = 2 * self.float.bytes()))
            }
            None if value > 0.0 => Value::from("Infinity"),
            None => Value::from("-Infinity"),
        }
    }
}

/// Parses `bytes` bytes of two digits each.
fn from_digits(digits: &str, bytes: usize) -> Option<Vec<u8>> {
    let are_digits = digits.len() == 2 * bytes && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let byte = |pair: Option<&str>| u8::from_str_radix(pair?, 16).ok();
    if are_digits { pairs.map(byte).collect() } else { None }
}

impl DataType for SmallFloat {
    fn name(&self) -> Cow<'_, str> {
        if self.is_complex { Cow::Owned(format!("complex_{}", self.part)) } else { Cow::Borrowed(self.part) }
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: self.size(), units: Units::Uniform(self.float.bytes()) }
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        let name = self.name();
        match format {
            Format::V3 => Ok(DataTypeDocument::named(&name)),
            Format::V2 => Err(DataTypeError::NotInFormat {
                name: name.into_owned(),
                format,
                hint: "; `float16` or `complex64` can represent all values of most small floats".to_owned(),
            }),
            Format::V3Draft => {
                let is_big = *order == ByteOrder::Big && self.float.bytes() > 1;
                let type_name = Value::from(if is_big { format!(">{name}") } else { name.into_owned() });
                Ok(DataTypeDocument::in_draft(URI, type_name, Some(self.fallback())))
            }
        }
    }

    /// Reads a number, `"NaN"`, an infinity, or `0x` and the digits of the code; a pair of these for a complex
    /// type. In the draft, also reads the stored bytes.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let bytes = self.parse(json, context);
        bytes
            .map(FillValue::new)
            .map_err(|what| DataTypeError::FillValue(format!("{what}; the data type is {}", self.name())))
    }

    /// Writes the stored bytes in the draft, so that the fallback can read them.
    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        if element.len() != self.size() {
            let what = format!("{} bytes are not an element of {}", element.len(), self.name());
            return Err(DataTypeError::FillValue(what));
        }
        self.check(element).map_err(|invalid| DataTypeError::FillValue(invalid.to_string()))?;
        if format == Format::V3Draft {
            let stored = self.swapped(element.to_vec(), order);
            let digits: String = stored.iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok(Value::from(format!("0x{digits}")));
        }
        let mut parts: Vec<_> = self.codes(element).map(|code| self.part_json(code)).collect();
        Ok(if self.is_complex { Value::Array(parts) } else { parts.remove(0) })
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        if element.len() != self.size() {
            return element.iter().try_for_each(|byte| write!(to, "{byte:02x}"));
        }
        for (index, code) in self.codes(element).enumerate() {
            let value = self.float.value(code);
            let text = format!("{value:?}");
            let text = text.strip_suffix(".0").unwrap_or(&text);
            match (index, text.starts_with('-')) {
                (1, false) => write!(to, "+{text}i")?,
                (1, true) => write!(to, "{text}i")?,
                _ => to.write_str(text)?,
            }
        }
        Ok(())
    }

    fn check(&self, elements: &[u8]) -> Result<(), Invalid> {
        let unused = !self.float.mask();
        match self.codes(elements).find(|code| self.float.bytes() == 1 && code & unused != 0) {
            None => Ok(()),
            Some(code) => Err(Invalid::new(format!("byte {code:#04x} is not an element of {}", self.part))),
        }
    }

    /// Clears the unused upper bits in every mode, since they are ignored.
    fn settle(&self, elements: &mut [u8], _mode: Mode) -> Result<(), Invalid> {
        let [mask, _] = self.float.mask().to_le_bytes();
        if self.settles() {
            elements.iter_mut().for_each(|byte| *byte &= mask);
        }
        Ok(())
    }

    fn settles(&self) -> bool {
        self.float.bits() < 8
    }
}
