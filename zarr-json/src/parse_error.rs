//! Why a text is not JSON.

use std::fmt;

use super::memory::TooMuchMemory;
use super::parse::MARK;

/// Why a text is not a JSON document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Bytes before the fault.
    pub offset: usize,
    /// The line of the fault, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// For a fault behind `offset` of `bytes`.
    pub(super) fn at(bytes: &[u8], offset: usize, kind: ParseErrorKind) -> Self {
        let mut line = 1;
        let mut column = 1;
        if !kind.concerns_the_whole() {
            let before = String::from_utf8_lossy(&bytes[..offset]);
            let last = before.rsplit('\n').next().unwrap_or_default();
            line += before.matches('\n').count();
            column += last.trim_start_matches(MARK).chars().count();
        }
        Self { offset, line, column, kind }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.kind.concerns_the_whole() {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for ParseError {}

/// What is wrong with a text that is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// There is nothing, or only white space.
    #[error("the document is empty")]
    Empty,
    /// The text is longer than [`Limits::bytes`](super::Limits::bytes).
    #[error("the document has {size} bytes, more than the limit of {limit}")]
    TooLong {
        /// The length of the text in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The text is in another encoding of Unicode than UTF-8.
    #[error("the document is UTF-16 or UTF-32 text, not UTF-8")]
    WideText,
    /// Bytes that are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// The values take more memory than [`ValueMemory`](super::ValueMemory) allows.
    #[error(transparent)]
    TooMuchMemory(TooMuchMemory),
    /// Arrays and objects are nested deeper than [`Limits::depth`](super::Limits::depth).
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text ends inside a value.
    #[error("unexpected end, expected {expected}")]
    UnexpectedEnd {
        /// What should stand here.
        expected: &'static str,
    },
    /// Another character than JSON has here.
    #[error("unexpected character {found:?}, expected {expected}")]
    UnexpectedCharacter {
        /// What stands here.
        found: char,
        /// What should stand here.
        expected: &'static str,
    },
    /// A comma after the last element or member.
    #[error("trailing comma")]
    TrailingComma,
    /// A comment, which JSON does not have.
    #[error("comment")]
    Comment,
    /// Something follows the document.
    #[error("content after the document")]
    AfterDocument,
    /// A number starts with a zero that is not its only digit before the point.
    #[error("number with a leading zero")]
    LeadingZero,
    /// A number starts with a plus sign.
    #[error("number with a plus sign")]
    PlusSign,
    /// A bare `NaN`, `Infinity` or `-Infinity`, and the options do not allow it.
    #[error("{token} is not a JSON value")]
    BareNonFinite {
        /// The token.
        token: &'static str,
    },
    /// A character below U+0020 in a string, which needs an escape.
    #[error("control character {found:?} in a string")]
    ControlCharacter {
        /// The character.
        found: char,
    },
    /// A backslash and no escape of JSON.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// One half of a surrogate pair, which is no character.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
}

impl ParseErrorKind {
    /// Whether no place of the text is to blame.
    fn concerns_the_whole(&self) -> bool {
        matches!(self, Self::Empty | Self::TooLong { .. } | Self::TooMuchMemory(_) | Self::WideText)
    }
}
