//! Sizes and shapes in messages.

/// Formats a size with a unit: `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let exponent = usize::try_from(bytes.ilog2() / 10).unwrap_or(1).clamp(1, UNITS.len());
    let tenths = u128::from(bytes) * 10 / (1u128 << (10 * exponent));
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[exponent - 1])
}

/// Formats a shape: `3 × 4`.
pub(crate) fn shape(lengths: &[u64]) -> String {
    if lengths.is_empty() {
        return "()".to_owned();
    }
    lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_suitable_unit() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB"), (u64::MAX, "15.9 EiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
