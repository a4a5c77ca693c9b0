//! Numbers as text.

use std::cmp::Ordering;
use std::fmt;

use super::decimal::Decimal;
use super::text::Text;

/// The maximum number of digits with which every number is below 2^64.
const MAX_U64_DIGITS: usize = 19;

/// A JSON number, stored as its text: 2^64 - 1, `-0.0` and `1e400` are exact.
///
/// The text is a number of RFC 8259. [`parse`](super::parse()) with
/// [`bare_non_finite`](super::ParseOptions::bare_non_finite) also creates the tokens `NaN`, `Infinity` and
/// `-Infinity`, which are never written. Numbers are equal if their texts are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Text);

impl Number {
    /// Parses a text that is one JSON number. `None` for other texts, including `NaN` and infinities.
    pub fn parse(text: &str) -> Option<Self> {
        (scan(text.as_bytes()) == Ok(text.len())).then(|| Self(text.into()))
    }

    /// Returns the shortest text that parses to `value`: `1.0`, `-0.0`, `0.1`, `1e300`. `None` for NaN and
    /// infinities.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self(format!("{value:?}").as_str().into()))
    }

    /// Returns the shortest text that parses to `value` as an `f32`. `None` for NaN and infinities.
    pub fn from_f32(value: f32) -> Option<Self> {
        value.is_finite().then(|| Self(format!("{value:?}").as_str().into()))
    }

    /// Parses a JSON number or a bare token.
    pub(super) fn from_token(text: &str) -> Option<Self> {
        if BARE_TOKENS.contains(&text) { Some(Self(text.into())) } else { Self::parse(text) }
    }

    /// Creates a number from a text that [`scan`] accepted, or from one of [`BARE_TOKENS`].
    pub(super) fn from_checked(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn heap_size(&self) -> usize {
        self.0.heap_size()
    }

    /// Returns the text of the number as in the document.
    #[inline]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Checks whether the text has neither a fraction nor an exponent: `1` is an integer, `1.0` and `1e3` are not.
    #[inline]
    pub fn is_integer(&self) -> bool {
        self.0.as_bytes().iter().all(|byte| *byte == b'-' || byte.is_ascii_digit())
    }

    /// Checks whether this is a JSON number, and not a bare `NaN`, `Infinity` or `-Infinity`.
    pub fn is_finite_token(&self) -> bool {
        // A JSON number ends in a digit; the bare tokens end in a letter.
        self.0.as_bytes().last().is_some_and(u8::is_ascii_digit)
    }

    /// Returns the value, if the text is an integer that fits. `-0` is 0.
    #[inline]
    pub fn as_u64(&self) -> Option<u64> {
        let digits = self.0.as_bytes();
        if digits.len() > MAX_U64_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
            return if digits == b"-0" { Some(0) } else { self.text().parse().ok() };
        }
        Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
    }

    /// Returns the value, if the text is an integer that fits. `-0` is 0.
    pub fn as_i64(&self) -> Option<i64> {
        self.text().parse().ok()
    }

    /// Returns the value, if the text is an integer that fits. `-0` is 0.
    pub fn as_i128(&self) -> Option<i128> {
        self.text().parse().ok()
    }

    /// Returns the value, if the text is an integer that fits.
    pub(super) fn as_u128(&self) -> Option<u128> {
        self.text().parse().ok()
    }

    /// Returns the nearest `f64`, rounded once from the text. A number beyond the range of `f64` becomes an infinity; a
    /// bare token becomes the NaN or infinity that it names.
    pub fn as_f64(&self) -> Option<f64> {
        self.text().parse().ok()
    }

    /// Returns the nearest `f32`, rounded once from the text, not through `f64`.
    pub fn as_f32(&self) -> Option<f32> {
        self.text().parse().ok()
    }

    /// Returns the integer in any notation, such as `1.0` and `1e3`, if it is between -2^127 and 2^127.
    pub fn to_integer(&self) -> Option<i128> {
        let magnitude = Decimal::parse(self.text())?.integer()?;
        Some(if self.text().starts_with('-') { -magnitude } else { magnitude })
    }

    /// Compares the magnitude of the number with the magnitude of `float`, without rounding. A caller that rounds to a
    /// type narrower than `f64` can use this to decide between two values.
    ///
    /// `float` must not be zero and must be a multiple of 2^-140. `None` for an exponent that does not fit 64 bits.
    pub fn compare_magnitude(&self, float: f64) -> Option<Ordering> {
        Decimal::parse(self.text())?.compare(float)
    }
}

/// Prints the text, including bare tokens.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Implements conversions of integers to their decimal text.
macro_rules! from_integer {
    ($($type:ty),*) => {$(
        impl From<$type> for Number {
            fn from(integer: $type) -> Self {
                Self(integer.to_string().as_str().into())
            }
        }
    )*};
}
from_integer!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

/// Tokens that some Python programs write for values that are not JSON numbers.
pub(super) const BARE_TOKENS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// The reason why bytes do not start with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberFault {
    /// The integer part has a leading zero.
    LeadingZero,
    NoDigit(usize),
}

/// Returns the length of the number at the start of `bytes`.
pub(super) fn scan(bytes: &[u8]) -> Result<usize, NumberFault> {
    let integer = usize::from(bytes.first() == Some(&b'-'));
    let mut end = digits(bytes, integer)?;
    if bytes[integer] == b'0' && end > integer + 1 {
        return Err(NumberFault::LeadingZero);
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(bytes, end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(bytes, end + 1 + sign)?;
    }
    Ok(end)
}

/// Returns the end of the digits at `start`. There must be at least one.
fn digits(bytes: &[u8], start: usize) -> Result<usize, NumberFault> {
    let count = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { Err(NumberFault::NoDigit(start)) } else { Ok(start + count) }
}
