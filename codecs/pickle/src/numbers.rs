//! Numbers of a pickle.

use zarr_spec::{CodecError, CodecResult};

/// Maximum size of an integer in bytes.
const MAX_BYTES: usize = 512;
/// Maximum number of digits of an integer: those of `MAX_BYTES`.
const MAX_DIGITS: usize = 1240;

/// Checks a decimal number, and removes zeros and signs that JSON does not allow.
pub(crate) fn decimal(text: &str) -> CodecResult<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(CodecError::corrupt(format!(
            "an integer of the pickle does not consist of 1 to {MAX_DIGITS} digits"
        )));
    }
    match digits.trim_start_matches('0') {
        "" => Ok("0".to_owned()),
        digits => Ok(format!("{sign}{digits}")),
    }
}

/// Returns the decimal digits of an integer in two's complement, least significant byte first.
pub(crate) fn of_bytes(bytes: &[u8]) -> CodecResult<String> {
    if bytes.len() > MAX_BYTES {
        return Err(CodecError::corrupt(format!("an integer of the pickle has more than {MAX_BYTES} bytes")));
    }
    let is_negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut magnitude = bytes.to_vec();
    if is_negative {
        let mut carry = true;
        for byte in &mut magnitude {
            let (next, overflow) = (!*byte).overflowing_add(carry.into());
            *byte = next;
            carry = overflow;
        }
    }
    // The magnitude of the smallest number of a size does not fit into the size without the sign, so its highest bit is
    // a digit.
    let mut groups: Vec<u32> = Vec::new();
    for &byte in magnitude.iter().rev() {
        let mut carry = u64::from(byte);
        for group in &mut groups {
            let value = u64::from(*group) * 256 + carry;
            *group = u32::try_from(value % GROUP).unwrap_or(0);
            carry = value / GROUP;
        }
        if carry > 0 {
            groups.push(u32::try_from(carry).unwrap_or(0));
        }
    }
    let mut text = String::new();
    for (position, group) in groups.iter().rev().enumerate() {
        text.push_str(&if position == 0 { group.to_string() } else { format!("{group:09}") });
    }
    decimal(&match (is_negative, text.as_str()) {
        (_, "") => "0".to_owned(),
        (true, digits) => format!("-{digits}"),
        (false, digits) => digits.to_owned(),
    })
}

/// The digits of a group.
const GROUP: u64 = 1_000_000_000;

/// Returns the value of a binary16.
pub(crate) fn half(bits: u16) -> f64 {
    let mantissa = f64::from(bits & 0x3ff);
    let exponent = i32::from((bits >> 10) & 0x1f);
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(-24),
        31 if mantissa == 0. => f64::INFINITY,
        31 => f64::NAN,
        _ => (1. + mantissa / 1024.) * 2_f64.powi(exponent - 15),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}
