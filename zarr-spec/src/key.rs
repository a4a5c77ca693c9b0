//! Keys, prefixes and byte ranges of the abstract store interface.

use std::borrow::Borrow;
use std::fmt;

use zarr_json::printable;

use crate::format::Format;

/// Why a text is not a key or a prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be a {what}: {reason}", printable(.text))]
#[non_exhaustive]
pub struct KeyError {
    /// The invalid text.
    pub text: String,
    /// "key" or "prefix".
    pub what: &'static str,
    /// The reason.
    pub reason: String,
}

impl KeyError {
    /// Creates the error for `text`, which is not a valid `what`: "key" or "prefix".
    pub fn new(text: impl Into<String>, what: &'static str, reason: impl Into<String>) -> Self {
        Self { text: text.into(), what, reason: reason.into() }
    }
}

/// The name of a value in a store: segments joined by `/`, without a `/` at either end.
///
/// No segment is empty, `.` or `..`, so a key cannot leave the root of a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// Checks `text` by the rules of final v3, which allows Unicode.
    ///
    /// # Errors
    ///
    /// For an empty text, an empty segment, `.`, `..`, and the character NUL, which file names cannot contain. Other
    /// control characters are allowed: a key is Unicode text (V3-STORE-01), and other programs write them.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        check(&text, &text, "key")?;
        Ok(Self(text))
    }

    /// Checks `text` by the rules of `format`: ASCII in v2; letters, digits and `/.-_` in the draft.
    ///
    /// # Errors
    ///
    /// Those of [`Key::new`]; also for characters that the format does not allow in keys.
    pub fn checked(text: impl Into<String>, format: Format) -> Result<Self, KeyError> {
        let key = Self::new(text)?;
        check_characters(&key.0, format, "key")?;
        Ok(key)
    }

    /// Creates the key of `name` in nested folders with these names.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a name cannot be part of a key.
    pub fn of_names(names: &[String], name: &str) -> Result<Self, KeyError> {
        Self::new(joined(names, name))
    }

    /// Returns the text of the key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the prefix that directly contains this key.
    #[must_use]
    pub fn parent(&self) -> Prefix {
        Prefix(self.0.rfind('/').map_or_else(String::new, |slash| self.0[..=slash].to_owned()))
    }

    /// Returns the text after the last `/`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

/// Returns the text, whose memory can be reused for another key.
impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0
    }
}

/// Allows lookups in a map of keys with any text, such as a prefix.
impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The start of keys: empty, or ending in `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Prefix(String);

impl Prefix {
    /// Checks `text`; the empty prefix means the whole store.
    ///
    /// # Errors
    ///
    /// If the text does not end in `/`, or contains a segment that keys cannot have.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        if text.is_empty() {
            return Ok(Self::root());
        }
        let Some(segments) = text.strip_suffix('/') else {
            return Err(refused(&text, "prefix", "it does not end in `/`"));
        };
        check(segments, &text, "prefix")?;
        Ok(Self(text))
    }

    /// Returns the prefix of the whole store.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Creates the prefix of all keys in nested folders with these names.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a name cannot be part of a key.
    pub fn of_names(names: &[String]) -> Result<Self, KeyError> {
        Self::new(joined(names, ""))
    }

    /// Returns the text of the prefix.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key `rest` below this prefix.
    ///
    /// # Errors
    ///
    /// Those of [`Key::new`].
    pub fn key(&self, rest: &str) -> Result<Key, KeyError> {
        Key::new([self.0.as_str(), rest].concat())
    }

    /// Returns the prefix of everything in `segment` below this prefix.
    ///
    /// # Errors
    ///
    /// Those of [`Prefix::new`].
    pub fn join(&self, segment: &str) -> Result<Self, KeyError> {
        Self::new([self.0.as_str(), segment, "/"].concat())
    }

    /// Returns the prefix that directly contains this one; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let segments = self.0.strip_suffix('/')?;
        Some(Self(segments.rfind('/').map_or_else(String::new, |slash| segments[..=slash].to_owned())))
    }

    /// Returns the rest of `key` after this prefix, if it is below the prefix.
    #[must_use]
    pub fn strip<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(&self.0)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "stores read every range")]
pub enum ByteRange {
    /// The whole value.
    Full,
    /// At most `size` bytes, starting at `offset`.
    Range {
        /// Offset of the first byte.
        offset: u64,
        /// Maximum number of bytes.
        size: u64,
    },
    /// All bytes, starting at this offset.
    From(u64),
    /// At most this number of bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// Returns the half-open range of bytes in a value of `size` bytes, clipped to the value.
    #[must_use]
    pub fn within(self, size: u64) -> std::ops::Range<u64> {
        match self {
            Self::Full => 0..size,
            Self::Range { offset, size: length } => {
                let start = offset.min(size);
                start..start.saturating_add(length).min(size)
            }
            Self::From(offset) => offset.min(size)..size,
            Self::Last(length) => size.saturating_sub(length)..size,
        }
    }
}

/// Joins `names`, each followed by `/`, and `end`.
fn joined(names: &[String], end: &str) -> String {
    let mut text = String::with_capacity(names.iter().map(|name| name.len() + 1).sum::<usize>() + end.len());
    for name in names {
        text.push_str(name);
        text.push('/');
    }
    text.push_str(end);
    text
}

fn check(segments: &str, text: &str, what: &'static str) -> Result<(), KeyError> {
    if segments.is_empty() {
        return Err(refused(text, what, "it is empty"));
    }
    for segment in segments.as_bytes().split(|byte| *byte == b'/') {
        match segment {
            b"" => return Err(refused(text, what, "it contains an empty segment")),
            b"." | b".." => {
                let segment = if segment.len() == 1 { "." } else { ".." };
                return Err(refused(text, what, format!("the segment `{segment}` is not allowed")));
            }
            _ => {}
        }
    }
    if segments.contains('\0') {
        return Err(refused(text, what, "it contains the character NUL, which file names cannot contain"));
    }
    Ok(())
}

fn check_characters(text: &str, format: Format, what: &'static str) -> Result<(), KeyError> {
    let allowed = |character: char| match format {
        Format::V2 => character.is_ascii(),
        Format::V3Draft => character.is_ascii_alphanumeric() || "/.-_".contains(character),
        Format::V3 => true,
    };
    match text.chars().find(|&character| !allowed(character)) {
        Some(character) => Err(refused(text, what, format!("{format} keys cannot contain {character:?}"))),
        None => Ok(()),
    }
}

fn refused(text: &str, what: &'static str, reason: impl Into<String>) -> KeyError {
    KeyError { text: text.to_owned(), what, reason: reason.into() }
}
