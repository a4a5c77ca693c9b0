//! Bit patterns as text: `0x7fc00001`, and `0b0011110000000000` of the draft.

/// Returns whether `text` starts like a bit pattern.
pub(crate) fn is_bits(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0b")
}

/// Parses a pattern of exactly `size` bytes, in the order of the digits: most significant byte first.
pub(crate) fn parse(text: &str, size: usize) -> Result<Vec<u8>, String> {
    let (radix, per_byte, digits) = match text.split_at_checked(2) {
        Some(("0x", digits)) => (16, 2, digits),
        Some(("0b", digits)) => (2, 8, digits),
        _ => return Err(format!("`{text}` does not start with `0x`")),
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(format!("`{text}` contains characters that are not digits of base {radix}"));
    }
    if digits.len() != size * per_byte {
        return Err(format!("`{text}` has {} digits; expected {}", digits.len(), size * per_byte));
    }
    let byte = |digits: &[u8]| {
        digits.iter().fold(0u8, |byte, &digit| {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                _ => digit.to_ascii_lowercase() - b'a' + 10,
            };
            (byte << (8 / per_byte)) | value
        })
    };
    Ok(digits.as_bytes().chunks(per_byte).map(byte).collect())
}

/// Formats a pattern as hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// Converts between most significant byte first and native order, in units of `unit` bytes.
pub(crate) fn to_native(mut bytes: Vec<u8>, unit: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") {
        bytes.chunks_mut(unit).for_each(<[u8]>::reverse);
    }
    bytes
}
