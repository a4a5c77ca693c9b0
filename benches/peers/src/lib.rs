//! What the programs of `cargo xtask bench --peers` have in common: a case, the lines they are asked and answer with, the
//! clock, the memory, the data.
//!
//! A runner is a program that lives as long as the comparison. It reads one JSON object a line and answers each with one
//! line. The Python runners in `python/` speak the same.

mod case;
mod data;
mod far;
mod memory;
mod serve;

pub use case::{Case, Far, Floor, Operation, Ranges, wanted_of_chunk};
pub use data::{Data, boxes_checksum, read_strings};
pub use far::{BUCKET, FarStore, Traffic};
pub use serve::{About, Failure, Program, Ran, Task, serve};

use std::time::Instant;

/// Adds `bytes` to a checksum, CRC32C as NumPy's side computes it, too.
#[must_use]
pub fn checksum(so_far: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(so_far, bytes)
}

/// The checksum of values of `uint16`, as that of their bytes.
#[must_use]
pub fn checksum_of_values(values: &[u16]) -> u32 {
    values.chunks(1 << 15).fold(0, |so_far, values| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        checksum(so_far, &bytes)
    })
}

/// The checksum of the lines of a listing, in whatever order they come.
#[must_use]
pub fn checksum_of_lines(mut lines: Vec<String>) -> u32 {
    lines.sort_unstable();
    checksum(0, lines.join("\n").as_bytes())
}

/// What `work` came to, and how many seconds it took.
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
    fn the_checksum_of_lines_does_not_see_their_order() {
        let lines = |names: &[&str]| checksum_of_lines(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(lines(&["a", "b"]), lines(&["b", "a"]));
        assert_ne!(lines(&["a", "b"]), lines(&["a", "c"]));
    }

    #[test]
    fn the_checksum_of_values_is_that_of_their_bytes() {
        let values: Vec<u16> = (0..u16::MAX).chain(7..40_000).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(checksum_of_values(&values), checksum(0, &bytes));
    }

    /// The check value of CRC32C, as RFC 3720 has it for nine digits.
    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(checksum(checksum(0, b"1234"), b"56789"), 0xe306_9283);
    }
}
