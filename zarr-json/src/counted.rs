//! Numbers with their noun, for messages.

use std::fmt::Display;

/// Returns a number and its noun, in the singular for 1.
///
/// ```
/// assert_eq!(zarr_json::counted(1, "entry", "entries"), "1 entry");
/// assert_eq!(zarr_json::counted(0_usize, "entry", "entries"), "0 entries");
/// ```
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, singular: &str, plural: &str) -> String {
    let noun = if count == N::from(1) { singular } else { plural };
    format!("{count} {noun}")
}
