//! Markers in the upper store, which hide keys and prefixes of the lower one.
//!
//! The marker of key `a/b` is `.zarr-overlay/d.a/k.b`; the marker of prefix `a/b/` is `.zarr-overlay/d.a/d.b/p`. The
//! names differ, because a filesystem store cannot hold a file and a folder with the same path.

use std::collections::HashSet;

use zarr_spec::store::{Store, StoreResult};
use zarr_spec::{Invalid, Key, KeyError, Prefix};

/// The prefix of markers.
const RESERVED: &str = ".zarr-overlay/";

/// The start of the name of a folder and of a key, and the name of the marker of a prefix.
const FOLDER: &str = "d.";
const KEY: &str = "k.";
const PREFIX: &str = "p";

/// The hidden keys and prefixes.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    keys: HashSet<String>,
    prefixes: HashSet<String>,
}

impl Marks {
    /// Reads all markers.
    ///
    /// # Errors
    ///
    /// [`Invalid`] for a key below the prefix of the markers that is not a marker, and the errors of the store.
    pub(crate) fn read(upper: &dyn Store) -> StoreResult<Self> {
        let mut marks = Self::default();
        for key in upper.list_prefix(&Prefix::new(RESERVED)?)? {
            let key = key?;
            if !marks.add(&key) {
                let what = format!("`{key}` in `{}` is not a marker of an overlay", upper.location());
                return Err(Invalid::new(what).into());
            }
        }
        Ok(marks)
    }

    /// Adds a marker. Returns false if the key is not a marker.
    pub(crate) fn add(&mut self, marker: &Key) -> bool {
        let Some(path) = marker.as_str().strip_prefix(RESERVED) else { return false };
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut text = String::new();
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            let Some(folder) = folder.strip_prefix(FOLDER) else { return false };
            text.push_str(folder);
            text.push('/');
        }
        match name.strip_prefix(KEY) {
            Some(name) => {
                text.push_str(name);
                self.keys.insert(text);
            }
            None if name == PREFIX => {
                self.prefixes.insert(text);
            }
            None => return false,
        }
        true
    }

    /// Returns whether a key of the lower store is hidden.
    pub(crate) fn hide(&self, key: &Key) -> bool {
        if self.keys.contains(key.as_str()) {
            return true;
        }
        let mut above = Some(key.parent());
        while let Some(prefix) = above.filter(|_| !self.prefixes.is_empty()) {
            if self.prefixes.contains(prefix.as_str()) {
                return true;
            }
            above = prefix.parent();
        }
        false
    }
}

/// Returns the marker of a key.
pub(crate) fn of_key(key: &Key) -> Result<Key, KeyError> {
    let folders = folders(key.parent().as_str());
    Key::new(format!("{RESERVED}{folders}{KEY}{}", key.name()))
}

/// Returns the marker of a prefix.
pub(crate) fn of_prefix(prefix: &Prefix) -> Result<Key, KeyError> {
    Key::new(format!("{RESERVED}{}{PREFIX}", folders(prefix.as_str())))
}

fn folders(prefix: &str) -> String {
    let names = prefix.split('/').filter(|name| !name.is_empty());
    names.map(|name| format!("{FOLDER}{name}/")).collect()
}

/// Returns whether a key is below the prefix of the markers.
pub(crate) fn is_reserved(key: &Key) -> bool {
    key.as_str().starts_with(RESERVED)
}

pub(crate) fn is_reserved_prefix(prefix: &Prefix) -> bool {
    prefix.as_str().starts_with(RESERVED)
}
