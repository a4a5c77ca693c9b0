//! The stored examples: an index for each format and a folder for each example.

use std::path::Path;
use std::sync::LazyLock;
use std::{fmt, fs, io};

use serde::Deserialize;

/// The files of all examples, with their paths in `formats`.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/format_examples.rs"));

const INDEXES: [(FormatName, &str); 3] = [
    (FormatName::V2, include_str!("../../formats/v2.json")),
    (FormatName::Draft, include_str!("../../formats/draft.json")),
    (FormatName::V3, include_str!("../../formats/v3.json")),
];

/// A format with examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers handle every format")]
pub enum FormatName {
    /// Version 2.
    V2,
    /// The draft of version 3 of December 2022.
    Draft,
    /// Version 3.
    V3,
}

impl FormatName {
    /// All formats, oldest first.
    pub const ALL: [Self; 3] = [Self::V2, Self::Draft, Self::V3];
}

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V2 => "v2",
            Self::Draft => "draft",
            Self::V3 => "v3",
        })
    }
}

impl std::str::FromStr for FormatName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.to_string() == text);
        found.ok_or_else(|| format!("unknown format `{text}` (expected v2, draft or v3)"))
    }
}

/// The expected behavior of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expectation {
    /// The reader returns these elements.
    Values(Vec<u8>),
    /// The reader reports an error.
    Refused,
    /// The reader returns these elements, or reports that it does not support an optional feature.
    Either(Vec<u8>),
    /// The reader returns these elements if it follows common practice, which no specification requires.
    Usual(Vec<u8>),
}

impl Expectation {
    /// Checks whether the example is valid.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        *self != Self::Refused
    }
}

/// A hierarchy with an array, and the expected behavior of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The format.
    pub format: FormatName,
    /// The permanent name, such as `v3/shard-index-at-start`.
    pub id: String,
    /// The rows of the requirements that the example covers.
    pub rows: Vec<String>,
    /// The special property of the example, in one sentence.
    pub about: String,
    /// The program that wrote the example, or a note that it was written by hand.
    pub origin: String,
    /// The path of the array.
    pub array: String,
    /// The expected behavior of a reader.
    pub expectation: Expectation,
}

/// An entry of an index.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    rows: Vec<String>,
    about: String,
    origin: String,
    array: String,
    expect: Expect,
    /// The expected elements in hexadecimal digits.
    elements: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Values,
    Refused,
    Either,
    Usual,
}

/// Returns every example, by format and in the order of the indexes.
///
/// # Panics
///
/// Never: the indexes are part of the library, and a test parses them.
pub fn all() -> &'static [Example] {
    #[expect(clippy::expect_used, reason = "the indexes are part of the library, and a test parses them")]
    static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
        let examples = INDEXES.iter().map(|(format, text)| parse(*format, text));
        examples.collect::<Result<Vec<_>, _>>().expect("indexes of the library").concat()
    });
    &EXAMPLES
}

fn parse(format: FormatName, text: &str) -> Result<Vec<Example>, String> {
    let document = zarr_json::parse(text.as_bytes(), &zarr_json::ParseOptions::default());
    let document = document.map_err(|error| format!("{format}: {error}"))?.value;
    let entries: Vec<Entry> =
        zarr_json::from_value(&document).map_err(|error| format!("{format}: {error}"))?;
    let example = |entry: Entry| {
        let what = format!("{format}/{}", entry.id);
        let expectation = match (entry.expect, entry.elements) {
            (Expect::Values, Some(digits)) => Expectation::Values(crate::hex(&digits)),
            (Expect::Either, Some(digits)) => Expectation::Either(crate::hex(&digits)),
            (Expect::Usual, Some(digits)) => Expectation::Usual(crate::hex(&digits)),
            (Expect::Refused, None) => Expectation::Refused,
            _ => {
                return Err(format!(
                    "{what}: `elements` is required, except for `refused`, which must not have it"
                ));
            }
        };
        let Entry { rows, about, origin, array, .. } = entry;
        Ok(Example { format, id: what, rows, about, origin, array, expectation })
    };
    entries.into_iter().map(example).collect()
}

impl Example {
    /// Returns the files: paths relative to the folder of the hierarchy, and contents.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'static [u8])> {
        FILES
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(&*self.id)?.strip_prefix('/')?, *bytes)))
    }

    /// Writes the files to `folder`.
    ///
    /// # Errors
    ///
    /// Errors of the file system.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        for (path, bytes) in self.files() {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap_or(folder))?;
            fs::write(file, bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_example_has_a_unique_name_files_and_a_row() {
        let mut ids = HashSet::new();
        for example in all() {
            assert!(ids.insert(&example.id), "{} exists twice", example.id);
            assert!(example.files().next().is_some(), "{} has no files", example.id);
            assert!(!example.rows.is_empty(), "{} does not cover a row", example.id);
            assert!(example.array.starts_with('/'), "{}: {}", example.id, example.array);
        }
        let of = |format| all().iter().filter(|example| example.format == format).count();
        assert!(FormatName::ALL.into_iter().all(|format| of(format) > 0));
    }

    #[test]
    fn every_file_belongs_to_an_example() {
        let count: usize = all().iter().map(|example| example.files().count()).sum();
        assert_eq!(count, FILES.len());
    }

    #[test]
    fn the_rows_exist_in_the_requirements() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("requirements");
        let mut ledgers = String::new();
        for entry in fs::read_dir(folder).unwrap() {
            ledgers += &fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        for example in all() {
            for row in &example.rows {
                assert!(ledgers.contains(&format!("| {row} |")), "{}: there is no row {row}", example.id);
            }
        }
    }

    #[test]
    fn an_entry_without_a_clear_expectation_is_an_error() {
        let entry = |rest: &str| {
            let text =
                format!(r#"[{{"id":"a","rows":["X-1"],"about":"b","origin":"hand","array":"/",{rest}}}]"#);
            parse(FormatName::V3, &text)
        };
        assert_eq!(entry(r#""expect":"values","elements":"01 ff""#).unwrap()[0].id, "v3/a");
        assert!(entry(r#""expect":"values""#).unwrap_err().starts_with("v3/a: "));
        assert!(entry(r#""expect":"refused","elements":"01""#).unwrap_err().starts_with("v3/a: "));
        assert!(entry(r#""expect":"maybe""#).is_err());
    }
}
