//! Fill values of floats, and of the parts of complex numbers.

use half::f16;
use zarr_plugin_kit::decimals;
use zarr_spec::data_type::FillContext;
use zarr_spec::{Format, Number, Value};

use crate::bits;
use crate::integer::{Tolerate, in_text};

/// Parses a float of `size` bytes, in native byte order.
pub(crate) fn parse(json: &Value, size: usize, context: &FillContext<'_>) -> Result<Vec<u8>, String> {
    match json {
        Value::Number(number) if number.is_finite_token() => round(number, size),
        // Some consolidated metadata of v2 contains these tokens, which are not JSON.
        Value::Number(number) if context.format == Format::V2 => {
            context.tolerate(format!("fill value {number} is not JSON"))?;
            special(number.text(), size).ok_or_else(|| format!("{number} is not a number"))
        }
        Value::String(text) => parse_text(text, size, context),
        _ => Err(format!("{json} is not a number")),
    }
}

fn parse_text(text: &str, size: usize, context: &FillContext<'_>) -> Result<Vec<u8>, String> {
    let unknown = || format!("\"{text}\" is not a float");
    match (text, context.format) {
        ("NaN" | "Infinity" | "-Infinity", _) | ("+Infinity", Format::V3Draft) => {}
        ("+Infinity", _) | ("inf" | "Inf" | "-inf" | "nan", Format::V2) => {
            context.tolerate(format!("fill value \"{text}\" is an unusual spelling"))?;
        }
        (_, Format::V3 | Format::V3Draft) if text.starts_with("0x") => {
            return bits::parse(text, size).map(|bytes| bits::to_native(bytes, size));
        }
        (_, Format::V3Draft) if text.starts_with("0b") => {
            return bits::parse(text, size).map(|bytes| bits::to_native(bytes, size));
        }
        (_, Format::V3Draft) => return Err(unknown()),
        (_, Format::V2 | Format::V3) => {
            let number = in_text(&Value::from(text), context)?.ok_or_else(unknown)?;
            return round(&number, size);
        }
    }
    special(text, size).ok_or_else(unknown)
}

/// Returns NaN or an infinity: sign, an exponent of ones, and for NaN the top bit of the mantissa.
fn special(text: &str, size: usize) -> Option<Vec<u8>> {
    let (negative, nan) = match text {
        "NaN" | "nan" => (false, true),
        "Infinity" | "+Infinity" | "inf" | "Inf" => (false, false),
        "-Infinity" | "-inf" => (true, false),
        _ => return None,
    };
    let sign = u8::from(negative) << 7;
    let first: [u8; 2] = match (size, nan) {
        (2, false) => [0x7c, 0],
        (2, true) => [0x7e, 0],
        (4, false) => [0x7f, 0x80],
        (4, true) => [0x7f, 0xc0],
        (_, false) => [0x7f, 0xf0],
        (_, true) => [0x7f, 0xf8],
    };
    let mut bytes = vec![0; size];
    bytes[..2].copy_from_slice(&first);
    bytes[0] |= sign;
    Some(bits::to_native(bytes, size))
}

/// Returns the nearest float, rounded once from the decimal text; ties to even. A number that is too large
/// for a small float becomes infinite. A number that is too large for float64 is refused, since most JSON
/// readers refuse or change it.
fn round(number: &Number, size: usize) -> Result<Vec<u8>, String> {
    let failed = || format!("{number} is not a number");
    Ok(match size {
        2 => nearest_f16(number).ok_or_else(failed)?.to_ne_bytes().to_vec(),
        4 => number.as_f32().ok_or_else(failed)?.to_ne_bytes().to_vec(),
        _ => {
            let double = number.as_f64().ok_or_else(failed)?;
            if double.is_infinite() {
                return Err(format!("{number} is out of range for float64; write infinity as \"Infinity\""));
            }
            double.to_ne_bytes().to_vec()
        }
    })
}

fn nearest_f16(number: &Number) -> Option<f16> {
    decimals::nearest(number, 10, -14).map(f16::from_f64)
}

/// Returns the value of `element`, and whether it is the NaN of the fill value `"NaN"`.
fn widen(element: &[u8]) -> (f64, bool) {
    let canonical = special("NaN", element.len()).as_deref() == Some(element);
    let value = match *element {
        [a, b] => f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f64::from(f32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => f64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    };
    (value, canonical)
}

/// Writes a form that is read as the same bits.
pub(crate) fn to_json(element: &[u8], format: Format) -> Result<Value, String> {
    let (value, canonical) = widen(element);
    if value.is_nan() && !canonical {
        let pattern = bits::to_hex(&bits::to_native(element.to_vec(), element.len()));
        return match format {
            Format::V2 => {
                Err(format!("v2 cannot represent the NaN {pattern}, only {}", canonical_hex(element)))
            }
            Format::V3 | Format::V3Draft => Ok(Value::from(pattern)),
        };
    }
    let infinity = if format == Format::V3Draft { "+Infinity" } else { "Infinity" };
    Ok(match number(element, value, format) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("NaN"),
        None if value > 0.0 => Value::from(infinity),
        None => Value::from("-Infinity"),
    })
}

fn canonical_hex(element: &[u8]) -> String {
    let bytes = special("NaN", element.len()).unwrap_or_default();
    bits::to_hex(&bits::to_native(bytes, element.len()))
}

/// Returns the shortest decimal that reads as the same number: as a double in v2, whose readers use only doubles,
/// otherwise as an element of this size.
fn number(element: &[u8], value: f64, format: Format) -> Option<Number> {
    match *element {
        [a, b, c, d] if format != Format::V2 => Number::from_f32(f32::from_ne_bytes([a, b, c, d])),
        [a, b] if format != Format::V2 => Number::from_f64(shortest_f16(f16::from_ne_bytes([a, b]))),
        _ => Number::from_f64(value),
    }
}

/// Returns the double with the fewest digits that rounds to this half.
fn shortest_f16(half: f16) -> f64 {
    decimals::shortest(half.to_f64(), |number| nearest_f16(number) == Some(half))
}

/// Formats a float for people: `1`, `0.1`, `1e-7`, `NaN`, `-inf`.
pub(crate) fn print(element: &[u8]) -> String {
    let (value, _) = widen(element);
    let text = match *element {
        [a, b, c, d] => format!("{:?}", f32::from_ne_bytes([a, b, c, d])),
        [a, b] => format!("{:?}", shortest_f16(f16::from_ne_bytes([a, b]))),
        _ => format!("{value:?}"),
    };
    text.strip_suffix(".0").map_or(text.clone(), ToOwned::to_owned)
}
