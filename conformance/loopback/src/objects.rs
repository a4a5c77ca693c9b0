//! The objects of a bucket: in memory, in a folder, or computed from their numbers.

mod folder;
mod memory;
mod numbered;

use std::fmt::Debug;
use std::io;
use std::time::SystemTime;

pub(crate) use folder::Folder;
pub(crate) use memory::Memory;
pub(crate) use numbered::Numbered;

use crate::http::Body;

/// The state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    /// The ETag, in quotes.
    pub(crate) tag: String,
    /// A number that differs for each value that a key has had.
    pub(crate) generation: u64,
}

/// A value to store.
#[derive(Debug)]
pub(crate) struct NewValue {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: String,
}

/// The conditions of a write or a deletion.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    pub(crate) generation: Option<u64>,
}

/// The reason why a condition does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The object should have an ETag, but does not exist.
    Missing,
    /// The object should have a generation, but does not exist.
    WithoutGeneration,
    /// The object exists or has changed.
    Changed,
}

impl Conditions {
    /// Checks the conditions for an object in its current state.
    pub(crate) fn check(&self, state: Option<&State>) -> Result<(), Refusal> {
        let is_changed = match (state, self.if_match.as_deref(), self.if_none_match.as_deref()) {
            (None, Some(_), _) => return Err(Refusal::Missing),
            (Some(state), Some(wanted), _) => !matches(wanted, &state.tag),
            (Some(state), None, Some(known)) => matches(known, &state.tag),
            _ => false,
        };
        match (state, self.generation) {
            _ if is_changed => Err(Refusal::Changed),
            // A missing object has generation 0.
            (None, Some(1..)) => Err(Refusal::WithoutGeneration),
            (Some(state), Some(wanted)) if wanted != state.generation => Err(Refusal::Changed),
            _ => Ok(()),
        }
    }
}

/// Returns whether `tags` contains `tag`.
pub(crate) fn matches(tags: &str, tag: &str) -> bool {
    tags.split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.trim_matches('"') == tag.trim_matches('"'))
}

/// The entries of a listing to return.
#[derive(Debug)]
pub(crate) struct Wanted<'w> {
    pub(crate) prefix: &'w str,
    /// Whether all keys with the same text up to the first `/` after the prefix are one entry.
    pub(crate) is_by_folder: bool,
    /// Only names after this one.
    pub(crate) after: &'w str,
    pub(crate) most: usize,
}

/// An entry of a listing: an object, or the common prefix of keys up to the delimiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) state: Option<State>,
}

/// Keys and values. A write or deletion checks its conditions and is applied in one step.
pub(crate) trait Objects: Debug + Send + Sync {
    /// Returns whether a key can be stored.
    fn is_key(&self, key: &str) -> bool;

    /// Returns the state and the value of an object.
    fn open(&self, key: &str) -> io::Result<Option<(State, Body)>>;

    fn put(&self, key: &str, value: NewValue, conditions: &Conditions) -> io::Result<Result<State, Refusal>>;

    fn remove(&self, key: &str, conditions: &Conditions) -> io::Result<Result<(), Refusal>>;

    /// Returns the wanted entries in order, and one entry more if the listing continues.
    fn list(&self, wanted: &Wanted<'_>) -> io::Result<Vec<Entry>>;
}
