//! The changes that the store makes to files and folders, one step each.
//!
//! Tests record them, and compute what a power cut between them may leave: see `simulation`. Without tests, [`note`]
//! does nothing.

use std::path::Path;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

/// One change. Paths are absolute.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "only tests record steps"))]
pub(crate) enum Step<'s> {
    /// Creates an empty file.
    Create(&'s Path),
    /// Gives a name to a file with these bytes. The last member is whether the bytes are on disk.
    CreateComplete(&'s Path, &'s [u8], bool),
    /// Writes the bytes of a new file.
    Write(&'s Path, &'s [u8]),
    /// Waits until the bytes of a file are on disk.
    SyncFile(&'s Path),
    Rename(&'s Path, &'s Path),
    /// Removes a file, an empty folder, or a folder with its contents.
    Remove(&'s Path),
    CreateFolder(&'s Path),
    /// Waits until the names in a folder are on disk.
    SyncFolder(&'s Path),
}

/// Notes a change that was made.
#[cfg(not(test))]
pub(crate) fn note(_step: Step<'_>) {}

/// Marks the moment between the comparison and the rename of a conditional write, at which tests run another writer.
#[cfg(not(test))]
pub(crate) fn after_comparison() {}

#[cfg(test)]
pub(crate) use simulation::{after_comparison, note, set_other_writer};
