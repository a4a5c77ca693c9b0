//! Parses the chunks, shards and codecs of a copy: for all arrays, by dimension name or by path.

use zarr_spec::Value;

/// The value of `--shards` for arrays without shards.
const NO_SHARDS: &str = "none";

/// The length that means the whole dimension, as in NumPy and xarray.
const WHOLE: &str = "-1";

/// The chunks or shards of some arrays, from a text `[PATH=]LENGTHS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths {
    /// The path of an array, or of a group with arrays, that the lengths are for; `None` for all arrays.
    pub(super) path: Option<String>,
    pub(super) choice: Choice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// One length per dimension.
    Each(Vec<Length>),
    /// Lengths of the dimensions with these names.
    Named(Vec<(String, Length)>),
    /// No shards.
    Without,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Elements(u64),
    /// All elements along the dimension.
    Whole,
}

/// A codec of some arrays.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecFor {
    pub(super) path: Option<String>,
    pub(super) codec: Codec,
}

/// The name of a codec, and its configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Codec {
    pub(crate) name: String,
    pub(crate) configuration: Value,
}

impl Lengths {
    /// Parses the shape of chunks: `10,90` for arrays of two dimensions, `time=10,lat=90` by dimension name, or one of
    /// these forms for the array or group at a path: `/t2m=10,90`. -1 is the whole dimension.
    ///
    /// # Errors
    ///
    /// A message about the part that is not in this form.
    pub fn chunks(text: &str) -> Result<Self, String> {
        let (path, rest) = split_path(text);
        Ok(Self { path: path.map(str::to_owned), choice: choice(rest)? })
    }

    /// Parses the shape of shards, as for [`Lengths::chunks`], or `none`.
    ///
    /// # Errors
    ///
    /// A message about the part that is not in this form.
    pub fn shards(text: &str) -> Result<Self, String> {
        let (path, rest) = split_path(text);
        let choice = if rest.trim() == NO_SHARDS { Choice::Without } else { choice(rest)? };
        Ok(Self { path: path.map(str::to_owned), choice })
    }
}

impl CodecFor {
    /// Adds a codec to the arrays at and below `path`, or to all arrays. `none` means no codecs.
    #[must_use]
    pub fn new(path: Option<&str>, name: &str, configuration: Value) -> Self {
        Self { path: path.map(str::to_owned), codec: Codec { name: name.to_owned(), configuration } }
    }
}

/// Splits `PATH=REST`. Only paths begin with a slash.
#[must_use]
pub fn split_path(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((path, rest)) if path.starts_with('/') => (Some(path), rest),
        _ => (None, text),
    }
}

fn choice(text: &str) -> Result<Choice, String> {
    if !text.contains('=') {
        return list(text).map(Choice::Each);
    }
    let named = |part: &str| {
        let (name, text) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=LENGTH"))?;
        Ok((name.trim().to_owned(), length(text.trim())?))
    };
    text.split(',').map(named).collect::<Result<_, String>>().map(Choice::Named)
}

/// Parses lengths separated by commas, also in brackets or parentheses.
fn list(text: &str) -> Result<Vec<Length>, String> {
    let bare = text.trim();
    let bracketed = [('(', ')'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| bare.strip_prefix(open)?.strip_suffix(close));
    let list = bracketed.unwrap_or(bare).trim();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    list.strip_suffix(',').unwrap_or(list).split(',').map(|part| length(part.trim())).collect()
}

fn length(text: &str) -> Result<Length, String> {
    match text {
        WHOLE => Ok(Length::Whole),
        _ => text.parse().ok().filter(|&count: &u64| count > 0).map(Length::Elements).ok_or_else(|| {
            format!("`{text}` is not a number of elements; expected 1 or more, or -1 for the whole dimension")
        }),
    }
}

impl Length {
    /// Returns the number of elements along a dimension of `whole` elements.
    pub(super) fn of(self, whole: u64) -> u64 {
        match self {
            Self::Elements(count) => count,
            Self::Whole => whole.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lengths_are_refused() {
        for (text, part) in [
            ("10,x", "`x` is not a number"),
            ("-2", "`-2` is not a number"),
            ("time=0", "`0` is not a number"),
            ("time=10,20", "`20` is not NAME=LENGTH"),
            ("/a=time=", "`` is not a number"),
            ("none", "`none` is not a number"),
        ] {
            let message = Lengths::chunks(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert_eq!(Lengths::shards("/a=none").unwrap().choice, Choice::Without);
    }
}
