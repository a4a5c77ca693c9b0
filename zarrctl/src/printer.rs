//! Standard output and standard error, with unprintable characters escaped.
//!
//! Names, identifiers and messages come from stores, plugins and servers. Verbs escape them, and [`Printer`]
//! is the last filter: no control characters except newlines and tabs reach a terminal.

use std::cell::RefCell;
use std::io::{self, StdoutLock, Write};

use clap::CommandFactory;
use clap::error::ErrorKind;
use zarr_kit::json::printable::{is_printable, printable, printable_bytes};
use zarr_kit::json::{self, Value};

use crate::arguments::Arguments;
use crate::failure::Failure;

/// The most bytes of a UTF-8 character.
const CHARACTER: usize = 4;

/// A writer that passes printable characters, newlines and tabs, and escapes everything else.
#[derive(Debug)]
pub(crate) struct Printer<W: Write> {
    to: W,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

pub(crate) fn stdout() -> Printer<StdoutLock<'static>> {
    Printer::new(io::stdout().lock())
}

/// Writes a JSON document on several lines, with unprintable characters escaped.
pub(crate) fn write_json(value: &Value, to: &mut dyn Write) -> Result<(), Failure> {
    Ok(writeln!(to, "{}", json::to_printable_pretty(value)?)?)
}

thread_local! {
    /// The notes of this thread, if the caller of the library receives them. Then the thread writes nothing to standard
    /// error.
    static COLLECTED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs `work` on this thread, and returns its notes instead of writing them to standard error.
pub(crate) fn collecting<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    let before = COLLECTED.replace(Some(Vec::new()));
    let result = work();
    (result, COLLECTED.replace(before).unwrap_or_default())
}

/// Returns whether the caller of the library receives the notes of this thread.
pub(crate) fn is_collecting() -> bool {
    COLLECTED.with_borrow(Option::is_some)
}

fn is_collected(note: &str) -> bool {
    COLLECTED.with_borrow_mut(|notes| match notes {
        Some(notes) => {
            notes.push(note.to_owned());
            true
        }
        None => false,
    })
}

/// Writes a line to standard error, with newlines escaped. Errors are ignored, because they could not be
/// reported either.
pub(crate) fn note(line: &str) {
    let line = printable(line).to_string();
    if !is_collected(&line) {
        let _unread = writeln!(io::stderr(), "{line}");
    }
}

/// Writes several lines, which the caller has made printable, to standard error.
pub(crate) fn note_lines(text: &str) {
    if is_collected(text) {
        return;
    }
    let _unread = writeln!(Printer::new(io::stderr()), "{text}");
}

/// Prints "error: …" to standard error, in the colours of usage errors.
pub(crate) fn print_error(message: &str) {
    let mut text = Vec::new();
    // Writing to a vector does not fail.
    let _written = Printer::new(&mut text).write_all(message.as_bytes());
    let message = format!("{}\n", String::from_utf8_lossy(&text));
    let error = clap::Error::raw(ErrorKind::Io, message).with_cmd(&Arguments::command());
    let _unread = error.print();
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, begun: Vec::new() }
    }

    /// Writes text of this program unchanged, such as colours.
    pub(crate) fn write_own(&mut self, text: &str) -> io::Result<()> {
        self.end_character()?;
        self.to.write_all(text.as_bytes())
    }

    /// Writes the bytes of an incomplete character.
    fn end_character(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        write!(self.to, "{}", printable_bytes(&begun))
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let passes = |character| matches!(character, '\n' | '\t') || is_printable(character);
        let mut rest = text;
        while let Some(at) = rest.find(|character| !passes(character)) {
            let (plain, after) = rest.split_at(at);
            let next = after.chars().next().map_or(0, char::len_utf8);
            write!(self.to, "{plain}{}", printable(&after[..next]))?;
            rest = &after[next..];
        }
        self.to.write_all(rest.as_bytes())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.write_text(chunk.valid())?;
            let invalid = chunk.invalid();
            match chunks.peek().is_none() && may_continue(invalid) {
                true => self.begun = invalid.to_vec(),
                false => write!(self.to, "{}", printable_bytes(invalid))?,
            }
        }
        Ok(())
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty() {
            self.write_bytes(bytes)?;
        } else {
            let all = [&*std::mem::take(&mut self.begun), bytes].concat();
            self.write_bytes(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for Printer<W> {
    fn drop(&mut self) {
        // Callers that handle errors have already flushed the printer.
        let _unwritten = self.end_character();
    }
}

/// Returns whether bytes may be the beginning of a character.
fn may_continue(bytes: &[u8]) -> bool {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => CHARACTER,
        _ => 0,
    };
    bytes.len() < length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(parts: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        let mut printer = Printer::new(&mut bytes);
        parts.iter().for_each(|part| printer.write_all(part).unwrap());
        drop(printer);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_printable_characters_newlines_and_tabs_pass() {
        assert_eq!(
            printed(&[b"a\tb\nc\x1b[31m\x07\r\x7f\xc2\x9b"]),
            "a\tb\nc\\u{1b}[31m\\u{7}\\r\\u{7f}\\u{9b}"
        );
        assert_eq!(printed(&["é 日本 \u{202e}".as_bytes()]), "é 日本 \\u{202e}");
        assert_eq!(printed(&[b"a\xff\xc3", b"b"]), "a\\xff\\xc3b");
    }

    #[test]
    fn a_character_may_arrive_in_parts() {
        let text = "é日🌍\u{9b}".as_bytes();
        let parts: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(printed(&parts), "é日🌍\\u{9b}");
        assert_eq!(printed(&[b"a\xe6", b"\x97"]), "a\\xe6\\x97");
    }

    #[test]
    fn own_text_passes_unchanged() {
        let mut bytes = Vec::new();
        Printer::new(&mut bytes).write_own("\x1b[0m").unwrap();
        assert_eq!(bytes, b"\x1b[0m");
    }
}
