//! Collects lines into passages, and divides passages into words.

use super::{End, Kind, Passage, Word};

/// The maximum size of a quotation in bytes. A longer one is probably an unpaired quotation mark.
const LONGEST_QUOTATION: usize = 1000;

/// Complete passages, and an open one that may get more lines.
#[derive(Debug, Default)]
pub(super) struct Passages {
    done: Vec<Passage>,
    open: Option<Open>,
    /// The kind of the last line, if the block of comments has not ended.
    block: Option<Kind>,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    first_line: usize,
    text: String,
}

impl Passages {
    /// Adds a line. A blank line ends the passage.
    pub(super) fn add(&mut self, kind: Kind, number: usize, line: &str) {
        if line.is_empty() {
            self.block = Some(kind);
            return self.end();
        }
        let is_next = |open: &Open| number == open.first_line + open.text.matches('\n').count() + 1;
        match &mut self.open {
            Some(open) if self.block == Some(kind) && kind != Kind::Literal && is_next(open) => {
                open.text.push('\n');
                open.text.push_str(line);
            }
            _ => {
                self.end();
                let is_start = self.block != Some(kind);
                let of_passage = if kind == Kind::DocComment && !is_start { Kind::Comment } else { kind };
                self.open = Some(Open { kind: of_passage, first_line: number, text: line.to_owned() });
            }
        }
        self.block = Some(kind);
    }

    /// Ends the passage.
    pub(super) fn end(&mut self) {
        let Some(Open { kind, first_line, text }) = self.open.take() else { return };
        let words = words(kind, first_line, &text);
        if !words.is_empty() {
            self.done.push(Passage { kind, words });
        }
    }

    /// Ends the passage and the block of comments.
    pub(super) fn end_of_block(&mut self) {
        self.end();
        self.block = None;
    }

    pub(super) fn all(mut self) -> Vec<Passage> {
        self.end();
        self.done
    }
}

fn words(kind: Kind, first_line: usize, text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut line = first_line;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut size = first.len_utf8();
        if first == '\n' {
            line += 1;
        } else if kind == Kind::Literal && first == '\\' {
            // An escape sequence is not part of a word, so the letter after the backslash is skipped, too.
            size += rest[size..].chars().next().map_or(0, char::len_utf8);
        } else if let Some(quoted) = quotation(kind, rest) {
            words.push(Word { text: String::new(), line, end: End::Blank });
            line += quoted.matches('\n').count();
            size = quoted.len();
        } else if first.is_alphanumeric() {
            size = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
            words.push(Word { text: rest[..size].to_owned(), line, end: End::Blank });
        } else if let Some(last) = words.last_mut() {
            last.end = last.end.max(end_of(first, &rest[size..]));
        }
        rest = &rest[size..];
    }
    words
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || "_'’-".contains(character)
}

/// Returns the quotation or quoted code at the start of `text`.
fn quotation(kind: Kind, text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| kind != Kind::Literal && "`\"".contains(*mark))?;
    let inside = text[1..].find(mark).filter(|size| *size < LONGEST_QUOTATION)?;
    Some(&text[..inside + 2])
}

fn end_of(punctuation: char, rest: &str) -> End {
    // The dots in `v1.0` and `lib.rs` do not end a sentence.
    let is_last = rest.chars().next().is_none_or(|next| next.is_whitespace() || "\"`)*".contains(next));
    match punctuation {
        '.' | '!' if is_last => End::Sentence,
        '?' => End::Question,
        character if character.is_whitespace() => End::Blank,
        _ => End::Clause,
    }
}
