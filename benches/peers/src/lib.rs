//! Shared code of the programs of `cargo xtask bench --peers`: cases, the line protocol, the clock, memory and data.
//!
//! A runner is a program that runs during the whole comparison. It reads one JSON object per line and answers each with
//! one line. The Python runners in `python/` use the same protocol.

mod case;
mod data;
mod memory;
mod serve;

pub use case::{Case, Container, Far, Floor, Operation, Ranges, wanted_of_chunk};
pub use data::{Data, boxes_checksum, read_strings};
pub use memory::vector_in_huge_pages;
pub use serve::{About, Failure, Program, Ran, Task, serve};

use std::time::Instant;

/// Adds `bytes` to a checksum (CRC32C), which the Python runners compute in the same way.
#[must_use]
pub fn checksum(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// Returns the checksum of the bytes of `uint16` values.
#[must_use]
pub fn checksum_of_values(values: &[u16]) -> u32 {
    values.chunks(1 << 15).fold(0, |so_far, values| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        checksum(so_far, &bytes)
    })
}

/// Returns the checksum of the lines of a listing. It does not depend on the order of the lines.
#[must_use]
pub fn checksum_of_lines(mut lines: Vec<String>) -> u32 {
    lines.sort_unstable();
    checksum(0, lines.join("\n").as_bytes())
}

/// Returns the result of `work` and its duration in seconds.
///
/// # Errors
///
/// Those of `work`.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_lines_does_not_depend_on_their_order() {
        let lines = |names: &[&str]| checksum_of_lines(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(lines(&["a", "b"]), lines(&["b", "a"]));
        assert_ne!(lines(&["a", "b"]), lines(&["a", "c"]));
    }

    #[test]
    fn the_checksum_of_values_equals_that_of_their_bytes() {
        let values: Vec<u16> = (0..u16::MAX).chain(7..40_000).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(checksum_of_values(&values), checksum(0, &bytes));
    }

    /// The check value of CRC32C for nine digits in RFC 3720.
    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(checksum(checksum(0, b"1234"), b"56789"), 0xe306_9283);
    }
}
