//! Sizes, shapes and parts in messages.

/// The maximum number of part numbers in a message.
const SHOWN: usize = 20;

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

/// Names the missing parts of `count` parts: `parts 2 and 3 of 4 are missing`.
pub(crate) fn missing_parts(missing: &[u64], count: u64) -> String {
    let names: Vec<String> = missing.iter().map(u64::to_string).collect();
    match &names[..] {
        [one] => format!("part {one} of {count} is missing"),
        [first @ .., last] if names.len() <= SHOWN => {
            format!("parts {} and {last} of {count} are missing", first.join(", "))
        }
        _ => format!("{} of {count} parts are missing", names.len()),
    }
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

    #[test]
    fn missing_parts_are_named() {
        let many: Vec<u64> = (1..=21).collect();
        for (missing, text) in [
            (&[2][..], "part 2 of 90 is missing"),
            (&[2, 3], "parts 2 and 3 of 90 are missing"),
            (&[2, 3, 5], "parts 2, 3 and 5 of 90 are missing"),
            (&many, "21 of 90 parts are missing"),
        ] {
            assert_eq!(missing_parts(missing, 90), text);
        }
    }
}
