//! Rust source without the parts that a check must not look at: string literals, and comments if asked.
//!
//! What is left out becomes blanks, so lines and columns stay where they are.

use std::ops::Range;

/// The source with literals blanked and comments kept.
pub(crate) fn without_literals(source: &str) -> String {
    blank(source, |part| matches!(part, Part::Literal))
}

/// The source with literals and comments blanked: nothing but code.
pub(crate) fn code_only(source: &str) -> String {
    blank(source, |_| true)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Literal,
    Comment,
}

fn blank(source: &str, is_blanked: impl Fn(Part) -> bool) -> String {
    let mut bytes = source.as_bytes().to_vec();
    for (part, range) in parts(source.as_bytes()) {
        if is_blanked(part) {
            bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    // Every part begins and ends at an ASCII byte, so no character was cut.
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The literals and comments of the source, in order.
fn parts(source: &[u8]) -> Vec<(Part, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let rest = &source[at..];
        let (part, size) = if rest.starts_with(b"//") {
            (Some(Part::Comment), line_comment_size(rest))
        } else if rest.starts_with(b"/*") {
            (Some(Part::Comment), block_comment_size(rest))
        } else if let Some(size) = string_size(rest) {
            (Some(Part::Literal), size)
        } else if let Some(size) = character_size(rest) {
            (Some(Part::Literal), size)
        } else {
            (None, word_size(rest))
        };
        let end = (at + size).min(source.len());
        found.extend(part.map(|part| (part, at..end)));
        at = end;
    }
    found
}

fn line_comment_size(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn block_comment_size(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The size of a string literal with its prefix, if one begins here.
fn string_size(rest: &[u8]) -> Option<usize> {
    let prefix = rest.iter().take(2).take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    let is_raw = prefix > 0 && rest[prefix - 1] == b'r';
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') || (hashes > 0 && !is_raw) {
        return None;
    }
    let start = prefix + hashes + 1;
    if !is_raw {
        return Some(start + quoted_size(&rest[start..], b'"'));
    }
    let end: Vec<u8> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
    let inside = rest[start..].windows(end.len()).position(|window| window == end);
    Some(inside.map_or(rest.len(), |inside| start + inside + end.len()))
}

/// The size of a character literal, if one begins here; a lifetime is none.
fn character_size(rest: &[u8]) -> Option<usize> {
    let prefix = usize::from(rest.first() == Some(&b'b'));
    if rest.get(prefix) != Some(&b'\'') {
        return None;
    }
    let inside = &rest[prefix + 1..];
    let first = *inside.first()?;
    let size = if first == b'\\' {
        quoted_size(inside, b'\'')
    } else {
        let width = 1 + inside[1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
        (inside.get(width) == Some(&b'\'')).then_some(width + 1)?
    };
    Some(prefix + 1 + size)
}

/// Bytes up to and with the closing quote; a backslash hides the byte after it.
fn quoted_size(inside: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < inside.len() {
        match inside[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    inside.len()
}

/// A whole identifier or number, so that its last letter is not taken for a literal's prefix.
fn word_size(rest: &[u8]) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    rest.iter().take_while(|byte| is_word(byte)).count().max(1)
}

/// Whether `word` occurs in `code` with no letter, digit or underscore beside it.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let kept = without_literals(&source);
            assert_eq!(kept, format!("let a = {}; // {literal}", " ".repeat(literal.len())), "{literal}");
            assert_eq!(code_only(&source).trim_end(), format!("let a = {};", " ".repeat(literal.len())));
        }
    }

    #[test]
    fn lifetimes_raw_identifiers_and_words_that_end_in_a_prefix_are_code() {
        let source = "fn r#type<'a>(bar: &'a str, b: u8) -> &'a str { bar }";
        assert_eq!(code_only(source), source);
    }

    #[test]
    fn block_comments_nest_and_keep_their_lines() {
        assert_eq!(code_only("a /* b /* c */\n d */ e"), "a             \n      e");
    }

    #[test]
    fn source_that_ends_inside_a_literal_or_comment_is_blanked_to_its_end() {
        for source in ["a \"b", "a \"b\\", "a r#\"b\"", "a /* b", "a '\\"] {
            assert_eq!(code_only(source).trim_end(), "a", "{source}");
        }
    }

    #[test]
    fn a_word_is_found_only_on_its_own() {
        assert!(has_word("pub unsafe fn", "unsafe"));
        assert!(!has_word("#![deny(unsafe_code)]", "unsafe"));
    }
}
