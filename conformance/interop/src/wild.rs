//! The families of `conformance/formats/wild`: data as other programs leave it, and its elements.
//!
//! Each family is an index, `FAMILY.json`, and a folder with the bytes that a program wrote. `python/wild/write.py`
//! writes both.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A program or a convention, and data that was written with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The name of the folder.
    #[serde(skip)]
    pub name: String,
    /// The content, in one sentence.
    pub about: String,
    /// The programs that wrote the data, with versions.
    pub written_by: String,
    /// Every array of every store.
    pub arrays: Vec<WildArray>,
}

/// An array and its elements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WildArray {
    /// The location of the store relative to the folder of the family. It starts with the scheme if this framework needs
    /// one: `reference:air.json`.
    pub store: String,
    /// The path of the array.
    pub array: String,
    /// The elements in raw form, as hexadecimal digits.
    pub elements: String,
}

impl WildArray {
    /// Returns the scheme of the store, with its colon, and the path.
    #[must_use]
    pub fn location(&self) -> (&str, &str) {
        let after_scheme = self.store.find(':').map_or(0, |colon| colon + 1);
        self.store.split_at(after_scheme)
    }
}

/// Returns the folder of the families.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("formats").join("wild")
}

/// Returns all families in `folder`, sorted by name.
///
/// # Panics
///
/// If an index cannot be read.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
pub fn families(folder: &Path) -> Vec<Family> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let indexes = files.filter(|file| file.extension().is_some_and(|it| it == "json"));
    let mut families: Vec<Family> = indexes.map(|file| family(&file)).collect();
    families.sort_by(|one, other| one.name.cmp(&other.name));
    families
}

#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
fn family(index: &Path) -> Family {
    let text = fs::read_to_string(index).unwrap();
    let family: Family =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    Family { name: index.file_stem().unwrap().to_string_lossy().into_owned(), ..family }
}
