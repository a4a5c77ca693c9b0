//! Parses JSON text.

use std::borrow::Cow;
use std::fmt;

use super::memory::{TooMuchMemory, ValueMemory};
use super::number::{BARE_TOKENS, NumberFault, scan};
use super::parse_error::{ParseError, ParseErrorKind};
use super::{Number, Object, Value, inside};
use crate::printable;

/// The maximum nesting of arrays and objects, regardless of the [`Limits`].
pub const MAX_DEPTH: usize = 512;

/// The maximum number of remarks in a [`Parsed`]. Further remarks are dropped.
pub const MAX_REMARKS: usize = 100;

/// The limits of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The length of the text in bytes; 16 MiB by default. The memory of the values is limited to four times this
    /// length plus 1 MiB (see [`ValueMemory`]).
    pub bytes: usize,
    /// The nesting of arrays and objects; 128 by default, at most [`MAX_DEPTH`].
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 128 }
    }
}

/// Options of [`parse()`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// The limits.
    pub limits: Limits,
    /// Whether `NaN`, `Infinity` and `-Infinity` are accepted as values, with a remark. False by default.
    pub bare_non_finite: bool,
}

/// A document and remarks on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parsed {
    /// The value of the document.
    pub value: Value,
    /// Remarks in document order, at most [`MAX_REMARKS`]. [`Value::find_non_finite`] finds every bare `NaN`.
    pub remarks: Vec<Remark>,
}

/// A property of a document that a caller may refuse or accept. Names longer than 200 bytes are truncated in paths.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// The text starts with the byte order mark of UTF-8, which is skipped.
    ByteOrderMark,
    /// An object has two members with the same name. The last value replaces the first.
    DuplicateMember {
        /// The JSON pointer of the member.
        path: String,
    },
    /// A value that is not a JSON number.
    BareNonFinite {
        /// The JSON pointer of the value.
        path: String,
        /// `NaN`, `Infinity` or `-Infinity`.
        token: &'static str,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("byte order mark before the document"),
            Self::DuplicateMember { path } => write!(f, "member {} occurs twice", printable(path)),
            Self::BareNonFinite { path, token } => {
                write!(f, "{token} instead of a number at \"{}\"", printable(path))
            }
        }
    }
}

/// Parses a JSON document (RFC 8259, UTF-8) in linear time.
///
/// If a member occurs twice, the last value replaces the first.
///
/// # Errors
///
/// [`ParseError`] for invalid JSON, lone surrogates, and exceeded limits.
pub fn parse(bytes: &[u8], options: &ParseOptions) -> Result<Parsed, ParseError> {
    let (value, remarks) = read(bytes, options, |parser| parser.value(ValuePath::Document, 0))?;
    Ok(Parsed { value, remarks })
}

/// Reads a document. `value` parses its value; the result of `value` is returned with the remarks on the document.
pub(super) fn read<'t, T>(
    bytes: &'t [u8],
    options: &ParseOptions,
    value: impl FnOnce(&mut Parser<'t>) -> Result<T, Fault>,
) -> Result<(T, Vec<Remark>), ParseError> {
    let fault = |(offset, kind)| ParseError::at(bytes, offset, kind);
    let text = decode(bytes, options.limits.bytes).map_err(fault)?;
    let mut parser = Parser {
        text,
        at: 0,
        max_depth: options.limits.depth.min(MAX_DEPTH),
        bare_non_finite: options.bare_non_finite,
        remarks: Vec::new(),
        memory: ValueMemory::of_documents(options.limits.bytes),
    };
    let value = parser.document(value).map_err(fault)?;
    Ok((value, parser.remarks))
}

/// Special bytes in a string: the quote, the backslash and control characters.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 32 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

/// The offset of a fault in bytes, and its kind.
pub(super) type Fault = (usize, ParseErrorKind);

/// The byte order mark.
pub(super) const MARK: &str = "\u{feff}";

fn decode(bytes: &[u8], limit: usize) -> Result<&str, Fault> {
    if bytes.len() > limit {
        return Err((limit, ParseErrorKind::TooLong { size: bytes.len(), limit }));
    }
    // JSON starts with an ASCII character. A zero byte next to it belongs to a wider encoding.
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        return Err((0, ParseErrorKind::WideText));
    }
    std::str::from_utf8(bytes).map_err(|error| (error.valid_up_to(), ParseErrorKind::InvalidUtf8))
}

pub(super) struct Parser<'t> {
    text: &'t str,
    /// The number of parsed bytes; always at a character boundary when a method returns.
    at: usize,
    max_depth: usize,
    bare_non_finite: bool,
    remarks: Vec<Remark>,
    memory: ValueMemory,
}

/// The path of a value in the document, as a linked list on the stack: only remarks need the path as text.
#[derive(Clone, Copy)]
pub(super) enum ValuePath<'p> {
    Document,
    Element(&'p ValuePath<'p>, usize),
    Member(&'p ValuePath<'p>, &'p str),
}

impl ValuePath<'_> {
    fn path(&self) -> String {
        let mut place = self;
        let mut path = String::new();
        loop {
            (place, path) = match place {
                ValuePath::Document => return path,
                ValuePath::Element(parent, position) => (*parent, inside(&position.to_string(), &path)),
                ValuePath::Member(parent, name) => (*parent, inside(name, &path)),
            };
        }
    }
}

impl<'t> Parser<'t> {
    fn document<T>(&mut self, value: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.eat(MARK) {
            self.remarks.push(Remark::ByteOrderMark);
        }
        if self.next().is_none() {
            return Err(self.fault(ParseErrorKind::Empty));
        }
        let value = value(self)?;
        match self.next() {
            None => Ok(value),
            Some(_) => Err(self.misplaced(ParseErrorKind::AfterDocument)),
        }
    }

    /// Parses the value at the next character, which is inside `depth` arrays and objects.
    pub(super) fn value(&mut self, place: ValuePath<'_>, depth: usize) -> Result<Value, Fault> {
        match self.next() {
            Some(b'{') => self.object(place, depth + 1),
            Some(b'[') => self.array(place, depth + 1),
            Some(b'"') => {
                let text = self.string()?;
                self.counted(|memory| memory.string(text))
            }
            Some(b'0'..=b'9') => self.number(),
            Some(_) => self.word(place),
            None => Err(self.no_token("a value")),
        }
    }

    /// Returns the result of `count`, or a fault if the memory limit is exceeded.
    pub(super) fn counted<T>(
        &mut self,
        count: impl FnOnce(&mut ValueMemory) -> Result<T, TooMuchMemory>,
    ) -> Result<T, Fault> {
        count(&mut self.memory).map_err(|error| self.fault(ParseErrorKind::TooMuchMemory(error)))
    }

    fn object(&mut self, place: ValuePath<'_>, depth: usize) -> Result<Value, Fault> {
        let mut object = Object::new();
        self.members(depth, |parser, name| {
            let member = ValuePath::Member(&place, &name);
            let value = parser.value(member, depth)?;
            if let Some(first) = object.get_mut(&name) {
                *first = value;
                parser.remark(|| Remark::DuplicateMember { path: member.path() });
            } else {
                parser.counted(|memory| memory.append(&mut object, &name, value))?;
            }
            Ok(())
        })?;
        self.counted(|memory| memory.object(object))
    }

    fn array(&mut self, place: ValuePath<'_>, depth: usize) -> Result<Value, Fault> {
        let mut elements = Vec::new();
        self.elements(depth, |parser| {
            let element = parser.value(ValuePath::Element(&place, elements.len()), depth)?;
            parser.counted(|memory| memory.push(&mut elements, element))
        })?;
        self.counted(|memory| memory.array(elements))
    }

    /// Consumes an object. `member` consumes the value of each member.
    pub(super) fn members(
        &mut self,
        depth: usize,
        mut member: impl FnMut(&mut Self, Cow<'t, str>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(depth)?;
        let mut comma = None;
        while !self.close(b'}', comma)? {
            if self.next() != Some(b'"') {
                return Err(self.no_token("a member name in double quotes"));
            }
            let name = self.string()?;
            if self.next() != Some(b':') {
                return Err(self.no_token("':'"));
            }
            self.at += 1;
            member(self, name)?;
            comma = self.comma(b'}', "',' or '}'")?;
        }
        Ok(())
    }

    /// Consumes an array. `element` consumes each element.
    pub(super) fn elements(
        &mut self,
        depth: usize,
        mut element: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.open(depth)?;
        let mut comma = None;
        while !self.close(b']', comma)? {
            element(self)?;
            comma = self.comma(b']', "',' or ']'")?;
        }
        Ok(())
    }

    fn open(&mut self, depth: usize) -> Result<(), Fault> {
        if depth > self.max_depth {
            return Err(self.fault(ParseErrorKind::TooDeep { limit: self.max_depth }));
        }
        self.at += 1;
        Ok(())
    }

    /// Consumes `bracket` if it is next, and returns whether it was. A bracket after a comma is a fault; `comma` is the
    /// offset of the comma.
    fn close(&mut self, bracket: u8, comma: Option<usize>) -> Result<bool, Fault> {
        if self.next() != Some(bracket) {
            return Ok(false);
        }
        if let Some(offset) = comma {
            return Err((offset, ParseErrorKind::TrailingComma));
        }
        self.at += 1;
        Ok(true)
    }

    /// Consumes the comma after an element or a member and returns its offset. Does not consume `bracket`.
    fn comma(&mut self, bracket: u8, expected: &'static str) -> Result<Option<usize>, Fault> {
        match self.next() {
            Some(b',') => {
                self.at += 1;
                Ok(Some(self.at - 1))
            }
            Some(next) if next == bracket => Ok(None),
            _ => Err(self.no_token(expected)),
        }
    }

    /// Parses a literal, a bare token or a number.
    fn word(&mut self, place: ValuePath<'_>) -> Result<Value, Fault> {
        for (literal, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.eat(literal) {
                return Ok(value);
            }
        }
        for token in BARE_TOKENS {
            if self.bytes().starts_with(token.as_bytes()) {
                return self.bare(token, place);
            }
        }
        self.number()
    }

    fn bare(&mut self, token: &'static str, place: ValuePath<'_>) -> Result<Value, Fault> {
        if !self.bare_non_finite {
            return Err(self.fault(ParseErrorKind::BareNonFinite { token }));
        }
        self.at += token.len();
        self.remark(|| Remark::BareNonFinite { path: place.path(), token });
        Ok(Value::Number(Number::from_checked(token)))
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let number = Number::from_checked(self.number_text()?);
        self.counted(|memory| memory.number(number))
    }

    pub(super) fn number_text(&mut self) -> Result<&'t str, Fault> {
        match self.bytes() {
            [b'-' | b'0'..=b'9', ..] => {}
            [b'+', ..] => return Err(self.fault(ParseErrorKind::PlusSign)),
            _ => return Err(self.no_token("a value")),
        }
        match scan(self.bytes()) {
            Ok(length) => {
                let number = &self.rest()[..length];
                self.at += length;
                Ok(number)
            }
            Err(NumberFault::LeadingZero) => Err(self.fault(ParseErrorKind::LeadingZero)),
            Err(NumberFault::NoDigit(offset)) => {
                self.at += offset;
                Err(self.unexpected("a digit"))
            }
        }
    }

    /// Parses a string with its quotes. The result is borrowed if the string does not have escapes.
    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.at += 1;
        let mut string = Cow::Borrowed(self.plain());
        loop {
            match self.bytes().first() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.to_mut().push(self.escape()?),
                Some(&byte) => {
                    return Err(self.fault(ParseErrorKind::ControlCharacter { found: char::from(byte) }));
                }
                None => return Err(self.unexpected("the end of a string")),
            }
            string += self.plain();
        }
    }

    /// Consumes the characters of a string before the next special byte. Special bytes are ASCII, so no character is
    /// split.
    fn plain(&mut self) -> &'t str {
        let count = self.bytes().iter().take_while(|byte| !SPECIAL[usize::from(**byte)]).count();
        let plain = &self.rest()[..count];
        self.at += count;
        plain
    }

    /// Consumes the next escape and returns its character.
    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let character = match self.bytes().get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            Some(_) => return Err((start, ParseErrorKind::InvalidEscape)),
            None => return Err((start, ParseErrorKind::UnexpectedEnd { expected: "an escape" })),
        };
        self.at += 2;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let first = self.code_unit()?;
        let has_second = (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u");
        let second = if has_second { Some(self.code_unit()?) } else { None };
        let mut characters = char::decode_utf16([first].into_iter().chain(second));
        match (characters.next(), characters.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err((start, ParseErrorKind::LoneSurrogate)),
        }
    }

    /// Consumes a `\u` escape and returns its number.
    fn code_unit(&mut self) -> Result<u16, Fault> {
        let digits = self.rest().get(2..6).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or((self.at, ParseErrorKind::InvalidEscape))?;
        self.at += 6;
        Ok(unit)
    }

    /// Consumes white space and returns the next byte.
    pub(super) fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn eat(&mut self, expected: &str) -> bool {
        let found = self.bytes().starts_with(expected.as_bytes());
        if found {
            self.at += expected.len();
        }
        found
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn bytes(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn remark(&mut self, remark: impl FnOnce() -> Remark) {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(remark());
        }
    }

    fn fault(&self, kind: ParseErrorKind) -> Fault {
        (self.at, kind)
    }

    /// Returns the fault `kind`, or a fault for a comment if a comment is next.
    fn misplaced(&self, kind: ParseErrorKind) -> Fault {
        let is_comment = matches!(self.bytes(), [b'/', b'/' | b'*', ..]);
        self.fault(if is_comment { ParseErrorKind::Comment } else { kind })
    }

    fn no_token(&self, expected: &'static str) -> Fault {
        self.misplaced(self.unexpected(expected).1)
    }

    /// Returns the fault for a character other than `expected`, or for the end of the text.
    fn unexpected(&self, expected: &'static str) -> Fault {
        self.fault(match self.rest().chars().next() {
            Some(found) => ParseErrorKind::UnexpectedCharacter { found, expected },
            None => ParseErrorKind::UnexpectedEnd { expected },
        })
    }
}
