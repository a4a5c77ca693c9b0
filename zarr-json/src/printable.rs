//! Escapes foreign text in messages, tables and listings.
//!
//! Names, identifiers and messages come from stores, plugins and servers. Unescaped on a terminal, they could move
//! the cursor, change colors, reverse the order of characters, or start a line that looks like one of the program.
//! [`printable()`] escapes the characters that can do so.
//!
//! The errors and warnings of this crate already escape foreign text. Escaping twice has no further effect.

use std::fmt::{self, Write};
use std::path::Path;

/// Displays `text` with escapes for all characters that [`is_printable`] rejects, including newlines: `\n`, `\r`,
/// `\t`, or the number of the character, as in `\u{1b}`.
///
/// Backslashes are not escaped: the result is for people and does not distinguish an escape from the same characters
/// in the text.
///
/// ```
/// use zarr_json::printable;
///
/// assert_eq!(printable("a\u{1b}[31m\nerror: b").to_string(), r"a\u{1b}[31m\nerror: b");
/// assert_eq!(printable("höhe").to_string(), "höhe");
/// ```
pub fn printable<T: fmt::Display>(text: T) -> Printable<T> {
    Printable(text)
}

/// Displays bytes that should be UTF-8 as [`printable()`] does, and every invalid byte as `\xff`.
#[must_use]
pub fn printable_bytes(bytes: &[u8]) -> PrintableBytes<'_> {
    PrintableBytes(bytes)
}

/// Displays a path as [`printable_bytes`] does.
#[must_use]
pub fn printable_path(path: &Path) -> PrintableBytes<'_> {
    PrintableBytes(path.as_os_str().as_encoded_bytes())
}

/// Checks whether a terminal shows `character` as itself, without side effects.
///
/// Control characters (C0, DEL and C1), including newlines, are not printable. Neither are characters without a width
/// that change how their neighbors are shown, or that make different names look the same: bidirectional marks,
/// overrides and isolates, line separators, joiners, zero-width spaces, soft hyphens and tags.
#[must_use]
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The result of [`printable()`].
#[derive(Debug, Clone, Copy)]
pub struct Printable<T>(T);

impl<T: fmt::Display> fmt::Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

/// The result of [`printable_bytes`] and [`printable_path`].
#[derive(Debug, Clone, Copy)]
pub struct PrintableBytes<'a>(&'a [u8]);

impl fmt::Display for PrintableBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            Escaping(f).write_str(chunk.valid())?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// A writer that escapes its input.
struct Escaping<'f, 'a>(&'f mut fmt::Formatter<'a>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(|character| !is_printable(character)) {
            let (plain, after) = rest.split_at(at);
            self.0.write_str(plain)?;
            let mut characters = after.chars();
            if let Some(character) = characters.next() {
                write!(self.0, "{}", character.escape_default())?;
            }
            rest = characters.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_affect_a_terminal_are_escaped() {
        let text =
            "\u{0}\u{7}\u{1b}]0;x\u{7f}\u{80}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\n\r\t";
        let shown = printable(text).to_string();
        assert_eq!(
            shown,
            r"\u{0}\u{7}\u{1b}]0;x\u{7f}\u{80}\u{9b}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\n\r\t"
        );
        assert_eq!(printable(&shown).to_string(), shown);
    }

    #[test]
    fn text_of_any_script_is_unchanged() {
        for text in ["", "a b", "Données", "日本語", "עברית", "🌍", "e\u{301}", r"back\slash"] {
            assert_eq!(printable(text).to_string(), text);
        }
    }

    #[test]
    fn invalid_utf_8_is_shown_as_numbers() {
        assert_eq!(printable_bytes(b"a\xff\xc3\x1b\xc3\xa9").to_string(), "a\\xff\\xc3\\u{1b}é");
        assert_eq!(printable_path(Path::new("a/b\nc")).to_string(), r"a/b\nc");
    }
}
