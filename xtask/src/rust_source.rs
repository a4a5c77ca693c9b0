//! Rust source without the parts that a check must ignore: literals, and optionally comments.
//!
//! Removed text becomes blanks, so lines and columns stay the same.

use std::ops::Range;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// The source of a file, which is parsed once for all checks.
#[derive(Debug)]
pub(crate) struct RustSource {
    text: String,
    parts: Vec<(Part, Range<usize>)>,
}

impl RustSource {
    /// Parses the text of a Rust file.
    ///
    /// # Errors
    ///
    /// If the source is not a sequence of Rust tokens.
    pub(crate) fn new(text: String) -> Result<Self, String> {
        let parts = parts(&text)?;
        Ok(Self { text, parts })
    }

    /// Returns the source with literals blanked. Comments remain.
    pub(crate) fn without_literals(&self) -> String {
        self.without(|part| part == Part::Literal)
    }

    /// Returns the source with literals and comments blanked.
    pub(crate) fn code(&self) -> String {
        self.only(Part::Code)
    }

    /// Returns the comments of the source; everything else is blank.
    pub(crate) fn comments(&self) -> String {
        self.without(|_| true)
    }

    /// Returns the literals of the source; everything else is blank.
    pub(crate) fn literals(&self) -> String {
        self.only(Part::Literal)
    }

    fn only(&self, wanted: Part) -> String {
        let mut text = self.text.as_bytes().to_vec();
        blank(&mut text);
        for (_, range) in self.parts.iter().filter(|(part, _)| *part == wanted) {
            text[range.clone()].copy_from_slice(self.text[range.clone()].as_bytes());
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn without(&self, is_removed: impl Fn(Part) -> bool) -> String {
        let mut text = self.text.as_bytes().to_vec();
        for (_, range) in self.parts.iter().filter(|(part, _)| is_removed(*part)) {
            blank(&mut text[range.clone()]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn blank(text: &mut [u8]) {
    text.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Literal,
}

/// Returns the code and literals of the source. Comments are not tokens.
fn parts(source: &str) -> Result<Vec<(Part, Range<usize>)>, String> {
    let tokens: TokenStream = source.parse().map_err(|error: LexError| {
        let place = error.span().start();
        format!("line {}, column {}: {error}", place.line, place.column + 1)
    })?;
    let mut parts = Vec::new();
    collect(source, tokens, &mut parts);
    Ok(parts)
}

fn collect(source: &str, tokens: TokenStream, parts: &mut Vec<(Part, Range<usize>)>) {
    for token in tokens {
        let range = token.span().byte_range();
        // A documentation comment becomes the tokens `#[doc = "…"]`, which all have the span of the comment.
        if source[range.clone()].starts_with("//") || source[range.clone()].starts_with("/*") {
            continue;
        }
        match token {
            TokenTree::Literal(_) => parts.push((Part::Literal, range)),
            TokenTree::Ident(_) | TokenTree::Punct(_) => parts.push((Part::Code, range)),
            TokenTree::Group(group) => {
                if group.delimiter() != Delimiter::None {
                    parts.push((Part::Code, group.span_open().byte_range()));
                    parts.push((Part::Code, group.span_close().byte_range()));
                }
                collect(source, group.stream(), parts);
            }
        }
    }
}

/// Returns whether `word` occurs in `code` without a letter, digit or underscore next to it.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(source: &str) -> RustSource {
        RustSource::new(source.to_owned()).unwrap()
    }

    #[test]
    fn literals_of_every_kind_become_blanks() {
        for literal in [
            r#""a // b""#,
            r##"r#"a " b"#"##,
            r#"b"a\"b""#,
            r#"br"a""#,
            r#"c"a""#,
            "'x'",
            "'\\''",
            "b'\\n'",
            "'é'",
            r#"'"'"#,
        ] {
            let source = format!("let a = {literal}; // {literal}");
            let blanks = " ".repeat(literal.len());
            assert_eq!(parsed(&source).without_literals(), format!("let a = {blanks}; // {literal}"));
            assert_eq!(parsed(&source).code().trim_end(), format!("let a = {blanks};"), "{literal}");
            assert_eq!(parsed(&source).literals().trim(), literal);
        }
    }

    #[test]
    fn lifetimes_raw_identifiers_and_words_that_end_in_a_prefix_are_code() {
        let source = "fn r#type<'a>(bar: &'a str, b: u8) -> &'a str { bar }";
        assert_eq!(parsed(source).code(), source);
    }

    #[test]
    fn comments_of_every_kind_become_blanks_and_keep_their_lines() {
        for comment in ["/* b /* c */\n d */", "/// b \"c\"\n", "// b\n", "/** b\n */", "//! b\n"] {
            let source = format!("#![a]\n{comment} struct E;");
            let code = parsed(&source).code();
            assert_eq!(code.split_whitespace().collect::<String>(), "#![a]structE;", "{comment}");
            assert_eq!(code.lines().count(), source.lines().count(), "{comment}");
            assert_eq!(code.len(), source.len(), "{comment}");
            assert_eq!(parsed(&source).without_literals(), source, "{comment}");
            assert_eq!(parsed(&source).comments().trim(), comment.trim(), "{comment}");
        }
    }

    #[test]
    fn source_that_is_not_rust_is_an_error_with_its_place() {
        let error = RustSource::new("fn f() {\n  \"".to_owned()).unwrap_err();
        assert!(error.starts_with("line 2, column 3"), "{error}");
    }

    #[test]
    fn only_whole_words_are_found() {
        assert!(has_word("pub unsafe fn", "unsafe"));
        assert!(!has_word("#![deny(unsafe_code)]", "unsafe"));
    }
}
