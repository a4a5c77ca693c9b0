//! Encoding values as CBOR items.

use zarr_spec::Number;
use zarr_spec::{Invalid, Value};

use crate::{NUMBER_TEXT, major, tag};

/// Appends the item of `value`.
pub(crate) fn item(value: &Value, bytes: &mut Vec<u8>) -> Result<(), Invalid> {
    match value {
        Value::Null => bytes.push(0xf6),
        Value::Bool(false) => bytes.push(0xf4),
        Value::Bool(true) => bytes.push(0xf5),
        Value::Number(number) => self::number(number, bytes)?,
        Value::String(string) => text(string, bytes),
        Value::Array(elements) => {
            head(major::ARRAY, elements.len() as u64, bytes);
            elements.iter().try_for_each(|element| item(element, bytes))?;
        }
        Value::Object(members) => {
            head(major::MAP, members.len() as u64, bytes);
            for (name, value) in members.iter() {
                text(name, bytes);
                item(value, bytes)?;
            }
        }
    }
    Ok(())
}

fn text(text: &str, bytes: &mut Vec<u8>) {
    head(major::TEXT, text.len() as u64, bytes);
    bytes.extend(text.as_bytes());
}

fn number(number: &Number, bytes: &mut Vec<u8>) -> Result<(), Invalid> {
    if !number.is_finite_token() {
        return Err(Invalid::new(format!("`{number}` is not a JSON number and cannot be written")));
    }
    if let Some((is_negative, magnitude)) = integer(number) {
        match u64::try_from(magnitude) {
            Ok(small) => head(if is_negative { major::NEGATIVE } else { major::POSITIVE }, small, bytes),
            Err(_) => {
                head(major::TAG, if is_negative { tag::NEGATIVE } else { tag::POSITIVE }, bytes);
                let digits = magnitude.to_be_bytes();
                let leading = magnitude.leading_zeros() as usize / 8;
                head(major::BYTES, (digits.len() - leading) as u64, bytes);
                bytes.extend(&digits[leading..]);
            }
        }
    } else if let Some(value) = number.as_f64()
        && Number::from_f64(value).as_ref() == Some(number)
    {
        bytes.push(0xfb);
        bytes.extend(value.to_be_bytes());
    } else {
        head(major::TAG, NUMBER_TEXT, bytes);
        text(number.text(), bytes);
    }
    Ok(())
}

/// Returns whether the integer `n`, of up to 128 bits, is negative, and its argument in CBOR: `n`, or `-1 - n` if it
/// is negative. `None` for `-0` and for other numbers.
fn integer(number: &Number) -> Option<(bool, u128)> {
    let text = number.text();
    if !number.is_integer() || text == "-0" {
        return None;
    }
    match text.strip_prefix('-') {
        None => Some((false, text.parse().ok()?)),
        Some(magnitude) => Some((true, magnitude.parse::<u128>().ok()? - 1)),
    }
}

/// Appends the shortest head of an item.
fn head(major: u8, argument: u64, bytes: &mut Vec<u8>) {
    let major = major << 5;
    let big = argument.to_be_bytes();
    match argument {
        0..24 => bytes.push(major | big[7]),
        24..0x100 => bytes.extend([major | 24, big[7]]),
        0x100..0x1_0000 => {
            bytes.push(major | 25);
            bytes.extend(&big[6..]);
        }
        0x1_0000..0x1_0000_0000 => {
            bytes.push(major | 26);
            bytes.extend(&big[4..]);
        }
        _ => {
            bytes.push(major | 27);
            bytes.extend(big);
        }
    }
}
