//! Errors of the parser.

use std::fmt;

use super::memory::TooMuchMemory;
use super::parse::MARK;

/// Why a text is not a JSON document, and the position of the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The offset of the fault in bytes.
    pub offset: usize,
    /// The line of the fault, starting at 1.
    pub line: usize,
    /// The character in the line, starting at 1.
    pub column: usize,
    /// The reason.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// Creates the error for a fault at `offset` in `bytes`.
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

/// The reason why a text is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The document is empty or has only white space.
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
    /// The text has a Unicode encoding other than UTF-8.
    #[error("the document is UTF-16 or UTF-32 text, not UTF-8")]
    WideText,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// The values need more memory than [`ValueMemory`](super::ValueMemory) allows.
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
        /// The expected token.
        expected: &'static str,
    },
    /// A character that is not valid here.
    #[error("unexpected character {found:?}, expected {expected}")]
    UnexpectedCharacter {
        /// The character.
        found: char,
        /// The expected token.
        expected: &'static str,
    },
    /// A comma after the last element or member.
    #[error("trailing comma")]
    TrailingComma,
    /// A comment, which is not JSON.
    #[error("a comment, which JSON does not allow")]
    Comment,
    /// Content follows the document.
    #[error("content after the document")]
    AfterDocument,
    /// The integer part of a number has a leading zero.
    #[error("number with a leading zero")]
    LeadingZero,
    /// A number starts with a plus sign.
    #[error("number with a plus sign")]
    PlusSign,
    /// A bare `NaN`, `Infinity` or `-Infinity` that the options do not accept.
    #[error("{token} is not a JSON value")]
    BareNonFinite {
        /// The token.
        token: &'static str,
    },
    /// An unescaped character below U+0020 in a string.
    #[error("control character {found:?} in a string")]
    ControlCharacter {
        /// The character.
        found: char,
    },
    /// A backslash that does not begin a JSON escape.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// A lone half of a surrogate pair, which is not a character.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
}

impl ParseErrorKind {
    /// Checks whether the fault concerns the whole text, not a position in it.
    fn concerns_the_whole(&self) -> bool {
        matches!(self, Self::Empty | Self::TooLong { .. } | Self::TooMuchMemory(_) | Self::WideText)
    }
}
