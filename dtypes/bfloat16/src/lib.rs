//! `bfloat16`: the upper half of a binary32 float, with one sign bit, 8 exponent bits (bias 127) and 7 mantissa
//! bits.
//!
//! An element has two bytes, whose order is that of the array. The codecs of the registry support the type;
//! those of numcodecs do not.
//!
//! | format | form |
//! |---|---|
//! | v3 | `bfloat16`; fill values like those of other floats, with bit patterns of four digits |
//! | draft | an extension of this project with the fallback `r16`; fill values also as the stored bytes |
//! | v2 | not available |
//!
//! Source: `data-types/bfloat16` in the Zarr extension registry; `docs/spec/data-types-bfloat16.md` for the
//! draft.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use half::bf16;
use zarr_plugin_kit::decimals;
use zarr_spec::data_type::{Created, DataTypeDocument, FillContext, Kind};
use zarr_spec::{
    ByteOrder, Creation, DataType, DataTypeError, DataTypePlugin, DataTypeResult, Elements, Example,
    FillValue, Format, Identifiers, Invalid, Number, Units, Value,
};

/// The URI of the extension in the draft.
const URI: &str = "https://zarr-kit.example/spec/data-types/bfloat16/1.0";
const NAME: &str = "bfloat16";
/// The bits of `"NaN"`.
const NAN: u16 = 0x7fc0;

zarr_spec::register!(
    DataTypePlugin::new(Identifiers::name(NAME).with_uri(URI), &create)
        .about("Floats of 16 bits with the exponent range of 32-bit floats (brain floats).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#""bfloat16""#),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/bfloat16/1.0",
            "type": "bfloat16", "fallback": ["r16"]}"#,
    ),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/data-types/bfloat16/1.0",
            "type": ">bfloat16", "fallback": ["r16"]}"#,
    ),
];

/// The data type `bfloat16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BFloat16;

/// Creates the data type, which does not have a configuration. `type` of the draft is the name, preceded by
/// `>` if the order is big endian.
fn create(creation: &Creation<'_>) -> DataTypeResult<Created> {
    match creation.configuration {
        Value::Null => {}
        Value::Object(members) if members.is_empty() => {}
        _ => return Err(Invalid::new("`configuration` is not allowed for this data type").into()),
    }
    let order = match (creation.format, creation.type_name.and_then(Value::as_str)) {
        (Format::V3Draft, Some("bfloat16")) => ByteOrder::Little,
        (Format::V3Draft, Some(">bfloat16")) => ByteOrder::Big,
        (Format::V3Draft, _) => {
            let what = creation.type_name.map_or_else(|| "missing".to_owned(), ToString::to_string);
            return Err(
                Invalid::new(format!("`type` is {what}; expected \"bfloat16\" or \">bfloat16\"")).into()
            );
        }
        _ => ByteOrder::Little,
    };
    Ok((Arc::new(BFloat16), order))
}

fn parse_fill(json: &Value, context: &FillContext<'_>) -> Result<u16, String> {
    let in_text = decimals::in_text(json, context).map_err(|invalid| invalid.to_string())?;
    if let Some(number) = in_text.as_ref().or(json.as_number()).filter(|number| number.is_finite_token()) {
        return nearest(number).map(bf16::to_bits).ok_or_else(|| format!("{number} has too many digits"));
    }
    let text = json.as_str().ok_or_else(|| format!("{json} is not a number"))?;
    match (text, context.format) {
        ("NaN", _) => Ok(NAN),
        ("Infinity", _) => Ok(bf16::INFINITY.to_bits()),
        ("-Infinity", _) => Ok(bf16::NEG_INFINITY.to_bits()),
        ("+Infinity", Format::V3) => {
            let what = "fill value \"+Infinity\" has the spelling of older drafts";
            context.reading.tolerate(what).map_err(|invalid| invalid.to_string())?;
            Ok(bf16::INFINITY.to_bits())
        }
        ("+Infinity", _) => Ok(bf16::INFINITY.to_bits()),
        _ => {
            let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 4);
            let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let pattern = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
            let pattern = pattern.ok_or_else(|| format!("\"{text}\" is not a float"))?;
            Ok(if context.format == Format::V3Draft {
                as_stored(pattern, context.byte_order)
            } else {
                pattern
            })
        }
    }
}

/// Converts between bits and the stored bytes, written as digits starting with the first byte.
fn as_stored(bits: u16, order: &ByteOrder) -> u16 {
    if *order == ByteOrder::Big { bits } else { bits.swap_bytes() }
}

/// Returns the nearest element, rounded once from the decimal text. Ties round to even, and overflow to
/// infinity.
fn nearest(number: &Number) -> Option<bf16> {
    decimals::nearest(number, 7, -126).map(bf16::from_f64)
}

/// Returns the float with the fewest digits that rounds to this element.
fn shortest(element: bf16) -> f64 {
    decimals::shortest(element.to_f64(), |number| nearest(number) == Some(element))
}

impl DataType for BFloat16 {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(NAME)
    }

    fn elements(&self) -> Elements {
        Elements::Fixed { size: 2, units: Units::Uniform(2) }
    }

    fn kind(&self) -> Option<Kind> {
        Some(Kind::BFloat)
    }

    fn document(&self, format: Format, order: &ByteOrder) -> DataTypeResult<DataTypeDocument> {
        match format {
            Format::V3 => Ok(DataTypeDocument::named(NAME)),
            Format::V2 => Err(DataTypeError::NotInFormat {
                name: NAME.to_owned(),
                format,
                hint: "; `float32` can represent all of its values".to_owned(),
            }),
            Format::V3Draft => {
                let type_name = Value::from(if *order == ByteOrder::Big { ">bfloat16" } else { NAME });
                Ok(DataTypeDocument::in_draft(URI, type_name, Some("r16")))
            }
        }
    }

    /// Reads a number, `"NaN"`, an infinity, or `0x` and four digits: the bits in v3, the stored bytes in the
    /// draft.
    fn fill_value(&self, json: &Value, context: &FillContext<'_>) -> DataTypeResult<FillValue> {
        let bits = parse_fill(json, context);
        bits.map(|bits| FillValue::new(bits.to_ne_bytes()))
            .map_err(|what| DataTypeError::FillValue(format!("{what}; the data type is {NAME}")))
    }

    /// Writes the stored bytes in the draft, so that the fallback can read them.
    fn fill_value_json(&self, element: &[u8], format: Format, order: &ByteOrder) -> DataTypeResult<Value> {
        let bits = element.try_into().map(u16::from_ne_bytes).map_err(|_| {
            DataTypeError::FillValue(format!("{} bytes are not an element of {NAME}", element.len()))
        })?;
        if format == Format::V3Draft {
            return Ok(Value::from(format!("{:#06x}", as_stored(bits, order))));
        }
        let value = bf16::from_bits(bits);
        Ok(match Number::from_f64(shortest(value)) {
            Some(number) => Value::Number(number),
            None if bits == NAN => Value::from("NaN"),
            None if value.is_nan() => Value::from(format!("{bits:#06x}")),
            None if value.is_sign_negative() => Value::from("-Infinity"),
            None => Value::from("Infinity"),
        })
    }

    fn print(&self, element: &[u8], to: &mut dyn fmt::Write) -> fmt::Result {
        let Ok(bytes) = element.try_into() else {
            return element.iter().try_for_each(|byte| write!(to, "{byte:02x}"));
        };
        let text = format!("{:?}", shortest(bf16::from_ne_bytes(bytes)));
        to.write_str(text.strip_suffix(".0").unwrap_or(&text))
    }
}
