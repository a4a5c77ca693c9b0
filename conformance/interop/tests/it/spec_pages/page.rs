//! Parses the common structure of all pages in `docs/spec`.

use std::fs;
use std::path::Path;

use zarr_kit::json::{self, ParseOptions};
use zarr_kit::spec::{Object, Value};

/// One page, which describes one URI.
#[derive(Debug)]
pub(crate) struct Page {
    /// The file name.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: String,
    /// The described URI.
    pub(crate) uri: String,
    /// The schema of an entry of a document, or of its configuration.
    pub(crate) schema: Value,
    /// The examples in the order of the page.
    pub(crate) examples: Vec<Example>,
}

/// A part of a metadata document, and operations with the extension that it names.
#[derive(Debug)]
pub(crate) struct Example {
    /// An object with some members of a document.
    pub(crate) document: Value,
    /// The blocks after the document, as lines.
    pub(crate) runs: Vec<Vec<Line>>,
}

/// A label and the text after it, without comments, in one line.
pub(crate) type Line = (String, String);

impl Page {
    /// Returns all pages.
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let names = files.iter().filter(|file| file.file_name().unwrap() != "README.md");
        names
            .map(|file| {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                Self::parse(&name, &fs::read_to_string(file).unwrap())
            })
            .collect()
    }

    fn parse(name: &str, text: &str) -> Self {
        let uri = text.lines().find_map(|line| line.strip_prefix("- **URI**: `")?.strip_suffix('`'));
        let (before, examples) = text.split_once("\n## Examples").unwrap();
        let configuration = before.split_once("\n## Configuration").unwrap().1;
        let schema = blocks(configuration.split("\n## ").next().unwrap(), "json");
        let [schema] = &schema[..] else { panic!("{name}: {} schemas", schema.len()) };
        let mut found: Vec<Example> = Vec::new();
        for (language, text) in all_blocks(examples) {
            match language {
                "json" => found.push(Example { document: fragment(text), runs: Vec::new() }),
                "text" => found.last_mut().unwrap().runs.push(lines(text)),
                other => panic!("{name}: a block of {other} among the examples"),
            }
        }
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            uri: uri.unwrap().to_owned(),
            schema: parsed(schema),
            examples: found,
        }
    }

    /// Returns `codecs`, `data-types` or another kind of extension.
    pub(crate) fn kind(&self) -> &str {
        self.uri.rsplit('/').nth(2).unwrap()
    }

    /// Checks whether the schema describes only the configuration. Extensions with a `type` next to their URI
    /// are described as a whole.
    pub(crate) fn is_about_the_configuration(&self) -> bool {
        matches!(self.kind(), "codecs" | "extensions" | "grids")
    }

    /// Returns the required members.
    pub(crate) fn required(&self) -> Vec<&str> {
        let names = self.schema.as_object().unwrap().get("required").and_then(Value::as_array);
        names.unwrap_or_default().iter().filter_map(Value::as_str).collect()
    }

    /// Returns each bound of an integer member: its name, the bound, and the first value beyond it.
    pub(crate) fn bounds(&self) -> Vec<(&str, i64, i64)> {
        let properties = self.schema.as_object().unwrap().get("properties").and_then(Value::as_object);
        let members = properties.into_iter().flat_map(Object::iter);
        let members = members.filter_map(|(name, schema)| Some((name, schema.as_object()?)));
        let integers = members.filter(|(_, schema)| schema.get("type") == Some(&Value::from("integer")));
        let bound = |schema: &Object, keyword: &str| schema.get(keyword)?.as_number()?.as_i64();
        let bounds = |(name, schema)| {
            let least = bound(schema, "minimum").map(|least| (name, least, least - 1));
            let most = bound(schema, "maximum").map(|most| (name, most, most + 1));
            [least, most].into_iter().flatten()
        };
        integers.flat_map(bounds).collect()
    }
}

/// Returns the code blocks of a text: language and content.
fn all_blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap_or((block, "")))
}

fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    all_blocks(text).filter(|(found, _)| *found == language).map(|(_, text)| text).collect()
}

/// Parses members of a document, with or without the surrounding braces.
fn fragment(text: &str) -> Value {
    if text.trim_start().starts_with('{') { parsed(text) } else { parsed(&format!("{{{text}}}")) }
}

/// Parses JSON that may contain bare `NaN` and infinities.
pub(crate) fn parsed(text: &str) -> Value {
    let options = ParseOptions { bare_non_finite: true, ..ParseOptions::default() };
    json::parse(text.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}: {text}")).value
}

/// Splits a block into lines. A line that begins with white space continues the previous one; ` #` begins a
/// comment.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines() {
        let line = line.split_once(" #").map_or(line, |(line, _comment)| line);
        let (label, rest) = line.split_once(' ').unwrap_or((line, ""));
        match label {
            "" => lines.last_mut().unwrap().1.push_str(&format!(" {}", rest.trim())),
            _ => lines.push((label.to_owned(), rest.trim().to_owned())),
        }
    }
    lines
}
