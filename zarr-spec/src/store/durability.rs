//! The durability of a change: whether it waits for the disk.

use serde::Deserialize;

/// Whether each change of a store waits for the disk. This determines what a crash of the system or a power failure leaves.
///
/// This assumes a disk that does not report data as written too early. Databases have no state between none and full:
/// they treat `Data` like `Full`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Nothing. A value that was written in the last seconds may be empty, incomplete or missing, or have its old bytes.
    #[default]
    None,
    /// The bytes of a value, before it gets its name. Every value is complete: the changes of the last seconds may be
    /// undone, but no value is empty or incomplete.
    Data,
    /// The bytes and the names. A call that has returned is not undone. [`Store::set`](super::Store::set)
    /// syncs the value, its folder and the folders above. Erasing syncs the folders that it removes values from.
    ///
    /// In a folder on systems other than Unix only values are synced, not names and removals.
    Full,
}
