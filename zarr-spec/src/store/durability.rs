//! The durability of a change: whether it waits for the disk.

use serde::Deserialize;

/// Whether each change of a store waits for the disk. This determines what a crash of the system or a power failure leaves.
///
/// This assumes a disk that does not report data as written too early. Databases do not have the level `Data`: they
/// treat it like `Full`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Changes do not wait for the disk. After a crash, a value that was written in the last seconds may be empty,
    /// incomplete or missing, or have its old bytes.
    #[default]
    None,
    /// The bytes of a value reach the disk before the value gets its name. After a crash, the changes of the last
    /// seconds may be undone, but no value is empty or incomplete.
    Data,
    /// The bytes and the names reach the disk before a call returns. A crash does not undo the call.
    /// [`Store::set`](super::Store::set) syncs the value, its folder and the folders above. Erasing syncs the folders
    /// that it removes values from.
    ///
    /// In a folder on systems other than Unix only values are synced, not names and removals.
    Full,
}
