//! Fill values of bool and of integers.

use std::fmt;

use zarr_plugin_kit::decimals;
use zarr_spec::data_type::FillContext;
use zarr_spec::{Format, Number, Value};

/// Parses `true` or `false`; v2 and v3 tolerate 0 and 1.
pub(crate) fn parse_bool(json: &Value, context: &FillContext<'_>) -> Result<bool, String> {
    match json {
        Value::Bool(value) => Ok(*value),
        Value::Number(number) if context.format != Format::V3Draft => {
            let value = match number.as_u64() {
                Some(0) => false,
                Some(1) => true,
                _ => return Err(format!("{json} is neither false nor true")),
            };
            context.tolerate(format!("{json} is not a boolean; it is read as {value}"))?;
            Ok(value)
        }
        _ => Err(format!("{json} is neither false nor true")),
    }
}

/// Parses an integer of `size` bytes, in native byte order.
pub(crate) fn parse(
    json: &Value,
    signed: bool,
    size: usize,
    context: &FillContext<'_>,
) -> Result<Vec<u8>, String> {
    let in_text = in_text(json, context)?;
    let number = in_text.as_ref().or(json.as_number()).ok_or_else(|| format!("{json} is not a number"))?;
    let value = match number.as_i128() {
        Some(value) => value,
        None => tolerated_integer(number, context)?,
    };
    let bits = u32::try_from(size * 8).unwrap_or(64);
    let (least, most) =
        if signed { (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    if !(least..=most).contains(&value) {
        return Err(format!("{json} is not between {least} and {most}"));
    }
    Ok(match cfg!(target_endian = "little") {
        true => value.to_le_bytes()[..size].to_vec(),
        false => value.to_be_bytes()[16 - size..].to_vec(),
    })
}

/// Returns the number in a string.
pub(crate) fn in_text(json: &Value, context: &FillContext<'_>) -> Result<Option<Number>, String> {
    decimals::in_text(json, context).map_err(|invalid| invalid.to_string())
}

/// Parses an integer with a fraction, or in v2 with an exponent (V2-FILL-18, DT-I-12).
fn tolerated_integer(number: &Number, context: &FillContext<'_>) -> Result<i128, String> {
    let exponent = number.text().contains(['e', 'E']);
    let tolerable = match context.format {
        Format::V2 => true,
        Format::V3 => !exponent,
        Format::V3Draft => false,
    };
    let value = number.to_integer().filter(|_| tolerable && !number.is_integer());
    let value = value.ok_or_else(|| {
        format!("{number} is not an integer of at most 64 bits without fraction and exponent")
    })?;
    context.tolerate(format!("fill value {number} is an integer in the notation of a float"))?;
    Ok(value)
}

/// Tolerates deviating forms of fill values.
pub(crate) trait Tolerate {
    fn tolerate(&self, what: String) -> Result<(), String>;
}

impl Tolerate for FillContext<'_> {
    fn tolerate(&self, what: String) -> Result<(), String> {
        self.reading.tolerate(what).map_err(|invalid| invalid.to_string())
    }
}

/// Reads the integer in `element`, in native byte order.
fn value(element: &[u8], signed: bool) -> i128 {
    let mut bytes: Vec<u8> = element.to_vec();
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    wide[..bytes.len()].copy_from_slice(&bytes);
    i128::from_le_bytes(wide)
}

pub(crate) fn to_json(element: &[u8], signed: bool) -> Value {
    Value::Number(Number::from(value(element, signed)))
}

pub(crate) fn print(element: &[u8], signed: bool, to: &mut dyn fmt::Write) -> fmt::Result {
    write!(to, "{}", value(element, signed))
}
