//! The store under test, and the operations of the rules.

use std::fmt::Debug;
use std::sync::Arc;

use zarr_spec::store::{Contents, GetResult, Store, StoreError};
use zarr_spec::{ByteRange, Key, Output, Prefix};

pub(crate) struct Trial(pub(super) Arc<dyn Store>);

impl Trial {
    pub(super) fn set(&self, at: &str, value: &[u8]) -> Result<(), String> {
        self.0.set(&key(at)?, value.into()).map_err(|error| format!("setting `{at}`: {error}"))
    }

    /// Sets each of `keys` to its own text.
    pub(super) fn fill(&self, keys: &[&str]) -> Result<(), String> {
        keys.iter().try_for_each(|key| self.set(key, key.as_bytes()))
    }

    pub(super) fn get(&self, at: &str) -> Result<Option<Vec<u8>>, String> {
        self.get_range(at, ByteRange::Full)
    }

    pub(super) fn get_range(&self, at: &str, range: ByteRange) -> Result<Option<Vec<u8>>, String> {
        Ok(self.got(at, range)?.map(|(bytes, _)| bytes))
    }

    /// Returns the bytes of a value, and the metadata in the response of the store.
    pub(super) fn got(&self, at: &str, range: ByteRange) -> Result<Option<(Vec<u8>, GetResult)>, String> {
        let mut output = Output::at_most(usize::MAX);
        let got = self.0.get(&key(at)?, range.into(), &mut output);
        let Some(got) = got.map_err(|error| format!("getting {range:?} of `{at}`: {error}"))? else {
            return same(&format!("bytes written for the missing key `{at}`"), output.written().len(), 0)
                .map(|()| None);
        };
        if matches!(got.contents, Contents::Shared(_)) {
            same("bytes written in addition to shared contents", output.written().len(), 0)?;
        }
        Ok(Some((got.clone().into_bytes(output).to_vec(), got)))
    }

    pub(super) fn has(&self, at: &str, wanted: &[u8]) -> Result<(), String> {
        same(&format!("value of `{at}`"), self.get(at)?.as_deref(), Some(wanted))
    }

    pub(super) fn lacks(&self, at: &str) -> Result<(), String> {
        same(&format!("value of `{at}`"), self.get(at)?, None)
    }

    pub(super) fn erase(&self, at: &str) -> Result<(), String> {
        self.0.erase(&key(at)?).map_err(|error| format!("erasing `{at}`: {error}"))
    }

    pub(super) fn erase_prefix(&self, below: &str) -> Result<(), String> {
        self.0.erase_prefix(&prefix(below)?).map_err(|error| format!("erasing all of `{below}`: {error}"))
    }

    pub(super) fn lists(&self, wanted: &[&str]) -> Result<(), String> {
        let keys = self.0.list().map_err(|error| format!("listing: {error}"))?;
        same("list()", texts(&keys), owned(wanted))
    }

    pub(super) fn lists_below(&self, below: &str, wanted: &[&str]) -> Result<(), String> {
        let keys =
            self.0.list_sorted(&prefix(below)?).map_err(|error| format!("listing `{below}`: {error}"))?;
        same(&format!("list_prefix(\"{below}\")"), texts(&keys), owned(wanted))
    }

    pub(super) fn lists_in(&self, below: &str, keys: &[&str], prefixes: &[&str]) -> Result<(), String> {
        let directory =
            self.0.list_dir(&prefix(below)?).map_err(|error| format!("listing `{below}`: {error}"))?;
        same(&format!("keys of list_dir(\"{below}\")"), texts(&directory.keys), owned(keys))?;
        // A store may also list empty folders, so prefixes without keys are ignored.
        let mut found = Vec::new();
        for listed in &directory.prefixes {
            let key = self.0.any_key(listed).map_err(|error| format!("listing `{listed}`: {error}"))?;
            found.extend(key.map(|_| listed.to_string()));
        }
        same(&format!("prefixes of list_dir(\"{below}\")"), found, owned(prefixes))
    }
}

/// Compares a value with the expected one.
pub(super) fn same<T: Debug + PartialEq>(what: &str, is: T, wanted: T) -> Result<(), String> {
    if is == wanted {
        Ok(())
    } else {
        Err(format!("{what}: found {}, expected {}", short(&is), short(&wanted)))
    }
}

/// Checks that an operation failed with the expected kind of error.
pub(super) fn fails<T: Debug>(
    what: &str,
    result: Result<T, StoreError>,
    is_right: impl Fn(&StoreError) -> bool,
) -> Result<(), String> {
    match result {
        Err(error) if is_right(&error) => Ok(()),
        Err(error) => Err(format!("{what}: unexpected error {error:?}")),
        Ok(result) => Err(format!("{what}: expected an error, got {}", short(&result))),
    }
}

pub(super) fn key(text: &str) -> Result<Key, String> {
    Key::new(text).map_err(|error| error.to_string())
}

pub(super) fn prefix(text: &str) -> Result<Prefix, String> {
    Prefix::new(text).map_err(|error| error.to_string())
}

/// Returns the debug output, truncated if it is long.
fn short(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.len()),
        None => text,
    }
}

fn texts(keys: &[Key]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
