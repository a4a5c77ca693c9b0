//! The prose of the project: comments, texts in literals, and documents, as words in passages.
//!
//! Quoted code (between backticks) and quotations (between double quotes, and lines of Markdown that begin with `>`) in
//! comments and documents are not prose of the project. An empty word replaces each of them.

use std::path::Path;

use crate::rust_source::RustSource;
use passages::Passages;

mod passages;

/// The extensions of files with prose.
const EXTENSIONS: &[&str] = &["rs", "md", "toml", "py", "c", "h", "yml", "sh"];

/// A part of a text that has one kind and no blank line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) kind: Kind,
    pub(crate) words: Vec<Word>,
}

/// The kind of text that contains a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comment,
    /// The first passage of a documentation comment.
    DocComment,
    Document,
    Literal,
}

/// A word and the punctuation after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word as written; empty for a quotation.
    pub(crate) text: String,
    /// The number of the line, from 1.
    pub(crate) line: usize,
    pub(crate) end: End,
}

/// The continuation of the text after a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// Another word follows.
    Blank,
    /// Punctuation follows.
    Clause,
    /// The sentence ends.
    Sentence,
    /// The sentence is a question.
    Question,
}

/// Returns whether a file with this name contains prose.
pub(crate) fn has_prose(file: &Path) -> bool {
    extension(file).is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Returns whether a file contains Rust. A template has lines that are not Rust.
pub(crate) fn is_rust(file: &Path, text: &str) -> bool {
    extension(file) == Some("rs") && !text.contains("{{")
}

/// Returns the passages of a file that does not contain Rust.
pub(crate) fn of_file(file: &Path, text: &str) -> Vec<Passage> {
    match extension(file) {
        Some("md") => of_markdown(text),
        _ => of_other(text),
    }
}

fn extension(file: &Path) -> Option<&str> {
    file.extension()?.to_str()
}

/// Returns the passages of Rust source.
pub(crate) fn of_rust(source: &RustSource) -> Vec<Passage> {
    let mut passages = Passages::default();
    let mut is_code = false;
    for (line, number) in source.comments().lines().zip(1..) {
        let (marker, rest) = comment(line.trim());
        is_code ^= rest.starts_with("```");
        match marker {
            _ if is_code || rest.starts_with("```") => passages.end(),
            "" if rest.is_empty() => passages.end_of_block(),
            "///" | "//!" => passages.add(Kind::DocComment, number, rest),
            _ => passages.add(Kind::Comment, number, rest),
        }
    }
    passages.end_of_block();
    for (line, number) in source.literals().lines().zip(1..) {
        passages.add(Kind::Literal, number, line.trim());
    }
    passages.all()
}

fn of_markdown(text: &str) -> Vec<Passage> {
    let mut passages = Passages::default();
    let mut is_code = false;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
            passages.end();
            continue;
        }
        let is_item = ["#", "- ", "* ", "|", "1. "].iter().any(|start| line.starts_with(start));
        if is_item || is_code {
            passages.end();
        }
        match is_code {
            true => passages.add(Kind::Literal, number, line),
            false if line.starts_with('>') => passages.end(),
            false => passages.add(Kind::Document, number, line),
        }
        if line.starts_with('#') {
            passages.end();
        }
    }
    passages.all()
}

/// Returns the passages of a file with line comments, such as a manifest or a script. Everything else counts as literals.
fn of_other(text: &str) -> Vec<Passage> {
    let mut passages = Passages::default();
    for (line, number) in text.lines().zip(1..) {
        match comment(line.trim()) {
            ("", rest) => passages.add(Kind::Literal, number, rest),
            (_, rest) => passages.add(Kind::Comment, number, rest),
        }
    }
    passages.all()
}

/// Returns the marker of a comment and the rest of the line.
fn comment(line: &str) -> (&str, &str) {
    let markers = ["///", "//!", "//", "/*", "*", "#"];
    let marker = markers.iter().find(|marker| line.starts_with(**marker));
    let (marker, rest) = line.split_at(marker.map_or(0, |marker| marker.len()));
    (marker, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of each passage, joined to one text per passage.
    fn texts(file: &str, text: &str) -> Vec<(Kind, String)> {
        let passages = match is_rust(Path::new(file), text) {
            true => of_rust(&RustSource::new(text.to_owned()).unwrap()),
            false => of_file(Path::new(file), text),
        };
        let joined = |passage: Passage| {
            let words: Vec<_> = passage.words.into_iter().map(|word| word.text).collect();
            (passage.kind, words.join(" "))
        };
        passages.into_iter().map(joined).collect()
    }

    #[test]
    fn finds_comments_and_literals_in_rust() {
        let text =
            "/// Reads the\n/// \"whole\" `value`.\n///\n/// Twice.\nfn f() { g(\"no value\") } // why\n";
        let expected = [
            (Kind::DocComment, "Reads the  "),
            (Kind::Comment, "Twice"),
            (Kind::Comment, "why"),
            (Kind::Literal, "no value"),
        ];
        assert_eq!(texts("a.rs", text), expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn finds_paragraphs_headings_items_and_code_but_no_quotations_in_markdown() {
        let text = "# Title\nOne\ntwo.\n> quoted\n- an item\n```\ncode\n```\nlast";
        let expected = ["Title", "One two", "an item", "code", "last"];
        let found = texts("a.md", text);
        assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(found[3].0, Kind::Literal);
    }

    #[test]
    fn joins_comments_of_other_files_and_ignores_data_files() {
        let text = "# One\n# comment.\nname = \"a text\"\n";
        assert_eq!(
            texts("a.toml", text),
            [(Kind::Comment, "One comment".to_owned()), (Kind::Literal, "name a text".to_owned())]
        );
        assert!(has_prose(Path::new("a.toml")) && !has_prose(Path::new("a.json")));
    }
}
