//! The paths of keys and prefixes on the file system.

use std::ffi::OsString;
use std::io;
use std::path::{self, Path, PathBuf};

use zarr_spec::store::{StoreError, StoreResult};
use zarr_spec::{Key, KeyError, Prefix, printable_path};

/// The prefix of the names of temporary files.
pub(crate) const TEMPORARY: &str = ".zarr-tmp-";

/// The root, and the paths below it.
#[derive(Debug)]
pub(crate) struct Base {
    root: PathBuf,
    /// The root with a trailing separator.
    begin: OsString,
}

impl Base {
    /// Creates a base; `root` is absolute.
    pub(crate) fn new(root: &Path) -> Self {
        Self { begin: root.join("").into_os_string(), root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a value's file.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] for a key that is not a valid file path.
    pub(crate) fn value(&self, key: &Key) -> StoreResult<PathBuf> {
        let mut path = OsString::new();
        self.put_value(key, &mut path)?;
        Ok(path.into())
    }

    /// Writes the path of a value's file to `path`, whose memory is reused.
    ///
    /// # Errors
    ///
    /// Those of [`Base::value`].
    pub(crate) fn put_value(&self, key: &Key, path: &mut OsString) -> StoreResult<()> {
        check(key.as_str(), "key")?;
        self.put_below(key.as_str(), path);
        Ok(())
    }

    /// Returns the path of a prefix's folder.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] for a prefix that is not a valid folder path.
    pub(crate) fn folder(&self, prefix: &Prefix) -> StoreResult<PathBuf> {
        check(prefix.as_str(), "prefix")?;
        Ok(self.below(prefix.as_str()))
    }

    /// Returns the path of `text`, a checked key or prefix, without a trailing separator, which would make the
    /// system follow a link.
    pub(crate) fn below(&self, text: &str) -> PathBuf {
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return self.root.clone();
        }
        let mut path = OsString::with_capacity(self.begin.len() + text.len());
        self.put_below(text, &mut path);
        path.into()
    }

    /// Writes the path of `text`, a checked key or prefix, to `path`.
    pub(crate) fn put_below(&self, text: &str, path: &mut OsString) {
        path.clear();
        path.push(&self.begin);
        if path::MAIN_SEPARATOR == '/' {
            path.push(text);
        } else {
            path.push(text.replace('/', path::MAIN_SEPARATOR_STR));
        }
    }
}

/// Returns the prefix that directly contains a key or a prefix: empty, or ending in `/`. `None` for the empty
/// prefix.
pub(crate) fn parent(text: &str) -> Option<&str> {
    let end = text.strip_suffix('/').unwrap_or(text);
    (!end.is_empty()).then(|| &end[..end.rfind('/').map_or(0, |slash| slash + 1)])
}

/// Creates the error for a failed operation of the file system.
pub(crate) fn failed(operation: &'static str, path: &Path, error: io::Error) -> StoreError {
    StoreError::io(operation, printable_path(path).to_string(), error)
}

/// Creates the error for a key that the store cannot hold at present.
pub(crate) fn refused(text: &str, reason: impl Into<String>) -> StoreError {
    KeyError::new(text, "key", reason).into()
}

fn check(text: &str, what: &'static str) -> Result<(), KeyError> {
    let refused = |reason: String| KeyError::new(text, what, reason);
    if text.contains(TEMPORARY) && text.split('/').any(|name| name.starts_with(TEMPORARY)) {
        let reason = format!("names that begin with `{TEMPORARY}` are reserved for temporary files");
        return Err(refused(reason));
    }
    if cfg!(windows)
        && let Some(name) = text.split('/').find(|name| !is_name_on_windows(name))
    {
        return Err(refused(format!("`{name}` is not a valid file name on Windows")));
    }
    Ok(())
}

/// Returns whether Windows stores a file under exactly this name. The empty name ends a prefix.
fn is_name_on_windows(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ').to_ascii_uppercase();
    let is_device = match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" => true,
        _ => stem.strip_prefix("COM").or(stem.strip_prefix("LPT")).is_some_and(|number| {
            matches!(number, "¹" | "²" | "³") || (number.len() == 1 && number > "0" && number <= "9")
        }),
    };
    !is_device && !name.ends_with([' ', '.']) && !name.contains(['<', '>', ':', '"', '\\', '|', '?', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_changes_are_refused() {
        for name in
            ["a:b", "a\\b", "C:", "..\\x", "nul", "NUL.json", "Com1", "lpt9.txt", "a.", "a ", "a*", "con .x"]
        {
            assert!(!is_name_on_windows(name), "{name}");
        }
        for name in ["", "a", ".zarray", "com", "com0", "com10", "0.0", "nulls", "é", "a b", "lptx"] {
            assert!(is_name_on_windows(name), "{name}");
        }
    }

    #[test]
    fn parents_of_keys_and_prefixes_are_prefixes() {
        assert_eq!(parent("a/b/c"), Some("a/b/"));
        assert_eq!(parent("a/b/"), Some("a/"));
        assert_eq!(parent("a"), Some(""));
        assert_eq!(parent("a/"), Some(""));
        assert_eq!(parent(""), None);
    }
}
